"""`mote evaluate` and `mote verify --data` as text, JSON and pictures."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from mote.bench.pictures.accuracy import Bar, confusion, noise
from tests.ui.cli.test_cli import DIGITS, ROOT, mote, snapshot

SAMPLES = "models/digits_samples.npz"


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture
def mislabelled(tmp_path: Path) -> str:
    """The bundled digits, two of them with other labels."""
    recorded = np.load(SAMPLES)
    labels = recorded["labels"].copy()
    labels[[3, 7]] = (labels[[3, 7]] + 1) % 10
    np.savez(tmp_path / "digits.npz", x=recorded["inputs"], y=labels, labels=recorded["names"])
    return str(tmp_path / "digits.npz")


def test_text(capsys: pytest.CaptureFixture[str], mislabelled: str) -> None:
    status, out, err = mote(
        capsys, "evaluate", DIGITS, "--data", mislabelled, "--inputs", "x", "--against", DIGITS, "--wide"
    )
    assert status == 0 and not err
    told = re.sub(" *[0-9,]+ inputs a second", "", out.replace(mislabelled, "digits.npz"))
    snapshot("evaluate", told)


def test_json_and_pictures(capsys: pytest.CaptureFixture[str], mislabelled: str, tmp_path: Path) -> None:
    pictures = [tmp_path / "confusion.svg", tmp_path / "noise.svg"]
    drawn = ("--confusion-svg", str(pictures[0]), "--against", DIGITS, "--noise-svg", str(pictures[1]))
    status, out, _ = mote(capsys, "evaluate", DIGITS, "--data", mislabelled, "--inputs", "x", "--json", *drawn)
    found = json.loads(out)
    assert status == 0 and found["value"] == 14 / 16 and found["reference"]["value"] == 14 / 16
    assert sum(map(sum, found["confusion"])) == found["samples"] == 16
    for picture in pictures:
        assert ElementTree.parse(picture).getroot().tag.endswith("svg")


def test_pictures_name_what_they_show() -> None:
    drawn = confusion([[3, 1], [0, 2]], ["cat", "<dog>"], "net")
    assert "cat taken for &lt;dog&gt;: 1 of 4" in drawn and "75.0%" in drawn and "100.0%" in drawn
    bars = [Bar("first", float("inf"), "nothing differs", "CONV_2D", False), Bar("last", 12.5, "12.5 dB", "ADD", True)]
    shown = noise(bars, "net")
    assert all(text in shown for text in ("first", "nothing differs", "12.5 dB")) and shown.count("#f0883e") == 1
    large = confusion(np.eye(300, dtype=int).tolist(), [f"class {i}" for i in range(300)], "net")
    assert float(ElementTree.fromstring(large).attrib["height"]) < 2000


def test_training(capsys: pytest.CaptureFixture[str]) -> None:
    training = ("--train", "prototype", "--train-data", "models/digits_train.npz")
    status, out, err = mote(capsys, "evaluate", DIGITS, "--data", SAMPLES, *training)
    assert status == 0 and not err
    for text in (
        *("learns 'prototype' from models/digits_train.npz", "300 samples, each once, in their order: 300 steps"),
        *("1,000 bytes learned", "each asked before it was learned", "8 of the first 8 steps equal"),
        *("right of each class", "NumPy, with what was learned", "equal bit for bit on all 16"),
    ):
        assert text in out, text
    kept = ("--keep", SAMPLES, "--epochs", "2", "--seed", "3")
    status, out, _ = mote(capsys, "evaluate", DIGITS, "--data", SAMPLES, *training, *kept, "--json")
    told = json.loads(out)
    learning = told["learning"]
    assert status == 0 and told["reference"]["equal"] == 16 and learning["passed"]
    assert (learning["steps"], learning["epochs"], learning["seed"], len(learning["online"])) == (600, 2, 3, 2)
    assert learning["test"]["before"] is None and learning["test"]["after"]["value"] == told["value"] > 0.8
    assert learning["kept"]["after"]["value"] == told["value"] and learning["losses"] == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--noise-svg", "x.svg"), "drawn of two models"),
        (("--metric", "rmse", "--confusion-svg", "x.svg"), "labels have 1"),
        (("--metric", "top2", "--confusion-svg", "x.svg"), "takes nothing for anything else"),
        (("--metric", "beauty"), "no metric"),
        (("--labels", "beauty"), "beauty"),
        (("--keep", SAMPLES), "models that learn"),
        (("--train", "last"), "nothing to learn"),
    ],
)
def test_errors(capsys: pytest.CaptureFixture[str], options: tuple[str, ...], problem: str) -> None:
    status, _, err = mote(capsys, "evaluate", DIGITS, "--data", SAMPLES, *options)
    assert status == 1 and problem in err and "help:" in err


def test_verify_on_the_users_own_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = mote(capsys, "verify", DIGITS, "--data", SAMPLES)
    assert status == 0 and "16 inputs" in out and "equal bit for bit" in out
    status, out, _ = mote(capsys, "verify", DIGITS, "--data", SAMPLES, "--inputs", "2")
    assert status == 0 and "2 inputs" in out
