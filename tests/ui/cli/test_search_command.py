"""`mote search`: one small search for digits, whose folder, report and JSON several tests look at."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
from html import escape
from pathlib import Path

import pytest

import mote
from mote.optimize.nas import searcher
from mote.optimize.nas.result import SearchResult
from mote.optimize.nas.searcher import SearchPlan, SearchSubject
from mote.optimize.nas.spending import Spending
from mote.ui.cli import main
from mote.ui.cli.commands.search import _journal, add

torch = pytest.importorskip("torch", reason="networks are trained in PyTorch")

ROOT = Path(__file__).parents[3]
DATA = ("--data", str(ROOT / "models" / "digits_train.npz"), "--test", str(ROOT / "models" / "digits_test.npz"))
SPACE = """
name = "small"
kinds = ["image"]

[stem]
block = "conv"
width = [4, 8]
stride = 2

[[stage]]
block = "separable"
width = [8, 16]
"""
OPTIONS = (
    "--target",
    "cortex-m4",
    "--ram",
    "4K",
    "--trials",
    "3",
    "--finalists",
    "2",
    "--epochs",
    "8",
    "--device",
    "cpu",
    "--minutes",
    "30.0",
    "--task",
    "image",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a search."""
    place = tmp_path_factory.mktemp("search")
    (place / "small.toml").write_text(SPACE)
    best = place / "best"
    assert main(["search", *DATA, *OPTIONS, "--space", str(place / "small.toml"), "-o", str(best)]) == 0
    return best


def test_folder(folder: Path) -> None:
    result = json.loads((folder / "search.json").read_text())
    assert result["target"] == "cortex-m4" and result["task"] == "image" and result["limits"]["ram"] == 4096
    assert result["families"] == ["small"] and result["members"]
    for member in result["members"]:
        model = folder / member["name"] / "model.tflite"
        test = mote.dataset(DATA[3], labelled=True)
        assert mote.score(model, test).value == pytest.approx(member["test"])
        compiled = mote.compile(model, target="cortex-m4", ram="4K")
        assert member["costs"]["ram"] == compiled.plan.ram <= 4096
        assert member["costs"]["cycles"] == compiled.cost
        assert (folder / member["name"] / "c" / "model.h").is_file()
        exact = mote.score(folder / member["name"] / "model.onnx", test).value
        assert abs(exact - member["test"]) < 0.1
    assert max(member["test"] for member in result["members"]) > 0.4, "a few epochs are enough for so much"


def test_report(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    assert "mote search --data" in page and "mote evaluate" in page and "data:image/svg+xml;base64" in page


def test_a_search_that_was_stopped_before_its_first_trial_goes_on(tmp_path: Path) -> None:
    begun = argparse.Namespace(journal=None, output=str(tmp_path), resume=False)
    assert _journal(begun) == _journal(argparse.Namespace(journal=None, output=str(tmp_path), resume=True))


def test_resumed(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With its journal a search trains nothing, whatever the number of workers, and finds the same."""
    again = tmp_path / "best"
    shutil.copytree(folder, again)
    space = str(folder.parent / "small.toml")
    assert main(["search", *DATA, *OPTIONS, "--space", space, "-o", str(again), "--resume", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    before = json.loads((folder / "search.json").read_text())
    changing = {"spent": None, "command": None}
    assert {**told, **changing} == {**before, **changing}


def test_the_command_searches_so_again(folder: Path) -> None:
    """It has all options that were given, and no others."""
    written = json.loads((folder / "search.json").read_text())
    space = ("--space", str(folder.parent / "small.toml"))
    page = (folder / "report.html").read_text()
    assert escape(written["command"]) in page
    parser = argparse.ArgumentParser()
    add(parser)
    again = parser.parse_args(shlex.split(written["command"])[2:])
    given = parser.parse_args([*DATA, *OPTIONS, *space, "-o", str(folder)])
    assert {**vars(again), "ram": None} == {**vars(given), "ram": None} and again.ram == "4096"


GIVEN = {
    "--validate": DATA[3],
    "--target": "stm32l4r5",
    "--trust-target": None,
    "--ram": "4096",
    "--flash": "65536",
    "--latency": "5000us",
    "--optimize": "size",
    "--preprocess": "scale=1",
    "--inputs": "x",
    "--labels": "y",
    "--space": "separable",
    "--task": "image",
    "--precision": "int4,int8",
    "--strategy": "halving",
    "--teacher": "residual",
    "--epochs": "3",
    "--trials": "5",
    "--finalists": "2",
    "--minutes": "30.0",
    "--seed": "4",
    "--augment": "shift=1",
    "--device": "cpu",
    "--workers": "2",
}
"""A value for every option, but those in ELSEWHERE."""
ELSEWHERE = {
    *("help", "data", "test", "output", "force", "resume", "journal", "picture", "json", "wide"),
    *("cycles", "around", "scheduler"),
}
"""Options that exclude others or are about the place of results, by the names that they are parsed to."""


def test_all_options_are_in_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def nothing(subject: SearchSubject, plan: SearchPlan, **_: object) -> SearchResult:
        return SearchResult(
            data=DATA[1],
            test=DATA[3],
            target=subject.settings.target.name,
            task="image",
            metric="accuracy",
            limits=subject.limits,
            members=(),
            dominated=(),
            families=(),
            trials=0,
            costed=0,
            epochs=plan.epochs,
            seed=plan.seed,
            spent=Spending(),
            settings=subject.settings,
            preprocess=str(subject.test.preprocessing),
        )

    monkeypatch.setattr(searcher, "search_families", nothing)
    words = [word for name, value in GIVEN.items() for word in ([name] if value is None else [name, value])]
    assert main(["search", *DATA, *words, "--json"]) == 0
    parser = argparse.ArgumentParser()
    add(parser)
    again = parser.parse_args(shlex.split(json.loads(capsys.readouterr().out)["command"])[2:])
    given = parser.parse_args([*DATA, *words])
    left = {action.dest for action in parser._actions} - ELSEWHERE
    assert {name: getattr(again, name) for name in left} == {name: getattr(given, name) for name in left}
    assert not [name for name in left if getattr(given, name) == parser.get_default(name)], "give it a value above"


def test_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, text in (
        (("--resume", "-o", str(tmp_path / "none")), "no search was interrupted"),
        (("--resume",), "there is nothing to go on with"),
        (("--space", "mobil"), "there is no space 'mobil'"),
        (("--task", "table", "--trials", "0"), "0 is less than 1"),
        (("--precision", "int8,int5"), "'int5' is no precision of a network"),
        (("--from", str(ROOT / "models" / "digits_float.tflite"), "--precision", "int4"), "add int8 to it"),
        (("--from", str(ROOT / "models" / "digits_float.tflite"), "--strategy", "halving"), "option strategy"),
        (("--space", "gru", "--strategy", "supernet"), "networks of the space 'gru' cannot share their weights"),
        (("--minutes", "0"), "there is nothing to spend"),
    ):
        assert main(["search", *DATA, "-t", "cortex-m4", *options]) == 1
        assert text in capsys.readouterr().err
