"""Quantization-aware training: bit-exact integer forward pass, straight-through gradients for the float parameters.

Forward, every operator computes exactly what LiteRT's reference and the generated C do; weights are quantized with
scales that follow them from step to step. Backward, gradients are those of the float operators on dequantized values
(straight-through estimator); clipped values get no gradient."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mote.base.errors import working_on
from mote.bench.execute.torch.exact import forward
from mote.bench.execute.torch.float32 import twin
from mote.bench.execute.torch.float32.common import Value
from mote.bench.execute.torch.module import GraphModule, Trainable, entered, left
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.types import DType
from mote.optimize.compress.quantize.constants import ConstantOverrides, layer_constants
from mote.optimize.compress.quantize.encode import in_steps, weight_scales, weight_steps
from mote.optimize.compress.quantize.quantizer import IO, Integers, integers
from mote.optimize.compress.quantize.types.litert_rules import FAMILIES, Rule
from mote.optimize.compress.quantize.types.precision import Precision, Rounded, Scheme
from mote.optimize.compress.quantize.types.type_assignment import Ranges

QUANTIZED = (DType.INT8, DType.INT16)


class Straight(torch.autograd.Function):
    """Straight-through estimator: quantized values forward; backward, the gradient passes to the float values, where
    these are in range."""

    @staticmethod
    def forward(ctx: Any, real: Value, exact: Value, inside: Value | None) -> Value:
        ctx.save_for_backward(inside)
        return exact.expand_as(real).clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Value) -> tuple[Value, None, None]:
        (inside,) = ctx.saved_tensors
        return gradients[0] if inside is None else gradients[0] * inside, None, None


def straight(real: Value, exact: Value, inside: Value | None = None) -> Value:
    value: Value = Straight.apply(real, exact, inside)  # type: ignore[no-untyped-call]
    return value


@dataclass(frozen=True)
class TrainedConstant:
    """A quantized constant of the integer graph, and the id of the float constant it is quantized from."""

    tensor: Tensor
    source: int


class AwareModule(Trainable):
    """Trainable module that computes the integer graph of a float graph in normal form. Outputs are dequantized; inputs
    are float, or integers as in the integer graph."""

    def __init__(
        self, graph: Graph, ranges: Ranges, scheme: Scheme | None = None, io: str = IO[0], *, wide: Ranges | None = None
    ) -> None:
        super().__init__()
        self.real = GraphModule(graph)
        self.source = self.real.source
        self.scheme = scheme or Scheme()
        self.io = io
        self.integers: Integers
        self.shares: dict[int, NDArray[np.float32]] = {}
        """Per-channel factors on the default weight scales, by layer number."""
        self.set_ranges(ranges, wide)

    def set_ranges(self, ranges: Ranges, wide: Ranges | None = None) -> None:
        """Sets activation ranges by float tensor id; `wide` are those of int16 tensors."""
        self.ranges = dict(ranges)
        self.wide = dict(ranges if wide is None else wide)
        self.integers = integers(self.real.graph(), self.ranges, self.scheme, io=self.io, wide=self.wide)

    def begin_with(self, initial: Integers) -> None:
        """Initializes weights and biases with another quantization of the same graph; weight scales keep their ratio to
        the default ones."""
        for index, op in initial.whole.items():
            origin = self.source.ops[index]
            if FAMILIES[type(origin)].rule is not Rule.LAYER or any(self._shared(i) for i in origin.inputs[1:]):
                continue
            for i, source in zip(op.inputs[1:], _present(origin.inputs[1:]), strict=False):
                t = initial.graph.tensors[i]
                numbers = forward.real_numbers(forward.constant(t, torch.device("cpu")), t)[0]
                self.real.constants[str(source)].data.copy_(numbers)
            now, t = self.real.graph(), initial.graph.tensors[op.inputs[1]]
            assert t.quant is not None
            usual = self._scales(now, origin, initial.graph.tensors[op.inputs[0]].scale, initial.precisions[index])
            self.shares[index] = (t.quant.scale / usual).astype(np.float32)

    def _shared(self, constant: int) -> bool:
        """Whether several layers read a constant."""
        return constant != ABSENT and len(self.source.consumers[constant]) > 1

    def _scales(self, now: Graph, op: Op, input_scale: float, precision: Precision) -> NDArray[np.float32]:
        """Default weight scales of a layer: the largest weight of each channel becomes the largest integer."""
        w, b, axis = op.input(now, 1), op.tensor(now, 2), FAMILIES[type(op)].channel_axis
        assert w.data is not None
        return weight_scales(w.data, axis, precision.most, None if b is None else b.data, input_scale)

    def _constants(self, now: Graph, op: Op, input_scale: float, precision: Precision) -> list[Tensor]:
        """Quantized weights and bias of a layer, from the current float parameters."""
        if op.index not in self.shares:
            return layer_constants(now, op, input_scale, precision, ConstantOverrides())
        w, axis = op.input(now, 1), FAMILIES[type(op)].channel_axis
        assert w.data is not None
        scales = self._scales(now, op, input_scale, precision) * self.shares[op.index]
        rounded = Rounded(weight_steps(w.data, scales, axis, precision.most), scales)
        return layer_constants(now, op, input_scale, precision, ConstantOverrides({w.id: rounded}))

    def graph(self) -> Graph:
        return self.real.graph()

    def integer_graph(self) -> Graph:
        """The integer graph with the current constants."""
        return self._current(self._trained_constants())

    def stored(self, *inputs: Value) -> tuple[Value, ...]:
        """Integer outputs: bit-exact with LiteRT and the generated C."""
        with torch.no_grad():
            graph = self.integer_graph()
            known = forward.forward(graph, self._entered(graph, inputs))
        samples = len(inputs[0])
        return tuple(left(graph.tensors[i], known[i], samples) for i in graph.outputs)

    def values(self, *inputs: Value, wanted: Collection[int]) -> dict[int, Value]:
        made = self._trained_constants()
        graph = self._current(made)
        exact = self._entered(graph, inputs)
        if not torch.is_grad_enabled():
            exact = forward.forward(graph, exact)
            return {i: self._left(graph, i, exact[i], len(inputs[0])) for i in wanted}
        real = {
            i: straight(x, forward.real_numbers(exact[i], graph.tensors[i]), _in_range(x, graph.tensors[i]))
            for i, x in entered(self.source, inputs).items()
            if x.is_floating_point() and not exact[i].is_floating_point()
        }
        device = inputs[0].device
        for i, constant in made.items():
            exact[i] = forward.constant(constant.tensor, device)
            rounded = forward.real_numbers(exact[i], constant.tensor) if constant.tensor.quant else exact[i]
            real[i] = straight(self.real.constant(constant.source), rounded)
        for state in graph.states:
            exact[state.before] = torch.from_numpy(np.array(state.initial)).to(device).unsqueeze(0)
        for op in graph.ops:
            for i in op.inputs:
                if i != ABSENT and i not in exact:
                    exact[i] = forward.constant(graph.tensors[i], device)
            self._step(graph, op, exact, real)
        return {i: left(graph.tensors[i], real.get(i, exact[i]), len(inputs[0])) for i in wanted}

    def _step(self, graph: Graph, op: Op, exact: dict[int, Value], real: dict[int, Value]) -> None:
        """Evaluates one operator on integers and on their dequantized values."""
        learned = [None if i == ABSENT else self._real(graph, i, exact, real) for i in op.inputs]
        outputs = [graph.tensors[i] for i in op.outputs]
        whole = all(t.dtype != DType.FLOAT32 for t in outputs)
        if whole or op.kind == "DEQUANTIZE":
            integers = forward.step(graph, op, [None if i == ABSENT else exact[i] for i in op.inputs])
            exact |= dict(zip(op.outputs, integers, strict=True))
        if whole and not all(t.quant is not None and t.dtype in QUANTIZED for t in outputs):
            return
        with working_on(op):
            results = twin(graph, op)(graph, op, learned)
        for t, x in zip(outputs, results if isinstance(results, tuple) else (results,), strict=True):
            if whole:
                real[t.id] = straight(x, forward.real_numbers(exact[t.id], t), _in_range(x, t))
            elif op.kind == "DEQUANTIZE":
                real[t.id] = straight(x, exact[t.id])
            else:
                exact[t.id], real[t.id] = x.detach(), x

    def _real(self, graph: Graph, i: int, exact: dict[int, Value], real: dict[int, Value]) -> Value:
        t = graph.tensors[i]
        if i not in real:
            real[i] = forward.real_numbers(exact[i], t) if t.quant is not None else exact[i]
        return real[i]

    def _left(self, graph: Graph, i: int, value: Value, samples: int) -> Value:
        t = graph.tensors[i]
        return left(t, value if t.quant is None else forward.real_numbers(value, t), samples)

    def _entered(self, graph: Graph, inputs: tuple[Value, ...]) -> dict[int, Value]:
        """Inputs of the integer graph, quantized where it takes integers."""
        values = entered(self.source, inputs)
        for i, x in values.items():
            t = graph.tensors[i]
            if t.dtype != DType.FLOAT32:
                values[i] = forward.in_steps(x.detach(), t) if x.is_floating_point() else x.to(torch.int64)
        return values

    def _current(self, made: Mapping[int, TrainedConstant]) -> Graph:
        graph = self.integers.graph
        return replace(graph, tensors={**graph.tensors, **{i: constant.tensor for i, constant in made.items()}})

    def _trained_constants(self) -> dict[int, TrainedConstant]:
        """Quantized constants from the current parameters, by id in the integer graph."""
        now, whole = self.real.graph(), self.integers.graph
        made: dict[int, TrainedConstant] = {}
        for op in whole.ops:
            origin = self.source.ops[op.index]
            if type(origin) is not type(op):
                continue  # A conversion before the operator, which has its number.
            precision = self.integers.precisions.get(op.index, Precision.FLOAT32)
            if precision.integer and FAMILIES[type(op)].rule is Rule.LAYER:
                constants = self._constants(now, origin, whole.tensors[op.inputs[0]].scale, precision)
                pairs = zip(op.inputs[1:], constants, _present(origin.inputs[1:]), strict=True)
                made |= {i: TrainedConstant(replace(t, id=i), source) for i, t, source in pairs}
                continue
            for i, source in zip(op.inputs, origin.inputs, strict=True):
                if str(source) in self.real.constants:
                    made[i] = TrainedConstant(_with_values(whole.tensors[i], now.tensors[source]), source)
        return made


def _present(tensors: Iterable[int]) -> list[int]:
    return [t for t in tensors if t != ABSENT]


def _with_values(t: Tensor, now: Tensor) -> Tensor:
    """A constant of the integer graph with new values, in its quantization or float width."""
    assert now.data is not None
    if t.quant is not None:
        return replace(t, data=in_steps(now.data, t.quant, t.dtype))
    half = t.stored == DType.FLOAT16
    return replace(t, data=now.data.astype(np.float16).astype(np.float32) if half else now.data)


def _in_range(x: Value, t: Tensor) -> Value:
    """Mask of floats within the representable range of a quantized tensor (plus half a step)."""
    low, high = (t.scale * (end - t.zero_point) for end in t.dtype.limits)
    half = t.scale / 2
    return (x >= low - half) & (x <= high + half)
