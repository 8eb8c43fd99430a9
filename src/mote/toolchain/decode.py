"""How long an instruction of Thumb-2 or RV32IMC is, and what it does to the stack pointer and to the flow of control.

Enough for code by gcc, clang and the assembler sources of their libraries. What moves the stack pointer by an
amount that is not known here, or jumps to where nobody knows, gets a `Kind` that says so: code that is not
understood can be refused, and is never misread.

A few registers are followed, because frames too large for an immediate are made with them, far functions are
called through them, and Armv6-M returns through them: `known` maps a register to its value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

POPPED = 1 << 32
"""The "value" of a register that was popped from the stack: no 32-bit number."""

Known = Mapping[int, int]
Read = Callable[[int], int]
"""The 32-bit word at an address."""


Decoder = Callable[[Read, int, Known], "Instruction"]
"""What the instruction at an address does."""


class Kind(Enum):
    PLAIN = auto()  # goes on behind it
    CALL = auto()  # of the function at `target`
    JUMP = auto()  # goes on at `target`
    BRANCH = auto()  # goes on at `target` or behind it
    LOOP = auto()  # likewise, by the loop counter of Armv8.1-M
    DETOUR = auto()  # goes on at `target`, which comes back by a register
    RETURN = auto()
    TABLE = auto()  # a jump by a table to several places of the same function
    REGISTER = auto()  # a jump to what a register holds: by a table, if not through a pointer
    POINTER = auto()  # a call of the function that a register holds
    TAIL = auto()  # a jump to the function that a register holds
    STOP = auto()  # a trap
    DYNAMIC = auto()  # moves the stack pointer by an unknown amount


@dataclass(frozen=True)
class Instruction:
    """`grows`: bytes that it takes from the stack. `known`: the registers whose value is known after it.

    `runs`: for Thumb's IT, which of the instructions behind it run where its condition holds; the others of
    them run where it does not.
    """

    size: int
    kind: Kind = Kind.PLAIN
    target: int = 0
    grows: int = 0
    known: Known = field(default_factory=dict)
    runs: tuple[bool, ...] = ()

    @property
    def calls(self) -> bool:
        """Whether it leaves the address behind it, to come back there."""
        return self.kind in (Kind.CALL, Kind.POINTER)

    @property
    def jumps(self) -> bool:
        """Whether it writes the program counter."""
        return self.kind not in (Kind.PLAIN, Kind.STOP, Kind.DYNAMIC)


def _bits(value: int, *fields: tuple[int, int, int]) -> int:
    """Fields of an instruction put together: (lowest bit, number of bits, where it goes)."""
    return sum((value >> low & (1 << count) - 1) << to for low, count, to in fields)


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 & 1 else value


def _without(known: Known, *registers: int) -> Known:
    return {r: v for r, v in known.items() if r not in registers} if known else known


def _constant(known: Known, register: int) -> int | None:
    value = known.get(register, POPPED)
    return None if value == POPPED else value


_SP, _LR, _PC = 13, 14, 15


def thumb(read: Read, at: int, known: Known) -> Instruction:
    """Armv6-M to Armv8.1-M."""
    word = read(at)
    first = word & 0xFFFF
    return _thumb32(first, word >> 16, at, known, read) if first >= 0xE800 else _thumb16(first, at, known, read)


def _thumb16(i: int, at: int, known: Known, read: Read) -> Instruction:
    if i >> 9 == 0b1011010:  # push
        return Instruction(2, grows=4 * (i & 0x1FF).bit_count(), known=known)
    if i == 0xBD01 and read(at - 6) == 0x4801B403 and read(at - 2) & 0xFFFF == 0x9001:
        # How LLVM's linker jumps far on Armv6-M: push {r0, r1}; ldr r0, [pc, #4]; str r0, [sp, #4]; pop {r0, pc}.
        return Instruction(2, Kind.JUMP, read((at & ~3) + 4) & ~1, grows=-8)
    if i >> 9 == 0b1011110:  # pop
        popped = {r: POPPED for r in range(8) if i >> r & 1}
        kind = Kind.RETURN if i & 0x100 else Kind.PLAIN
        return Instruction(2, kind, grows=-4 * (i & 0x1FF).bit_count(), known={**known, **popped})
    if i >> 8 == 0b10110000:  # add and sub sp, #n
        return Instruction(2, grows=4 * (i & 0x7F) * (1 if i & 0x80 else -1), known=known)
    if i >> 10 == 0b010001:
        return _high_registers(i, known)
    if i >> 12 == 0b1101 and i >> 8 & 15 != 15:
        kind = Kind.STOP if i >> 8 & 15 == 14 else Kind.BRANCH
        return Instruction(2, kind, at + 4 + 2 * _signed(i & 0xFF, 8))
    if i >> 11 == 0b11100:
        return Instruction(2, Kind.JUMP, at + 4 + 2 * _signed(i & 0x7FF, 11))
    if i & 0xF500 == 0xB100:  # cbz, cbnz
        return Instruction(2, Kind.BRANCH, at + 4 + _bits(i, (3, 5, 1), (9, 1, 6)))
    if i >> 8 == 0xBF and i & 15:
        length = 5 - (i & -i).bit_length()
        then = (bool(i >> 4 - n & 1) == bool(i >> 4 & 1) for n in range(1, length))
        return Instruction(2, runs=(True, *then), known=known)
    return Instruction(2, known=_low_registers(i, at, known, read))


def _high_registers(i: int, known: Known) -> Instruction:
    """add, cmp, mov, bx and blx of any two registers."""
    operation, to, source = i >> 8 & 3, _bits(i, (0, 3, 0), (7, 1, 3)), i >> 3 & 15
    returns = source == _LR or known.get(source) == POPPED
    if operation == 3:
        target = _constant(known, source)
        if target is not None:  # how linkers jump far
            return Instruction(2, Kind.CALL if to >= 8 else Kind.JUMP, target & ~1)
        jump = Kind.RETURN if returns else Kind.TAIL
        return Instruction(2, Kind.POINTER if to >= 8 else jump)
    if operation == 1:
        return Instruction(2, known=known)
    if to == _PC:
        return Instruction(2, Kind.RETURN if returns and operation == 2 else Kind.REGISTER)
    if to != _SP and operation == 2 and source in known:
        return Instruction(2, known={**known, to: known[source]})
    if to != _SP:
        return Instruction(2, known=_without(known, to))
    amount = _constant(known, source)
    if operation == 2 or amount is None:
        return Instruction(2, Kind.DYNAMIC)
    return Instruction(2, grows=-_signed(amount, 32), known=known)


def _low_registers(i: int, at: int, known: Known, read: Read) -> Known:
    """The ways to make a constant for a large frame; any other register that may be written is unknown after."""
    operation, low, middle = i >> 11, i & 7, i >> 8 & 7
    shifted = _constant(known, i >> 3 & 7)
    if operation == 0 and shifted is not None:  # lsls
        return {**known, low: shifted << (i >> 6 & 31) & 0xFFFFFFFF}
    if operation == 0b00100:  # movs
        return {**known, middle: i & 0xFF}
    if operation == 0b01001:  # ldr r, [pc, #n]
        return {**known, middle: read((at & ~3) + 4 + 4 * (i & 0xFF))}
    if operation in (0b00101, 0b00110, 0b00111, 0b10010, 0b10011, 0b10100, 0b10101):
        return _without(known, middle)
    if operation == 0b11001:  # ldm
        return _without(known, middle, *(r for r in range(8) if i >> r & 1))
    return _without(known, low)


def _thumb32(i: int, j: int, at: int, known: Known, read: Read) -> Instruction:
    """Both halves. Registers are followed for Armv6-M's sake, where only calls and barriers are this long, and through
    the constants by which linkers jump far."""
    if i >> 11 == 0b11110 and j & 0x8000:
        return _thumb32_branch(i, j, at)
    if i & 0xFFF0 == 0xE8D0 and j & 0xFFE0 == 0xF000:  # tbb, tbh
        return Instruction(4, Kind.TABLE)
    if i in (0xE92D, 0xE8BD):  # stmdb sp!, ldmia sp!
        size = 4 * j.bit_count()
        kind = Kind.RETURN if i == 0xE8BD and j & 0x8000 else Kind.PLAIN
        return Instruction(4, kind, grows=size if i == 0xE92D else -size)
    if i & 0xFE8F == 0xF80D and j & 0x900 == 0x900:  # ldr and str with [sp, #n]! or [sp], #n
        kind = Kind.RETURN if i & 0x70 == 0x50 and j >> 12 == _PC else Kind.PLAIN
        return Instruction(4, kind, grows=(j & 0xFF) * (-1 if j & 0x200 else 1))
    if i & 0xFE6F == 0xE86D or (i & 0xFE2F == 0xEC2D and j >> 8 & 15 in (10, 11)):  # ldrd, strd, vldm, vstm: likewise
        return Instruction(4, grows=4 * (j & 0xFF) * (-1 if i & 0x80 else 1))
    if i & 0xFF7F == 0xF85F and j >> 12 == _PC:  # ldr pc, [pc, #n]: how linkers jump far
        offset = j & 0xFFF if i & 0x80 else -(j & 0xFFF)
        return Instruction(4, Kind.JUMP, read((at + 4 & ~3) + offset) & ~1)
    if i & 0xFF70 == 0xF850 and j >> 12 in (_SP, _PC):  # ldr sp, ldr pc
        return Instruction(4, Kind.REGISTER if j >> 12 == _PC else Kind.DYNAMIC)
    if i & 0xFE50 == 0xE810 and j & 0x8000:  # ldm of pc
        return Instruction(4, Kind.REGISTER)
    if i & 0xFE2F == 0xEC2D and j >> 8 & 15 == 15:  # a Helium register to [sp, #n]!
        return Instruction(4, Kind.DYNAMIC)
    if i & 0xFB70 == 0xF240 and j >> 8 & 15 < _SP:  # movw, movt
        return Instruction(4, known=_thumb32_constant(i, j, known))
    if (i >> 9 == 0b1110101 or i >> 11 == 0b11110) and j >> 8 & 15 == _SP:
        return _thumb32_sp(i, j)
    return Instruction(4)


def _thumb32_constant(i: int, j: int, known: Known) -> Known:
    """movw makes a constant, movt its upper half."""
    to, half = j >> 8 & 15, _bits(j, (0, 8, 0), (12, 3, 8)) + _bits(i, (10, 1, 11), (0, 4, 12))
    if not i & 0x80:
        return {**known, to: half}
    low = _constant(known, to)
    return _without(known, to) if low is None else {**known, to: low & 0xFFFF | half << 16}


def _thumb32_branch(i: int, j: int, at: int) -> Instruction:
    sign = i >> 10 & 1
    kind = j & 0xD000
    if kind == 0x8000:
        if i >> 6 & 15 < 14:
            offset = _bits(j, (0, 11, 1), (13, 1, 18), (11, 1, 19)) + _bits(i, (0, 6, 12), (10, 1, 20))
            return Instruction(4, Kind.BRANCH, at + 4 + _signed(offset, 21))
        return Instruction(4, Kind.STOP if i & 0xFFF0 == 0xF7F0 and j >> 12 == 10 else Kind.PLAIN)
    if kind == 0xC000:  # the loops of Armv8.1-M: le jumps back, wls ahead, dls not at all
        offset = _bits(j, (1, 10, 2), (11, 1, 1))
        back = i & 15 == 15
        return Instruction(4, Kind.PLAIN if j & 0x2000 else Kind.LOOP, at + 4 + (-offset if back else offset))
    i1, i2 = (1 - (j >> n & 1 ^ sign) for n in (13, 11))
    offset = _bits(j, (0, 11, 1)) + _bits(i, (0, 10, 12)) + (i2 << 22) + (i1 << 23) + (sign << 24)
    return Instruction(4, Kind.CALL if kind == 0xD000 else Kind.JUMP, at + 4 + _signed(offset, 25))


def _thumb32_sp(i: int, j: int) -> Instruction:
    """An operation that writes the stack pointer: to add or subtract a constant is all that can be followed."""
    immediate = _bits(i, (10, 1, 11)) | _bits(j, (12, 3, 8), (0, 8, 0))
    if i & 0xFBEF in (0xF10D, 0xF1AD):
        return Instruction(4, grows=_expanded(immediate) * (1 if i & 0x80 else -1))
    if i & 0xFBFF in (0xF20D, 0xF2AD):
        return Instruction(4, grows=immediate * (1 if i & 0x80 else -1))
    return Instruction(4, Kind.DYNAMIC)


def _expanded(immediate: int) -> int:
    """Thumb's 12-bit code for a 32-bit constant."""
    byte, rotation = immediate & 0xFF, immediate >> 7
    if rotation < 8:
        return byte * (0x1, 0x00010001, 0x01000100, 0x01010101)[immediate >> 8]
    byte |= 0x80
    return (byte >> rotation | byte << 32 - rotation) & 0xFFFFFFFF


