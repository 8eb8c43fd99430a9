"""Regions of a graph that compute one tensor from another one alone, for passes that fuse such a region into one
operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import ABSENT
from mote.ir.ops.elementwise.arithmetic import Binary
from mote.ir.ops.elementwise.select import Select
from mote.ir.ops.pointwise import Pointwise

MOST_OPERATORS = 256
"""Maximum number of operators that are considered after one tensor."""
MOST_ENDS = 32
"""Maximum number of operators that are tried as the last one of a region."""


@dataclass(frozen=True)
class SourceRegion:
    """Operators in execution order that compute the last one's output from the tensor `source` and constants. Nothing
    else reads the tensors between them."""

    source: int
    ops: tuple[Op, ...]

    @property
    def last(self) -> Op:
        return self.ops[-1]

    def replaced(self, graph: Graph, op: Op) -> Graph:
        """The graph with the region replaced by one operator."""
        gone = {id(other) for other in self.ops[:-1]}
        return graph.with_ops(op if other is self.last else other for other in graph.ops if id(other) not in gone)


def regions(graph: Graph, source: int, belongs: Callable[[Op], bool]) -> Iterator[SourceRegion]:
    """The regions that start at a tensor and whose operators all satisfy `belongs`, longest first. `belongs` is only
    called for operators with one output and no absent inputs."""
    grown = _grown(graph, source, belongs)
    for last in grown[: -MOST_ENDS - 1 : -1]:
        ops = _needed(grown, last)
        members = {id(op) for op in ops}
        inner = [t for op in ops[:-1] for t in op.outputs]
        if all(id(reader) in members for t in inner for reader in graph.consumers.get(t, [])):
            yield SourceRegion(source, tuple(ops))


def _grown(graph: Graph, source: int, belongs: Callable[[Op], bool]) -> list[Op]:
    """The operators in execution order that depend only on a tensor and constants, up to tensors that are also read
    elsewhere."""

    def fits(op: Op) -> bool:
        return len(op.outputs) == 1 and ABSENT not in op.inputs and not op.updates and not op.bodies and belongs(op)

    places = graph.places
    seen = {*graph.outputs, *(s.after for s in graph.states)}
    members: list[Op] = []
    known = {source}
    queue: list[int] = []
    queued: set[int] = set()

    def reach(tensor: int) -> None:
        for reader in graph.consumers.get(tensor, []):
            place = places[id(reader)]
            if place not in queued:
                queued.add(place)
                heappush(queue, place)

    reach(source)
    while queue and len(members) < MOST_OPERATORS:
        op = graph.ops[heappop(queue)]
        if all(i in known for _, i in op.computed(graph)) and fits(op):
            members.append(op)
            if op.outputs[0] not in seen and all(map(fits, graph.consumers.get(op.outputs[0], []))):
                known.add(op.outputs[0])
                reach(op.outputs[0])
    return members


def _needed(grown: list[Op], last: Op) -> list[Op]:
    """The operators that `last` depends on, followed by `last`."""
    wanted = set(last.inputs)
    needed = [last]
    for op in reversed(grown[: grown.index(last)]):
        if op.outputs[0] in wanted:
            wanted.update(op.inputs)
            needed.append(op)
    return needed[::-1]


def by_elements(graph: Graph, op: Op) -> bool:
    """Whether an operator is element-wise: each output element depends only on the elements at the same position of
    computed inputs, and on scalar constants."""
    shape = op.output(graph).shape
    plain = isinstance(op, Pointwise | Binary) or (isinstance(op, Select) and not op.leading)
    if not plain or any(t.shape != shape for t in op.activations(graph)):
        return False
    return all(t.data is None or t.size == 1 for t in (graph.tensors[i] for i in op.inputs))
