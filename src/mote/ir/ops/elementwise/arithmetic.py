"""Element-wise binary operators with broadcasting: their base class, and ADD, SUB and MUL."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import ABSENT, Increment
from mote.ir.graph.numeric.fixedpoint import Ints, quantize_multiplier, rescale, rounding_shift_right
from mote.ir.graph.ranges import Peak, Range, between
from mote.ir.graph.rows import row_count
from mote.ir.graph.streaming import StreamAxis
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import float_range, integer_range, quantized_range
from mote.ir.ops.matrix.accumulators import rescaled
from mote.ir.ops.pointwise import end, pointwise, rising

MAX_AXES = 6
"""Maximum number of axes of broadcasting, in LiteRT and in `mote_broadcast.h`."""

HEADROOM = {DType.INT8: 20, DType.INT16: 15}
"""Left shift of quantized values before LiteRT adds them: additional fractional bits."""

MAX_LEFT_SHIFT = 14
"""Maximum left shift of a product of two int8 values without overflow."""

INT8 = np.arange(-128, 128, dtype=np.int64)

QUANTIZED = frozenset({DType.INT8, DType.INT16})
NUMBERS = frozenset({DType.INT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32})


def type_problem(g: Graph, op: Op, types: Collection[DType], quantized: Collection[DType] = QUANTIZED) -> str | None:
    """Why the types of an operator's tensors are not supported, or None: all must have one type of `types`, and those
    of types in `quantized` need per-tensor quantization."""
    x, y = op.input(g), op.output(g)
    if x.dtype not in types:
        return f"{x.dtype} input is not supported (only {', '.join(sorted(types))})"
    tensors = [*(op.input(g, p) for p in range(len(op.inputs))), y]
    for t in tensors:
        if t.dtype != x.dtype:
            return f"{x.dtype} input with {t.dtype} {'output' if t is y else 'input'} is not supported"
    return next((problem for t in tensors if x.dtype in quantized and (problem := quantization_problem(t))), None)


def quantization_problem(t: Tensor) -> str | None:
    """Why a tensor lacks usable per-tensor quantization, or None."""
    if t.quant is None or t.quant.per_channel or t.scale <= 0:
        return f"{t.dtype} tensor '{t.name}' has no per-tensor quantization"
    return None


def zero_point_problem(g: Graph, op: Op) -> str | None:
    """Why an int16 tensor of a binary operator is not supported (zero point other than 0), or None."""
    for t in (op.input(g), op.input(g, 1), op.output(g)):
        if t.dtype == DType.INT16 and t.zero_point != 0:
            return f"int16 tensor '{t.name}' has another zero point than 0"
    return None


class Binary(Op):
    """Base of element-wise functions of two tensors, with NumPy's broadcasting."""

    types: ClassVar[frozenset[DType]] = NUMBERS
    """Supported element types of the two inputs, which have equal types."""
    quantized: ClassVar[frozenset[DType]] = QUANTIZED
    """Element types whose tensors must be quantized."""

    def shapes(self, g: Graph) -> list[Shape]:
        return [np.broadcast_shapes(self.input(g).shape, self.input(g, 1).shape)]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return row_of_operand(self.output(g).shape, self.input(g, position).shape, y)

    def unsupported(self, g: Graph) -> str | None:
        return type_problem(g, self, self.types, self.quantized) or self.axes_problem(g)

    def axes_problem(self, g: Graph) -> str | None:
        a, b = self.input(g), self.input(g, 1)
        if a.shape != b.shape and max(len(a.shape), len(b.shape)) > MAX_AXES:
            return f"broadcasting {a.shape} with {b.shape}: more than {MAX_AXES} axes are not supported"
        return None

    def table(self, g: Graph) -> NDArray[np.int8] | None:
        """Lookup table of an int8 operator with one constant scalar input: a unary function, which passes can fuse."""
        computed, y = self.computed(g), self.output(g)
        if len(computed) != 1 or self.input(g).dtype != DType.INT8 or y.dtype != DType.INT8:
            return None
        position, x = computed[0]
        constant = self.input(g, 1 - position)
        if constant.data is None or constant.size != 1 or g.tensors[x].shape != y.shape:
            return None
        values = {position: INT8.astype(np.int8), 1 - position: constant.data.reshape(1)}
        return self.evaluate(g, [values[0], values[1]])[0].astype(np.int8)

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        """Streaming form if both operands stream alike, or one is broadcast along the stream."""
        return repeated_increment(g, self, flows)

    def sizes(self, g: Graph, inputs: Sequence[Range | None]) -> tuple[int, int] | None:
        """Largest distances of both inputs from their zero points; None if they are not int8."""
        first, second = inputs
        if first is None or second is None:
            return None
        return first.max_distance(self.input(g).zero_point), second.max_distance(self.input(g, 1).zero_point)

    def channel_sources(self, g: Graph) -> dict[int, Ints] | None:
        """Output channel c depends on channel c of each operand; operands with a single channel (broadcast) are left
        out."""
        channels = self.output(g).channels
        return {
            p: np.arange(channels, dtype=np.int64) for p, i in self.computed(g) if g.tensors[i].channels == channels
        }


