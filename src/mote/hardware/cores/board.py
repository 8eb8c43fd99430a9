"""An emulated board: its memories, and how its counter converts to instructions.

With QEMU's `-icount shift=N` every instruction takes exactly 2^N ns of virtual time, which a timer of the board counts
in ticks. With more than two ticks for each instruction, rounding gives the exact number: the difference of two readings
is off by less than one tick, which is less than half an instruction.

The board is larger than any real part on purpose: it measures a model, and does not decide whether the model fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

WORD = 1 << 32
RTL_BOARD = "rtl"
"""The name of the board for cores that are simulated in RTL."""


@dataclass(frozen=True)
class Board:
    """An emulated board; memories are (address, size).

    `counter` is the address of the counter's low word, `counter_high` that of a word that changes when the low word
    wraps around.
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
    """Type and address of its first UART."""
    slow_ram: tuple[int, int] | None = None
    """A second RAM, which stands for external RAM of parts that have it."""
    mailbox: int = 0
    """Address at which a core in RTL calls the host; 0: the emulator supports semihosting."""
    counts: str = "instructions"
    """The unit of the counter."""
    known: tuple[int, int, int] = (1, 1, 1)
    """Overhead of the measuring harness in counter units: of an empty function, and of a function with two marks before
    the first and after the last mark."""

    @property
    def ticks_per_instruction(self) -> Fraction:
        return Fraction(self.counter_hz * (1 << self.icount_shift), 10**9)

    @property
    def limit(self) -> int:
        """Number of instructions after which the counter has wrapped around."""
        return int(WORD / self.ticks_per_instruction)

    def elapsed(self, before: int, after: int) -> int:
        """Instructions between two readings that are less than one wrap-around apart."""
        ticks = (before - after if self.timer == "cmsdk" else after - before) % WORD
        return round(ticks / self.ticks_per_instruction)

    def wrapped(self, before: int, after: int, high_before: int, high_after: int) -> bool:
        """Whether the two readings are a whole wrap-around or more apart."""
        if self.timer == "cmsdk":
            return high_after != high_before
        return (high_after - high_before) * WORD + after - before >= WORD
