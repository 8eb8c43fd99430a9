"""The C in the report: lines of each layer, their part of the plan, shortened tables, all files once."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.ui.reporter import html
from mote.ui.reporter.listing import Listing, shortened
from mote.ui.reporter.sections import graph
from mote.ui.reporter.sections.source import SECTION, source, texts
from mote.ui.reporter.subject import Subject, Subjects
from tests.helpers.browser import Browser
from tests.helpers.flow import Flow

MODELS = Path(__file__).parents[3] / "models"
HOSTILE = '</script><script>alert("1")</script>*/ é'


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without other sections, some of which need a compiler."""
    monkeypatch.setattr(html, "SECTIONS", (graph.SECTION, SECTION))


@pytest.fixture(scope="module")
def digits() -> Subject:
    return Subject(mote.compile(MODELS / "digits.tflite", target="cortex-m4"))


def lines_of(subject: Subject, number: str) -> dict[str, str]:
    """The C of a layer, by its titles."""
    told, every = source(subject), texts(Subjects((subject,)))
    shown: dict[str, str] = {}
    for title, file, first, last in told["layers"][number]["parts"]:
        rows = every[told["files"][file][1]].split("\n")[first:last]
        assert rows and rows[0].strip(), (title, first, last)
        shown[title] = "\n".join([shown[title], *rows] if title in shown else rows)
    return shown


def test_every_layer_has_its_call_and_its_parameters(digits: Subject) -> None:
    for place, (layer, (op, steps)) in enumerate(zip(digits.layers, digits.compiled.plan.works, strict=True)):
        shown = lines_of(digits, layer.number)
        assert shown["Call"].startswith(f"    case {place}: /* {op.kind} ")
        assert f"mote_{steps[0].kernel.name}" in shown["Call"] and shown["Call"].endswith("break;")
        assert f"mote_{steps[0].kernel.name}_t digits_step_{place} = {{" in shown["Parameters"]
        assert shown["Kernel"]
        for name in re.findall(r"\bdigits_\d+_\w+", shown["Call"] + shown["Parameters"]):
            assert f" {name}[" in shown["Constants"]


def test_code_made_for_a_shape_is_whole(digits: Subject) -> None:
    for layer, (_, steps) in zip(digits.layers, digits.compiled.plan.works, strict=True):
        made = lines_of(digits, layer.number).get("Code for this shape", "")
        assert made == "\n".join(dict.fromkeys(map(str, steps[0].kernel.instances)))


def test_steps_and_buffers_are_those_of_the_plan(digits: Subject) -> None:
    plan, told = digits.compiled.plan, source(digits)["layers"]
    taken = [step for layer in told.values() for a, b in layer["plan"]["steps"][1] for step in range(a, b + 1)]
    assert sorted(taken) == list(range(len(plan.steps)))
    for layer, (op, _) in zip(digits.layers, plan.works, strict=True):
        made = [buffer for buffer in told[layer.number]["plan"]["buffers"] if buffer[0] == "output"]
        assert [buffer[1] for buffer in made] == list(op.outputs)
        assert [buffer[3] for buffer in made] == [min(plan.place[t].offsets, key=lambda o: o or 0) for t in op.outputs]


def test_long_tables_say_how_long_they_are() -> None:
    values = np.arange(600, dtype=np.int16)
    table = "static const int16_t a_b[600] MOTE_ALIGNED = {\n" + "    1, 2,\n" * 300 + "};\n"
    cut = shortened(f"int x;\n{table}int y;\n")
    assert f"600 elements, {values.nbytes:,} bytes" in cut and cut.count("\n") == 8
    structs = "\nstatic const mote_channel_t c[6] = {\n" + "    {1, -2, 3},\n" * 6 + "};\n"
    assert "6 elements, 72 bytes" in shortened(structs)
    assert shortened("static const int8_t a[2] = {\n    1, 2,\n};\n").count("1, 2") == 1


