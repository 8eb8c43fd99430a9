"""Parts with several RAMs: spreads the arena over them, what is accessed most to the fastest one.

A tensor with all its rows, an operator's accumulators and its scratch buffer are each a group of arena items that stays
in one memory. Memories are filled from the fastest on, groups with the most accesses per byte first.

Example: 64 KB of fast and 512 KB of slow RAM. The 48 KB output of CONV, which POOL and a skip connection read, goes to
the fast RAM; the 80 KB input, which CONV reads once, does not fit and goes to the slow one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from mote.base.errors import MoteError
from mote.compiler.kernels.contract import Packed, aligned
from mote.compiler.plan.goal import DoesNotFitError, Goal
from mote.compiler.plan.memory.arena import ROUNDS as LONG
from mote.compiler.plan.memory.arena import Item, Overlays, live_peak, place
from mote.compiler.plan.memory.layout import Arrangement, PlacedPlan
from mote.compiler.plan.plan import Plan, Step
from mote.compiler.plan.scheduling.rows import PushedInput
from mote.hardware.targets import Memory
from mote.ir.graph import Graph, Op

ROUNDS = 6
"""Rounds of allocation that are tried before a group is moved to the next memory."""
SMALLER = 6
"""Attempts with smaller and smaller plans if the groups of a plan do not fit the memories."""


class TooSmallError(Exception):
    """Raised when the remaining groups do not fit the last memory that they may be in."""

    def __init__(self, memory: Memory, need: int) -> None:
        super().__init__(f"{memory.name} would need {need} bytes")
        self.memory, self.need = memory, need


@dataclass(frozen=True)
class ItemGroup:
    """Arena items that stay in one memory. `accesses`: bytes of them that an inference reads and writes."""

    items: tuple[int, ...]
    nbytes: int
    accesses: int
    allowed: frozenset[str] | None = None
    """The names of the memories that the group may be in, as some kernels do not reach all; None: any."""

    @property
    def access_density(self) -> float:
        """Accesses per byte."""
        return self.accesses / max(self.nbytes, 1)

    def may_lie_in(self, memory: Memory) -> bool:
        return self.allowed is None or memory.name in self.allowed


ORDERS: tuple[Callable[[ItemGroup], float], ...] = (lambda group: -group.access_density, lambda group: -group.nbytes)
"""Sort keys of groups: the highest access density first; if they do not fit in that order, the largest first."""


def plan_over(memories: Sequence[Memory], goal: Goal, make: Callable[[Goal], PlacedPlan]) -> Plan:
    """A plan spread over memories: the one for the goal, or smaller ones, until its groups fit."""
    placed = make(goal)
    for attempt in range(SMALLER):
        try:
            return _within(goal.ram, spread(placed, memories))
        except TooSmallError as error:
            if goal.least:
                raise
            ram = placed.plan.ram
            less = min(ram - (error.need - error.memory.size), ram * 7 // 8)
            try:
                placed = make(replace(goal, ram=less, least=attempt == SMALLER - 2))
            except DoesNotFitError:
                goal = replace(goal, least=True)
                placed = make(goal)
    return _within(goal.ram, spread(placed, memories))


def _within(ram: int | None, plan: Plan) -> Plan:
    """The plan, if it takes at most `ram` bytes over all memories; else raises TooSmallError."""
    if ram is not None and plan.ram > ram:
        last, nbytes = plan.memories[-1], plan.arenas[-1]
        raise TooSmallError(replace(last, size=nbytes - (plan.ram - ram)), nbytes)
    return plan


def spread(placed: PlacedPlan, memories: Sequence[Memory]) -> Plan:
    """The plan spread over memories; only the fastest one, if it holds the whole arena."""
    plan = placed.plan
    restricted = any(step.kernel.needs.memories for step in plan.steps)
    if plan.arena <= room(memories[0]) and not restricted:
        return replace(plan, memories=(memories[0],))
    failed: TooSmallError | None = None
    for apart in (False, True):
        arrangement = Arrangement(placed.rows, placed.schedule, [step.kernel for step in plan.steps], apart=apart)
        groups, overlays = _item_groups(placed, arrangement), arrangement.overlays()
        _check_reachable(placed, arrangement, groups, memories)
        for order in ORDERS:
            try:
                return _filled(plan, arrangement, overlays, sorted(groups, key=order), memories)
            except TooSmallError as error:
                failed = failed or error
    assert failed is not None
    raise failed


def room(memory: Memory) -> int:
    """The largest arena that a memory holds: its size, rounded down to a multiple of eight."""
    return memory.size // 8 * 8


def _filled(
    plan: Plan, arrangement: Arrangement, overlays: Overlays, groups: list[ItemGroup], memories: Sequence[Memory]
) -> Plan:
    """Fills the memories in turn with the groups that fit, in their order; the last one with all that are left."""
    offsets, memory = [0] * len(arrangement.items), [0] * len(arrangement.items)
    used: list[Memory] = []
    for candidate in memories:
        last = candidate is memories[-1]
        late = memories[memories.index(candidate) + 1 :]
        here = [group for group in groups if group.may_lie_in(candidate)]
        here.sort(key=lambda group: any(group.may_lie_in(m) for m in late))
        at = (_placed if last else _fill)(arrangement.items, overlays, here, room(candidate))
        lost = [group for group in here if group.items[0] not in at and not any(group.may_lie_in(m) for m in late)]
        if lost:
            raise TooSmallError(candidate, room(candidate) + sum(group.nbytes for group in lost))
        at = _tightened(arrangement.items, overlays, [group for group in groups if group.items[0] in at], at, plan.peak)
        end = _end(arrangement.items, at)
        if end > room(candidate):
            raise TooSmallError(candidate, end)
        for i, offset in at.items():
            offsets[i], memory[i] = offset, len(used)
        used += [candidate] if at else []
        groups = [group for group in groups if group.items[0] not in at]
    buffers, steps, cells = arrangement.placed(offsets, memory)
    return replace(plan, buffers=buffers, steps=steps, cells=cells, memories=tuple(used))


def _fill(items: Sequence[Item], overlays: Overlays, groups: Sequence[ItemGroup], size: int) -> dict[int, int]:
    """Offsets of the items of as many groups as fit in `size` bytes."""
    chosen: list[ItemGroup] = []
    for group in groups:
        if live_peak([items[i] for one in (*chosen, group) for i in one.items]) <= size:
            chosen.append(group)
    while chosen:
        at = _placed(items, overlays, chosen, size, ROUNDS)
        late = [group for group in chosen if any(at[i] + items[i].nbytes > size for i in group.items)]
        if not late:
            return at
        chosen.remove([group for group in chosen if any(_meet(items, group, other) for other in late)][-1])
    return {}


def _placed(
    items: Sequence[Item], overlays: Overlays, groups: Sequence[ItemGroup], size: int, rounds: int = LONG
) -> dict[int, int]:
    """Offsets of the items of groups; within `size` bytes, if the allocation succeeds."""
    chosen = [i for group in groups for i in group.items]
    number = {item: n for n, item in enumerate(chosen)}
    own = {(number[a], number[b]): pairs for (a, b), pairs in overlays.items() if a in number and b in number}
    return dict(zip(chosen, place([items[i] for i in chosen], own, size, rounds), strict=True))


def _tightened(
    items: Sequence[Item], overlays: Overlays, groups: Sequence[ItemGroup], at: dict[int, int], peak: int
) -> dict[int, int]:
    """The offsets `at` of groups, or better ones from another allocation for the least possible size."""
    goal = min(peak, live_peak([items[i] for group in groups for i in group.items]))
    return min(at, _placed(items, overlays, groups, goal), key=lambda offsets: _end(items, offsets)) if at else at


def _end(items: Sequence[Item], at: dict[int, int]) -> int:
    return max((offset + items[i].nbytes for i, offset in at.items()), default=0)


def _meet(items: Sequence[Item], a: ItemGroup, b: ItemGroup) -> bool:
    """Whether two groups overlap in time."""
    return any(items[i].first <= items[j].last and items[j].first <= items[i].last for i in a.items for j in b.items)


def _item_groups(placed: PlacedPlan, arrangement: Arrangement) -> list[ItemGroup]:
    """The groups of a plan: the items of each storage, and each scratch buffer."""
    rows, items = placed.rows, arrangement.items
    storages: dict[int, dict[int, None]] = {}
    for row, (item, _, _) in arrangement.home.items():
        storages.setdefault(rows.storage_of[row], {})[item] = None
    groups = [*storages.values(), *({item: None} for item in arrangement.scratch.values())]
    accesses, allowed = _accesses(placed, arrangement), _allowed(placed, arrangement)
    return [
        ItemGroup(
            tuple(group),
            sum(aligned(items[i].nbytes) for i in group),
            sum(accesses[i] for i in group),
            next((allowed[i] for i in group if i in allowed), None),
        )
        for group in groups
    ]


def _allowed(placed: PlacedPlan, arrangement: Arrangement) -> dict[int, frozenset[str]]:
    """By item: the memories that it may be in, for items that some kernel reaches in some memories only."""
    allowed = dict[int, frozenset[str]]()
    for step, items in _touched(placed, arrangement):
        reached = frozenset(step.kernel.needs.memories)
        allowed |= {item: reached & allowed.get(item, reached) for item in items}
    return allowed


def _touched(placed: PlacedPlan, arrangement: Arrangement) -> Iterator[tuple[Step, set[int]]]:
    """Steps whose kernels reach some memories only, with the items that they read and write."""
    rows = placed.rows
    for run, step in zip(placed.schedule.runs, placed.plan.steps, strict=True):
        if step.kernel.needs.memories:
            op = rows.works[run.node.op].op
            storages = {rows.place[t] for t in (*op.inputs, *op.outputs) if t in rows.place}
            touched = {arrangement.home[r][0] for s in storages for r in rows.storages[s].ids if r in arrangement.home}
            touched |= {arrangement.scratch[run.node.op]} if step.kernel.needs.scratch else set()
            sums = rows.sums.get(run.node.op) if step.sums is not None else None
            touched |= {arrangement.home[rows.storages[sums].first][0]} if sums is not None else set()
            yield step, touched


class UnreachableError(MoteError):
    """Raised if no memory is reached by all kernels that read and write a tensor. `kernels`: those that reach some
    only."""

    def __init__(self, memories: Sequence[Memory], kernels: Iterable[Packed]) -> None:
        super().__init__(
            "no memory of the target can be reached by all who read and write a tensor",
            where=", ".join(m.name for m in memories),
            remedy="compile with fewer backends (--backend), or correct the memories that they name",
        )
        self.kernels = tuple(dict.fromkeys(kernels))


def _check_reachable(
    placed: PlacedPlan, arrangement: Arrangement, groups: Sequence[ItemGroup], memories: Sequence[Memory]
) -> None:
    lost = {i for group in groups if not any(group.may_lie_in(m) for m in memories) for i in group.items}
    if lost:
        touching = _touched(placed, arrangement)
        raise UnreachableError(memories, [step.kernel for step, items in touching if lost & items])


def _accesses(placed: PlacedPlan, arrangement: Arrangement) -> Counter[int]:
    """By item: the bytes that an inference reads and writes. Rows count for each step that accesses them; the operand
    of a kernel's inner loop (its scratch buffer, or else its first input) counts once for each multiplication."""
    rows, plan, total = placed.rows, placed.plan, Counter[int]()
    runs = Counter(run.node.op for run in placed.schedule.runs)
    for run, step in zip(placed.schedule.runs, plan.steps, strict=True):
        times = run.node.times or {}
        reads = [r for r in run.node.reads if r in arrangement.home]
        for r in run.node.writes:
            if r in arrangement.home:
                total[arrangement.home[r][0]] += rows.size[r]
        for r in reads:
            total[arrangement.home[r][0]] += rows.size[r] * times.get(r, 1)
        inner = arrangement.scratch.get(run.node.op) if step.kernel.needs.scratch else None
        if inner is None and reads:
            inner = arrangement.home[reads[0]][0]
        op = rows.works[run.node.op].op
        if inner is not None and not isinstance(op, PushedInput):
            total[inner] += op.macs(plan.graph) // runs[run.node.op]
    return total


def constant_reads(graph: Graph, op: Op) -> int:
    """Estimated bytes of constants that an operator reads: one per multiplication, or per output element."""
    return max(op.macs(graph), op.output(graph).size)
