"""ONNX Runtime for tests: single operators, and quantized models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mote.frontends.onnx.saturation import saturating
from mote.ir.graph.tensor import Array

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")


def session(model: Any) -> Any:
    """As users have it, but for threads."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def judge_of(model: bytes) -> str:
    """How the name of the reference begins that `verify` compares a model with on this machine."""
    saturates = saturating(onnx, onnx.load_from_string(model))
    return "numpy (ONNX Runtime" if saturates else "ONNX Runtime"


class Operators:
    """Runs operators of com.microsoft."""

    def run(self, kind: str, operands: Sequence[Array], computed: int, **attributes: Any) -> Array:
        """The output of one whose operands are (value, scale, zero point): of the first ones values are inputs of the
        model, all others are constants. The output has the first value's type."""
        helper, inputs, initializers, names = onnx.helper, [], [], []
        for i, operand in enumerate(operands):
            name = f"v{i}"
            names.append(name)
            if i % 3 == 0 and i < 3 * computed:
                kind_of = helper.np_dtype_to_tensor_dtype(operand.dtype)
                inputs.append(helper.make_tensor_value_info(name, kind_of, operand.shape))
            else:
                initializers.append(onnx.numpy_helper.from_array(np.asarray(operand), name))
        node = helper.make_node(kind, names, ["y"], domain="com.microsoft", **attributes)
        output = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(operands[0].dtype), None)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        graph = helper.make_graph([node], "one", inputs, [output], initializers)
        made = session(helper.make_model(graph, opset_imports=opsets, ir_version=9))
        (found,) = made.run(None, {f"v{3 * i}": operands[3 * i] for i in range(computed)})
        return np.asarray(found)


TYPES = {"uint8": np.uint8, "int8": np.int8, "int16": np.int16, "uint16": np.uint16, "int32": np.int32}
OPSETS = (("", 21), ("com.microsoft", 1))


class Net:
    """An ONNX model as it grows: methods add a node and return the name of what it makes."""

    def __init__(self, seed: int = 0, opset: int = 21) -> None:
        self.rng = np.random.default_rng(seed)
        self.opset = opset
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.initializers: list[Any] = []

    def _name(self, stem: str) -> str:
        return f"{stem}_{len(self.nodes)}_{len(self.initializers)}_{len(self.inputs)}"

    def input(self, *shape: int, dtype: str = "float32") -> str:
        name = self._name("x")
        kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(onnx.helper.make_tensor_value_info(name, kind, shape))
        return name

    def const(self, value: Any) -> str:
        name = self._name("c")
        self.initializers.append(onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        name = self._name(kind.lower())
        self.nodes.append(onnx.helper.make_node(kind, list(inputs), [name], name=name, domain=domain, **attributes))
        return name

    def output(self, name: str, dtype: str = "float32") -> None:
        kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.outputs.append(onnx.helper.make_tensor_value_info(name, kind, None))

    def scaled(self, scale: Any, zero: Any, dtype: str) -> tuple[str, str]:
        """A scale and a zero point."""
        scales = np.asarray(scale, np.float32)
        return self.const(scales), self.const(np.broadcast_to(np.asarray(zero, TYPES[dtype]), scales.shape).copy())

    def quantized(self, x: str, scale: float, zero: int, dtype: str) -> str:
        return self.op("QuantizeLinear", x, *self.scaled(scale, zero, dtype))

    def real(self, x: str, scale: float, zero: int, dtype: str) -> str:
        return self.op("DequantizeLinear", x, *self.scaled(scale, zero, dtype))

    def fake(self, x: str, scale: float, zero: int, dtype: str) -> str:
        """Quantized and back."""
        return self.real(self.quantized(x, scale, zero, dtype), scale, zero, dtype)

    def weights(self, shape: tuple[int, ...], scale: Any, zero: Any = 0, dtype: str = "int8", axis: int = 0) -> str:
        """Random constant codes, and the numbers that they stand for."""
        low, high = (-127, 128) if dtype == "int8" else (0, 256) if dtype == "uint8" else (-3000, 3000)
        codes = self.const(self.rng.integers(low, high, shape).astype(TYPES[dtype]))
        more = {"axis": axis} if np.size(scale) > 1 else {}
        return self.op("DequantizeLinear", codes, *self.scaled(scale, zero, dtype), **more)

    def model(self) -> bytes:
        graph = onnx.helper.make_graph(self.nodes, "net", self.inputs, self.outputs, self.initializers)
        opsets = [onnx.helper.make_opsetid("", self.opset), onnx.helper.make_opsetid("com.microsoft", 1)]
        return bytes(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString())
