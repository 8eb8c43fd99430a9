"""Cycles of each layer as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mote.pictures.svg import CHARACTER, LINE, Canvas, ticks

MARGIN, TOP, BAR = 16, 64, 420
"""Space around, above the bars, and the width of the longest one."""
COMPUTED, WAITED = "#4a90d9", "#f0883e"


@dataclass(frozen=True)
class CostBar:
    """The cycles of a layer, those in which the core waits for memory among them."""

    name: str
    cycles: int
    waits: int
    note: str
    tip: str


def costs(bars: Sequence[CostBar], title: str, told: str) -> str:
    """A bar for each layer, first to last, as long as its cycles."""
    left = MARGIN + CHARACTER * max((len(bar.name) for bar in bars), default=0) + 8
    notes = CHARACTER * max((len(bar.note) for bar in bars), default=0) + 2 * MARGIN
    canvas = Canvas(max(left + BAR + notes, CHARACTER * max(len(told), len(title) * 1.4) + 2 * MARGIN), title)
    canvas.text(MARGIN, 24, title, kind="title")
    canvas.text(MARGIN, 42, told)
    most = max((bar.cycles for bar in bars), default=0) * 1.05 or 1.0
    bottom = TOP + LINE * 1.25 * len(bars)
    for tick in ticks(0, most, 5):
        x = left + tick / most * BAR
        canvas.line(x, TOP - 4, x, bottom, "grid")
        canvas.text(x, bottom + 16, f"{tick:,}", anchor="middle")
    for i, bar in enumerate(bars):
        y, length = TOP + LINE * 1.25 * i, bar.cycles / most * BAR
        waited = bar.waits / most * BAR
        canvas.text(left - 6, y + 12, bar.name, anchor="end")
        canvas.rect(left, y + 2, length - waited, LINE - 2, bar.tip, fill=COMPUTED, fill_opacity=0.8)
        if bar.waits:
            canvas.rect(left + length - waited, y + 2, waited, LINE - 2, bar.tip, fill=WAITED, fill_opacity=0.8)
        canvas.text(left + length + 6, y + 12, bar.note)
    canvas.line(left, TOP - 4, left, bottom)
    canvas.text(left + BAR / 2, bottom + 34, "cycles", anchor="middle")
    return canvas.finish(bottom + 46)
