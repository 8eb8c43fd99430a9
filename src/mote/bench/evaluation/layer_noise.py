"""Compares two models layer by layer: signal-to-noise ratio of each layer, and where noise is added.

Tensors are matched by name, others by operator, shape and order, since converters may rename layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from math import isfinite

import numpy as np

from mote.bench.evaluation.score import real
from mote.bench.execute import batch
from mote.bench.metrics import noise
from mote.compiler.passes.normal_form import normal
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array, Tensor
from mote.ir.graph.tolerance import computes_floats

EDGES = ("QUANTIZE", "DEQUANTIZE")
"""Conversion operators that only one of the models may have."""
CLEARLY = 3.0
"""Significant difference in dB (a factor of 2 in noise)."""
STRETCHING = ("SOFTMAX", "LOG_SOFTMAX", "LOGISTIC")
"""Operators that amplify the noise of their inputs."""


@dataclass(frozen=True)
class LayerNoise:
    """The signal-to-noise ratio of a layer's output."""

    index: int
    """Layer number in the model."""
    name: str
    """The name of the layer's output."""
    op: str
    """Operator kind."""
    other: str
    """The matching tensor of the other model."""
    decibels: float
    """Signal-to-noise ratio in dB, with the other model's values as the signal."""
    added: float
    """Noise added by this layer: noise energy relative to the signal's, minus that of the noisiest input; negative if
    the layer reduces noise."""
    scaled: bool = False
    """Whether channels were rescaled by cross-layer equalization; per-channel factors do not count as noise."""
    worst: bool = False
    """Whether this layer adds the most noise, not counting operators that only amplify it."""
    short: str = ""
    """The layer's short name, the same in all reports."""

    @property
    def share(self) -> float:
        return share(self.decibels)


def share(decibels: float) -> float:
    """Converts dB to noise energy relative to the signal."""
    return 0.0 if decibels == np.inf else float(10.0 ** (-decibels / 10)) if isfinite(decibels) else np.inf


def comparable(graph: Graph) -> Graph:
    """The graph in comparable form: float, with activations fused into the layers before them."""
    return normal(graph) if computes_floats(graph) else graph


def layer_noise(
    graph: Graph, cases: Sequence[Mapping[int, Array]], other: Graph, other_cases: Sequence[Mapping[int, Array]]
) -> list[LayerNoise]:
    """Compares the layers that two graphs have in common, both prepared by `comparable`, on the same samples."""
    pairs = matched(graph, other)
    edges = dict(zip(graph.inputs, other.inputs, strict=False))
    both = {t: o for t, o in (edges | pairs).items() if graph.tensors[t].size == other.tensors[o].size}
    mine, theirs = _values(graph, cases, both), _values(other, other_cases, both.values())
    plain = {t: noise(theirs[o].reshape(-1), mine[t].reshape(-1)) for t, o in both.items()}
    scaled = {t: _with_scales(graph.tensors[t], mine[t], theirs[pairs[t]]) for t in _recovering(graph, pairs, plain)}
    scaled = {t: value for t, value in scaled.items() if value > plain[t] + CLEARLY}
    decibels = plain | scaled
    shares = _carried(graph, {t: share(value) for t, value in decibels.items()})
    layers: list[LayerNoise] = []
    for op in graph.ops:
        t = op.outputs[0]
        if t in pairs:
            before = max((shares[i] for i in op.inputs if i in shares), default=0.0)
            names = graph.tensors[t].name, op.kind, other.tensors[pairs[t]].name
            noisy = decibels[t], shares[t] - before, t in scaled
            layers.append(LayerNoise(graph.layer_of(op), *names, *noisy, short=graph.short_name(op)))
    return _with_the_worst(layers)


def _with_the_worst(layers: Sequence[LayerNoise]) -> list[LayerNoise]:
    """Marks the layer that adds the most noise."""
    blamed = [layer for layer in layers if isfinite(layer.added) and layer.op not in STRETCHING]
    most = max((layer.added for layer in blamed), default=0.0)
    return [replace(layer, worst=layer in blamed and layer.added == most > 0) for layer in layers]


def _recovering(graph: Graph, pairs: Mapping[int, int], decibels: Mapping[int, float]) -> list[int]:
    """Tensors after which noise is clearly lower, so that their apparent noise is due to rescaled channels."""
    later, clear = -np.inf, []
    for t in reversed([op.outputs[0] for op in graph.ops if op.outputs[0] in pairs]):
        if later > decibels[t] + CLEARLY:
            clear.append(t)
        later = max(later, decibels[t])
    return clear


def _with_scales(tensor: Tensor, mine: Array, theirs: Array) -> float:
    """Signal-to-noise ratio after best-fit per-channel factors."""
    a, b = (x.reshape(-1, tensor.channels).astype(np.float64) for x in (mine, theirs))
    energy = np.square(a).sum(0)
    factors = np.where(energy > 0, (a * b).sum(0) / np.maximum(energy, np.finfo(np.float64).tiny), 1.0)
    return noise(b, a * factors)


def matched(graph: Graph, other: Graph) -> dict[int, int]:
    """Matches activations of two graphs: tensor ids of the first to those of the second."""
    mine, theirs = _computed(graph), _computed(other)
    named = {t.name: t for t in theirs.values()}
    pairs = {
        i: named[t.name].id for i, t in mine.items() if t.name in named and named[t.name].size == t.size and t.name
    }
    taken = {o: i for i, o in pairs.items()}
    mine_keys = [("", i) if i in pairs else (graph.producers[i].kind, t.size) for i, t in mine.items()]
    their_keys = [("", taken[i]) if i in taken else (other.producers[i].kind, t.size) for i, t in theirs.items()]
    first, second = list(mine), list(theirs)
    for block in SequenceMatcher(None, mine_keys, their_keys, autojunk=False).get_matching_blocks():
        pairs |= dict(zip(first[block.a : block.a + block.size], second[block.b : block.b + block.size], strict=True))
    return pairs


def _computed(graph: Graph) -> dict[int, Tensor]:
    """Tensors to compare, in execution order."""
    ops = [op for op in graph.ops if op.kind not in EDGES and not op.is_view]
    return {op.outputs[0]: graph.tensors[op.outputs[0]] for op in ops if not graph.tensors[op.outputs[0]].inner}


def _values(graph: Graph, cases: Sequence[Mapping[int, Array]], wanted: Iterable[int]) -> dict[int, Array]:
    """Dequantized tensors of a graph for all samples."""
    ids = set(wanted)
    batches = list(batch.evaluate(graph, cases, ids))
    return {t: real(graph.tensors[t], np.concatenate([values[t] for values in batches])) for t in ids}


def _carried(graph: Graph, shares: Mapping[int, float]) -> dict[int, float]:
    """Noise of every tensor; one that was not compared has the noise of its inputs."""
    noise = dict(shares)
    for op in graph.ops:
        for out in op.outputs:
            noise.setdefault(out, max((noise[i] for i in op.inputs if i in noise), default=0.0))
    return noise
