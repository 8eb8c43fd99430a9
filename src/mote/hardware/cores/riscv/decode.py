"""Decoder of RV32IMAFC instructions: their length and their effect on the stack pointer and control flow."""

from __future__ import annotations

from mote.hardware.cores.instructions import ControlKind, Decoded, Known, Read, bits, constant, signed, without

_RA, _SP = 1, 2
_FLOAT = (0x07, 0x43, 0x47, 0x4B, 0x4F, 0x53)
"""Opcodes of the F extension: flw, the four fused multiply-adds, and all others."""
_VECTOR = 0x57
_VECTOR_TO_INTEGER = 0x40002057
"""Encoding of vector instructions that write an integer register; those that set the vector length (function 7) do so
as well."""
_TO_INTEGER = (0x50, 0x60, 0x70)
"""Upper bits of F-extension instructions that write an integer register: comparisons, conversions, moves."""


def decode(read: Read, at: int, known: Known) -> Decoded:
    """Decode an instruction of RV32IMAFC."""
    word = read(at)
    return _rv32(word, at, known) if word & 3 == 3 else _rv16(word & 0xFFFF, at, known)


def _rv32(i: int, at: int, known: Known) -> Decoded:
    operation, to, source = i & 0x7F, i >> 7 & 31, i >> 15 & 31
    if operation == 0x6F:  # jal
        offset = signed(bits(i, (21, 10, 1), (20, 1, 11), (12, 8, 12), (31, 1, 20)), 21)
        return _jump(4, to, at + offset, at, known)
    if operation == 0x67:  # jalr
        return _register_jump(4, to, source, signed(i >> 20, 12), at, known)
    if operation == 0x63:
        offset = signed(bits(i, (8, 4, 1), (25, 6, 5), (7, 1, 11), (31, 1, 12)), 13)
        return Decoded(4, ControlKind.BRANCH, at + offset, known=known)
    if operation in (0x37, 0x17):  # lui, auipc
        value = (i & 0xFFFFF000) + (at if operation == 0x17 else 0)
        return _set(4, to, value & 0xFFFFFFFF, known)
    if operation == 0x13 and i >> 12 & 7 == 0:
        return _add(4, to, source, signed(i >> 20, 12), known)
    if operation == 0x33 and to == source == _SP and i & 0xBE007000 == 0:  # add, sub
        amount = constant(known, i >> 20 & 31)
        if amount is not None:
            return Decoded(4, grows=signed(amount, 32) * (1 if i >> 30 else -1), known=known)
    if i in (0x00100073, 0xC0001073):  # ebreak, unimp
        return Decoded(4, ControlKind.STOP)
    if operation in (0x23, 0x27):  # stores
        return Decoded(4, known=known)
    if operation == _VECTOR and i >> 12 & 7 != 7 and i & 0xFC00707F != _VECTOR_TO_INTEGER:
        return Decoded(4, known=known)
    if operation in _FLOAT and not (operation == 0x53 and i >> 25 in _TO_INTEGER):
        return Decoded(4, known=known)
    return _forget(4, to, known)


def _rv16(i: int, at: int, known: Known) -> Decoded:
    operation, to, source = bits(i, (13, 3, 0), (0, 2, 3)), i >> 7 & 31, i >> 2 & 31
    immediate = signed(bits(i, (2, 5, 0), (12, 1, 5)), 6)
    if i == 0:
        return Decoded(2, ControlKind.STOP)
    if operation in (0b01_001, 0b01_101):  # c.jal, c.j
        offset = bits(i, (3, 3, 1), (11, 1, 4), (2, 1, 5), (7, 1, 6), (6, 1, 7), (9, 2, 8), (8, 1, 10), (12, 1, 11))
        return _jump(2, _RA if operation == 0b01_001 else 0, at + signed(offset, 12), at, known)
    if operation in (0b01_110, 0b01_111):  # c.beqz, c.bnez
        offset = bits(i, (3, 2, 1), (10, 2, 3), (2, 1, 5), (5, 2, 6), (12, 1, 8))
        return Decoded(2, ControlKind.BRANCH, at + signed(offset, 9), known=known)
    if operation == 0b01_000:  # c.addi
        return _add(2, to, to, immediate, known)
    if operation == 0b01_010:  # c.li
        return _set(2, to, immediate & 0xFFFFFFFF, known)
    if operation == 0b01_011:  # c.addi16sp, c.lui
        if to == _SP:
            offset = bits(i, (6, 1, 4), (2, 1, 5), (5, 1, 6), (3, 2, 7), (12, 1, 9))
            return _add(2, to, to, signed(offset, 10), known)
        return _set(2, to, immediate << 12 & 0xFFFFFFFF, known)
    if operation == 0b10_100 and source == 0:  # c.jr, c.jalr, c.ebreak
        link = _RA if i & 0x1000 else 0
        return _register_jump(2, link, to, 0, at, known) if to else Decoded(2, ControlKind.STOP)
    if operation == 0b10_100 and to == _SP and i & 0x1000:  # c.add
        amount = constant(known, source)
        if amount is not None:
            return Decoded(2, grows=-signed(amount, 32), known=known)
    if operation in (0b00_101, 0b00_110, 0b00_111, 0b10_101, 0b10_110, 0b10_111):  # stores
        return Decoded(2, known=known)
    if operation in (0b00_011, 0b10_011):  # c.flw, c.flwsp
        return Decoded(2, known=known)
    if operation >> 3 == 0:
        to = 8 + (i >> 2 & 7)
    elif operation == 0b01_100:
        to = 8 + (i >> 7 & 7)
    return _forget(2, to, known)


def _jump(size: int, link: int, target: int, at: int, known: Known) -> Decoded:
    """Decode a jump; a link register other than `ra` calls a routine that saves or restores registers for its
    caller."""
    kind = {0: ControlKind.JUMP, _RA: ControlKind.CALL}.get(link, ControlKind.DETOUR)
    known_after = {**known, link: at + size} if kind == ControlKind.DETOUR else {}
    return Decoded(size, kind, target & 0xFFFFFFFF, known=known_after)


def _register_jump(size: int, link: int, source: int, offset: int, at: int, known: Known) -> Decoded:
    base = constant(known, source)
    if base is not None:
        return _jump(size, link, base + offset, at, known)
    if link:
        return Decoded(size, ControlKind.POINTER)
    return Decoded(size, ControlKind.RETURN if source == _RA else ControlKind.REGISTER)


def _add(size: int, to: int, source: int, amount: int, known: Known) -> Decoded:
    if to == source == _SP:
        return Decoded(size, grows=-amount, known=known)
    value = 0 if source == 0 else constant(known, source)
    if value is None:
        return _forget(size, to, known)
    return _set(size, to, value + amount & 0xFFFFFFFF, known)


def _set(size: int, to: int, value: int, known: Known) -> Decoded:
    return _forget(size, to, known) if to in (0, _SP) else Decoded(size, known={**known, to: value})


def _forget(size: int, to: int, known: Known) -> Decoded:
    """Decode any other instruction that writes a register, whose value becomes unknown."""
    return Decoded(size, ControlKind.DYNAMIC if to == _SP else ControlKind.PLAIN, known=without(known, to))
