"""`<name>.h`: the manual of the generated model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mote.codegen.ports import Port, caller_arena, init_call, inputs, outputs
from mote.codegen.source import banner, re_comment
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
    MOTE_WRONG = 3      /* the self-test found a difference */
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
        f"/* Working memory in bytes; every tensor lives in it. */\n#define {upper}_ARENA_BYTES {max(plan.arena, 1)}\n",
        *(_macros(port) for port in (*reads, *writes)),
        _init(options),
        *(_accessor(port, "Write the input") for port in reads),
        *(_accessor(port, "Read the output") for port in writes),
        "/* One inference: reads the inputs, writes the outputs. What the inputs held is lost. */\n"
        f"mote_status {name}_run(void);\n",
        "#ifdef __cplusplus\n}\n#endif\n\n#endif\n",
    ]
    return "\n".join(parts)


def _usage(plan: Plan, options: Options) -> str:
    results = ", ".join(f"{port.function}()" for port in outputs(plan, options))
    lines = [
        caller_arena(options),
        f"if ({init_call(options)} != MOTE_OK) {{ handle_the_error(); }}",
        *(f"memcpy({port.function}(), my_data, {port.macro}_BYTES);" for port in inputs(plan, options)),
        f"if ({options.name}_run() == MOTE_OK) {{ use({results}); }}",
    ]
    shown = "\n".join(f" *     {line}" for line in lines if line)
    return (
        f"{shown}\n *\n"
        " * No heap, no recursion, no other state than the arena. Not reentrant: one inference at a time.\n"
        " * Inputs are overwritten by a run; outputs stay valid until inputs are written or the next run."
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


def _init(options: Options) -> str:
    name = options.name
    if options.caller_arena:
        return (
            f"/* Before anything else: give the model its working memory ({name.upper()}_ARENA_BYTES or more bytes,\n"
            " * aligned to 8). It may be used for other things between runs. */\n"
            f"mote_status {name}_init(void *arena, size_t bytes);\n"
        )
    return f"/* Before anything else. */\nmote_status {name}_init(void);\n"


def _accessor(port: Port, what: str) -> str:
    return f"/* {what} ({port.tensor.size} elements) here. */\n{port.ctype} *{port.function}(void);\n"
