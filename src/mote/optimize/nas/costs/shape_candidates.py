"""Kernels by the shapes of layers: layers of the same shape are packed once, with weights made up for the shape.

What kernels cost hardly depends on weights and scales, so that this serves quick estimates. The same shape always has
the same weights: an estimate depends on nothing but the network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod, sqrt

import numpy as np

from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import NHWC, Kernel, Layout, Packed, View
from mote.compiler.plan.selection.candidates import Candidates
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.region import Numbers
from mote.ir.graph.tensor import Array, Quantization
from mote.ir.graph.types import DType
from mote.optimize.nas.costs.layer_classes import Outlines, TensorOutline, class_of, for_layer, narrowed

SHAPES = 8192
"""Shapes of layers whose kernels are kept."""
GIVEN = 0.02
"""The scale of activations."""
SPREAD = 40.0 / 3650
"""The deviation of an output in steps of its scale, by that of a product of input and weight."""


@dataclass(frozen=True)
class Asking:
    """The question for the candidate kernels of a view, asked once of a catalogue."""

    features: frozenset[str]
    coded: bool
    catalogue: tuple[Kernel, ...]

    def __call__(self, view: View) -> list[Packed]:
        return catalogue.candidates(view, self.features, coded=self.coded)


@dataclass(frozen=True)
class AskingLayouts:
    """The question for the layouts that the kernels of a view would rather read, asked once of a catalogue."""

    features: frozenset[str]
    catalogue: tuple[Kernel, ...]

    def __call__(self, view: View) -> list[Layout]:
        return catalogue.wanted_layouts(view, self.features)


class ShapeCandidates(Candidates):
    """Candidate kernels of int8 layers by their shapes; those of other operators by all that they are."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._outlines: dict[Numbers, Outlined | None] = {}
        self._regions: dict[Lowering, list[Numbers]] = {}
        self._preferred: dict[tuple[Numbers, Lowering], Layout | None] = {}

    def regions(self, how: Lowering) -> list[Numbers]:
        if how not in self._regions:
            self._regions[how] = super().regions(how)
        return self._regions[how]

    def preferred(self, ops: Numbers, how: Lowering) -> Layout | None:
        if (ops, how) not in self._preferred:
            self._preferred[ops, how] = super().preferred(ops, how)
        return self._preferred[ops, how]

    def all_kernels(self, ops: Numbers, how: Lowering) -> list[Packed]:
        if how.fixed is not None or how.sealed or how.copied:
            return super().all_kernels(ops, how)
        if (ops, how) not in self._kernels:
            self._kernels[ops, how] = self._asked(ops, how)
        return self._kernels[ops, how]

    def _asked(self, ops: Numbers, how: Lowering) -> list[Packed]:
        asking, outlined = Asking(how.features, how.coded, tuple(catalogue.KERNELS)), self._outlined(ops)
        if outlined is None:
            return self._view(ops, how).once(asking)
        small, fast = how.optimize is Policy.SIZE, how.optimize is Policy.SPEED
        return _kernels(*outlined, (how.reads, how.writes), small, fast, asking)

    def wanted_layouts(self, ops: Numbers, how: Lowering) -> list[Layout]:
        if how.fixed is not None:
            return super().wanted_layouts(ops, how)
        asking, outlined = AskingLayouts(how.features, tuple(catalogue.KERNELS)), self._outlined(ops)
        return self._view(ops, how).once(asking) if outlined is None else _layouts(*outlined, asking)

    def _view(self, ops: Numbers, how: Lowering) -> View:
        key = ops, how.reads, how.writes, how.optimize
        if key not in self._views:
            outlined = self._outlined(ops)
            if outlined is None:
                return super()._view(ops, how)
            small, fast = how.optimize is Policy.SIZE, how.optimize is Policy.SPEED
            self._views[key] = _made_up(*outlined, (how.reads, how.writes), small, fast)
        return self._views[key]

    def _outlined(self, ops: Numbers) -> Outlined | None:
        if ops not in self._outlines:
            self._outlines[ops] = _outlined(self.graph, [self.graph.ops[n] for n in ops])
        return self._outlines[ops]


Outlined = tuple[tuple[Op, ...], Outlines]


def _outlined(graph: Graph, ops: list[Op]) -> Outlined | None:
    """Operators on tensors that are numbered from 0, and outlines of these; None where a tensor is not of int8, so that
    it is not made up."""
    scaled = {t for op in ops if op.weights is None for t in (*op.inputs, *op.outputs)}
    numbers: dict[int, int] = {}
    outlines: list[TensorOutline] = []
    renamed = []
    for op in ops:
        if op.bodies or (op.weights is None and any(t >= 0 and graph.tensors[t].data is not None for t in op.inputs)):
            return None
        for t in (*op.inputs, *op.outputs):
            if t >= 0 and numbers.setdefault(t, len(numbers)) == len(outlines):
                outline = _outline(graph.tensors[t], t in scaled)
                if outline is None:
                    return None
                outlines.append(outline)
        inputs, outputs = (tuple(numbers.get(t, t) for t in ids) for ids in (op.inputs, op.outputs))
        renamed.append(replace(op, inputs=inputs, outputs=outputs, name="", index=-1))
    return tuple(renamed), tuple(outlines)


