"""Data of another scale than a model was trained or calibrated for is warned of, with the factor."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mote
from mote.frontends.build import Builder, norms, windows
from mote.frontends.data.dataset import dataset
from mote.frontends.data.scale import scale_warnings
from mote.ir.graph import Graph
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis

MODELS = Path(__file__).parents[3] / "models"
DIGITS = np.load(MODELS / "digits_test.npz")["x"]


def warnings(model: str, values: np.ndarray) -> tuple[str, ...]:
    return scale_warnings(mote.load(MODELS / model), dataset(values))


@pytest.mark.parametrize(
    ("model", "values", "said"),
    [
        ("digits.tflite", DIGITS, ""),
        ("digits.tflite", 255 * DIGITS, "255 times the range that the model was calibrated for, 0 to 1"),
        ("digits.tflite", 255 * DIGITS, "--preprocess scale=1/255 would"),
        ("digits.tflite", DIGITS / 255, "0% of the range"),
        ("digits.tflite", DIGITS[:4] / 4, ""),
        ("digits.tflite", (DIGITS - 0.5) * 20, "--preprocess scale=1/20,offset=0.5 would"),
        ("digits.tflite", np.load(MODELS / "digits_samples.npz")["inputs"], ""),
        ("digits_float.tflite", DIGITS, ""),
        ("digits_float.tflite", (255 * DIGITS).astype(np.uint8), "looks like pixels from 0 to 255"),
        ("digits.onnx", np.round(255 * DIGITS), "scale them as in training (--preprocess scale=1/255)"),
    ],
)
def test_data_is_compared_with_what_the_model_was_made_for(model: str, values: np.ndarray, said: str) -> None:
    found = warnings(model, values)
    assert (not found) if not said else said in found[0]


def normalized() -> Graph:
    """A convolution and a batch normalization whose statistics are those of inputs from 0 to 1."""
    rng = np.random.default_rng(0)
    b = Builder("net")
    x = b.input("x", (1, 1, 8, 8), DType.FLOAT32, channels_last=True)
    weights = rng.normal(size=(4, 1, 3, 3)).astype(np.float32)
    with b.layer(0, "Conv", "conv"):
        y = windows.conv(b, x, weights, None, [Axis(3, 1, 1, 1, 1)] * 2)
    with b.layer(1, "BatchNormalization", "norm"):
        deviation = np.full(4, 0.8, np.float32)
        y = norms.batch_norm(b, y, np.ones(4, np.float32), np.zeros(4, np.float32), 0 * deviation, deviation**2)
    b.output(y, "y")
    return b.finish().graph()


def without_bias(graph: Graph) -> Graph:
    """The graph with layers as `.tflite` files may have them: without the zeros for a bias."""
    return graph.with_ops(op.with_(inputs=(*op.inputs[:2], ABSENT)) if op.weights else op for op in graph.ops)


@pytest.mark.parametrize("graph", [normalized(), without_bias(normalized())], ids=["biased", "unbiased"])
@pytest.mark.parametrize(("factor", "said"), [(1, ""), (255, "times too large"), (1 / 255, "times too small")])
def test_batch_statistics_tell_the_scale(graph: Graph, factor: float, said: str) -> None:
    found = scale_warnings(graph, dataset(factor * DIGITS.reshape(-1, 1, 8, 8)))
    assert (not found) if not said else said in found[0]


def test_commands_pass_it_on(tmp_path: Path) -> None:
    """Whoever takes data says so, in text and in JSON."""
    wrong = tmp_path / "pixels.npz"
    np.savez(wrong, x=np.round(255 * DIGITS), y=np.load(MODELS / "digits_test.npz")["y"])
    evaluated = mote.evaluate(MODELS / "digits.tflite", wrong)
    assert any("255 times" in note for note in evaluated.json()["notes"])
    made = mote.quantize.post_training(MODELS / "digits_float.tflite", np.round(255 * DIGITS[:32]), rounding="nearest")
    assert any("looks like pixels" in warning for warning in made.json()["warnings"])
