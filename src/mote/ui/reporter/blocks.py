"""A long network as blocks inside blocks, each with few parts, so that a drawing of it fits the eye.

Networks are cut where a single tensor connects what is before with what is behind. What lies between two cuts, a
residual block or branches, stays together; runs of such pieces become stages of one resolution, repetitions of a
pattern, or pieces of similar length, until no block has more than a few parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

MOST = 12
"""Parts that are shown side by side without folding."""
LEAST = 3
"""Layers that are worth a block."""
FEW = 8
"""Parts of a block that has no better reason to be one."""


@dataclass(frozen=True)
class DrawnNode:
    """A node of a network in the order in which it runs: a layer, an input or an output."""

    kind: str
    """The operator; nothing for inputs and outputs."""
    reads: tuple[int, ...]
    """Nodes whose tensors it reads."""
    size: tuple[int, ...] = ()
    """The extent of its output in space or time."""


@dataclass(frozen=True)
class FoldedBlock:
    """Nodes that are drawn as one until they are unfolded."""

    title: str
    parts: tuple[Part, ...]

    @property
    def nodes(self) -> list[int]:
        return [node for part in self.parts for node in (part.nodes if isinstance(part, FoldedBlock) else [part])]


Part = int | FoldedBlock
Pieces = Sequence[tuple[int, ...]]
"""Nodes between two cuts, from the first to the last."""


def blocks(nodes: Sequence[DrawnNode]) -> tuple[Part, ...]:
    """The parts of a network: nodes by their places, and blocks of them."""
    if sum(bool(node.kind) for node in nodes) <= MOST:
        return tuple(range(len(nodes)))
    return _parts(nodes, pieces(nodes))


def pieces(nodes: Sequence[DrawnNode]) -> list[tuple[int, ...]]:
    """The nodes between places that at most one node's output crosses."""
    last = {read: place for place, node in enumerate(nodes) for read in node.reads}
    cut, live = [list[int]()], set[int]()
    for place in range(len(nodes)):
        cut[-1].append(place)
        live = {read for read in (*live, place) if last.get(read, -1) > place}
        if len(live) <= 1:
            cut.append([])
    return [tuple(piece) for piece in cut if piece]


def _parts(nodes: Sequence[DrawnNode], run: Pieces) -> tuple[Part, ...]:
    """A run of pieces as few parts; where it is too long, by the first way of grouping that makes it much shorter."""
    if len(run) <= MOST:
        return tuple(part for piece in run for part in _piece(nodes, piece))
    for grouping in (_stages, _repetitions):
        groups = grouping(nodes, run)
        parts = [part for title, group in groups for part in _group(nodes, title, group)] if len(groups) > 1 else []
        if 1 < len(parts) <= max(MOST, len(run) // 2):
            return tuple(_evenly(parts))
    return tuple(_evenly([part for piece in run for part in _piece(nodes, piece)]))


def _group(nodes: Sequence[DrawnNode], title: str, group: Pieces) -> tuple[Part, ...]:
    if not title or sum(_layers(nodes, piece) for piece in group) < LEAST or len(group) == 1:
        return tuple(part for piece in group for part in _piece(nodes, piece))
    return (FoldedBlock(title, _parts(nodes, group)),)


def _piece(nodes: Sequence[DrawnNode], piece: tuple[int, ...]) -> tuple[Part, ...]:
    if _layers(nodes, piece) < LEAST:
        return piece
    added = any(word in nodes[piece[-1]].kind for word in ("ADD", "SUM"))
    return (FoldedBlock("Residual block" if added else "Branches", piece),)


def _layers(nodes: Sequence[DrawnNode], piece: Iterable[int]) -> int:
    return sum(bool(nodes[place].kind) for place in piece)


def _stages(nodes: Sequence[DrawnNode], run: Pieces) -> list[tuple[str, Pieces]]:
    """Runs of pieces whose outputs have the same size."""

    def size(piece: tuple[int, ...]) -> tuple[int, ...]:
        return nodes[piece[-1]].size if nodes[piece[-1]].kind else ()

    grouped = [(key, list(group)) for key, group in groupby(run, size)]
    return [(f"Stage {'x'.join(map(str, key))}" if key else "", group) for key, group in grouped]


def _repetitions(nodes: Sequence[DrawnNode], run: Pieces) -> list[tuple[str, Pieces]]:
    """The longest part of a run that is a pattern several times, each time a group, and what is around it."""
    signs = [tuple(nodes[place].kind for place in piece) for piece in run]
    begin, period, times = max(_patterns(signs), key=lambda p: (p[1] * p[2], -p[1]), default=(0, 0, 0))
    end = begin + period * times
    repeats = [run[at : at + period] for at in range(begin, end, period)] if period else []
    titled = [(f"Repetition {k} of {times}", group) for k, group in enumerate(repeats, 1)]
    around = [[("", [piece]) for piece in part] for part in (run[:begin], run[end:])]
    return [*around[0], *titled, *around[1]]


def _patterns(signs: Sequence[object]) -> Iterable[tuple[int, int, int]]:
    """Where a pattern begins, how long it is, and how often it follows itself."""
    for period in range(2, MOST + 1):
        same = [signs[i] == signs[i + period] for i in range(len(signs) - period)]
        for begin in range(len(same)):
            if same[begin] and (begin == 0 or not same[begin - 1]):
                length = next((n for n, equal in enumerate(same[begin:]) if not equal), len(same) - begin)
                if length >= period:
                    yield begin, period, length // period + 1


def _evenly(parts: Sequence[Part]) -> Sequence[Part]:
    """Parts, in blocks of similar length where there are far too many of them."""
    if len(parts) <= 2 * MOST:
        return parts
    count = -(-len(parts) // FEW)
    ends = [len(parts) * k // count for k in range(count + 1)]
    groups = [tuple(parts[begin:end]) for begin, end in pairwise(ends)]
    return _evenly([FoldedBlock(f"Part {k} of {count}", group) for k, group in enumerate(groups, 1)])
