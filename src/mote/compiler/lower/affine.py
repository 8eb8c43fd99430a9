"""Affine formulas for the rows that an instruction reads, in place of tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mote.ir.graph.rows import OUTSIDE


@dataclass(frozen=True)
class Affine:
    """The row that tap k of a window reads at position n: start + n * step + k * spread, if the tensor has that row.
    Example: a 3x3 window with padding and stride 2 has start -1, step 2, spread 1."""

    start: int
    step: int
    spread: int


def affine(samples: Iterable[tuple[int, int, int]], count: int | None = None) -> Affine | None:
    """Fits start + n * step + k * spread to samples (n, k, value), exactly; OUTSIDE is any value outside of 0..count-1.
    None if there is no such formula."""
    given = list(samples)
    known = [s for s in given if s[2] != OUTSIDE or count is None]
    if not known:
        return None
    n0, k0, v0 = known[0]
    spread = _slope([(k, v) for n, k, v in known if n == n0], 1)
    step = _slope([(n, v - (k - k0) * spread) for n, k, v in known], 0)
    formula = Affine(v0 - n0 * step - k0 * spread, step, spread)
    for n, k, v in given:
        expected = formula.start + n * step + k * spread
        if count is not None and not 0 <= expected < count:
            expected = OUTSIDE
        if expected != v:
            return None
    return formula


def _slope(points: Sequence[tuple[int, int]], default: int) -> int:
    """The slope through the first point (x, y) and another one; `default` if all have the same x."""
    x0, y0 = points[0]
    other = next(((x, y) for x, y in points if x != x0), None)
    return default if other is None else (other[1] - y0) // (other[0] - x0)
