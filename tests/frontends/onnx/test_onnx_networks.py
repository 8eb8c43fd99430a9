"""Networks from PyTorch by way of ONNX: what Mote computes is what ONNX Runtime does."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import TensorProto, helper, load_model_from_string

from mote.bench.evaluation.verify import verify
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from tests.frontends.onnx.onnx_networks import NETWORKS, exported
from tests.frontends.onnx.onnx_support import graph_of, model_of, moved, worst
from tests.helpers.support import emulated

STILL = ("mobilenet_v2", "mobilenet_v3", "ds_cnn", "cnn_1d", "u_net", "encoder", "shuffle", "lstm", "gru", "rnn")
"""Networks of which no layer is left that only moves elements; the others have some whose order somebody sees."""
ON_HOST = ("mobilenet_v3", "yolo", "rnn", "words")
ON_A_CORE = ("ds_cnn", "encoder", "gru")
TOLERANCE = 2e-5


def verified(name: str, compiled: Compiled) -> None:
    """Every value of the model, in the generated code, is what ONNX Runtime says."""
    result = verify(compiled, 2)
    assert result.passed and result.reference.startswith("ONNX Runtime") and result.tensors > 2, result
    assert name not in STILL or not moved(compiled.plan.graph)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_compute_what_onnx_runtime_does(name: str) -> None:
    data = exported(name)
    assert worst(graph_of(data), data, NETWORKS[name][1]) < TOLERANCE


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", ON_HOST)
def test_networks_in_c(name: str) -> None:
    verified(name, compile(exported(name)))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", ON_A_CORE)
def test_networks_on_a_core(name: str) -> None:
    verified(name, compile(exported(name), target=emulated("cortex-m4")))


def test_an_open_batch_is_one() -> None:
    data = exported("ds_cnn", dynamic=True)
    graph = graph_of(data)
    assert graph.tensors[graph.inputs[0]].shape == (1, 20, 10, 1)
    assert np.isfinite(worst(graph, data, NETWORKS["ds_cnn"][1]))


def test_half_precision_is_computed_in_float32() -> None:
    """And so is what it is compared with, but for what is cast to it."""
    nodes = [
        helper.make_node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16),
        helper.make_node("MatMul", ["h", "w"], ["m"]),
        helper.make_node("Tanh", ["m"], ["t"]),
        helper.make_node("Cast", ["t"], ["y"], to=TensorProto.FLOAT),
    ]
    weights = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float16)
    compiled = compile(model_of(nodes, {"x": (2, 3)}, ["y"], {"w": weights}).SerializeToString())
    assert compiled.warnings == ("float16 values are computed in float32",)
    assert verify(compiled, 4).passed


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("opset", [9, 13])
def test_older_versions_of_operators(opset: int) -> None:
    """GELU and hard swish are written out in these, and what is an input now is an attribute."""
    for name in ("mobilenet_v3", "cnn_1d", "encoder", "yolo"):
        data = exported(name, opset=opset)
        assert load_model_from_string(data).opset_import[0].version == opset
        graph = graph_of(data)
        assert worst(graph, data, NETWORKS[name][1]) < TOLERANCE
        assert name != "encoder" or any(op.kind == "GELU" for op in graph.ops)


@pytest.mark.frontends
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_the_newer_exporter(name: str) -> None:
    verified(name, compile(exported(name, dynamo=True)))


@pytest.mark.frontends
@pytest.mark.parametrize("name", sorted(set(NETWORKS) - set(ON_HOST)))
def test_all_networks_in_c(name: str) -> None:
    verified(name, compile(exported(name)))


@pytest.mark.frontends
@pytest.mark.parametrize("name", sorted(set(NETWORKS) - set(ON_A_CORE)))
def test_all_networks_on_a_core(name: str) -> None:
    verified(name, compile(exported(name), target=emulated("cortex-m4")))