_RA, _RISCV_SP = 1, 2


def riscv(read: Read, at: int, known: Known) -> Instruction:
    """RV32IMC."""
    word = read(at)
    return _riscv32(word, at, known) if word & 3 == 3 else _riscv16(word & 0xFFFF, at, known)


def _riscv32(i: int, at: int, known: Known) -> Instruction:
    operation, to, source = i & 0x7F, i >> 7 & 31, i >> 15 & 31
    if operation == 0x6F:  # jal
        offset = _signed(_bits(i, (21, 10, 1), (20, 1, 11), (12, 8, 12), (31, 1, 20)), 21)
        return _riscv_jump(4, to, at + offset, at, known)
    if operation == 0x67:  # jalr
        return _riscv_register_jump(4, to, source, _signed(i >> 20, 12), at, known)
    if operation == 0x63:
        offset = _signed(_bits(i, (8, 4, 1), (25, 6, 5), (7, 1, 11), (31, 1, 12)), 13)
        return Instruction(4, Kind.BRANCH, at + offset, known=known)
    if operation in (0x37, 0x17):  # lui, auipc
        value = (i & 0xFFFFF000) + (at if operation == 0x17 else 0)
        return _riscv_set(4, to, value & 0xFFFFFFFF, known)
    if operation == 0x13 and i >> 12 & 7 == 0:
        return _riscv_add(4, to, source, _signed(i >> 20, 12), known)
    if operation == 0x33 and to == source == _RISCV_SP and i & 0xBE007000 == 0:  # add, sub
        amount = _constant(known, i >> 20 & 31)
        if amount is not None:
            return Instruction(4, grows=_signed(amount, 32) * (1 if i >> 30 else -1), known=known)
    if i in (0x00100073, 0xC0001073):  # ebreak, unimp
        return Instruction(4, Kind.STOP)
    if operation in (0x23, 0x27):  # stores
        return Instruction(4, known=known)
    return _riscv_forget(4, to, known)


