"""ONNX Runtime as the reference of a model: every named value."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from mote.base.extras import installed, quiet, refusals, require, version_of
from mote.base.text import printable
from mote.frontends.onnx.classes import Classes, classes_of
from mote.frontends.onnx.file.container import calls_of, domain_of
from mote.frontends.onnx.file.order import in_order
from mote.frontends.onnx.inputs import inputs_of
from mote.frontends.onnx.ops.suppression import PADDING
from mote.frontends.onnx.qonnx import dialect
from mote.frontends.onnx.qonnx.fused import unfused
from mote.frontends.onnx.saturation import saturating
from mote.frontends.source import Source
from mote.ir.graph.tensor import Array

QUANTIZING = {"QuantizeLinear", "DequantizeLinear"}
"""Nodes that ONNX Runtime fuses with others into integer kernels."""
SIGNED = ("session.qdqisint8allowed", "1")
"""Option that keeps int8 codes as they are, as on Arm; on x86-64 ONNX Runtime would convert some to uint8, and compute
others in float."""
INT8 = 3
"""Number of int8 in TensorProto."""
SATURATES = "saturates 16-bit sums of uint8 x int8 products on this processor"
"""Reason why ONNX Runtime cannot verify a model."""
ERRORS_ONLY = 3


class SessionRun(Protocol):
    def __call__(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]: ...


def reference(source: Source, names: Collection[str]) -> tuple[str, SessionRun] | str:
    """The name of the runtime, and a function from inputs by name to these values by name: ONNX Runtime, else the
    Python reference of the `onnx` package, which is slow and lacks Microsoft's operators. Where ONNX Runtime would
    saturate, only the reason."""
    onnx = require("onnx", extra="onnx", what="ONNX models")
    with refusals("onnx"):
        model = onnx.load_model_from_string(source.data)
        if source.folder is not None:
            onnx.external_data_helper.load_external_data_for_model(model, str(source.folder))
    _fix(onnx, model.graph, source)
    unfused(model)
    written = f" with {name}'s quantizers written out" if (name := dialect.written_out(model)) else ""
    _pad_suppressions(onnx, model.graph)
    _widen(onnx, model.graph)
    _expose(onnx, model, names)
    classes = classes_of(onnx, model)
    types = {i.name: onnx.helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type) for i in model.graph.input}
    if installed("onnxruntime"):
        name = f"ONNX Runtime {version_of('onnxruntime')}".strip() + written
        return f"{name} {SATURATES}" if saturating(onnx, model) else (name, _ort(model, types, classes))
    return f"onnx.reference {version_of('onnx')}".strip() + written, _python(model, types, classes)


def _fix(onnx: Any, graph: Any, source: Source) -> None:
    """Turn constant inputs into initializers."""
    fixed = {constant.name: constant for constant in source.constants}
    there = {proto.name for proto in graph.initializer}
    infos = [info for info in graph.input if info.name not in there]
    for given in inputs_of(infos, dict(source.shapes), []) if fixed else []:
        if (constant := fixed.get(printable(given.name))) is not None:
            dtype = onnx.helper.tensor_dtype_to_np_dtype(given.element_type)
            value = constant.array(given.shape, given.dtype).astype(dtype)
            graph.initializer.append(onnx.numpy_helper.from_array(value, given.name))
            graph.input.remove(next(info for info in graph.input if info.name == given.name))


def _pad_suppressions(onnx: Any, graph: Any) -> None:
    """Let rows of -1 follow the results of NonMaxSuppression, up to their largest number, as Mote has them."""
    nodes = []
    for node in graph.node:
        nodes.append(node)
        if (node.domain, node.op_type) == ("", "NonMaxSuppression") and len(node.input) > 2:
            nodes += _padding(onnx, node)
    del graph.node[:]
    graph.node.extend(nodes)


def _padding(onnx: Any, node: Any) -> Sequence[Any]:
    """The nodes that pad the results of one, and have their name."""
    name, helper = node.output[0], onnx.helper
    made: list[Any] = []

    def op(kind: str, *inputs: str, **attributes: Any) -> str:
        made.append(helper.make_node(kind, list(inputs), [f"{name} (padding {len(made)})"], **attributes))
        return str(made[-1].output[0])

    def integers(*values: int) -> str:
        return op("Constant", value=onnx.numpy_helper.from_array(np.array(values, np.int64)))

    sizes = op("Shape", node.input[1])
    entries, classes, boxes = (op("Gather", sizes, integers(axis)) for axis in range(3))
    most = op("Reshape", node.input[2], integers(1))
    each = op("Where", op("Less", most, boxes), most, boxes)
    rows = op("Mul", op("Mul", entries, classes), each)
    blank = onnx.numpy_helper.from_array(np.array([PADDING], np.int64))
    padding = op("ConstantOfShape", op("Concat", rows, integers(3), axis=0), value=blank)
    node.output[0] = f"{name} (results)"
    op("Slice", op("Concat", node.output[0], padding, axis=0), integers(0), rows, integers(0))
    made[-1].output[0] = name
    return made


def _widen(onnx: Any, graph: Any) -> None:
    """Replace float16 by float32, the compute type of Mote; casts to float16 round first."""
    halves = {onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}
    for info in (*graph.input, *graph.output, *graph.value_info):
        if info.type.tensor_type.elem_type in halves:
            info.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    tensors = [*graph.initializer, *(a.t for node in graph.node for a in node.attribute if a.HasField("t"))]
    for t in (t for t in tensors if t.data_type in halves):
        t.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(t).astype(np.float32), t.name))
    nodes = []
    for node in graph.node:
        nodes.append(node)
        for a in node.attribute:
            if a.HasField("g"):
                _widen(onnx, a.g)
            if node.op_type == "Cast" and a.name == "to" and a.i in halves:
                rounded = f"{node.output[0]} (rounded)"
                nodes.append(onnx.helper.make_node("Cast", [rounded], list(node.output), to=onnx.TensorProto.FLOAT))
                node.output[0] = rounded
    del graph.node[:]
    graph.node.extend(nodes)


def _expose(onnx: Any, model: Any, names: Collection[str]) -> None:
    """Turn values into outputs as well. Only the requested ones: what lies between two of them may be fused."""
    there = {output.name for output in model.graph.output}
    made = [name for node in model.graph.node for name in node.output if name in names]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in dict.fromkeys(made) if name not in there)


def _signed(model: Any) -> bool:
    """Whether values are quantized to int8."""
    types = {proto.name: proto.data_type for proto in model.graph.initializer}
    zeros = (node.input[2] for node in model.graph.node if node.op_type == "QuantizeLinear" and len(node.input) > 2)
    return any(types.get(name) == INT8 for name in zeros)


def _ort(model: Any, types: Mapping[str, np.dtype[Any]], classes: Classes) -> SessionRun:
    ort = require("onnxruntime", extra="onnx", what="verifying ONNX models")
    with refusals("ONNX Runtime"):
        session = _session(ort, model)
    wanted = [output.name for output in session.get_outputs()]
    taken = {given.name for given in session.get_inputs()}

    def run(inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        with refusals("ONNX Runtime"):
            given = {name: _typed(value, types[name]) for name, value in inputs.items() if name in taken}
            return dict(zip(wanted, map(classes.numbers, session.run(wanted, given)), strict=True))

    return run


def _session(ort: Any, model: Any) -> Any:
    """A session with options that make results reproducible."""
    joins = any(node.op_type in QUANTIZING for node in model.graph.node)
    levels = ort.GraphOptimizationLevel

    options = ort.SessionOptions()
    options.log_severity_level = ERRORS_ONLY
    options.intra_op_num_threads = 1
    if _signed(model):
        options.add_session_config_entry(*SIGNED)
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if joins else levels.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _python(model: Any, types: Mapping[str, np.dtype[Any]], classes: Classes) -> SessionRun:
    _sort(model)
    with refusals("onnx.reference"), quiet():
        evaluator = require("onnx.reference", extra="onnx").ReferenceEvaluator(model)

    def run(inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        with refusals("onnx.reference"), quiet():
            outputs = evaluator.run(None, {name: _typed(value, types[name]) for name, value in inputs.items()})
        return dict(zip(evaluator.output_names, map(classes.numbers, outputs), strict=True))

    return run


def _sort(model: Any) -> None:
    """Put nodes in order: `onnx.reference` takes them as they come."""
    versions = {domain_of(entry.domain): entry.version for entry in model.opset_import}
    nodes = [call.proto for call in in_order(calls_of(model.graph.node, versions), ())]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _typed(value: Array, dtype: np.dtype[Any]) -> Array:
    """An input in the file's type: uint8 where Mote has int8."""
    if dtype == np.uint8 and value.dtype == np.int8:
        return value.view(np.uint8) ^ np.uint8(128)
    return value.astype(dtype, copy=False)
