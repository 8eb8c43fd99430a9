"""Builds integer graphs of convolutional networks directly: tens of times faster than a float graph, passes and the
quantizer, with the same result.

Constants are cached: layers of equal shape share arrays across networks if equally many such layers precede them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from mote.ir.graph import Graph, Op, Quantization, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import Axis
from mote.ir.ops.elementwise.activations import HardSwish, Logistic, Tanh
from mote.ir.ops.elementwise.arithmetic import Add, Mul
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.softmax import Softmax
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.pool import AveragePool, MaxPool
from mote.optimize.compress.quantize.encode import Range, bias_steps, one_scale, steps, weight_scales, weight_steps
from mote.optimize.compress.quantize.types.precision import Precision
from mote.optimize.nas.graphs.floats import OUTPUT
from mote.optimize.nas.graphs.ranges import INPUT_RANGE, range_after
from mote.optimize.nas.graphs.weights import LayerKey, layer_keys, layer_weights
from mote.optimize.nas.spaces.layers import (
    INPUT,
    ActivationLayer,
    AddLayer,
    ConvLayer,
    DenseLayer,
    LastLayer,
    MeanLayer,
    MulLayer,
    NetworkLayer,
    PoolLayer,
    Shape,
)
from mote.optimize.nas.spaces.network import Network

FUSED = {"none": Activation.NONE, "relu": Activation.RELU, "relu6": Activation.RELU6, "hardswish": Activation.NONE}
"""Fused activation of the operator by the layer's activation; a hard swish is a separate operator."""
KEPT = 2048
"""Cache size: number of layers whose constants are kept."""
PROBABILITIES = one_scale(1 / 256, -128)
"""Output quantization of SOFTMAX and sigmoid."""
FUNCTIONS: Mapping[str, tuple[type[Op], Quantization]] = {
    "sigmoid": (Logistic, PROBABILITIES),
    "tanh": (Tanh, one_scale(1 / 128, 0)),
}
"""Activations that are always separate operators, with their prescribed output quantization."""


class NotQuickError(Exception):
    """Raised for networks that only the full quantizer can build."""


def quick_graph(network: Network, seed: int) -> Graph:
    """The integer graph of a convolutional network; raises NotQuickError for others, and for networks with unused
    layers."""
    used = {name for layer in network.layers for name in layer.inputs}
    if not used.issuperset(layer.name for layer in network.layers[:-1]):
        raise NotQuickError
    return _Writer(network, seed).graph()


class _Constants(NamedTuple):
    weights: Array
    scales: Quantization
    bias: Array
    bias_scales: Quantization


@lru_cache(maxsize=KEPT)
def _constants(key: LayerKey, seed: int, input_scale: float, most: int) -> _Constants:
    """Quantized weights and bias of a layer."""
    weights, bias = (layer_weights(key, seed)[name] for name in ("weights", "bias"))
    depthwise = weights.ndim == 3
    axis = 3 if depthwise else 0
    weights = weights[None] if depthwise else weights
    scale = weight_scales(weights, axis, most, bias, input_scale)
    zeros = np.zeros(scale.size, np.int64)
    products = np.float32(input_scale) * scale
    return _Constants(
        weight_steps(weights, scale, axis, most),
        Quantization(scale, zeros, axis),
        bias_steps(bias, products, DType.INT32),
        Quantization(products, zeros),
    )


@lru_cache(maxsize=KEPT)
def _steps(low: float, high: float) -> Quantization:
    return steps(low, high, DType.INT8)


class _Writer:
    """Builds the integer tensors and operators of a network."""

    def __init__(self, network: Network, seed: int) -> None:
        self.network, self.seed = network, seed
        self.keys = layer_keys(network)
        self.seconds = {layer.inputs[1] for layer in network.layers if isinstance(layer, AddLayer | MulLayer)}
        self.tensors: dict[int, Tensor] = {}
        self.ranges: dict[int, Range] = {}
        self.vectors: dict[int, int] = {}
        self.ops: list[Op] = []
        self.name = ""

    def graph(self) -> Graph:
        network = self.network
        values = {INPUT: self.tensor(INPUT, (1, *network.input), _steps(*INPUT_RANGE))}
        self.ranges[values[INPUT]] = INPUT_RANGE
        for layer in network.layers:
            if type(layer) not in _WRITERS or network.precisions.get(layer.name, "int8") not in ("int8", "int4"):
                raise NotQuickError
            self.name = layer.name
            values[layer.name] = _WRITERS[type(layer)](self, layer, *(values[name] for name in layer.inputs))
        output = values[network.layers[-1].name]
        if network.classes:
            self.name = "softmax"
            output = self.op(Softmax, [output], self.tensors[output].shape, quant=PROBABILITIES)
        if len(self.tensors[output].shape) != 2:
            if len(network.shapes[network.layers[-1].name]) != 1:
                raise NotQuickError
            output = self.flat(output)
        self.ops[-1] = self.ops[-1].with_(name=OUTPUT)
        return Graph("network", self.tensors, tuple(self.ops), (values[INPUT],), (output,)).verify()

    def tensor(self, name: str, shape: Shape, quant: Quantization) -> int:
        number = len(self.tensors)
        self.tensors[number] = Tensor(number, name, shape, DType.INT8, quant)
        return number

    def op(
        self,
        kind: type[Op],
        inputs: list[int],
        shape: Shape,
        /,
        *,
        quant: Quantization | None = None,
        last: bool = True,
        **attributes: Any,
    ) -> int:
        """Append an operator. `quant`: output quantization, by default that of its typical range. `last`: it is the
        last operator of its layer."""
        output = len(self.tensors)
        op = kind(inputs=tuple(inputs), outputs=(output,), name=self.name, index=len(self.ops), **attributes)
        input_ranges = [self.ranges[t] for t in inputs if t in self.ranges]
        self.ranges[output] = range_after(op, input_ranges, second=last and self.name in self.seconds)
        self.ops.append(op)
        return self.tensor(self.name, shape, quant or _steps(*self.ranges[output]))

    def same(self, kind: type[Op], given: int, shape: Shape, /, **attributes: Any) -> int:
        """Append an operator whose output has the quantization of its input."""
        return self.op(kind, [given], shape, quant=self.tensors[given].quant, **attributes)

    def flat(self, given: int) -> int:
        """A tensor reshaped to a vector; all readers share the result."""
        if given not in self.vectors:
            shape = (1, self.tensors[given].size)
            self.vectors[given] = self.same(Reshape, given, shape, shape=shape)
        return self.vectors[given]

    def layer(self, kind: type[Op], given: int, shape: Shape, layer: ConvLayer | DenseLayer, **attributes: Any) -> int:
        """Append an operator with weights and a bias."""
        precision = Precision(self.network.precisions.get(layer.name, "int8"))
        constants = _constants(self.keys[layer.name], self.seed, self.tensors[given].scale, precision.most)
        stored = DType.INT4 if precision is Precision.INT4 else None
        first = len(self.tensors)
        w, b = constants.weights, constants.bias
        self.tensors[first] = Tensor(first, layer.name, w.shape, DType.INT8, constants.scales, w, stored=stored)
        self.tensors[first + 1] = Tensor(first + 1, layer.name, b.shape, DType.INT32, constants.bias_scales, b)
        swish = layer.activation == "hardswish"
        output = self.op(
            kind, [given, first, first + 1], shape, activation=FUSED[layer.activation], last=not swish, **attributes
        )
        return self.op(HardSwish, [output], shape) if swish else output