def _riscv16(i: int, at: int, known: Known) -> Instruction:
    operation, to, source = _bits(i, (13, 3, 0), (0, 2, 3)), i >> 7 & 31, i >> 2 & 31
    immediate = _signed(_bits(i, (2, 5, 0), (12, 1, 5)), 6)
    if i == 0:
        return Instruction(2, Kind.STOP)
    if operation in (0b01_001, 0b01_101):  # c.jal, c.j
        offset = _bits(i, (3, 3, 1), (11, 1, 4), (2, 1, 5), (7, 1, 6), (6, 1, 7), (9, 2, 8), (8, 1, 10), (12, 1, 11))
        return _riscv_jump(2, _RA if operation == 0b01_001 else 0, at + _signed(offset, 12), at, known)
    if operation in (0b01_110, 0b01_111):  # c.beqz, c.bnez
        offset = _bits(i, (3, 2, 1), (10, 2, 3), (2, 1, 5), (5, 2, 6), (12, 1, 8))
        return Instruction(2, Kind.BRANCH, at + _signed(offset, 9), known=known)
    if operation == 0b01_000:  # c.addi
        return _riscv_add(2, to, to, immediate, known)
    if operation == 0b01_010:  # c.li
        return _riscv_set(2, to, immediate & 0xFFFFFFFF, known)
    if operation == 0b01_011:  # c.addi16sp, c.lui
        if to == _RISCV_SP:
            offset = _bits(i, (6, 1, 4), (2, 1, 5), (5, 1, 6), (3, 2, 7), (12, 1, 9))
            return _riscv_add(2, to, to, _signed(offset, 10), known)
        return _riscv_set(2, to, immediate << 12 & 0xFFFFFFFF, known)
    if operation == 0b10_100 and source == 0:  # c.jr, c.jalr, c.ebreak
        link = _RA if i & 0x1000 else 0
        return _riscv_register_jump(2, link, to, 0, at, known) if to else Instruction(2, Kind.STOP)
    if operation == 0b10_100 and to == _RISCV_SP and i & 0x1000:  # c.add
        amount = _constant(known, source)
        if amount is not None:
            return Instruction(2, grows=-_signed(amount, 32), known=known)
    if operation in (0b00_101, 0b00_110, 0b00_111, 0b10_101, 0b10_110, 0b10_111):  # stores
        return Instruction(2, known=known)
    if operation >> 3 == 0:
        to = 8 + (i >> 2 & 7)
    elif operation == 0b01_100:
        to = 8 + (i >> 7 & 7)
    return _riscv_forget(2, to, known)


