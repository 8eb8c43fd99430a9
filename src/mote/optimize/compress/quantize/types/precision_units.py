"""Units of mixed precision: a layer with weights and the weightless operators after it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mote.ir.graph import Graph, Op
from mote.optimize.compress.quantize.types.litert_rules import has_weights
from mote.optimize.compress.quantize.types.precision import Precision
from mote.optimize.compress.quantize.types.type_assignment import is_real


@dataclass(frozen=True)
class PrecisionUnit:
    """A layer with weights and the operators that share its precision."""

    layer: int
    name: str
    op: str
    operators: tuple[int, ...]
    """Numbers of all its operators."""
    short: str = ""
    """The layer's short name, the same in all reports."""


def units(graph: Graph) -> list[PrecisionUnit]:
    """Units of a float graph in normal form, in layer order. A weightless operator belongs to the last layer that it
    depends on, or to the first layer if there is none before it."""
    home: dict[int, int] = {}
    members: dict[int, list[int]] = {}
    ops = {op.index: op for op in graph.ops}
    for op in graph.ops:
        if not any(is_real(graph, t) for t in (*op.inputs, *op.outputs)):
            continue
        before = [home[t] for _, t in op.computed(graph) if t in home]
        unit = op.index if has_weights(graph, op) else max(before, default=-1)
        members.setdefault(unit, []).append(op.index)
        home |= dict.fromkeys(op.outputs, unit)
    early = members.pop(-1, [])
    own_units = [
        PrecisionUnit(i, _name(graph, ops[i]), ops[i].kind, tuple(own), graph.short_name(ops[i]))
        for i, own in sorted(members.items())
    ]
    if early and own_units:
        first = own_units[0]
        own_units[0] = replace(first, operators=(*early, *first.operators))
    return own_units


def layers_of(own: list[PrecisionUnit], precisions: tuple[str, ...]) -> dict[int, Precision]:
    """Precision of every operator by number, from the precisions of the units."""
    return {op: Precision(p) for unit, p in zip(own, precisions, strict=True) for op in unit.operators}


def _name(graph: Graph, op: Op) -> str:
    return op.name or graph.tensors[op.outputs[0]].name
