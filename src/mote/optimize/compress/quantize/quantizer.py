"""Builds the integer graph from a float graph, activation ranges and a scheme of precisions.

Operators get precisions, tensors get types and scales (`type_assignment.py`); then operators and constants are
rewritten, with conversions where a reader needs another type than the writer's. If an operator does not support its
scales it falls back to float, and the graph is quantized again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np

from mote.base.errors import MoteError
from mote.ir.graph import Graph, Op, State, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.activations import RequantizeInt8
from mote.ir.ops.elementwise.quantize import Dequantize, Quantize, Rescale
from mote.ir.ops.moves.pad_concat_transpose import Pad
from mote.optimize.compress.quantize.composites import COMPOSITES
from mote.optimize.compress.quantize.composites.scope import CompositeBuilder
from mote.optimize.compress.quantize.constants import ConstantOverrides, as_float16, layer_constants
from mote.optimize.compress.quantize.encode import in_steps
from mote.optimize.compress.quantize.inside import Insides
from mote.optimize.compress.quantize.types.litert_rules import FAMILIES, Rule, has_weights
from mote.optimize.compress.quantize.types.precision import Precision, Rounded, Scheme
from mote.optimize.compress.quantize.types.type_assignment import (
    Ranges,
    TypeAssignment,
    TypedTensor,
    assign_types,
    is_real,
)

IO = ("int8", "float32")
"""Values of the option `io`: integer inputs and outputs in the layers' types, or float."""
NO_FAMILY = "there are no integers that LiteRT computes it with"
COMPUTED = "its weights are computed"
UNSEEN = "calibration has not shown what is inside of it"
NO_FOUR_BITS = "LiteRT has no int4 weights for it: they are int8"


@dataclass(frozen=True)
class Integers:
    """A quantized graph with the precision of each operator."""

    graph: Graph
    precisions: Mapping[int, Precision]
    """Precision by number of the float operator."""
    whole: Mapping[int, Op]
    """Quantized operators by number of the float operator. Their inputs may be converted copies of the original
    tensors."""
    refused: Mapping[int, str]
    """Why operators do not have the requested precision, by number."""


def quantized(
    graph: Graph,
    ranges: Ranges,
    scheme: Scheme | None = None,
    *,
    io: str = IO[0],
    weights: Mapping[int, Rounded] | None = None,
    biases: Mapping[int, Array] | None = None,
    insides: Insides | None = None,
) -> Graph:
    """The integer graph of a float graph in normal form. Tensors keep the ids of the float ones; converted copies are
    `inner`. `weights` overrides quantized weights by float tensor id, `biases` float biases by layer output."""
    chosen = ConstantOverrides(weights or {}, biases or {})
    return integers(graph, ranges, scheme, io=io, chosen=chosen, insides=insides).graph


def integers(
    graph: Graph,
    ranges: Ranges,
    scheme: Scheme | None = None,
    *,
    io: str = IO[0],
    chosen: ConstantOverrides | None = None,
    wide: Ranges | None = None,
    insides: Insides | None = None,
) -> Integers:
    """Quantizes a float graph in normal form and reports each operator's precision with reasons. `wide`: ranges for
    int16 tensors, if different; `insides`: ranges of intermediate values, without which composite layers stay
    float32."""
    if io not in IO:
        raise MoteError(f"'{io}' is not one of {', '.join(IO)}", where="option io")
    insides = insides or {}
    refused = _without_form(graph, insides)
    while True:
        precisions = _precisions(graph, scheme or Scheme(), refused)
        by_type = {DType.INT8: ranges, DType.INT16: ranges if wide is None else wide}
        types = assign_types(graph, by_type, precisions, insides, real_edges=io == "float32")
        assembly = _Assembly(
            graph, precisions, types, chosen or ConstantOverrides(), insides, real_edges=io == "float32"
        )
        quantized_graph = assembly.graph()
        checked = [*assembly.whole.values(), *assembly.parts]
        problems = {op.index: problem for op in checked if (problem := _problem(quantized_graph, op))}
        if not problems:
            return Integers(quantized_graph.verify(), precisions, assembly.whole, refused)
        refused |= problems


def _problem(graph: Graph, op: Op) -> str | None:
    """Why an operator, or one in its body graphs, does not support its scales; None if it does."""
    inside = (inner.unsupported(body) for body in op.bodies for inner in body.ops)
    return next((problem for problem in (op.unsupported(graph), *inside) if problem), None)