def _riscv_jump(size: int, link: int, target: int, at: int, known: Known) -> Instruction:
    """A link register other than `ra` is for the functions that save and restore registers for their caller."""
    kind = {0: Kind.JUMP, _RA: Kind.CALL}.get(link, Kind.DETOUR)
    kept = {**known, link: at + size} if kind == Kind.DETOUR else {}
    return Instruction(size, kind, target & 0xFFFFFFFF, known=kept)


def _riscv_register_jump(size: int, link: int, source: int, offset: int, at: int, known: Known) -> Instruction:
    base = _constant(known, source)
    if base is not None:
        return _riscv_jump(size, link, base + offset, at, known)
    if link:
        return Instruction(size, Kind.POINTER)
    return Instruction(size, Kind.RETURN if source == _RA else Kind.REGISTER)


def _riscv_add(size: int, to: int, source: int, amount: int, known: Known) -> Instruction:
    if to == source == _RISCV_SP:
        return Instruction(size, grows=-amount, known=known)
    value = 0 if source == 0 else _constant(known, source)
    if value is None:
        return _riscv_forget(size, to, known)
    return _riscv_set(size, to, value + amount & 0xFFFFFFFF, known)


def _riscv_set(size: int, to: int, value: int, known: Known) -> Instruction:
    return _riscv_forget(size, to, known) if to in (0, _RISCV_SP) else Instruction(size, known={**known, to: value})


def _riscv_forget(size: int, to: int, known: Known) -> Instruction:
    """Any other instruction that writes a register."""
    return Instruction(size, Kind.DYNAMIC if to == _RISCV_SP else Kind.PLAIN, known=_without(known, to))
