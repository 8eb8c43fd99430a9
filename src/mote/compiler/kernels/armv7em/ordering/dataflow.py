"""Data flow of a basic block: its operations with the values that they pass to each other in place of registers.

A pointer that only moves by constants is one value for the whole block: the address of each access is known wherever it
is scheduled, and all moves merge into one, by the update of an access at a suitable address or by an addition.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from mote.compiler.kernels.armv7em.ordering.blocks import Registers, halves
from mote.compiler.kernels.armv7em.ordering.text import GENERAL, Operation

BASE, INDEX = -1, -2
"""Keys in `FlowNode.reads` for an access's base and index registers, which are not operands."""
MOST_UPDATE = 255
"""Largest immediate with which an access can update its pointer."""
MOST_ADDED = 4095
"""Largest immediate of an addition."""


@dataclass
class HeldValue:
    """A value held in a register. `uses`: reads that remain; `home`: the register in which it enters or must leave the
    block; `live_out`, `live_in`: live after and before the block."""

    uses: int = 0
    home: str = ""
    live_out: bool = False
    live_in: bool = False


@dataclass
class FlowNode:
    """An operation of the data-flow graph. `reads`: (operand index, value); `writes`: value of its result; `tied`: (new
    value, old value) pairs that must share a register; `pointer`, `reach`: pointer register of an access, and its byte
    offset from the pointer's value at the block's start; `moves`: bytes by which it updates the pointer."""

    operation: Operation
    reads: list[tuple[int, int]] = field(default_factory=list)
    writes: int | None = None
    tied: list[tuple[int, int]] = field(default_factory=list)
    pointer: str = ""
    reach: int = 0
    moves: int = 0
    before: set[int] = field(default_factory=set)
    """Indices of nodes that must be scheduled earlier."""


@dataclass
class Dataflow:
    values: list[HeldValue]
    nodes: list[FlowNode]
    moved: dict[str, int]
    """For each pointer that moves, the node that moves it; `amount`: by how many bytes."""
    amount: dict[str, int]
    busy: Registers
    """Registers that are live across the block without being used in it, so that they must not be allocated."""


def dataflow(operations: Sequence[Operation], needed: Registers, frame: Registers) -> Dataflow | None:
    """Data flow of a block's operations. `needed`: registers that are live after it; `frame`: registers that may point
    to the stack. None: the block cannot be modeled safely."""
    pointers = _pointers(operations, needed)
    builder = _Builder(pointers, needed)
    for operation in operations:
        builder.add(operation)
    if not builder.close():
        return None
    _memory_order(builder.nodes, _memory_places(builder.nodes, frame))
    _fixed_order(builder.nodes)
    touched = {x for o in operations for x in (*o.reads_of(), *o.writes_of())}
    busy = frozenset(r for r in GENERAL if r in needed and r not in touched)
    return Dataflow(builder.values, builder.nodes, builder.moved, builder.amount, busy)


def _pointers(operations: Sequence[Operation], needed: Registers) -> dict[str, int]:
    """Pointers: registers that only move by constants and whose other readers see them before or after all moves, with
    the bytes of all moves together."""
    far: dict[str, int] = {}
    seen: dict[str, set[int]] = defaultdict(set)
    other: set[str] = set()
    bases: set[str] = set()
    for o in operations:
        step = _step(o)
        if step is not None:
            far[o.operands[0]] = far.get(o.operands[0], 0) + step
            continue
        others = [o.operands[i] for i in o.sources] + ([o.index] if o.index else [])
        others += [o.base] if o.index or o.name.startswith("v") else []
        for register in others:
            seen[register].add(far.get(register, 0))
        if o.memory:
            bases.add(o.base)
            far[o.base] = far.get(o.base, 0) + o.update
        if o.writes:
            other.add(o.operands[0])
    return {r: far.get(r, 0) for r in GENERAL if r in bases and r not in other and seen[r] <= {0, far.get(r, 0)}}


