"""`--numerics tflm` against TensorFlow Lite Micro itself, where its wheel can be installed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from mote.bench.evaluation.verify import verify
from mote.compiler.line import compile
from tests.helpers import support
from tests.helpers.network import Net
from tests.helpers.support import PUBLIC_MODELS, micro_agrees, tflite_micro
from tests.ir.ops import test_int16
from tests.ir.ops.matrix import test_fully_connected_dynamic as test_projection

MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.tflite")) + sorted(PUBLIC_MODELS.glob("*int8*.tflite"))


def agrees(model: bytes) -> None:
    micro_agrees(model, 12, numerics="tflm")


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
def test_models(path: Path) -> None:
    agrees(path.read_bytes())


@pytest.mark.parametrize("seed", range(20))
def test_fully_connected(seed: int) -> None:
    net = Net(seed)
    quant = float(net.rng.uniform(0.01, 0.06)), int(net.rng.integers(-128, 128))
    agrees(net.finish(net.fully_connected(net.input(1, 48), 40, quant=quant)))


@pytest.mark.quick_cases(1)
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


def test_other_builds_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference is a failure with a build that was tried, and skips the test with any other."""
    monkeypatch.setattr(support.reference, "micro_missing", lambda: "")
    monkeypatch.setitem(sys.modules, "tflite_micro", SimpleNamespace(runtime=None))
    for version, outcome in ((support.TRIED_MICRO[0], AssertionError), ("0.dev1", pytest.skip.Exception)):
        monkeypatch.setattr(support, "version_of", lambda name, version=version: version)
        with pytest.raises(outcome, match="it differs") as found, tflite_micro():
            raise AssertionError("it differs")
    assert "tflite-micro 0.dev1 differs from 0.dev2" in str(found.value)
