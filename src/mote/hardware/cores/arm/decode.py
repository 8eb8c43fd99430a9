"""Decoder of Thumb-2 instructions: their length and their effect on the stack pointer and control flow, as far as code
by gcc, clang and the assembly of their libraries needs it."""

from __future__ import annotations

from mote.hardware.cores.instructions import POPPED, ControlKind, Decoded, Known, Read, bits, constant, signed, without

_SP, _LR, _PC = 13, 14, 15


def decode(read: Read, at: int, known: Known) -> Decoded:
    """Decode an instruction of Armv6-M to Armv8.1-M."""
    word = read(at)
    first = word & 0xFFFF
    return _thumb32(first, word >> 16, at, known, read) if first >= 0xE800 else _thumb16(first, at, known, read)


def _thumb16(i: int, at: int, known: Known, read: Read) -> Decoded:
    if i >> 9 == 0b1011010:  # push
        return Decoded(2, grows=4 * (i & 0x1FF).bit_count(), known=known)
    if i == 0xBD01 and read(at - 6) == 0x4801B403 and read(at - 2) & 0xFFFF == 0x9001:
        # LLVM's long-branch veneer on Armv6-M: push {r0, r1}; ldr r0, [pc, #4]; str r0, [sp, #4]; pop {r0, pc}.
        return Decoded(2, ControlKind.JUMP, read((at & ~3) + 4) & ~1, grows=-8)
    if i >> 9 == 0b1011110:  # pop
        popped = {r: POPPED for r in range(8) if i >> r & 1}
        kind = ControlKind.RETURN if i & 0x100 else ControlKind.PLAIN
        return Decoded(2, kind, grows=-4 * (i & 0x1FF).bit_count(), known={**known, **popped})
    if i >> 8 == 0b10110000:  # add and sub sp, #n
        return Decoded(2, grows=4 * (i & 0x7F) * (1 if i & 0x80 else -1), known=known)
    if i >> 10 == 0b010001:
        return _high_registers(i, known)
    if i >> 12 == 0b1101 and i >> 8 & 15 != 15:
        kind = ControlKind.STOP if i >> 8 & 15 == 14 else ControlKind.BRANCH
        return Decoded(2, kind, at + 4 + 2 * signed(i & 0xFF, 8))
    if i >> 11 == 0b11100:
        return Decoded(2, ControlKind.JUMP, at + 4 + 2 * signed(i & 0x7FF, 11))
    if i & 0xF500 == 0xB100:  # cbz, cbnz
        return Decoded(2, ControlKind.BRANCH, at + 4 + bits(i, (3, 5, 1), (9, 1, 6)))
    if i >> 8 == 0xBF and i & 15:
        length = 5 - (i & -i).bit_length()
        then = (bool(i >> 4 - n & 1) == bool(i >> 4 & 1) for n in range(1, length))
        return Decoded(2, runs=(True, *then), known=known)
    return Decoded(2, known=_low_registers(i, at, known, read))


def _high_registers(i: int, known: Known) -> Decoded:
    """Decode add, cmp, mov, bx and blx of any two registers."""
    operation, to, source = i >> 8 & 3, bits(i, (0, 3, 0), (7, 1, 3)), i >> 3 & 15
    returns = source == _LR or known.get(source) == POPPED
    if operation == 3:
        target = constant(known, source)
        if target is not None:  # a long-branch veneer
            return Decoded(2, ControlKind.CALL if to >= 8 else ControlKind.JUMP, target & ~1)
        jump = ControlKind.RETURN if returns else ControlKind.TAIL
        return Decoded(2, ControlKind.POINTER if to >= 8 else jump)
    if operation == 1:
        return Decoded(2, known=known)
    if to == _PC:
        return Decoded(2, ControlKind.RETURN if returns and operation == 2 else ControlKind.REGISTER)
    if to != _SP and operation == 2 and source in known:
        return Decoded(2, known={**known, to: known[source]})
    if to != _SP:
        return Decoded(2, known=without(known, to))
    amount = constant(known, source)
    if operation == 2 or amount is None:
        return Decoded(2, ControlKind.DYNAMIC)
    return Decoded(2, grows=-signed(amount, 32), known=known)


def _low_registers(i: int, at: int, known: Known, read: Read) -> Known:
    """Registers with known values after a 16-bit instruction. Constants for large stack frames are followed; any other
    register that may be written becomes unknown."""
    operation, low, middle = i >> 11, i & 7, i >> 8 & 7
    shifted = constant(known, i >> 3 & 7)
    if operation == 0 and shifted is not None:  # lsls
        return {**known, low: shifted << (i >> 6 & 31) & 0xFFFFFFFF}
    if operation == 0b00100:  # movs
        return {**known, middle: i & 0xFF}
    if operation == 0b01001:  # ldr r, [pc, #n]
        return {**known, middle: read((at & ~3) + 4 + 4 * (i & 0xFF))}
    if operation in (0b00101, 0b00110, 0b00111, 0b10010, 0b10011, 0b10100, 0b10101):
        return without(known, middle)
    if operation == 0b11001:  # ldm
        return without(known, middle, *(r for r in range(8) if i >> r & 1))
    return without(known, low)


