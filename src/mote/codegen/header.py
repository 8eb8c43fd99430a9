"""`<name>.h`: the manual of the generated model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mote.codegen.source import banner, ports, re_comment
from mote.graph import Tensor
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
    accessors = ports(plan, options)
    parts = [
        banner(options, f"{name}.h: how to use the model.\n *\n{_usage(plan, options)}"),
        f"#ifndef {upper}_H\n#define {upper}_H\n",
        "#include <stddef.h>\n#include <stdint.h>\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        STATUS,
        f"/* Working memory in bytes; every tensor lives in it. */\n#define {upper}_ARENA_BYTES {max(plan.arena, 1)}\n",
        *(_port(plan.graph.tensors[t], function.upper()) for _, function, t in accessors),
        _init(options),
        *(_accessor(plan, *port) for port in accessors),
        "/* One inference: reads the inputs, writes the outputs. What the inputs held is lost. */\n"
        f"mote_status {name}_run(void);\n",
        "#ifdef __cplusplus\n}\n#endif\n\n#endif\n",
    ]
    return "\n".join(parts)


def _usage(plan: Plan, options: Options) -> str:
    name, upper = options.name, options.name.upper()
    names = [function for _, function, _ in ports(plan, options)]
    inputs = [n for n in names if n.startswith(f"{name}_input")]
    outputs = [n for n in names if n.startswith(f"{name}_output")]
    arena = []
    init = f"{name}_init()"
    if options.caller_arena:
        arena = [f"static uint64_t arena[({upper}_ARENA_BYTES + 7) / 8];"]
        init = f"{name}_init(arena, sizeof arena)"
    lines = [
        *arena,
        f"if ({init} != MOTE_OK) {{ handle_the_error(); }}",
        *(f"memcpy({i}(), my_data, {i.upper()}_BYTES);" for i in inputs),
        f"if ({name}_run() == MOTE_OK) {{ use({', '.join(f'{o}()' for o in outputs)}); }}",
    ]
    shown = "\n".join(f" *     {line}" for line in lines)
    return (
        f"{shown}\n *\n"
        " * No heap, no recursion, no other state than the arena. Not reentrant: one inference at a time.\n"
        " * Inputs are overwritten by a run; outputs stay valid until inputs are written or the next run."
    )


def _port(t: Tensor, macro: str) -> str:
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


def _accessor(plan: Plan, ctype: str, function: str, tensor: int) -> str:
    t = plan.graph.tensors[tensor]
    what = "Write the input" if tensor in plan.graph.inputs and "_input" in function else "Read the output"
    return f"/* {what} ({t.size} elements) here. */\n{ctype} *{function}(void);\n"
