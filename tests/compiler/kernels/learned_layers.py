"""Int8 layers whose biases, or weights and biases, are states: what they read in an inference is an input of the one
before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mote.ir.graph import Graph, Op, State, Tensor
from mote.ir.graph.tensor import Array, Quantization
from mote.ir.graph.types import Activation, DType, Rounding, StateRole
from mote.ir.ops.common import BIAS, WEIGHTS, Axis
from mote.ir.ops.control.state import Assign
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D


@dataclass(frozen=True)
class Layer:
    """One layer: `kind` is conv, depthwise or dense; a window of kernel x kernel, padded as SAME."""

    kind: str
    size: int
    inputs: int
    outputs: int
    kernel: int = 3
    stride: int = 1
    activation: Activation = Activation.NONE
    learns: tuple[int, ...] = (BIAS,)
    rounding: Rounding = Rounding.TWICE
    zero: int = -5
    chained: bool = False
    """It reads the output of the layer before."""
    halves: bool = False
    """All scales are powers of two, so that sums meet halves."""
    faint: bool = False
    """The weights of channel 1 have a scale so small that they change no output."""

    def op(self) -> Op:
        if self.kind == "dense":
            swapped = {Rounding.TWICE: Rounding.ONCE, Rounding.ONCE: Rounding.TWICE}
            rounding = swapped.get(self.rounding, self.rounding)
            return FullyConnected(
                inputs=(), outputs=(), name="dense", index=0, activation=self.activation, rounding=rounding
            )
        total = max((-(-self.size // self.stride) - 1) * self.stride + self.kernel - self.size, 0)
        axis = Axis(self.kernel, self.stride, before=total // 2, after=total - total // 2)
        kind = Conv2D if self.kind == "conv" else DepthwiseConv2D
        return kind(
            inputs=(), outputs=(), name=self.kind, index=0, vertical=axis, horizontal=axis, activation=self.activation,
            rounding=self.rounding,
        )  # fmt: skip

    @property
    def weights(self) -> tuple[int, ...]:
        if self.kind == "dense":
            return self.outputs, self.inputs
        if self.kind == "conv":
            return self.outputs, self.kernel, self.kernel, self.inputs
        return 1, self.kernel, self.kernel, self.outputs


def powers_of_two(near: Array | float) -> Array:
    return np.exp2(np.round(np.log2(near)))


def quantized(scale: Array | float, zero: int = 0, axis: int = 0) -> Quantization:
    scales = np.atleast_1d(np.asarray(scale, np.float32))
    return Quantization(scales, np.full(scales.size, zero, np.int64), axis)


class Learners:
    """A graph of such layers side by side, and chains of them."""

    def __init__(self, layers: Sequence[Layer], seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.tensors: dict[int, Tensor] = {}
        self.ops: list[Op] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.states: list[State] = []
        for layer in layers:
            self._add(layer)

    def _tensor(self, name: str, shape: Sequence[int], dtype: DType, quant: Quantization | None = None,
                data: Array | None = None) -> int:  # fmt: skip
        at = len(self.tensors)
        self.tensors[at] = Tensor(at, f"{name}{at}", tuple(shape), dtype, quant, data)
        return at

    def _add(self, layer: Layer) -> None:
        rng, spread = self.rng, layer.kind == "depthwise"
        depth = int(np.prod(layer.weights)) // layer.outputs
        shape = (1, layer.inputs) if layer.kind == "dense" else (1, layer.size, layer.size, layer.inputs)
        near = powers_of_two if layer.halves else np.asarray
        if layer.chained:
            x = self.outputs.pop()
        else:
            x = self._tensor("x", shape, DType.INT8, quantized(near(0.05), layer.zero))
            self.inputs.append(x)
        steps = near(rng.uniform(0.002, 0.02, layer.outputs))
        if layer.faint:
            steps[1] = 1e-10
        scales = quantized(steps, axis=3 if spread else 0)
        real = float(np.sqrt(depth) * self.tensors[x].scale * 0.011 * 73 * 40 / 60)
        values = rng.integers(-127, 128, layer.weights).astype(np.int8)
        biases = rng.integers(-3000, 3000, layer.outputs).astype(np.int32)
        w = self._operand("w", values, DType.INT8, scales, WEIGHTS in layer.learns)
        b = self._operand("b", biases, DType.INT32, None, BIAS in layer.learns)
        zero = -128 if layer.activation is Activation.RELU else 3
        op = layer.op().with_(inputs=(x, w, b))
        y = self._tensor(
            "y", op.shapes(Graph("shapes", self.tensors, (), (), ()))[0], DType.INT8, quantized(near(real), zero)
        )
        self.outputs.append(y)
        self.ops.append(op.with_(outputs=(y,), index=len(self.ops), name=f"{layer.kind}{len(self.ops)}"))
        for state in self.states[-len(layer.learns) :]:
            if state.after == -1:
                self._assign(state)

    def _operand(self, name: str, data: Array, dtype: DType, quant: Quantization | None, learns: bool) -> int:
        t = self._tensor(name, data.shape, dtype, quant, None if learns else data)
        if learns:
            self.states.append(State(t, -1, data, StateRole.LEARNED))
        return t

    def _assign(self, state: State) -> None:
        before = self.tensors[state.before]
        told, after = (self._tensor(name, before.shape, before.dtype, before.quant) for name in ("next", "after"))
        self.inputs.append(told)
        self.states[self.states.index(state)] = State(state.before, after, state.initial, state.role)
        self.ops.append(
            Assign(inputs=(state.before, told), outputs=(after,), name=f"assign{after}", index=len(self.ops))
        )

    def graph(self) -> Graph:
        graph = Graph(
            "learned", self.tensors, tuple(self.ops), tuple(self.inputs), tuple(self.outputs), tuple(self.states)
        ).verify()
        for op in graph.ops:
            assert (problem := op.unsupported(graph)) is None, problem
        return graph

    def case(self, number: int) -> dict[int, Array]:
        """Inputs, and what is learned for the next inference: every third time as far as integers go."""
        return {t: self._values(self.tensors[t], number) for t in self.inputs}

    def _values(self, t: Tensor, number: int) -> Array:
        if t.dtype == DType.INT32 and number % 3 != 1:
            return self.rng.integers(-20000, 20000, t.shape).astype(np.int32)
        low, high = t.dtype.limits
        return self.rng.integers(low, high, t.shape, endpoint=True).astype(t.dtype.numpy)


def with_learned_biases(graph: Graph) -> Graph:
    """A model's int8 layers with states for biases, each of which becomes an input of the inference before."""
    tensors, ops, states, told = dict(graph.tensors), list(graph.ops), list(graph.states), list(graph.inputs)
    fresh = graph.fresh_id()
    for number, op in enumerate(graph.ops):
        if not isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected):
            continue
        bias = op.input(graph, BIAS)
        assert bias.data is not None
        before, after, value = fresh, fresh + 1, fresh + 2
        fresh += 3
        tensors |= {t: Tensor(t, f"bias{t}", bias.shape, bias.dtype) for t in (before, after, value)}
        ops[number] = op.with_(inputs=(*op.inputs[:BIAS], before))
        ops.append(Assign(inputs=(before, value), outputs=(after,), name=f"assign{after}", index=1000 + number))
        states.append(State(before, after, bias.data, StateRole.LEARNED))
        told.append(value)
    return Graph(graph.name, tensors, tuple(ops), tuple(told), graph.outputs, tuple(states)).verify()
