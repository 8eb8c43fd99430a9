"""`mote plan`: text, JSON and SVG of the same memory map."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import mote as api
from mote.bench.pictures import plans, svg
from mote.bench.pictures.memory import MemoryMap, ring
from mote.bench.pictures.text import arena_maps
from mote.frontends.tflite.writer import Writer
from tests.helpers.network import Net
from tests.ir.ops.control import flows
from tests.ui.cli.test_cli import DIGITS, ROOT, mote, snapshot

SVG = "{http://www.w3.org/2000/svg}"
PLANS = {
    "whole": (),
    "least": ("--ram", "min"),
    "pushed": ("--input", "rows"),
    "dsp": ("--target", "cortex-m4"),
}


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def planned(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    status, out, _ = mote(capsys, "plan", DIGITS, "--json", *options)
    assert status == 0
    found: dict[str, Any] = json.loads(out)
    return found


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = mote(capsys, "plan", DIGITS, "--target", "cortex-m4")
    assert status == 0
    snapshot("plan", out)


def test_how_far_sums_go(capsys: pytest.CaptureFixture[str]) -> None:
    """The same numbers in text and JSON: all layers of the model that add up, and how many of 31 bits they leave."""
    found = {op["name"]: op["sums"] for op in planned(capsys, "--target", "cortex-m3")["operators"]}
    lines = mote(capsys, "plan", DIGITS, "--target", "cortex-m3", "--wide")[1].splitlines()
    rows = {name: next(line.split() for line in lines if f" {name} " in line) for name in found}
    assert len(found) == 8
    for name, sums in found.items():
        assert sums is not None and not sums["wrap"] and 0 < sums["spare_bits"] < 31
        assert sums["spare_bits"] == pytest.approx(31 - math.log2(sums["largest"]), abs=1e-3)
        assert rows[name][-2:] == [f"{sums['largest']:,}", f"{sums['spare_bits']:.1f}"]


def test_text_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = mote(capsys, "plan", DIGITS, "--ram", "min")
    assert status == 0
    for wanted in ("by rows, ", "live at most", "no schedule of the model's rows takes less", "steps across"):
        assert wanted in out


def test_kernels_of_a_layer(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = mote(capsys, "plan", DIGITS, "--target", "cortex-m4", "--layer", "0_conv_2d")
    assert status == 0
    assert mote(capsys, "plan", DIGITS, "--target", "cortex-m4", "--layer", "0") == (0, out, "")
    offered, refused = out.split("do not fit\n")
    rows = {line.split()[0]: line for line in offered.splitlines()[1:]}
    assert "chosen: " in offered.splitlines()[1] and "slower" in rows["conv3_pair"]
    reasons = " ".join(refused.split())
    assert "it is for windows of one pixel and channels in fours: pointwise" in reasons
    (layer,) = (op for op in planned(capsys, "--target", "cortex-m4")["operators"] if op["name"] == "0_conv_2d")
    assert layer["refused"] and {r["kernel"] for r in layer["refused"]} <= set(re.findall(r"\w+", reasons))
    assert not {r["kernel"] for r in layer["refused"]} & set(rows)


def test_a_kernel_is_listed_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Not for layouts that the plan does not have, too."""
    for op in planned(capsys, "--target", "cortex-m4")["operators"]:
        names = [kernel["family"] for kernel in op["choice"]]
        assert len(names) == len({*names}), op["name"]


def test_an_unknown_layer_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = mote(capsys, "plan", DIGITS, "--layer", "4_conv2d")
    assert status == 1 and "there is no layer '4_conv2d'" in err and "did you mean: 4_conv_2d" in err


