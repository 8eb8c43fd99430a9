"""Cycle models of the Cortex-M cores, by the name of the core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mote.hardware.cores.cycles import Block, CycleModel, CycleTable, is_quick
from mote.hardware.cores.instructions import Task, Timed

_ONE_ADDRESS = (Task.LOAD, Task.STORE)
_MEMORY = (*_ONE_ADDRESS, Task.LOADS, Task.STORES)
_FLOAT = (Task.FPU, Task.FMAC, Task.FDIV, Task.FMOVE)


def _m4_pairs(before: Timed, i: Timed) -> int:
    """Extra cycles of an instruction after another one (Cortex-M4 TRM 3.3.2 and 7.2.3). A load overlaps with the next
    load or store unless that needs its result as an address; an address computed by the instruction before costs one
    cycle, and so does a floating-point result used at once."""
    if before.task == Task.LOAD and i.task in _ONE_ADDRESS and not before.writes & i.address:
        return 0 if is_quick(i) else -1
    if i.task in _MEMORY and before.task not in _MEMORY and not before.flow.jumps:
        return 1 if before.writes & i.address else 0
    if before.task in (Task.FPU, Task.FMAC, Task.FDIV) and before.name != "vmov" and before.writes & i.reads:
        return 1 if i.task in _FLOAT or i.name.startswith("v") else 0
    return 0


_V7M = {Task.LOAD: 2, Task.DIV: 12, Task.SYSTEM: 2, Task.TABLE: 3}
_V7M_TAKEN = {Task.LOAD: 3, Task.LOADS: 3, Task.TABLE: 3}
_FPU = {Task.FMAC: 3, Task.FDIV: 14, Task.FMOVE: 2}
_M3 = CycleTable(
    {**_V7M, Task.MLA: 2, Task.MULL: 5, Task.MLAL: 7, Task.BARRIER: 3},
    words=1,
    taken=_V7M_TAKEN,
    taken_else=2,
    pairs=_m4_pairs,
)
M4 = CycleTable({**_V7M, **_FPU, Task.BARRIER: 3}, words=1, taken=_V7M_TAKEN, taken_else=2, pairs=_m4_pairs)
_M0PLUS = CycleTable(
    {Task.LOAD: 2, Task.STORE: 2, Task.SYSTEM: 3, Task.BARRIER: 3, Task.FENCE: 3},
    words=1,
    taken={Task.CALL: 2, Task.LOADS: 2},
    taken_else=1,
)
_M0 = CycleTable(
    {Task.LOAD: 2, Task.STORE: 2, Task.SYSTEM: 4, Task.BARRIER: 4, Task.FENCE: 4},
    words=1,
    taken={Task.CALL: 3, Task.LOADS: 3},
    taken_else=2,
)


_VECTORS = (Task.VECTOR, Task.VECTOR_MULTIPLY, Task.VECTOR_MEMORY)


def _m55_pairs(before: Timed, i: Timed) -> int:
    """Extra cycles of an instruction after another one (Cortex-M55). Vector instructions take two beats, the second of
    which overlaps with the next one's first if that uses another pipeline: memory, multiplications, or all others. A
    vector sum in a core register can be stored two cycles later; results of loads, multiplications and shifts can be
    used one cycle later."""
    if before.task in _VECTORS:
        if i.task in _VECTORS:
            return -1 if i.task != before.task and max(before.words, i.words) <= 1 else 0
        return 2 if before.task == Task.VECTOR_MULTIPLY and i.task == Task.STORES else 0
    late = (Task.LOAD, Task.LOADS, Task.MUL, Task.MLA, Task.MULL, Task.MLAL, Task.MAC, Task.DSP, Task.SHIFT, Task.FMAC)
    return 1 if before.task in late and before.writes & (i.reads | i.address) else 0


_M55 = CycleTable(
    {
        Task.DIV: 11,
        Task.SYSTEM: 2,
        Task.TABLE: 3,
        Task.FDIV: 14,
        Task.LOOP: 0,
        Task.BARRIER: 3,
        **dict.fromkeys(_VECTORS, 2),
    },
    words=0,
    taken={Task.LOOP: 0, Task.LOAD: 3, Task.LOADS: 3, Task.TABLE: 3},
    taken_else=2,
    pairs=_m55_pairs,
)


# Cortex-M7: two instructions a cycle, in order.

_M7_UNITS = {
    Task.LOAD: ("load", 2),
    Task.STORE: ("store", 1),
    Task.SHIFT: ("shift", 1),
    Task.DSP: ("simd", 1),
    **dict.fromkeys((Task.MUL, Task.MLA, Task.MULL, Task.MLAL, Task.MAC), ("mac", 1)),
    **dict.fromkeys((Task.BRANCH, Task.CALL, Task.JUMP), ("branch", 1)),
    **dict.fromkeys((Task.FPU, Task.FMAC, Task.FDIV, Task.FMOVE), ("fpu", 1)),
}
_M7_LATENCY = {
    **dict.fromkeys((Task.MUL, Task.MLA, Task.MULL, Task.MLAL, Task.MAC, Task.LOADS), 2),
    Task.FPU: 3,
    Task.FMAC: 6,
    Task.FDIV: 16,
}
_M7_ALONE = (Task.LOADS, Task.STORES, Task.DIV, Task.TABLE, Task.SYSTEM, Task.BARRIER, Task.FENCE)


def _m7_occupies(i: Timed) -> int:
    """Cycles in which no other instruction can start."""
    if i.task in (Task.LOADS, Task.STORES):
        return max(1, (i.words + 1) // 2)
    return {Task.DIV: 7, Task.TABLE: 2, Task.SYSTEM: 3, Task.BARRIER: 3, Task.FENCE: 3}.get(i.task, 1)


def m7_latency(i: Timed) -> int:
    """Cycles of a Cortex-M7 from an instruction's start until others can read its result."""
    slow = i.task == Task.LOAD and i.name not in ("ldr", "vldr")
    return 2 if slow else _M7_LATENCY.get(i.task, 1)