def _without_form(graph: Graph, insides: Insides) -> dict[int, str]:
    """Why composite layers cannot be quantized, by number."""
    reasons: dict[int, str] = {}
    for op in graph.ops:
        if type(op) in COMPOSITES:
            unseen = None if op.outputs[0] in insides else UNSEEN
            reasons |= {op.index: reason} if (reason := COMPOSITES[type(op)].problem(graph, op) or unseen) else {}
    return reasons


def _precisions(graph: Graph, scheme: Scheme, refused: dict[int, str]) -> dict[int, Precision]:
    """Chooses the precision of each float operator, by number; adds reasons to `refused` where it is not the requested
    one."""
    precisions: dict[int, Precision] = {}
    made: dict[int, Precision] = {}
    for op in graph.ops:
        if not any(is_real(graph, t) for t in (*op.inputs, *op.outputs)):
            continue
        family = FAMILIES.get(type(op))
        if family is not None and family.rule is Rule.LAYER and len(op.computed(graph)) > 1:
            refused.setdefault(op.index, COMPUTED)
        before = [made[t] for _, t in op.computed(graph) if t in made]
        follows = family is not None and family.rule is Rule.SAME and op.index not in scheme.layers and before
        wanted = before[0] if follows else scheme.of(op)
        if wanted is Precision.FLOAT16 and not any(as_float16(graph.tensors[t]) for t in op.inputs if t != ABSENT):
            wanted = Precision.FLOAT32
        precisions[op.index] = _possible(graph, op, wanted, refused)
        made |= dict.fromkeys(op.outputs, precisions[op.index])
    return precisions


def _possible(graph: Graph, op: Op, wanted: Precision, refused: dict[int, str]) -> Precision:
    """The precision of one operator for a requested one."""
    family, layer = FAMILIES.get(type(op)), has_weights(graph, op)
    if not wanted.integer:
        refused.pop(op.index, None)
        return wanted
    if family is None:
        refused.setdefault(op.index, NO_FAMILY)
    elif wanted.activations not in family.types:
        refused.setdefault(op.index, f"LiteRT has none of {wanted.activations}")
    elif layer and wanted is Precision.INT4 and not family.four_bits:
        refused.setdefault(op.index, NO_FOUR_BITS)
    reason = refused.get(op.index)
    if reason is not None and reason != NO_FOUR_BITS:
        return Precision.FLOAT32
    return Precision.INT8 if wanted is Precision.INT4 and (reason or not layer) else wanted


