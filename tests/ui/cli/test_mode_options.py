"""The options that choose how a model runs: what they write and print, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import mcunet_v2
from tests.helpers.network import Net
from tests.helpers.support import emulated
from tests.ui.cli.test_cli import DIGITS, ROOT, mote


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def compiled(capsys: pytest.CaptureFixture[str], folder: Path, *options: str, model: str = DIGITS) -> str:
    """What `mote compile` prints."""
    status, out, err = mote(capsys, "compile", model, "-o", str(folder), *options)
    assert (status, err) == (0, "")
    return out


def test_ram(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A budget is kept to, and no less is taken than has to be."""
    taken = []
    for ram in ("min", "900", "2K"):
        found = json.loads(compiled(capsys, tmp_path, "--ram", ram, "--json"))["ram"]
        taken.append(found["arena"] + found["static"])
    assert taken[0] < taken[1] <= 900 < taken[2] <= 2048


def test_input_rows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    compiled(capsys, tmp_path, "--input", "rows")
    assert "digits_push(" in (tmp_path / "digits.h").read_text()
    status, out, _ = mote(capsys, "verify", DIGITS, "--input", "rows", "--inputs", "2")
    assert status == 0 and "equal bit for bit" in out


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("step", ["layer", "row"])
def test_step(step: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What is printed is what the header states."""
    emulated("cortex-m4")
    out = compiled(capsys, tmp_path, "--step", step, "-t", "cortex-m4")
    (printed,) = re.findall(r"step: ([\d,]+) instructions, the longest of 3 inferences and 5%: no bound", out)
    (stated,) = re.findall(r"#define DIGITS_STEP_INSTRUCTIONS (\d+)\n", (tmp_path / "digits.h").read_text())
    assert int(printed.replace(",", "")) == int(stated) > 0


def test_red_zones(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    compiled(capsys, tmp_path, "--red-zones", "--ram", "min", "--input", "rows", "--single-file")
    assert "digits_note(" in (tmp_path / "digits.c").read_text()


def test_recompute(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = tmp_path / "tiny.tflite"
    model.write_bytes(mcunet_v2.build(mcunet_v2.TINY))
    once, twice = (
        json.loads(
            compiled(capsys, tmp_path / "out", "--ram", "min", "--json", "--recompute", percent, model=str(model))
        )
        for percent in ("0", "30")
    )
    assert twice["ram"]["arena"] < once["ram"]["arena"]
    assert once["macs"] < twice["macs"] <= 1.3 * once["macs"]


@pytest.mark.parametrize(
    ("options", "status", "reason"),
    [
        (("--ram", "0"), 1, "bytes of RAM at least"),
        (("--ram", "-5"), 1, "not a size"),
        (("--ram", "min", "--point", "least"), 1, "a point is a budget already"),
        (("--recompute", "-1"), 1, "give 0 to 100 percent of the MACs"),
        (("--recompute", "101"), 1, "give 0 to 100 percent of the MACs"),
        (("--recompute", "nan"), 1, "give 0 to 100 percent of the MACs"),
        (("--recompute", "some"), 2, "invalid float"),
        (("--step", "row"), 1, "instructions cannot be counted"),
        (("--step", "pixel"), 2, "invalid choice"),
        (("--input", "columns"), 2, "invalid choice"),
    ],
)
def test_refused(
    options: tuple[str, ...], status: int, reason: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Status 1 for what cannot be done, 2 for what cannot be understood; nothing is written."""
    found, out, err = mote(capsys, "compile", DIGITS, "-o", str(tmp_path / "out"), *options)
    assert (found, out) == (status, "") and reason in err
    assert not (tmp_path / "out").exists()


def test_an_input_without_rows_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    net = Net(dtype="float32")
    (tmp_path / "flat.tflite").write_bytes(net.finish(net.op("TANH", [net.input(1, 8)])))
    arguments = ("compile", str(tmp_path / "flat.tflite"), "-o", str(tmp_path / "out"), "--input", "rows")
    status, _, err = mote(capsys, *arguments)
    assert status == 1 and "1x8 has one row only" in err and not (tmp_path / "out").exists()


def test_what_is_said_of_a_stream_is_true(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A causal stream is another model where the windowed one pads; nothing else changes, and nothing is float."""
    for padding, said in (("SAME", True), ("VALID", False)):
        net = Net()
        model = tmp_path / f"{padding}.tflite"
        model.write_bytes(net.finish(net.conv(net.input(1, 8, 4, 2), 3, padding=padding)))
        out = compiled(capsys, tmp_path / "out", "--stream", "1", "--causal", model=str(model))
        assert ("another model than the windowed one" in out) == said and "float" not in out
        options = ("--stream", "1", "--causal", "--json")
        (stream,) = json.loads(compiled(capsys, tmp_path / "out", *options, model=str(model)))["passes"]
        assert stream["exact"] != said and bool(stream["caveat"]) == said