def test_files_are_there_once_for_all_targets(digits: Subject) -> None:
    other = Subject(replace(digits.compiled, project=replace(digits.compiled.project)))
    assert texts(Subjects((digits, other))) == texts(Subjects((digits,)))
    every = texts(Subjects((digits,)))
    assert {name for name, _ in source(digits)["files"]} == set(digits.compiled.project.files)
    assert {every[key] for _, key in source(digits)["files"]} == set(every.values())


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    "options",
    [
        {"target": "cortex-m4", "single_file": True, "input": "rows"},
        {"target": "host", "instances": True, "red_zones": True},
        {"target": "atmega2560"},
        {"target": "rp2040", "cores": 2},
    ],
    ids=str,
)
def test_other_ways_to_emit(options: dict[str, Any]) -> None:
    subject = Subject(mote.compile(MODELS / "digits.tflite", **options))
    shown = [lines_of(subject, layer.number) for layer in subject.layers]
    assert all(titles["Call"] and titles["Parameters"] for titles in shown)
    assert all("Kernel" in titles for titles in shown) or "single_file" in options


def test_bodies_of_control_flow_are_functions() -> None:
    flow = Flow(1)
    flag, x = flow.flag(1), flow.input(1, 4)
    y = flow.choose(
        flag,
        [x],
        lambda f, a: [f.op("ADD", [a[0], a[0]], quant=f.quants[a[0]])],
        lambda f, a: [f.fully_connected(a[0], 4, quant=f.quants[a[0]])],
        [flow.like(x)],
    )
    subject = Subject(mote.compile(flow.finish(*y), target="host", shrink=False))
    (layer,) = subject.layers
    shown = lines_of(subject, layer.number)
    assert shown["Function"].count("static void") == 2 and "mote_fully_connected" in shown["Kernel"]


def test_definitions_are_found_with_their_comments() -> None:
    text = (
        "/* A\n * thing. */\nstatic inline void f(int a,\n    int b) {\n    if (a) {\n    }\n}\n\n"
        "#define M(a) \\\n    b \\\n    c\n\nMOTE_CALL(f, g)\n\ntypedef struct {\n    int x;\n} t_t;\nint g(void);\n"
        "int h(void) { return 1; }\n"
    )
    places = {name: (p.first, p.last) for name, p in Listing.of({"a.h": text}).places.items()}
    assert places == {"f": (0, 7), "M": (8, 11), "t_t": (14, 17), "h": (18, 19)}


def test_a_page_shows_layers_and_files(digits: Subject, browser: Browser) -> None:
    with browser.open(html.page(html.report_data(Subjects((digits,))))) as page:
        page.click('#graph [data-layer="3"]')
        assert "case 3:" in page.evaluate("document.querySelector('#source pre').textContent")
        assert page.evaluate("document.querySelector('#source h3').classList.contains('selected')")
        page.click("#source summary")
        assert "smlad" in page.evaluate("document.querySelector('#source details pre').textContent")
        page.click("#source .headers button")
        text = page.evaluate("document.querySelector('#source pre').textContent")
        assert text == shortened(digits.compiled.project.files["digits.c"])
        kinds = "new Set([...document.querySelectorAll('#source pre span')].map((node) => node.className))"
        assert set(page.evaluate(f"[...{kinds}]")) == {
            *("c-comment", "c-string", "c-directive", "c-keyword", "c-type", "c-number", "c-call")
        }
        page.evaluate("report.page.select('7')")
        assert "mote_softmax_s8" in page.evaluate("document.querySelector('#source pre').textContent")
        assert page.errors == []


def test_c_is_text(digits: Subject, browser: Browser) -> None:
    project = digits.compiled.project
    files = {name: text.replace("/* ", f"/* {HOSTILE} ", 1) for name, text in project.files.items()}
    subject = Subject(replace(digits.compiled, project=replace(project, files=files)))
    with browser.open(html.page(html.report_data(Subjects((subject,))))) as page:
        page.click("#source .headers button")
        assert HOSTILE in page.evaluate("document.querySelector('#source pre').textContent")
        assert page.errors == []
