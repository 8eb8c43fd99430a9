"""What the optimizer of ONNX Runtime writes: operators of com.microsoft."""

from __future__ import annotations

from pathlib import Path

import pytest

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

from onnx import load

from mote.base.errors import UnsupportedError
from mote.frontends.onnx.node import MICROSOFT
from tests.frontends.onnx.fused_models import ATTENTION, CASES, SEQUENCE, one
from tests.frontends.onnx.onnx_networks import NETWORKS, exported
from tests.frontends.onnx.onnx_support import agrees, graph_of, moved, worst


@pytest.mark.parametrize("name", CASES)
def test_fused_operators_compute_what_onnx_runtime_does(name: str) -> None:
    agrees(CASES[name])


def test_what_is_left_of_an_attention_is_named() -> None:
    model = one("Attention", {"x": (1, 4, 6), "m": (1, 4)}, ATTENTION, "x w b m", num_heads=2)
    with pytest.raises(UnsupportedError, match=r"com\.microsoft\.Attention 'out': a mask \(input 3\) is not supported"):
        graph_of(model.SerializeToString())


def test_an_attribute_that_nobody_knows_is_refused() -> None:
    model = one("Gelu", SEQUENCE, {}, "x", precision=3)
    with pytest.raises(UnsupportedError, match="the attribute precision is not supported"):
        graph_of(model.SerializeToString())


@pytest.mark.parametrize("name", ["mobilenet_v3", "encoder"])
def test_optimized_models_are_read(name: str, tmp_path: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.log_severity_level = 4
    onnxruntime.InferenceSession(exported(name), options, providers=["CPUExecutionProvider"])
    model = load(tmp_path / "optimized.onnx")
    assert any(node.domain == MICROSOFT for node in model.graph.node)
    data = model.SerializeToString()
    graph = graph_of(data)
    assert worst(graph, data, NETWORKS[name][1]) < 2e-5
    assert name == "encoder" or not moved(graph)
