"""Convert a model of a window of a stream into a streaming one, which takes only the new elements (`mote compile
--stream`).

Tensors along the stream hold only their newest elements; an operator that reads older ones has a sliding window of them
as a state. From the first operator on that needs the whole axis (a dense layer, a mean over time) the model is
unchanged, and reads windows instead of recomputing what they hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from mote.base.errors import MoteError
from mote.ir.graph import Graph, Op, State, Tensor
from mote.ir.graph.graph import Increment
from mote.ir.graph.streaming import PaddingError, StreamAxis, StrideError
from mote.ir.ops.control.state import SlidingWindow
from mote.ir.ops.moves.slice import Slice


def run(graph: Graph, axis: int, hop: int = 0, *, causal: bool = False) -> Graph:
    """The graph that takes `hop` new elements along `axis` of the input in every inference; 0: as few as its strides
    allow."""
    flow = _flow(graph, axis, hop or 1)
    while True:
        try:
            return _Streaming(graph, causal).run(flow)
        except StrideError as error:
            if hop:
                raise MoteError(
                    f"{hop} new elements at a time do not suit the strides of its layers",
                    where="option hop",
                    remedy=f"give a multiple of {_least_hop(graph, flow, causal)}, or omit it",
                ) from None
            flow = replace(flow, fresh=flow.fresh * error.multiple)


def _least_hop(graph: Graph, flow: StreamAxis, causal: bool) -> int:
    return run(graph, flow.axis, causal=causal).tensors[graph.inputs[0]].shape[flow.axis]


def _flow(graph: Graph, axis: int, hop: int) -> StreamAxis:
    if graph.states:
        raise MoteError("the model keeps a state by itself: it already takes a stream", where="option stream")
    if len(graph.inputs) != 1:
        raise MoteError(f"the model has {len(graph.inputs)} inputs; a stream is a single one", where="option stream")
    shape = graph.tensors[graph.inputs[0]].shape
    if not -len(shape) <= axis < len(shape):
        raise MoteError(
            f"the input {'x'.join(map(str, shape))} has no axis {axis}",
            where="option stream",
            remedy="count the axes of the input from 0",
        )
    axis %= len(shape)
    if shape[axis] == 1:
        raise MoteError(
            f"axis {axis} of the input {'x'.join(map(str, shape))} has one element: that is no window",
            where="option stream",
        )
    if not 0 < hop <= shape[axis]:
        raise MoteError(f"{hop} new elements do not fit a window of {shape[axis]}", where="option hop")
    return StreamAxis(axis, shape[axis], hop)


@dataclass
class _Streaming:
    graph: Graph
    causal: bool
    flows: dict[int, StreamAxis] = field(default_factory=dict)
    increments: dict[int, Increment | None] = field(default_factory=dict)
    """By the id() of an operator that depends on the stream: its streaming form; None if it needs the whole axis."""
    needs: dict[int, set[int]] = field(default_factory=dict)
    """By tensor: the numbers of newest elements that its readers need."""
    tensors: dict[int, Tensor] = field(default_factory=dict)
    states: list[State] = field(default_factory=list)
    window_of: dict[int, int] = field(default_factory=dict)
    next: int = 0
    """The id for the next new tensor."""

    def run(self, flow: StreamAxis) -> Graph:
        self.flows[self.graph.inputs[0]] = flow
        for op in self.graph.ops:
            self._follow(op)
        if not any(inc is not None and op.macs(self.graph) for op, inc in self._reached()):
            ends = next((op for op, increment in self._reached() if increment is None), None)
            raise MoteError(
                "no layer with weights follows the stream: all of the window would be computed every time"
                + ("" if ends is None else f", because {ends.where} needs all of it"),
                where=f"graph '{self.graph.name}'",
                remedy="give the axis along which the window slides, or omit --stream",
            )
        self.tensors = {t: self._newest(t) for t in self.flows}
        self.next = self.graph.fresh_id()
        ops = self._windows(self.graph.inputs[0])
        for op in self.graph.ops:
            increment = self.increments.get(id(op))
            ops.append((op if increment is None else increment.op).with_(inputs=self._inputs(op, increment, ops)))
            ops += self._windows(op.outputs[0])
        streamed = replace(self.graph, states=tuple(self.states)).with_ops(ops, self.tensors.values()).verify()
        return replace(streamed, warm_up=-(-flow.size // flow.fresh) if streamed.states else 0)

    def _reached(self) -> list[tuple[Op, Increment | None]]:
        return [(op, self.increments[id(op)]) for op in self.graph.ops if id(op) in self.increments]

    def _follow(self, op: Op) -> None:
        """Propagate the stream axes of an operator's inputs to its output."""
        flows = {p: self.flows[t] for p, t in enumerate(op.inputs) if t in self.flows}
        if not flows:
            return
        increment = self._increment(op, flows)
        self.increments[id(op)] = increment
        for position, flow in flows.items():
            need = flow.size if increment is None else increment.needs[position]
            self.needs.setdefault(op.inputs[position], set()).add(need)
        if increment is not None:
            self.flows[op.outputs[0]] = increment.flow

    def _increment(self, op: Op, flows: Mapping[int, StreamAxis]) -> Increment | None:
        try:
            return op.increment(self.graph, flows, self.causal)
        except PaddingError as error:
            remedy = "export the model without padding along that axis ('valid')"
            if error.causal:
                remedy += (
                    ", or compile with --causal: padding then stands for what was before the stream, which is another"
                    " model (its outputs differ from those of the windowed one)"
                )
            raise MoteError(
                f"{error}, so that what it computes there depends on where the window lies: the stream cannot give"
                " the same outputs",
                where=f"layer {op.index} {op.kind} '{op.name}'",
                remedy=remedy,
            ) from None

    def _newest(self, t: int) -> Tensor:
        flow, tensor = self.flows[t], self.graph.tensors[t]
        return replace(tensor, shape=flow.cut(tensor.shape), newest=flow.axis)

    def _windows(self, t: int) -> list[Op]:
        """The sliding window of a tensor, as long as its readers need; none if the new elements are enough."""
        flow = self.flows.get(t)
        longest = max(self.needs.get(t, ()), default=0)
        if flow is None or longest <= flow.fresh:
            return []
        tensor, op = self.graph.tensors[t], self.graph.producers.get(t)
        before, after = self._fresh(t, longest), self._fresh(t, longest)
        self.states.append(State(before.id, after.id, _silence(before)))
        self.window_of[t] = after.id
        index = -1 if op is None else op.index
        return [
            SlidingWindow(inputs=(before.id, t), outputs=(after.id,), name=tensor.name, index=index, axis=flow.axis)
        ]

    def _fresh(self, t: int, count: int) -> Tensor:
        """A new tensor for the last `count` elements of a stream tensor."""
        flow, tensor = self.flows[t], self.graph.tensors[t]
        self.next += 1
        made = replace(
            tensor, id=self.next - 1, shape=flow.cut(tensor.shape, count), newest=flow.axis, copy_of=tensor.source
        )
        self.tensors[made.id] = made
        return made

    def _inputs(self, op: Op, increment: Increment | None, ops: list[Op]) -> tuple[int, ...]:
        inputs = list(op.inputs)
        for position, t in enumerate(op.inputs):
            if t in self.flows:
                flow = self.flows[t]
                inputs[position] = self._last(t, flow.size if increment is None else increment.needs[position], ops)
        return tuple(inputs)

    def _last(self, t: int, count: int, ops: list[Op]) -> int:
        """The id of the tensor with the last `count` elements of a stream tensor: itself, its window, or a slice of
        that."""
        flow = self.flows[t]
        if count == flow.fresh:
            return t
        window = self.tensors[self.window_of.get(t, t)]
        if window.shape[flow.axis] == count:
            return window.id
        part = self._fresh(t, count)
        begin = flow.cut((0,) * len(part.shape), window.shape[flow.axis] - count)
        ones = (1,) * len(part.shape)
        cut = Slice(
            inputs=(window.id,), outputs=(part.id,), name=part.name, begin=begin, size=part.shape, strides=ones,
            shape=part.shape,
        )  # fmt: skip
        ops.append(cut)
        return part.id


def _silence(t: Tensor) -> np.ndarray:
    """The initial contents of a window, before the stream begins: zeros."""
    return np.full(t.shape, t.zero_point, t.dtype)
