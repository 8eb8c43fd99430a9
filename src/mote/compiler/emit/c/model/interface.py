"""The API of a compiled model, for wrappers in other languages."""

from __future__ import annotations

from dataclasses import dataclass

from mote.compiler.emit.c.model.arenas import arenas
from mote.compiler.emit.c.model.ports import CPort, inputs, outputs, pushed_rows
from mote.compiler.emit.c.model.states import saved_bytes
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.kernels.contract import aligned
from mote.compiler.plan.plan import ARENA_ALIGNMENT, STATUS_BYTES, Plan


@dataclass(frozen=True)
class Interface:
    """The API of a compiled model: inputs, outputs, and how it is run."""

    name: str
    inputs: tuple[CPort, ...]
    outputs: tuple[CPort, ...]
    rows: int
    """Rows of an input that is pushed row by row; 0: it is written as a whole."""
    saved_bytes: int
    """Bytes of a saved persistent state; 0: the model has none."""
    instance_bytes: int
    """Bytes that are enough for an instance on any core."""
    arena_bytes: int
    """Bytes of all arenas."""


def interface(plan: Plan, options: ProjectOptions) -> Interface:
    """The API of a compiled model."""
    reads, writes = tuple(inputs(plan, options)), tuple(outputs(plan, options))
    stateful = bool(plan.graph.states)
    return Interface(
        options.name,
        reads,
        writes,
        pushed_rows(reads[0]) if plan.pushed else 0,
        saved_bytes(plan) if stateful else 0,
        _instance_bytes(plan),
        sum(arena.nbytes for arena in arenas(plan)),
    )


def _instance_bytes(plan: Plan) -> int:
    """An upper bound of the size of an instance: each member rounded up to the largest alignment of any core."""
    state = plan.position_bytes + plan.counters * plan.counter_bytes
    kept = plan.state_bytes + 2 * plan.rings + 2 if plan.graph.states else 0
    state += STATUS_BYTES + ARENA_ALIGNMENT + plan.external_state if plan.polls else 0
    members = [*(a.nbytes for a in arenas(plan)), state + 8, *([kept + 8] if kept else [])]
    return sum(aligned(nbytes, ARENA_ALIGNMENT) for nbytes in members)
