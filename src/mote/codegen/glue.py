"""The C that joins a generated model to the measuring harness (not part of the project that users get)."""

from __future__ import annotations

from mote.codegen.project import Options
from mote.codegen.source import ports
from mote.plan.plan import Plan


def text(plan: Plan, options: Options) -> str:
    name = options.name
    functions = {"input": [], "output": []}  # type: dict[str, list[str]]
    for ctype, function, _ in ports(plan, options):
        functions["output" if ctype.startswith("const ") else "input"].append(function)
    arena = f"static uint64_t arena[({name.upper()}_ARENA_BYTES + 7) / 8];\n" if options.caller_arena else ""
    init = f"{name}_init(arena, sizeof arena)" if options.caller_arena else f"{name}_init()"
    return "\n".join(
        [
            f'#include "harness.h"\n#include "{name}.h"\n{arena}',
            *(f"const uint32_t harness_{kind}_count = {len(found)};" for kind, found in functions.items()),
            f"const uint32_t harness_step_count = {len(plan.steps)};",
            _table("void *harness_input(uint32_t i)", [f"{f}()" for f in functions["input"]]),
            _table("size_t harness_input_bytes(uint32_t i)", [f"{f.upper()}_BYTES" for f in functions["input"]]),
            _table("const void *harness_output(uint32_t i)", [f"{f}()" for f in functions["output"]]),
            _table("size_t harness_output_bytes(uint32_t i)", [f"{f.upper()}_BYTES" for f in functions["output"]]),
            f"int harness_init(void) {{ return (int){init}; }}",
            f"int harness_run(void) {{ return (int){name}_run(); }}",
            "",
        ]
    )


def _table(signature: str, values: list[str]) -> str:
    cases = " ".join(f"case {i}: return {value};" for i, value in enumerate(values))
    return f"{signature} {{ switch (i) {{ {cases} default: return 0; }} }}"
