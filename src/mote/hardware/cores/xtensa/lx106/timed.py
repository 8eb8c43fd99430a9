"""Cycles of an Xtensa LX106, estimated as a simple in-order pipeline because no manual states them."""

from __future__ import annotations

from typing import Any

from mote.hardware.cores.cycles import CycleTable
from mote.hardware.cores.instructions import Decoded, Task, Timed, task_of

_LOADS = (0x0, 0x1, 0x2, 0x9)
"""Opcode field of l8ui, l16ui, l32i and l16si among the instructions with an 8-bit offset."""


def timed(at: int, flow: Decoded, word: int, decoded: Any) -> Timed:
    operation = word & 15
    loads = operation in (1, 8) or (operation == 2 and word >> 12 & 15 in _LOADS)
    return Timed(at, flow, "xtensa", task_of(flow, Task.LOAD if loads else Task.ALU), words=1 if loads else 0)


MODEL = CycleTable({Task.LOAD: 2}, words=1, taken={Task.BRANCH: 2}, taken_else=2).model(
    "LX106", "a plain single-issue pipeline; no manual states its timing", estimate=True
)
