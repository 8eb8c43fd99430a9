"""ONNX Runtime's static quantizer on the network of a float graph, as an ONNX model: what Mote's is compared with. It
is used as it is recommended for integers everywhere: QDQ, a scale for each channel of weights, usual ranges."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import GraphOptimizationLevel, InferenceSession, SessionOptions
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from mote.frontends.onnx.saturation import saturates
from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation


def in_float() -> bool:
    """Whether ONNX Runtime's integers are no fair comparison on this processor: it makes uint8 x int8 products of int8
    models too, and saturates sums of them."""
    return saturates("QLinearConv")


@dataclass(frozen=True, eq=False)
class OnnxModel:
    """An ONNX model with one input and one output, of which Mote's graph has images with channels last."""

    data: bytes
    images: bool

    def run(self, samples: Array) -> Array:
        """What ONNX Runtime answers to each sample. Where its kernels for integers saturate, it computes what lies
        between DequantizeLinear and QuantizeLinear in float."""
        options = SessionOptions()
        if in_float():
            options.graph_optimization_level = GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        session = InferenceSession(self.data, options, providers=["CPUExecutionProvider"])
        name = session.get_inputs()[0].name
        return np.concatenate([session.run(None, {name: x})[0] for x in self._given(samples)])

    def quantized(self, samples: Array) -> OnnxModel:
        """By ONNX Runtime's static quantizer: QDQ, int8, a scale for each channel of weights."""
        with tempfile.TemporaryDirectory() as folder:
            before, ready, after = (str(Path(folder, f"{name}.onnx")) for name in ("before", "ready", "after"))
            Path(before).write_bytes(self.data)
            logging.disable(logging.WARNING)
            quant_pre_process(before, ready, skip_symbolic_shape=True)
            name = onnx.load(ready).graph.input[0].name
            reader = _Reader(iter([{name: x} for x in self._given(samples)]))
            quantize_static(
                ready,
                after,
                reader,
                quant_format=QuantFormat.QDQ,
                per_channel=True,
                activation_type=QuantType.QInt8,
                weight_type=QuantType.QInt8,
            )
            logging.disable(logging.NOTSET)
            return OnnxModel(Path(after).read_bytes(), self.images)

    def _given(self, samples: Array) -> Iterator[Array]:
        for sample in samples:
            x = sample[None].astype(np.float32)
            yield x.transpose(0, 3, 1, 2) if self.images and x.ndim == 4 else x


@dataclass
class _Reader(CalibrationDataReader):  # type: ignore[misc]
    """Calibration data as that quantizer takes it."""

    samples: Iterator[dict[str, Array]]

    def get_next(self) -> dict[str, Array] | None:
        return next(self.samples, None)


