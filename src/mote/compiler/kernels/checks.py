"""Generator of the C functions that check kernel parameters in untrusted model images, from the tables `checks.txt`
beside the kernels.

    softmax_s16: vectors int16_t depth -> depth; shift in -32..31; exp[513]; reciprocal[513]

is the check of the kernel in mote_softmax_s16.h. Names are fields of its struct `mote_softmax_s16_t`; parameters are
accepted if all clauses hold. docs/develop/adding-a-kernel.md lists the clauses. A file `mote_softmax_s16_fits.h`, if
there is one, has hand-written checks, to which the functions of the table are appended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, reduce
from itertools import groupby

from mote.base.errors import MoteError
from mote.compiler.kernels import files

_HEAD = re.compile(r"(struct )?(MOTE_\w+)?(?:\((.*?)\))? ?([a-z]\w*(?:##\w+)*)?(?:\(([a-z, ]+)\))?(?: \(([\w#]+)\))?")
_NAME = re.compile(r"(?<![\w.>#])(?!mote_|\w+_t\b)[a-z]\w*\b(?!\(|##)")
_WORDS = {"p", "room", "sizeof", "float"}
_DEFINED = re.compile(r"^(?:#define (\w+)|(?:MOTE_NOINLINE|MOTE_UNUSED|static|typedef) [^=(;{\n]*?(\w+)\()", re.M)
_CALLS = {
    "tensors": "mote_of_tensors(room)",
    "whole": "room->form == MOTE_RUN_WHOLE",
    "units": "mote_asks_units(room)",
    "adds": "mote_adds(room, INT32_MAX)",
}
_ELEMENTS = {
    "each": ("mote_each_fits(room, n, {type}, {to})", r"(?P<type>\w+) -> (?P<to>\w+)"),
    "vectors": ("mote_vectors_fit(room, {depth}, {to}, {type})", r"(?P<type>\w+) (?P<depth>.+) -> (?P<to>.+)"),
    "windows": (
        "mote_pixels_fit(&rows, &cols, room, {depth}, {to}, {type})",
        r"(?P<type>\w+) (?P<depth>.+) -> (?P<to>.+)",
    ),
    "pairs": ("mote_two_fit(room, {type})", r"(?P<type>\w+)"),
    "broadcast": ("mote_broadcast_fits(&walk, room, 1, {type}, {type}, {type})", r"(?P<type>\w+)"),
}
_MEMORY = {
    "reads": "mote_takes(room, {operand}, {bytes}, {size})",
    "keeps": "mote_keeps(room, {operand}, {bytes}, {size})",
    "writes": "mote_gives(room, {bytes}, {size})",
    "scratch": "{bytes} <= room->scratch",
    "sums": "{bytes} <= room->sums",
}


@dataclass(frozen=True)
class ParameterCheck:
    """One entry of a table: the check of a kernel, of a struct, or of all kernels that a macro defines."""

    where: str
    macro: str
    parameters: str
    """Parameter list of the macro."""
    function: str
    struct: str
    sizes: tuple[str, ...]
    """Extra parameters of the check function, after the struct and the `mote_room_t`: sizes in bytes."""
    clauses: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        """The lines of the C check function, or the definition copied from the table where a macro stands for another
        one."""
        if not self.function:
            return [*self.clauses]
        parameters, local, terms = set(re.findall(r"\w+", self.parameters)), list[str](), list[str]()
        known = _WORDS | parameters | {*self.sizes}
        for clause in self.clauses:
            if given := re.fullmatch(r"let (\w+) = (.+)", clause):
                local.append(f"const uint32_t {given[1]} = {_fields(given[2], known)};")
                known.add(given[1])
            else:
                terms += (_fields(term, known) for term in self._terms(clause))
        words = {clause.split()[0] for clause in self.clauses}
        if words & {"reads", "keeps", "writes"} and not words & _CALLS.keys():
            terms.insert(0, _CALLS["tensors"])
        unused = [f"(void){x};" for x in ("p", "room") if not re.search(rf"\b{x}\b", f"{local} {terms}")]
        taken = ", ".join(("const mote_room_t *room", *(f"uint32_t {size}" for size in self.sizes)))
        head = f"MOTE_UNUSED static inline int {self.function}(const {self.struct} *p, {taken}) {{"
        body = [*unused, *local, *f"return {' &&~       '.join(terms)};".split("~")]
        if clashes := parameters.intersection(re.findall(r"(?:->|\.)(\w+)", " ".join(body))):
            raise _malformed(f"{', '.join(clashes)}: a parameter of {self.macro} and the name of a field", self.where)
        return [line for text in (head, *(f"    {x}" for x in body), "}") for line in _wrapped(text)]

    def _terms(self, clause: str) -> Iterator[str]:
        """The C conditions of a clause; field names are not yet qualified with `p->`."""
        word, _, rest = clause.partition(" ")
        if clause in _CALLS or clause == "any":
            yield _CALLS.get(clause, "1")
        elif word in _ELEMENTS and (given := re.fullmatch(_ELEMENTS[word][1], rest)):
            types = {"type", "to"} if word == "each" else {"type"}
            yield _ELEMENTS[word][0].format(**{k: _size(x) if k in types else x for k, x in given.groupdict().items()})
        elif word in _MEMORY and (given := re.fullmatch(r"(?:(\d) )?(\w+)\[(.+)\]", rest)):
            size = f"(uint32_t){given[2]}" if given[2] in self.sizes else _size(given[2])
            yield _MEMORY[word].format(operand=given[1] or 0, bytes=_bytes(given[3], size), size=size)
        elif given := re.fullmatch(r"(.+) in (.+)\.\.(.+)", clause):
            yield from (f"mote_within({x}, {given[2]}, {given[3]})" for x in given[1].split(", "))
        elif given := re.fullmatch(r"([\w.]+)\[(.+)\](\??)", clause):
            size = f"sizeof *{given[1]}"
            held = f"mote_holds(room, {given[1]}, {_bytes(given[2], size)}, {size})"
            shape = _split(given[2], ", ")
            if len(shape) <= 4 and all(_split(x, " + ") == _split(x, " * ") == [x] and x[:5] != "mote_" for x in shape):
                held = f"mote_array_fits(room, {given[1]}, {', '.join([*shape, '1', '1', '1'][:4])}, {size})"
            yield f"({given[1]} == NULL || {held})" if given[3] else held
        elif re.search(r"[(<>=]", clause) and clause.count("(") == clause.count(")"):
            yield f"({clause})" if re.search(r"\|\||\?", clause) else clause
        else:
            raise _malformed(f"{clause!r} is no clause of a check", self.where)


def _malformed(reason: str, where: str) -> MoteError:
    return MoteError(reason, where=where, remedy="write it as docs/develop/adding-a-kernel.md says")


def _fields(text: str, known: set[str]) -> str:
    """C text with field names turned into members of `p`, and `n` into the unit count of the call."""
    return _NAME.sub(lambda m: m[0] if m[0] in known else "room->hi" if m[0] == "n" else f"p->{m[0]}", text)


def _wrapped(line: str) -> list[str]:
    """Breaks a long line of C after commas and operators."""
    lines, indent = [""], " " * (len(line) - len(line.lstrip()) + 4)
    for part in re.findall(r".*?(?:, |&& |\|\| |: |$)", line):
        if len(lines[-1]) + len(part.rstrip()) > 112:
            lines.append(indent)
        lines[-1] += part
    return [x.rstrip() for x in lines]


def _size(ctype: str) -> str:
    """C expression for the size in bytes of an element type."""
    known = re.fullmatch(r"u?int(\d+)_t", ctype)
    return ctype if ctype.isdigit() else str(int(known[1]) // 8) if known else f"sizeof({ctype})"


def _split(text: str, separator: str) -> list[str]:
    """Splits text at separators outside of parentheses."""
    parts: list[str] = []
    for part in text.split(separator):
        if parts and parts[-1].count("(") > parts[-1].count(")"):
            parts[-1] += separator + part
        else:
            parts.append(part)
    return parts


def _bytes(shape: str, size: str) -> str:
    """C expression for the bytes of an array: its shape times the element size. Every dimension is a product of numbers
    of at least one, or a sum whose first number is at least one; sizes from functions of Mote may be zero."""
    factors = [size]
    for first, *more in (_split(dimension, " + ") for dimension in reversed(_split(shape, ", "))):
        product = _split(first, " * ")
        total = reduce(lambda a, b: f"mote_much_plus({a}, {_unsigned(b)})", more, _product(product))
        factors = [*([total] if more else product), *factors]
    return _product(factors)


def _product(factors: list[str]) -> str:
    sizes = [x for x in factors if x.startswith(("mote_", "(uint32_t)"))]
    numbers = [x for x in factors if x not in (*sizes, "1")] or ["1"] * (not sizes)
    fours = ([*numbers[i : i + 4], "1", "1", "1"][:4] for i in range(0, len(numbers), 4))
    return reduce(_times, [*(f"mote_count({', '.join(four)})" for four in fours), *sizes])


def _unsigned(term: str) -> str:
    """C expression of a term in a sum, which may be zero."""
    return reduce(_times, (x if x.startswith("mote_") else f"mote_size({x})" for x in _split(term, " * ")))


def _times(a: str, b: str) -> str:
    return f"mote_much_times({a}, {b})"


@cache
def tables() -> dict[str, list[ParameterCheck]]:
    """The checks of all tables, by kernel header name without `mote_` and `.h`."""
    by_header: dict[str, list[ParameterCheck]] = {}
    for table in files.TABLES:
        for header, check in read(table.read_text(encoding="utf-8"), str(table)):
            by_header.setdefault(header, []).extend([check] if check else [])
    return by_header


def read(text: str, name: str) -> Iterator[tuple[str, ParameterCheck | None]]:
    """Parses a table into pairs of header name and check (None for a bare section heading). An indented line continues
    the previous one, # begins a comment."""
    entries: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if entries and line.startswith(" "):
            entries[-1] = entries[-1][0], f"{entries[-1][1]} {line.strip()}"
        elif line and not line.startswith("#"):
            entries.append((number, line))
    header = ""
    for number, entry in entries:
        if section := re.fullmatch(r"\[(\w+)\]", entry):
            header = section[1]
            yield header, None
        else:
            for check in _checks(entry, header, f"{name}:{number}"):
                yield header or check.function.removeprefix("mote_").removesuffix("_fits"), check


