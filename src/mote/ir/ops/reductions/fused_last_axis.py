"""LINES: operators over the last axis that passes fuse, such as layer normalization; each vector is independent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import Increment
from mote.ir.graph.ranges import Peak, Range
from mote.ir.graph.streaming import StreamAxis
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.activations import Unary
from mote.ir.ops.elementwise.arithmetic import Binary
from mote.ir.ops.elementwise.fused_elementwise import FusedElementwise
from mote.ir.ops.pointwise import Pointwise
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.reduce import Sum

TYPES = (DType.INT8, DType.FLOAT32)


class Lines(Pointwise, eq=False):
    """LINES: applies `inner`, a graph of operators, to each vector along the last axis. Its tensors have the input's
    shape, or one number per vector."""

    inner: Graph
    kind = "LINES"

    @property
    def steps(self) -> str:
        """The kinds of the fused operators, joined by "+"."""
        return "+".join(op.kind for op in self.inner.ops)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        (source,), (result,) = self.inner.inputs, self.inner.outputs
        return [self.inner.evaluate({source: x})[result]]

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        peaks = [peak for op in self.inner.ops if (peak := self.inner.peak(op)) is not None]
        if not peaks:
            return None
        return Peak(max(peak.total for peak in peaks), max(peak.part for peak in peaks))

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        flow = flows[0]
        if flow.axis == len(self.input(g).shape) - 1:
            return None
        cut = self.with_(inner=_reshaped(self.inner, lambda shape: flow.cut(shape)))
        return Increment(cut, flow, {0: flow.fresh})

    def one(self) -> Graph:
        """The graph of the fused operators, reshaped to a single vector."""
        return _reshaped(self.inner, lambda shape: (*(1,) * (len(shape) - 1), shape[-1]))


def of_lines(g: Graph, shape: Shape, op: Op) -> bool:
    """Whether an operator can be fused into LINES over tensors of this shape: it treats each vector along the last axis
    independently."""
    y = op.output(g)
    sizes = (shape, (*shape[:-1], 1))
    tensors = [*(g.tensors[i] for i in op.inputs), y]
    if y.shape not in sizes or y.dtype not in TYPES or any(t.dtype != y.dtype for t in tensors):
        return False
    if isinstance(op, Mean | Sum):
        return op.of_lines(g) and op.keep_dims and op.input(g).shape == shape
    whole = all(t.shape in sizes if t.data is None else t.size in (1, shape[-1]) for t in tensors)
    rows = all(t.data is None or t.size == 1 or t.shape[-1] == t.size for t in tensors)
    ranks = all(len(t.shape) <= len(shape) for t in tensors)
    return isinstance(op, Binary | Unary | FusedElementwise) and whole and rows and ranks


def _reshaped(graph: Graph, change: Callable[[Shape], Shape]) -> Graph:
    """The graph with changed shapes of all computed tensors."""
    tensors = {i: t if t.data is not None else replace(t, shape=change(t.shape)) for i, t in graph.tensors.items()}
    return replace(graph, tensors=tensors)
