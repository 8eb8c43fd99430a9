"""Writes `digits.onnx`: the network of `digits_float.tflite`, as PyTorch's exporter would name and lay it out.

    PYTHONPATH=src python models/write_onnx.py

Needs onnx.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import mote
from mote.ir.graph import Graph, Op
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

MODELS = Path(__file__).parent
OPSET, IR_VERSION = 21, 10


def main() -> None:
    (MODELS / "digits.onnx").write_bytes(digits().SerializeToString())


def digits() -> Any:
    """The ONNX model: channels first, the input 1x1x8x8."""
    graph = mote.load(MODELS / "digits_float.tflite")
    nodes: list[Any] = []
    weights: list[Any] = []
    value = "input"
    for op in graph.ops:
        value = _add(op, graph, value, nodes, weights)
    inputs = [helper.make_tensor_value_info("input", TensorProto.FLOAT, (1, 1, 8, 8))]
    outputs = [helper.make_tensor_value_info(value, TensorProto.FLOAT, (1, 10))]
    model = helper.make_model(
        helper.make_graph(nodes, "digits", inputs, outputs, weights),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="mote",
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def _add(op: Op, graph: Graph, value: str, nodes: list[Any], weights: list[Any]) -> str:
    """Append the nodes of an operator that reads `value`; return the name of its result."""
    constants = [graph.tensors[i].data for i in op.inputs[1:]]
    if isinstance(op, Conv2D | DepthwiseConv2D):
        order = (3, 0, 1, 2) if isinstance(op, DepthwiseConv2D) else (0, 3, 1, 2)
        constants[0] = constants[0].transpose(order)
    names = [f"{op.name}.{part}" for part in ("weight", "bias")[: len(constants)]]
    weights += [numpy_helper.from_array(np.ascontiguousarray(x), n) for x, n in zip(constants, names, strict=True)]

    def node(kind: str, inputs: list[str], **attributes: Any) -> str:
        name = f"/{op.name}/{kind}_output_0"
        nodes.append(helper.make_node(kind, inputs, [name], f"/{op.name}/{kind}", **attributes))
        return name

    if isinstance(op, Conv2D | DepthwiseConv2D):
        axes = (op.vertical, op.horizontal)
        convolved = node(
            "Conv",
            [value, *names],
            kernel_shape=[a.kernel for a in axes],
            strides=[a.stride for a in axes],
            pads=[a.before for a in axes] + [a.after for a in axes],
            group=constants[0].shape[0] if isinstance(op, DepthwiseConv2D) else 1,
        )
        return node("Relu", [convolved])
    if isinstance(op, FullyConnected):
        return node("Gemm", [value, *names], transB=1)
    if op.kind == "MEAN":
        return node("Flatten", [node("GlobalAveragePool", [value])])
    if op.kind == "SOFTMAX":
        return node("Softmax", [value], axis=1)
    raise ValueError(f"{op.kind} is not in this network")


if __name__ == "__main__":
    main()
