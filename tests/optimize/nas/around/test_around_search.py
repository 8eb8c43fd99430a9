"""`mote search --from`: the front around a model begins with the model itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mote
from mote.ui.cli import main

torch = pytest.importorskip("torch", reason="networks are trained in PyTorch")
MODELS = Path(__file__).parents[4] / "models"
MODEL = str(MODELS / "digits_float.tflite")
DATA = ("--data", str(MODELS / "digits_train.npz"), "--test", str(MODELS / "digits_test.npz"), "-t", "cortex-m4")


@pytest.mark.slow
def test_the_front_begins_with_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    best = tmp_path / "best"
    few = ("--trials", "3", "--finalists", "2", "--epochs", "2", "--device", "cpu")
    assert main(["search", "--from", MODEL, *DATA, *few, "-o", str(best), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    given, *others = result["members"]
    assert given["name"] == "given" and given["choice"] == {} and given["description"] == "as given"
    assert given["test"] == pytest.approx(0.986, abs=0.003)
    assert others and all(member["choice"] for member in (*others, *result["dominated"]))
    test = mote.dataset(DATA[3], labelled=True)
    for member in others:
        assert member["costs"]["cycles"] < given["costs"]["cycles"] or member["costs"]["ram"] < given["costs"]["ram"]
        model = best / member["name"] / "model.tflite"
        assert mote.score(model, test).value == pytest.approx(member["test"])
        compiled = mote.compile(model, target="cortex-m4")
        assert (compiled.plan.ram, compiled.cost) == (member["costs"]["ram"], member["costs"]["cycles"])
        exact = mote.score(best / member["name"] / "float.tflite", test).value
        assert exact == pytest.approx(member["test"], abs=0.1)
        assert (best / member["name"] / "c" / "model.h").is_file()
    assert f"mote search --from {MODEL} --data" in (best / "report.html").read_text()


@pytest.mark.slow
def test_a_model_that_does_not_fit_is_a_note() -> None:
    result = mote.search(
        DATA[1],
        test=DATA[3],
        around=MODEL,
        target="cortex-m4",
        cycles=86000,
        trials=1,
        finalists=1,
        epochs=1,
        device="cpu",
    )
    assert [member.name for member in result.members] == ["around-1"]
    assert result.best.costs.cycles <= 86000
    assert "as given has a test accuracy of 98." in result.notes[-1] and "does not fit" in result.notes[-1]


def test_a_model_says_the_space(capsys: pytest.CaptureFixture[str]) -> None:
    for option in (("--space", "mobile"), ("--task", "image")):
        assert main(["search", "--from", MODEL, *DATA, *option]) == 1
        assert "the model says that already" in capsys.readouterr().err
