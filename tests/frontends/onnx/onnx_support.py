"""Models of ONNX that are read and computed, and ONNX Runtime as the judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from mote.frontends.onnx import read
from mote.frontends.onnx.node import MICROSOFT
from mote.frontends.source import Format, Source
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.tensor import Array, Shape


def source_of(data: bytes, **more: object) -> Source:
    return Source("model.onnx", Format.ONNX, data, **more)


def graph_of(data: bytes, **more: object) -> Graph:
    return read(source_of(data, **more)).graph()


def judged(data: bytes, inputs: Mapping[str, Array]) -> list[Array]:
    """What ONNX Runtime gives."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return [np.asarray(value) for value in session.run(None, dict(inputs))]


def stored(t: Tensor, value: Array) -> Array:
    """The model's value as it lies in a tensor."""
    return value.reshape(t.shape) if t.arrangement is None else t.arrangement.stored(value, t.shape)


def outputs_of(graph: Graph, inputs: Mapping[str, Array]) -> list[Array]:
    """What Mote's reference computes, as the model counts it."""
    given = {i: stored(graph.tensors[i], inputs[graph.tensors[i].name]) for i in graph.inputs}
    values = graph.evaluate(given)
    found = []
    for i in graph.outputs:
        t = graph.tensors[i]
        value = graph.tensors[i].data if values.get(i) is None else values[i]
        shape = t.shape if t.arrangement is None else (t.shape[0], t.shape[-1], *t.shape[1:-1])
        found.append(value if t.arrangement is None else t.arrangement.logical(value, shape))
    return found


def difference(got: Array, want: Array) -> float:
    """The largest one, relative to what is largest."""
    assert got.size == want.size
    if want.dtype.kind != "f":
        return float(np.any(got.reshape(want.shape) != want))
    return float(np.abs(got.reshape(want.shape) - want).max(initial=0) / max(np.abs(want).max(initial=0), 1e-3))


def worst(graph: Graph, data: bytes, shape: Shape) -> float:
    """How far the outputs are from those of ONNX Runtime, for an input `x` of that shape."""
    rng, dtype = np.random.default_rng(3), graph.tensors[graph.inputs[0]].dtype.numpy
    x = rng.standard_normal(shape).astype(dtype) if dtype.kind == "f" else rng.integers(0, 9, shape, dtype)
    pairs = zip(outputs_of(graph, {"x": x}), judged(data, {"x": x}), strict=True)
    return max(difference(got, want) for got, want in pairs)


def moved(graph: Graph) -> list[str]:
    """The layers that only change the order of elements."""
    return [op.name for op in graph.ops if op.kind == "TRANSPOSE"]


def model_of(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, Sequence[int | str | None]],
    outputs: Sequence[str],
    constants: Mapping[str, Array] | None = None,
    *,
    opset: int = 17,
    more: Sequence[tuple[str, int]] = ((MICROSOFT, 1),),
    functions: Sequence[FunctionProto] = (),
    element_type: int = TensorProto.FLOAT,
) -> ModelProto:
    """A model of some nodes; all inputs have one type, and outputs any that follows."""
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(name, element_type, shape) for name, shape in inputs.items()],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()],
    )
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(*pair) for pair in more)]
    return helper.make_model(graph, opset_imports=imports, functions=functions, ir_version=10)


def random_inputs(graph: Graph, model: ModelProto, seed: int = 3) -> dict[str, Array]:
    """Numbers for the inputs of a model, in its own order."""
    rng = np.random.default_rng(seed)
    names = [graph.tensors[i].name for i in graph.inputs]
    shapes = {info.name: [d.dim_value or 1 for d in info.type.tensor_type.shape.dim] for info in model.graph.input}
    return {name: rng.standard_normal(shapes[name]).astype(np.float32) for name in names}


def agrees(model: ModelProto, tolerance: float = 2e-5) -> Graph:
    """Read a model; what it computes must be what ONNX Runtime does."""
    data = model.SerializeToString()
    graph = graph_of(data)
    inputs = random_inputs(graph, model)
    for got, want in zip(outputs_of(graph, inputs), judged(data, inputs), strict=True):
        assert difference(got, want) < tolerance
    return graph
