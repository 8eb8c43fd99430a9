"""Searches the number of rows per stripe of each operation, to minimize working memory."""

from __future__ import annotations

from collections.abc import Iterable

from mote.compiler.offload.ethos_u.striped.program import StreamProgram
from mote.compiler.offload.ethos_u.striped.schedule import StripePlan, arranged

HEIGHTS = (1, 2, 3, 4, 6, 8)
"""Numbers of rows per stripe that are tried, in addition to all rows."""
RUNS = (2, 3, 4, 6, 9)
"""Numbers of consecutive operations that are tried with stripes of one row."""
CUTS = 40
"""Maximum number of positions tried for the end of the operations with stripes of one row."""
MOST = 200
"""Maximum number of plans that are tried."""


def least(program: StreamProgram) -> StripePlan:
    """The plan with the least working memory that a local search finds, and among equals with the fewest stripes."""
    search = _Search(program)
    tall = [n for n, rows in enumerate(search.whole) if rows > 1]
    for last in tall[:: -(-len(tall) // CUTS) or 1]:
        search.attempt([min(rows, 1) if n <= last else rows for n, rows in enumerate(search.whole)])
    search.attempt([1] * len(search.whole))
    while sum(search.changed(number) for number in search.busy()) and search.tried < MOST:
        pass
    for number in tall:
        search.changed(number)
    return search.layout


class _Search:
    """State of the search: the best plan so far, and its rows per stripe for each operation."""

    def __init__(self, program: StreamProgram) -> None:
        self.program = program
        self.whole = [operation.most for operation in program.operations]
        self.heights = self.whole
        self.layout = arranged(program, self.whole)
        self.tried = 1

    def attempt(self, heights: list[int]) -> bool:
        if heights == self.heights or self.tried >= MOST:
            return False
        self.tried += 1
        other = arranged(self.program, heights)
        if (other.size, len(other.stripes)) >= (self.layout.size, len(self.layout.stripes)):
            return False
        self.heights, self.layout = heights, other
        return True

    def changed(self, number: int) -> bool:
        """Tries other numbers of rows per stripe for an operation; whether one was better."""
        most = self.whole[number]
        tried = [*(rows for rows in HEIGHTS if rows < most), most]
        better = sum(self.attempt(self._with(number, [rows])) for rows in tried)
        return better + sum(self.attempt(self._with(number, [1] * length)) for length in RUNS) > 0

    def _with(self, number: int, rows: list[int]) -> list[int]:
        """The numbers of rows per stripe, changed for some operations from one on."""
        return [*self.heights[:number], *rows, *self.heights[number + len(rows) :]][: len(self.whole)]

    def busy(self) -> Iterable[int]:
        """The operations that access tensors which are live when most bytes are."""
        peak, live = self.layout.peak, self.layout.live
        return [
            number
            for number, operation in enumerate(self.program.operations)
            if any(live[a.tensor] >> peak & 1 for a in (operation.write, *operation.reads))
        ]
