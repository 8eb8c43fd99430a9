"""`<name>.h`: the manual of the generated model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mote.codegen.arenas import arenas
from mote.codegen.ports import Port, caller_arenas, init_call, inputs, outputs, parameters
from mote.codegen.source import banner
from mote.codegen.values import re_comment
from mote.graph.rows import row_count
from mote.plan.plan import Plan

if TYPE_CHECKING:
    from mote.codegen.project import Options

STATUS = """\
#ifndef MOTE_STATUS_DEFINED
#define MOTE_STATUS_DEFINED
typedef enum {
    MOTE_OK = 0,
    MOTE_NOT_READY = 1, /* run before init */
    MOTE_BAD_ARENA = 2, /* the arena is missing, too small or not aligned to 8 bytes */
    MOTE_WRONG = 3,     /* the self-test found a difference */
    MOTE_BUSY = 4,      /* there is more to do: call step again */
    MOTE_WAITING = 5,   /* the next row of the input, or the next frame of a stream, is needed */
    MOTE_BROKEN = 6     /* debug builds: a kernel wrote outside of its buffers */
} mote_status;
#endif
"""


def text(plan: Plan, options: Options) -> str:
    name, upper = options.name, options.name.upper()
    reads, writes = inputs(plan, options), outputs(plan, options)
    parts = [
        banner(options, f"{name}.h: how to use the model.\n *\n{_usage(plan, options)}"),
        f"#ifndef {upper}_H\n#define {upper}_H\n",
        "#include <stddef.h>\n#include <stdint.h>\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        STATUS,
        _sizes(plan, options),
        *(_macros(port) for port in (*reads, *writes)),
        _init(plan, options),
        *(() if plan.pushed else (_accessor(port, "Write the input") for port in reads)),
        *(_accessor(port, "Read the output") for port in writes),
        _pushing(reads[0], options) if plan.pushed else _running(options),
        *([_keeping(plan, options)] if plan.graph.states else []),
        "#ifdef __cplusplus\n}\n#endif\n\n#endif\n",
    ]
    return "\n".join(parts)


def _usage(plan: Plan, options: Options) -> str:
    name = options.name
    results = ", ".join(f"{port.function}()" for port in outputs(plan, options))
    lines = [*caller_arenas(plan, options), f"if ({init_call(plan, options)} != MOTE_OK) {{ handle_the_error(); }}"]
    if plan.pushed:
        lines += [
            f"while ({name}_push(next_row(), 1) == MOTE_WAITING) {{ }}",
            f"use({results});",
        ]
        note = " * The input is never held whole: rows come from the top. Outputs stay valid until the next row."
    else:
        lines += [
            *(f"memcpy({port.function}(), my_data, {port.macro}_BYTES);" for port in inputs(plan, options)),
            f"if ({name}_run() == MOTE_OK) {{ use({results}); }}",
        ]
        note = " * Inputs are overwritten by a run; outputs stay valid until inputs are written or the next run."
    if options.shared_arena:
        note += "\n * Other models use the same memory: mote_arena.h says what that means."
    kept = ", what the model remembers" if plan.graph.states else ""
    shown = "\n".join(f" *     {line}" for line in lines)
    return (
        f"{shown}\n *\n"
        f" * No heap, no recursion, no other state than the arena{kept} and a few counters. Not reentrant: one\n"
        f" * inference at a time.\n{note}"
    )


def _running(options: Options) -> str:
    return (
        "/* One inference: reads the inputs, writes the outputs. What the inputs held is lost. */\n"
        f"mote_status {options.name}_run(void);\n\n{_step(options, 'MOTE_OK after the last one')}"
    )


def _keeping(plan: Plan, options: Options) -> str:
    name = options.name
    waiting = (
        f"/* The first {plan.graph.warm_up - 1} runs return MOTE_WAITING: not all of the window has come yet, and the\n"
        " * outputs mean nothing. */\n"
        f"#define {name.upper()}_WARM_UP {plan.graph.warm_up - 1}\n\n"
    )
    return (
        f"{waiting if plan.graph.warm_up > 1 else ''}"
        "/* What the model remembers from one run to the next, in bytes. */\n"
        f"#define {name.upper()}_STATE_BYTES {plan.kept_bytes}\n\n"
        "/* Forget everything, as after init. */\n"
        f"void {name}_reset(void);\n\n"
        "/* Copy what is remembered to memory of yours, and back, between runs: the model goes on from there. */\n"
        f"void {name}_save(void *state);\n"
        f"void {name}_restore(const void *state);\n"
    )


def _step(options: Options, end: str) -> str:
    return (
        "/* The same in pieces, for a core that has other things to do as well: one piece of work, then\n"
        f" * MOTE_BUSY while there is more to do, {end}. */\n"
        f"mote_status {options.name}_step(void);\n{_bound(options)}"
    )


def _bound(options: Options) -> str:
    if options.step_bound is None:
        return ""
    return (
        f"\n/* Instructions that a step takes at most, measured on {options.target}. */\n"
        f"#define {options.name.upper()}_STEP_INSTRUCTIONS {options.step_bound}\n"
    )


def _pushing(port: Port, options: Options) -> str:
    name, rows = options.name, row_count(port.tensor.shape)
    return (
        f"/* The input comes as {rows} rows, top to bottom. */\n"
        f"#define {port.macro}_ROWS {rows}\n"
        f"#define {port.macro}_ROW_SIZE {port.tensor.size // rows} /* elements */\n"
        f"#define {port.macro}_ROW_BYTES {port.tensor.nbytes // rows}\n\n"
        "/* Hand over the next `count` rows and do all that can be done with them. MOTE_WAITING: more rows are\n"
        " * needed; MOTE_OK: they were the last ones, the outputs are there, and the next row begins another\n"
        " * inference. */\n"
        f"mote_status {name}_push(const {port.ctype} *rows, size_t count);\n\n"
        "/* The same in pieces, for a core that has other things to do as well: hand over one row, then call step\n"
        " * while it is MOTE_BUSY. A row is taken only when nothing else is left to do (MOTE_BUSY: it was not). */\n"
        f"mote_status {name}_push_row(const {port.ctype} *row);\n"
        f"mote_status {name}_step(void);\n{_bound(options)}"
    )


def _macros(port: Port) -> str:
    t, macro = port.tensor, port.macro
    dims = ", ".join(map(str, t.shape)) or "1"
    lines = [
        f"/* {re_comment(t.name)}: {t.dtype} [{dims}] */",
        f"#define {macro}_SIZE {t.size} /* elements */",
        f"#define {macro}_BYTES {t.nbytes}",
        f"#define {macro}_SHAPE {{{dims}}}",
        f"#define {macro}_RANK {max(len(t.shape), 1)}",
    ]
    if t.quant is not None and t.dtype != "float32":
        lines += [
            f"#define {macro}_SCALE {t.quant.scale[0]!s}f /* real = scale * (q - zero_point) */",
            f"#define {macro}_ZERO_POINT ({t.zero_point})",
        ]
    return "\n".join(lines) + "\n"


def _sizes(plan: Plan, options: Options) -> str:
    """What the arenas take, by the names of their memories; the first one has a name that is always there."""
    lines = ["/* Working memory in bytes; every tensor lives in it. */"]
    found = arenas(plan)
    for a in found:
        where = "" if a.memory is None else f" /* in {re_comment(a.memory.name)} */"
        lines.append(f"#define {a.macro(options)} {a.nbytes}{where}")
    if plan.memories:
        lines.append(f"#define {options.name.upper()}_ARENA_BYTES {found[0].macro(options)}")
    return "\n".join(lines) + "\n"


def _init(plan: Plan, options: Options) -> str:
    name = options.name
    call = f"mote_status {name}_init({parameters(plan, options)});\n"
    if not options.caller_arena:
        return f"/* Before anything else. */\n{call}"
    sizes = " and ".join(a.macro(options) for a in arenas(plan))
    return (
        f"/* Before anything else: give the model its working memory ({sizes} or more bytes,\n"
        f" * aligned to 8). It may be used for other things between runs. */\n{call}"
    )


def _accessor(port: Port, what: str) -> str:
    return f"/* {what} ({port.tensor.size} elements) here. */\n{port.ctype} *{port.function}(void);\n"