def onnx_twin(graph: Graph) -> OnnxModel:
    """The network of a float graph in normal form as an ONNX model: images have their channels first there, as ONNX
    Runtime's quantizer expects them. Networks of convolutions, sums, pools and fully connected layers only."""
    twin = _Twin(graph)
    for op in graph.ops:
        twin.add(op)
    x, y = graph.tensors[graph.inputs[0]], graph.tensors[graph.outputs[0]]
    made = helper.make_graph(
        twin.nodes,
        "twin",
        [helper.make_tensor_value_info(_name(x.id), TensorProto.FLOAT, _first(x.shape))],
        [helper.make_tensor_value_info(_name(y.id), TensorProto.FLOAT, y.shape)],
        twin.constants,
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    return OnnxModel(model.SerializeToString(), len(x.shape) == 4)


def _name(tensor: int) -> str:
    """Of a tensor of the graph; of its flat form, where the number is negative."""
    return f"t{tensor}" if tensor >= 0 else f"t{-tensor - 2}_flat"


def _first(shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with channels first."""
    return (shape[0], shape[3], shape[1], shape[2]) if len(shape) == 4 else shape


@dataclass
class _Twin:
    """An ONNX model as it grows."""

    graph: Graph
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def add(self, op: Op) -> None:
        make = {
            "CONV_2D": self._conv,
            "DEPTHWISE_CONV_2D": self._depthwise,
            "FULLY_CONNECTED": self._dense,
            "ADD": lambda op: self._node("Add", [_name(t) for t in op.inputs], op),
            "AVERAGE_POOL_2D": lambda op: self._pool("AveragePool", op),
            "MAX_POOL_2D": lambda op: self._pool("MaxPool", op),
            "MEAN": self._mean,
            "RESHAPE": self._reshape,
            "SOFTMAX": self._softmax,
            "LOGISTIC": lambda op: self._node("Sigmoid", [_name(op.inputs[0])], op),
        }
        make[op.kind](op)

    def _node(self, kind: str, inputs: list[str], op: Op, **attributes: Any) -> None:
        """An operator, and the activation behind it."""
        activation = getattr(op, "activation", Activation.NONE)
        y = _name(op.outputs[0])
        if activation == Activation.NONE:
            self.nodes.append(helper.make_node(kind, inputs, [y], **attributes))
            return
        between = f"{y}_sum"
        self.nodes.append(helper.make_node(kind, inputs, [between], **attributes))
        if activation == Activation.RELU:
            self.nodes.append(helper.make_node("Relu", [between], [y]))
        else:
            bounds = [self._constant(np.float32(bound), f"{y}_{n}") for n, bound in enumerate(activation.bounds)]
            self.nodes.append(helper.make_node("Clip", [between, *bounds], [y]))

    def _constant(self, value: Any, name: str) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def _data(self, op: Op, position: int) -> Array:
        data = op.input(self.graph, position).data
        assert data is not None
        return data

    def _layer(self, kind: str, op: Op, weights: Array, **attributes: Any) -> None:
        inputs = [_name(op.inputs[0]), self._constant(weights, f"{_name(op.outputs[0])}_weights")]
        if op.tensor(self.graph, 2) is not None:
            inputs.append(self._constant(self._data(op, 2).reshape(-1), f"{_name(op.outputs[0])}_bias"))
        self._node(kind, inputs, op, **attributes)

    def _conv(self, op: Any) -> None:
        self._layer("Conv", op, self._data(op, 1).transpose(0, 3, 1, 2), **_window(op))

    def _depthwise(self, op: Any) -> None:
        groups = op.input(self.graph).channels
        self._layer("Conv", op, self._data(op, 1).transpose(3, 0, 1, 2), group=groups, **_window(op))

    def _dense(self, op: Op) -> None:
        """Of a vector; an image that is read has one pixel."""
        x, y = op.input(self.graph), op.output(self.graph)
        assert x.size == x.channels and y.size == y.channels
        flat = op if len(x.shape) == 2 else op.with_(inputs=(-x.id - 2, *op.inputs[1:]))
        if flat is not op:
            self.nodes.append(helper.make_node("Flatten", [_name(x.id)], [_name(flat.inputs[0])]))
        if len(y.shape) == 2:
            self._layer("Gemm", flat, self._data(op, 1), transB=1)
            return
        self._layer("Gemm", flat.with_(outputs=(-y.id - 2,)), self._data(op, 1), transB=1)
        shape = self._constant(np.array(_first(y.shape), np.int64), f"{_name(y.id)}_shape")
        self.nodes.append(helper.make_node("Reshape", [_name(-y.id - 2), shape], [_name(y.id)]))

    def _pool(self, kind: str, op: Any) -> None:
        window = {name: value for name, value in _window(op).items() if name != "dilations"}
        self._node(kind, [_name(op.inputs[0])], op, **window)

    def _softmax(self, op: Op) -> None:
        axis = 1 if len(op.output(self.graph).shape) == 4 else -1
        self._node("Softmax", [_name(op.inputs[0])], op, axis=axis)

    def _mean(self, op: Any) -> None:
        axes = [{0: 0, 1: 2, 2: 3, 3: 1}[axis] for axis in op.axes]
        self._node("ReduceMean", [_name(op.inputs[0])], op, axes=sorted(axes), keepdims=int(op.keep_dims))

    def _reshape(self, op: Op) -> None:
        """A flat image has its channels last, as the weights that read it."""
        x, y = op.input(self.graph), op.output(self.graph)
        given = _name(x.id)
        if len(x.shape) == 4 and max(x.shape[1:3]) > 1:
            given = f"{_name(y.id)}_turned"
            self.nodes.append(helper.make_node("Transpose", [_name(x.id)], [given], perm=[0, 2, 3, 1]))
        shape = self._constant(np.array(y.shape, np.int64), f"{_name(y.id)}_shape")
        self.nodes.append(helper.make_node("Reshape", [given, shape], [_name(y.id)]))


def _window(op: Any) -> Mapping[str, list[int]]:
    axes = (op.vertical, op.horizontal)
    return {
        "kernel_shape": [a.kernel for a in axes],
        "strides": [a.stride for a in axes],
        "dilations": [a.dilation for a in axes],
        "pads": [a.before for a in axes] + [a.after for a in axes],
    }
