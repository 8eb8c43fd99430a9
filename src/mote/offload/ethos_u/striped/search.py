"""Rows in a stripe of each operation, such that the working memory is small."""

from __future__ import annotations

from mote.offload.ethos_u.striped.program import StreamProgram
from mote.offload.ethos_u.striped.schedule import StripePlan, arranged

ROUNDS = 2
"""How often each operation's rows are tried anew."""


def least(program: StreamProgram) -> StripePlan:
    """The layout of the least working memory that a search comes to, and of few stripes."""
    whole = [operation.most for operation in program.operations]
    best = whole
    layout = arranged(program, whole)

    def attempt(heights: list[int]) -> bool:
        nonlocal best, layout
        other = arranged(program, heights)
        if (other.size, len(other.stripes)) >= (layout.size, len(layout.stripes)):
            return False
        best, layout = heights, other
        return True

    for end in range(1, len(whole) + 1):
        if whole[end - 1] > 1:
            attempt([1] * end + whole[end:])
    for _ in range(ROUNDS):
        changed = False
        for number in range(len(whole)):
            for rows in _tried(whole[number]):
                if rows != best[number]:
                    changed |= attempt([*best[:number], rows, *best[number + 1 :]])
        if not changed:
            break
    return layout


def _tried(rows: int) -> list[int]:
    return sorted({h for h in (1, 2, 3, 4, 6, 8, 12, 16) if h < rows} | {rows})
