"""Confusion matrices and layer noise as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite

from mote.bench.pictures.bars import DrawnBar, drawn_bars
from mote.bench.pictures.svg import CHARACTER, Canvas

MARGIN, TOP = 16, 64
RIGHT, WRONG, PLAIN = "#3fb950", "#f0883e", "#4a90d9"
"""Colours of correct, wrong and neutral items, readable on light and dark backgrounds."""
CELL, MOST_PIXELS = 34, 1200
"""Side of a cell in small matrices, and maximum side of a matrix, in pixels."""
NUMBERED = 20
"""Minimum cell size in pixels to show a number."""
LONGEST = 40
"""Maximum characters of a name."""


def confusion(matrix: Sequence[Sequence[int]], names: Sequence[str], title: str) -> str:
    """SVG of a confusion matrix: rows are labels, columns predictions, coloured by share."""
    labels = [_short(name) for name in names]
    margin = MARGIN + CHARACTER * max(map(len, labels)) + 24
    side = min(CELL, MOST_PIXELS / len(matrix))
    size = side * len(matrix)
    top = TOP + CHARACTER * max(map(len, labels)) * 0.75
    canvas = Canvas(max(margin + size + 90, CHARACTER * len(title) * 1.4 + 2 * MARGIN), title)
    canvas.text(MARGIN, 24, title, kind="title")
    canvas.text(MARGIN, 42, "rows: labels; columns: answers; colour: the share of a label's samples")
    every = max(1, ceil(10 / side))
    for i, (name, row) in enumerate(zip(labels, matrix, strict=True)):
        y, total = top + i * side, sum(row)
        if i % every == 0:
            canvas.text(margin - 6, y + side / 2 + 4, name, anchor="end")
            canvas.text(margin + i * side + side / 2 + 4, top - 6, name, turn=-45)
        for k, count in enumerate(row):
            _cell(canvas, margin + k * side, y, side, count, total, i == k, f"{names[i]} taken for {names[k]}")
        if total and i % every == 0:
            canvas.text(margin + size + 8, y + side / 2 + 4, f"{100 * row[i] / total:.1f}%")
    right, bottom = margin + size, top + size
    canvas.path([(margin, top), (right, top), (right, bottom), (margin, bottom), (margin, top)])
    return canvas.finish(bottom + MARGIN)


def _cell(canvas: Canvas, x: float, y: float, side: float, count: int, total: int, right: bool, what: str) -> None:
    if not count:
        return
    share = count / total
    paint = {"fill": RIGHT if right else WRONG, "fill_opacity": round(0.15 + 0.75 * share, 3)}
    canvas.rect(x, y, side, side, f"{what}: {count:,} of {total:,}", **paint)
    if side >= NUMBERED:
        canvas.text(x + side / 2, y + side / 2 + 4, f"{count:,}", anchor="middle")


@dataclass(frozen=True)
class Bar:
    """A bar for a layer: its name, signal-to-noise ratio in dB, and tooltip."""

    name: str
    decibels: float
    note: str
    tip: str
    worst: bool


def noise(bars: Sequence[Bar], title: str) -> str:
    """SVG of the layers' signal-to-noise ratios, first to last; longer bars are better."""
    most = max((bar.decibels for bar in bars if isfinite(bar.decibels)), default=1.0)
    top = max(most * 1.05, 1.0)
    drawn = [
        DrawnBar(
            bar.name,
            [(top if bar.decibels > most else max(bar.decibels, 0.0), WRONG if bar.worst else PLAIN)],
            bar.note,
            bar.tip,
        )
        for bar in bars
    ]
    told = "signal to noise of each layer's output, and the noise that the layer adds"
    return drawn_bars(drawn, title, told, "signal to noise (dB)", top=top, most_ticks=8)


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else "\u2026" + name[-(LONGEST - 1) :]
