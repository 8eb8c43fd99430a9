"""The front in the report: its points, and commands that give them."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

import mote
from mote.compiler.options.parsing import FASTEST, LEAST
from mote.ui.cli import parser
from mote.ui.cli.options.compiling import settings
from mote.ui.reporter import html
from mote.ui.reporter.command import compile_command
from mote.ui.reporter.sections.front import front
from mote.ui.reporter.subject import Subject, Subjects
from tests.helpers.browser import Browser

AT = """(chart, line) => {
    const [box, at] = [chart, line].map((name) => document.querySelector(name).getBoundingClientRect());
    return (at.x + at.width / 2 - box.x) / box.width;
}"""
"""Where a line is in a chart, as a fraction of its width."""
DIGITS = str(Path(__file__).parents[3] / "models" / "digits.tflite")


@pytest.fixture(scope="module")
def subject() -> Subject:
    compiled = mote.compile(DIGITS, target="stm32l4r5", optimize="speed", shrink=False)
    return Subject(compiled, mote.explore(DIGITS, compiled.settings, points=3, measure=False))


@pytest.mark.slow
def test_points_are_those_of_explore(subject: Subject) -> None:
    told = front(subject)
    assert told is not None and subject.front is not None
    best = [point["name"] for point in told["points"] if point["best"]]
    assert best == [point.name for point in subject.front.points]
    names = {name for point in told["points"] for name in (point["name"], *point["aliases"])}
    assert {LEAST, FASTEST} <= names and len(told["points"]) == len({point["name"] for point in told["points"]})


@pytest.mark.slow
def test_the_command_gives_the_settings(subject: Subject) -> None:
    words = compile_command(subject.compiled)
    assert words[:2] == ["mote", "compile"] and "--no-shrink" in words and "--name" not in words
    arguments = parser("compile").parse_args([*words[1:], "-o", "anywhere"])
    assert settings(arguments) == replace(subject.compiled.settings, name="")


@pytest.mark.slow
def test_a_point_compiles_to_what_it_says(subject: Subject) -> None:
    told = front(subject)
    assert told is not None
    for point in told["points"]:
        words = shlex.split(f"{told['command']} --point {point['name']} -o anywhere")
        compiled = mote.compile(DIGITS, settings(parser("compile").parse_args(words[1:])))
        assert (compiled.plan.ram, compiled.cost) == (point["ram"], point["cost"])


@pytest.mark.slow
def test_budgets_and_the_cursor_choose_the_command(subject: Subject, browser: Browser) -> None:
    told = front(subject)
    assert told is not None
    points = told["points"]
    with browser.open(html.page(html.report_data(Subjects((subject,))))) as page:
        command = "document.querySelector('#front .command code').textContent"
        fastest = min(points, key=lambda point: point["cost"])
        assert f"--point {fastest['name']} " in page.evaluate(command)
        page.evaluate("document.querySelector('#front .budgets input').focus()")
        page.key("Home")
        least = min(points, key=lambda point: (point["ram"], point["cost"]))
        assert f"--point {least['name']} " in page.evaluate(command)
        other = next(point for point in points if point is not least)
        page.hover(f"#front [data-point='{other['name']}']")
        assert f"--point {other['name']} " in page.evaluate(command)
        page.click("#front .views label:nth-of-type(3)")
        assert "flash of constants" in page.evaluate("document.querySelector('#front .front').textContent")
        assert page.errors == []


def test_a_budget_is_dragged(subject: Subject, browser: Browser) -> None:
    with browser.open(html.page(html.report_data(Subjects((subject,))))) as page:
        limit = "Number(document.querySelector('#front .budgets input').value)"
        before = page.evaluate(limit)
        at = page.evaluate(AT, "#front svg", "#front .down .handle")
        page.drag("#front svg", (at, 0.5), (at / 2, 0.5))
        assert page.evaluate(limit) < before and page.errors == []
