"""Regions of images against ONNX Runtime: no test that comes with ONNX has MaxRoiPool."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

from mote import frontends


def test_largest_elements_of_regions() -> None:
    h, real = onnx.helper, onnx.TensorProto.FLOAT
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 3, 9, 7)).astype(np.float32)
    corners = np.sort(rng.uniform(0, 12, (8, 2, 2)), axis=1).reshape(8, 4)
    regions = np.concatenate([rng.integers(0, 2, (8, 1)), corners], 1).astype(np.float32)
    node = h.make_node("MaxRoiPool", ["x", "regions"], ["y"], pooled_shape=[3, 2], spatial_scale=0.7)
    inputs = [h.make_tensor_value_info(name, real, a.shape) for name, a in (("x", x), ("regions", regions))]
    graph = h.make_graph([node], "regions", inputs, [h.make_tensor_value_info("y", real, None)])
    data = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8).SerializeToString()
    (want,) = ort.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, {"x": x, "regions": regions})
    g = frontends.parse(frontends.source_of(data, edges="model"))
    found = g.evaluate(dict(zip(g.inputs, (x, regions), strict=True)))[g.outputs[0]]
    np.testing.assert_array_equal(found, want)