def _m7_needed(i: Timed, ready: Mapping[str, int], accumulators: Mapping[str, int]) -> int:
    """The first cycle in which an instruction's operands are available: addresses and shifted operands are needed one
    cycle earlier than others, accumulators later."""
    early = i.address if i.task in _MEMORY else i.reads if i.task == Task.SHIFT else frozenset()
    times = [ready.get(r, 0) + (1 if r in early and r in ready else 0) for r in i.reads | i.address]
    if i.task in (Task.MLA, Task.MLAL, Task.MAC, Task.FMAC):
        times = [accumulators.get(r, 0) if r in i.writes else ready.get(r, 0) for r in i.reads]
    return max(times, default=0)


@dataclass
class DualIssue:
    """State of a Cortex-M7's pipeline while a block executes: in order, at most two instructions in a cycle, limited by
    execution units. The rules are those of LLVM's scheduling model for the core."""

    now: int = 0
    used: list[str] = field(default_factory=list)
    """Execution units that the current cycle already uses."""
    ready: dict[str, int] = field(default_factory=dict)
    """First cycle in which each register can be read (`ready`), and in which it can be an accumulator
    (`accumulators`)."""
    accumulators: dict[str, int] = field(default_factory=dict)

    def start(self, i: Timed) -> int:
        """The cycle in which an instruction would start."""
        unit, count = _M7_UNITS.get(i.task, ("alu", 2))
        at = max(self.now, _m7_needed(i, self.ready, self.accumulators))
        full = len(self.used) > 1 or self.used.count(unit) >= count or (self.used and i.task in (*_M7_ALONE, Task.DSP))
        return at + 1 if at == self.now and full else at

    def issue(self, i: Timed) -> None:
        """Start an instruction."""
        at, unit = self.start(i), _M7_UNITS.get(i.task, ("alu", 2))[0]
        self.used = [*self.used, unit] if at == self.now else [unit]
        self.now = at
        if i.task in _M7_ALONE:
            self.now += _m7_occupies(i) - 1
            self.used += [unit, unit]
        done = self.now + m7_latency(i)
        self.ready.update(dict.fromkeys(i.writes, done))
        chained = {Task.FMAC: 3, Task.MLA: 1, Task.MLAL: 1, Task.MAC: 1}.get(i.task, 0)
        self.accumulators.update(dict.fromkeys(i.writes, done - chained))


def _m7_block(block: Block) -> int:
    core = DualIssue()
    for i in block:
        core.issue(i)
    return core.now + 1


def _m7_join(before: Timed, after: Timed, jumped: bool) -> int:
    """Extra cycles between blocks: every jump is assumed to be predicted, and costs the rest of its cycle."""
    return 1 if jumped and before.flow.jumps else 0


_HELIUM = "LLVM's scheduling model, no pairs of 16-bit instructions; vectors two beats a cycle"

CYCLES = {
    "cortex-m0": _M0.model("Cortex-M0", "Arm DDI 0432C, table 3-1; single-cycle multiplier"),
    "cortex-m0plus": _M0PLUS.model("Cortex-M0+", "Arm DDI 0484C, table 3-1; single-cycle multiplier"),
    "cortex-m23": _M0PLUS.model("Cortex-M23", "Arm publishes no timing: the Cortex-M0+'s is assumed", estimate=True),
    "cortex-m3": _M3.model("Cortex-M3", "Arm DDI 0337I, 3.3"),
    "cortex-m4": M4.model("Cortex-M4", "Arm 100166 (DDI 0439), 3.3 and 7.2"),
    "cortex-m33": M4.model("Cortex-M33", "Arm publishes no timing: the Cortex-M4's is assumed", estimate=True),
    "cortex-m7": CycleModel(
        "Cortex-M7",
        "Arm publishes no timing: LLVM's scheduling model, every jump foreseen",
        True,
        _m7_block,
        _m7_join,
    ),
    "cortex-m55": _M55.model("Cortex-M55", _HELIUM, estimate=True),
    "cortex-m85": _M55.model("Cortex-M85", f"the Cortex-M55's, which starts fewer at once: {_HELIUM}", estimate=True),
}
