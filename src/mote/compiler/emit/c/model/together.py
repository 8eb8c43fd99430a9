"""Several models on one input: `mote_models_init`, `_input`, `_step` and `_run`, which run all models on each input.

The input and the outputs are outside of the arena that the models share: each model gets a copy of the input before it
runs, and copies its outputs when it has finished.
"""

from __future__ import annotations

from collections.abc import Sequence

from mote.compiler.emit.c.c import (
    BLANK,
    Accessor,
    Case,
    CFunction,
    Comment,
    Compound,
    Definition,
    Noted,
    Statement,
    Switch,
    Text,
    assign,
    loop,
    when,
)
from mote.compiler.emit.c.model.arenas import definition
from mote.compiler.emit.c.model.header import accessor, port_macros
from mote.compiler.emit.c.model.ports import CPort, inputs
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.kernels.contract import aligned
from mote.compiler.plan.plan import ARENA_ALIGNMENT, Plan

Model = tuple[Plan, ProjectOptions]


def frame_bytes(plan: Plan) -> int:
    """Bytes of the common inputs, which are outside of the arena."""
    return sum(aligned(plan.graph.tensors[t].nbytes, ARENA_ALIGNMENT) for t in plan.graph.inputs)


def declarations(models: Sequence[Model], options: ProjectOptions) -> list[Definition]:
    """The declarations in `mote_models.h` of functions that run all models."""
    name = options.name
    ports = inputs(models[0][0], options)
    names = ", ".join(own.name for _, own in models)
    return [
        Text('#ifdef __cplusplus\nextern "C" {\n#endif\n'),
        *(part for port in ports for part in port_macros(port)),
        Comment(f"Before anything else: begin {names}."),
        f"mote_status {name}_init(void)",
        BLANK,
        *(part for port in ports for part in accessor(port, "Write the input of all models")),
        Comment(
            "Run every model on the input, one after another. What the input holds stays, and so do the outputs of\n"
            "each model until the next run. MOTE_OK: all have outputs; MOTE_WAITING: some need more frames\n"
            "(NAME_status says which, the others have outputs); else the first error of a model."
        ),
        f"mote_status {name}_run(void)",
        BLANK,
        Comment(
            "The same in pieces, for a core that has other things to do as well: one step of one model, then\n"
            "MOTE_BUSY while there is more to do. The input must not change in between."
        ),
        f"mote_status {name}_step(void)",
        BLANK,
        *_reset_declaration(models, name),
        Text("#ifdef __cplusplus\n}\n#endif\n"),
    ]


def _reset_declaration(models: Sequence[Model], name: str) -> list[Definition]:
    if not any(plan.graph.states for plan, _ in models):
        return []
    return [
        Comment("Let every model forget what it has heard, as after init."),
        f"mote_status {name}_reset(void)",
        BLANK,
    ]


def functions(models: Sequence[Model], options: ProjectOptions) -> list[Definition]:
    """The definitions in `mote_models.c` of functions that run all models."""
    name, names = options.name, [own.name for _, own in models]
    state, frame = f"{name}_state", f"{name}_frame"
    ports = _placed(inputs(models[0][0], options))
    fields: list[Statement] = [
        Noted("uint16_t model", "that runs, from 1 on; 0 before init"),
        Noted("uint16_t begun", "it has its input"),
    ]
    begin = [assign(f"{state}.model", 1), assign(f"{state}.begun", 0)]
    again = Compound("do", [f"status = {name}_step()"], " while (status == MOTE_BUSY);")
    return [
        Comment("---- all models on one input ----"),
        BLANK,
        Comment("The input, which stays while models run in the arena."),
        definition("static union", frame, frame_bytes(models[0][0])),
        BLANK,
        Compound("static struct", fields, f" {state};"),
        BLANK,
        CFunction(
            f"mote_status {name}_init(void)",
            [
                "mote_status status",
                assign(f"{state}.model", 0),
                *(part for own in names for part in (f"status = {own}_init()", _UNLESS_OK)),
                *begin,
                "return MOTE_OK",
            ],
        ),
        *(
            Accessor(port.signature, f"return {state}.model == 0 ? NULL : (mote_any_t)({frame}.bytes + {at})")
            for port, at in ports
        ),
        Comment("The first error of a model; that one is waiting where there is none."),
        CFunction(
            f"static mote_status {name}_worst(void)",
            [
                f"const mote_status all[{len(names)}] = {{{', '.join(f'{own}_status()' for own in names)}}}",
                "mote_status worst = MOTE_OK",
                loop(
                    "size_t",
                    "i",
                    len(names),
                    when("all[i] != MOTE_OK && (worst == MOTE_OK || worst == MOTE_WAITING)", "worst = all[i]"),
                ),
                "return worst",
            ],
        ),
        CFunction(
            f"mote_status {name}_step(void)",
            [
                "mote_status status = MOTE_NOT_READY",
                Switch(f"{state}.model", [_turn(i, model, options) for i, model in enumerate(models, 1)]),
                when(f"{state}.model == 0", "return MOTE_NOT_READY"),
                assign(f"{state}.begun", "status == MOTE_BUSY"),
                when(f"{state}.begun != 0 || ++{state}.model <= {len(models)}", "return MOTE_BUSY"),
                assign(f"{state}.model", 1),
                f"return {name}_worst()",
            ],
        ),
        CFunction(f"mote_status {name}_run(void)", ["mote_status status", again, "return status"]),
        *_reset(models, options, begin),
    ]


_UNLESS_OK = when("status != MOTE_OK", "return status")


def _turn(number: int, model: Model, options: ProjectOptions) -> Case:
    """A case that runs a step of one model; before its first step the input is copied."""
    plan, own = model
    copies = [
        f"memcpy({port.call}, {options.name}_frame.bytes + {at}, {port.macro}_BYTES)"
        for port, at in _placed(inputs(plan, own))
    ]
    return Case(number, own.name, [when(f"{options.name}_state.begun == 0", *copies), f"status = {own.name}_step()"])


def _placed(ports: Sequence[CPort]) -> list[tuple[CPort, int]]:
    """The inputs with their offsets in the common input buffer."""
    sizes = [aligned(port.tensor.nbytes, ARENA_ALIGNMENT) for port in ports]
    return [(port, sum(sizes[:i])) for i, port in enumerate(ports)]


def _reset(models: Sequence[Model], options: ProjectOptions, begin: Sequence[Statement]) -> list[Definition]:
    """The function that resets all models; a model without state is initialized again."""
    if not any(plan.graph.states for plan, _ in models):
        return []
    calls = [f"{own.name}_{'reset' if plan.graph.states else 'init'}()" for plan, own in models]
    ready = when(f"{options.name}_state.model == 0", "return MOTE_NOT_READY")
    return [
        CFunction(
            f"mote_status {options.name}_reset(void)",
            [
                "mote_status status",
                ready,
                *(part for call in calls for part in (f"status = {call}", _UNLESS_OK)),
                *begin,
                "return MOTE_OK",
            ],
        )
    ]
