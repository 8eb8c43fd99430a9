"""C entries of a runtime's kernels: thin functions that unpack a call into arguments.

Kernels of one header share a C file; in a small set all do (`Limits.together`). On 32-bit cores their parameter structs
are the words of the image, which static asserts check; on hosts with wider pointers a table says where each word goes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from mote.base.errors import MoteError
from mote.compiler.emit.image.kernels import KernelRecord, merged
from mote.compiler.emit.image.npu.kernels import npu_files
from mote.compiler.kernels import library
from mote.compiler.kernels.contract import Call
from mote.compiler.kernels.structs import closure, expanded, macros
from mote.version import __version__

SETTINGS = "mote_settings.h"
LINE = 116
TOGETHER = "set"
"""Replaces the header's name in the name of the C file of all kernels."""


@dataclass(frozen=True)
class Limits:
    """Compile-time limits of a runtime's kernels, and options of their compilation."""

    taps: int = 64
    """Maximum rows of a window, whose pointers are on the stack."""
    pointers: int = 80
    """Maximum row pointers of a step, including those of output rows."""
    words: int = 128
    """Maximum words (numbers and pointers) of a kernel's parameters."""
    fused: bool = False
    """Whether float32 products are accumulated with fused multiply-add."""
    aligned: bool = False
    """Whether all 32-bit accesses are aligned."""
    together: bool = False
    """Whether all kernels are in one C file, so that functions that their headers share are linked once."""
    fast: int = 0
    """Bytes of fast memory that the firmware gives to an NPU's driver."""
    npu: str = ""
    """The Ethos-U family whose command streams are checked; empty: Ethos-U55 and Ethos-U65."""


def entry_files(records: Sequence[KernelRecord], limits: Limits) -> dict[str, str]:
    """The C files of the kernel entries, the kernel table, and all included headers."""
    kernels = merged(records)
    by_header = sorted(kernels, key=lambda k: (k.headers[0], k.name))
    files = {SETTINGS: _settings(limits)}
    included = {"mote_room.h"}
    for header, group in groupby(by_header, key=lambda k: TOGETHER if limits.together else k.headers[0]):
        same = list(group)
        own = tuple(dict.fromkeys(file for k in same for file in k.files))
        checks = _checks(tuple(dict.fromkeys(h for k in same for h in k.headers)), same)
        files[f"mote_kernel_{header}.c"] = _file(header, same, own, checks)
        included |= {*own, *checks}
    files |= npu_files(limits.npu) if any(k.fails for k in kernels) else {}
    return files | {name: library.header(name) for name in sorted(closure(included))} | table_files(kernels)


def table_files(kernels: Sequence[KernelRecord]) -> dict[str, str]:
    """The kernel table of a runtime, sorted by id."""
    declared = "\n".join(f"extern const mote_kernel_t {entry_name(k)};" for k in kernels)
    listed = ",\n".join(f"    &{entry_name(k)} /* {k.id:08x} */" for k in kernels)
    header = f"""\
{_banner("mote_kernels.h: the kernels of this runtime, for mote_init.")}
#ifndef MOTE_KERNELS_H
#define MOTE_KERNELS_H

#include "mote_kernel.h"

extern const mote_kernels_t mote_kernels; /* {len(kernels)} of them */

#endif
"""
    source = f"""\
{_banner("mote_kernels.c: the table of kernels, in ascending order of their ids.")}
#include "mote_kernels.h"

{declared}

static const mote_kernel_t *const entries[] = {{
{listed}
}};

const mote_kernels_t mote_kernels = {{entries, {len(kernels)}}};
"""
    return {"mote_kernels.h": header, "mote_kernels.c": source}


def has_checks(headers: Sequence[str]) -> bool:
    """Whether there are files that check the parameters of the headers' kernels."""
    return bool(_checks_files(headers))


def _checks_files(headers: Sequence[str]) -> tuple[str, ...]:
    """The files that check parameters; headers of types and of arithmetic have none."""
    return tuple(file for header in headers if library.is_own(file := f"mote_{header}_fits.h"))


