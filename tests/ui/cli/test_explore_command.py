"""`mote explore`: the table, the chart, JSON and SVG; the names of points in the other commands."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.helpers.network import Net
from tests.helpers.support import emulated
from tests.ui.cli.test_cli import DIGITS, ROOT, mote, snapshot

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = mote(capsys, "explore", DIGITS, "--no-measure", "--points", "4")
    assert status == 0 and err == ""
    snapshot("explore", out)


def test_json_and_svg(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "front.svg"
    status, out, _ = mote(capsys, "explore", DIGITS, "--json", "--points", "3", "--svg", str(path))
    found = json.loads(out)
    assert status == 0 and found["measured"] is None and found["reason"]
    assert found.keys() == {
        "model", "target", "input", "optimize", "measured", "reason", "points", "dominated", "little_flash", "own",
        "interruptions",
    }  # fmt: skip
    assert set(found["points"][0]) == {
        "name", "aliases", "ram", "arena", "static", "stack", "instructions", "cycles", "estimate", "macs", "flash",
        "code", "constants", "steps", "by_rows", "external",
    }  # fmt: skip
    root = ElementTree.parse(path).getroot()
    assert len([c for c in root.iter(f"{SVG}circle") if c.get("class") == "point"]) == len(
        found["points"] + found["dominated"]
    )


@pytest.mark.slow
def test_measured(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    emulated("cortex-m4")
    net, model = Net(), tmp_path / "small.tflite"
    model.write_bytes(net.finish(net.conv(net.conv(net.input(1, 8, 8, 4), 8), 8)))
    status, out, _ = mote(capsys, "explore", str(model), "--target", "cortex-m4", "--points", "1", "--json")
    found = json.loads(out)
    assert status == 0 and found["measured"]
    costs = [p["cycles"] for p in found["points"]]
    assert costs == sorted(set(costs), reverse=True)
    assert all(p["stack"] > 0 and p["flash"] == p["code"] + p["constants"] for p in found["points"])


def test_a_point_is_compiled_by_its_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    points = json.loads(mote(capsys, "explore", DIGITS, "--points", "3", "--json")[1])["points"]
    for point in points:
        for name in (point["name"], *point["aliases"]):
            found = mote(capsys, "plan", DIGITS, "--point", name, "--json")[1]
            assert json.loads(found)["totals"]["ram"] == point["ram"], name
    done = mote(capsys, "compile", DIGITS, "--point", points[0]["name"], "-o", str(tmp_path), "--json")
    assert done[0] == 0 and json.loads(done[1])["ram"]["arena"] == points[0]["arena"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("error-point", ("compile", DIGITS, "--point", "ram-lots", "-o", "x")),
        ("error-points", ("explore", DIGITS, "--points", "0")),
        ("error-measure", ("explore", DIGITS, "--measure")),
    ],
)
def test_errors(name: str, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = mote(capsys, *arguments)
    assert status == 1 and out == "" and "Traceback" not in err and not Path("x").exists()
    snapshot(name, err)


def test_a_budget_that_no_plan_meets(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, err = mote(capsys, "compile", DIGITS, "--point", "ram-100", "-o", str(tmp_path / "x"))
    assert status == 1 and out == "" and "bytes of RAM at least" in err and not (tmp_path / "x").exists()


def test_a_point_and_a_budget_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = mote(capsys, "plan", DIGITS, "--point", "least", "--ram", "4K")
    assert status == 1 and "option ram: a point is a budget already" in err
