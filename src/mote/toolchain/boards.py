"""The emulated boards: where their memory is and how their counter turns into instructions.

QEMU's `-icount shift=N` makes every instruction take exactly 2^N ns of virtual time, and a timer of the board
shows that time in ticks. With more than two ticks an instruction, rounding gives the exact number: the
difference of two readings is off by less than one tick, hence by less than half an instruction.
The board is larger than any part on purpose: it measures a model, it does not decide whether the model fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from mote.errors import MoteError
from mote.targets import Target

WORD = 1 << 32


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


_MEGA = 1 << 20


def _mps2(rom: int, ram: int, timer: int, hz: int) -> Board:
    return Board(rom, (rom + 0x400, 4 * _MEGA - 0x400), (ram, 4 * _MEGA), "cmsdk", timer + 4, timer + 0xC, hz, 7)


BOARDS = {
    "mps2-an385": _mps2(0x00000000, 0x20000000, 0x40000000, 25_000_000),
    "mps2-an386": _mps2(0x00000000, 0x20000000, 0x40000000, 25_000_000),
    "mps2-an500": _mps2(0x00000000, 0x20000000, 0x40000000, 25_000_000),
    # The secure side of the memory map: the core starts there.
    "mps2-an505": _mps2(0x10000000, 0x38000000, 0x50000000, 20_000_000),
    "mps3-an547": Board(
        vectors=0x10000000,
        rom=(0x11000000, 2 * _MEGA),
        ram=(0x31000000, 4 * _MEGA),
        timer="sse",
        counter=0x58000000,
        counter_high=0x58000004,
        counter_hz=32_000_000,
        icount_shift=6,
    ),
    "virt": Board(
        vectors=0x80000000,
        rom=(0x80000400, 8 * _MEGA - 0x400),
        ram=(0x80800000, 8 * _MEGA),
        timer="mtime",
        counter=0x0200BFF8,
        counter_high=0x0200BFFC,
        counter_hz=10_000_000,
        icount_shift=8,
    ),
}


def board_of(target: Target) -> Board:
    """The board that a target's code is linked for, by either emulator."""
    if target.qemu_machine not in BOARDS:
        raise MoteError(
            f"target '{target.name}' cannot be emulated: no board for qemu_machine = {target.qemu_machine!r}",
            remedy=f"extend a bundled core, or set qemu_machine to one of: {', '.join(BOARDS)}",
        )
    return BOARDS[target.qemu_machine]
