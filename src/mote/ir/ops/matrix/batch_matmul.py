"""BATCH_MATMUL: batched matrix products, over leading batch axes, or over attention heads on the middle axis."""

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
"""Minimum and maximum rank of matrices in LiteRT."""
DEEPEST = {DType.INT16: 1 << 17, DType.INT32: (1 << 17) - 1}
"""Maximum depth for which LiteRT's arithmetic is defined, by output type."""
MOST_PAIRS = 1 << 14
"""Maximum rows of output times rows of the right matrix for which output rows are computed one by one."""
TYPES = (
    (DType.INT8, DType.INT8, DType.INT8),
    (DType.INT8, DType.INT8, DType.INT32),
    (DType.INT16, DType.INT16, DType.INT16),
    (DType.INT16, DType.INT8, DType.INT16),
    (DType.FLOAT32, DType.FLOAT32, DType.FLOAT32),
)
"""Supported element types of the left matrices, right matrices and products."""


class MatrixProduct(Op):
    """Base of batched matrix products; subclasses define the layout of the operands."""

    right_turned: bool = False
    """Whether right matrices are transposed: [columns, depth]."""
    rounding: Rounding = Rounding.TWICE
    kind = "BATCH_MATMUL"

    def sizes(self, g: Graph) -> tuple[int, int, int]:
        """Rows, depth and columns of each product."""
        raise NotImplementedError

    def matrices(self, x: Array, position: int) -> Array:
        """Convert an operand to [.., rows, depth] (left) or [.., depth, columns] (right)."""
        raise NotImplementedError

    def to_output(self, products: Array) -> Array:
        """Convert products [.., rows, columns] to the output's layout."""
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
        """Multiplier and shift that requantize sums of products."""
        left, right, output = self.input(g), self.input(g, 1), self.output(g)
        return quantize_multiplier(left.scale * right.scale / output.scale)

    def ratio(self, g: Graph) -> float:
        """The requantization scale of sums of products, in single precision."""
        left, right, output = (np.float32(t.scale) for t in (self.input(g), self.input(g, 1), self.output(g)))
        return float(left * right / output)

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        """Accumulator bounds, also for kernels that subtract the right matrix's zero point separately."""
        left, right, output = self.input(g), self.input(g, 1), self.output(g)
        ranges = inputs[0], inputs[1]
        if output.dtype != DType.INT8 or ranges[0] is None or ranges[1] is None:
            return None
        depth, far = self.sizes(g)[1], ranges[0].max_distance(left.zero_point)
        total = depth * far * ranges[1].max_distance(right.zero_point)
        part = depth * far * (abs(right.zero_point) - LEAST)
        return Peak(total, max(part, (total << max(self.scale(g)[1], 0)) - LEAST))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        left, right = (self.matrices(self._exact(g, values, position), position) for position in (0, 1))
        output = self.output(g)
        if output.dtype == DType.FLOAT32:
            return [self.to_output(left @ right).astype(np.float32)]
        return [self._finish(g, self.to_output(_product(left, right)), output)]

    def _exact(self, g: Graph, values: Sequence[Array | None], position: int) -> Array:
        """A matrix operand minus its zero point."""
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
    """BATCH_MATMUL: [.., rows, depth] x [.., depth, columns]; the last two axes of an operand are swapped if it is
    transposed (`left_turned`, `right_turned`). Batch axes broadcast as in NumPy."""

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

    def to_output(self, products: Array) -> Array:
        return products

    def steps(self, g: Graph, position: int) -> list[int]:
        """Strides of an operand on each batch axis, counted in matrices; 0 on broadcast axes."""
        return operand_steps(self.batches(g), self.input(g, position).shape[:-2])

    def by_lines(self, g: Graph) -> bool:
        """Whether this is a product of two computed matrices without batch axes, whose rows can be computed one by
        one."""
        return len(self.output(g).shape) == 2 and self.input(g, 1).data is None

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        """With batch axes a row is a whole matrix. Else an output row needs one row of the left matrix and all rows of
        the right one; a constant matrix is a single row, as it is passed by address."""
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
        """Streaming form: rows of the left matrix may be streamed if the right one is not."""
        flow = flows.get(0)
        if flow is None or len(flows) > 1 or self.left_turned:
            return None
        left = self.input(g).shape
        if len(left) != len(self.output(g).shape) or flow.axis != len(left) - 2:
            return None
        return pointwise(self, flows)


class HeadMatmul(MatrixProduct):
    """BATCH_MATMUL over attention heads: [rows, heads, depth] x [depth, heads, columns], a product per head, where the
    heads of a row are contiguous, as the preceding layer outputs them. If `right_turned` the right operand is [columns,
    heads, depth]."""

    def shapes(self, g: Graph) -> list[Shape]:
        rows, _, columns = self.sizes(g)
        return [(rows, self.input(g).shape[1], columns)]

    def sizes(self, g: Graph) -> tuple[int, int, int]:
        (rows, _, depth), right = self.input(g).shape, self.input(g, 1).shape
        return rows, depth, right[0 if self.right_turned else 2]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        """An output row (all heads) needs a row of the left operand and all rows of the right one; a constant operand
        is a single row, as it is passed by address."""
        if position == 0:
            return (y,)
        right = self.input(g, 1)
        return (0,) if right.data is not None else tuple(range(right.shape[0]))

    def matrices(self, x: Array, position: int) -> Array:
        heads = x.swapaxes(0, 1)
        return heads.swapaxes(1, 2) if position and self.right_turned else heads

    def to_output(self, products: Array) -> Array:
        return products.swapaxes(0, 1)


def _product(left: Array, right: Array) -> Ints:
    """Matrix product that is exact even if sums exceed the 53 bits of a double: the left operand is split in two."""
    high = np.floor(left / 256)
    low = left - 256 * high
    total: Ints = ((high @ right).astype(np.int64) << 8) + (low @ right).astype(np.int64)
    return total
