"""ADD, SUB and MUL, with broadcasting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mote.graph import Graph, Op, Tensor
from mote.graph.fixedpoint import Ints, quantize_multiplier, rescale
from mote.graph.flow import Flow
from mote.graph.graph import ABSENT, Increment
from mote.graph.ranges import Peak, Range, between
from mote.graph.rows import row_count
from mote.graph.tensor import Array, Shape
from mote.graph.types import Activation, DType
from mote.ops.analysis import end, pointwise, rising
from mote.ops.common import activation_type, clamp_float, int8_range
from mote.ops.sums import rescaled

MAX_AXES = 6
"""LiteRT broadcasts up to this many axes; so does `mote_broadcast.h`."""

HEADROOM = 20
"""LiteRT adds int8 numbers with this many more bits."""

MAX_LEFT_SHIFT = 14
"""A product of two int8 numbers shifted further would overflow."""

INT8 = np.arange(-128, 128, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Binary(Op):
    """A function of two tensors, element by element; the smaller one is repeated as NumPy does."""

    def shapes(self, g: Graph) -> list[Shape]:
        return [np.broadcast_shapes(self.input(g).shape, self.input(g, 1).shape)]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        """The operand's row at the same indices, 0 on the axes on which it is repeated."""
        shape, operand = self.output(g).shape, self.input(g, position).shape
        if len(shape) < 2:
            return (0,)
        outer = shape[: -2 if len(shape) > 2 else 1]
        own = ((1,) * (len(shape) - len(operand)) + operand)[: len(outer)]
        if row_count(operand) != prod(own):
            return None
        return (sum(int(i) * n for i, n in zip(np.unravel_index(y, outer), operand_steps(outer, own), strict=True)),)

    def unsupported(self, g: Graph) -> str | None:
        swapped = self.with_(inputs=self.inputs[::-1])
        if problem := activation_type(g, self) or activation_type(g, swapped):
            return problem
        a, b = self.input(g), self.input(g, 1)
        if a.shape != b.shape and max(len(a.shape), len(b.shape)) > MAX_AXES:
            return f"broadcasting {a.shape} with {b.shape}: more than {MAX_AXES} axes are not supported"
        return None

    def increment(self, g: Graph, flows: Mapping[int, Flow], causal: bool) -> Increment | None:
        """Where both flow alike, or the other one is repeated along the stream."""
        rank = len(self.output(g).shape)
        for position, flow in flows.items():
            flows = {**flows, position: flow.on(flow.axis + rank - len(self.input(g, position).shape))}
        axis = next(iter(flows.values())).axis
        for position in {0, 1} - set(flows):
            shape = self.input(g, position).shape
            if rank - len(shape) <= axis and shape[axis - rank] != 1:
                return None
        return pointwise(self, flows)

    def sizes(self, g: Graph, inputs: Sequence[Range | None]) -> tuple[int, int] | None:
        """How far the values of both go from their zero points; None where they are not int8."""
        first, second = inputs
        if first is None or second is None:
            return None
        return first.farthest(self.input(g).zero_point), second.farthest(self.input(g, 1).zero_point)

    def threads(self, g: Graph) -> dict[int, Ints] | None:
        """An operand with one channel has it repeated."""
        channels = self.output(g).channels
        return {p: np.arange(channels) for p, i in self.computed(g) if g.tensors[i].channels == channels}


@dataclass(frozen=True, kw_only=True)
class Arithmetic(Binary):
    """ADD, SUB or MUL with a fused activation."""

    activation: Activation = Activation.NONE

    def exact(self, g: Graph, a: Ints, b: Ints) -> Ints:
        """The int8 result of int8 inputs, as LiteRT's reference kernel computes it."""
        raise NotImplementedError

    def real(self, a: Array, b: Array) -> Array:
        raise NotImplementedError

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        a, b = values
        assert a is not None and b is not None
        if self.output(g).dtype == DType.FLOAT32:
            return [clamp_float(self.real(a, b).astype(np.float64), self.activation)]
        return [self.exact(g, a.astype(np.int64), b.astype(np.int64)).astype(np.int8)]

    def table(self, g: Graph) -> NDArray[np.int8] | None:
        """With a constant scalar it is a function of one value, which passes can fuse with others."""
        b, y = self.input(g, 1), self.output(g)
        if y.dtype != DType.INT8 or b.data is None or b.size != 1 or self.input(g).shape != y.shape:
            return None
        return self.exact(g, INT8, b.data.reshape(1).astype(np.int64)).astype(np.int8)


