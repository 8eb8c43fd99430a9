"""Cycles of AVR instructions according to the instruction set manual, for cores with 16-bit and 22-bit program
counters.

They depend only on the instruction, and on whether a branch is taken or an instruction skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mote.hardware.cores.avr.decode import is_skip
from mote.hardware.cores.cycles import Block, CycleModel
from mote.hardware.cores.instructions import ControlKind, Decoded, Task, Timed, task_of


def timing(pushed: int) -> Callable[[int, Decoded, int, Any], Timed]:
    """The timing callback for cores whose calls push `pushed` bytes of return address, one in a cycle. It stores an
    instruction's cycles without a taken branch as its `words`."""

    def timed(at: int, flow: Decoded, word: int, decoded: Any) -> Timed:
        name = "skip" if is_skip(word & 0xFFFF) else "avr"
        return Timed(at, flow, name, task_of(flow, Task.ALU), words=_cycles(word & 0xFFFF, flow, pushed))

    return timed


def _cycles(word: int, flow: Decoded, pushed: int) -> int:
    if flow.kind in (ControlKind.CALL, ControlKind.POINTER) or word & 0xF000 == 0xD000:
        return pushed + flow.size // 2
    if flow.kind is ControlKind.RETURN:
        return pushed + 2
    if flow.kind in (ControlKind.JUMP, ControlKind.REGISTER):
        return 3 if flow.size == 4 else 2
    if word & 0xFE00 == 0x9000 and word & 15 in (4, 5, 6, 7):  # lpm, elpm
        return 3
    if word in (0x95C8, 0x95D8):  # lpm, elpm to r0
        return 3
    two = (
        (0xFC00, 0x9C00),  # mul
        (0xFF00, 0x0200),  # muls
        (0xFF00, 0x0300),  # mulsu, fmul
        (0xFE00, 0x9600),  # adiw, sbiw
        (0xFC00, 0x9000),  # ld, st, lds, sts, push, pop
        (0xD000, 0x8000),  # ldd, std
        (0xFD00, 0x9800),  # cbi, sbi
    )
    return 2 if any(word & mask == value for mask, value in two) else 1


def _block(block: Block) -> int:
    return sum(i.words for i in block)


def _join(before: Timed, after: Timed, jumped: bool) -> int:
    """Extra cycles between blocks: one for a taken branch, or one for each word that is skipped."""
    if not jumped or before.flow.kind is not ControlKind.BRANCH:
        return 0
    return (after.at - before.end) // 2 if before.name == "skip" else 1


MODEL = CycleModel("AVR", "the instruction set manual of AVR cores", False, _block, _join)
