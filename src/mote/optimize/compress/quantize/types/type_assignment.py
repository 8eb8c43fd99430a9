"""Assigns a type and a scale to every tensor of a partly quantized graph.

Operators that only move elements tie their inputs and outputs to one scale. A tensor may exist in several types, one
per group of readers: each is a place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from mote.base.errors import MoteError
from mote.ir.graph import Graph, Op, Quantization
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.types import DType
from mote.optimize.compress.quantize.composites import COMPOSITES
from mote.optimize.compress.quantize.encode import Range, one_scale, steps
from mote.optimize.compress.quantize.inside import Insides
from mote.optimize.compress.quantize.types.litert_rules import FAMILIES, Rule
from mote.optimize.compress.quantize.types.precision import Precision

EVERYONE = -1
"""The reader of a place that is shared by all operators."""

Ranges = Mapping[int, Range]
"""Minimum and maximum of tensors, by id."""


@dataclass(frozen=True, order=True)
class TypedTensor:
    """A float tensor as it is stored in one type, for all its readers or for a single operator (by number)."""

    tensor: int
    dtype: DType
    reader: int = EVERYONE


Operands = tuple[TypedTensor | None, ...]
"""Places of an operator's inputs; None for unquantized inputs, weights and biases."""


@dataclass(frozen=True)
class TypeAssignment:
    """Places by their writers and readers."""

    written: Mapping[int, TypedTensor]
    """The first place of each float tensor: as a model input, or as its operator writes it."""
    read: Mapping[int, Operands]
    """Places of operands, by operator number."""
    scales: Mapping[TypedTensor, Quantization]
    """Quantization of every integer place."""


@dataclass
class ScaleGroups:
    """Groups of places with one scale each (a union-find structure)."""

    parents: dict[TypedTensor, TypedTensor] = field(default_factory=dict)
    fixed: dict[TypedTensor, Quantization] = field(default_factory=dict)
    """Scales that operators prescribe for their outputs, by the root of a group."""

    def first(self, place: TypedTensor) -> TypedTensor:
        """The root of a group."""
        while place in self.parents:
            place = self.parents[place]
        return place

    def join(self, a: TypedTensor, b: TypedTensor) -> None:
        """Merges two groups, of which at most one has a fixed scale, or both the same."""
        a, b = self.first(a), self.first(b)
        if a == b:
            return
        given = self.fixed.pop(b, None)
        if given is not None:
            self.fixed[a] = given
        self.parents[b] = a

    def agree(self, places: Iterable[TypedTensor]) -> bool:
        """Whether all have one fixed scale, or none has one."""
        given = [self.fixed.get(self.first(p)) for p in places]
        return all(x is given[0] or (x is not None and x.same_as(given[0])) for x in given)

    def scales(
        self, places: Iterable[TypedTensor], ranges: Mapping[TypedTensor, Range]
    ) -> dict[TypedTensor, Quantization]:
        """The scale of each place: the group's fixed one, or the one that covers the ranges of all its places."""
        members: dict[TypedTensor, list[TypedTensor]] = {}
        for place in places:
            members.setdefault(self.first(place), []).append(place)
        by_place: dict[TypedTensor, Quantization] = {}
        for first, group in members.items():
            known = [ranges[p] for p in group if p in ranges]
            low, high = min((r[0] for r in known), default=0.0), max((r[1] for r in known), default=0.0)
            by_place |= dict.fromkeys(group, self.fixed.get(first) or steps(low, high, first.dtype))
        return by_place


def is_real(graph: Graph, tensor: int) -> bool:
    return tensor != ABSENT and graph.tensors[tensor].dtype == DType.FLOAT32


