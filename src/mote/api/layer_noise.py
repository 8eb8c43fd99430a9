"""Two models layer by layer: how much of what one of them computes is left in the other, and where it is lost.

Tensors are brought together by their names. What is left is brought together by what it is and by its order: a
converter may call the last layer otherwise when it quantizes, or all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from math import isfinite

import numpy as np

from mote.api.scorer import real
from mote.graph import Graph
from mote.graph.tensor import Array, Tensor
from mote.graph.tolerance import computes_floats
from mote.metrics import noise
from mote.quantize import batch
from mote.quantize.normal import normal

EDGES = ("QUANTIZE", "DEQUANTIZE")
"""Operators that only one of the two may have: they compute nothing."""
STRETCHING = ("SOFTMAX", "LOG_SOFTMAX", "LOGISTIC")
"""Operators that make more of the noise that they are given, and are not to blame for it."""


@dataclass(frozen=True)
class LayerNoise:
    """What is left of a layer's output."""

    index: int
    name: str
    op: str
    other: str
    """The tensor of the other model that it was compared with."""
    decibels: float
    """Signal to noise, the other model's values being the signal."""
    added: float
    """The energy of the noise as a share of the signal's, less that of the input that has most: what the layer itself
    adds. Below 0 where it takes noise away."""
    worst: bool = False
    """Whether no layer adds more, but for those that stretch what there is."""

    @property
    def share(self) -> float:
        return share(self.decibels)


def share(decibels: float) -> float:
    """The energy of noise as a share of the signal's."""
    return 0.0 if decibels == np.inf else float(10.0 ** (-decibels / 10)) if isfinite(decibels) else np.inf


def comparable(graph: Graph) -> Graph:
    """The graph as it is compared: real numbers with activations in the layers before them, as quantizers see them."""
    return normal(graph) if computes_floats(graph) else graph


def layer_noise(
    graph: Graph, cases: Sequence[Mapping[int, Array]], other: Graph, other_cases: Sequence[Mapping[int, Array]]
) -> list[LayerNoise]:
    """The layers of a graph whose outputs another graph has too, both as `comparable` makes them, on the same
    samples."""
    found = matched(graph, other)
    edges = dict(zip(graph.inputs, other.inputs, strict=False))
    both = {t: o for t, o in (edges | found).items() if graph.tensors[t].size == other.tensors[o].size}
    mine, theirs = _values(graph, cases, both), _values(other, other_cases, both.values())
    decibels = {t: noise(theirs[o].reshape(-1), mine[t].reshape(-1)) for t, o in both.items()}
    shares = _carried(graph, {t: share(value) for t, value in decibels.items()})
    rows = []
    for op in graph.ops:
        t = op.outputs[0]
        if t in found:
            before = max((shares[i] for i in op.inputs if i in shares), default=0.0)
            name = graph.tensors[t].name
            rows.append((op, name, other.tensors[found[t]].name, decibels[t], share(decibels[t]) - before))
    blamed = [row[-1] for row in rows if isfinite(row[-1]) and row[0].kind not in STRETCHING]
    most = max(blamed, default=0.0)
    return [
        LayerNoise(i, name, op.kind, theirs_, value, added, added == most > 0 and op.kind not in STRETCHING)
        for i, (op, name, theirs_, value, added) in enumerate(rows)
    ]


def matched(graph: Graph, other: Graph) -> dict[int, int]:
    """The tensors that operators of one graph compute, and those of the other that mean the same."""
    mine, theirs = _computed(graph), _computed(other)
    named = {t.name: t for t in theirs.values()}
    found = {
        i: named[t.name].id for i, t in mine.items() if t.name in named and named[t.name].size == t.size and t.name
    }
    taken = {o: i for i, o in found.items()}
    mine_keys = [("", i) if i in found else (graph.producers[i].kind, t.size) for i, t in mine.items()]
    their_keys = [("", taken[i]) if i in taken else (other.producers[i].kind, t.size) for i, t in theirs.items()]
    first, second = list(mine), list(theirs)
    for block in SequenceMatcher(None, mine_keys, their_keys, autojunk=False).get_matching_blocks():
        found |= dict(zip(first[block.a : block.a + block.size], second[block.b : block.b + block.size], strict=True))
    return found


def _computed(graph: Graph) -> dict[int, Tensor]:
    """The tensors that are compared, in the order in which they are computed."""
    ops = [op for op in graph.ops if op.kind not in EDGES and not op.is_view]
    return {op.outputs[0]: graph.tensors[op.outputs[0]] for op in ops if not graph.tensors[op.outputs[0]].inner}


def _values(graph: Graph, cases: Sequence[Mapping[int, Array]], wanted: Iterable[int]) -> dict[int, Array]:
    """Tensors of a graph for all samples, as real numbers."""
    ids = set(wanted)
    batches = list(batch.evaluate(graph, cases, ids))
    return {t: real(graph.tensors[t], np.concatenate([values[t] for values in batches])) for t in ids}


def _carried(graph: Graph, shares: Mapping[int, float]) -> dict[int, float]:
    """The noise of every tensor: of one that was not compared it is what its inputs have."""
    found = dict(shares)
    for op in graph.ops:
        for out in op.outputs:
            found.setdefault(out, max((found[i] for i in op.inputs if i in found), default=0.0))
    return found
