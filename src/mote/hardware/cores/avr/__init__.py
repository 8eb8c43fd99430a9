"""AVR: 8-bit cores with separate program memory, which data loads cannot access."""

from pathlib import Path

from mote.hardware.cores.avr.decode import decoder
from mote.hardware.cores.avr.timed import MODEL, timing
from mote.hardware.cores.board import Board
from mote.hardware.cores.record import Architecture, MachineCode

_HERE = Path(__file__).parent
_KILO = 1 << 10


def _board(flash: int, pushed: int) -> Board:
    """A simulated part whose counter counts cycles, with as much RAM as 16-bit addresses reach. `pushed`: bytes of a
    return address; a return takes two cycles more than these."""
    return Board(
        vectors=0,
        rom=(0, flash),
        ram=(0x800200, 0xFE00),
        timer="simavr",
        counter=0,
        counter_high=0,
        counter_hz=10**9,
        icount_shift=0,
        counts="cycles",
        known=(pushed + 2, 0, pushed + 2),
    )


def _code(pushed: int) -> MachineCode:
    return MachineCode(
        elf_machine="EM_AVR",
        decode=decoder(pushed),
        padding=(0x0000,),
        disassembler=(),
        timed=timing(pushed),
        pushed=pushed,
    )


AVR = Architecture(
    name="avr",
    title="AVR",
    zig=False,
    gcc="avr-gcc",
    gcc_packages="gcc-avr avr-libc",
    library="libc.a",
    gcc_flags=("-fno-jump-tables", "-maccumulate-args"),
    link_flags=("-Wl,--no-stubs",),  # only the harness has function pointers, and it is in their range
    options=("-mmcu=", "-mcall-prologues", "-mstrict-X", "-maccumulate-args", "-mrelax"),
    start=_HERE / "start.S",
    measure=_HERE / "measure.S",
    port="port_simavr.c",
    script="simavr.ld",
    boards={"atmega328p": _board(128 * _KILO, 2), "atmega2560": _board(256 * _KILO, 3)},
    code=_code(2),
    variants={6: _code(3)},
    features=("avre",),
    flash_apart=True,
    cycles={"avr5": MODEL, "avr6": MODEL},
)
