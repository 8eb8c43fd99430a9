"""BATCH_MATMUL: batched matrix products over the axes before the last two; or over attention heads, which lie on the
axis between those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import Increment
from mote.ir.graph.numeric.fixedpoint import Ints, quantize_multiplier, rescale, rescale_wide, scale_even, wrap32
from mote.ir.graph.ranges import LEAST, Peak, Range
from mote.ir.graph.streaming import StreamAxis
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType, Rounding
from mote.ir.ops.common import scale_problem, wide_scale_problem
from mote.ir.ops.elementwise.arithmetic import operand_steps
from mote.ir.ops.pointwise import pointwise

AXES = (2, 5)
"""LiteRT takes matrices with that many axes, at least and at most."""
DEEPEST = {DType.INT16: 1 << 17, DType.INT32: (1 << 17) - 1}
"""The longest sums for which LiteRT's arithmetic is defined, by the type of the output."""
MOST_PAIRS = 1 << 14
"""Matrices are multiplied line by line where no more pairs of an output line and a line of the right one meet."""
TYPES = (
    (DType.INT8, DType.INT8, DType.INT8),
    (DType.INT8, DType.INT8, DType.INT32),
    (DType.INT16, DType.INT16, DType.INT16),
    (DType.INT16, DType.INT8, DType.INT16),
    (DType.FLOAT32, DType.FLOAT32, DType.FLOAT32),
)
"""The types of the left and of the right matrices and of their products."""


class MatrixProduct(Op):
    """Products of matrices, however those lie in the operands."""

    right_turned: bool = False
    """The right matrices are [columns, depth]."""
    rounding: Rounding = Rounding.TWICE
    kind = "BATCH_MATMUL"

    def sizes(self, g: Graph) -> tuple[int, int, int]:
        """Rows, depth and columns of each product."""
        raise NotImplementedError

    def matrices(self, x: Array, position: int) -> Array:
        """An operand as [.., rows, depth] or [.., depth, columns]."""
        raise NotImplementedError

    def laid(self, products: Array) -> Array:
        """[.., rows, columns] as the output has them."""
        raise NotImplementedError

    def macs(self, g: Graph) -> int:
        return self.output(g).size * self.sizes(g)[1]

    def unsupported(self, g: Graph) -> str | None:
        tensors = left, right, output = self.input(g), self.input(g, 1), self.output(g)
        types = left.dtype, right.dtype, output.dtype
        if types not in TYPES:
            return f"{left.dtype} matrices times {right.dtype} ones with {output.dtype} results are not supported"
        depth, deepest = self.sizes(g)[1], DEEPEST.get(output.dtype)
        if deepest is not None and depth > deepest:
            return f"sums of {depth:,} products are not supported with {output.dtype} results ({deepest:,} at most)"
        if output.dtype in (DType.FLOAT32, DType.INT32):
            return None
        for t in tensors:
            if t.quant is None or t.quant.per_channel or t.scale <= 0:
                return f"{t.dtype} tensor '{t.name}' has no per-tensor quantization"
            if output.dtype == DType.INT16 and self.rounding is Rounding.EVEN:
                return "int16 results are not rounded to even"
            if output.dtype == DType.INT16 and t.zero_point != 0:
                return f"tensor '{t.name}' has a zero point that is not 0, as int16 demands"
        problem = wide_scale_problem if output.dtype == DType.INT16 else scale_problem
        return problem(self.scale(g))

    def scale(self, g: Graph) -> tuple[int, int]:
        """The multiplier and the shift that turn sums into results."""
        left, right, output = self.input(g), self.input(g, 1), self.output(g)
        return quantize_multiplier(left.scale * right.scale / output.scale)

    def ratio(self, g: Graph) -> float:
        """The requantization scale, in single precision."""
        left, right, output = (np.float32(t.scale) for t in (self.input(g), self.input(g, 1), self.output(g)))
        return float(left * right / output)

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        """Kernels take the zero point of the right matrices out of the sums."""
        left, right, output = self.input(g), self.input(g, 1), self.output(g)
        ranges = inputs[0], inputs[1]
        if output.dtype != DType.INT8 or ranges[0] is None or ranges[1] is None:
            return None
        depth, far = self.sizes(g)[1], ranges[0].farthest(left.zero_point)
        total = depth * far * ranges[1].farthest(right.zero_point)
        part = depth * far * (abs(right.zero_point) - LEAST)
        return Peak(total, max(part, (total << max(self.scale(g)[1], 0)) - LEAST))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        left, right = (self.matrices(self._exact(g, values, position), position) for position in (0, 1))
        output = self.output(g)
        if output.dtype == DType.FLOAT32:
            return [self.laid(left @ right).astype(np.float32)]
        return [self._finish(g, self.laid(_product(left, right)), output)]

    def _exact(self, g: Graph, values: Sequence[Array | None], position: int) -> Array:
        """An operand less its zero point."""
        x = values[position]
        assert x is not None
        return x.astype(np.float64) - (self.input(g, position).zero_point if self._scaled(g) else 0)

    def _scaled(self, g: Graph) -> bool:
        return self.output(g).dtype in (DType.INT8, DType.INT16)

    def _finish(self, g: Graph, sums: Ints, output: Tensor) -> Array:
        if output.dtype == DType.INT32:
            return wrap32(sums).astype(np.int32)
        mult, shift = self.scale(g)
        if self.rounding is Rounding.EVEN:
            scaled = scale_even(wrap32(sums), self.ratio(g))
        elif output.dtype == DType.INT16:
            scaled = rescale_wide(sums, mult, shift)
        else:
            scaled = rescale(wrap32(sums), mult, shift)
        return np.clip(wrap32(scaled + output.zero_point), *output.dtype.limits).astype(output.dtype.numpy)

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.evaluate(g, values)


