"""Kernels by the shapes of layers: layers of the same shape are packed once, with weights made up for the shape.

What kernels cost hardly depends on weights and scales, so that this serves quick estimates. The same shape always has
the same weights: an estimate depends on nothing but the network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import sqrt

import numpy as np

from mote.graph import Graph, Op, Tensor
from mote.graph.region import Numbers
from mote.graph.tensor import Array, Quantization, Shape
from mote.graph.types import DType
from mote.kernels import catalogue
from mote.kernels.contract import Layout, Packed, View
from mote.plan.selection.request import Lowering, Policy
from mote.plan.selection.select import Offers

SHAPES = 2048
"""Shapes of layers whose kernels are kept."""
GIVEN, WEIGHT = 0.02, 0.01
"""Scales of inputs and of weights."""
SPREAD = 40.0 / 3650
"""The deviation of an output in steps of its scale, by that of a product of input and weight."""


@dataclass(frozen=True)
class TensorOutline:
    """A tensor without its values."""

    shape: Shape
    dtype: DType
    zero_point: int | None
    """Of activations; None for constants."""


@dataclass(frozen=True)
class Asking:
    """The question for the candidate kernels of a view, asked once."""

    features: frozenset[str]
    coded: bool

    def __call__(self, view: View) -> list[Packed]:
        return catalogue.candidates(view, self.features, coded=self.coded)


@dataclass(frozen=True)
class AskingLayouts:
    """The question for the layouts that the kernels of a view would rather read, asked once."""

    features: frozenset[str]

    def __call__(self, view: View) -> list[Layout]:
        return catalogue.wanted_layouts(view, self.features)


class ShapeOffers(Offers):
    """Candidate kernels of int8 layers by their shapes; those of other operators by all that they are."""

    def everything(self, ops: Numbers, how: Lowering) -> list[Packed]:
        if how.fixed is not None or how.sealed or how.copied:
            return super().everything(ops, how)
        return self._view(ops, how).once(Asking(how.features, how.coded))

    def wanted_layouts(self, ops: Numbers, how: Lowering) -> list[Layout]:
        if how.fixed is not None:
            return super().wanted_layouts(ops, how)
        return self._view(ops, how).once(AskingLayouts(how.features))

    def _view(self, ops: Numbers, how: Lowering) -> View:
        key = ops, how.reads, how.writes, how.optimize
        if key not in self._views:
            outlined = _outlined(self.graph, [self.graph.ops[n] for n in ops])
            if outlined is None:
                return super()._view(ops, how)
            small, fast = how.optimize is Policy.SIZE, how.optimize is Policy.SPEED
            self._views[key] = _made_up(*outlined, (how.reads, how.writes), small, fast)
        return self._views[key]


Outlined = tuple[tuple[Op, ...], tuple[TensorOutline, ...]]


def _outlined(graph: Graph, ops: list[Op]) -> Outlined | None:
    """Operators on tensors that are numbered from 0, and outlines of these; None where an operator has no int8
    weights, so that there is nothing to make up."""
    numbers: dict[int, int] = {}
    outlines: list[TensorOutline] = []
    renamed = []
    for op in ops:
        if op.weights is None or op.input(graph).dtype != DType.INT8:
            return None
        for t in (*op.inputs, *op.outputs):
            if t >= 0 and numbers.setdefault(t, len(numbers)) == len(outlines):
                outline = _outline(graph.tensors[t])
                if outline is None:
                    return None
                outlines.append(outline)
        inputs, outputs = (tuple(numbers.get(t, t) for t in ids) for ids in (op.inputs, op.outputs))
        renamed.append(replace(op, inputs=inputs, outputs=outputs, name="", index=-1))
    return tuple(renamed), tuple(outlines)


def _outline(t: Tensor) -> TensorOutline | None:
    if t.quant is None or (t.data is None and t.quant.per_channel) or t.stored is not None:
        return None
    if t.data is not None and t.dtype not in (DType.INT8, DType.INT32):
        return None
    return TensorOutline(t.shape, t.dtype, int(t.quant.zero_point.flat[0]) if t.data is None else None)


@lru_cache(maxsize=SHAPES)
def _made_up(
    ops: tuple[Op, ...], outlines: tuple[TensorOutline, ...], layouts: tuple[Layout, Layout], small: bool, fast: bool
) -> View:
    """A view of operators with weights and scales that are made up."""
    tensors = {i: Tensor(i, str(i), o.shape, o.dtype) for i, o in enumerate(outlines)}
    scale = GIVEN
    for op in ops:
        given, weights = op.inputs[0], op.inputs[1]
        channels = outlines[op.outputs[0]].shape[-1]
        depth = np.prod(outlines[weights].shape) / channels
        rng = np.random.default_rng([channels, *outlines[weights].shape])
        axis = next(i for i, n in reversed(list(enumerate(outlines[weights].shape))) if n == channels)
        axis = 0 if outlines[weights].shape[0] == channels else axis
        scales = (WEIGHT * (1 + 0.3 * rng.random(channels))).astype(np.float32)
        data = rng.integers(-127, 128, outlines[weights].shape).astype(np.int8)
        tensors[given] = _activation(tensors[given], outlines[given], scale)
        tensors[weights] = _constant(tensors[weights], data, scales, axis)
        for bias in op.inputs[2:]:
            if bias >= 0:
                sums = rng.integers(-2000, 2000, outlines[bias].shape).astype(np.int32)
                tensors[bias] = _constant(tensors[bias], sums, np.float32(scale) * scales, 0)
        scale = scale * WEIGHT / (SPREAD / sqrt(depth))
        out = op.outputs[0]
        tensors[out] = _activation(tensors[out], outlines[out], scale)
    graph = Graph("", tensors, ops, ops[0].inputs[:1], ops[-1].outputs)
    return View(graph, ops, *layouts, small, fast)


def _activation(t: Tensor, outline: TensorOutline, scale: float) -> Tensor:
    zero_point = np.array([outline.zero_point], np.int64)
    return replace(t, quant=Quantization(np.array([scale], np.float32), zero_point))


def _constant(t: Tensor, data: Array, scales: Array, axis: int) -> Tensor:
    return replace(t, data=data, quant=Quantization(scales, np.zeros(scales.size, np.int64), axis))
