"""The C that joins a generated model to the measuring harness (not part of the project that users get)."""

from __future__ import annotations

from mote.codegen.ports import caller_arena, init_call, inputs, outputs
from mote.codegen.project import Options
from mote.plan.plan import Plan


def text(plan: Plan, options: Options) -> str:
    name = options.name
    reads, writes = inputs(plan, options), outputs(plan, options)
    arena = f"{caller_arena(options)}\n" if options.caller_arena else ""
    return "\n".join(
        [
            f'#include "harness.h"\n#include "{name}.h"\n{arena}',
            f"const uint32_t harness_input_count = {len(reads)};",
            f"const uint32_t harness_output_count = {len(writes)};",
            f"const uint32_t harness_step_count = {len(plan.steps)};",
            _table("void *harness_input(uint32_t i)", [f"{p.function}()" for p in reads]),
            _table("size_t harness_input_bytes(uint32_t i)", [f"{p.macro}_BYTES" for p in reads]),
            _table("const void *harness_output(uint32_t i)", [f"{p.function}()" for p in writes]),
            _table("size_t harness_output_bytes(uint32_t i)", [f"{p.macro}_BYTES" for p in writes]),
            f"int harness_init(void) {{ return (int){init_call(options)}; }}",
            f"int harness_run(void) {{ return (int){name}_run(); }}",
            "",
        ]
    )


def _table(signature: str, values: list[str]) -> str:
    cases = " ".join(f"case {i}: return {value};" for i, value in enumerate(values))
    return f"{signature} {{ switch (i) {{ {cases} default: return 0; }} }}"