@pytest.mark.parametrize("options", PLANS.values(), ids=PLANS)
def test_json(options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(capsys, *options)
    assert set(found) == {
        "model", "target", "costs", "totals", "memories", "peak", "operators", "regions", "steps", "kept", "buffers",
        "cells",
    }  # fmt: skip
    assert found["costs"]["unit"] == "cycles" and found["costs"]["estimate"] > 0
    totals = found["totals"]
    assert set(totals) == {"ram", "arena", "static", "live", "bound", "gap", "steps", "macs"}
    assert totals["ram"] == totals["arena"] + totals["static"]
    assert totals["bound"] + totals["gap"] == totals["arena"] >= totals["live"]
    assert sum(m["arena"] for m in found["memories"]) == totals["arena"]
    assert set(found["operators"][0]) == {
        "op", "name", "kernel", "mode", "direction", "steps", "macs", "sums", "bodies", "choice", "refused",
        "numbers", "layer", "short",
    }  # fmt: skip
    for op in found["operators"]:
        assert [c["chosen"] for c in op["choice"]] == [True] * bool(op["choice"]) + [False] * len(op["choice"][1:])
        assert all(c["why"] for c in op["choice"])
    assert set(found["steps"][0]) == {"operator", "op", "kernel", "rows", "tap", "scratch", "live"}
    assert len(found["steps"]) == totals["steps"] == sum(op["steps"] for op in found["operators"])
    assert set(found["buffers"][0]) == {
        "name", "role", "tensors", "rows", "row_bytes", "layout", "memory", "stored", "first", "last", "peak",
    }  # fmt: skip
    assert set(found["cells"][0]) == {
        "buffer", "tensor", "row", "offset", "bytes", "memory", "first", "last", "role",
    }  # fmt: skip
    assert {c["buffer"] for c in found["cells"]} == set(range(len(found["buffers"])))


@pytest.mark.parametrize("options", PLANS.values(), ids=PLANS)
def test_what_is_live_at_the_peak_adds_up(options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    found = planned(capsys, *options)
    assert sum(h["bytes"] for h in found["peak"]["holds"]) == found["totals"]["live"]
    assert max(s["live"] for s in found["steps"]) <= found["totals"]["live"]
    live = [c for c in found["cells"] if c["first"] <= found["peak"]["step"] <= c["last"]]
    assert len({b for c in live for b in range(c["offset"], c["offset"] + c["bytes"])}) == found["totals"]["live"]


@pytest.mark.parametrize("options", PLANS.values(), ids=PLANS)
def test_cells_share_bytes_only_while_one_is_written_over_the_other(
    options: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    cells = planned(capsys, *options)["cells"]
    for i, a in enumerate(cells):
        for b in cells[:i]:
            apart = a["offset"] >= b["offset"] + b["bytes"] or b["offset"] >= a["offset"] + a["bytes"]
            if apart or a["first"] > b["last"] or b["first"] > a["last"]:
                continue
            before, after = sorted((a, b), key=lambda c: c["first"])
            assert before["last"] == after["first"] and before["offset"] == after["offset"], (a, b)


@pytest.mark.parametrize("options", PLANS.values(), ids=PLANS)
def test_svg(options: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "arena.svg"
    assert mote(capsys, "plan", DIGITS, "--svg", str(path), *options)[0] == 0
    found = planned(capsys, *options)
    root = ElementTree.parse(path).getroot()
    assert root.tag == f"{SVG}svg"
    boxes = [r for r in root.iter(f"{SVG}rect") if r.get("class") == "box"]
    areas = sum(float(r.get("width", "0")) * float(r.get("height", "0")) for r in boxes)
    inside = 900 / (found["totals"]["steps"] + 2) * 440 / found["totals"]["arena"]
    expected = sum(c["bytes"] * (c["last"] - c["first"] + 1) for c in found["cells"])
    assert areas / inside == pytest.approx(expected, rel=0.02)
    tips = [r.findtext(f"{SVG}title", "") for r in boxes]
    assert all("bytes at offset" in tip for tip in tips)
    assert {b["name"] for b in found["buffers"] if any(b["name"] in tip for tip in tips)} == {
        b["name"] for b in found["buffers"]
    }
    text = " ".join(t.text or "" for t in root.iter(f"{SVG}text"))
    assert "bytes" in text and "step" in text and "peak: " in text


def test_names_from_the_file_are_escaped(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    w = Writer("odd")
    x = w.input("x", (1, 4), "int8", scale=0.1)
    y = w.tensor('<b onload="x()">&\x01]]>', (1, 4), "int8", scale=0.1)
    w.op("RELU", [x], [y])
    w.output(y)
    (tmp_path / "m.tflite").write_bytes(w.finish())
    path = tmp_path / "arena.svg"
    assert mote(capsys, "plan", str(tmp_path / "m.tflite"), "--svg", str(path))[0] == 0
    root = ElementTree.parse(path).getroot()
    assert not list(root.iter(f"{SVG}b"))
    assert any('<b onload="x()">&\\x01]]>' in (t.text or "") for t in root.iter(f"{SVG}title"))


def test_the_map_fits_a_terminal() -> None:
    for options in ({}, {"least_ram": True}):
        lines = arena_maps(MemoryMap(api.compile(DIGITS, **options).plan)).splitlines()
        assert len(lines) <= 23 and max(map(len, lines)) <= 100


def test_several_memories(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ram = '[[memory]]\nname = "{}"\nkind = "ram"\nsize = {}\nwait = {}\n'
    (tmp_path / "two.toml").write_text(
        'extends = "cortex-m4"\n' + ram.format("TCM", 600, 0) + ram.format("SRAM", 4000, 2)
    )
    options = ("--target", str(tmp_path / "two.toml"), "--svg", str(tmp_path / "arena.svg"))
    found = planned(capsys, *options)
    assert [m["name"] for m in found["memories"]] == ["TCM", "SRAM"] and found["memories"][0]["arena"] <= 600
    assert {c["memory"] for c in found["cells"]} == {0, 1}
    assert sum(h["bytes"] for h in found["peak"]["holds"]) == found["totals"]["live"]
    text = [t.text for t in ElementTree.parse(tmp_path / "arena.svg").getroot().iter(f"{SVG}text")]
    assert {"TCM", "SRAM"} <= set(text)
    assert "in SRAM:" in mote(capsys, "plan", DIGITS, *options)[1]


def test_rings_are_found() -> None:
    assert ring((0, 8, 16, 0, 8)) == 3
    assert ring((0, None, 16, 0, 8)) == 3
    assert ring((0, 8, 16)) is None


def test_ticks_are_round() -> None:
    assert list(svg.ticks(0, 11, 16)) == list(range(12))
    assert list(svg.ticks(0, 599, 7)) == [0, 100, 200, 300, 400, 500]
    assert [name for _, name in svg.byte_ticks(0, 9000, 5)] == ["0", "2 KB", "4 KB", "6 KB", "8 KB"]


def test_a_plan_of_one_step_can_be_drawn(tmp_path: Path) -> None:
    net = Net()
    memory = MemoryMap(api.compile(net.finish(net.moved("RELU", [net.input(1, 4)]))).plan)
    ElementTree.fromstring(plans.arena(memory, "one"))
    assert arena_maps(memory)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--ram", "100"), "bytes of RAM at least"),
        (("--point", "tiny"), "'tiny' is not the name of a point"),
        (("--svg", "absent/x.svg"), "absent/x.svg: cannot be written (No such file or directory)"),
    ],
)
def test_errors(options: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = mote(capsys, "plan", DIGITS, *options)
    assert status == 1 and out == "" and "Traceback" not in err and reason in err


def test_what_is_inside_of_control_flow(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "loops.tflite")
    Path(path).write_bytes(flows.counting(5))
    known, asked = json.loads(mote(capsys, "plan", path, "--json")[1])["operators"][-2:]
    (body,) = known["bodies"]
    assert body["turns"] == 5 and [x["op"] for x in body["operators"]] == ["CONV_2D", "DEPTHWISE_CONV_2D", "CONV_2D"]
    assert [b["turns"] for b in asked["bodies"]] == [None, None]
    assert "'body': 5 turns, " in mote(capsys, "plan", path)[1]
    assert "WHILE, 'condition': LESS" in mote(capsys, "inspect", path)[1]
    assert "as many turns as its condition says" in mote(capsys, "compile", path, "-o", str(tmp_path / "c"))[1]
