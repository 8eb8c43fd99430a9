"""Whether everybody can use a page: contrast, names, headings, landmarks, the keyboard, sizes, reflow.

    assert accessibility(page) == []

The rules are those of WCAG 2.2, level AA, that a script can judge. Names are those that the browser computes for screen
readers; contrast is measured against the pixels behind each text. Pictures that users move and magnify have the
attribute `data-pannable`, and then may have small targets and texts; so may what has `data-same-as` with the id of
something that does the same.
"""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.browser import Page

SCRIPTS = Path(__file__).parent / "in_page"
NAMED = {
    *("button", "checkbox", "combobox", "ComboBoxSelect", "dialog", "form", "gridcell", "img", "image", "link"),
    *("listbox", "menuitem", "meter", "option", "progressbar", "radio", "region", "searchbox", "slider", "spinbutton"),
    *(
        "switch",
        "tab",
        "tabpanel",
        "textbox",
        "treeitem",
        "DisclosureTriangle",
        "graphics-document",
        "application",
        "Canvas",
    ),
}
"""Roles of the accessibility tree that need a name."""
LEAST, LEAST_LARGE = 4.5, 3.0
"""Contrast of text with what is behind it; text of 24 pixels, or of 18.66 bold ones, is large."""
UNREADABLE = 0.2
"""Share of what is behind a text that may be too like it: lines of a grid, the edge of a bar."""

MOVING = 20
"""Pictures that are taken of a page whose text moves, since a script is still at work, before the last one is used."""


@cache
def script(*names: str) -> str:
    """The scripts that find what users see, and others of their folder."""
    return "\n".join((SCRIPTS / f"{name}.js").read_text(encoding="utf-8") for name in ("seen", *names))


def accessibility(page: Page, *, keyboard: bool = True) -> list[str]:
    """Everything that keeps somebody from using the page as it is shown now, in sentences.

    `keyboard=False` leaves out that Tab reaches everything, which does not depend on colours and sizes.
    """
    ruled = page.evaluate(
        f"(() => {{ {script('overlaps', 'accessibility')}"
        "const {result, undo} = still(accessibility); undo(); return result; })()"
    )
    return [*ruled, *nameless(page), *contrast(page), *(unreached(page) if keyboard else [])]


def nameless(page: Page) -> list[str]:
    """Controls and pictures without a name, by the browser's accessibility tree."""
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    wrong = [
        (node["role"]["value"], node["backendDOMNodeId"])
        for node in nodes
        if not node["ignored"] and node["role"]["value"] in NAMED and "backendDOMNodeId" in node
        if not str(node.get("name", {}).get("value", "")).strip()
    ]
    findings = []
    for role, node in wrong:
        element = page.call("DOM.resolveNode", backendNodeId=node)["object"]["objectId"]
        told = page.call(
            "Runtime.callFunctionOn",
            objectId=element,
            functionDeclaration=f"function() {{ {script()} return describe(this); }}",
            returnByValue=True,
        )
        findings.append(f"{role} without a name: {told['result']['value']}")
    return findings


def contrast(page: Page) -> list[str]:
    """Texts that are too like what is behind them."""
    pillow = pytest.importorskip("PIL.Image")
    for _ in range(MOVING):
        texts = page.evaluate(
            f"(() => {{ {script('overlaps', 'accessibility')}"
            "const {result, undo} = still(inked);"
            "window[Symbol.for('undo')] ="
            " () => { const moved = result.moved(); result.unhide(); undo(); return moved; };"
            "return result.all; })()"
        )
        try:
            page.settle()
            shot = page.picture()
        finally:
            moved = page.evaluate("window[Symbol.for('undo')]()")
        if not moved:
            break
    picture = np.asarray(pillow.open(io.BytesIO(shot)).convert("RGBX")).view(np.uint32)[..., 0]
    scale = page.evaluate("devicePixelRatio")
    return [finding for text in texts if (finding := _unlike(text, picture, scale))]


def _unlike(text: dict[str, Any], picture: np.ndarray, scale: float) -> str | None:
    """A sentence if a text has too little contrast with what is behind it."""
    places = [np.round(np.array(place) * scale).astype(int) for place in text["places"]]
    parts = [picture[max(top, 0) : bottom, max(left, 0) : right].ravel() for left, top, right, bottom in places]
    behind = np.concatenate(parts) if parts else picture[:0, 0]
    if not len(behind):
        return None
    *colour, alpha = text["colour"]
    packed, counts = np.unique(behind, return_counts=True)
    colours = packed[:, None].view(np.uint8)[:, :3]
    if text["behind"] is not None:
        colours, counts = np.array([text["behind"]]), np.array([1])
    ink = np.array(colour) * alpha + colours * (1 - alpha)
    first, second = luminance(ink), luminance(colours)
    ratios = (np.maximum(first, second) + 0.05) / (np.minimum(first, second) + 0.05)
    least = LEAST_LARGE if text["large"] else LEAST
    bad = ratios < least - 0.01
    if counts[bad].sum() <= UNREADABLE * counts.sum():
        return None
    worst = np.argmax(counts * bad)
    shown = "#" + "".join(f"{int(v):02x}" for v in colours[worst])
    own = "#" + "".join(f"{round(v):02x}" for v in ink[worst])
    return f"contrast of {ratios[worst]:.2f} instead of {least} ({own} on {shown}): {text['name']}"


def luminance(colours: np.ndarray) -> np.ndarray:
    """Relative luminance of colours in sRGB, from 0 to 1."""
    part = np.asarray(colours, dtype=float) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


PRESSED = """(() => {
    const reached = window[Symbol.for("reached")] = new Set();
    document.activeElement?.blur?.();
    getSelection().removeAllRanges();
    document.addEventListener("focusin", window[Symbol.for("note")] = event => reached.add(event.target), true);
})()"""


def unreached(page: Page) -> list[str]:
    """Controls that Tab does not reach: it is pressed until it has been everywhere."""
    page.evaluate(PRESSED)
    seen = -1
    while (now := page.evaluate("window[Symbol.for('reached')].size")) > seen:
        seen = now
        page.keys("Tab", 40)
    findings: list[str] = page.evaluate(
        f"(() => {{ {script('overlaps', 'accessibility')}"
        "document.removeEventListener('focusin', window[Symbol.for('note')], true);"
        "document.activeElement?.blur?.(); scrollTo({left: 0, top: 0, behavior: 'instant'});"
        "return unreached(window[Symbol.for('reached')]); })()"
    )
    return findings