@dataclass
class _Assembly:
    """Builder of the quantized graph."""

    source: Graph
    precisions: Mapping[int, Precision]
    places: TypeAssignment
    chosen: ConstantOverrides
    insides: Insides
    real_edges: bool
    tensors: dict[int, Tensor] = field(default_factory=dict)
    ids: dict[TypedTensor, int] = field(default_factory=dict)
    """Ids of tensors created so far."""
    constants: dict[tuple[int, bytes, bytes], int] = field(default_factory=dict)
    """Ids of quantized constants by float id, data and quantization; operators that need the same one share it."""
    ops: list[Op] = field(default_factory=list)
    whole: dict[int, Op] = field(default_factory=dict)
    """Quantized operators by number of the float operator."""
    parts: list[Op] = field(default_factory=list)
    """Operators that replace composite layers."""

    def graph(self) -> Graph:
        for t in self.source.inputs:
            if is_real(self.source, t):
                self._id(self.places.written[t])
        for op in self.source.ops:
            self._write(op)
        for t in self.source.outputs:
            if is_real(self.source, t):
                self._read(self._edge(t), self.ops[-1].index if self.ops else 0)
        return replace(self.source, states=tuple(map(self._state, self.source.states))).with_ops(
            self.ops, self.tensors.values()
        )

    def _state(self, state: State) -> State:
        """A state with its initial value quantized if its tensor is."""
        t = self.tensors.get(state.before)
        if t is None or t.quant is None:
            return state
        return replace(state, initial=in_steps(state.initial, t.quant, t.dtype))

    def _write(self, op: Op) -> None:
        operands = zip(op.inputs, self.places.read[op.index], strict=True)
        inputs = [t if place is None else self._read(place, op.index) for t, place in operands]
        written = self.places.written
        outputs = [self._id(written[t]) if t in written else t for t in op.outputs]
        precision = self.precisions.get(op.index, Precision.FLOAT32)
        if precision.integer and type(op) in COMPOSITES:
            self._write_composite(op, inputs, outputs[0])
            return
        if precision is Precision.FLOAT16:
            inputs = [self._float16(t) for t in inputs]
        if precision.integer:
            if FAMILIES[type(op)].rule is Rule.LAYER:
                constants = layer_constants(self.source, op, self.tensors[inputs[0]].scale, precision, self.chosen)
                inputs[1:] = [self._constant(t) for t in constants]
            op = _integer_form(op, self.tensors.get(outputs[0]))
            self.whole[op.index] = op.with_(inputs=tuple(inputs), outputs=tuple(outputs))
        self.ops.append(op.with_(inputs=tuple(inputs), outputs=tuple(outputs)))

    def _write_composite(self, op: Op, inputs: list[int], output: int) -> None:
        x, y = self.tensors[inputs[0]], self.tensors[output]
        scope = CompositeBuilder(self.source, op, self.insides[op.outputs[0]], inputs, x, y, self._fresh())
        COMPOSITES[type(op)].write(scope, op)
        self.tensors |= scope.tensors
        self.ops += scope.ops
        self.parts += scope.ops
        self.whole[op.index] = next(made for made in scope.ops if output in made.outputs)

    def _float16(self, tensor: int) -> int:
        """Id of a large float constant as float16; other tensors unchanged."""
        converted = None if tensor not in self.source.tensors else as_float16(self.source.tensors[tensor])
        if converted is None:
            return tensor
        key = tensor, b"float16", b""
        if key not in self.constants:
            shared = any(self.precisions[op.index] is not Precision.FLOAT16 for op in self.source.consumers[tensor])
            self.constants[key] = self._hold(replace(converted, id=self._fresh()) if shared else converted)
        return self.constants[key]

    def _constant(self, t: Tensor) -> int:
        """Id of a quantized constant; the float one's id if nothing else reads that."""
        assert t.data is not None and t.quant is not None
        key = t.id, t.data.tobytes(), t.quant.scale.tobytes() + t.quant.zero_point.tobytes()
        if key not in self.constants:
            alone = len(self.source.consumers.get(t.id, [])) == 1 and t.id not in self.tensors
            self.constants[key] = self._hold(t if alone else replace(t, id=self._fresh()))
        return self.constants[key]

    def _read(self, place: TypedTensor, reader: int) -> int:
        """Id of the tensor that operator number `reader` reads: as written, converted once for all readers, or a
        quantized constant."""
        if place in self.ids:
            return self.ids[place]
        t = self.source.tensors[place.tensor]
        scale = self.places.scales.get(place)
        if t.data is not None:
            if scale is None:
                return t.id
            stored = in_steps(t.data, scale, place.dtype)
            return self._constant(replace(t, dtype=place.dtype, quant=scale, data=stored))
        first = self.places.written[t.id]
        if place == first or (scale is not None and scale is self.places.scales.get(first)):
            return self._id(first)
        given, made = self._id(first), self._id(place)
        kind = _conversion(first.dtype, place.dtype)
        self.ops.append(kind(inputs=(given,), outputs=(made,), name=self.tensors[made].name, index=reader))
        return made

    def _edge(self, tensor: int) -> TypedTensor:
        """The typed tensor of a model output."""
        return TypedTensor(tensor, DType.FLOAT32) if self.real_edges else self.places.written[tensor]

    def _id(self, place: TypedTensor) -> int:
        """Id of a typed tensor, created on first use; the type written by its producer keeps the float id."""
        if place not in self.ids:
            t = self.source.tensors[place.tensor]
            own = self._edge(t.id) if t.id in self.source.outputs else self.places.written[t.id]
            kept = place == own
            self.ids[place] = self._hold(
                replace(
                    t,
                    id=t.id if kept else self._fresh(),
                    name=t.name if kept else f"{t.name} ({place.dtype})",
                    dtype=place.dtype,
                    quant=self.places.scales.get(place),
                    inner=t.inner or not kept,
                )
            )
        return self.ids[place]

    def _hold(self, t: Tensor) -> int:
        self.tensors[t.id] = t
        return t.id

    def _fresh(self) -> int:
        return max((*self.source.tensors, *self.tensors)) + 1


def _integer_form(op: Op, y: Tensor | None) -> Op:
    """The integer variant of a float operator, with LiteRT's rounding."""
    usual = {f.name: f.default for f in fields(op) if f.name == "rounding"}
    if isinstance(op, Pad):
        assert y is not None and y.quant is not None
        usual["value"] = int(in_steps(np.asarray(op.value), y.quant, y.dtype))
    return op.with_(**usual)


def _conversion(source: DType, result: DType) -> type[Op]:
    """The operator that converts between two types."""
    if source == DType.FLOAT32:
        return Quantize
    if result == DType.FLOAT32:
        return Dequantize
    return RequantizeInt8 if source == result == DType.INT8 else Rescale
