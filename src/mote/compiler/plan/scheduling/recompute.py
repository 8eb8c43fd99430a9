"""Rematerialization (`--recompute`): computes tensors twice instead of keeping them, for models that do not fit
otherwise.

Example: a squeeze-and-excite block is CONV, MEAN (the gate) and MUL, which scales the wide output of CONV by the gate.
It needs all of CONV's output before the first row of MUL. With CONV duplicated, the first copy feeds MEAN row by row
into accumulators, the second one feeds MUL row by row: the wide tensor never exists whole, for the MACs of one more
CONV.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.rows import row_count


@dataclass(frozen=True)
class Recomputation:
    """A possible rematerialization: a chain of operators (in order) that is duplicated for one of its readers."""

    chain: tuple[Op, ...]
    reader: Op

    def macs(self, graph: Graph) -> int:
        """The multiply-accumulates that are computed again."""
        return sum(op.macs(graph) for op in self.chain)

    @property
    def tensor(self) -> int:
        """The tensor that is computed twice."""
        return self.chain[-1].outputs[0]


def recomputations(graph: Graph) -> Iterator[Recomputation]:
    """Chains of layers whose output one operator reduces to a single row, and others read as well."""
    for tensor, readers in graph.consumers.items():
        if len(readers) < 2 or tensor not in graph.producers or tensor in graph.outputs:
            continue
        for reader in readers:
            if row_count(reader.output(graph).shape) == 1 < row_count(graph.tensors[tensor].shape):
                chain: list[Op] = []
                at = tensor
                while (op := graph.producers.get(at)) and len(op.activations(graph)) == 1 and not op.updates:
                    chain.insert(0, op)
                    yield Recomputation(tuple(chain), reader)
                    at = op.activations(graph)[0].id
                    if len(graph.consumers[at]) > 1 or at in graph.outputs:
                        break


def rewrite(graph: Graph, recomputation: Recomputation) -> Graph:
    """The graph with a copy of the chain for its reader. The original chain moves down to just before its next
    reader."""
    renamed: dict[int, int] = {}
    tensors, copies = [], []
    fresh = graph.fresh_id()
    for op in recomputation.chain:
        out = graph.tensors[op.outputs[0]]
        renamed[out.id] = fresh
        tensors.append(
            replace(out, id=fresh, name=f"{out.name} (for {recomputation.reader.kind.lower()})", copy_of=out.source)
        )
        inputs = tuple(renamed.get(t, t) for t in op.inputs)
        copies.append(op.with_(inputs=inputs, outputs=(fresh,)))
        fresh += 1
    reader = recomputation.reader.with_(inputs=tuple(renamed.get(t, t) for t in recomputation.reader.inputs))
    moved = {op.outputs for op in recomputation.chain}
    ops: list[Op] = []
    waiting = list(recomputation.chain)
    for op in graph.ops:
        if op.outputs in moved:
            continue
        if op is recomputation.reader:
            ops += [*copies, reader]
            continue
        if waiting and any(t != ABSENT and t in renamed for t in op.inputs):
            ops += waiting
            waiting = []
        ops.append(op)
    return graph.with_ops(ops, tensors).verify()
