"""Regions: several operators that are computed together and seen as one; the unit of fused kernels and of external code
generators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from heapq import heapify, heappop, heappush

from mote.ir.graph.graph import ABSENT, Graph, Op
from mote.ir.graph.rows import OUTSIDE
from mote.ir.graph.tensor import Array, Shape

Numbers = tuple[int, ...]
"""Indices in `Graph.ops` of operators that are computed together, mostly one. A negative number is an input that the
caller delivers while the graph runs."""


class Region(Op):
    """Connected operators of a graph, in topological order, that form a convex subgraph: no path leaves and enters it
    again.

    Inputs: those of all operators concatenated, without tensors that the region computes itself. Outputs: the tensors
    that are read from outside. Inner tensors have no buffer.
    """

    ops: tuple[Op, ...]

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The kinds of its operators, joined by "+"."""
        return "+".join(op.kind for op in self.ops)

    @cached_property
    def sources(self) -> tuple[tuple[int, int], ...]:
        """For each input: index of the operator that reads it, and the input's position there."""
        produced = _produced(self.ops)
        return tuple((k, p) for k, op in enumerate(self.ops) for p, t in enumerate(op.inputs) if t not in produced)

    @property
    def inner(self) -> set[int]:
        """The tensors that only operators of the region read."""
        return _produced(self.ops) - set(self.outputs)

    @property
    def updates(self) -> dict[int, int]:
        last = len(self.ops) - 1
        at = self.outputs.index
        return {
            at(self.ops[last].outputs[out]): self.sources.index((last, position))
            for out, position in self.ops[last].updates.items()
        }

    def shapes(self, g: Graph) -> list[Shape]:
        by_tensor = {t: shape for op in self.ops for t, shape in zip(op.outputs, op.shapes(g), strict=True)}
        return [by_tensor[t] for t in self.outputs]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        operands = dict(zip(self.sources, values, strict=True))
        computed: dict[int, Array] = {}
        for k, op in enumerate(self.ops):
            args = [computed[t] if t in computed else operands[k, p] for p, t in enumerate(op.inputs)]
            computed |= op.stored(g, op.evaluate(g, args))
        return [computed[t] for t in self.outputs]

    def macs(self, g: Graph) -> int:
        return sum(op.macs(g) for op in self.ops)

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        """The rows of an input that output row `y` depends on, traced back from the last operator. With one windowed
        operator on the path: its rows, OUTSIDE included; with several: the rows inside the image, in ascending order.
        None: computed as a whole, as always if several operators have outputs."""
        if self.outputs != self.ops[-1].outputs:
            return None
        k, p = self.sources[position]
        return self._input_rows(g, k, p, self._output_rows(g, k, y))

    def _output_rows(self, g: Graph, k: int, y: int) -> tuple[int, ...] | None:
        """The rows of operator k's output that row `y` of the region's output depends on; None: all."""
        if k == len(self.ops) - 1:
            return (y,)
        return _merged(
            [
                self._input_rows(g, reader, p, self._output_rows(g, reader, y))
                for reader in range(k + 1, len(self.ops))
                for p, t in enumerate(self.ops[reader].inputs)
                if t in self.ops[k].outputs
            ]
        )

    def _input_rows(self, g: Graph, k: int, position: int, rows: tuple[int, ...] | None) -> tuple[int, ...] | None:
        """The rows of an input of operator k that these rows of its output depend on; None: all."""
        if rows is None:
            return None
        parts = [(OUTSIDE,) if row == OUTSIDE else self.ops[k].reads(g, position, row) for row in rows]
        ones = [part[0] for part in parts if part is not None and len(part) == 1]
        return tuple(ones) if len(ones) == len(parts) else _merged(parts)


def _merged(parts: Sequence[tuple[int, ...] | None]) -> tuple[int, ...] | None:
    """Union of row lists: a single list as it is; of several the rows inside the image, in ascending order; None if one
    of them is None (all rows)."""
    limited = [part for part in parts if part is not None]
    if len(limited) < len(parts):
        return None
    return limited[0] if len(limited) == 1 else tuple(sorted({row for part in limited for row in part} - {OUTSIDE}))


def _produced(ops: Iterable[Op]) -> set[int]:
    return {t for op in ops for t in op.outputs}


def joined(graph: Graph, ops: Sequence[Op]) -> Op:
    """One operator for several of a graph, in execution order: a Region, or the operator itself if there is only
    one."""
    if len(ops) == 1:
        return ops[0]
    produced = _produced(ops)
    return Region(
        inputs=tuple(t for op in ops for t in op.inputs if t not in produced),
        outputs=tuple(t for op in ops for t in op.outputs if _is_output(graph, ops, t)),
        name=ops[-1].name,
        index=ops[-1].index,
        ops=tuple(ops),
    )


def _is_output(graph: Graph, ops: Sequence[Op], tensor: int) -> bool:
    """Whether a tensor that one of these operators computes is read from outside of them, or by nobody (then it counts
    as an output)."""
    readers = graph.consumers.get(tensor, [])
    if not readers or tensor in graph.outputs or any(tensor == s.after for s in graph.states):
        return True
    return any(all(reader is not op for op in ops) for reader in readers)


def can_fuse(graph: Graph, ops: Sequence[Op]) -> bool:
    """Whether these operators form a region with all outputs from its last operator: the form that fused kernels
    compute."""
    return not region_problem(graph, ops) and joined(graph, ops).outputs == ops[-1].outputs


