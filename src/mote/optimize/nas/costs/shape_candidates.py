"""Candidate kernels cached by layer shape: layers of equal shape are packed once, with synthetic weights.

Kernel costs hardly depend on weights and scales, so this suffices for quick estimates. Equal shapes always have equal
weights, so an estimate depends on the network alone."""

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
"""Cache size: number of layer shapes."""
INPUT_SCALE = 0.02
"""Synthetic scale of activations."""
SPREAD = 40.0 / 3650
"""Standard deviation of a synthetic layer's output in quantization steps, over that of one product of input and
weight."""


@dataclass(frozen=True)
class KernelQuery:
    """Query for the candidate kernels of a view; hashable, so that its result is cached."""

    features: frozenset[str]
    coded: bool
    catalogue: tuple[Kernel, ...]

    def __call__(self, view: View) -> list[Packed]:
        return catalogue.candidates(view, self.features, coded=self.coded)


@dataclass(frozen=True)
class LayoutQuery:
    """Query for the input layouts that the kernels of a view prefer; hashable, so that its result is cached."""

    features: frozenset[str]
    catalogue: tuple[Kernel, ...]

    def __call__(self, view: View) -> list[Layout]:
        return catalogue.wanted_layouts(view, self.features)


class ShapeCandidates(Candidates):
    """Candidate kernels, cached by shape for int8 layers; other operators are queried in full."""

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
        query, outlined = KernelQuery(how.features, how.coded, tuple(catalogue.KERNELS)), self._outlined(ops)
        if outlined is None:
            return self._view(ops, how).once(query)
        small, fast = how.optimize is Policy.SIZE, how.optimize is Policy.SPEED
        return _kernels(*outlined, (how.reads, how.writes), small, fast, query)

    def wanted_layouts(self, ops: Numbers, how: Lowering) -> list[Layout]:
        if how.fixed is not None:
            return super().wanted_layouts(ops, how)
        query, outlined = LayoutQuery(how.features, tuple(catalogue.KERNELS)), self._outlined(ops)
        return self._view(ops, how).once(query) if outlined is None else _layouts(*outlined, query)

    def _view(self, ops: Numbers, how: Lowering) -> View:
        key = ops, how.reads, how.writes, how.optimize
        if key not in self._views:
            outlined = self._outlined(ops)
            if outlined is None:
                return super()._view(ops, how)
            small, fast = how.optimize is Policy.SIZE, how.optimize is Policy.SPEED
            self._views[key] = _synthetic(*outlined, (how.reads, how.writes), small, fast)
        return self._views[key]

    def _outlined(self, ops: Numbers) -> Outlined | None:
        if ops not in self._outlines:
            self._outlines[ops] = _outlined(self.graph, [self.graph.ops[n] for n in ops])
        return self._outlines[ops]


Outlined = tuple[tuple[Op, ...], Outlines]


def _outlined(graph: Graph, ops: list[Op]) -> Outlined | None:
    """Operators with tensors renumbered from 0, and outlines of those tensors; None if a tensor is not plain int8."""
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
    ops: tuple[Op, ...], outlines: Outlines, layouts: tuple[Layout, Layout], small: bool, fast: bool, query: KernelQuery
) -> list[Packed]:
    """Candidate kernels of a layer, packed for the representative of its class."""
    reduced = class_of(ops, outlines, layouts)
    if reduced is None:
        return _synthetic(ops, outlines, layouts, small, fast).once(query)
    kernels = _synthetic(ops, *reduced, small, fast).once(query)
    if any(k.price.cost is not None or k.price.work for k in kernels):
        return _synthetic(ops, outlines, layouts, small, fast).once(query)
    return [for_layer(kernel, ops, reduced[0], outlines) for kernel in kernels]


@lru_cache(maxsize=SHAPES)
def _layouts(ops: tuple[Op, ...], outlines: Outlines, query: LayoutQuery) -> list[Layout]:
    """Input layouts that kernels of a layer prefer, found with the representative of its class."""
    reduced = class_of(ops, outlines, (NHWC, NHWC))
    small = outlines if reduced is None else reduced[0]
    columns = 0 if small is outlines else outlines[ops[0].inputs[0]].shape[2] - small[ops[0].inputs[0]].shape[2]
    layouts = _synthetic(ops, small, (NHWC, NHWC), False, False).once(query)
    return [wider for layout in layouts if (wider := narrowed(layout, -columns)) is not None]


@lru_cache(maxsize=SHAPES)
def _synthetic(
    ops: tuple[Op, ...], outlines: Outlines, layouts: tuple[Layout, Layout], small: bool, fast: bool
) -> View:
    """A view of operators with synthetic weights and scales."""
    scales = [INPUT_SCALE if o.scale is None else o.scale for o in outlines]
    tensors = {i: _activation(i, o, scales[i]) for i, o in enumerate(outlines) if o.zero_point is not None}
    for op in (op for op in ops if op.weights is not None):
        tensors |= _constants(op, outlines, scales[op.outputs[0]] / scales[op.inputs[0]], scales[op.inputs[0]])
    computed = {t for op in ops for t in op.outputs}
    entries = [t for op in ops for t in op.inputs if t >= 0 and not outlines[t].constant and t not in computed]
    graph = Graph("", tensors, ops, tuple(dict.fromkeys(entries)), ops[-1].outputs)
    return View(graph, ops, *layouts, small, fast)


def _constants(op: Op, outlines: Outlines, ratio: float, input_scale: float) -> dict[int, Tensor]:
    """Synthetic weights and bias of a layer; `ratio` is the output scale over the input scale, `input_scale` the input
    scale."""
    number = op.inputs[1]
    channels, shape = outlines[op.outputs[0]].shape[-1], outlines[number].shape
    rng = np.random.default_rng([channels, *shape])
    axis = next(i for i, n in reversed(list(enumerate(shape))) if n == channels)
    axis = 0 if shape[0] == channels else axis
    scales = np.full(channels, ratio * SPREAD / sqrt(prod(shape) / channels), np.float32)
    constants = {
        number: _constant(number, outlines[number], rng.integers(-127, 128, shape).astype(np.int8), scales, axis)
    }
    for bias in op.inputs[2:]:
        if bias >= 0:
            sums = rng.integers(-2000, 2000, outlines[bias].shape).astype(np.int32)
            constants[bias] = _constant(bias, outlines[bias], sums, np.float32(input_scale) * scales, 0)
    return constants


def _activation(number: int, outline: TensorOutline, scale: float) -> Tensor:
    quant = Quantization(np.array([scale], np.float32), np.array([outline.zero_point], np.int64))
    return Tensor(number, str(number), outline.shape, outline.dtype, quant)


def _constant(number: int, outline: TensorOutline, data: Array, scales: Array, axis: int) -> Tensor:
    quant = Quantization(scales, np.zeros(scales.size, np.int64), axis)
    return Tensor(number, str(number), outline.shape, outline.dtype, quant, data)
