"""Texts that overlap, are cut off or too small are seen, and those that only look so to a careless check are not."""

from __future__ import annotations

from tests.helpers.browser import Browser
from tests.helpers.overlaps import check_picture, overlaps

HEAD = """<!doctype html><html lang="en"><title>t</title><style>
body { font: 16px/1.2 sans-serif; margin: 0; } .a { position: absolute; top: 100px; left: 20px; white-space: nowrap; }
.part { position: relative; height: 200px; }
</style>"""
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="p" width="300" height="100" viewBox="0 0 300 100">'
)

BAD = {
    "two paragraphs": ("<p class=a>one word</p><p class=a style='left: 60px'>other</p>", "overlap by"),
    "a paragraph above": ("<p style='margin: 0'>first</p><p style='margin: -9px 0 0'>second</p>", "overlap by"),
    "hidden overflow": (
        "<div style='width: 50px; overflow: hidden; white-space: nowrap'>a long line</div>",
        "cut off by",
    ),
    "hidden height": ("<div style='height: 9px; overflow: clip'>a line</div>", "cut off by <div>"),
    "dots": (
        "<div style='width: 50px; overflow: hidden; white-space: nowrap; text-overflow: ellipsis'>a long line</div>",
        "cut off by",
    ),
    "beyond the edge": ("<p style='margin-left: -30px'>word</p>", "beyond the edge"),
    "out of a box": ("<div style='width: 40px'>unbreakable-or-so</div>".replace("-", ""), "sticks out of <div>"),
    "small": ("<p style='font-size: 8px'>word</p>", "text of 8.0 px is too small"),
    "labels": (f"{SVG}<text x=10 y=50>conv_1</text><text x=40 y=55>conv_2</text></svg>", "overlap by"),
    "lines of one label": (f"{SVG}<text x=10 y=50>conv<tspan x=10 dy=6>12 kB</tspan></text></svg>", "overlap by"),
    "label outside": (f"{SVG}<text x=280 y=50>convolution</text></svg>", "cut off by <svg>"),
    "scaled down": (
        f"{SVG}<text x=9 y=50>word</text></svg>".replace("width", "data-w").replace("<svg", "<svg style='width: 90px'"),
        "is too small",
    ),
    "rotated": (
        f"{SVG}<text transform='translate(40 40) rotate(45)'>conv</text>"
        "<text transform='translate(45 40) rotate(45)'>pool</text></svg>",
        "overlap by",
    ),
    "html on svg": (f"{SVG}<text x=25 y=50>word</text></svg><p class=a style='top: 20px'>other</p>", "overlap by"),
}
GOOD = {
    "paragraphs": "<h1>Head</h1><p>one <b>two</b> <a href='#'>three</a> four</p><p>five</p>",
    "tight lines": "<p style='line-height: 0.95'>One two three<br>one two three</p><p>x</p>",
    "columns": "<table><tr><th>first</th><th>second</th></tr><tr><td>a</td><td>b</td></tr></table>",
    "scrolled": "<div style='width: 50px; overflow: auto; white-space: nowrap'>a long line of words</div>",
    "dots with a title": "<div title='a long line' style='width: 50px; overflow: hidden; white-space: nowrap;"
    " text-overflow: ellipsis'>a long line</div>",
    "hidden": "<p class=a>one word</p><p class=a hidden>other</p><p class=a style='visibility: hidden'>more</p>",
    "for readers": "<p>seen</p><p style='position: absolute; width: 1px; height: 1px; overflow: hidden'>read aloud</p>",
    "closed": "<details><summary>more</summary><p class=a>one</p><p class=a>two</p></details>",
    "sticky": "<p style='position: sticky; top: 0'>bar</p><p>a</p><p>b</p>",
    "dialog": "<p>word</p><dialog style='margin: 0'>above</dialog>"
    "<script>document.querySelector('dialog').showModal()</script>",
    "pannable": f"<div data-pannable>{SVG}<text x=280 y=9>pooling</text><text font-size=5>w</text></svg></div>",
    "labels": f"{SVG}<title>not drawn</title><text x=10 y=30>conv</text><text x=10 y=46>pool</text></svg>",
    "slanted": f"{SVG}"
    + "".join(f"<text transform='translate({x} 40) rotate(45)' font-size=12>layer</text>" for x in range(20, 200, 20))
    + "</svg>",
    "spans": f"{SVG}<text x=10 y=30>conv <tspan font-weight=bold>bold</tspan> end</text></svg>",
    "columns in a label": f"{SVG}<text y=30><tspan x=10>conv</tspan><tspan x=90>12 kB</tspan></text></svg>",
}


def test_defects_are_seen(browser: Browser) -> None:
    bodies = [body for body, _ in BAD.values()]
    with browser.open(page_of(bodies)) as page:
        for number, (name, (_, finding)) in enumerate(BAD.items()):
            findings = overlaps(page, f"#part{number}")
            assert any(finding in text for text in findings), (name, findings)


def test_readable_text_has_no_findings(browser: Browser) -> None:
    with browser.open(page_of(list(GOOD.values()))) as page:
        page.evaluate("scrollTo(0, 1000)")
        assert overlaps(page) == []
        assert page.evaluate("scrollY") == 1000


def page_of(bodies: list[str]) -> str:
    """A page with a part for each text, one below another."""
    parts = (f"<div class=part id=part{number}>{body}</div>" for number, body in enumerate(bodies))
    return HEAD + "".join(parts)


def test_pictures(browser: Browser) -> None:
    word = '<text x="10" y="20">word</text>'
    good = f"<?xml version='1.0'?>\n{SVG}{word}</svg>"
    assert check_picture(browser, good) == []
    assert any(
        "overlap by" in text for text in check_picture(browser, good.replace(word, word + word.replace("word", "x")))
    )
    assert any("contrast of" in text for text in check_picture(browser, good.replace("<text", '<text fill="#ccc"')))
    assert any("no role" in text for text in check_picture(browser, good.replace('role="img"', "")))
    assert any(
        "namespace" in text for text in check_picture(browser, good.replace(' xmlns="http://www.w3.org/2000/svg"', ""))
    )