def _outline(t: Tensor, scaled: bool) -> TensorOutline | None:
    if t.quant is None or t.stored is not None:
        return None
    if t.data is not None:
        return TensorOutline(t.shape, t.dtype, None, None) if t.dtype in (DType.INT8, DType.INT32) else None
    if t.dtype is not DType.INT8 or t.quant.per_channel:
        return None
    return TensorOutline(t.shape, t.dtype, int(t.quant.zero_point.flat[0]), t.scale if scaled else None)


@lru_cache(maxsize=SHAPES)
def _kernels(
    ops: tuple[Op, ...],
    outlines: Outlines,
    layouts: tuple[Layout, Layout],
    small: bool,
    fast: bool,
    asking: Asking,
) -> list[Packed]:
    """The candidate kernels of a layer, packed for the small layer of its class."""
    reduced = class_of(ops, outlines, layouts)
    if reduced is None:
        return _made_up(ops, outlines, layouts, small, fast).once(asking)
    kernels = _made_up(ops, *reduced, small, fast).once(asking)
    if any(k.price.cost is not None or k.price.work for k in kernels):
        return _made_up(ops, outlines, layouts, small, fast).once(asking)
    return [for_layer(kernel, ops, reduced[0], outlines) for kernel in kernels]


@lru_cache(maxsize=SHAPES)
def _layouts(ops: tuple[Op, ...], outlines: Outlines, asking: AskingLayouts) -> list[Layout]:
    """The layouts that kernels of a layer would rather read, by those of the small layer of its class."""
    reduced = class_of(ops, outlines, (NHWC, NHWC))
    small = outlines if reduced is None else reduced[0]
    columns = 0 if small is outlines else outlines[ops[0].inputs[0]].shape[2] - small[ops[0].inputs[0]].shape[2]
    layouts = _made_up(ops, small, (NHWC, NHWC), False, False).once(asking)
    return [made for layout in layouts if (made := narrowed(layout, -columns)) is not None]


@lru_cache(maxsize=SHAPES)
def _made_up(ops: tuple[Op, ...], outlines: Outlines, layouts: tuple[Layout, Layout], small: bool, fast: bool) -> View:
    """A view of operators with weights and scales that are made up."""
    scales = [GIVEN if o.scale is None else o.scale for o in outlines]
    tensors = {i: _activation(i, o, scales[i]) for i, o in enumerate(outlines) if o.zero_point is not None}
    for op in (op for op in ops if op.weights is not None):
        tensors |= _constants(op, outlines, scales[op.outputs[0]] / scales[op.inputs[0]], scales[op.inputs[0]])
    made = {t for op in ops for t in op.outputs}
    given = [t for op in ops for t in op.inputs if t >= 0 and not outlines[t].constant and t not in made]
    graph = Graph("", tensors, ops, tuple(dict.fromkeys(given)), ops[-1].outputs)
    return View(graph, ops, *layouts, small, fast)


def _constants(op: Op, outlines: Outlines, ratio: float, given: float) -> dict[int, Tensor]:
    """Weights and bias of a layer whose output has so many times the scale of its input."""
    number = op.inputs[1]
    channels, shape = outlines[op.outputs[0]].shape[-1], outlines[number].shape
    rng = np.random.default_rng([channels, *shape])
    axis = next(i for i, n in reversed(list(enumerate(shape))) if n == channels)
    axis = 0 if shape[0] == channels else axis
    scales = np.full(channels, ratio * SPREAD / sqrt(prod(shape) / channels), np.float32)
    made = {number: _constant(number, outlines[number], rng.integers(-127, 128, shape).astype(np.int8), scales, axis)}
    for bias in op.inputs[2:]:
        if bias >= 0:
            sums = rng.integers(-2000, 2000, outlines[bias].shape).astype(np.int32)
            made[bias] = _constant(bias, outlines[bias], sums, np.float32(given) * scales, 0)
    return made


def _activation(number: int, outline: TensorOutline, scale: float) -> Tensor:
    quant = Quantization(np.array([scale], np.float32), np.array([outline.zero_point], np.int64))
    return Tensor(number, str(number), outline.shape, outline.dtype, quant)


def _constant(number: int, outline: TensorOutline, data: Array, scales: Array, axis: int) -> Tensor:
    quant = Quantization(scales, np.zeros(scales.size, np.int64), axis)
    return Tensor(number, str(number), outline.shape, outline.dtype, quant, data)
