"""Cycle models of RISC-V cores: in-order execution with each core's stalls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from mote.hardware.cores.cycles import Block, CycleModel
from mote.hardware.cores.instructions import Task, Timed

_INDIRECT = ("jr", "jalr", "ret")


@dataclass(frozen=True)
class Pipeline:
    """Timing of an in-order pipeline: cycles by task (`plain` for other tasks), plus stall cycles. An instruction
    *straddles* if it has 4 bytes and begins in the middle of a word, so that it needs two fetches."""

    cycles: Mapping[Task, int]
    branch: int
    """Stall cycles of a taken branch."""
    jump: int
    indirect: int
    """Stall cycles of a jump to an address in a register."""
    plain: int = 1
    load_use: int = 0
    """Stall cycles of reading a register that the previous instruction loaded."""
    jump_use: int = 0
    """Stall cycles of a jump to an address that the previous instruction wrote."""
    straddle: int = 0
    """Stall cycles if the next instruction straddles."""
    straddle_target: int = 0
    """Stall cycles if the target of a jump straddles."""
    overrun: int = 0
    """Stall cycles of a taken branch that ends in the middle of a word: the next word was already being fetched."""
    predicts: bool = False
    """Whether backward branches are predicted as taken once they were: then only the first and last iteration of a loop
    stall. Both are counted at the end of the loop; outer loops are treated as predicted, too."""
    forwards: bool = False
    """Whether a store of data that was just loaded does not stall."""

    def block(self, block: Block) -> int:
        alone = sum(self.cycles.get(i.task, self.plain) for i in block)
        return alone + sum(self._next(a, b) for a, b in pairwise(block))

    def join(self, before: Timed, after: Timed, jumped: bool) -> int:
        predicted = self.predicts and before.task == Task.BRANCH and before.flow.target <= before.at
        if not (jumped and before.flow.jumps):
            return self._next(before, after) + (2 * self.branch if predicted else 0)
        split = self.straddle_target if _straddles(after) else 0
        if predicted:
            return 0
        if before.task == Task.BRANCH:
            return self.branch + split + (self.overrun if before.end % 4 else 0)
        return (self.indirect if before.name in _INDIRECT else self.jump) + split

    def _next(self, before: Timed, after: Timed) -> int:
        """Stall cycles between adjacent instructions."""
        waits = self.straddle if _straddles(after) else 0
        if before.writes & after.reads:
            forwarded = self.forwards and after.task == Task.STORE and not before.writes & after.address
            waits += self.load_use if before.task == Task.LOAD and not forwarded else 0
            waits += self.jump_use if after.name in _INDIRECT else 0
        return waits

    def model(self, name: str, source: str, *, estimate: bool = False) -> CycleModel:
        return CycleModel(name, source, estimate, self.block, self.join)


def _straddles(i: Timed) -> bool:
    return i.flow.size == 4 and i.at % 4 != 0


_PLAIN = Pipeline({Task.LOAD: 2, Task.MULL: 2, Task.DIV: 34, Task.SYSTEM: 2}, branch=2, jump=1, indirect=1)
_VECTORS = replace(_PLAIN, cycles={**_PLAIN.cycles, Task.VECTOR: 4, Task.VECTOR_MEMORY: 4})
_IBEX = Pipeline(
    {Task.LOAD: 2, Task.STORE: 2, Task.MUL: 3, Task.MULL: 4, Task.DIV: 37},
    *(2, 1, 1),
    straddle_target=1,
)
_CV32E40P = Pipeline(
    {Task.MULL: 5, Task.DIV: 35, Task.SYSTEM: 4},
    *(2, 1, 1),
    load_use=1,
    jump_use=1,
    straddle_target=1,
)
_PICORV32 = Pipeline(
    {Task.LOAD: 5, Task.STORE: 5, Task.MUL: 6, Task.MULL: 6, Task.DIV: 40},
    *(2, 0, 3),
    plain=3,
    straddle=1,
    straddle_target=1,
    overrun=1,
)
_HAZARD3 = Pipeline(
    {Task.DIV: 18},
    *(1, 1, 1),
    load_use=1,
    straddle_target=1,
    predicts=True,
    forwards=True,
)
_GUESS = "a plain single-issue pipeline; no part's manual states its timing"
_VECTOR_GUESS = f"{_GUESS}. A vector instruction is taken to need four cycles"

CYCLES = {
    **{name.lower(): _PLAIN.model(name, _GUESS, estimate=True) for name in ("RV32IMC", "RV32IMAFC")},
    "rv32imc_zve32x": _VECTORS.model("RV32IMC with Zve32x", _VECTOR_GUESS, estimate=True),
    "ibex": _IBEX.model("Ibex", "Ibex reference guide, pipeline details; compared with its RTL"),
    "cv32e40p": _CV32E40P.model("CV32E40P", "CV32E40P user manual, pipeline details; compared with its RTL"),
    "hazard3": _HAZARD3.model(
        "Hazard3", "RP2350 data sheet, 3.8.7; branches of loops around loops are taken for predicted", estimate=True
    ),
    "picorv32": _PICORV32.model("PicoRV32", "PicoRV32's README, cycles per instruction; compared with its RTL"),
}
"""Cycle models by `cycle_model` of targets."""
