"""A page that everybody can use has no findings, and each defect that is planted in it has one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.helpers.accessibility import accessibility, contrast, luminance
from tests.helpers.browser import Browser, Page

GOOD = """<!doctype html><html lang="en"><head><title>Good</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 16px/1.5 sans-serif; color: #222; background: #fff; margin: 1rem; }
button, select, input { min-height: 24px; min-width: 24px; }
table { width: 100%; } .muted { color: #666; } .bar { background: #123; color: #eee; }
header { position: sticky; top: 0; background: #fff; }
.wide { overflow-x: auto; } .wide p { width: 900px; }
.reader { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
[role=tab] { min-width: 30px; } :focus-visible { outline: 2px solid #04c; }
</style></head><body>
<header><nav aria-label="Sections"><ul><li><a href="#one">One</a></li>
<li><a href="#two">Two</a></li></ul></nav></header>
<main>
<h1>Report</h1>
<h2 id="one">One</h2><p class="muted">Text with <a href="#two">a link</a> in it.
<span class="reader">only read</span></p>
<p class="bar">Light on dark</p>
<label for="name">Name</label> <input id="name" value="digits" aria-describedby="help">
<span id="help">of the model</span>
<label><input type="checkbox"> all</label>
<fieldset><legend>Kind</legend><label><input type="radio" name="k" checked> a</label>
<label><input type="radio" name="k"> b</label></fieldset>
<button type="button" id="go"><svg width="16" height="16" aria-hidden="true"><rect width="9" height="9"/></svg>
Go</button>
<button type="button" id="x" aria-label="Close">x</button>
<div role="tablist" aria-label="Views"><button role="tab" aria-selected="true">1</button>
<button role="tab" aria-selected="false" tabindex="-1">2</button></div>
<h2 id="two">Two</h2>
<svg role="img" aria-label="Bars" width="200" height="60" viewBox="0 0 200 60">
<rect width="200" height="60" fill="#eee"/><rect class="b" width="100" height="40" fill="#024"/>
<line x1="0" x2="200" y1="20" y2="20" stroke="#888"/>
<text id="in" x="5" y="25" fill="#fff" font-size="12">inside</text>
<text id="out" x="120" y="25" fill="#222" font-size="12">outside</text></svg>
<h3>Table</h3><table><caption>Layers</caption><tr><th scope="col">layer</th><th scope="col">cycles</th></tr>
<tr><th scope="row">conv</th><td>12</td></tr></table>
<img alt="a dot" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
<div class="wide" role="region" aria-label="Wide" tabindex="0"><p>As wide as it needs.</p></div>
<details><summary>More</summary><p>Hidden until it is opened.</p></details>
</main></body></html>"""

DEFECTS = [
    ('lang="en"', "", "no language"),
    ("<title>Good</title>", "<title> </title>", "no title"),
    ("initial-scale=1", "user-scalable=no", "prevents zooming"),
    ('<meta name="viewport" content="width=device-width, initial-scale=1">', "", "no <meta name=viewport>"),
    ("main>", "div>", "0 main landmarks"),
    ("main>", "div>", 'no landmark: "Report"'),
    ("nav", "div", "no nav landmark"),
    ("</header>", '</header><nav aria-label="Sections"></nav><nav></nav><nav>n</nav>', "no different names"),
    ("h1>", "h2>", "0 headings of level 1"),
    ("<h1>", "<h1>Two</h1><h1>", "2 headings of level 1"),
    ("h3>", "h4>", "jumps from level 2 to 4"),
    ("<h3>Table</h3>", "<h3><br></h3>", "heading without text"),
    ('id="x"', 'id="go"', '2 elements have the id "go"'),
    ('aria-describedby="help"', 'aria-describedby="hlep"', 'aria-describedby="hlep" names no element'),
    ('<a href="#two">a', '<a href="#three">a', 'link to "#three"'),
    ('id="x"', 'id="x" tabindex="3"', "tabindex above 0"),
    ('aria-label="Close">x', 'aria-label="">', "button without a name: <button#x>"),
    ('for="name"', 'for="go"', "textbox without a name: <input#name>"),
    (">all<".replace("all", " all"), "><", "checkbox without a name"),
    ('<a href="#two">Two</a>', '<a href="#two"><br></a>', "link without a name"),
    (' aria-label="Wide"', "", "region without a name"),
    (' aria-label="Bars"', "", "picture without a name"),
    ('role="img"', "", "picture without a role"),
    ('alt="a dot"', "", "image without alt"),
    ("<img", "<canvas></canvas><img", "without a name: <canvas>"),
    ('<th scope="col">cycles', "<th>cycles", "<th> without scope"),
    ('<th scope="col">layer', '<th scope="col">', "empty <th>"),
    ("<th", "<td", "table without <th>"),
    ('role="tablist"', 'role="tabs"', 'no role is called "tabs"'),
    (' aria-selected="true"', "", "role tab without aria-selected"),
    ("<rect class", '<a href="#one"><rect width="30" height="30"/></a><rect class', "role img hides controls"),
    ("<p class", '<p aria-hidden="true"><button>b</button></p><p class', "hidden from readers, but takes the focus"),
    ('role="region"', "", "takes the focus without a role"),
    ("<p class", "<li>item</li><p class", "<li> in no list"),
    ("<p class", "<dd>item</dd><p class", "<dd> in no <dl>"),
    ("color: #666", "color: #999", 'contrast of 2.85 instead of 4.5 (#999999 on #ffffff): "Text with"'),
    ('class="muted"', 'style="opacity: 0.5"', 'instead of 4.5 (#909090 on #ffffff): "Text with"'),
    ("<h1>Report", '<h1 style="color: #aaa">Report', "instead of 3.0 (#aaaaaa on #ffffff)"),
    ('fill="#fff"', 'fill="#456"', '(#445566 on #002244): "inside" of <text#in>'),
    ('x="120" y="25"', 'x="70" y="25"', '(#222222 on #002244): "outside" of <text#out>'),
    ("background: #123", "background: linear-gradient(90deg, #123, #fff 90px)", '"Light on dark"'),
    ('value="digits"', 'placeholder="digits" style="background: #888"', '"digits" of <input#name>'),
    (":focus-visible { outline: 2px solid #04c", ":focus { outline: 0", "looks the same with the focus"),
    ("<p class", '<p style="cursor: pointer" id="click">c</p><p class', "not with the keyboard: <p#click>"),
    ('id="x"', 'id="x" tabindex="-1"', "Tab does not reach <button#x>"),
    ('id="x"', 'id="x" style="min-width: 8px; min-height: 8px; height: 12px; padding: 0"', "target of"),
    (".wide { overflow-x: auto", ".wide { overflow-x: visible", "pixels wide in a window of 640"),
]

BATCHES = 7
"""Pages that the defects are planted in; neighbours in the list may hide one another."""


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    with browser.open(GOOD, width=640) as opened:
        yield opened


def test_a_good_page_has_no_findings(page: Page) -> None:
    page.go(GOOD)
    for width, dark in ((1280, False), (640, True), (320, False)):
        page.resize(width)
        page.emulate(dark=dark)
        assert accessibility(page) == []
    page.resize(640, scale=2)
    page.emulate()
    page.evaluate("scrollTo(0, 100)")
    before = page.evaluate("[document.documentElement.outerHTML, scrollY, document.activeElement.tagName]")
    assert accessibility(page, keyboard=False) == []
    assert page.evaluate("[document.documentElement.outerHTML, scrollY, document.activeElement.tagName]") == before
    page.resize(640)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_defects_are_seen(page: Page, batch: int) -> None:
    """Several defects are planted in one page, since a page takes longer than a defect."""
    planted = DEFECTS[batch::BATCHES]
    text = GOOD
    for good, bad, _ in planted:
        assert good in text
        text = text.replace(good, bad)
    page.go(text)
    findings = accessibility(page)
    unseen = [finding for _, _, finding in planted if not any(finding in text for text in findings)]
    assert not unseen, findings


def test_a_trap_of_the_keyboard_is_seen(page: Page) -> None:
    page.go(GOOD + "<script>document.querySelector('#go').onkeydown = event => event.preventDefault()</script>")
    assert any("Tab does not reach <button#x>" in finding for finding in accessibility(page))


def test_a_page_that_moves_is_measured_again(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    """Light text on a dark bar moves away while the first picture is taken."""
    page.go(GOOD.replace("<p class", '<p id="above"></p><p class', 1))
    pictures = []

    def picture() -> bytes:
        page.evaluate("document.querySelector('#above').style.height = '200px'")
        pictures.append(Page.picture(page))
        return pictures[-1]

    monkeypatch.setattr(page, "picture", picture)
    assert contrast(page) == [] and len(pictures) == 2


def test_luminance() -> None:
    """Values of WCAG's definition: white has 1, black 0, and a middle grey a fifth."""
    assert luminance(np.array([[255, 255, 255], [0, 0, 0], [118, 118, 118]])) == pytest.approx([1, 0, 0.1812], abs=1e-4)