def row_of_operand(shape: Shape, operand: Shape, y: int) -> tuple[int, ...] | None:
    """The row of a broadcast operand for output row `y`; None if rows of the operand do not correspond to output
    rows."""
    if len(shape) < 2:
        return (0,)
    outer = shape[: -2 if len(shape) > 2 else 1]
    own = ((1,) * (len(shape) - len(operand)) + operand)[: len(outer)]
    if row_count(operand) != prod(own):
        return None
    return (sum(int(i) * n for i, n in zip(np.unravel_index(y, outer), operand_steps(outer, own), strict=True)),)


def repeated_increment(g: Graph, op: Op, flows: Mapping[int, StreamAxis]) -> Increment | None:
    """Streaming form of an element-wise operator whose operands all stream alike, or are broadcast along the stream."""
    rank = len(op.output(g).shape)
    for position, flow in flows.items():
        flows = {**flows, position: flow.on(flow.axis + rank - len(op.input(g, position).shape))}
    axis = next(iter(flows.values())).axis
    for position in set(range(len(op.inputs))) - set(flows):
        shape = op.input(g, position).shape
        if rank - len(shape) <= axis and shape[axis - rank] != 1:
            return None
    return pointwise(op, flows)


class Arithmetic(Binary):
    """ADD, SUB, MUL or DIV with a fused activation: quantized, float, or unquantized integers that wrap."""

    activation: Activation = Activation.NONE
    infinite: bool | None = None
    """Whether float results may be infinite, as in most runtimes; LiteRT clamps to the largest finite float."""
    plain16: ClassVar[bool] = False
    """Whether LiteRT accepts int16 without a scale, as unquantized integers."""

    def unsupported(self, g: Graph) -> str | None:
        y = self.output(g)
        quantized = self.quantized if not self.whole(g) else frozenset({DType.INT8})
        problem = type_problem(g, self, self.types, quantized) or self.axes_problem(g)
        return problem or (self.scales_problem(g) if y.dtype in QUANTIZED and not self.whole(g) else None)

    def scales_problem(self, g: Graph) -> str | None:
        """Why the scales of quantized tensors are not supported, or None."""
        raise NotImplementedError

    def whole(self, g: Graph) -> bool:
        """Whether the operator's tensors are unquantized integers."""
        tensors = self.input(g), self.input(g, 1), self.output(g)
        unscaled = self.plain16 and all(t.dtype == DType.INT16 and t.quant is None for t in tensors)
        return unscaled or self.output(g).dtype in (DType.INT32, DType.INT64)

    @property
    def real_range(self) -> tuple[float, float]:
        """The range that float results are clamped to by the fused activation."""
        return self.activation.bounds if self.infinite else float_range(self.activation)

    def exact(self, g: Graph, a: Ints, b: Ints) -> Ints:
        """The quantized result of quantized inputs, as LiteRT's reference kernel computes it."""
        raise NotImplementedError

    def real(self, a: Array, b: Array) -> Array:
        """The result for float or unquantized integer operands, in their own type."""
        raise NotImplementedError

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        a, b = values
        assert a is not None and b is not None
        dtype = self.output(g).dtype
        if dtype in QUANTIZED and not self.whole(g):
            return [self.exact(g, a.astype(np.int64), b.astype(np.int64)).astype(dtype.numpy)]
        with np.errstate(all="ignore"):
            result = self.real(a, b)
        limits = self.real_range if dtype == DType.FLOAT32 else integer_range(self.activation, dtype)
        return [np.clip(result, *limits).astype(dtype.numpy)]


