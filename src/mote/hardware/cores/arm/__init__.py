"""Arm Cortex-M: Armv6-M, Armv7-M, Armv8-M and Armv8.1-M."""

from pathlib import Path

from mote.hardware.cores.arm.cycles import CYCLES
from mote.hardware.cores.arm.decode import decode
from mote.hardware.cores.arm.timed import timed
from mote.hardware.cores.board import Board
from mote.hardware.cores.record import Architecture, MachineCode, Unicorn

_MEGA = 1 << 20
_SMALL = frozenset({"cortex-m0", "cortex-m0plus", "cortex-m1", "cortex-m23"})
"""Cores with 16-bit Thumb instructions only (Armv6-M, Armv8-M Baseline)."""


def _mps2(rom: int, ram: int, timer: int, uart: int, hz: int, slow: int) -> Board:
    memories = (rom + 0x400, 4 * _MEGA - 0x400), (ram, 4 * _MEGA)
    return Board(rom, *memories, "cmsdk", timer + 4, timer + 0xC, hz, 7, ("cmsdk", uart), (slow, 16 * _MEGA))


_PSRAM = {"mps2-an385": 0x21000000, "mps2-an386": 0x21000000, "mps2-an500": 0x60000000}

ARM = Architecture(
    name="arm",
    title="Cortex-M",
    gcc="arm-none-eabi-gcc",
    gcc_packages="gcc-arm-none-eabi libnewlib-arm-none-eabi",
    library="libc.a",
    options=(
        *("-mfpu=", "-mfloat-abi=", "-mfp16-format=", "-mthumb", "-marm", "-mlittle-endian", "-mcmse", "-mpure-code"),
        *("-mslow-flash-data", "-mlong-calls", "-munaligned-access", "-mno-unaligned-access", "-mgeneral-regs-only"),
        *("-mfix-cortex-m3-ldrd",),
    ),
    aligned_gcc=("-mno-unaligned-access",),
    aligned_zig="+strict_align",
    start=Path(__file__).parent / "start.S",
    measure=Path(__file__).parent / "measure.S",
    qemu="qemu-system-arm",
    qemu_packages="qemu-system-arm",
    boards={
        **{
            name: _mps2(0x00000000, 0x20000000, 0x40000000, 0x40004000, 25_000_000, slow)
            for name, slow in _PSRAM.items()
        },
        # The secure side of the memory map: the core starts there.
        "mps2-an505": _mps2(0x10000000, 0x38000000, 0x50000000, 0x50200000, 20_000_000, 0x80000000),
        "mps3-an547": Board(
            vectors=0x10000000,
            rom=(0x11000000, 2 * _MEGA),
            ram=(0x31000000, 4 * _MEGA),
            timer="sse",
            counter=0x58000000,
            counter_high=0x58000004,
            counter_hz=32_000_000,
            icount_shift=6,
            uart=("cmsdk", 0x59303000),
        ),
    },
    exceptions={2: "NMI", 3: "HardFault", 4: "MemManage fault", 5: "BusFault", 6: "UsageFault", 7: "SecureFault"},
    unicorn=Unicorn(
        constants="unicorn.arm_const",
        arch="UC_ARCH_ARM",
        mode="UC_MODE_THUMB",  # without UC_MODE_MCLASS, which would make every core a Cortex-M33
        arguments=("UC_ARM_REG_R0", "UC_ARM_REG_R1"),
        pc="UC_ARM_REG_PC",
        link="UC_ARM_REG_LR",
        cpus="UC_CPU_ARM_",
        stack="UC_ARM_REG_SP",
        system=(0xE000E000,),  # has the register that enables the FPU
    ),
    code=MachineCode(
        elf_machine="EM_ARM",
        decode=decode,
        padding=(0xBF00, 0x46C0, 0x0000, 0xF3AF, 0x8000),  # nop; mov r8, r8; movs r0, r0; both halves of nop.w
        disassembler=("CS_ARCH_ARM", "CS_MODE_THUMB", "CS_MODE_MCLASS", "CS_MODE_V8"),
        timed=timed,
    ),
    features=("armv6m", "armv7m", "mul32", "dsp", "dual", "fpu", "fma", "mve"),
    kernels=lambda cpu: ("armv6m" if cpu in _SMALL else "armv7em",),
    cycles=CYCLES,
    jump="b",
)
