"""How results are shown: a line, HTML for notebooks, JSON types."""

from __future__ import annotations

import json
import re
from dataclasses import is_dataclass
from html.parser import HTMLParser
from typing import Any

VOID = {"img", "br", "hr"}


class Balanced(HTMLParser):
    """Elements that are closed in order, and no script among them."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script"
        for name, value in attrs:
            assert not name.startswith("on")
            assert not re.search(r"https?:|url\(", value or ""), "nothing is loaded from elsewhere"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def parsed(html: str) -> Balanced:
    page = Balanced()
    page.feed(html)
    page.close()
    assert not page.open
    return page


def assert_readable(result: Any) -> None:
    """A data class whose `repr` is one line, whose HTML is complete and whose JSON any reader takes."""
    name = type(result).__name__
    assert is_dataclass(result)
    line = repr(result)
    assert line.startswith(f"<{name} ") and "\n" not in line and len(line) < 300
    assert parsed(result._repr_html_()).text.strip()
    assert json.loads(json.dumps(result.json(), allow_nan=False))