class Add(Arithmetic):
    """ADD. Quantized: both inputs are rescaled to the scale 2 * max / 2^20 (int16: 2^15), added, and rescaled to the
    output's scale. For int16 with power-of-two scales LiteRT shifts instead, if the file asks for it (`shifts`)."""

    shifts: tuple[int, int] | None = None
    """Right shifts of the two inputs before the addition, for power-of-two scales; None: rescaled by multipliers."""
    sign: ClassVar[int] = 1
    plain16: ClassVar[bool] = True
    kind = "ADD"

    def scales_problem(self, g: Graph) -> str | None:
        if self.shifts is not None:
            return self._shift_problem(g, self.shifts)
        if problem := zero_point_problem(g, self):
            return problem
        if self.multipliers(g)[2][1] > 0:
            return f"the output's scale {self.output(g).scale:g} is too small for the inputs'"
        return None

    def _shift_problem(self, g: Graph, shifts: tuple[int, int]) -> str | None:
        if min(shifts) != 0 or max(shifts) > MOST_PLACES:
            return "scales that are powers of two: the output's must be the larger one of the inputs'"
        if self.sign > 0 and self.input(g).shape != self.input(g, 1).shape:
            return "scales that are powers of two: LiteRT aborts where an input is broadcast"
        return None

    def multipliers(self, g: Graph) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """Multiplier and shift of each input and of the sum."""
        a, b, y = self.input(g), self.input(g, 1), self.output(g)
        common = 2 * max(a.scale, b.scale)
        real = (a.scale / common, b.scale / common, common / (y.scale * (1 << HEADROOM[y.dtype])))
        first, second, result = map(quantize_multiplier, real)
        return first, second, result

    def exact(self, g: Graph, a: Ints, b: Ints) -> Ints:
        if self.shifts is not None:
            x, y = (rounding_shift_right(v, n) for v, n in zip((a, b), self.shifts, strict=True))
            clamped: Ints = np.clip(x + self.sign * y, *quantized_range(self.activation, self.output(g)))
            return clamped
        first, second, result = self.multipliers(g)
        headroom = HEADROOM[self.output(g).dtype]
        x = rescale((a - self.input(g).zero_point) << headroom, *first)
        y = rescale((b - self.input(g, 1).zero_point) << headroom, *second)
        return finish(rescale(x + self.sign * y, *result), self.activation, self.output(g))

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return rising(g, self, inputs, falling=ABSENT if self.sign > 0 else 1)

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        sizes = self.sizes(g, inputs)
        if sizes is None:
            return None
        headroom = HEADROOM[DType.INT8]
        scaled = (int(rescale(np.array(n << headroom), *s)) for n, s in zip(sizes, self.multipliers(g), strict=False))
        return Peak(largest := sum(scaled), rescaled(largest, 0))

    def real(self, a: Array, b: Array) -> Array:
        return np.add(a, b)

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        a, b = values
        assert a is not None and b is not None
        return [np.add(a, b)]


class Sub(Add):
    """SUB: as ADD, with the second input's rescaled value subtracted."""

    sign: ClassVar[int] = -1
    plain16: ClassVar[bool] = False
    kind = "SUB"

    def real(self, a: Array, b: Array) -> Array:
        return np.subtract(a, b)


class Mul(Arithmetic):
    """MUL. Quantized: the product of the two inputs, each minus its zero point, is rescaled."""

    plain16: ClassVar[bool] = True
    kind = "MUL"

    def scales_problem(self, g: Graph) -> str | None:
        y = self.output(g)
        if problem := zero_point_problem(g, self):
            return problem
        if self.multiplier(g)[1] > (MAX_LEFT_SHIFT if y.dtype == DType.INT8 else 0):
            return f"the output's scale {y.scale:g} is too small for the inputs'"
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
        """Range of the product, from the products of the ends of both ranges."""
        first, second = ([end(g, self, p, inputs[p], up=up) for up in (False, True)] for p in (0, 1))
        return between(self.evaluate(g, pair)[0] for pair in product(first, second))

    def real(self, a: Array, b: Array) -> Array:
        return np.multiply(a, b)


MOST_PLACES = 31
"""Maximum right shift of an input with power-of-two scale in LiteRT."""


def power_shifts(a: Tensor, b: Tensor, y: Tensor) -> tuple[int, int] | None:
    """Right shifts that rescale two int16 inputs to the output's scale, if all scales are powers of two and all zero
    points 0; else None."""
    if any(t.dtype != DType.INT16 or quantization_problem(t) or t.zero_point for t in (a, b, y)):
        return None
    logs = [np.log(np.float32(t.scale)) * (np.float32(1) / np.log(np.float32(2))) for t in (a, b, y)]
    if any(abs(log - np.round(log)) >= 1e-3 for log in logs):
        return None
    first, second, result = (int(np.round(log)) for log in logs)
    return result - first, result - second


def finish(scaled: Ints, activation: Activation, output: Tensor) -> Ints:
    return np.clip(scaled + output.zero_point, *quantized_range(activation, output))


def operand_steps(shape: Shape, operand: Shape) -> list[int]:
    """Element strides of an operand that is broadcast to `shape`; 0 on broadcast axes."""
    padded = (1,) * (len(shape) - len(operand)) + operand
    return [0 if padded[i] == 1 else prod(padded[i + 1 :]) for i in range(len(shape))]
