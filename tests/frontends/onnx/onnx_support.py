"""Models of ONNX that are read and computed, and ONNX Runtime as the judge."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnxruntime

from mote.frontends import onnx
from mote.frontends.source import Format, Source
from mote.graph import Graph, Tensor
from mote.graph.tensor import Array, Shape


def source_of(data: bytes, **more: object) -> Source:
    return Source("model.onnx", Format.ONNX, data, **more)


def graph_of(data: bytes, **more: object) -> Graph:
    return onnx.read(source_of(data, **more)).graph()


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
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    pairs = zip(outputs_of(graph, {"x": x}), judged(data, {"x": x}), strict=True)
    return max(difference(got, want) for got, want in pairs)


def moved(graph: Graph) -> list[str]:
    """The layers that only change the order of elements."""
    return [op.name for op in graph.ops if op.kind == "TRANSPOSE"]
