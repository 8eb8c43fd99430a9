"""Persistent state of a model: its variable, and the functions that reset, save and restore it."""

from __future__ import annotations

import zlib
from collections.abc import Collection

import numpy as np

from mote.compiler.emit.c.c import CFunction, Comment, Compound, Definition, Noted, Statement, assign, call, when
from mote.compiler.emit.c.model.handle import declared, handed, instance_type, taken, variable
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.emit.c.values import ConstantPool
from mote.compiler.plan.plan import Plan
from mote.ir.graph import State

HEAD = 16
"""Bytes of the header of a saved state: see `mote_crc.h`."""


def saved_bytes(plan: Plan) -> int:
    return HEAD + plan.kept_bytes


def kept(plan: Plan, options: ProjectOptions) -> list[Statement]:
    """The definition of the variable that holds persistent state."""
    states = [f"uint{8 * plan.state_alignment}_t alignment", f"uint8_t bytes[{plan.state_bytes}]"]
    fields: list[Statement] = [Compound("union", states, " states;")]
    if plan.rings:
        fields.append(Noted(f"uint16_t oldest[{plan.rings}]", "row of each ring buffer"))
    if plan.graph.warm_up:
        fields.append(Noted("uint16_t missing", "runs until the outputs mean something"))
    name = declared(options, "kept")
    what = Comment("What is remembered from one inference to the next.")
    kind = "struct" if options.instances else f"static struct {name}"
    return [what, Compound(kind, fields, f" {name};")]


def resetting(options: ProjectOptions) -> str:
    return f"mote_status {options.name}_reset({taken(options)})"


def saving(options: ProjectOptions) -> str:
    return f"mote_status {options.name}_save({taken(options, 'void *state', 'size_t bytes', const=True)})"


def restoring(options: ProjectOptions) -> str:
    return f"mote_status {options.name}_restore({taken(options, 'const void *state', 'size_t bytes')})"


def ready(options: ProjectOptions) -> Statement:
    """The C statement that returns an error before init."""
    return when(f"{variable(options, 'state')}.position == 0", "return MOTE_NOT_READY")


def between_inferences(options: ProjectOptions) -> list[Statement]:
    """The C statements that return an error before init, or in the middle of an inference."""
    return [ready(options), when(f"{variable(options, 'state')}.position != 1", "return MOTE_BUSY")]


def keeping(plan: Plan, options: ProjectOptions, constants: ConstantPool) -> list[Definition]:
    """The functions that reset, save and restore persistent state."""
    name = options.name
    kept, position = variable(options, "kept"), f"{variable(options, 'state')}.position"
    short = when(f"state == NULL || bytes < {name.upper()}_STATE_BYTES", "return MOTE_BAD_STATE")
    model = f"0x{_identity(plan, options):08x}u, "
    wrong = when(f"!mote_state_fits(state, {model}sizeof {kept})", "return MOTE_BAD_STATE")
    allowed = [*between_inferences(options), short]
    save = f"mote_state_save(state, {model}&{kept}, sizeof {kept})"
    begin = "const uint8_t *const from = (const uint8_t *)state + MOTE_STATE_HEAD"
    return [
        CFunction(f"static void {name}_forget({taken(options)})", _forgetting(plan, options, constants)),
        CFunction(
            resetting(options),
            [ready(options), f"{name}_forget({handed(options)})", assign(position, 1), "return MOTE_OK"],
        ),
        CFunction(saving(options), [*allowed, save, "return MOTE_OK"]),
        CFunction(restoring(options), [*allowed, wrong, begin, *_restoring(plan, options), "return MOTE_OK"]),
    ]


def _forgetting(plan: Plan, options: ProjectOptions, constants: ConstantPool) -> list[Statement]:
    kept = variable(options, "kept")
    body = initializing(plan, options, constants, plan.graph.states)
    if plan.rings:
        body.append(f"memset({kept}.oldest, 0, sizeof {kept}.oldest)")
    if plan.graph.warm_up:
        body.append(assign(f"{kept}.missing", plan.graph.warm_up))
    return body


def initializing(
    plan: Plan, options: ProjectOptions, constants: ConstantPool, states: Collection[State]
) -> list[Statement]:
    """The C statements that set states to their initial values."""
    body: list[Statement] = []
    for i, state in enumerate(plan.graph.states):
        if state not in states:
            continue
        raw = np.frombuffer(np.ascontiguousarray(state.initial).tobytes(), np.uint8)
        target = f"{variable(options, 'kept')}.states.bytes + {plan.place[state.before].offset}"
        if np.all(raw == raw[0]):
            body.append(call("memset", target, int(raw[0]), raw.size))
        else:
            copy = "mote_flash_copy" if options.flash_apart else "memcpy"
            body.append(call(copy, target, constants.array(f"initial_{i}", state.initial, 0), raw.size))
    return body


def _restoring(plan: Plan, options: ProjectOptions) -> list[Statement]:
    """The C statements that restore a saved state; out-of-range indices are refused, as kernels use them and a CRC is
    no signature."""
    kept, instance = variable(options, "kept"), instance_type(options)
    copy = f"memcpy(&{kept}, from, sizeof {kept})"
    limits = [(f"oldest[{ring}]", rows - 1) for ring, rows in _rings(plan)]
    limits += [("missing", plan.graph.warm_up)] * bool(plan.graph.warm_up)
    if not limits:
        return [copy]
    fields = [f"uint16_t oldest[{plan.rings}]"] * bool(plan.rings) + ["uint16_t missing"] * bool(plan.graph.warm_up)
    begin = limits[0][0].split("[")[0]
    at = f"offsetof(struct {kept}, {begin})"
    if options.instances:
        at = f"(offsetof({instance}, kept.{begin}) - offsetof({instance}, kept))"
    return [
        Compound("struct", fields, " saved;"),
        f"memcpy(&saved, from + {at}, sizeof saved)",
        *(when(f"saved.{field} > {most}", "return MOTE_BAD_STATE") for field, most in limits),
        copy,
        *(assign(f"{kept}.{field}", f"saved.{field}") for field, _ in limits),
    ]


def _identity(plan: Plan, options: ProjectOptions) -> int:
    """A hash of the model and of the layout of its states, so that no state of another model is restored."""
    places = [(s.initial.shape, str(s.initial.dtype), plan.place[s.before].offset) for s in plan.graph.states]
    return zlib.crc32(repr((places, _rings(plan), plan.graph.warm_up)).encode(), options.model)


def _rings(plan: Plan) -> list[tuple[int, int]]:
    """The numbers of the ring buffers, with their numbers of rows."""
    return sorted({b.ring: len(b.offsets) for b in plan.buffers if b.ring is not None}.items())
