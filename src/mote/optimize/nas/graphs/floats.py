"""Builds the float graph of a network, equal to the one that Mote reads from the network's ONNX file.

Values have the ONNX layout: feature maps [1, channels, height, width], vectors [1, elements]. The graph's tensors are
NHWC."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from mote.base.errors import naming
from mote.frontends.build import Builder, Value, elementwise, matrix, moves, norms, recurrent, reductions, windows
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.recurrent.sequences import RecurrentOutput
from mote.optimize.nas.spaces.layers import (
    INPUT,
    ActivationLayer,
    AddLayer,
    AttentionLayer,
    ConcatLayer,
    ConvLayer,
    DenseLayer,
    GruLayer,
    LastLayer,
    MeanLayer,
    MulLayer,
    NetworkLayer,
    NormLayer,
    PoolLayer,
    Shape,
)
from mote.optimize.nas.spaces.network import Network, Weights

OUTPUT = "output"
"""Name of a network's output."""
EPSILON = 1e-5
"""Epsilon of layer normalization, as in PyTorch."""


@dataclass(frozen=True)
class PlacedLayer:
    """A layer to build, with its inputs, their shapes in the network (channels last) and its constants."""

    b: Builder
    layer: Any
    inputs: Sequence[Value]
    shapes: Sequence[Shape]
    weights: Mapping[str, Array]


def float_graph(network: Network, weights: Weights, name: str = "network", labels: Sequence[str] = ()) -> Graph:
    """The float graph of a network, with NHWC input `input` and output `output`; for classification SOFTMAX is appended
    and `labels` are the class names."""
    with naming(name):
        b = Builder(name)
        sizes = network.input
        stored = (1, *sizes) if len(sizes) < 3 else (1, sizes[2], *sizes[:2])
        values = {INPUT: b.input(INPUT, stored, DType.FLOAT32, channels_last=len(sizes) == 3)}
        for number, layer in enumerate(network.layers):
            with b.layer(number, type(layer).__name__, layer.name):
                inputs = [values[source] for source in layer.inputs]
                call = PlacedLayer(b, layer, inputs, network.given(layer), weights.get(layer.name, {}))
                value = BUILDERS[type(layer)](call)
                named = network.classes or layer is not network.layers[-1]
                values[layer.name] = b.named(value, layer.name) if named else value
        last = values[network.layers[-1].name]
        if network.classes:
            with b.layer(len(network.layers), "Softmax", "softmax"):
                last = norms.softmax(b, last, 1)
        b.output(last, OUTPUT, labels)
        return b.finish().graph()


def activated(b: Builder, x: Value, activation: str) -> Value:
    """Applies an activation by its name."""
    return _ACTIVATIONS[activation](b, x)


_ACTIVATIONS: Mapping[str, Callable[[Builder, Value], Value]] = {
    "none": lambda b, x: x,
    "relu": elementwise.relu,
    "relu6": elementwise.relu6,
    "hardswish": elementwise.hard_swish,
    "sigmoid": elementwise.sigmoid,
    "tanh": elementwise.tanh,
}


def _conv(call: PlacedLayer) -> Value:
    layer: ConvLayer = call.layer
    channels = call.shapes[0][2]
    weights = file_weights(layer, call.weights["weights"])
    axes = layer.axes(call.shapes[0])
    groups = channels if layer.depthwise else 1
    output = windows.conv(call.b, call.inputs[0], weights, call.weights["bias"], axes, groups)
    return activated(call.b, output, layer.activation)


def file_weights(layer: ConvLayer, weights: Array) -> Array:
    """Convolution weights in ONNX layout: [filters, channels per group, height, width]."""
    return weights.transpose(2, 0, 1)[:, None] if layer.depthwise else weights.transpose(0, 3, 1, 2)


def _dense(call: PlacedLayer) -> Value:
    flat = moves.flatten(call.b, call.inputs[0])
    output = matrix.linear(call.b, flat, file_matrix(call.shapes[0], call.weights["weights"]).T, call.weights["bias"])
    return activated(call.b, output, call.layer.activation)


def file_matrix(given: Shape, weights: Array) -> Array:
    """Weights of a fully connected layer, reordered for an NCHW-flattened input."""
    if len(given) != 3:
        return weights
    return weights.reshape(len(weights), *given).transpose(0, 3, 1, 2).reshape(weights.shape)


def _pool(call: PlacedLayer) -> Value:
    pool = windows.max_pool if call.layer.largest else windows.average_pool
    return pool(call.b, call.inputs[0], call.layer.axes(call.shapes[0]))


