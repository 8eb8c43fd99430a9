"""SVG of accuracy against costs: a metric over instructions, flash and RAM, in panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mote.bench.pictures.svg import Canvas, colour, ticks

LEFT, TOP, WIDTH, HEIGHT, GAP = 76, 64, 300, 300, 56


@dataclass(frozen=True)
class TradeDot:
    """A model in a plot: cost, metric, tooltip, and whether it was chosen."""

    cost: int
    value: float
    tip: str
    chosen: bool = False


@dataclass(frozen=True)
class Panel:
    """A panel for one kind of cost, with its dots."""

    name: str
    dots: Sequence[TradeDot]


def trade(panels: Sequence[Panel], title: str, metric: str, guard: float | None = None) -> str:
    """SVG of panels with a common metric axis; a dashed line marks the accuracy limit."""
    canvas = Canvas(LEFT + len(panels) * (WIDTH + GAP), title)
    canvas.text(LEFT, 24, title, kind="title")
    values = [dot.value for panel in panels for dot in panel.dots] + ([] if guard is None else [guard])
    low, high = _padded(values)
    bottom = TOP + HEIGHT

    def height(value: float) -> float:
        return bottom - (value - low) / (high - low) * HEIGHT

    for number, panel in enumerate(panels):
        left = LEFT + number * (WIDTH + GAP)
        right = left + WIDTH
        first, last = _padded([dot.cost for dot in panel.dots])
        for tick in _levels(low, high):
            canvas.line(left, height(tick), right, height(tick), "grid")
            canvas.text(left - 6, height(tick) + 4, f"{tick:.4g}", anchor="end")
        for cost in ticks(first, last, 4):
            x = left + (cost - first) / (last - first) * WIDTH
            canvas.line(x, TOP, x, bottom, "grid")
            canvas.text(x, bottom + 16, f"{cost:,}", anchor="middle")
        canvas.line(left, TOP, left, bottom)
        canvas.line(left, bottom, right, bottom)
        canvas.text(left + WIDTH / 2, bottom + 36, panel.name, anchor="middle")
        if guard is not None:
            canvas.line(left, height(guard), right, height(guard), "mark", f"the guard: {guard:.4g}")
        for dot in panel.dots:
            x = left + (dot.cost - first) / (last - first) * WIDTH
            paint = {"fill": colour(0) if dot.chosen else "#9aa4ae", "stroke": "#14181d", "class_": "point"}
            canvas.circle(x, height(dot.value), 6 if dot.chosen else 4, dot.tip, **paint)
    canvas.text(18, TOP + HEIGHT / 2, metric, anchor="middle", turn=-90)
    return canvas.finish(bottom + 52)


def _padded(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    pad = max((high - low) * 0.08, abs(high) * 0.01, 1e-6)
    return low - pad, high + pad


def _levels(low: float, high: float) -> list[float]:
    """About six round values of the metric, for ticks."""
    step = 10.0 ** _exponent((high - low) / 6)
    size = next(step * k for k in (1, 2, 5, 10) if step * k * 6 >= high - low)
    first = int(low // size) + 1
    return [k * size for k in range(first, int(high // size) + 1)]


def _exponent(value: float) -> int:
    return int(f"{value:e}".split("e")[1])
