"""C glue between a generated model and the agent firmware: `mote_model` of mote_agent.h."""

from __future__ import annotations

from mote.compiler.emit.c.c import Accessor, CFunction, Include, Text, printed, when
from mote.compiler.emit.c.model.handle import called
from mote.compiler.emit.c.model.ports import CPort, caller_arenas, init_call, inputs, outputs
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.plan.plan import Plan

GLUE = "mote_agent_model.c"
"""File name of the glue."""


def agent_glue(plan: Plan, options: ProjectOptions, identity: bytes) -> str:
    """The text of the glue: the table of the model's functions. `identity`: the hash that identifies the project
    (`mote.deploy.agent.sources.model_id`)."""
    reads, writes = inputs(plan, options), outputs(plan, options)
    frames = [f"static {p.ctype} frame_{i}[{p.macro}_SIZE]" for i, p in enumerate(reads) if plan.pushed]
    whole = [f"frame_{i}" if plan.pushed else p.call for i, p in enumerate(reads)]
    run = called(options, "push", "frame_0", f"{reads[0].macro}_ROWS") if plan.pushed else called(options, "run")
    waits = "status == MOTE_WAITING ? 0 : " if plan.graph.warm_up else ""
    listed = ", ".join(f"0x{byte:02x}" for byte in identity)
    return printed(
        [
            Include("mote_agent.h"),
            Include(f"{options.name}.h"),
            *map(Text, caller_arenas(plan, options)),
            *frames,
            f"static const uint8_t model_id[MOTE_AGENT_ID_BYTES] = {{{listed}}}",
            "static const uint8_t no_runtime[MOTE_AGENT_ID_BYTES] = {0}",
            Accessor("static uint32_t count_inputs(void)", f"return {len(reads)}"),
            Accessor("static uint32_t count_outputs(void)", f"return {len(writes)}"),
            Accessor("static uint32_t count_steps(void)", f"return {len(plan.works)}"),
            _chosen("static void *input(uint32_t i, uint32_t *bytes)", reads, whole),
            _chosen("static const void *output(uint32_t i, uint32_t *bytes)", writes, [p.call for p in writes]),
            Accessor("static int init(void)", f"return (int){init_call(plan, options)}"),
            CFunction("static int run(void)", [f"const mote_status status = {run}", f"return {waits}(int)status"]),
            "const mote_model_t mote_model = {model_id, no_runtime, count_inputs, count_outputs, count_steps, input,"
            " output, init, run, NULL}",
        ]
    )


def _chosen(signature: str, ports: list[CPort], values: list[str]) -> CFunction:
    """A C function that returns a pointer to the i-th input or output, and its bytes."""
    chosen = [
        when(f"i == {i}", f"*bytes = {port.macro}_BYTES", f"return {value}")
        for i, (port, value) in enumerate(zip(ports, values, strict=True))
    ]
    return CFunction(signature, [*chosen, "*bytes = 0", "return NULL"])
