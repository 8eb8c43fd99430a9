"""Whether all text of a page or a picture can be read: no text lies upon another, is cut off or too small.

assert overlaps(page) == []
assert check_picture(browser, svg) == []
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from tests.helpers.accessibility import contrast, script
from tests.helpers.browser import Browser, Page

PROLOG = re.compile(r"^\s*(<\?xml.*?\?>|<!DOCTYPE.*?>|\s)*", re.DOTALL)


def overlaps(page: Page, selector: str = ":root") -> list[str]:
    """Texts of an element that overlap by more than a pixel, are cut off, stick out of their box, or have less than
    nine pixels, in sentences."""
    findings: list[str] = page.evaluate(
        f"(selector) => {{ {script('overlaps')}"
        "const {result, undo} = still(() => overlaps(document.querySelector(selector))); undo(); return result; }",
        selector,
    )
    return findings


def check_picture(browser: Browser, svg: str) -> list[str]:
    """Everything that is wrong with the text of a picture, and with its name."""
    root = ElementTree.fromstring(svg)
    if root.tag != "{http://www.w3.org/2000/svg}svg":
        return [f"the picture is <{root.tag}>, without the namespace of SVG"]
    page_of = f'<!doctype html><html lang="en"><title>picture</title><body style="margin:0">{PROLOG.sub("", svg)}'
    with browser.open(page_of) as page:
        named = page.evaluate(
            "(svg => svg.getAttribute('role') === 'img'"
            " && Boolean(svg.getAttribute('aria-label') || svg.querySelector(':scope > title')?.textContent.trim()))"
            "(document.querySelector('svg'))"
        )
        unnamed = [] if named else ["the picture has no role of img with a name: <title> or aria-label"]
        return [*unnamed, *overlaps(page, "svg"), *contrast(page), *page.errors, *page.requests]
