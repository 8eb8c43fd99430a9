"""Assigns a type and a scale to every tensor of a partly quantized graph.

Operators that only move data tie their inputs and outputs to one scale. A tensor may be stored in several types, one
for each group of readers: a `TypedTensor` each."""

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
"""Value of `reader` for a typed tensor shared by all operators."""

Ranges = Mapping[int, Range]
"""Value ranges (minimum, maximum) by tensor id."""


@dataclass(frozen=True, order=True)
class TypedTensor:
    """A float tensor stored in one type, for all readers or for a single operator (by number)."""

    tensor: int
    dtype: DType
    reader: int = EVERYONE


Operands = tuple[TypedTensor | None, ...]
"""Typed tensors of an operator's inputs; None for unquantized inputs, weights and biases."""


@dataclass(frozen=True)
class TypeAssignment:
    """Typed tensors by writer and reader, with scales."""

    written: Mapping[int, TypedTensor]
    """Typed tensor that each producer (or model input) writes, by float tensor."""
    read: Mapping[int, Operands]
    """Typed tensors that each operator reads, by operator number."""
    scales: Mapping[TypedTensor, Quantization]
    """Quantization of every integer typed tensor."""


@dataclass
class ScaleGroups:
    """Groups of typed tensors that share a scale (union-find)."""

    parents: dict[TypedTensor, TypedTensor] = field(default_factory=dict)
    fixed: dict[TypedTensor, Quantization] = field(default_factory=dict)
    """Prescribed scales by group root."""

    def first(self, place: TypedTensor) -> TypedTensor:
        """Root of the group of a typed tensor."""
        while place in self.parents:
            place = self.parents[place]
        return place

    def join(self, a: TypedTensor, b: TypedTensor) -> None:
        """Merges two groups; at most one may have a prescribed scale, or both the same."""
        a, b = self.first(a), self.first(b)
        if a == b:
            return
        given = self.fixed.pop(b, None)
        if given is not None:
            self.fixed[a] = given
        self.parents[b] = a

    def agree(self, places: Iterable[TypedTensor]) -> bool:
        """Whether all have the same prescribed scale, or none has any."""
        given = [self.fixed.get(self.first(p)) for p in places]
        return all(x is given[0] or (x is not None and x.same_as(given[0])) for x in given)

    def scales(
        self, places: Iterable[TypedTensor], ranges: Mapping[TypedTensor, Range]
    ) -> dict[TypedTensor, Quantization]:
        """Scale of each typed tensor: the group's prescribed one, or one that covers the ranges of all members."""
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


def assign_types(
    graph: Graph,
    ranges: Mapping[DType, Ranges],
    precisions: Mapping[int, Precision],
    insides: Insides,
    *,
    real_edges: bool,
) -> TypeAssignment:
    """Assigns typed tensors for operator precisions (by number). `real_edges`: model inputs and outputs are float.
    `ranges` are value ranges by type, `insides` those of intermediate values of composite layers."""

    def dtype(op: Op) -> DType:
        return precisions[op.index].activations if op.index in precisions else DType.FLOAT32

    def given(tensor: int) -> DType:
        """Type of a model input: the widest integer that a reader needs, else float."""
        wanted = {dtype(op) for op in graph.consumers.get(tensor, [])}
        usable = [] if real_edges else [t for t in (DType.INT16, DType.INT8) if t in wanted]
        return usable[0] if usable else DType.FLOAT32

    written = {s.before: TypedTensor(s.before, DType.FLOAT32) for s in graph.states if is_real(graph, s.before)}
    written |= {t: TypedTensor(t, given(t)) for t in graph.inputs if is_real(graph, t)}
    read: dict[int, Operands] = {}
    groups = ScaleGroups()
    for op in graph.ops:
        composite = dtype(op) != DType.FLOAT32 and type(op) in COMPOSITES
        outputs = {t: TypedTensor(t, dtype(op)) for t in op.outputs[: 1 if composite else None] if is_real(graph, t)}
        if composite:
            read[op.index] = _composite(graph, op, insides, outputs[op.outputs[0]], groups)
        else:
            read[op.index] = _operands(graph, op, dtype(op), groups)
        if dtype(op) != DType.FLOAT32 and not composite:
            _join(op, [p for p in read[op.index] if p is not None], list(outputs.values()), groups)
        written |= outputs
    places = {*written.values(), *(p for operands in read.values() for p in operands if p is not None)}
    whole = sorted(p for p in places if p.dtype != DType.FLOAT32)
    known = {p: r for p in whole if (r := _range(graph, ranges[p.dtype], p)) is not None}
    return TypeAssignment(written, read, groups.scales(whole, known))


def _operands(graph: Graph, op: Op, dtype: DType, groups: ScaleGroups) -> Operands:
    """Typed tensors that an operator reads; with one scale for all, constants and tensors with conflicting prescribed
    scales get private copies."""
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


def _composite(graph: Graph, op: Op, insides: Insides, output: TypedTensor, groups: ScaleGroups) -> Operands:
    """Typed tensors that a composite layer reads: the first input, and private copies of others with prescribed
    scales."""
    own = COMPOSITES[type(op)].given(graph, op, insides[op.outputs[0]])
    places: list[TypedTensor | None] = [TypedTensor(op.inputs[0], output.dtype), *[None] * (len(op.inputs) - 1)]
    for position, (dtype, quant) in own.items():
        place = TypedTensor(op.inputs[position], dtype, op.index)
        places[position] = place
        if quant is None:
            groups.join(place, output)
        else:
            groups.fixed[place] = quant
    return tuple(places)


def _join(op: Op, operands: list[TypedTensor], outputs: list[TypedTensor], groups: ScaleGroups) -> None:
    """Ties the scales of an integer operator's inputs and outputs by its rule."""
    family = FAMILIES[type(op)]
    if family.rule is Rule.SAME:
        first, *others = [*operands, *outputs]
        for place in others:
            groups.join(first, place)
    elif family.rule is Rule.FIXED:
        for place in outputs:
            groups.fixed[place] = one_scale(*family.fixed[place.dtype])


def _range(graph: Graph, ranges: Ranges, place: TypedTensor) -> Range | None:
    """Range of a typed tensor; None for a private copy of a constant, which takes its group's scale and is clamped."""
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
