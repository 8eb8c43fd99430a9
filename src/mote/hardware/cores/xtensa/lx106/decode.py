"""Decoder of Xtensa instructions: their length and their effect on the stack pointer and control flow, for the ABI
without register windows (a0 is the return address, a1 the stack pointer)."""

from __future__ import annotations

from mote.hardware.cores.instructions import ControlKind, Decoded, Known, Read, bits, constant, signed, without

_SP = 1
_NARROW = range(8, 14)
"""Values of the lowest four bits that mark 2-byte instructions."""
_NO_RESULT = frozenset({(0, 0), (0, 4), (0, 5), (1, 6), (1, 7), (3, 0), (3, 1)})
"""Register-register instructions, by two opcode fields, whose result field is not a result."""
_RET, _JX, _CALLX0, _ILL = 0x80, 0xA0, 0xC0, 0x00


def decode(read: Read, at: int, known: Known) -> Decoded:
    """Decode an LX106 instruction."""
    i = read(at) & 0xFFFFFF
    return _narrow(i & 0xFFFF, at, known) if i & 15 in _NARROW else _wide(i, at, known, read)


def _wide(i: int, at: int, known: Known, read: Read) -> Decoded:
    operation, to, source = i & 15, i >> 4 & 15, i >> 8 & 15
    if operation == 5:  # call0
        return Decoded(3, ControlKind.CALL, (at & ~3) + 4 + 4 * signed(i >> 6, 18), known=_kept(known))
    if operation == 6 and i >> 4 & 3 == 0:  # j
        return Decoded(3, ControlKind.JUMP, at + 4 + signed(i >> 6, 18), known=known)
    if operation == 6 and i >> 4 & 3 == 1:  # beqz, bnez, bltz, bgez
        return Decoded(3, ControlKind.BRANCH, at + 4 + signed(i >> 12, 12), known=known)
    if operation in (6, 7):
        return Decoded(3, ControlKind.BRANCH, at + 4 + signed(i >> 16, 8), known=known)
    if operation == 1:  # l32r
        address = (at + 3 & ~3) + 4 * ((i >> 8) - (1 << 16))
        return _set(3, to, read(address), known)
    if operation == 2:
        return _immediate(i, to, source, known)
    if operation == 0 and i >> 16 == 0 and i >> 12 & 15 == 0:
        return _register(i & 0xFF, source, known)
    result = i >> 12 & 15
    if operation == 0 and result == _SP and i >> 16 in (0x80, 0xC0):  # add, sub
        amount = constant(known, to)
        if source != _SP or amount is None:
            return Decoded(3, ControlKind.DYNAMIC)
        return Decoded(3, grows=signed(amount, 32) * (1 if i >> 22 & 1 else -1), known=known)
    if result == _SP and operation == 0 and (i >> 16 & 15, i >> 20) not in _NO_RESULT:
        return Decoded(3, ControlKind.DYNAMIC)
    return Decoded(3, known=without(known, result, to))


def _immediate(i: int, to: int, source: int, known: Known) -> Decoded:
    """Decode a load or store with an offset, or a constant."""
    kind = i >> 12 & 15
    if kind in (0xC, 0xD) and to == _SP:  # addi, addmi
        if source != _SP:
            return Decoded(3, ControlKind.DYNAMIC)
        return Decoded(3, grows=-signed(i >> 16, 8) * (256 if kind == 0xD else 1), known=known)
    if kind == 0xA:  # movi
        return _set(3, to, signed(bits(i, (16, 8, 0), (8, 4, 8)), 12) & 0xFFFFFFFF, known)
    return Decoded(3, known=without(known, to))


def _register(low: int, source: int, known: Known) -> Decoded:
    """Decode a jump or call to an address in a register."""
    target = constant(known, source)
    if low == _RET:
        return Decoded(3, ControlKind.RETURN)
    if low == _CALLX0:
        if target is None:
            return Decoded(3, ControlKind.POINTER)
        return Decoded(3, ControlKind.CALL, target, known=_kept(known))
    if low == _JX:
        return Decoded(3, ControlKind.REGISTER) if target is None else Decoded(3, ControlKind.JUMP, target, known=known)
    return Decoded(3, ControlKind.STOP) if low == _ILL else Decoded(3, known=known)


def _narrow(i: int, at: int, known: Known) -> Decoded:
    operation, to, source, result = i & 15, i >> 4 & 15, i >> 8 & 15, i >> 12
    if operation == 0xD and result == 15:
        kinds = {0: ControlKind.RETURN, 2: ControlKind.STOP, 6: ControlKind.STOP}
        return Decoded(2, kinds.get(to, ControlKind.PLAIN), known=known)
    if operation == 0xD:  # mov.n
        return Decoded(2, ControlKind.DYNAMIC) if to == _SP else Decoded(2, known=without(known, to))
    if operation == 0xC and i >> 7 & 1:  # beqz.n, bnez.n
        return Decoded(2, ControlKind.BRANCH, at + 4 + bits(i, (12, 4, 0), (4, 2, 4)), known=known)
    if operation == 0xC:  # movi.n
        value = bits(i, (12, 4, 0), (4, 3, 4))
        return _set(2, source, (value - 128 if value >= 96 else value) & 0xFFFFFFFF, known)
    if operation == 0xB and result == _SP:  # addi.n
        return Decoded(2, grows=-(to or -1), known=known) if source == _SP else Decoded(2, ControlKind.DYNAMIC)
    if operation == 0xA and result == _SP:  # add.n
        amount = constant(known, to if source == _SP else source)
        if amount is None or _SP not in (to, source):
            return Decoded(2, ControlKind.DYNAMIC)
        return Decoded(2, grows=-signed(amount, 32), known=known)
    return Decoded(2, known=without(known, to if operation == 8 else result))


def _set(size: int, register: int, value: int, known: Known) -> Decoded:
    if register == _SP:
        return Decoded(size, ControlKind.DYNAMIC)
    return Decoded(size, known={**known, register: value})


def _kept(known: Known) -> Known:
    """Known registers after a call: callee-saved are a12 to a15."""
    return {r: v for r, v in known.items() if r >= 12}