def _checks(headers: Sequence[str], kernels: Sequence[KernelRecord]) -> tuple[str, ...]:
    """The files that check parameters; an error if they lack a function for one of the kernels."""
    files = _checks_files(headers)
    if has_checks(headers):
        known = macros(files)
        lines = (line for name in closure(files) for line in library.header(name).splitlines())
        text = "\n".join(line for line in lines if not line.startswith("#"))
        text = expanded("\n".join([text, *_instances_of_checks(kernels, files)]), known)
        missing = [k.name for k in kernels if not re.search(rf"\bmote_{k.name}_fits\b", text)]
    else:
        missing = [k.name for k in kernels]
    if missing:
        raise MoteError(
            f"nothing checks the parameters of {', '.join(missing[:3])}{' and others' if len(missing) > 3 else ''},"
            " so that an image could make it write anywhere",
            where=f"kernels of mote_{headers[0]}.h",
            remedy=f"write mote_{headers[0]}_fits.h, as mote_room.h says",
        )
    return files


def _instances_of_checks(kernels: Sequence[KernelRecord], files: tuple[str, ...]) -> list[str]:
    """The macro instances of parameter checks, if any."""
    known = macros(files)
    fits = (i.fits for k in kernels for i in k.instances if f"{i.macro}_FITS" in known)
    return list(dict.fromkeys(fits))


_OFFSETS = """\
/* Where the words of an image go in a struct: where pointers are wider than a word. */
#if UINTPTR_MAX > UINT32_MAX
#define MOTE_OFFSETS(table) (table)
#else
#define MOTE_OFFSETS(table) NULL
#endif
"""


_OVERLAPS = """\
/* An image can lay tensors over each other, and memcpy is undefined for memory that overlaps. (Without unaligned loads
 * mote_common.h has another one, for which that is no matter.) */
#if !defined(__GNUC__) || !defined(__ARM_ARCH) || __ARM_ARCH < 7 || defined(__ARM_FEATURE_UNALIGNED)
MOTE_NOINLINE void *mote_copied(void *to, const void *from, size_t bytes) {
    const uintptr_t ahead = (uintptr_t)to - (uintptr_t)from, behind = (uintptr_t)from - (uintptr_t)to;
    return ahead < bytes || behind < bytes ? memmove(to, from, bytes) : memcpy(to, from, bytes);
}
#undef memcpy
#if defined(__GNUC__) /* a few bytes are loaded and stored */
#define memcpy(to, from, bytes) \
    (__builtin_constant_p(bytes) ? memmove(to, from, bytes) : mote_copied(to, from, bytes))
#else
#define memcpy(to, from, bytes) mote_copied(to, from, bytes)
#endif
#endif
"""


def _settings(limits: Limits) -> str:
    aligned = "#define MOTE_WORDS_ALIGNED 1 /* no word is loaded from another address than a multiple of four */\n"
    fast = f"#define MOTE_NPU_FAST_BYTES {limits.fast} /* fast memory that the firmware gives to the NPU's driver */\n"
    fused = "#define MOTE_FUSED 1 /* products of float32 are added without being rounded first */\n"
    return f"""\
{_banner(f"{SETTINGS}: what all kernels of this runtime are compiled with.")}
#ifndef MOTE_SETTINGS_H
#define MOTE_SETTINGS_H

#define MOTE_MAX_TAPS {limits.taps} /* the tallest window of a model that this runtime takes */
#define MOTE_TAPS {limits.pointers} /* pointers to rows that a step takes */
#define MOTE_PARAMETER_WORDS {limits.words} /* of a kernel's parameters */
#define MOTE_SUMS_WRAP 1 /* sums that do not fit 32 bits wrap, as LiteRT's do: nothing is known of the models to come */
{fused if limits.fused else ""}{aligned if limits.aligned else ""}{fast if limits.fast else ""}
#endif
"""


def _file(header: str, kernels: Sequence[KernelRecord], own: tuple[str, ...], checks: tuple[str, ...]) -> str:
    """The C file with the entries of all kernels of a header, or of all kernels; `own`: all their headers."""
    instances = list(dict.fromkeys(str(i) for k in kernels for i in k.instances))
    includes = [f'#include "{name}"' for name in (*own, *checks)]
    made = _instances_of_checks(kernels, checks)
    whose = "all kernels" if header == TOGETHER else f"the kernels in mote_{header}.h"
    parts = [
        _banner(f"mote_kernel_{header}.c: entries of {whose}."),
        '#include "mote_kernel.h"\n',
        _OVERLAPS,
        "\n".join(includes) + "\n",
        _OFFSETS,
        *(f"{text}\n" for text in (*instances, *made)),
        *map(_kernel, kernels),
    ]
    return "\n".join(parts)