def _checks(entry: str, header: str, where: str) -> Iterator[ParameterCheck]:
    """The checks of a table entry, which may name several kernels."""
    heads, sign, rest, *_ = *re.split(r"(: | = )", entry, maxsplit=1), "", ""
    for head in _split(heads, ", "):
        given = _HEAD.fullmatch(head)
        if not given or not rest:
            raise _malformed(f"{entry!r} is no check", where)
        macro, parameters = given[2] or "", given[3] or ""
        if macro and not parameters:
            defined = re.search(rf"#define {macro}\(([^)]*)\)", files.text(f"mote_{header}.h"))
            if not defined:
                raise _malformed(f"mote_{header}.h defines no macro {macro}", where)
            parameters = re.sub(r"[\\\s]+", " ", defined[1])
        paste = "##" if macro else ""
        stem = given[4] if given[1] else f"mote_{paste}{given[4] or 'name'}{paste}"
        struct, sizes = given[6] or (stem if given[1] else f"{stem}_t"), tuple(re.findall(r"\w+", given[5] or ""))
        clauses = tuple(x.strip() for x in rest.split(";")) if sign == ": " else (rest,)
        yield ParameterCheck(where, macro, parameters, f"{stem}_fits" if sign == ": " else "", struct, sizes, clauses)


