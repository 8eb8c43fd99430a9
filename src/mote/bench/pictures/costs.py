"""Cycles of each layer as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mote.bench.pictures.bars import DrawnBar, drawn_bars

COMPUTED, WAITED = "#4a90d9", "#f0883e"


@dataclass(frozen=True)
class CostBar:
    """Cycles of a layer, and those of them spent waiting for memory."""

    name: str
    cycles: int
    waits: int
    note: str
    tip: str


def costs(bars: Sequence[CostBar], title: str, told: str) -> str:
    """SVG bars of the layers' cycles, first to last."""
    drawn = [
        DrawnBar(
            bar.name,
            [(bar.cycles - bar.waits, COMPUTED), *([(bar.waits, WAITED)] if bar.waits else [])],
            bar.note,
            bar.tip,
        )
        for bar in bars
    ]
    top = max((bar.cycles for bar in bars), default=0) * 1.05 or 1.0
    return drawn_bars(drawn, title, told, "cycles", top=top, most_ticks=5)
