"""`mote quantize --max-accuracy-drop`: the tables, JSON and SVG; what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.helpers.network import Net
from tests.ui.cli.test_cli import mote


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A random network, and samples whose labels are what it says, but for some."""
    folder = tmp_path_factory.mktemp("mixing")
    net = Net(3, "float32")
    x = net.input(1, 6, 6, 2)
    x = net.fully_connected(net.mean(net.conv(x, 8, 3, fused_activation_function="RELU")), 4)
    (folder / "model.tflite").write_bytes(net.finish(net.op("SOFTMAX", [x], beta=1.0)))
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(60, 6, 6, 2)).astype(np.float32)
    np.savez(folder / "calibration.npz", x=samples[:30])
    np.savez(folder / "test.npz", x=samples, y=rng.integers(0, 4, 60))
    return {path.stem: str(path) for path in folder.iterdir()}


def arguments(files: dict[str, str], output: Path, *more: str) -> tuple[str, ...]:
    given = ("--data", files["calibration"], "--test", files["test"], "--max-accuracy-drop", "90%")
    return ("quantize", files["model"], "-o", str(output), *given, "--precisions", "int8,int16", "--no-measure", *more)


def test_text(files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = mote(capsys, *arguments(files, tmp_path / "out.tflite", "--validate", files["test"]))
    assert status == 0 and err == ""
    for text in (
        "sensitivity",
        "the front (estimates of the planner",
        "all int8",
        "guard: top1",
        "validation: top1",
        "(95% interval",
    ):
        assert text in out
    assert "The guard is on the data given" in out and "on 60 samples" in out
    assert (tmp_path / "out.tflite").read_bytes()[4:8] == b"TFL3"


def test_json_and_svg(files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ("--json", "--svg", str(tmp_path / "front.svg"), "--journal", str(tmp_path / "journal"))
    status, out, _ = mote(capsys, *arguments(files, tmp_path / "out.tflite", *more))
    found = json.loads(out)
    assert status == 0 and found["file"] == str(tmp_path / "out.tflite") and found["allowed"] == 0.9
    assert set(found["points"][0]) == {
        "precisions", "value", "lost", "kept", "instructions", "flash", "ram", "noise", "measured", "context",
    }  # fmt: skip
    assert found["test"]["context"].startswith("95% interval ") and "largest class" in found["test"]["context"]
    assert found["test"]["samples"] == 60 and found["validation"] is None and found["tools"] is None
    assert ElementTree.parse(tmp_path / "front.svg").getroot() is not None
    assert len((tmp_path / "journal").read_text().splitlines()) > found["evaluations"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (("--test", "TEST"), "option --test: is for the search for precisions only"),
        (("--max-accuracy-drop", "1%", "--test", "TEST"), "option --data: is missing"),
        (("--max-accuracy-drop", "1%", "--data", "TEST"), "option --test: is missing"),
        (("--max-accuracy-drop", "much", "--data", "TEST", "--test", "TEST"), "'much' is no part of the accuracy"),
        (("--max-accuracy-drop", "1%", "--data", "TEST", "--test", "UNLABELLED"), "labels"),
        (
            ("--max-accuracy-drop", "1%", "--data", "TEST", "--test", "TEST", "--precisions", "int8,int5"),
            "'int5' is no precision",
        ),
    ],
)
def test_errors(
    given: tuple[str, ...], reason: str, files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"TEST": files["test"], "UNLABELLED": files["calibration"]}
    output = tmp_path / "out.tflite"
    status, out, err = mote(capsys, "quantize", files["model"], "-o", str(output), *(names.get(x, x) for x in given))
    assert status == 1 and out == "" and reason in err and "Traceback" not in err and not output.exists()