def _functions(checks: Iterable[ParameterCheck]) -> Iterator[str]:
    """C definitions of checks; the functions of a macro's kernels are joined into one macro `<macro>_FITS`."""
    for (macro, parameters), group in groupby(checks, key=lambda c: (c.macro, c.parameters)):
        made = [check.lines for check in group]
        if macro:
            lines = [f"#define {macro}_FITS({parameters})", *(f"    {line}" for lines in made for line in lines)]
            yield " \\\n".join(lines)
        else:
            yield from ("\n".join(lines) for lines in made)


@cache
def names() -> frozenset[str]:
    """File names of all check headers, hand-written or generated."""
    written = (name for name in files.HEADERS if name.endswith("_fits.h"))
    return frozenset({*written, *(f"mote_{stem}_fits.h" for stem in tables())})


def is_check(name: str) -> bool:
    return name.endswith("_fits.h") and name in names()


@cache
def _homes() -> dict[str, str]:
    """For each function and macro that checks use: the header that defines it."""
    texts = [(name, files.text(name)) for name in files.HEADERS if name.endswith(("_fits.h", "mote_room.h"))]
    texts += [(f"mote_{stem}_fits.h", "\n".join(_functions(checks))) for stem, checks in tables().items()]
    return {name: home for home, text in texts for m in _DEFINED.finditer(text) if (name := m[1] or m[2])}


@cache
def header(name: str) -> str:
    """Text of a check header: the hand-written file if there is one, followed by the functions generated from the
    table. It includes what these use and the check headers of everything that the kernel's header includes."""
    stem, guard = name.removeprefix("mote_").removesuffix("_fits.h"), name.upper().replace(".", "_")
    if stem not in tables():
        return files.text(name)
    if name in files.HEADERS:
        text = files.text(name)
    else:
        text = f"/* {name}: checks of the parameters of mote_{stem}.h. */\n#ifndef {guard}\n#define {guard}\n\n"
        text += f'#include "mote_{stem}.h"\n\n#endif\n'
    functions = "".join(f"\n{function}\n" for function in _functions(tables()[stem]))
    included = re.findall(r'#include "(mote_\w+)\.h"', files.text(f"mote_{stem}.h"))
    wanted = {"mote_room.h", *(f"{x}_fits.h" for x in included if f"{x}_fits.h" in names())}
    wanted |= {home for word in re.findall(r"\w+", functions) if (home := _homes().get(word))}
    lines = "".join(f'#include "{home}"\n' for home in sorted(wanted - {name}) if f'"{home}"' not in text)
    begin, end = text.index("\n", text.rindex("#include ")) + 1, text.rindex("\n#endif")
    return text[:begin] + lines + text[begin:end] + functions + text[end:]
