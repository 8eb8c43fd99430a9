"""List scheduling of a block's operations for a core, with register allocation.

Operations are picked one by one from those whose inputs are available. One is not picked if no register is free for its
result, or if its result would leave too few registers for the remaining operations in source order. Priorities differ
by core:

- Cortex-M4: single issue; in a run of loads each but the first takes a cycle less. Loads are deferred until nothing
else is available, and then as many are issued as there are registers for. - Cortex-M7: dual issue, for different units
and available inputs: the operation that can start first is picked, then the one with the longest dependency chain
behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from mote.compiler.kernels.armv7em.ordering.blocks import ALL, Registers, split_blocks
from mote.compiler.kernels.armv7em.ordering.dataflow import BASE, INDEX, Dataflow, FlowNode, dataflow, producers
from mote.compiler.kernels.armv7em.ordering.same import same
from mote.compiler.kernels.armv7em.ordering.text import GENERAL, Operation, parsed
from mote.hardware.cores.arm.cycles import M4, DualIssue, m7_latency
from mote.hardware.cores.instructions import Task, Timed


class Order(StrEnum):
    """The core whose timing decides the schedule of a function's instructions; also a value of the knob `order`, which
    is plain text where a user pins it."""

    WRITTEN = ""
    """In source order."""
    M4 = "m4"
    M7 = "m7"


MOST_READY = 12
"""Most ready operations that are compared when the next one is picked."""


@lru_cache(maxsize=512)
def ordered(code: tuple[str, ...], order: Order, jumped: Registers = ALL) -> tuple[str, ...]:
    """A function's assembly with the blocks of its loops rescheduled where that saves cycles; `jumped`: registers that
    are live after an indirect jump."""
    if not order:
        return code
    frame = _frame(code)
    lines: list[str] = []
    for piece in split_blocks(code, jumped):
        lines += rearranged(piece.lines, piece.needed, frame, order) if piece.looped else piece.lines
    return tuple(lines)


def _frame(code: Sequence[str]) -> Registers:
    """Registers that hold stack addresses anywhere in a function."""
    operations = [o for line in code for o in parsed(line) or ()]
    frame = {o.operands[0] for o in operations if o.writes and "sp" in o.operands[1:] and not o.memory}
    more = True
    while more:
        copies = {o.operands[0] for o in operations if o.writes and not o.memory and frame.intersection(o.operands[1:])}
        more = not copies <= frame
        frame |= copies
    return frozenset(frame)


def rearranged(lines: Sequence[str], needed: Registers, frame: Registers, order: Order) -> list[str]:
    """The fastest schedule of a block's lines that was tried, or the lines unchanged if none is faster."""
    operations = [o for line in lines for o in parsed(line) or ()]
    flow = dataflow(operations, needed, frame)
    tries = [_Search(flow, order, way).run() for way in WAYS[order]] if flow else []
    best = min([list(lines), *([o.text for o in tried] for tried in tries if tried)], key=lambda x: cycles(x, order))
    assert same(operations, [o for line in best for o in parsed(line) or ()], needed, frame)
    return best


def cycles(lines: Sequence[str], order: Order) -> int:
    """Estimated cycles of a block without jumps; multi-word loads and stores count as one instruction."""
    timed = [t for line in lines for t in _timed(line)]
    if order == Order.M7:
        core = DualIssue()
        for i in timed:
            core.issue(i)
        return core.now + 1
    return M4.block(timed)


def _timed(line: str) -> Iterator[Timed]:
    """Instructions of a line for the cycle model: multi-word accesses stay whole."""
    name = line.split()[0].removesuffix(".w")
    operations = parsed(line)
    assert operations is not None
    if len(operations) == 1:
        yield operations[0].timed
        return
    each = [o for o in operations if o.memory]
    if not each:
        yield Timed(0, operations[0].timed.flow, name, Task.FMOVE, *_sets(operations))
        return
    task = Task.STORES if each[0].store else Task.LOADS
    reads, writes = _sets(each)
    yield Timed(0, each[0].timed.flow, name, task, reads, writes, frozenset({each[0].base}), len(each))


def _sets(operations: Sequence[Operation]) -> tuple[Registers, Registers]:
    timed = [o.timed for o in operations]
    return frozenset[str]().union(*(t.reads for t in timed)), frozenset[str]().union(*(t.writes for t in timed))


@dataclass(frozen=True)
class Heuristic:
    """Priorities of a search. `window`: how many remaining operations, in source order, are candidates; `run`: longest
    run of loads; `early`: prefer operations that can only be the first of a dual-issue pair; `chains`: prefer long
    dependency chains over source order."""

    window: int
    run: int = 16
    early: bool = False
    chains: bool = True