def _conv(w: _Writer, layer: ConvLayer, given: int) -> int:
    vertical, horizontal = layer.axes(w.tensors[given].shape[1:])
    shape = (1, *w.network.shapes[layer.name])
    attributes: dict[str, Any] = {"vertical": vertical, "horizontal": horizontal}
    if not layer.depthwise:
        return w.layer(Conv2D, given, shape, layer, **attributes)
    if shape[-1] == 1:
        raise NotQuickError
    return w.layer(DepthwiseConv2D, given, shape, layer, multiplier=1, **attributes)


def _dense(w: _Writer, layer: DenseLayer, given: int) -> int:
    t = w.tensors[given]
    if t.size != t.shape[-1]:
        given = w.flat(given)
    shape = (*w.tensors[given].shape[:-1], layer.units)
    return w.layer(FullyConnected, given, shape, layer, keep_dims=True)


def _pool(w: _Writer, layer: PoolLayer, given: int) -> int:
    size = w.tensors[given].shape[1:3]
    shape = (1, *w.network.shapes[layer.name])
    axes = [axis.inner(n) for axis, n in zip(layer.axes(w.tensors[given].shape[1:]), size, strict=True)]
    if layer.dilation != (1, 1) or axes == [Axis(1), Axis(1)] or shape[1:3] == (1, 1):
        raise NotQuickError
    return w.same(MaxPool if layer.largest else AveragePool, given, shape, vertical=axes[0], horizontal=axes[1])


def _mean(w: _Writer, layer: MeanLayer, given: int) -> int:
    sizes = w.tensors[given].shape
    axes = tuple(1 + axis for axis in layer.axes if sizes[1 + axis] > 1)
    shape = tuple(1 if axis in axes else n for axis, n in enumerate(sizes))
    return w.op(Mean, [given], shape, axes=axes, keep_dims=True)


def _last(w: _Writer, layer: LastLayer, given: int) -> int:
    _, time, width, channels = w.tensors[given].shape
    if width > 1 or time == 1:
        raise NotQuickError
    size = (1, 1, 1, channels)
    return w.same(Slice, given, size, begin=(0, time - 1, 0, 0), size=size, strides=(1, 1, 1, 1), shape=size)


def _add(w: _Writer, layer: AddLayer, first: int, second: int) -> int:
    if layer.activation == "hardswish":
        raise NotQuickError
    return _pair(w, Add, first, second, activation=FUSED[layer.activation])


def _mul(w: _Writer, layer: MulLayer, first: int, second: int) -> int:
    return _pair(w, Mul, first, second)


def _pair(w: _Writer, kind: type[Op], first: int, second: int, **attributes: Any) -> int:
    """Append an ADD or MUL, one of whose operands may broadcast."""
    one, other = w.tensors[first].shape, w.tensors[second].shape
    shape = tuple(map(max, one, other))
    if len(one) != len(other) or shape not in (one, other):
        raise NotQuickError
    return w.op(kind, [first, second], shape, infinite=True, **attributes)


def _activation(w: _Writer, layer: ActivationLayer, given: int) -> int:
    if layer.activation not in FUNCTIONS:
        raise NotQuickError
    kind, quant = FUNCTIONS[layer.activation]
    return w.op(kind, [given], w.tensors[given].shape, quant=quant)


_WRITERS: Mapping[type[NetworkLayer], Callable[..., int]] = {
    ConvLayer: _conv,
    DenseLayer: _dense,
    PoolLayer: _pool,
    MeanLayer: _mean,
    LastLayer: _last,
    AddLayer: _add,
    MulLayer: _mul,
    ActivationLayer: _activation,
}