def _kernel(k: KernelRecord) -> str:
    """The functions, tables and entry of one kernel."""
    type_name = f"mote_{k.name}_t"
    functions = [(what, name, arguments) for what, name, arguments in _functions(k) if name]
    made = [
        f"static void {what}_{k.name}(const void *p, const mote_call_t *c) {{\n"
        f"    mote_{name}({', '.join(('p', *arguments))});\n}}\n"
        for what, name, arguments in functions
    ]
    check = f"    return mote_{k.name}_fits(p, room);\n"
    made.append(f"static int fits_{k.name}(const void *p, const mote_room_t *room) {{\n{check}}}\n")
    pointers = [str(i) for i, field in enumerate(k.fields) if field.pointer]
    if pointers:
        made.append(f"static const uint16_t pointers_{k.name}[] = {{\n{_wrapped(pointers)}\n}};\n")
    offsets = [f"offsetof({type_name}, {field.path})" for field in k.fields]
    places = [f"{offset} == {4 * i}" for i, offset in enumerate(offsets)]
    held = f"sizeof({type_name}) == {4 * len(k.fields)}"
    made.append(
        "#if UINTPTR_MAX > UINT32_MAX\n"
        f"static const uint16_t offsets_{k.name}[] = {{\n{_wrapped(offsets)}\n}};\n"
        "#else\n"
        f"typedef char words_{k.name}[\n{_wrapped([*places, held], ' &&')}\n    ? 1 : -1];\n"
        "#endif\n"
    )
    have = {what for what, _, _ in functions}
    called = [f"{what}_{k.name}" if what in have else "NULL" for what in ("run", "row", "rows")]
    entry = [
        f"0x{k.id:08x}u",
        *called,
        f"fits_{k.name}",
        f"pointers_{k.name}" if pointers else "NULL",
        f"MOTE_OFFSETS(offsets_{k.name})",
        str(len(k.fields)),
        str(len(pointers)),
        str(k.operands),
        " | ".join(f"1u << MOTE_RUN_{form}" for form in _forms(k)),
    ]
    constant = f"const mote_kernel_t {entry_name(k)}"
    made.append(f"extern {constant};\n{constant} = {{\n{_wrapped(entry)}\n}};\n")
    return "\n".join(made)


def _functions(k: KernelRecord) -> Iterator[tuple[str, str, list[str]]]:
    """The functions of an entry: kind of call, the kernel's function, and its arguments after the parameters. Some
    kernels write operands that are states; their checks refuse read-only memory."""
    scratch = ["c->scratch"] if k.scratch else []
    operands = [f"(void *)c->in[{i}]" for i in range(k.operands)]
    own = {
        Call.FLAT: [*operands, "c->out", "c->hi", *scratch],
        Call.ROWS: [*operands, "c->out", "c->lo", "c->hi", *scratch],
        Call.WHOLE: [*operands, "c->out", *scratch, *(["&((mote_call_t *)c)->done"] if k.fails else [])],
        Call.ADDS: ["c->in[0]", "c->y", "c->part", "c->sums", "c->out", *scratch],
        Call.RING: ["c->in[0]", "c->out", "c->oldest"],
    }
    rows = "(void *)c->in"
    yield "run", k.name, own[k.call]
    yield "row", k.row, [rows, *(["c->y"] if k.row_index else []), "c->out", *scratch]
    yield "rows", k.rows, [rows, "(void *)c->outs", "c->count", *scratch]


def _forms(k: KernelRecord) -> list[str]:
    """The forms of instructions that may call a kernel."""
    if k.call in (Call.ADDS, Call.RING):
        return ["SUMS" if k.call is Call.ADDS else "RING"]
    each = k.call is Call.FLAT or (k.call is Call.ROWS and not k.row)
    forms = {"WHOLE": True, "ROW": k.row, "EACH": each, "ROWS": k.rows}
    return [form for form, has in forms.items() if has]


def entry_name(k: KernelRecord) -> str:
    return f"mote_entry_{k.name}"


def _wrapped(items: Sequence[str], separator: str = ",") -> str:
    """Items with separators, wrapped to indented lines."""
    lines = [""]
    for item in (*(f"{item}{separator}" for item in items[:-1]), items[-1]):
        if lines[-1] and len(lines[-1]) + len(item) + 1 > LINE:
            lines.append("")
        lines[-1] += f" {item}" if lines[-1] else f"    {item}"
    return "\n".join(lines)


def _banner(what: str) -> str:
    return f"/* {what}\n *\n * Written by `mote runtime` of Mote {__version__}. Do not edit: write it again instead. */"
