"""`--numerics tflm` against TensorFlow Lite Micro itself, where its wheel can be installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import test_int16
import test_projection

from mote.api.compiler import compile
from mote.api.stimuli import stimuli
from mote.api.verifier import verify
from mote.frontends import tflite
from mote.graph import Graph
from mote.passes import optimize
from network import Net
from support import PUBLIC_MODELS

tflite_micro = pytest.importorskip("tflite_micro", reason="the tflite-micro wheel is not installed (x86-64 only)")
MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.tflite")) + sorted(PUBLIC_MODELS.glob("*int8*.tflite"))


def agrees(model: bytes, inputs: int = 12) -> None:
    graph = tflite.parse(model, "model")
    ours, _ = optimize(graph, numerics="tflm")
    interpreter = tflite_micro.runtime.Interpreter.from_bytes(model)
    for case in stimuli(graph, inputs):
        for want, got in zip(_tflm(interpreter, graph, case), _ours(ours, case), strict=True):
            assert np.array_equal(want, got), graph.text()


def _tflm(interpreter, graph: Graph, case):  # type: ignore[no-untyped-def]
    for i, t in enumerate(graph.inputs):
        interpreter.set_input(case[t], i)
    interpreter.invoke()
    return [interpreter.get_output(i) for i in range(len(graph.outputs))]


def _ours(graph: Graph, case):  # type: ignore[no-untyped-def]
    values = graph.evaluate(case)
    return [values[t] for t in graph.outputs]


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
def test_models(path: Path) -> None:
    agrees(path.read_bytes())


@pytest.mark.parametrize("seed", range(20))
def test_fully_connected(seed: int) -> None:
    net = Net(seed)
    quant = float(net.rng.uniform(0.01, 0.06)), int(net.rng.integers(-128, 128))
    agrees(net.finish(net.fully_connected(net.input(1, 48), 40, quant=quant)))


@pytest.mark.parametrize("types", sorted(t for t in {*test_projection.TYPES} if t[0] != "float32" and t[1] != "int16"))
def test_computed_weights(types: tuple[str, str, str]) -> None:
    for seed in range(2):
        config = test_projection.Config(types, (5,), 40, 30, gain=0.4, seed=seed)
        agrees(test_projection.model(config))
        result = verify(compile(test_projection.model(config), numerics="tflm"), 2, sanitize=True)
        assert result.exact, result.mismatches


@pytest.mark.parametrize("kind", test_int16.KINDS)
def test_int16_layers(kind: str) -> None:
    agrees(test_int16.layer(kind, bias=np.array([-70_000, 9, 3_000], np.int64), outputs=3, scales=(0.01, 0.02, 0.07)))


@pytest.mark.parametrize("seed", range(5))
def test_relu6_does_not_rescale(seed: int) -> None:
    net = Net(seed)
    quants = [(float(net.rng.uniform(0.01, 0.2)), int(net.rng.integers(-128, 128))) for _ in range(2)]
    agrees(net.finish(net.op("RELU6", [net.input(1, 256, quant=quants[0])], quant=quants[1])))


@pytest.mark.parametrize("kind", ["LOGISTIC", "TANH"])
@pytest.mark.parametrize("seed", range(20))
def test_fixed_point_functions(kind: str, seed: int) -> None:
    net = Net(seed)
    x = net.input(1, 256, quant=(float(net.rng.uniform(0.003, 0.2)), int(net.rng.integers(-128, 128))))
    agrees(net.finish(net.op(kind, [x], quant=(1 / 256, -128) if kind == "LOGISTIC" else (1 / 128, 0))))
