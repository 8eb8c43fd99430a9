"""Reports in a real browser: every section renders, all can be read and used, no network is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path

import pytest

from tests.helpers.browser import Browser, Page
from tests.helpers.look import findings
from tests.helpers.overlaps import overlaps

LARGEST = 3_000_000
"""Bytes of a report of a model of MLPerf Tiny."""
SECTIONS = "[...document.querySelectorAll('main > section')].map(section => section.id)"
EMPTY = """[...document.querySelectorAll("main > section")].filter(section => {
    const body = section.querySelector(".body");
    return !body.innerText.trim() && !body.querySelector("svg, canvas");
}).map(section => section.id)"""
BROKEN = """[...document.body.innerText
    .matchAll(/.{0,30}\\b(undefined|NaN|null|Infinity)\\b.{0,30}|\\[object .{0,20}/g)].map(match => match[0])"""
LAYERS = "[...new Set([...document.querySelectorAll('main [data-layer]')].map(node => node.dataset.layer))]"
MARKED = """[...document.querySelectorAll(".selected")].map(node => node.dataset.layer)"""
UNMARKED = """(layer => [...document.querySelectorAll(`main [data-layer="${layer}"]`)]
    .filter(node => !node.classList.contains("selected")).map(node => node.outerHTML.slice(0, 90))
)(report.page.layer)"""
POINT_OUT = """(key, focused) => {
    report.page.select(null);
    document.querySelector("[data-pointed]")?.removeAttribute("data-pointed");
    const marks = [...document.querySelectorAll(`#${key} [data-layer]`)].filter(node => node.checkVisibility());
    const mark = focused ? marks.find(node => node.tabIndex >= 0) : marks[0];
    mark?.setAttribute("data-pointed", "");
    return mark?.dataset.layer ?? null;
}"""
"""Mark a place of a layer in a section, one that takes the focus or the first; its layer."""
WIDTHS = "[...document.querySelectorAll('main > section > .body svg[width]')].map(svg => svg.getAttribute('width'))"
WORDS = """[...document.querySelectorAll("main > section")].map(section => {
    const words = [];
    const walker = document.createTreeWalker(section.querySelector(".body"), NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode())
        if (node.parentElement.checkVisibility()
                && !node.parentElement.closest("button:not([data-layer]), select, label, .tryit-inputs"))
            words.push(...node.data.split(/\\s+/).filter(word => word && !word.includes("…")));
    return [section.id, [...new Set(words)].sort()];
})"""
"""Words of each section but those of controls, which are of no use on paper."""

CHOOSE = """(label, index) => {
    const labels = [...document.querySelectorAll("#controls label")];
    const choice = labels.find(node => node.textContent.includes(label)).querySelector("select");
    choice.selectedIndex = index;
    choice.dispatchEvent(new Event("change"));
}"""


BOTH = pytest.mark.parametrize("page", ["digits", pytest.param("keywords", marks=pytest.mark.slow)], indirect=True)
"""Tests whose result depends on the model."""


@pytest.fixture(scope="module")
def page(request: pytest.FixtureRequest, browser: Browser, report_page: Callable[[str], Path]) -> Iterator[Page]:
    path = report_page(getattr(request, "param", "digits"))
    with browser.open(path, offline=True) as opened:
        opened.path = path
        yield opened


@pytest.fixture(autouse=True)
def _fresh(page: Page) -> Iterator[None]:
    """Every test begins with the page as it is opened, and ends without errors."""
    page.resize(1280)
    page.emulate()
    page.go(page.path)
    yield
    assert page.errors == [] and page.requests == []


@pytest.mark.quick_cases(1)
@BOTH
def test_a_report_is_small_and_opens_soon(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    assert page.path.stat().st_size < LARGEST
    times = page.evaluate("performance.getEntriesByType('navigation')[0].toJSON()")
    with capsys.disabled():
        print(f" {page.path.name}: ready after {times['domContentLoadedEventEnd']:.0f} ms ", end="")


@BOTH
def test_every_section_renders(page: Page) -> None:
    told = page.evaluate(
        "report.page.data.sections.filter(s => report.page.target.each[s.key] || s.whole).map(s => s.key)"
    )
    assert page.evaluate(SECTIONS) == told and told
    assert page.evaluate(EMPTY) == [] and page.evaluate(BROKEN) == []


@BOTH
@pytest.mark.parametrize(
    ("width", "dark"),
    [
        pytest.param(1280, False, id="wide-light"),
        pytest.param(320, True, id="narrow-dark"),
        pytest.param(1280, True, id="wide-dark", marks=pytest.mark.slow),
        pytest.param(320, False, id="narrow-light", marks=pytest.mark.slow),
    ],
)
def test_everybody_can_read_and_use_it(page: Page, width: int, dark: bool) -> None:
    page.resize(width)
    page.emulate(dark=dark)
    page.go(page.path)
    assert findings(page, keyboard=not dark) == []


def test_other_widths_and_zoom(page: Page) -> None:
    page.resize(640, 400, scale=2)
    page.settle()
    assert overlaps(page) == [] and page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    drawn = page.evaluate(WIDTHS)
    page.go(page.path)
    assert page.evaluate(WIDTHS) == drawn and drawn


def test_links_lead_to_sections(page: Page) -> None:
    for section in page.evaluate(SECTIONS):
        page.click(f"nav a[href='#{section}']")
        assert page.evaluate("document.activeElement.id") == section
        assert page.evaluate("location.hash") == f"#{section}"


@BOTH
def test_a_layer_is_selected_everywhere(page: Page) -> None:
    layers = page.evaluate("report.page.layers.map(layer => layer.number)")
    assert set(page.evaluate(LAYERS)) <= set(layers)
    page.evaluate("number => report.page.select(number)", layers[2])
    assert page.evaluate(UNMARKED) == [] and set(page.evaluate(MARKED)) <= {layers[2]}
    assert page.evaluate("location.hash") == f"#layer={layers[2]}" and page.text("#selected strong").startswith(
        layers[2]
    )
    page.click("#selected [aria-label='Next layer']")
    assert page.evaluate("report.page.layer") == layers[3]
    assert overlaps(page) == []
    page.resize(320)
    page.settle()
    assert page.evaluate("report.page.layer") == layers[3] and page.evaluate(UNMARKED) == []
    assert findings(page, keyboard=False) == []
    page.key("Escape")
    assert page.evaluate("report.page.layer") is None and page.evaluate(MARKED) == []
    assert page.evaluate("document.querySelector('#selected').hidden") and page.evaluate("location.hash") == ""


@pytest.mark.slow
def test_each_section_selects_layers(page: Page) -> None:
    """By a click on what it marks as a layer, and by Enter and Space on what takes the focus there."""
    for section in page.evaluate(SECTIONS):
        if (layer := page.evaluate(POINT_OUT, section, False)) is not None:
            page.click("[data-pointed]")
            assert page.evaluate("report.page.layer") == layer, section
        for key in ("Enter", "Space"):
            if (layer := page.evaluate(POINT_OUT, section, True)) is not None:
                page.evaluate("document.querySelector('[data-pointed]').focus()")
                page.key(key)
                assert page.evaluate("report.page.layer") == layer, (section, key)


def test_every_target_is_shown(page: Page) -> None:
    for index, target in enumerate(page.evaluate("report.page.data.targets.map(target => target.name)")):
        assert target in page.text("header")
        if page.evaluate("report.page.data.targets.length") > 1:
            page.evaluate(CHOOSE, "Target", index)
        assert page.evaluate("report.page.target.name") == target
        assert page.evaluate(EMPTY) == [] and page.evaluate(BROKEN) == []
        assert overlaps(page) == []


def test_the_theme_can_be_chosen(page: Page) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.emulate(dark=True)
    dark = page.evaluate(background)
    page.evaluate(CHOOSE, "Theme", 1)
    assert light != dark and page.evaluate(background) == light


def test_paper_shows_everything(page: Page) -> None:
    """In dark colours of the screen too: ink on paper is dark."""
    page.resize(718)
    page.emulate(dark=True)
    page.wait("!document.querySelector('.tryit-checked')?.textContent.startsWith('Checking')")
    screen = dict(page.evaluate(WORDS))
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate(dark=True, print_media=True)
    paper = dict(page.evaluate(WORDS))
    assert {key: lost for key, words in screen.items() if (lost := set(words) - set(paper[key]))} == {}
    assert overlaps(page) == []
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_a_notebook_shows_it_inline(page: Page, browser: Browser) -> None:
    """In a frame without an address of its own, as in Jupyter's."""
    frame = f'<title>n</title><iframe srcdoc="{escape(page.path.read_text())}" width="900" height="600"></iframe>'
    with browser.open(frame) as notebook:
        inside = "document.querySelector('iframe').contentDocument"
        notebook.wait(f"{inside}?.documentElement.dataset.ready")
        sections = notebook.evaluate(f"[...{inside}.querySelectorAll('main > section')].map(section => section.id)")
        notebook.evaluate(f"{inside}.querySelector('nav a:last-child').click()")
        assert notebook.evaluate(f"{inside}.activeElement.id") == sections[-1]
        notebook.evaluate(
            f"{inside}.querySelector('main [data-layer]')?.dispatchEvent(new Event('click', {{bubbles: true}}))"
        )
        assert notebook.evaluate(f"{inside}.querySelectorAll('main > section').length") == len(sections)
        assert notebook.errors == []
