"""The C that joins a generated model to the measuring harness (not part of the project that users get)."""

from __future__ import annotations

from mote.codegen.options import Options
from mote.codegen.ports import caller_arenas, init_call, inputs, outputs
from mote.plan.plan import Plan


def text(plan: Plan, options: Options) -> str:
    name = options.name
    reads, writes = inputs(plan, options), outputs(plan, options)
    arena = "".join(f"{line}\n" for line in caller_arenas(plan, options))
    frames = [f"static {p.ctype} frame_{i}[{p.macro}_SIZE];" for i, p in enumerate(reads) if plan.pushed]
    whole = [f"frame_{i}" if plan.pushed else f"{p.function}()" for i, p in enumerate(reads)]
    run = f"{name}_push(frame_0, {reads[0].macro}_ROWS)" if plan.pushed else f"{name}_run()"
    return "\n".join(
        [
            f'#include "harness.h"\n#include "{name}.h"\n{arena}',
            f"const uint32_t harness_input_count = {len(reads)};",
            f"const uint32_t harness_output_count = {len(writes)};",
            f"const uint32_t harness_step_count = {len(plan.works)};",
            *frames,
            _table("void *harness_input(uint32_t i)", whole),
            _table("size_t harness_input_bytes(uint32_t i)", [f"{p.macro}_BYTES" for p in reads]),
            _table("const void *harness_output(uint32_t i)", [f"{p.function}()" for p in writes]),
            _table("size_t harness_output_bytes(uint32_t i)", [f"{p.macro}_BYTES" for p in writes]),
            f"int harness_init(void) {{ return (int){init_call(plan, options)}; }}",
            f"int harness_run(void) {{ const mote_status s = {run}; return s == MOTE_WAITING ? 0 : (int)s; }}"
            if plan.graph.warm_up
            else f"int harness_run(void) {{ return (int){run}; }}",
            "",
        ]
    )


def _table(signature: str, values: list[str]) -> str:
    cases = " ".join(f"case {i}: return {value};" for i, value in enumerate(values))
    return f"{signature} {{ switch (i) {{ {cases} default: return 0; }} }}"
