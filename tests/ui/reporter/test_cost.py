"""The cost of each layer in the report."""

from __future__ import annotations

from pathlib import Path

import pytest

import mote
from mote.ui.reporter import html
from mote.ui.reporter.sections.cost import cost
from mote.ui.reporter.subject import Subject, Subjects
from tests.helpers.browser import Browser
from tests.ui.reporter.conftest import MODELS

NAMES = "[...document.querySelectorAll('#cost tbody th')].map((cell) => cell.textContent)"


@pytest.fixture(scope="module")
def report(profiled: Subject, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cost") / "report.html"
    path.write_text(html.page(html.report_data(Subjects((profiled,)))), encoding="utf-8")
    return path


@pytest.mark.slow
def test_layers_are_those_of_the_profile(profiled: Subject) -> None:
    told, profile = cost(profiled), profiled.profile
    assert profile is not None and told["measured"] and told["cycles"] == profile.cycles
    assert [row[0] for row in told["layers"]] == [layer.number for layer in profile.layers]
    for _, _, cycles, instructions, code, constants, multiply, memory, other in told["layers"]:
        assert cycles == code + constants + multiply + memory + other and instructions > 0
    assert sum(row[2] for row in told["layers"]) == pytest.approx(profile.cycles, rel=0.01)
    assert profile.energy is not None
    assert told["microjoules"] == profile.energy.microjoules and told["metered"] is None
    assert sum(told["joules"]) == pytest.approx(profile.energy.microjoules, rel=0.01)


def test_multiplications_are_at_least_those_of_the_peak(profiled: Subject) -> None:
    assert profiled.profile is not None
    for layer in profiled.profile.layers:
        assert layer.mix is not None and layer.mix.multiply * (profiled.profile.peak_macs or 0) >= layer.macs


def test_without_measurements_the_estimate_is_said() -> None:
    compiled = mote.compile(MODELS / "digits.tflite", target="host")
    told = cost(Subject(compiled, reason="not here"))
    assert not told["measured"] and told["reason"] == "not here" and told["cycles"] == compiled.cost
    assert sum(row[2] for row in told["layers"]) == pytest.approx(compiled.cost, abs=len(told["layers"]))
    assert all(value is None for row in told["layers"] for value in row[3:])


def test_the_table_sorts_and_selects(profiled: Subject, report: Path, browser: Browser) -> None:
    with browser.open(report) as page:
        as_run = page.evaluate(NAMES)
        page.click("#cost thead th:nth-child(3) button")
        assert page.evaluate("document.querySelector('#cost th[aria-sort]').getAttribute('aria-sort')") == "descending"
        layers = {f"{layer.number} {layer.short}": layer.cycles for layer in profiled.layers}
        assert page.evaluate(NAMES) == sorted(as_run, key=lambda name: -(layers[name] or 0))
        page.click("#cost thead th:nth-child(3) button")
        page.click("#cost thead th:nth-child(3) button")
        assert page.evaluate(NAMES) == as_run
        page.click("#cost tbody tr:nth-child(3) button")
        assert page.evaluate("report.page.layer") == profiled.layers[2].number
        assert page.evaluate("document.querySelector('#roofline .point.selected').dataset.layer") == "2"
        assert "MACs a cycle" in page.text("#roofline .now")
        page.evaluate("document.querySelector('#roofline .point[data-layer=\"4\"]').focus()")
        page.key("Enter")
        page.settle()
        assert page.evaluate("report.page.layer") == "4"
        assert page.evaluate("document.querySelector('#cost tr.selected').dataset.layer") == "4"
        assert page.errors == [] and page.requests == []


def test_bars_have_the_shares_of_the_profile(profiled: Subject, report: Path, browser: Browser) -> None:
    told = cost(profiled)["layers"]
    with browser.open(report) as page:
        widths = page.evaluate(
            "[...document.querySelectorAll('#cost .stacked')].map((bar) => [...bar.children].reduce((sum, part) => "
            "sum + part.getBoundingClientRect().width, 0) / bar.getBoundingClientRect().width)"
        )
    most = max(row[2] for row in told)
    assert widths == pytest.approx([row[2] / most for row in told], abs=0.02)
