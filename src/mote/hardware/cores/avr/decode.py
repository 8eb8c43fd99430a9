"""Decoder of AVR instructions: their length and their effect on the stack pointer and control flow.

Stack frames are allocated through register Y: the stack pointer is copied to Y, Y is moved and copied back. `known`
tracks how far Y is below the stack pointer.
"""

from __future__ import annotations

from mote.hardware.cores.instructions import ControlKind, Decoded, Decoder, Known, Read, bits, signed, without

_Y_LOW, _Y_HIGH = 28, 29
_SPL, _SPH = 0x3D, 0x3E
_FRAME, _HALF, _BORROWED = 100, 101, 102
"""Keys in `known`. _FRAME: bytes by which Y is below the stack pointer; _HALF: Y's low byte is the stack pointer's;
_BORROWED: low byte of a constant that is being subtracted from Y."""
_SBC_ZERO = 0x09D1
"""Encoding of sbc r29, r1; compilers keep zero in r1."""
_SKIPS = ((0xFC00, 0x1000), (0xFC08, 0xFC00), (0xFF00, 0x9900), (0xFF00, 0x9B00))
"""Masks and values of the skip instructions: cpse; sbrc and sbrs; sbic; sbis."""


def is_long(word: int) -> bool:
    """Whether an instruction has a second word: lds, sts, jmp, call."""
    return word & 0xFC0F == 0x9000 or word & 0xFE0C == 0x940C


def is_skip(word: int) -> bool:
    """Whether an instruction conditionally skips the next one."""
    return any(word & mask == value for mask, value in _SKIPS)


def decoder(pushed: int) -> Decoder:
    """The decoder for cores whose calls push `pushed` bytes of return address."""

    def decode(read: Read, at: int, known: Known) -> Decoded:
        both = read(at)
        word = both & 0xFFFF
        return _flow(word, both >> 16, at, known, read, pushed) or _data(word, known)

    return decode


def _flow(word: int, second: int, at: int, known: Known, read: Read, pushed: int) -> Decoded | None:
    """Decode an instruction that changes control flow; None: it is no such instruction."""
    if word & 0xFE0C == 0x940C:  # jmp, call
        target = (bits(word, (0, 1, 16), (4, 5, 17)) | second) * 2
        return _call(4, target, known) if word & 2 else Decoded(4, ControlKind.JUMP, target, known=known)
    if word & 0xE000 == 0xC000:  # rjmp, rcall
        target = at + 2 + 2 * signed(word & 0xFFF, 12)
        if word & 0x1000 and target == at + 2:  # rcall to the next instruction: reserves stack
            return Decoded(2, grows=pushed, known=_moved(known, -pushed))
        return _call(2, target, known) if word & 0x1000 else Decoded(2, ControlKind.JUMP, target, known=known)
    if word & 0xF800 == 0xF000:  # brbs, brbc
        return Decoded(2, ControlKind.BRANCH, at + 2 + 2 * signed(word >> 3 & 0x7F, 7), known=known)
    if is_skip(word):
        behind = 4 if is_long(read(at + 2) & 0xFFFF) else 2
        return Decoded(2, ControlKind.BRANCH, at + 2 + behind, known=known)
    return {
        0x9508: Decoded(2, ControlKind.RETURN),
        0x9518: Decoded(2, ControlKind.RETURN),  # reti
        0x9409: Decoded(2, ControlKind.REGISTER),  # ijmp
        0x9419: Decoded(2, ControlKind.REGISTER),  # eijmp
        0x9509: Decoded(2, ControlKind.POINTER),  # icall
        0x9519: Decoded(2, ControlKind.POINTER),  # eicall
        0x9598: Decoded(2, ControlKind.STOP),  # break
    }.get(word)


def _call(size: int, target: int, known: Known) -> Decoded:
    """A call: afterwards Y and the caller's frame are unchanged, because functions preserve them."""
    return Decoded(size, ControlKind.CALL, target, known=without(known, _BORROWED))


