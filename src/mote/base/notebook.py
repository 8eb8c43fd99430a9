"""HTML of results in notebooks: a title, a line of facts, and small tables, for light and dark pages. Colours are
inherited from the page (`currentColor`), and nothing is loaded from elsewhere."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from mote.base.text import printable

MOST_ROWS = 60
"""Maximum rows of a table that are shown; further rows are only counted."""
_NUMBER = "text-align:right;font-variant-numeric:tabular-nums;"
_CELL = "padding:1px 10px 1px 0;border:0;background:none;color:inherit;vertical-align:top;"
_RULE = "border-bottom:1px solid color-mix(in srgb, currentColor 35%, transparent);"
_TABLE = "border-collapse:collapse;margin:4px 0 0;background:none;color:inherit;font-size:90%;"


def card(title: str, facts: Mapping[str, object], *parts: str, notes: Iterable[str] = ()) -> str:
    """HTML of a result: its title, key facts in one line, notes, and `parts`, which are HTML already."""
    line = " · ".join(f"{_text(name)} <b>{_text(value)}</b>" for name, value in facts.items() if value is not None)
    said = "".join(f"<div>{_text(note)}</div>" for note in notes)
    return (
        f'<div class="mote-result" style="overflow-x:auto"><div><b>{_text(title)}</b></div>'
        f"<div>{line}</div>{said}{''.join(parts)}</div>"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[object]], *, left: int = 1, caption: str = "") -> str:
    """An HTML table whose first `left` columns are text and the others numbers; columns without any value are
    omitted."""
    kept = [i for i in range(len(head)) if any(row[i] not in (None, "") for row in rows)]
    above = f'<caption style="text-align:left">{_text(caption)}</caption>' if caption else ""
    names = "".join(f'<th scope="col" style="{_style(i, left)}{_RULE}">{_text(head[i])}</th>' for i in kept)
    lines = "".join(
        "<tr>" + "".join(f'<td style="{_style(i, left)}">{_text(row[i])}</td>' for i in kept) + "</tr>"
        for row in rows[:MOST_ROWS]
    )
    more = len(rows) - MOST_ROWS
    rest = f"<div>and {more:,} more</div>" if more > 0 else ""
    if not kept:
        return ""
    return f'<table style="{_TABLE}">{above}<thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table>{rest}'


def folded(title: str, part: str) -> str:
    """HTML that is collapsed under a title until it is clicked."""
    return f"<details><summary>{_text(title)}</summary>{part}</details>" if part else ""


def picture(svg: str, title: str) -> str:
    """An SVG as an image in the page, isolated from the page's styles."""
    data = b64encode(svg.encode()).decode()
    return f'<img style="max-width:100%" alt="{_text(title)}" src="data:image/svg+xml;base64,{data}">'


def sizes(nbytes: int | None) -> str | None:
    """A size as text, in bytes or KiB."""
    if nbytes is None:
        return None
    return f"{nbytes:,} bytes" if nbytes < 10_240 else f"{nbytes / 1024:,.1f} KiB"


def _style(column: int, left: int) -> str:
    return _CELL + ("text-align:left;" if column < left else _NUMBER)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return escape(printable(str(value)))
