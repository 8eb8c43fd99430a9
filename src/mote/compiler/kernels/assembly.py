"""Lines of Thumb assembly that generators share: function frames, constants, and the requantization of a sum."""

from __future__ import annotations

from collections.abc import Sequence

MOST_OFFSET = 4095
"""Largest immediate offset of a load or store of one word or less, and largest immediate of an addition."""
SAVED, SAVED_HELIUM = "{r4-r11, lr}", "{r7, r11}"
"""Registers that a function saves: all, or those that inline assembly cannot list as overwritten."""
FLOATS, VECTORS = "{s16-s31}", "{d8-d15}"
"""Callee-saved registers of an FPU, and of Helium."""
SAVE16 = ("push {r4-r7, lr}", "mov r4, r8", "mov r5, r9", "mov r6, r10", "mov r7, r11", "push {r4-r7}")
RESTORE16 = ("pop {r4-r7}", "mov r8, r4", "mov r9, r5", "mov r10, r6", "mov r11, r7", "pop {r4-r7, pc}")
"""Save all registers with 16-bit instructions; restore them and return."""


def enter(frame: int = 0, *, saved: str = SAVED, vectors: str = "") -> list[str]:
    """Save registers and allocate `frame` bytes of stack."""
    taken = [f"sub sp, sp, #{frame}"] if frame else []
    return [f"push {saved}", *([f"vpush {vectors}"] if vectors else []), *taken]


def leave(frame: int = 0, *, saved: str = SAVED, vectors: str = "") -> list[str]:
    """Free the stack of `enter`, restore registers, and return if lr was saved."""
    freed = [f"add sp, sp, #{frame}"] if frame else []
    return [*freed, *([f"vpop {vectors}"] if vectors else []), f"pop {saved.replace('lr', 'pc')}"]


def listed(registers: Sequence[str]) -> str:
    return f"{{{', '.join(registers)}}}"


def load_next(pointer: str, registers: Sequence[str]) -> str:
    """Load the next words at a pointer, which advances."""
    if len(registers) == 1:
        return f"ldr {registers[0]}, [{pointer}], #4"
    return f"ldm {pointer}!, {listed(registers)}"


def plus(to: str, source: str, value: int, spare: str = "r12") -> list[str]:
    """Add a constant of up to 16 bits; one that does not fit an immediate goes through `spare`."""
    op, size = ("add", value) if value >= 0 else ("sub", -value)
    if size <= MOST_OFFSET:
        return [f"{op} {to}, {source}, #{size}"]
    return [f"movw {spare}, #{size}", f"{op} {to}, {source}, {spare}"]


def plus_parts(to: str, source: str, value: int) -> list[str]:
    """Add a constant of up to twenty bits without another register."""
    op, size = ("sub", -value) if value < 0 else ("add", value)
    parts = [part for part in (size & ~0xFFF, size & 0xFFF) if part]
    assert size < 1 << 20
    lines = [f"{op} {to}, {source if i == 0 else to}, #{part}" for i, part in enumerate(parts)]
    return lines or ([f"mov {to}, {source}"] if to != source else [])


def advance(register: str, value: int, op: str = "addw") -> list[str]:
    """Add a constant of any size, in parts that fit an immediate."""
    parts = [MOST_OFFSET] * (value // MOST_OFFSET) + [value % MOST_OFFSET]
    return [f"{op} {register}, {register}, #{part}" for part in parts if part]


def scaled(total: str, mult: str, add: str, fix: str = "", spare: str = "") -> list[str]:
    """Requantize a sum: times `mult`, plus `add`; with `fix`, also plus that unless the sum is negative. `add` and
    `fix` are overwritten unless there is a register `spare`."""
    if not fix:
        return [f"smmla {total}, {total}, {mult}, {add}"]
    to, other = (spare, add) if spare else (add, fix)
    return [
        f"bic {spare or fix}, {fix}, {total}, asr #31",
        f"add {to}, {to}, {other}",
        f"smmla {total}, {total}, {mult}, {to}",
    ]
