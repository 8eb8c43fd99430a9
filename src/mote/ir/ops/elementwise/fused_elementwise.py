"""FORMULA: several element-wise float32 operators fused into one by passes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import CANCELLED, FLOAT_TOLERANCE, Magnitudes
from mote.ir.graph.types import DType
from mote.ir.ops.common import activation_type
from mote.ir.ops.elementwise import unary_math
from mote.ir.ops.elementwise.activations import Clamp, HardSwish, LeakyRelu, Logistic, Tanh
from mote.ir.ops.elementwise.arithmetic import Add, Mul, Sub
from mote.ir.ops.elementwise.binary_unscaled import Maximum, Minimum, Pow
from mote.ir.ops.elementwise.division import Div
from mote.ir.ops.elementwise.squared_difference import SquaredDifference
from mote.ir.ops.pointwise import Pointwise

PARTS: tuple[type[Op], ...] = (
    *(Add, Sub, Mul, Div, Maximum, Minimum, Pow, SquaredDifference),
    *(Clamp, HardSwish, LeakyRelu, Logistic, Tanh),
    *(
        unary_math.Abs,
        unary_math.Exp,
        unary_math.Log,
        unary_math.Neg,
        unary_math.Rsqrt,
        unary_math.Sqrt,
        unary_math.Square,
    ),
)
"""The operators that can be fused into a FORMULA."""
POWERS = (2.0, 3.0)
"""Exponents for which POW is computed by multiplication."""


def is_part(g: Graph, op: Op) -> bool:
    """Whether an element-wise operator can be fused into a FORMULA."""
    tensors = [*(g.tensors[i] for i in op.inputs), op.output(g)]
    finite = all(t.dtype == DType.FLOAT32 and (t.data is None or np.isfinite(t.data).all()) for t in tensors)
    if isinstance(op, Pow):
        exponent = op.input(g, 1).data
        return finite and exponent is not None and float(exponent.reshape(-1)[0]) in POWERS
    return finite and isinstance(op, PARTS)


class FusedElementwise(Pointwise, eq=False):
    """FORMULA: applies `inner`, a graph of element-wise operators, to each element."""

    inner: Graph
    kind = "FORMULA"

    @property
    def steps(self) -> str:
        """The kinds of the fused operators, joined by "+"."""
        return "+".join(op.kind for op in self.inner.ops)

    def unsupported(self, g: Graph) -> str | None:
        return activation_type(g, self, dtypes=(DType.FLOAT32,))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        (source,), (result,) = self.inner.inputs, self.inner.outputs
        return [elementwise(self.inner, self.inner.ops, {source: x})[result]]

    def cancelled_magnitude(self, g: Graph, values: Sequence[Array | None]) -> float:
        """The accumulated rounding error of all fused operators."""
        (x,) = values
        assert x is not None
        (source,), (result,) = self.inner.inputs, self.inner.outputs
        tensors = elementwise(self.inner, self.inner.ops, {source: x})
        return Magnitudes(self.inner).step(tensors)[result] * FLOAT_TOLERANCE / CANCELLED


def elementwise(graph: Graph, ops: Sequence[Op], values: dict[int, Array]) -> dict[int, Array]:
    """Evaluate element-wise operators on tensors of any shape, with scalar constants: all values by tensor id."""
    known = dict(values)
    for op in ops:
        constants = {i: data.reshape(1) for i in op.inputs if (data := graph.tensors[i].data) is not None}
        (result,) = op.evaluate(graph, [{**known, **constants}[i] for i in op.inputs])
        known[op.outputs[0]] = np.asarray(result).astype(op.output(graph).dtype.numpy, copy=False)
    return known
