"""`--numerics tflm` against TensorFlow Lite Micro itself, where its wheel can be installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mote.api.stimuli import stimuli
from mote.frontends import tflite
from mote.graph import Graph
from mote.passes import optimize
from support import PUBLIC_MODELS
from tflite_writer import Writer

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
    rng = np.random.default_rng(seed)
    w = Writer("fc")
    x = w.input("x", (1, 48), "int8", scale=0.05, zero_point=int(rng.integers(-128, 128)))
    k = w.const("k", rng.integers(-127, 128, (40, 48)).astype(np.int8), scale=0.01)
    b = w.const("b", rng.integers(-500, 500, 40).astype(np.int32), scale=0.0005)
    y = w.tensor("y", (1, 40), "int8", scale=float(rng.uniform(0.05, 0.3)), zero_point=int(rng.integers(-128, 128)))
    w.op("FULLY_CONNECTED", [x, k, b], [y])
    w.output(y)
    agrees(w.finish())


@pytest.mark.parametrize("kind", ["LOGISTIC", "TANH"])
@pytest.mark.parametrize("seed", range(20))
def test_fixed_point_functions(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    w = Writer("unary")
    x = w.input("x", (1, 256), "int8", scale=float(rng.uniform(0.003, 0.2)), zero_point=int(rng.integers(-128, 128)))
    out = {"scale": 1 / 256, "zero_point": -128} if kind == "LOGISTIC" else {"scale": 1 / 128, "zero_point": 0}
    y = w.tensor("y", (1, 256), "int8", **out)
    w.op(kind, [x], [y])
    w.output(y)
    agrees(w.finish())
