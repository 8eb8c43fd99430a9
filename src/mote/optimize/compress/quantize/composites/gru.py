"""Quantizes GRU layers to a loop of integer operators over time steps.

LiteRT has no GRU operator. In the loop activations are int16 and weights int8: an int8 state would lose small updates
to rounding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.compiler.passes.rewriting.split_recurrent_results import whole
from mote.ir.graph import Graph, Quantization, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.control.control_flow import While
from mote.ir.ops.elementwise.activations import Logistic, RequantizeInt8, Tanh
from mote.ir.ops.elementwise.arithmetic import Add, Mul, Sub
from mote.ir.ops.elementwise.comparison import GreaterEqual, Less
from mote.ir.ops.elementwise.quantize import Rescale
from mote.ir.ops.indexing.gather import Gather
from mote.ir.ops.indexing.scatter import DynamicUpdateSlice
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.recurrent.gates import HYPERBOLIC, SIGMOID
from mote.ir.ops.recurrent.gru import Gru
from mote.ir.ops.recurrent.sequences import BIAS, HIDDEN, RECURRENT, WEIGHTS, RecurrentOutput
from mote.optimize.compress.quantize.composites.scope import CompositeBuilder, Inside, ObserveCallback
from mote.optimize.compress.quantize.composites.sequence import by_time, in_order, states_of
from mote.optimize.compress.quantize.encode import bias_steps, one_scale, steps, weight_scales, weight_steps

SHARE = one_scale(1 / 32768, 0)
"""Output scale that LiteRT requires of int16 LOGISTIC and TANH."""
SATURATED = 8.0
"""Gate inputs beyond this are clipped: the gate functions are saturated there."""


def problem(graph: Graph, op: Gru) -> str | None:
    if op.gates != (SIGMOID, HYPERBOLIC):
        return "its gates have other functions than LOGISTIC and TANH"
    if len(op.results) > 1:
        return "it has several results in one tensor"
    return None if whole(graph, op) else "its sequences may be shorter than their tensor"


def state_scale(inside: Inside) -> Quantization:
    low, high = inside["state"]
    return steps(min(low, -1.0), max(high, 1.0), DType.INT16)


def given(graph: Graph, op: Gru, inside: Inside) -> dict[int, tuple[DType, Quantization | None]]:
    return {} if op.tensor(graph, HIDDEN) is None else {HIDDEN: (DType.INT16, state_scale(inside))}


def trace(graph: Graph, op: Gru, values: Sequence[Array | None], samples: int, see: ObserveCallback) -> None:
    (h,) = states_of(graph, op, values, samples)
    units = h.shape[1]
    w, r, bias = (np.asarray(values[p], np.float64) for p in (WEIGHTS, RECURRENT, BIAS))
    see("state", h)
    for x in in_order(by_time(graph, op, values, samples), op.backward):
        now = x @ w.T + bias[: 3 * units]
        before = h @ r[: 2 * units].T
        gates = now[:, : 2 * units] + before
        update, reset = np.split(op.gate.of(gates), 2, axis=1)
        last = h @ r[2 * units :].T + bias[3 * units :] if op.after else reset * h
        more = reset * last if op.after else last @ r[2 * units :].T
        candidate = now[:, 2 * units :] + more
        h = (1 - update) * op.fresh.of(candidate) + update * h
        shown = {"input": now, "recurrent": before, "gates": gates, "candidate": candidate, "state": h}
        shown |= (
            {"candidate recurrent": last, "reset": more} if op.after else {"reset": last, "candidate recurrent": more}
        )
        for name, value in shown.items():
            see(name, value)


def write(scope: CompositeBuilder, op: Gru) -> None:
    (batch, time), units = op.batch_and_time(scope.graph), op.units(scope.graph)
    axis, y, many = 0 if op.time_major else 1, scope.y, op.results == (RecurrentOutput.SEQUENCE,)
    state = state_scale(scope.inside)
    first, last, step = (time - 1, 0, -1) if op.backward else (0, time, 1)
    place = np.zeros(3, np.int32)
    place[axis] = first
    begin = [_plain(scope, "step", np.array(first, np.int32)).id, _begin(scope, op, (batch, units), state)]
    if many:
        zeros = np.full(y.shape, y.zero_point, y.dtype.numpy)
        begin += [_plain(scope, "place", place).id, scope.hold("outputs", y.shape, y.dtype, y.quant, zeros).id]
    body, condition = _LoopBody(scope, op, state), _LoopBody(scope, op, state)
    number, x, h, at, out = body.enter(many)
    now = body.scope.add(Gather, [x.id, number.id], body.scope.like(x, "now", (batch, x.shape[-1])), axis=axis)
    new = body.step(now, h)
    made = [body.counted(number, step), new]
    if many:
        made += [body.counted(at, step * (np.arange(3, dtype=np.int64) == axis)), body.stored(out, at, new, axis)]
    asked = condition.enter(many)[0]
    end = _plain(condition.scope, "end", np.array(last, np.int32))
    goes_on = condition.scope.add(
        GreaterEqual if op.backward else Less, [asked.id, end.id], condition.scope.hold("goes on", (), DType.BOOL)
    )
    loop = While(
        inputs=(*begin, scope.x.id),
        outputs=_results(scope, (batch, units), state, y if many else None),
        name=op.name,
        index=op.index,
        condition=condition.graph([goes_on]),
        body=body.graph(made),
    )
    scope.ops.append(loop)
    if not many:
        scope.add(Rescale, [loop.outputs[1]], y)


def _plain(scope: CompositeBuilder, what: str, data: Array) -> Tensor:
    """Adds an unquantized int32 constant."""
    return scope.hold(what, data.shape, DType.INT32, None, data)


def _begin(scope: CompositeBuilder, op: Gru, shape: tuple[int, int], state: Quantization) -> int:
    if op.tensor(scope.graph, HIDDEN) is not None:
        return scope.inputs[HIDDEN]
    return scope.hold("first state", shape, DType.INT16, state, np.zeros(shape, np.int16)).id


def _results(
    scope: CompositeBuilder, shape: tuple[int, int], state: Quantization, out: Tensor | None
) -> tuple[int, ...]:
    """Output tensors of the loop: final counter and state, and if requested the final write position and the outputs of
    all steps."""
    results = [scope.hold("last step", (), DType.INT32), scope.hold("last state", shape, DType.INT16, state)]
    if out is not None:
        results += [scope.hold("last place", (3,), DType.INT32), out]
    return tuple(t.id for t in results)


class _LoopBody:
    """Builds the body (or the condition) of the WHILE loop."""

    def __init__(self, outer: CompositeBuilder, op: Gru, state: Quantization) -> None:
        self.outer, self.op, self.state = outer, op, state
        self.scope = CompositeBuilder(outer.graph, op, outer.inside, (), outer.x, outer.y, 0)
        self.inputs: list[Tensor] = []
        (self.batch, _), self.units = op.batch_and_time(outer.graph), op.units(outer.graph)

    def enter(self, many: bool) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Adds the loop's input tensors: step index, sequence, state, write position and outputs so far."""
        x, y = self.outer.x, self.outer.y
        number = self.scope.hold("step", (), DType.INT32)
        h = self.scope.hold("state", (self.batch, self.units), DType.INT16, self.state)
        at, out = self.scope.hold("place", (3,), DType.INT32), self.scope.like(y, "outputs")
        sequence = self.scope.like(x, "sequence")
        self.inputs = [number, h, *([at, out] if many else []), sequence]
        return number, sequence, h, at, out

    def graph(self, outputs: Sequence[Tensor]) -> Graph:
        ids = tuple(t.id for t in self.inputs), tuple(t.id for t in outputs)
        known = Graph(f"{self.op.name} (step)", self.scope.tensors, (), *ids)
        return known.with_ops(self.scope.ops)

    def counted(self, t: Tensor, step: Array | int) -> Tensor:
        one = _plain(self.scope, "one more", np.asarray(step, np.int32))
        return self.scope.add(Add, [t.id, one.id], self.scope.hold("next", t.shape, DType.INT32))

    def stored(self, out: Tensor, at: Tensor, h: Tensor, axis: int) -> Tensor:
        """Writes a state into the outputs at the current position."""
        s = self.scope
        kind = Rescale if out.dtype != DType.INT8 or h.dtype != DType.INT8 else RequantizeInt8
        shown = s.add(kind, [h.id], s.hold("shown", h.shape, out.dtype, out.quant))
        shape = (1, *h.shape) if axis == 0 else (self.batch, 1, self.units)
        line = s.add(Reshape, [shown.id], s.like(shown, "line", shape), shape=shape)
        return s.add(DynamicUpdateSlice, [out.id, line.id, at.id], s.like(out, "outputs, one more"))

    def step(self, now: Tensor, h: Tensor) -> Tensor:
        """Adds the operators of one GRU step; returns the next state."""
        s, op, units = self.scope, self.op, self.units
        if now.dtype == DType.INT8:
            low, high = ((end - now.zero_point) * now.scale for end in now.dtype.limits)
            wide = s.hold("input, 16 bits", now.shape, DType.INT16, steps(low, high, DType.INT16))
            now = s.add(Rescale, [now.id], wide)
        bias, recurrent = s.data(BIAS), s.data(RECURRENT)
        seen = self.product("input", now, s.data(WEIGHTS), bias[: 3 * units])
        before = self.product("recurrent", h, recurrent[: 2 * units], None)
        gates = self.sum("gates", self.part(seen, 0, 2), before)
        open_ = s.add(Logistic, [gates.id], s.hold("gates, open", gates.shape, DType.INT16, SHARE))
        update, reset = self.part(open_, 0, 1), self.part(open_, 1, 2)
        lines = recurrent[2 * units :]
        if op.after:
            more = self.product("candidate recurrent", h, lines, bias[3 * units :])
            more = s.add(Mul, [reset.id, more.id], s.between("reset", h.shape))
        else:
            kept = s.add(Mul, [reset.id, h.id], s.between("reset", h.shape))
            more = self.product("candidate recurrent", kept, lines, None)
        candidate = self.sum("candidate", self.part(seen, 2, 3), more)
        fresh = s.add(Tanh, [candidate.id], s.hold("fresh", h.shape, DType.INT16, SHARE))
        quant = one_scale(2 * h.scale, 0)
        apart = s.add(Sub, [h.id, fresh.id], s.hold("apart", h.shape, DType.INT16, quant))
        kept = s.add(Mul, [update.id, apart.id], s.hold("kept", h.shape, DType.INT16, quant))
        return s.add(Add, [fresh.id, kept.id], s.like(h, "next state"))

    def product(self, what: str, x: Tensor, weights: Array, bias: Array | None) -> Tensor:
        """Adds a fully connected layer with int8 weights."""
        s = self.scope
        scales = weight_scales(weights, 0, 127, bias, x.scale)
        zeros = np.zeros(len(scales), np.int64)
        values = weight_steps(weights, scales, 0, 127)
        inputs = [x.id, s.hold(f"{what} weights", weights.shape, DType.INT8, Quantization(scales, zeros), values).id]
        products = np.float32(x.scale) * scales
        if bias is not None:
            data = bias_steps(bias, products, DType.INT64)
            inputs.append(s.hold(f"{what} bias", bias.shape, DType.INT64, Quantization(products, zeros), data).id)
        made = s.between(what, (self.batch, len(weights)))
        return s.add(FullyConnected, [*inputs, *[ABSENT] * (3 - len(inputs))], made)

    def sum(self, what: str, a: Tensor, b: Tensor) -> Tensor:
        """Adds the sum of two tensors as a gate's input, clipped to where the gate saturates."""
        low, high = self.scope.inside[what]
        quant = steps(max(low, -SATURATED), min(high, SATURATED), DType.INT16)
        return self.scope.add(Add, [a.id, b.id], self.scope.hold(what, a.shape, DType.INT16, quant))

    def part(self, t: Tensor, first: int, end: int) -> Tensor:
        """Adds a slice of gate blocks `first` to `end`, each of `units` columns."""
        shape = (self.batch, (end - first) * self.units)
        how = {"begin": (0, first * self.units), "size": shape, "strides": (1, 1), "shape": shape}
        return self.scope.add(Slice, [t.id], self.scope.like(t, f"units {first} to {end}", shape), **how)