def held(
    graph: Graph,
    ranges: Mapping[DType, Ranges],
    precisions: Mapping[int, Precision],
    insides: Insides,
    *,
    real_edges: bool,
) -> TypeAssignment:
    """Assigns places for given precisions of operators, by number; with `real_edges` the model's inputs and outputs are
    float. `ranges` are those of tensors by type, `insides` those of values inside layers."""

    def dtype(op: Op) -> DType:
        return precisions[op.index].activations if op.index in precisions else DType.FLOAT32

    def given(tensor: int) -> DType:
        """The type of a model input: the widest integer that a reader needs."""
        wanted = {dtype(op) for op in graph.consumers.get(tensor, [])}
        usable = [] if real_edges else [t for t in (DType.INT16, DType.INT8) if t in wanted]
        return usable[0] if usable else DType.FLOAT32

    written = {s.before: TypedTensor(s.before, DType.FLOAT32) for s in graph.states if is_real(graph, s.before)}
    written |= {t: TypedTensor(t, given(t)) for t in graph.inputs if is_real(graph, t)}
    read: dict[int, Operands] = {}
    groups = ScaleGroups()
    for op in graph.ops:
        composite = dtype(op) != DType.FLOAT32 and type(op) in COMPOSITES
        made = {t: TypedTensor(t, dtype(op)) for t in op.outputs[: 1 if composite else None] if is_real(graph, t)}
        if composite:
            read[op.index] = _composite(graph, op, insides, made[op.outputs[0]], groups)
        else:
            read[op.index] = _operands(graph, op, dtype(op), groups)
        if dtype(op) != DType.FLOAT32 and not composite:
            _join(op, [p for p in read[op.index] if p is not None], list(made.values()), groups)
        written |= made
    places = {*written.values(), *(p for operands in read.values() for p in operands if p is not None)}
    whole = sorted(p for p in places if p.dtype != DType.FLOAT32)
    known = {p: r for p in whole if (r := _range(graph, ranges[p.dtype], p)) is not None}
    return TypeAssignment(written, read, groups.scales(whole, known))


def _operands(graph: Graph, op: Op, dtype: DType, groups: ScaleGroups) -> Operands:
    """Places of operands with one scale: constants, and tensors with conflicting fixed scales, get a place of their
    own."""
    places = [TypedTensor(t, dtype) if is_real(graph, t) else None for t in op.inputs]
    if dtype == DType.FLOAT32:
        return tuple(places)
    rule = FAMILIES[type(op)].rule
    if rule is Rule.LAYER:
        return (places[0], *[None] * (len(places) - 1))
    if rule is not Rule.SAME:
        return tuple(places)
    computed = [p for p in places if p is not None and graph.tensors[p.tensor].data is None]
    shared = computed if groups.agree(computed) else [p for p in computed if groups.first(p) not in groups.fixed]
    return tuple(p if p is None or p in shared or not computed else replace(p, reader=op.index) for p in places)


def _composite(graph: Graph, op: Op, insides: Insides, made: TypedTensor, groups: ScaleGroups) -> Operands:
    """The first operand, and private copies of the others, with scales that the layer prescribes."""
    own = COMPOSITES[type(op)].given(graph, op, insides[op.outputs[0]])
    places: list[TypedTensor | None] = [TypedTensor(op.inputs[0], made.dtype), *[None] * (len(op.inputs) - 1)]
    for position, (dtype, quant) in own.items():
        place = TypedTensor(op.inputs[position], dtype, op.index)
        places[position] = place
        if quant is None:
            groups.join(place, made)
        else:
            groups.fixed[place] = quant
    return tuple(places)


def _join(op: Op, operands: list[TypedTensor], made: list[TypedTensor], groups: ScaleGroups) -> None:
    """Ties the scales of an integer operator's inputs and outputs."""
    family = FAMILIES[type(op)]
    if family.rule is Rule.SAME:
        first, *others = [*operands, *made]
        for place in others:
            groups.join(first, place)
    elif family.rule is Rule.FIXED:
        for place in made:
            groups.fixed[place] = one_scale(*family.fixed[place.dtype])


def _range(graph: Graph, ranges: Ranges, place: TypedTensor) -> Range | None:
    """The range of a tensor; None for a constant that takes the scale of its neighbours, and is clamped."""
    t = graph.tensors[place.tensor]
    if t.data is None and t.id not in ranges:
        kept = t.id in {state.before for state in graph.states}
        raise MoteError(
            f"calibration data shows nothing of the values of tensor '{t.name}'"
            + (", which the model keeps from one inference to the next" if kept else ""),
            where=graph.name,
            remedy="quantize the model over a whole window, and compile that with --stream" if kept else "",
        )
    if t.data is None:
        return ranges[t.id]
    return (float(t.data.min(initial=0.0)), float(t.data.max(initial=0.0))) if place.reader == EVERYONE else None
