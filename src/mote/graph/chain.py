"""Operators that are computed together, seen as one: what a fused kernel or a piece of an accelerator's work is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from mote.graph.graph import Graph, Op
from mote.graph.rows import OUTSIDE
from mote.graph.tensor import Array, Shape

Numbers = tuple[int, ...]
"""Operators that are computed together, by their places in `Graph.ops`: mostly one."""


class Chain(Op):
    """Operators of which each but the last is read by others of them only, so that nobody sees the tensors in between.

    The inputs are those of all operators, one after another, without the tensors in between; the outputs are the last
    one's.
    """

    ops: tuple[Op, ...]

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The kinds of its operators."""
        return "+".join(op.kind for op in self.ops)

    @cached_property
    def sources(self) -> tuple[tuple[int, int], ...]:
        """Which operator each input belongs to, and at which of its positions."""
        inner = _inner(self.ops)
        return tuple((k, p) for k, op in enumerate(self.ops) for p, t in enumerate(op.inputs) if t not in inner)

    @property
    def updates(self) -> dict[int, int]:
        last = len(self.ops) - 1
        return {out: self.sources.index((last, position)) for out, position in self.ops[last].updates.items()}

    def shapes(self, g: Graph) -> list[Shape]:
        return self.ops[-1].shapes(g)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        given = dict(zip(self.sources, values, strict=True))
        between: dict[int, Array] = {}
        found: list[Array] = []
        for k, op in enumerate(self.ops):
            found = op.evaluate(g, [between[t] if t in between else given[k, p] for p, t in enumerate(op.inputs)])
            for out, value in zip(op.outputs, found, strict=True):
                tensor = g.tensors[out]
                between[out] = value.astype(tensor.dtype.numpy, copy=False).reshape(tensor.shape)
        return found

    def macs(self, g: Graph) -> int:
        return sum(op.macs(g) for op in self.ops)

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        """The rows of an input under row `y` of the output, found from the last operator back to the input's own. Where
        one operator of them has a window these are its rows, OUTSIDE included; where windows lie over one another, the
        rows inside the image, from the top."""
        k, p = self.sources[position]
        return self._under(g, k, p, self._rows_of(g, k, y))

    def _rows_of(self, g: Graph, k: int, y: int) -> tuple[int, ...] | None:
        """The rows of what operator k computes under row `y` of the chain's output."""
        if k == len(self.ops) - 1:
            return (y,)
        return _merged(
            [
                self._under(g, reader, p, self._rows_of(g, reader, y))
                for reader in range(k + 1, len(self.ops))
                for p, t in enumerate(self.ops[reader].inputs)
                if t in self.ops[k].outputs
            ]
        )

    def _under(self, g: Graph, k: int, position: int, rows: tuple[int, ...] | None) -> tuple[int, ...] | None:
        """The rows of an input of operator k that some rows of its output are made from."""
        if rows is None:
            return None
        parts = [(OUTSIDE,) if row == OUTSIDE else self.ops[k].reads(g, position, row) for row in rows]
        ones = [part[0] for part in parts if part is not None and len(part) == 1]
        return tuple(ones) if len(ones) == len(parts) else _merged(parts)


def _merged(parts: Sequence[tuple[int, ...] | None]) -> tuple[int, ...] | None:
    """What is needed by all parts: of several the rows inside the image, from the top; None where one needs all."""
    found = [part for part in parts if part is not None]
    if len(found) < len(parts):
        return None
    return found[0] if len(found) == 1 else tuple(sorted({row for part in found for row in part} - {OUTSIDE}))


def _inner(ops: Sequence[Op]) -> set[int]:
    """The tensors between operators that are computed together."""
    return {t for op in ops[:-1] for t in op.outputs}


def joined(ops: Sequence[Op]) -> Op:
    """Operators seen as one."""
    if len(ops) == 1:
        return ops[0]
    inner = _inner(ops)
    return Chain(
        inputs=tuple(t for op in ops for t in op.inputs if t not in inner),
        outputs=ops[-1].outputs,
        name=ops[-1].name,
        index=ops[-1].index,
        ops=tuple(ops),
    )


def can_join(graph: Graph, ops: Sequence[Op]) -> bool:
    """Whether nobody but these operators sees the tensors between them, and only the last one writes states."""
    inner = _inner(ops)
    seen = {*graph.outputs, *(s.after for s in graph.states)}
    readers = [reader for t in inner for reader in graph.consumers.get(t, [])]
    alone = all(any(reader is op for op in ops) for reader in readers)
    return alone and not inner & seen and not ops[-1].is_view and not any(op.updates for op in ops[:-1])