def _data(word: int, known: Known) -> Decoded:
    """Decode an instruction after which execution continues with the next one."""
    size = 4 if is_long(word) else 2
    register = word >> 4 & 0x1F
    if word & 0xFE0F == 0x920F:  # push
        return Decoded(2, grows=1, known=_moved(known, -1))
    if word & 0xFE0F == 0x900F:  # pop
        return Decoded(2, grows=-1, known=_moved(_written(known, register), 1))
    if word & 0xF800 == 0xB000:
        return _in(register, bits(word, (0, 4, 0), (9, 2, 4)), known)
    if word & 0xF800 == 0xB800:
        return _out(register, bits(word, (0, 4, 0), (9, 2, 4)), known)
    if word & 0xFE00 == 0x9600 and word >> 4 & 3 == 2:  # adiw, sbiw of Y
        amount = bits(word, (0, 4, 0), (6, 2, 4))
        return Decoded(2, known=_moved(known, amount if word & 0x100 else -amount))
    constant = bits(word, (0, 4, 0), (8, 4, 4))
    upper = 16 + (word >> 4 & 15)
    if word & 0xF000 == 0x5000 and upper == _Y_LOW and _FRAME in known:  # subi
        return Decoded(2, known={**known, _BORROWED: constant})
    if word == _SBC_ZERO and _BORROWED in known:
        return Decoded(2, known=_moved(without(known, _BORROWED), known[_BORROWED]))
    if word & 0xF000 == 0x4000 and upper == _Y_HIGH and _BORROWED in known:  # sbci
        amount = signed(known[_BORROWED] | constant << 8, 16)
        return Decoded(2, known=_moved(without(known, _BORROWED), amount))
    return Decoded(size, known=_written(known, *_targets(word)))


def _in(register: int, port: int, known: Known) -> Decoded:
    if (register, port) == (_Y_LOW, _SPL):
        return Decoded(2, known={**_written(known, _Y_LOW), _HALF: 1})
    if (register, port) == (_Y_HIGH, _SPH) and _HALF in known:
        return Decoded(2, known={**without(known, _HALF), _FRAME: 0})
    return Decoded(2, known=_written(known, register))


def _out(register: int, port: int, known: Known) -> Decoded:
    """Decode an `out` instruction; the stack pointer changes with its low byte, which compilers write last."""
    if port == _SPL:
        if register != _Y_LOW or _FRAME not in known:
            return Decoded(2, ControlKind.DYNAMIC)
        return Decoded(2, grows=known[_FRAME], known={**known, _FRAME: 0})
    if port == _SPH and (register != _Y_HIGH or _FRAME not in known):
        return Decoded(2, ControlKind.DYNAMIC)
    return Decoded(2, known=known)


def _moved(known: Known, below: int) -> Known:
    """Update the known distance after Y or the stack pointer moved: Y is `below` bytes further below it."""
    return {**known, _FRAME: known[_FRAME] + below} if _FRAME in known else known


def _written(known: Known, *registers: int) -> Known:
    """Forget the distance of Y if one of its bytes is written."""
    if _Y_LOW in registers or _Y_HIGH in registers:
        return without(known, _FRAME, _HALF, _BORROWED)
    return known


def _targets(word: int) -> tuple[int, ...]:
    """Registers that an instruction may write; stores and comparisons write none."""
    register, upper = word >> 4 & 0x1F, 16 + (word >> 4 & 15)
    top = word >> 12
    if top in (3, 8, 10) and (top == 3 or word & 0x200):  # cpi; std
        return ()
    if top in (4, 5, 6, 7, 14):  # instructions with an immediate
        return (upper,)
    if top == 0 and word & 0xFF00 == 0x0100:  # movw
        low = 2 * (word >> 4 & 15)
        return (low, low + 1)
    if word & 0xFC00 == 0x0400 or word & 0xFC00 == 0x1400 or word & 0xFE00 == 0x9200:  # cpc, cp; st, sts
        return ()
    if word & 0xFC00 == 0x9C00 or word & 0xFC00 == 0x0000:  # mul; muls, mulsu, fmul, nop
        return ()
    if word & 0xFE00 == 0x9600:  # adiw, sbiw
        low = 24 + 2 * (word >> 4 & 3)
        return (low, low + 1)
    if word & 0xFE00 == 0x9000 and word & 15 in (9, 10):  # ld Rd, Y+ and -Y
        return (register, _Y_LOW, _Y_HIGH)
    return (register,)