class BatchMatmul(MatrixProduct):
    """[.., rows, depth] x [.., depth, columns]; an operand has its last two axes the other way round where it is
    turned. Axes before them are repeated as NumPy does."""

    left_turned: bool = False

    def shapes(self, g: Graph) -> list[Shape]:
        rows, _, columns = self.sizes(g)
        return [(*self.batches(g), rows, columns)]

    def batches(self, g: Graph) -> Shape:
        return np.broadcast_shapes(self.input(g).shape[:-2], self.input(g, 1).shape[:-2])

    def sizes(self, g: Graph) -> tuple[int, int, int]:
        """Rows, depth and columns of each product."""
        left, right = self.input(g).shape[-2:], self.input(g, 1).shape[-2:]
        rows, depth = left[::-1] if self.left_turned else left
        return rows, depth, right[0] if self.right_turned else right[1]

    def matrices(self, x: Array, position: int) -> Array:
        return x.swapaxes(-1, -2) if (self.left_turned, self.right_turned)[position] else x

    def laid(self, products: Array) -> Array:
        return products

    def steps(self, g: Graph, position: int) -> list[int]:
        """How many matrices of an operand lie between two indices on each axis of the batches."""
        return operand_steps(self.batches(g), self.input(g, position).shape[:-2])

    def by_lines(self, g: Graph) -> bool:
        """Whether both are matrices that are computed, whose rows are lines."""
        return len(self.output(g).shape) == 2 and self.input(g, 1).data is None

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        """Of more than two axes, rows are whole matrices. A line of a product is made from a line of the left matrix,
        and from all lines of the right one; a constant is known by where it begins."""
        operand, shape = self.input(g, position), self.output(g).shape
        if len(shape) > 2:
            at = zip(np.unravel_index(y, shape[:-2]), self.steps(g, position), strict=True)
            matrix = sum(int(i) * n for i, n in at)
            return (matrix,) if len(operand.shape) > 2 or operand.data is not None else None
        if self.left_turned:
            return None
        if position == 0:
            return (y,)
        if operand.data is not None:
            return (0,)
        lines, same = operand.shape[0], operand.dtype == self.input(g).dtype
        return tuple(range(lines)) if same and lines * shape[0] <= MOST_PAIRS else None

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        """Rows of the left matrices may come a few at a time, where the right ones are there."""
        flow = flows.get(0)
        if flow is None or len(flows) > 1 or self.left_turned:
            return None
        left = self.input(g).shape
        if len(left) != len(self.output(g).shape) or flow.axis != len(left) - 2:
            return None
        return pointwise(self, flows)


class HeadMatmul(MatrixProduct):
    """[rows, heads, depth] x [depth, heads, columns]: a product for each head, whose vectors lie beside each other as
    the layer before made them. The right operand is [columns, heads, depth] where it is turned."""

    def shapes(self, g: Graph) -> list[Shape]:
        rows, _, columns = self.sizes(g)
        return [(rows, self.input(g).shape[1], columns)]

    def sizes(self, g: Graph) -> tuple[int, int, int]:
        (rows, _, depth), right = self.input(g).shape, self.input(g, 1).shape
        return rows, depth, right[0 if self.right_turned else 2]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        """A row of all heads, and all rows of the right operand; a constant is known by where it begins."""
        if position == 0:
            return (y,)
        right = self.input(g, 1)
        return (0,) if right.data is not None else tuple(range(right.shape[0]))

    def matrices(self, x: Array, position: int) -> Array:
        heads = x.swapaxes(0, 1)
        return heads.swapaxes(1, 2) if position and self.right_turned else heads

    def laid(self, products: Array) -> Array:
        return products.swapaxes(0, 1)


def _product(left: Array, right: Array) -> Ints:
    """Exact also where sums do not fit the 53 bits of a float: products of 2^30 are added up in two halves."""
    high = np.floor(left / 256)
    low = left - 256 * high
    total: Ints = ((high @ right).astype(np.int64) << 8) + (low @ right).astype(np.int64)
    return total
