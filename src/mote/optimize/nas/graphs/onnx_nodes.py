"""Writes networks as ONNX files in the usual layout: feature maps [batch, channels, height, width], table rows [batch,
features]."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mote.base.extras import require
from mote.ir.graph.tensor import Array
from mote.optimize.nas.graphs.floats import EPSILON, OUTPUT, file_matrix, file_weights, scaled_query
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
from mote.version import __version__

OPSET, IR = 17, 8
"""ONNX opset and IR version of written files, old enough for most readers."""
BATCH = "batch"
"""Name of the dynamic batch dimension."""


def onnx_file(network: Network, weights: Weights, name: str = "network", labels: Sequence[str] = ()) -> bytes:
    """The float network as an ONNX file with input `input` and output `output`; for classification SOFTMAX is appended
    and `labels`, the class names, are stored as metadata."""
    onnx = require("onnx", extra="onnx", what="an ONNX model")
    helper, real = onnx.helper, onnx.TensorProto.FLOAT
    nodes = NodeWriter(network, onnx)
    for layer in network.layers:
        nodes.layer(layer, weights.get(layer.name, {}))
    if network.classes:
        nodes.name = "softmax"
        nodes.add("Softmax", [network.layers[-1].name], OUTPUT, axis=1)
    sizes = [_file_shape(network.input), _file_shape(network.shapes[network.layers[-1].name])]
    entry, result = (
        helper.make_tensor_value_info(edge, real, (BATCH, *shape))
        for edge, shape in zip((INPUT, OUTPUT), sizes, strict=True)
    )
    graph = helper.make_graph(nodes.nodes, name, [entry], [result], nodes.constants)
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR,
        producer_name="mote",
        producer_version=__version__,
    )
    if labels:
        helper.set_model_props(model, {"labels": json.dumps(list(labels))})
    onnx.checker.check_model(model, full_check=True)
    data: bytes = model.SerializeToString()
    return data


def _file_shape(shape: Shape) -> Shape:
    return (shape[2], *shape[:2]) if len(shape) == 3 else shape


class NodeWriter:
    """Collects the nodes and constants of an ONNX graph, layer by layer."""

    def __init__(self, network: Network, onnx: Any) -> None:
        self.network = network
        self.name = ""
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._onnx = onnx

    def layer(self, layer: NetworkLayer, weights: Mapping[str, Array]) -> None:
        """Add the nodes of a layer; its output gets the layer's name."""
        self.name = layer.name
        output = NODES[type(layer)](self, layer, weights)
        ends = not self.network.classes and layer is self.network.layers[-1]
        self.add("Identity", [output], OUTPUT if ends else layer.name)

    def add(self, kind: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        """Add a node and return its output name; an Identity merely renames the previous node's output."""
        if kind == "Identity" and self.nodes and list(self.nodes[-1].output) == list(inputs):
            self.nodes[-1].output[:] = [output]
            return output
        name = f"{self.name}/{kind}{sum(node.name.startswith(f'{self.name}/{kind}') for node in self.nodes) or ''}"
        output = output or name
        self.nodes.append(self._onnx.helper.make_node(kind, list(inputs), [output], name, **attributes))
        return output

    def constant(self, name: str, array: Array) -> str:
        """Add a constant of the current layer and return its full name."""
        name = f"{self.name}/{name}"
        self.constants.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def reshape(self, x: str, *shape: int) -> str:
        """Add a Reshape that keeps the batch axis."""
        return self.add("Reshape", [x, self.constant(f"shape{len(self.constants)}", np.array([0, *shape], np.int64))])

    def transpose(self, x: str, *order: int) -> str:
        """Add a Transpose with a permutation of the axes."""
        return self.add("Transpose", [x], perm=list(order))

    def linear(self, x: str, name: str, weights: Mapping[str, Array]) -> str:
        """Add a MatMul over the last axis with weights [outputs, inputs], and an Add of the bias."""
        product = self.add("MatMul", [x, self.constant(name, weights[name].T)])
        return self.add("Add", [product, self.constant(f"{name}_bias", weights[f"{name}_bias"])])

    def given(self, layer: NetworkLayer) -> Shape:
        """Shape of a layer's first input in the network, channels last."""
        return self.network.given(layer)[0]


def _activated(nodes: NodeWriter, x: str, activation: str) -> str:
    if activation == "none":
        return x
    if activation == "relu6":
        ends = [nodes.constant(name, np.array(end, np.float32)) for name, end in (("least", 0), ("most", 6))]
        return nodes.add("Clip", [x, *ends])
    return nodes.add(_ACTIVATIONS[activation], [x])


_ACTIVATIONS = {"relu": "Relu", "hardswish": "HardSwish", "sigmoid": "Sigmoid", "tanh": "Tanh"}


def _window(nodes: NodeWriter, layer: ConvLayer | PoolLayer) -> dict[str, Any]:
    axes = layer.axes(nodes.given(layer))
    return {
        "kernel_shape": [axis.kernel for axis in axes],
        "strides": [axis.stride for axis in axes],
        "pads": [*(axis.before for axis in axes), *(axis.after for axis in axes)],
    }


def _conv(nodes: NodeWriter, layer: ConvLayer, weights: Mapping[str, Array]) -> str:
    kernel = nodes.constant("weights", file_weights(layer, weights["weights"]))
    inputs = [layer.inputs[0], kernel, nodes.constant("bias", weights["bias"])]
    groups = nodes.given(layer)[2] if layer.depthwise else 1
    window = _window(nodes, layer)
    output = nodes.add("Conv", inputs, group=groups, dilations=list(layer.dilation), **window)
    return _activated(nodes, output, layer.activation)


def _dense(nodes: NodeWriter, layer: DenseLayer, weights: Mapping[str, Array]) -> str:
    given = nodes.given(layer)
    x = nodes.add("Flatten", layer.inputs, axis=1) if len(given) == 3 else layer.inputs[0]
    matrix = nodes.constant("weights", file_matrix(given, weights["weights"]))
    output = nodes.add("Gemm", [x, matrix, nodes.constant("bias", weights["bias"])], transB=1)
    return _activated(nodes, output, layer.activation)


def _pool(nodes: NodeWriter, layer: PoolLayer, weights: Mapping[str, Array]) -> str:
    window = _window(nodes, layer)
    if layer.largest:
        return nodes.add("MaxPool", layer.inputs, dilations=list(layer.dilation), **window)
    return nodes.add("AveragePool", layer.inputs, **window)


def _mean(nodes: NodeWriter, layer: MeanLayer, weights: Mapping[str, Array]) -> str:
    if layer.axes == (0, 1):
        return nodes.add("Flatten", [nodes.add("GlobalAveragePool", layer.inputs)], axis=1)
    return nodes.add("ReduceMean", layer.inputs, axes=[2 + axis for axis in layer.axes], keepdims=1)


def _last(nodes: NodeWriter, layer: LastLayer, weights: Mapping[str, Array]) -> str:
    time = nodes.given(layer)[0]
    ends = {"starts": time - 1, "ends": time, "axes": 2}
    row = nodes.add("Slice", [layer.inputs[0], *(nodes.constant(n, np.array([i])) for n, i in ends.items())])
    return nodes.add("Flatten", [nodes.transpose(row, 0, 2, 3, 1)], axis=1)


def _add(nodes: NodeWriter, layer: AddLayer, weights: Mapping[str, Array]) -> str:
    return _activated(nodes, nodes.add("Add", _equal_rank(nodes, layer)), layer.activation)


def _mul(nodes: NodeWriter, layer: MulLayer, weights: Mapping[str, Array]) -> str:
    return nodes.add("Mul", _equal_rank(nodes, layer))


def _equal_rank(nodes: NodeWriter, layer: NetworkLayer) -> list[str]:
    """Both operands with equal rank."""
    shapes = nodes.network.given(layer)
    most = max(map(len, shapes))
    return [
        name if len(shape) == most else nodes.reshape(name, *shape, *[1] * (most - len(shape)))
        for name, shape in zip(layer.inputs, shapes, strict=True)
    ]


def _activation(nodes: NodeWriter, layer: ActivationLayer, weights: Mapping[str, Array]) -> str:
    return _activated(nodes, layer.inputs[0], layer.activation)


def _concat(nodes: NodeWriter, layer: ConcatLayer, weights: Mapping[str, Array]) -> str:
    return nodes.add("Concat", layer.inputs, axis=1)


def _gru(nodes: NodeWriter, layer: GruLayer, weights: Mapping[str, Array]) -> str:
    channels = nodes.given(layer)[2]
    kernel, recurrent, bias, more = (
        _gates(weights[name]) for name in ("kernel", "recurrent", "bias", "recurrent_bias")
    )
    rows = nodes.reshape(nodes.transpose(layer.inputs[0], 2, 0, 1, 3), -1, channels)
    both = np.concatenate([bias, more])
    constants = {"kernel": kernel, "recurrent": recurrent, "bias": both}
    inputs = [rows, *(nodes.constant(name, array[None]) for name, array in constants.items())]
    output = nodes.add("GRU", inputs, hidden_size=layer.units, linear_before_reset=1)
    return nodes.transpose(output, 2, 3, 0, 1)


def _gates(array: Array) -> Array:
    """GRU gates reordered from PyTorch (reset, update, new) to ONNX (update, reset, new)."""
    reset, update, new = np.split(array, 3)
    return np.concatenate([update, reset, new])


def _norm(nodes: NodeWriter, layer: NormLayer, weights: Mapping[str, Array]) -> str:
    constants = [nodes.constant(name, weights[name]) for name in ("scale", "bias")]
    if len(nodes.given(layer)) != 3:
        return nodes.add("LayerNormalization", [layer.inputs[0], *constants], axis=-1, epsilon=EPSILON)
    last = nodes.transpose(layer.inputs[0], 0, 2, 3, 1)
    return nodes.transpose(nodes.add("LayerNormalization", [last, *constants], axis=-1, epsilon=EPSILON), 0, 3, 1, 2)


def _attention(nodes: NodeWriter, layer: AttentionLayer, weights: Mapping[str, Array]) -> str:
    time, _, channels = nodes.given(layer)
    weights = scaled_query(layer, weights)
    rows = nodes.reshape(nodes.transpose(layer.inputs[0], 0, 2, 3, 1), time, channels)

    def heads(name: str, *order: int) -> str:
        output = nodes.linear(rows, name, weights)
        return nodes.transpose(nodes.reshape(output, time, layer.heads, layer.size), *order)

    scores = nodes.add("MatMul", [heads("query", 0, 2, 1, 3), heads("key", 0, 2, 3, 1)])
    mixed = nodes.add("MatMul", [nodes.add("Softmax", [scores], axis=-1), heads("value", 0, 2, 1, 3)])
    joined = nodes.reshape(nodes.transpose(mixed, 0, 2, 1, 3), time, layer.heads * layer.size)
    output = nodes.linear(joined, "out", weights)
    return nodes.transpose(nodes.reshape(output, time, 1, channels), 0, 3, 1, 2)


NODES: Mapping[type[NetworkLayer], Callable[[NodeWriter, Any, Mapping[str, Array]], str]] = {
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
"""Functions by kind of layer that add its nodes and return the name of its output."""
