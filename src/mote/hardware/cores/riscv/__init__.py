"""RISC-V: RV32IMC cores, with or without the F extension."""

from pathlib import Path

from mote.hardware.cores.board import RTL_BOARD, Board
from mote.hardware.cores.record import Architecture, MachineCode, Unicorn
from mote.hardware.cores.riscv.cycles import CYCLES
from mote.hardware.cores.riscv.decode import decode
from mote.hardware.cores.riscv.rtl import RTL
from mote.hardware.cores.riscv.timed import timed

_MEGA = 1 << 20
_CAUSES = (
    *("instruction address misaligned", "instruction access fault", "illegal instruction", "breakpoint"),
    *("load address misaligned", "load access fault", "store address misaligned", "store access fault"),
)

RISCV = Architecture(
    name="riscv",
    title="RISC-V",
    gcc="riscv64-unknown-elf-gcc",
    gcc_packages="gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf",
    library="picolibc.specs",
    gcc_flags=("--specs=picolibc.specs",),
    options=(
        *("-msmall-data-limit=", "-misa-spec=", "-mstrict-align", "-mno-strict-align"),
        *("-mrelax", "-mno-relax", "-msave-restore", "-mno-save-restore"),
    ),
    start=Path(__file__).parent / "start.S",
    measure=Path(__file__).parent / "measure.S",
    qemu="qemu-system-riscv32",
    qemu_packages="qemu-system-misc",
    qemu_options=("-bios", "none"),
    boards={
        "virt": Board(
            vectors=0x80000000,
            rom=(0x80000400, 8 * _MEGA - 0x400),
            ram=(0x80800000, 8 * _MEGA),
            timer="mtime",
            counter=0x0200BFF8,
            counter_high=0x0200BFFC,
            counter_hz=10_000_000,
            icount_shift=8,
            uart=("ns16550", 0x10000000),
            slow_ram=(0x82000000, 64 * _MEGA),
            known=(1, 2, 3),
        ),
        RTL_BOARD: Board(
            vectors=0x80000000,
            rom=(0x80000400, 8 * _MEGA - 0x400),
            ram=(0x80800000, 8 * _MEGA),
            timer="mtime",
            counter=0x1000000C,
            counter_high=0x10000010,
            counter_hz=4 * 10**9,
            icount_shift=0,
            slow_ram=(0x82000000, 64 * _MEGA),
            mailbox=0x10000000,
            known=(1, 2, 3),
        ),
    },
    rtl=RTL,
    exceptions=dict(enumerate(_CAUSES)),
    unicorn=Unicorn(
        constants="unicorn.riscv_const",
        arch="UC_ARCH_RISCV",
        mode="UC_MODE_RISCV32",
        arguments=("UC_RISCV_REG_A0", "UC_RISCV_REG_A1"),
        pc="UC_RISCV_REG_PC",
        link="UC_RISCV_REG_RA",
    ),
    code=MachineCode(
        elf_machine="EM_RISCV",
        decode=decode,
        padding=(0x0001, 0x0000),  # nop; section padding
        disassembler=("CS_ARCH_RISCV", "CS_MODE_RISCV32", "CS_MODE_RISCVC"),
        timed=timed,
    ),
    features=("float32", "rv32m", "mul32", "zve32x"),
    cycles=CYCLES,
    jump="j",
)