def _step(o: Operation) -> int | None:
    """Bytes by which an operation moves its register, if that is all it does; else None."""
    if o.name in ("add", "addw", "sub", "subw") and len(o.operands) == 3 and o.operands[0] == o.operands[1]:
        number = o.operands[2]
        if number.startswith("#") and not o.flags:
            return int(number[1:]) * (-1 if o.name.startswith("sub") else 1)
    return None


def reaches(o: Operation, at: int) -> bool:
    """Whether `at` is in the range of an access's immediate offset."""
    return abs(at) <= 1020 and at % 4 == 0 if o.name.startswith("v") else -MOST_UPDATE <= at <= 4095


class _Builder:
    def __init__(self, pointers: dict[str, int], needed: Registers) -> None:
        self.pointers, self.needed = pointers, needed
        self.values: list[HeldValue] = []
        self.nodes: list[FlowNode] = []
        self.now: dict[str, int] = {}
        self.far = dict.fromkeys(pointers, 0)
        self.last_step: dict[str, int] = {}
        self.moved: dict[str, int] = {}
        self.amount: dict[str, int] = {}
        self.seen: list[tuple[int, str, int]] = []

    def value(self, register: str) -> int:
        """Index of the value that a register holds now."""
        if register not in self.now:
            self.values.append(HeldValue(home=register, live_in=True))
            self.now[register] = len(self.values) - 1
        return self.now[register]

    def add(self, o: Operation) -> None:
        step = _step(o)
        if step is not None and o.operands[0] in self.pointers:
            self.far[o.operands[0]] += step
            self.last_step[o.operands[0]] = len(self.nodes)
            return
        node = FlowNode(o)
        named = [(i, o.operands[i]) for i in o.sources]
        named += [(BASE, o.base)] if o.base in GENERAL else []
        named += [(INDEX, o.index)] if o.index else []
        for place, register in named:
            if register in GENERAL:
                node.reads.append((place, self.value(register)))
                self.values[node.reads[-1][1]].uses += 1
            if register in self.pointers and (place != BASE or o.index or o.name.startswith("v")):
                self.seen.append((len(self.nodes), register, self.far[register]))
        if o.base in self.pointers and not o.index and not o.name.startswith("v"):
            node.pointer = o.base
            node.reach = self.far[o.base] + (o.update if o.first else o.offset)
            if o.update:
                self.far[o.base] += o.update
                self.last_step[o.base] = len(self.nodes)
            node.operation = replace(o, offset=0, update=0, first=False)
        elif o.update:
            old = self.value(o.base)
            self.values.append(HeldValue())
            self.now[o.base] = len(self.values) - 1
            node.tied.append((self.now[o.base], old))
        if o.writes and o.operands[0] in GENERAL:
            old = self.value(o.operands[0]) if o.tied else -1
            self.values.append(HeldValue())
            self.now[o.operands[0]] = node.writes = len(self.values) - 1
            if o.tied:
                node.tied.append((node.writes, old))
        self.nodes.append(node)

    def close(self) -> bool:
        """Finish the block: mark the values that are live after it and merge the moves of pointers; False: an access is
        out of range."""
        for register, value in self.now.items():
            if register in self.needed:
                self.values[value].home, self.values[value].live_out = register, True
        for register, total in self.pointers.items():
            if total and (register in self.needed or any(r == register and at for _, r, at in self.seen)):
                self._move(register, total)
        for n, register, at in self.seen:
            if register in self.moved:
                mover = self.moved[register]
                (self.nodes[mover].before if at == 0 else self.nodes[n].before).add(n if at == 0 else mover)
            elif at:
                return False
        if any(abs(total) > MOST_ADDED for total in self.amount.values()):
            return False
        return all(self._reached(n, node) for n, node in enumerate(self.nodes) if node.pointer)

    def _move(self, register: str, total: int) -> None:
        """Merge a pointer's moves into the update of an access at the pointer's first or last address, or into an
        addition."""
        self.amount[register] = total
        may = [
            n
            for n, node in enumerate(self.nodes)
            if node.pointer == register and node.reach in (0, total) and abs(total) <= MOST_UPDATE
        ]
        if may:
            self.moved[register] = max(may, key=lambda n: (self.nodes[n].reach == total, n))
            self.nodes[self.moved[register]].moves = total
            return
        parts = Operation("add" if total > 0 else "sub", (register, register, f"#{abs(total)}"))
        value = self.value(register)
        self.values[value].uses += 1
        self.moved[register] = len(self.nodes)
        self.nodes.append(FlowNode(parts, [(1, value)], moves=total))

    def _reached(self, n: int, node: FlowNode) -> bool:
        mover = self.moved.get(node.pointer)
        early = reaches(node.operation, node.reach)
        late = mover is not None and reaches(node.operation, node.reach - self.amount[node.pointer])
        if mover == n or mover is None:
            return early
        if early and not late:
            self.nodes[mover].before.add(n)
        if late and not early:
            node.before.add(mover)
        return early or late


