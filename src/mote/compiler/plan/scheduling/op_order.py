"""The order of operators: a topological order with a low peak of live bytes, counting whole tensors.

With branches, a best-first search over sets of finished operators finds the order with the least peak. It is exact
unless it exceeds a limit of work; then the order of the file is kept.
"""

from __future__ import annotations

from heapq import heappop, heappush

from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import ABSENT

STATES = 2_000
"""Maximum number of visited states (sets of finished operators); then the order of the file is kept."""
WORK = 8_000_000
"""Maximum work of the search, in visited operators; then the order of the file is kept."""


def order(graph: Graph) -> tuple[Op, ...]:
    """The operators of `graph` in an order with the least peak of live bytes; in that of the file if the search gives
    up."""
    ops = graph.ops
    operators = _Operators(graph)
    file_peak = operators.peak(range(len(ops)))
    queue: list[tuple[int, int, tuple[int, ...], int, int]] = [(operators.start, 0, (), 0, operators.start)]
    seen: set[int] = set()
    work = 0
    while queue and len(seen) < STATES and work < WORK:
        peak, _, path, done, nbytes = heappop(queue)
        if done in seen:
            continue
        seen.add(done)
        if peak >= file_peak:
            break
        if len(path) == len(ops):
            return tuple(ops[i] for i in path)
        ready = operators.ready(done)
        work += len(ops) + len(ready) * len(path)
        for i in ready:
            after = done | 1 << i
            during = max(peak, nbytes + operators.written[i])
            if after not in seen and during < file_peak:
                heappush(queue, (during, -len(path) - 1, (*path, i), after, operators.bytes_after(i, after, nbytes)))
    return ops


class _Operators:
    """Dependencies and sizes of operators. Sets of operators are bit masks."""

    def __init__(self, graph: Graph) -> None:
        writer = {t: i for i, op in enumerate(graph.ops) for t in op.outputs}
        readers: dict[int, set[int]] = {}
        for i, op in enumerate(graph.ops):
            for t in op.inputs:
                readers.setdefault(t, set()).add(i)
        needs = [{writer[t] for t in op.inputs if t != ABSENT and t in writer} for op in graph.ops]
        for i, op in enumerate(graph.ops):
            needs[i].update(*(readers[op.inputs[k]] - {i} for k in op.updates.values()))
        kept = {t for s in graph.states for t in (s.before, s.after)}
        size = {i: t.nbytes for i, t in graph.tensors.items() if t.data is None and i not in kept}
        self.needs = [_bits(members) for members in needs]
        self.written = [sum(size.get(t, 0) for t in op.outputs) for op in graph.ops]
        """Bytes that each operator writes."""
        dying = {t: _bits(readers.get(t, set())) for t in size if t not in graph.outputs}
        touched = [dict.fromkeys((*op.inputs, *op.outputs)) for op in graph.ops]
        self.frees = [[(dying[t], size[t]) for t in members if t in dying] for members in touched]
        """Tensors that each operator reads or writes, and which may be dead after it: the set of their readers, and
        their bytes."""
        unread = sum(size[t] for t in dying if t not in writer and not dying[t])
        self.start = sum(nbytes for t, nbytes in size.items() if t not in writer) - unread

    def ready(self, done: int) -> list[int]:
        """The operators that can run after those of `done`."""
        return [i for i, needed in enumerate(self.needs) if not done >> i & 1 and not needed & ~done]

    def bytes_after(self, op: int, done: int, before: int) -> int:
        """Live bytes after `op`, the last of `done`, where `before` bytes were live before it."""
        return before + self.written[op] - sum(nbytes for readers, nbytes in self.frees[op] if not readers & ~done)

    def peak(self, path: range) -> int:
        """The peak of live bytes of an order."""
        done, nbytes = 0, self.start
        peak = nbytes
        for op in path:
            peak = max(peak, nbytes + self.written[op])
            done |= 1 << op
            nbytes = self.bytes_after(op, done, nbytes)
        return peak


def _bits(numbers: set[int]) -> int:
    return sum(1 << i for i in numbers)
