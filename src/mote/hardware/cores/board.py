"""An emulated board: where its memory is and how its counter turns into instructions.

QEMU's `-icount shift=N` makes every instruction take exactly 2^N ns of virtual time, and a timer of the board
shows that time in ticks. With more than two ticks an instruction, rounding gives the exact number: the
difference of two readings is off by less than one tick, hence by less than half an instruction.
The board is larger than any part on purpose: it measures a model, it does not decide whether the model fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

WORD = 1 << 32
RTL_BOARD = "rtl"
"""The name of an architecture's board for cores in RTL."""


@dataclass(frozen=True)
class Board:
    """An emulated board; memories are (address, size).

    `counter` is the address of the counter's low word, `counter_high` of a word that changes when it wraps.
    """

    vectors: int
    rom: tuple[int, int]
    ram: tuple[int, int]
    timer: str
    counter: int
    counter_high: int
    counter_hz: int
    icount_shift: int
    uart: tuple[str, int] | None = None
    """The kind and the address of its first serial port."""
    slow_ram: tuple[int, int] | None = None
    """A second RAM, which stands for the external one of parts that have one."""
    mailbox: int = 0
    """Where a core in RTL calls the host; 0 where the emulator knows semihosting."""
    counts: str = "instructions"
    """The unit of the counter."""
    known: tuple[int, int, int] = (1, 1, 1)
    """How many of these the harness's function takes that does nothing, and the one with two marks before the first and
    after the last of them."""

    @property
    def ticks_per_instruction(self) -> Fraction:
        return Fraction(self.counter_hz * (1 << self.icount_shift), 10**9)

    @property
    def limit(self) -> int:
        """The instructions after which the counter has wrapped."""
        return int(WORD / self.ticks_per_instruction)

    def elapsed(self, before: int, after: int) -> int:
        """Instructions between two readings less than one wrap apart."""
        ticks = (before - after if self.timer == "cmsdk" else after - before) % WORD
        return round(ticks / self.ticks_per_instruction)

    def wrapped(self, before: int, after: int, high_before: int, high_after: int) -> bool:
        """Whether the two readings are a whole wrap or more apart."""
        if self.timer == "cmsdk":
            return high_after != high_before
        return (high_after - high_before) * WORD + after - before >= WORD