def _fixed_order(nodes: Sequence[FlowNode]) -> None:
    """Keep the order of accesses to the flags and to registers that are not renamed (FPU): write after read, read after
    write, write after write."""
    wrote: dict[str, int] = {}
    read: dict[str, list[int]] = defaultdict(list)
    for n, node in enumerate(nodes):
        o = node.operation
        reads = {h for r in o.reads_of() if r not in GENERAL and r != "sp" for h in halves(r)}
        writes = {h for r in o.writes_of() if r not in GENERAL for h in halves(r)}
        for register in reads | writes:
            if register in wrote:
                node.before.add(wrote[register])
        for register in writes:
            node.before.update(read.pop(register, ()))
            wrote[register] = n
        for register in reads - writes:
            read[register].append(n)


Place = tuple[str | int, int | None, bool]
"""Memory place of an access: its base, its byte offset if known, and whether it may be in the function's stack
frame."""


def _memory_places(nodes: Sequence[FlowNode], frame: Registers) -> list[Place | None]:
    """Memory place of each node's access; None: the node accesses no memory."""
    stack_offsets: dict[int, int | None] = {}
    """Values that are addresses in the stack frame, with their offset if known."""
    places: list[Place | None] = []
    for node in nodes:
        o = node.operation
        if not o.memory:
            if "sp" in o.operands and node.writes is not None:
                known = o.name in ("add", "addw") and len(o.operands) == 3 and o.operands[2].startswith("#")
                stack_offsets[node.writes] = int(o.operands[2][1:]) if known else 0 if o.name == "mov" else None
            elif node.writes is not None and any(v in stack_offsets for _, v in node.reads):
                stack_offsets[node.writes] = None
            places.append(None)
            continue
        base = next((v for place, v in node.reads if place == BASE), -1)
        at = None if o.index else node.reach if node.pointer else o.update if o.first else o.offset
        if o.base == "sp":
            places.append(("sp", at, True))
        elif base in stack_offsets:
            start = stack_offsets[base]
            places.append(("sp", None if start is None or at is None else start + at, True))
        else:
            places.append((node.pointer or base, at, o.base in frame))
        for value, old in node.tied:
            if old in stack_offsets:
                stack_offsets[value] = None
    return places


def _apart(a: Place, b: Place, a_size: int, b_size: int) -> bool:
    """Whether two accesses certainly do not overlap."""
    if a[0] == b[0]:
        return a[1] is not None and b[1] is not None and (a[1] + a_size <= b[1] or b[1] + b_size <= a[1])
    return ("sp" in (a[0], b[0])) and not (a[2] and b[2])


def _memory_order(nodes: Sequence[FlowNode], places: Sequence[Place | None]) -> None:
    """Keep the order of a store and any access that may overlap it."""
    accesses = [(n, place, nodes[n].operation) for n, place in enumerate(places) if place is not None]
    for i, (n, place, o) in enumerate(accesses):
        for m, other, p in accesses[:i]:
            if (o.store or p.store) and not _apart(place, other, o.size, p.size):
                nodes[n].before.add(m)


def producers(flow: Dataflow) -> Iterator[tuple[int, int]]:
    """Pairs of a value and the node that computes it, for all values that the block computes."""
    for n, node in enumerate(flow.nodes):
        if node.writes is not None:
            yield node.writes, n
        for value, _ in node.tied:
            yield value, n
