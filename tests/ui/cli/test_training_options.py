"""`--train` and `--train-data`: what learns, what that costs, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ui.cli.test_cli import DIGITS, ROOT, mote


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_what_learns_is_printed_with_its_costs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = mote(capsys, "compile", DIGITS, "--train", "last:rate=0.1", "-o", str(tmp_path))
    assert (status, err) == (0, "")
    said = " ".join(out.split())
    assert "training: 320 weights and 10 biases in 1 layer learn (last:rate=0.1), 360 bytes of what is learned" in said
    assert "digits_train_begin(0.1f);" in (tmp_path / "digits.h").read_text()
    status, out, _ = mote(capsys, "compile", DIGITS, "--train", "prototype:classes=3", "-o", str(tmp_path), "--json")
    about = json.loads(out)["training"]
    assert status == 0 and about["what"] == "prototype:classes=3" and about["learned"] > 0
    assert about["layers"] == about["weights"] == about["biases"] == 0 < about["step"]
    status, out, _ = mote(capsys, "verify", DIGITS, "--train", "prototype:classes=3", "--inputs", "2")
    assert status == 0 and "a learner is behind the model's layers" in " ".join(out.split())


def test_what_is_computed_again_is_printed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Where the budget asks for it."""
    model = str(ROOT / "models" / "digits_float.tflite")
    options = [model, "-t", "cortex-m4", "--train", "0", "-o", str(tmp_path)]
    status, out, err = mote(capsys, "compile", *options, "--ram", "12300")
    assert (status, err) == (0, "") and "MACs of it to compute 4,096 bytes of activations again" in " ".join(
        out.split()
    )
    _, out, _ = mote(capsys, "compile", *options, "--ram", "12300", "--json")
    about = json.loads(out)["training"]
    assert about["what"] == "0:recompute=1" and about["recomputed"].keys() == {"activations", "bytes", "macs"}
    _, out, _ = mote(capsys, "compile", *options, "--json")
    assert json.loads(out)["training"]["recomputed"] is None


def test_samples_give_the_ranges_of_gradients(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = ["--train", "biases", "-o", str(tmp_path)]
    status, _, err = mote(capsys, "compile", DIGITS, *options)
    assert status == 1 and "--train-data" in err
    status, out, err = mote(capsys, "compile", DIGITS, *options, "--train-data", "models/digits_samples.npz")
    assert (status, err) == (0, "") and "0 weights and 122 biases in 6 layers learn" in " ".join(out.split())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--train", "lats"], "option train: there is no layer 'lats'"),
        (["--train-data", "models/digits_samples.npz"], "option train_data: is for models that learn"),
        (["--train", "last", "--stream", "1"], "option stream: a stream has no samples"),
        (["--train", "last", "-t", "atmega328p"], "option train on atmega328p: models do not learn"),
    ],
)
def test_what_cannot_learn_is_refused(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, _, err = mote(capsys, "compile", DIGITS, "-o", str(tmp_path / "out"), *options)
    assert status == 1 and said in err and "help: " in err and not (tmp_path / "out").exists()
