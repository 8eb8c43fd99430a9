"""The memory of a plan in the report: boxes, live bytes, RAM by use."""

from __future__ import annotations

from pathlib import Path

import pytest

import mote
from mote.bench.measure.run import run
from mote.bench.measure.runner import missing_tools
from mote.bench.pictures.memory import MemoryMap
from mote.ui.reporter import html
from mote.ui.reporter.sections.memory import colours, memory
from mote.ui.reporter.subject import Subject, Subjects
from tests.helpers.browser import Browser, Page
from tests.helpers.streams import sliding

MODELS = Path(__file__).parents[3] / "models"
RAMS = (("dtcm", 700, 0), ("sram", 65536, 1))
"""Memories of a part: name, bytes, wait."""
HELD = (
    """(() => [...document.querySelectorAll("#memory .now + div tbody tr")].map((row) => row.cells[1].textContent))()"""
)
"""Bytes in the table of what is live."""


@pytest.fixture(scope="module")
def subject() -> Subject:
    return Subject(mote.compile(MODELS / "digits.tflite", target="cortex-m4"))


@pytest.fixture(scope="module")
def report(subject: Subject, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("memory") / "report.html"
    path.write_text(html.page(html.report_data(Subjects((subject,)))), encoding="utf-8")
    return path


def covered(boxes: list[list[int]]) -> set[tuple[int, int, int]]:
    """Holding, byte and step of everything that boxes cover."""
    return {
        (holding, at, step)
        for holding, offset, end, first, last, *_ in boxes
        for at in range(offset, end)
        for step in range(first, last + 1)
    }


def test_boxes_cover_the_cells_of_the_plan(subject: Subject) -> None:
    chart = subject.memory
    cells = [[i, c.offset, c.end, c.first, c.last] for i, h in enumerate(chart.holdings) for c in h.cells]
    assert covered(memory(subject)["boxes"]) == covered(cells)
    assert sum(len(h.cells) for h in chart.holdings) == len(subject.compiled.plan.cells)


def test_live_bytes_are_those_of_boxes(subject: Subject) -> None:
    told = memory(subject)
    for step, live in enumerate(told["live"], start=-1):
        bytes_live = {
            at
            for _, offset, end, first, last, *_ in told["boxes"]
            if first <= step <= last
            for at in range(offset, end)
        }
        assert len(bytes_live) == live
    assert max(told["live"]) == told["peak"] == told["live"][told["peak_step"] + 1]
    assert told["bound"] <= told["peak"] <= sum(nbytes for _, nbytes in told["arenas"]) == subject.compiled.plan.arena


def test_every_tensor_has_a_colour_of_its_own(subject: Subject) -> None:
    told = memory(subject)
    tensors = [paint for *_, kind, _, _, _, _, paint in told["holdings"] if kind == "tensor"]
    assert len(tensors) == len(set(tensors)) > 5
    assert set(colours(subject.memory)) == set(tensors)


def test_boxes_name_the_layer_that_writes_them(subject: Subject) -> None:
    told, numbers = memory(subject), {layer.number for layer in subject.layers}
    named = {name: layer for name, kind, layer, *_ in told["holdings"] if kind == "tensor"}
    assert [layer for layer in named.values() if not layer] == [""]
    assert {layer for layer in named.values() if layer} <= numbers
    plan = subject.compiled.plan
    assert [subject.layers[i].number for i in told["steps"]] == [plan.number(step) for step in plan.steps]


def test_ram_by_use_without_measurements(subject: Subject) -> None:
    told = {name: nbytes for name, nbytes, _ in memory(subject)["ram"]}
    assert told["Stack"] is None and told["Total"] == subject.compiled.plan.ram


def test_ram_by_use_is_that_of_the_run(subject: Subject) -> None:
    if (reason := missing_tools(subject.compiled.settings.target)) is not None:
        pytest.skip(str(reason))
    ran = run(subject.compiled, layers=False)
    told = {name: nbytes for name, nbytes, _ in memory(Subject(subject.compiled, ran=ran))["ram"]}
    assert told["Total"] == ran.ram.total and told["Stack"] == ran.ram.stack and told["Arena"] == ran.ram.arena


def test_every_memory_has_its_arena(tmp_path: Path) -> None:
    part = tmp_path / "part.toml"
    memories = (f'[[memory]]\nname = "{n}"\nkind = "ram"\nsize = "{size}"\nwait = {wait}' for n, size, wait in RAMS)
    part.write_text("\n".join(['extends = "cortex-m7"', *memories]))
    told = memory(Subject(mote.compile(MODELS / "digits.tflite", target=str(part))))
    assert [name for name, _ in told["arenas"]] == [name for name, _, _ in RAMS]
    used = {told["holdings"][box[0]][3] for box in told["boxes"]}
    assert used == {0, 1} and told["arenas"][0][1] <= RAMS[0][1]
    for index, _, end, *_ in told["boxes"]:
        assert end <= told["arenas"][told["holdings"][index][3]][1]


def test_states_are_named() -> None:
    subject = Subject(mote.compile(sliding(0, 2, 6, 4), target="host"))
    plan = subject.compiled.plan
    told = {name: nbytes for name, nbytes, _ in memory(subject)["ram"]}
    assert told["States"] == plan.kept_bytes > 0 and told["Total"] == plan.ram


def held(page: Page) -> list[int]:
    return [int(text.replace(",", "")) for text in page.evaluate(HELD)]


def live_at(chart: MemoryMap, step: int) -> list[int]:
    return [nbytes for _, nbytes in chart.held(step)]


def test_the_page_shows_what_is_live(subject: Subject, report: Path, browser: Browser) -> None:
    chart = subject.memory
    with browser.open(report) as page:
        assert held(page) == live_at(chart, chart.peak_step)
        page.evaluate("document.querySelector('#memory input').focus()")
        page.key("Home")
        page.settle()
        assert held(page) == live_at(chart, -1)
        for step in range(4):
            page.key("ArrowRight")
            page.settle()
            assert sum(held(page)) == chart.live[step]
        assert page.errors == [] and page.requests == []


def test_a_layer_is_selected_in_the_arena(report: Path, browser: Browser) -> None:
    with browser.open(report) as page:
        page.evaluate("report.page.select('2')")
        page.settle()
        assert page.evaluate("document.querySelectorAll('#memory .arena .chosen').length") >= 2
        assert "layer 2 " in page.text("#memory .now")
        page.evaluate("report.page.select(null)")
        page.drag("#memory .arena", (0.95, 0.05), (0.95, 0.05))
        page.settle()
        assert page.evaluate("document.querySelectorAll('#memory .arena .chosen').length") == 0
        wide = page.evaluate("document.querySelector('#memory .arena svg').textContent")
        page.click("#memory [aria-label='Zoom in']")
        assert page.evaluate("document.querySelector('#memory .arena svg').textContent") != wide
        page.click("#memory [aria-label='All steps']")
        assert page.evaluate("document.querySelector('#memory .arena svg').textContent") == wide
        assert page.errors == []


def test_a_click_on_a_box_selects_its_layer(subject: Subject, report: Path, browser: Browser) -> None:
    with browser.open(report) as page:
        left, width = page.evaluate(
            "(() => { const b = document.querySelector('.arena').clientWidth; return [62, b]; })()"
        )
        steps = len(subject.compiled.plan.steps) + 2
        layer, box = next(
            (told[2], box)
            for told, box in ((memory(subject)["holdings"][b[0]], b) for b in memory(subject)["boxes"])
            if told[2] == "2" and told[1] == "tensor"
        )
        across = (left + (box[3] + 1.5) / steps * (width - 12 - left)) / width
        down = (40 + (box[1] + box[2]) / 2 / subject.compiled.plan.arena * 300) / (
            page.evaluate("document.querySelector('.arena').clientHeight")
        )
        page.drag("#memory .arena", (across, down), (across, down))
        assert page.evaluate("report.page.layer") == layer
