"""Detection of saturating uint8 x int8 products in the installed ONNX Runtime. Its kernels for x86-64 without VNNI add
pairs of such products in 16 bits, which saturates: 64 products 255 x 127 make 1,048,544 instead of 2,072,640. It
depends on the processor and on the build, and is found by a probe."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from mote.base.extras import require
from mote.frontends.onnx.node import MICROSOFT
from mote.ir.graph.tensor import Array

DEPTH, CHANNELS = 64, 16
"""Depth and number of the sums: enough for vector kernels."""
STEP = 1 << 14
"""Scale of the 8-bit results, whose code is then 126."""
OPSETS = (("", 17), (MICROSOFT, 1))
JOINED = {"Conv": ("QLinearConv",), "MatMul": ("QLinearMatMul", "MatMulIntegerToFloat"), "Gemm": ("QGemm",)}
"""Operators between DequantizeLinear and QuantizeLinear, and the kernels that ONNX Runtime fuses them into."""
DEQUANTIZING = "DequantizeLinear"
DYNAMIC = ("DynamicQuantizeLinear", "DynamicQuantizeMatMul")
"""Nodes that quantize to uint8, as QuantizeLinear does without a zero point."""


def saturating(onnx: Any, model: Any) -> bool:
    """Whether the installed ONNX Runtime may saturate sums of this model."""
    nodes = list(_nodes(model.graph))
    kinds = {node.op_type for node in nodes} & {*PROBES}
    if any(node.op_type == DEQUANTIZING for node in nodes):
        kinds |= {kind for node in nodes for kind in JOINED.get(node.op_type, ())}
    return bool(kinds) and _mixed(onnx, model, nodes) and any(map(saturates, sorted(kinds)))


def _nodes(graph: Any) -> Iterator[Any]:
    """The nodes of a graph and of the bodies of its control flow."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g)


def _mixed(onnx: Any, model: Any, nodes: list[Any]) -> bool:
    """Whether a model has both uint8 and int8 values."""
    types = {t.data_type for t in model.graph.initializer}
    types |= {i.type.tensor_type.elem_type for i in model.graph.input}
    types |= {a.t.data_type for node in nodes for a in node.attribute if a.HasField("t")}
    untyped = (node.op_type == "QuantizeLinear" and len(node.input) < 3 for node in nodes)
    if any(untyped) or any(node.op_type in DYNAMIC for node in nodes):
        types.add(onnx.TensorProto.UINT8)
    return types >= {onnx.TensorProto.UINT8, onnx.TensorProto.INT8}


@cache
def saturates(kind: str) -> bool:
    """Whether the kernel of a node type saturates: it runs once, on the largest uint8 and int8 codes, either of them as
    activations. A missing kernel does not."""
    return any(_wrong(kind, *types) for types in (("uint8", "int8"), ("int8", "uint8")))


def _wrong(kind: str, activations: str, weights: str) -> bool:
    onnx, ort = (require(package, extra="onnx", what="verifying ONNX models") for package in ("onnx", "onnxruntime"))
    helper = onnx.helper
    names, domain, image = PROBES[kind]
    shapes = ((1, DEPTH, 1, 1), (CHANNELS, DEPTH, 1, 1)) if image else ((1, DEPTH), (DEPTH, CHANNELS))
    x, w = (np.full(shape, np.iinfo(t).max, t) for shape, t in zip(shapes, (activations, weights), strict=True))
    constants = {
        "one": np.float32(1),
        "step": np.float32(STEP),
        "zero x": np.zeros((), activations),
        "zero w": np.zeros((), weights),
    }
    given: Array = x.astype(np.float32) if kind == "DynamicQuantizeMatMul" else x
    graph = helper.make_graph(
        [helper.make_node(kind, names, ["y"], domain=domain)],
        "probe",
        [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(given.dtype), given.shape)],
        [helper.make_empty_tensor_value_info("y")],
        [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in (constants | {"w": w}).items() if k in names],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*pair) for pair in OPSETS], ir_version=8)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        (result,) = session.run(None, {"x": given})
    except Exception:  # it has no such kernel
        return False
    step = STEP if "step" in names else 1
    exact = DEPTH * int(x.flat[0]) * int(w.flat[0])
    return bool(np.any(np.abs(result.astype(np.float64) * step - exact) > 0.1 * exact))


PROBES: dict[str, tuple[list[str], str, bool]] = {
    "MatMulInteger": (["x", "w"], "", False),
    "ConvInteger": (["x", "w"], "", True),
    "QLinearMatMul": (["x", "one", "zero x", "w", "one", "zero w", "step", "zero x"], "", False),
    "QLinearConv": (["x", "one", "zero x", "w", "one", "zero w", "step", "zero x"], "", True),
    "QGemm": (["x", "one", "zero x", "w", "one", "zero w"], MICROSOFT, False),
    "MatMulIntegerToFloat": (["x", "w", "one", "one", "zero x", "zero w"], MICROSOFT, False),
    "DynamicQuantizeMatMul": (["x", "w", "one", "zero w"], MICROSOFT, False),
}
"""Node types whose kernels multiply 8-bit codes: their inputs in a probe, their domain, whether they take images."""