WAYS: dict[Order, tuple[Heuristic, ...]] = {
    Order.WRITTEN: (),
    Order.M4: tuple(Heuristic(32, run=run) for run in (3, 4, 6, 16)),
    Order.M7: (Heuristic(24), Heuristic(24, early=True), Heuristic(24, early=True, chains=False)),
}


class _Search:
    """One scheduling pass over a block with one heuristic."""

    def __init__(self, flow: Dataflow, order: Order, way: Heuristic) -> None:
        self.flow, self.order, self.way = flow, order, way
        self.left = [value.uses for value in flow.values]
        self.register: dict[int, str] = {v: value.home for v, value in enumerate(flow.values) if value.live_in}
        self.holder: dict[str, int | None] = dict.fromkeys(flow.busy) | {r: v for v, r in self.register.items()}
        self.waiting = [len(node.before) for node in flow.nodes]
        producer = dict(producers(flow))
        self.after: list[list[int]] = [[] for _ in flow.nodes]
        for n, node in enumerate(flow.nodes):
            for m in {*node.before, *(producer[v] for _, v in node.reads if v in producer)}:
                if m not in node.before:
                    self.waiting[n] += 1
                self.after[m].append(n)
        self.done = [False] * len(flow.nodes)
        self.first = 0
        self.furthest = 0
        self.homes = {value.home for value in flow.values if value.live_out and not value.live_in}
        self.wanted = self._preferred()
        self.result: list[Operation] = []
        self.core = DualIssue()
        self.last: Timed | None = None
        self.loads = 0
        self.gone: set[str] = set()
        self.heights = self._heights()

    def _preferred(self) -> dict[int, str]:
        """Preferred registers of values: those that an accumulator or pointer which they become must end up in."""
        wanted = {v: value.home for v, value in enumerate(self.flow.values) if value.live_out}
        for node in reversed(self.flow.nodes):
            for value, old in node.tied:
                if value in wanted:
                    wanted.setdefault(old, wanted[value])
            if node.writes in wanted:
                for place, v in node.reads:
                    if place == 3:
                        wanted.setdefault(v, wanted[node.writes])
        return wanted

    def _heights(self) -> list[int]:
        """Cycles of the longest dependency chain from each node to the end."""
        heights = [0] * len(self.flow.nodes)
        for n in reversed(self._topological()):
            timed = self.flow.nodes[n].operation.timed
            latency = m7_latency(timed) if self.order == Order.M7 else M4.alone(timed)
            heights[n] = latency + max((heights[m] for m in self.after[n]), default=0)
        return heights

    def _topological(self) -> list[int]:
        waiting, ready, result = list(self.waiting), [n for n, w in enumerate(self.waiting) if not w], []
        while ready:
            n = ready.pop()
            result.append(n)
            for m in self.after[n]:
                waiting[m] -= 1
                if not waiting[m]:
                    ready.append(m)
        return result

    def run(self) -> list[Operation] | None:
        """Run the scheduler: operations in their new order; None: it ran out of registers."""
        count = len(self.flow.nodes)
        while len(self.result) < count:
            while self.done[self.first]:
                self.first += 1
            stop = min(self.first + self.way.window, count)
            ready = [n for n in range(self.first, stop) if not self.done[n] and not self.waiting[n]][:MOST_READY]
            picked = self._pick(ready)
            if picked is None:
                return None
            self._take(*picked)
        homes = {v: value.home for v, value in enumerate(self.flow.values) if value.live_out}
        return self.result if all(self.register.get(v) == home for v, home in homes.items()) else None

    def _pick(self, ready: Sequence[int]) -> tuple[int, Operation, dict[int, str]] | None:
        """The node to schedule next, its operation with registers, and the registers of its results."""
        if self.order == Order.M7:
            return self._pick_dual(ready)
        loads = [n for n in ready if self.flow.nodes[n].operation.task == Task.LOAD]
        others = [n for n in ready if self.flow.nodes[n].operation.task != Task.LOAD]
        going_on = 0 < self.loads < self.way.run
        for n in [*loads, *others] if going_on else [*others, *loads]:
            if (allocated := self._allocated(n)) and self._fits(n):
                return n, *allocated
        return None

    def _pick_dual(self, ready: Sequence[int]) -> tuple[int, Operation, dict[int, str]] | None:
        candidates = []
        for n in ready:
            allocated = self._allocated(n)
            if allocated is None:
                continue
            timed = allocated[0].timed
            at = self.core.start(timed)
            fresh = at > self.core.now or not self.core.used
            late = not (self.way.early and fresh and timed.task == Task.DSP)
            chain = -self.heights[n] if self.way.chains else 0
            candidates.append(((at, late, chain, n), n, allocated))
        for _, n, allocated in sorted(candidates, key=lambda one: one[0]):
            if self._fits(n):
                return n, *allocated
        return None

    def _allocated(self, n: int) -> tuple[Operation, dict[int, str]] | None:
        """A node's operation with allocated registers, and the registers of its results; None: no register is free."""
        node = self.flow.nodes[n]
        left = self._left_behind(node)
        freed = [self.register[v] for v, count in left.items() if not count and not self.flow.values[v].live_out]
        placed: dict[int, str] = {}
        for value, old in node.tied:
            if left[old] or self.flow.values[old].live_out:
                return None
            placed[value] = self.register[old]
        if node.writes is not None and node.writes not in placed:
            place = self._room(node, [r for r in freed if r not in placed.values()])
            if place is None:
                return None
            placed[node.writes] = place
        if any(self.flow.values[v].live_out and self.flow.values[v].home != r for v, r in placed.items()):
            return None
        return self._text(n, node, placed), placed

    def _left_behind(self, node: FlowNode) -> dict[int, int]:
        left: dict[int, int] = {}
        for _, v in node.reads:
            left[v] = left.get(v, self.left[v]) - 1
        return left

    def _room(self, node: FlowNode, freed: Sequence[str]) -> str | None:
        """Allocate the register of a node's result; None: none is free."""
        assert node.writes is not None
        value = self.flow.values[node.writes]
        free = [r for r in GENERAL if r not in self.holder]
        may = [*freed, *free]
        if value.live_out:
            return value.home if value.home in may else None
        if (wanted := self.wanted.get(node.writes, "")) in may:
            return wanted
        sums = [self.register[v] for place, v in node.reads if place == 3]
        usual = [*(r for r in sums if r in freed), node.operation.operands[0]]
        for r in usual:
            if r in may and (r in sums or r not in self.homes):
                return r
        return min(may, key=lambda r: (r in self.homes, r in freed, GENERAL.index(r)), default=None)

    def _text(self, n: int, node: FlowNode, placed: dict[int, str]) -> Operation:
        o = node.operation
        operands = list(o.operands)
        base, index = o.base, o.index
        for place, v in node.reads:
            if place == BASE:
                base = self.register[v]
            elif place == INDEX:
                index = self.register[v]
            else:
                operands[place] = self.register[v]
        if node.writes is not None:
            operands[0] = placed[node.writes]
        changed = replace(o, operands=tuple(operands), base=base, index=index)
        if not node.pointer:
            return changed
        if node.moves:
            return replace(changed, update=node.moves, first=node.reach == node.moves)
        far = self.flow.amount[node.pointer] if node.pointer in self.gone else 0
        return replace(changed, offset=node.reach - far)

    def _fits(self, n: int) -> bool:
        """Whether enough registers remain for all other operations, in source order, if this node is scheduled next."""
        node = self.flow.nodes[n]
        if n == self.first:
            return True
        live, left = len(self.holder), self._left_behind(node)
        more = self._grows(node, left)
        if more <= 0:
            return True
        live += more
        for m in range(self.first, max(self.furthest, n) + 1):
            if self.done[m] or m == n:
                continue
            other = self.flow.nodes[m]
            for _, v in other.reads:
                left[v] = left.get(v, self.left[v]) - 1
            live += self._grows(other, left)
            if live > len(GENERAL):
                return False
        return live <= len(GENERAL)

    def _grows(self, node: FlowNode, left: dict[int, int]) -> int:
        """Net change of the number of live registers when a node is scheduled."""
        values = self.flow.values
        gone = {v for _, v in node.reads if not left[v] and not values[v].live_out}
        results = {value for value, _ in node.tied} | ({node.writes} if node.writes is not None else set())
        return sum(1 for v in results if values[v].uses or values[v].live_out) - len(gone)

    def _take(self, n: int, operation: Operation, placed: dict[int, str]) -> None:
        node = self.flow.nodes[n]
        for _, v in node.reads:
            self.left[v] -= 1
            if not self.left[v] and not self.flow.values[v].live_out and self.holder.get(self.register[v]) == v:
                del self.holder[self.register[v]]
        for v, register in placed.items():
            self.register[v] = register
            if self.left[v] or self.flow.values[v].live_out:
                self.holder[register] = v
        self.done[n] = True
        self.furthest = max(self.furthest, n)
        for m in self.after[n]:
            self.waiting[m] -= 1
        if node.moves:
            self.gone.add(next(r for r, mover in self.flow.moved.items() if mover == n))
        self.result.append(operation)
        timed = operation.timed
        self.loads = self.loads + 1 if timed.task == Task.LOAD else 0
        if self.order == Order.M7:
            self.core.issue(timed)
