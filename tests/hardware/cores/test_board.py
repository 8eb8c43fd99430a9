"""The timers of emulated boards: ticks become exact counts of instructions, and a counter that wraps is noticed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mote.hardware.cores import ARCHITECTURES
from mote.hardware.cores.board import WORD, Board

BOARDS = {name: board for core in ARCHITECTURES.values() for name, board in core.boards.items()}


@pytest.mark.parametrize("board", BOARDS.values(), ids=BOARDS)
def test_ticks_round_to_exact_instructions(board: Board) -> None:
    """For any count and any phase of the timer, up to where the counter wraps, which is beyond 1.0 G."""
    rate = board.ticks_per_instruction
    assert (rate > 2 or (rate == 1 and board.counts == "cycles")) and board.limit > 1_000_000_000
    down = board.timer == "cmsdk"
    for count in (0, 1, 2, 999, 123_456_789, board.limit - 2):
        for phase in range(50):
            start = int(phase * rate + Fraction(phase, 50))
            end = int((phase + count) * rate + Fraction(phase, 50))
            before, after = (WORD - 1 - start, WORD - 1 - end) if down else (start, end)
            assert board.elapsed(before % WORD, after % WORD) == count


def test_a_wrapped_counter_is_noticed() -> None:
    timer, clock = BOARDS["mps2-an386"], BOARDS["virt"]
    assert not timer.wrapped(5, 9, 0, 0) and timer.wrapped(5, 9, 0, 1)
    assert not clock.wrapped(WORD - 5, 9, 3, 4)
    assert clock.wrapped(5, 9, 3, 4) and clock.wrapped(9, 5, 3, 5)
