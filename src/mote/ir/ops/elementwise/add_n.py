"""ADD_N: the sum of several tensors of equal shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import Increment
from mote.ir.graph.numeric.fixedpoint import Ints, quantize_multiplier, rescale
from mote.ir.graph.ranges import Peak, Range
from mote.ir.graph.streaming import StreamAxis
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.elementwise.arithmetic import HEADROOM, finish, type_problem
from mote.ir.ops.matrix.accumulators import rescaled
from mote.ir.ops.pointwise import pointwise, rising

TYPES = frozenset({DType.INT8, DType.INT32, DType.FLOAT32})
MOST = 120
"""Maximum number of inputs: about as many as a C function can have parameters."""
MOST_INT8 = 15
"""Maximum number of int8 inputs whose sum, shifted left by HEADROOM bits, fits int32."""
HALF = HEADROOM[DType.INT8] - 1
"""Left shift of the int8 sum: HEADROOM bits minus one, because TensorFlow Lite Micro halves each input."""


class AddN(Op):
    """ADD_N. int8, which TensorFlow Lite Micro has and LiteRT lacks: inputs of equal scale, whose sum is rescaled; the
    zero point is subtracted once more than there are inputs, as TensorFlow Lite Micro does. Other integers wrap."""

    kind = "ADD_N"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def unsupported(self, g: Graph) -> str | None:
        if problem := type_problem(g, self, TYPES):
            return problem
        x, y = self.input(g), self.output(g)
        most = MOST_INT8 if x.dtype == DType.INT8 else MOST
        if len(self.inputs) > most:
            return f"{len(self.inputs)} inputs are more than {most}"
        if x.dtype != DType.INT8:
            return None
        assert x.quant is not None
        if not all(x.quant.same_as(self.input(g, p).quant) for p in range(len(self.inputs))):
            return "int8 inputs with different scales or zero points are not supported"
        if self.multiplier(g)[1] > 0:
            return f"the output's scale {y.scale:g} is too small for the inputs'"
        return None

    def misjudged(self, g: Graph) -> str | None:
        return "LiteRT has no int8 ADD_N" if self.input(g).dtype == DType.INT8 else None

    def multiplier(self, g: Graph) -> tuple[int, int]:
        return quantize_multiplier(2 * self.input(g).scale / ((1 << HEADROOM[DType.INT8]) * self.output(g).scale))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, y = self.input(g), self.output(g)
        quantized = x.dtype == DType.INT8
        total = np.zeros(x.shape, np.int64 if quantized else x.dtype.numpy)
        with np.errstate(over="ignore", invalid="ignore"):
            for value in values:
                assert value is not None
                total = total + value
        if not quantized:
            return [total]
        total = total - (len(values) + 1) * x.zero_point
        return [finish(rescale(total << HALF, *self.multiplier(g)), Activation.NONE, y).astype(np.int8)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.evaluate(g, values)

    def range(self, g: Graph, inputs: Sequence[Range | None]) -> Range | None:
        return rising(g, self, inputs)

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        zero = self.input(g).zero_point
        if self.input(g).dtype != DType.INT8:
            return None
        largest = abs(zero) + sum(r.max_distance(zero) for r in inputs if r is not None) << HALF
        return Peak(largest, rescaled(largest, 0))

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,)

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        return pointwise(self, flows) if len(flows) == len(self.inputs) else None

    def channel_sources(self, g: Graph) -> dict[int, Ints] | None:
        return {p: np.arange(self.output(g).channels, dtype=np.int64) for p, _ in self.computed(g)}