@dataclass(frozen=True, kw_only=True)
class Add(Arithmetic):
    """int8: both inputs are brought to the scale 2 * max / 2^20, added, and brought to the output's scale."""

    sign: ClassVar[int] = 1
    kind = "ADD"

    def unsupported(self, g: Graph) -> str | None:
        if problem := super().unsupported(g):
            return problem
        if self.output(g).dtype == DType.INT8 and self.multipliers(g)[2][1] > 0:
            return f"the output's scale {self.output(g).scale:g} is too small for the inputs'"
        return None

    def multipliers(self, g: Graph) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Multiplier and shift of each input and of the sum."""
        a, b, y = self.input(g), self.input(g, 1), self.output(g)
        common = 2 * max(a.scale, b.scale)
        real = (a.scale / common, b.scale / common, common / (y.scale * (1 << HEADROOM)))
        first, second, result = map(quantize_multiplier, real)
        return first, second, result

    def exact(self, g: Graph, a: Ints, b: Ints) -> Ints:
        first, second, result = self.multipliers(g)
        x = rescale((a - self.input(g).zero_point) << HEADROOM, *first)
        y = rescale((b - self.input(g, 1).zero_point) << HEADROOM, *second)
        return finish(rescale(x + self.sign * y, *result), self.activation, self.output(g))

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return rising(g, self, inputs, falling=ABSENT if self.sign > 0 else 1)

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        sizes = self.sizes(g, inputs)
        if sizes is None:
            return None
        scaled = (int(rescale(np.array(n << HEADROOM), *s)) for n, s in zip(sizes, self.multipliers(g), strict=False))
        return Peak(largest := sum(scaled), rescaled(largest, 0))

    def real(self, a: Array, b: Array) -> Array:
        return np.add(a, b)

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        a, b = values
        assert a is not None and b is not None
        return [np.add(a, b)]


@dataclass(frozen=True, kw_only=True)
class Sub(Add):
    """The second input's rescaled value is subtracted; all else is ADD."""

    sign: ClassVar[int] = -1
    kind = "SUB"

    def real(self, a: Array, b: Array) -> Array:
        return np.subtract(a, b)


@dataclass(frozen=True, kw_only=True)
class Mul(Arithmetic):
    """int8: the product of the two, less their zero points, is rescaled."""

    kind = "MUL"

    def unsupported(self, g: Graph) -> str | None:
        if problem := super().unsupported(g):
            return problem
        if self.output(g).dtype == DType.INT8 and self.multiplier(g)[1] > MAX_LEFT_SHIFT:
            return f"the output's scale {self.output(g).scale:g} is too small for the inputs'"
        return None

    def multiplier(self, g: Graph) -> tuple[int, int]:
        a, b, y = (np.float32(t.scale) for t in (self.input(g), self.input(g, 1), self.output(g)))
        return quantize_multiplier(float(a * b / y))

    def exact(self, g: Graph, a: Ints, b: Ints) -> Ints:
        product = (a - self.input(g).zero_point) * (b - self.input(g, 1).zero_point)
        return finish(rescale(product, *self.multiplier(g)), self.activation, self.output(g))

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        sizes = self.sizes(g, inputs)
        if sizes is None:
            return None
        return Peak(largest := prod(sizes), rescaled(largest, max(self.multiplier(g)[1], 0)))

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        """A product is largest and least where both factors are at an end."""
        first, second = ([end(g, self, p, inputs[p], up=up) for up in (False, True)] for p in (0, 1))
        return between(self.evaluate(g, pair)[0] for pair in product(first, second))

    def real(self, a: Array, b: Array) -> Array:
        return np.multiply(a, b)


def finish(scaled: Ints, activation: Activation, output: Tensor) -> Ints:
    return np.clip(scaled + output.zero_point, *int8_range(activation, output))


def operand_steps(shape: Shape, operand: Shape) -> list[int]:
    """Elements from one index to the next on each axis of `shape`; 0 where the operand is repeated."""
    padded = (1,) * (len(shape) - len(operand)) + operand
    return [0 if padded[i] == 1 else prod(padded[i + 1 :]) for i in range(len(shape))]