def _mean(call: PlacedLayer) -> Value:
    both = call.layer.axes == (0, 1)
    axes = [2 + axis for axis in call.layer.axes]
    output = reductions.mean(call.b, call.inputs[0], axes, True)
    return moves.flatten(call.b, output) if both else output


def _last(call: PlacedLayer) -> Value:
    time, width, channels = call.shapes[0]
    row = moves.slice_(call.b, call.inputs[0], 2, time - 1, 1)
    return moves.reshape(call.b, moves.transpose(call.b, row, (0, 2, 3, 1)), (1, width * channels))


def _add(call: PlacedLayer) -> Value:
    return activated(call.b, elementwise.add(call.b, *_equal_rank(call)), call.layer.activation)


def _mul(call: PlacedLayer) -> Value:
    return elementwise.mul(call.b, *_equal_rank(call))


def _equal_rank(call: PlacedLayer) -> list[Value]:
    """Both operands with equal rank: a vector next to a feature map becomes [1, channels, 1, 1]."""
    rank = max(value.rank for value in call.inputs)
    return [moves.reshape(call.b, v, v.shape + (1,) * (rank - v.rank)) for v in call.inputs]


def _activation(call: PlacedLayer) -> Value:
    return activated(call.b, call.inputs[0], call.layer.activation)


def _concat(call: PlacedLayer) -> Value:
    return moves.concat(call.b, call.inputs, 1)


def _gru(call: PlacedLayer) -> Value:
    b, (time, _, channels) = call.b, call.shapes[0]
    w = call.weights
    side = recurrent.of_torch("GRU", w["kernel"], w["recurrent"], w["bias"], w["recurrent_bias"])
    sequence = moves.reshape(b, moves.transpose(b, call.inputs[0], (2, 0, 1, 3)), (time, 1, channels))
    output = recurrent.layer(b, "GRU", sequence, [side], after=True, wanted=[RecurrentOutput.SEQUENCE])
    return moves.transpose(b, output[RecurrentOutput.SEQUENCE], (1, 3, 0, 2))


def _norm(call: PlacedLayer) -> Value:
    b, x = call.b, call.inputs[0]
    scale, bias = (b.constant(call.weights[name]) for name in ("scale", "bias"))
    if x.rank == 2:
        return norms.layer_norm(b, x, [1], scale, bias, EPSILON)
    last = moves.transpose(b, x, (0, 2, 3, 1))
    return moves.transpose(b, norms.layer_norm(b, last, [3], scale, bias, EPSILON), (0, 3, 1, 2))


def _attention(call: PlacedLayer) -> Value:
    b, layer, (time, _, channels) = call.b, call.layer, call.shapes[0]
    w = scaled_query(layer, call.weights)
    rows = moves.reshape(b, moves.transpose(b, call.inputs[0], (0, 2, 3, 1)), (1, time, channels))

    def heads(name: str, order: tuple[int, ...]) -> Value:
        output = matrix.linear(b, rows, w[name].T, w[f"{name}_bias"])
        return moves.transpose(b, moves.reshape(b, output, (1, time, layer.heads, layer.size)), order)

    scores = matrix.matmul(b, heads("query", (0, 2, 1, 3)), heads("key", (0, 2, 3, 1)))
    mixed = matrix.matmul(b, norms.softmax(b, scores, -1), heads("value", (0, 2, 1, 3)))
    joined = moves.reshape(b, moves.transpose(b, mixed, (0, 2, 1, 3)), (1, time, layer.heads * layer.size))
    output = matrix.linear(b, joined, w["out"].T, w["out_bias"])
    return moves.transpose(b, moves.reshape(b, output, (1, time, 1, channels)), (0, 3, 1, 2))


def scaled_query(layer: AttentionLayer, weights: Mapping[str, Array]) -> Mapping[str, Array]:
    """Attention constants with the factor 1 / sqrt(size) of the scores folded into the query's."""
    factor = np.float32(1 / sqrt(layer.size))
    return {**weights, **{name: weights[name] * factor for name in ("query", "query_bias")}}


BUILDERS: Mapping[type[NetworkLayer], Callable[[PlacedLayer], Value]] = {
    ConvLayer: _conv,
    DenseLayer: _dense,
    PoolLayer: _pool,
    MeanLayer: _mean,
    LastLayer: _last,
    AddLayer: _add,
    MulLayer: _mul,
    ActivationLayer: _activation,
    ConcatLayer: _concat,
    GruLayer: _gru,
    NormLayer: _norm,
    AttentionLayer: _attention,
}
"""Builder function of each kind of layer."""
