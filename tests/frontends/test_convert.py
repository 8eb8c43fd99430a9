"""`mote convert` of other formats than TensorFlow Lite: LiteRT on the new file against the model's own runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="ONNX Runtime is the judge")
pytest.importorskip("sklearn", reason="some models come from scikit-learn")

import mote
from mote.frontends import tflite
from mote.ui.cli import main
from tests.frontends.sklearn.estimators import CASES, fitted
from tests.helpers.support import needs_litert

pytestmark = needs_litert


def checked(model: Any, judge: str, **options: Any) -> mote.Converted:
    """A model whose file is equal."""
    found = mote.convert(model, inputs=2, **options)
    assert found.check is not None and found.check.passed, found.check
    assert found.check.reference.startswith(judge)
    return found


@pytest.mark.parametrize(
    ("name", "tensors", "moves"),
    [("mobilenet_v3", 30, 0), ("encoder", 20, 4), ("u_net", 10, 0), ("norms", 30, 4), ("gru", 3, 2)],
)
def test_onnx(name: str, tensors: int, moves: int) -> None:
    """So many tensors are compared at least, and so many transposes are there at most."""
    networks = pytest.importorskip("onnx_networks")
    found = checked(networks.exported(name), "ONNX Runtime")
    assert found.check is not None and found.check.tensors >= tensors
    assert sum(op.kind == "TRANSPOSE" for op in tflite.parse(found.data, "written").ops) <= moves


def test_edges_as_the_model_has_them() -> None:
    networks = pytest.importorskip("onnx_networks")
    image = networks.exported("ds_cnn")
    last, first = (mote.convert(image, inputs=1, edges=edges) for edges in ("channels-last", "model"))
    assert (last.inputs[0].shape, first.inputs[0].shape) == ((1, 20, 10, 1), (1, 1, 20, 10))
    assert "is 1x1x20x10 in the model and 1x20x10x1 in the file" in last.notes[0] and not first.notes + last.warnings
    assert first.check is not None and first.check.passed


def quantized(name: str, folder: Path, signed: bool) -> Path:
    """A network that ONNX Runtime has quantized."""
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    from tests.frontends.onnx.onnx_networks import NETWORKS, exported

    model = onnx.load_from_string(exported(name))
    rng = np.random.default_rng(0)
    given = model.graph.input[0].name
    batches = iter([{given: rng.normal(size=NETWORKS[name][1]).astype(np.float32)} for _ in range(4)])

    class Reader(CalibrationDataReader):
        def get_next(self) -> Any:
            return next(batches, None)

    path = folder / "quantized.onnx"
    kind = QuantType.QInt8 if signed else QuantType.QUInt8
    how = {"quant_format": QuantFormat.QDQ, "activation_type": kind, "weight_type": QuantType.QInt8}
    quantize_static(model, str(path), Reader(), **how)
    return path


@pytest.mark.parametrize("signed", [True, False])
def test_quantized_onnx(signed: bool, tmp_path: Path) -> None:
    """Operator by operator, because LiteRT rounds otherwise."""
    found = checked(quantized("ds_cnn", tmp_path, signed), "Mote's operators with LiteRT's rounding")
    assert any("round halves to even in the model" in warning for warning in found.notes)
    written = tflite.parse(found.data, "written")
    assert sum(t.dtype == "int8" for t in written.tensors.values()) > 10


def test_torch() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layers = torch.nn
    net = layers.Sequential(layers.Conv2d(3, 8, 3, 2, 1), layers.Hardswish(), layers.Flatten(), layers.Linear(512, 5))
    found = checked(net.eval(), "PyTorch", example_inputs=(torch.zeros(1, 3, 16, 16),))
    assert found.inputs[0].shape == (1, 16, 16, 3) and found.outputs[0].shape == (1, 5)


@pytest.mark.parametrize("name", ["svc", "svc, poly", "neighbours by distance", "gaussian bayes", "imputer"])
def test_scikit_learn(name: str) -> None:
    checked(fitted(name), "scikit-learn")


@pytest.mark.frontends
@pytest.mark.parametrize("name", CASES)
def test_all_of_scikit_learn(name: str) -> None:
    if name in REFUSING:
        with pytest.raises(mote.MoteError, match="scikit-learn refuses an input that is tried"):
            mote.convert(fitted(name))
    else:
        checked(fitted(name), "scikit-learn")


REFUSING = ("categorical bayes", "powers, box-cox")
"""Estimators that take no negative numbers."""


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    networks = pytest.importorskip("onnx_networks")
    model, out = tmp_path / "net.onnx", tmp_path / "net.tflite"
    model.write_bytes(networks.exported("ds_cnn"))
    assert main(["convert", str(model), str(out), "--inputs", "2"]) == 0
    said = capsys.readouterr().out
    assert "LiteRT on the new file against ONNX Runtime" in said and "input 'x': float32 1x20x10x1" in said
    assert main(["inspect", str(out)]) == 0
    assert main(["convert", str(model), str(model)]) == 1
    assert "another kind" in capsys.readouterr().err