def halves(graph: Graph, region: Op) -> list[Op]:
    """Split a region in two near its middle, at the cut that fewest bytes of tensors cross; parts that are not
    connected become separate regions. Empty if no cut yields regions."""
    ops = region.ops if isinstance(region, Region) else (region,)
    count = len(ops)
    cuts = sorted(range(1, count), key=lambda k: (not count <= 4 * k <= 3 * count, _crossing(graph, ops, k)))
    for k in cuts:
        parts = [*_connected(graph, ops[:k]), *_connected(graph, ops[k:])]
        if not any(region_problem(graph, part) for part in parts):
            return [joined(graph, part) for part in parts]
    return []


def _crossing(graph: Graph, ops: Sequence[Op], cut: int) -> tuple[int, int]:
    """Sort key of a cut: bytes of the tensors that cross it, then the distance from the middle."""
    needed = {t for op in ops[cut:] for t in op.inputs}
    nbytes = sum(graph.tensors[t].nbytes for t in _produced(ops[:cut]) & needed)
    return nbytes, abs(2 * cut - len(ops))


def _connected(graph: Graph, ops: Sequence[Op]) -> Iterator[list[Op]]:
    """Connected components of operators that share computed tensors, each in execution order."""
    rest = list(ops)
    while rest:
        group = {id(op) for op in _component(graph, rest)}
        yield [op for op in rest if id(op) in group]
        rest = [op for op in rest if id(op) not in group]


def region_problem(graph: Graph, ops: Sequence[Op]) -> str:
    """Why these operators cannot be computed as one region; empty if they can."""
    places = [graph.places.get(id(op), -1) for op in ops]
    if not ops or min(places) < 0:
        return "has operators that the graph does not have" if ops else "is empty"
    if places != sorted(set(places)):
        return "has operators twice, or not in the order of the graph"
    if any(op.bodies for op in ops):
        return "has control flow"
    if any(op.updates for op in ops[:-1]):
        return "writes a state before its last operator"
    if len(ops) > 1 and any(op.sequential for op in ops):
        return "has an operator that updates its states with each row"
    if len(_component(graph, ops)) < len(ops):
        return "is not connected"
    if any(op.is_view and any(_is_output(graph, ops, t) for t in op.outputs) for op in ops):
        return "ends in a reshape, which computes nothing"
    if leaving := _reentry(graph, ops, places):
        return f"is not convex: a path leaves it and comes back through {leaving.where}"
    return ""


def _component(graph: Graph, ops: Sequence[Op]) -> list[Op]:
    """The connected component of the first operator: all that share computed tensors with it, directly or
    indirectly."""

    def touched(op: Op) -> set[int]:
        return {*op.outputs, *(t for _, t in op.computed(graph))}

    reached, known = [ops[0]], touched(ops[0])
    while near := [op for op in ops if touched(op) & known and all(op is not other for other in reached)]:
        reached += near
        known.update(t for op in near for t in touched(op))
    return reached


def _reentry(graph: Graph, ops: Sequence[Op], places: Sequence[int]) -> Op | None:
    """An operator outside of `ops` on a path that leaves `ops` and comes back; None if they are convex."""
    produced, outside = _produced(ops), dict[int, Op]()
    for place in range(places[0], places[-1] + 1):
        op = graph.ops[place]
        if place in places:
            if back := next((outside[t] for t in op.inputs if t in outside), None):
                return back
        elif any(t in produced or t in outside for t in op.inputs):
            outside.update(dict.fromkeys(op.outputs, op))
    return None


def in_order(graph: Graph, pieces: Iterable[Numbers]) -> list[Numbers] | None:
    """Topological order of the pieces (operators that are computed at once) of a whole graph: by the last operator of
    each, as far as dependencies allow. Inputs that the caller delivers have negative numbers, and come first. None if
    pieces depend on one another."""
    ranked = sorted(pieces, key=lambda ops: ops[-1])
    regions = [[graph.ops[n] for n in ops] for ops in ranked if len(ops) > 1]
    if all(joined(graph, ops).outputs == ops[-1].outputs for ops in regions):
        return ranked
    needs = _dependencies(graph, ranked)
    readers: dict[int, list[int]] = {}
    for i, needed in enumerate(needs):
        for j in needed:
            readers.setdefault(j, []).append(i)
    left = [len(needed) for needed in needs]
    ready = [i for i, count in enumerate(left) if not count]
    heapify(ready)
    order: list[Numbers] = []
    while ready:
        i = heappop(ready)
        order.append(ranked[i])
        for reader in readers.get(i, []):
            left[reader] -= 1
            if not left[reader]:
                heappush(ready, reader)
    return order if len(order) == len(ranked) else None


def _dependencies(graph: Graph, pieces: Sequence[Numbers]) -> list[set[int]]:
    """Dependencies of each piece: the pieces that compute what it reads, and those that read a state that it
    overwrites. An operator in no piece is a view and shares the dependency of its input."""
    producer = {t: i for i, ops in enumerate(pieces) for n in ops if n >= 0 for t in graph.ops[n].outputs}
    for op in graph.ops:
        if op.is_view and op.outputs[0] not in producer and op.inputs[0] in producer:
            producer[op.outputs[0]] = producer[op.inputs[0]]
    read = {t: set[int]() for op in graph.ops for t in op.inputs if t != ABSENT}
    for i, ops in enumerate(pieces):
        for t in (t for n in ops if n >= 0 for t in graph.ops[n].inputs if t != ABSENT):
            read[t].add(i)
    dependencies = []
    for i, ops in enumerate(pieces):
        own = [graph.ops[n] for n in ops if n >= 0]
        before = {producer[t] for op in own for t in op.inputs if t in producer}
        over = {j for op in own for position in op.updates.values() for j in read[op.inputs[position]]}
        dependencies.append((before | over) - {i})
    return dependencies
