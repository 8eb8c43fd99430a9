"""The order of operators: any topological order is right, some need less memory.

A chain has one order. With branches, a search over sets of finished operators finds the order with the least
peak of live bytes, exactly where the number of such sets is small, else as well as a limit of work allows.
"""

from __future__ import annotations

from heapq import heappop, heappush

from mote.graph import Graph, Op
from mote.graph.graph import ABSENT

STATES = 2_000
"""How many sets of finished operators the search may look at before it keeps the file's order."""


def order(graph: Graph) -> tuple[Op, ...]:
    """The operators of `graph` in the order with the least peak of live tensor bytes."""
    ops = graph.ops
    live = _Liveness(graph)
    file_peak = live.peak(range(len(ops)))
    start = frozenset[int]()
    queue: list[tuple[int, int, tuple[int, ...]]] = [(live.bytes(start), 0, ())]
    seen: set[frozenset[int]] = set()
    while queue and len(seen) < STATES:
        peak, _, path = heappop(queue)
        done = frozenset(path)
        if done in seen:
            continue
        seen.add(done)
        if peak >= file_peak:
            break
        if len(path) == len(ops):
            return tuple(ops[i] for i in path)
        for i in range(len(ops)):
            if i not in done and live.ready(i, done):
                during = live.during(i, done)
                heappush(queue, (max(peak, during), -len(path) - 1, (*path, i)))
    return ops


class _Liveness:
    """Which tensors are live once a set of operators has run."""

    def __init__(self, graph: Graph) -> None:
        number = {id(op): i for i, op in enumerate(graph.ops)}
        self.readers = {t: {number[id(op)] for op in ops} for t, ops in graph.consumers.items()}
        self.writer = {t: number[id(op)] for t, op in graph.producers.items()}
        self.needs = [{self.writer[t] for t in op.inputs if t != ABSENT and t in self.writer} for op in graph.ops]
        for i, op in enumerate(graph.ops):
            self.needs[i].update(*(self.readers[op.inputs[k]] - {i} for k in op.updates.values()))
        self.outputs = set(graph.outputs)
        self.produced = [op.outputs for op in graph.ops]
        kept = {t for s in graph.states for t in (s.before, s.after)}
        self.size = {i: t.nbytes for i, t in graph.tensors.items() if t.data is None and i not in kept}

    def ready(self, op: int, done: frozenset[int]) -> bool:
        return self.needs[op] <= done

    def bytes(self, done: frozenset[int]) -> int:
        total = 0
        for tensor, nbytes in self.size.items():
            writer = self.writer.get(tensor)
            born = writer is None or writer in done
            if born and (tensor in self.outputs or not self.readers.get(tensor, set()) <= done):
                total += nbytes
        return total

    def during(self, op: int, done: frozenset[int]) -> int:
        return self.bytes(done) + sum(self.size.get(t, 0) for t in self.produced[op])

    def peak(self, path: range) -> int:
        done = frozenset[int]()
        peak = self.bytes(done)
        for op in path:
            peak = max(peak, self.during(op, done))
            done |= {op}
        return peak
