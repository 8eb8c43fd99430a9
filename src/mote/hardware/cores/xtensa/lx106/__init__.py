"""Xtensa LX106, the core of the ESP8266: compiled with Debian's gcc, run in QEMU."""

from pathlib import Path

from mote.hardware.cores.board import Board
from mote.hardware.cores.record import Architecture, MachineCode
from mote.hardware.cores.xtensa.lx106.decode import decode
from mote.hardware.cores.xtensa.lx106.timed import MODEL, timed

_HERE = Path(__file__).parent
_MEGA = 1 << 20
_CAUSES = {
    **dict(enumerate(("illegal instruction", "system call", "instruction fetch error", "load or store error"))),
    **{6: "division by zero", 9: "unaligned load or store", 28: "load prohibited", 29: "store prohibited"},
}

LX106 = Architecture(
    name="lx106",
    title="Xtensa LX106",
    zig=False,
    gcc="xtensa-lx106-elf-gcc",
    gcc_packages="gcc-xtensa-lx106 picolibc-xtensa-lx106-elf",
    library="libc.a",
    gcc_flags=("-mtext-section-literals", "-fno-jump-tables"),
    options=("-mtext-section-literals",),
    start=_HERE / "start.S",
    measure=_HERE / "measure.S",
    support=("rom_lx106.c",),
    script="lx106.ld",
    qemu="qemu-system-xtensa",
    qemu_packages="qemu-system-misc",
    qemu_options=("-cpu", "lx106"),
    boards={
        "sim": Board(
            vectors=0x60000000,
            rom=(0x60000400, 8 * _MEGA - 0x400),
            ram=(0x60800000, 8 * _MEGA),
            timer="ccount",
            counter=0,
            counter_high=0x60000000,  # a word that never changes: the counter has 32 bits
            counter_hz=40_000_000,
            icount_shift=6,
            known=(1, 2, 3),
        ),
    },
    exceptions=_CAUSES,
    code=MachineCode(
        elf_machine="EM_XTENSA", decode=decode, padding=(0xF03D, 0x20F0, 0x0000), disassembler=(), timed=timed
    ),
    cycles={"xtensa-lx106": MODEL},
)