def _thumb32(i: int, j: int, at: int, known: Known, read: Read) -> Decoded:
    """Decode a 32-bit instruction from its two halves. Register values are only followed where needed: on Armv6-M,
    where only calls and barriers have 32 bits, and for constants of linker veneers."""
    if i >> 11 == 0b11110 and j & 0x8000:
        return _thumb32_branch(i, j, at)
    if i & 0xFFF0 == 0xE8D0 and j & 0xFFE0 == 0xF000:  # tbb, tbh
        return Decoded(4, ControlKind.TABLE)
    if i in (0xE92D, 0xE8BD):  # stmdb sp!, ldmia sp!
        size = 4 * j.bit_count()
        kind = ControlKind.RETURN if i == 0xE8BD and j & 0x8000 else ControlKind.PLAIN
        return Decoded(4, kind, grows=size if i == 0xE92D else -size)
    if i & 0xFE8F == 0xF80D and j & 0x900 == 0x900:  # ldr and str with [sp, #n]! or [sp], #n
        kind = ControlKind.RETURN if i & 0x70 == 0x50 and j >> 12 == _PC else ControlKind.PLAIN
        return Decoded(4, kind, grows=(j & 0xFF) * (-1 if j & 0x200 else 1))
    if i & 0xFE6F == 0xE86D or (i & 0xFE2F == 0xEC2D and j >> 8 & 15 in (10, 11)):  # ldrd, strd, vldm, vstm: likewise
        return Decoded(4, grows=4 * (j & 0xFF) * (-1 if i & 0x80 else 1))
    if i & 0xFF7F == 0xF85F and j >> 12 == _PC:  # ldr pc, [pc, #n]: a long-branch veneer
        offset = j & 0xFFF if i & 0x80 else -(j & 0xFFF)
        return Decoded(4, ControlKind.JUMP, read((at + 4 & ~3) + offset) & ~1)
    if i & 0xFF70 == 0xF850 and j >> 12 in (_SP, _PC):  # ldr sp, ldr pc
        return Decoded(4, ControlKind.REGISTER if j >> 12 == _PC else ControlKind.DYNAMIC)
    if i & 0xFE50 == 0xE810 and j & 0x8000:  # ldm of pc
        return Decoded(4, ControlKind.REGISTER)
    if i & 0xFE2F == 0xEC2D and j >> 8 & 15 == 15:  # store of a Helium register to [sp, #n]!
        return Decoded(4, ControlKind.DYNAMIC)
    if i & 0xFB70 == 0xF240 and j >> 8 & 15 < _SP:  # movw, movt
        return Decoded(4, known=_thumb32_constant(i, j, known))
    if (i >> 9 == 0b1110101 or i >> 11 == 0b11110) and j >> 8 & 15 == _SP:
        return _thumb32_sp(i, j)
    return Decoded(4)


def _thumb32_constant(i: int, j: int, known: Known) -> Known:
    """Known registers after movw, which sets a constant, or movt, which sets the upper half."""
    to, half = j >> 8 & 15, bits(j, (0, 8, 0), (12, 3, 8)) + bits(i, (10, 1, 11), (0, 4, 12))
    if not i & 0x80:
        return {**known, to: half}
    low = constant(known, to)
    return without(known, to) if low is None else {**known, to: low & 0xFFFF | half << 16}


def _thumb32_branch(i: int, j: int, at: int) -> Decoded:
    sign = i >> 10 & 1
    kind = j & 0xD000
    if kind == 0x8000:
        if i >> 6 & 15 < 14:
            offset = bits(j, (0, 11, 1), (13, 1, 18), (11, 1, 19)) + bits(i, (0, 6, 12), (10, 1, 20))
            return Decoded(4, ControlKind.BRANCH, at + 4 + signed(offset, 21))
        return Decoded(4, ControlKind.STOP if i & 0xFFF0 == 0xF7F0 and j >> 12 == 10 else ControlKind.PLAIN)
    if kind == 0xC000:  # low-overhead loops: le branches back, wls ahead, dls does not
        offset = bits(j, (1, 10, 2), (11, 1, 1))
        back = i & 15 == 15
        return Decoded(4, ControlKind.PLAIN if j & 0x2000 else ControlKind.LOOP, at + 4 + (-offset if back else offset))
    i1, i2 = (1 - (j >> n & 1 ^ sign) for n in (13, 11))
    offset = bits(j, (0, 11, 1)) + bits(i, (0, 10, 12)) + (i2 << 22) + (i1 << 23) + (sign << 24)
    return Decoded(4, ControlKind.CALL if kind == 0xD000 else ControlKind.JUMP, at + 4 + signed(offset, 25))


def _thumb32_sp(i: int, j: int) -> Decoded:
    """Decode an operation that writes the stack pointer: only adding or subtracting a constant can be followed."""
    immediate = bits(i, (10, 1, 11)) | bits(j, (12, 3, 8), (0, 8, 0))
    if i & 0xFBEF in (0xF10D, 0xF1AD):
        return Decoded(4, grows=_expanded(immediate) * (1 if i & 0x80 else -1))
    if i & 0xFBFF in (0xF20D, 0xF2AD):
        return Decoded(4, grows=immediate * (1 if i & 0x80 else -1))
    return Decoded(4, ControlKind.DYNAMIC)


def _expanded(immediate: int) -> int:
    """Decode Thumb's 12-bit modified immediate."""
    byte, rotation = immediate & 0xFF, immediate >> 7
    if rotation < 8:
        return byte * (0x1, 0x00010001, 0x01000100, 0x01010101)[immediate >> 8]
    byte |= 0x80
    return (byte >> rotation | byte << 32 - rotation) & 0xFFFFFFFF
