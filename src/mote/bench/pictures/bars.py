"""SVG of horizontal bars, one per item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mote.bench.pictures.svg import CHARACTER, LINE, Canvas, ticks

MARGIN, TOP, BAR = 16, 64, 420
"""Margin, space above the bars, and width of the longest bar, in pixels."""


@dataclass(frozen=True)
class DrawnBar:
    """A bar: its parts from left to right as (value, colour), and a note after it."""

    name: str
    parts: Sequence[tuple[float, str]]
    note: str
    tip: str


def drawn_bars(bars: Sequence[DrawnBar], title: str, told: str, axis: str, *, top: float, most_ticks: int) -> str:
    """SVG of bars on an axis from 0 to `top`; `axis` is its name and unit."""
    left = MARGIN + CHARACTER * max((len(bar.name) for bar in bars), default=0) + 8
    notes = CHARACTER * max((len(bar.note) for bar in bars), default=0) + 2 * MARGIN
    canvas = Canvas(max(left + BAR + notes, CHARACTER * max(len(told), len(title) * 1.4) + 2 * MARGIN), title)
    canvas.text(MARGIN, 24, title, kind="title")
    canvas.text(MARGIN, 42, told)
    bottom = TOP + LINE * 1.25 * len(bars)
    for tick in ticks(0, top, most_ticks):
        x = left + tick / top * BAR
        canvas.line(x, TOP - 4, x, bottom, "grid")
        canvas.text(x, bottom + 16, f"{tick:,}", anchor="middle")
    for i, bar in enumerate(bars):
        y, end = TOP + LINE * 1.25 * i, left
        canvas.text(left - 6, y + 12, bar.name, anchor="end")
        for value, paint in bar.parts:
            length = value / top * BAR
            canvas.rect(end, y + 2, length, LINE - 2, bar.tip, fill=paint, fill_opacity=0.8)
            end += length
        canvas.text(end + 6, y + 12, bar.note)
    canvas.line(left, TOP - 4, left, bottom)
    canvas.text(left + BAR / 2, bottom + 34, axis, anchor="middle")
    return canvas.finish(bottom + 46)
