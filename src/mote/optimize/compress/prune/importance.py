"""Sensitivity of a model's outputs to errors in each layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mote.bench.execute import batch
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.optimize.compress.prune.layers import BIAS, Gram, Reals, float_layers, matrix, with_matrices

DISTURBANCE = 0.01
"""Energy of the perturbation, relative to the layer's signal."""
SAMPLES = 32
"""Number of samples for measuring sensitivities."""
SATURATING = frozenset({"SOFTMAX", "LOG_SOFTMAX", "LOGISTIC"})
"""Saturating output operators, before which errors are measured."""


def signals(graph: Graph) -> tuple[int, ...]:
    """Tensors by which outputs are compared: the model's outputs before a final softmax or sigmoid."""
    tensors = []
    for t in graph.outputs:
        op = graph.producers.get(t)
        tensors.append(op.inputs[0] if op is not None and op.kind in SATURATING else t)
    return tuple(dict.fromkeys(tensors))


def distances(graph: Graph, other: Graph, cases: Sequence[Mapping[int, Array]]) -> float:
    """Energy of the output difference of two graphs, relative to the output variance; 0 if equal."""
    apart = spread = 0.0
    for t in signals(graph):
        want, got = (_stacked(g, cases, t) for g in (graph, other))
        apart += float(((want - got) ** 2).sum())
        spread += float(((want - want.mean(axis=0)) ** 2).sum())
    return apart / max(spread, 1e-12)


def sensitivities(graph: Graph, grams: Mapping[int, Gram], cases: Sequence[Mapping[int, Array]]) -> dict[int, float]:
    """Sensitivity of each layer, by output tensor: lost share of the model's signal per lost share of the layer's,
    measured with small random weight perturbations of one layer at a time."""
    few = cases[:: max(1, len(cases) // SAMPLES)][:SAMPLES]
    shares = {}
    for op in float_layers(graph):
        y = op.outputs[0]
        own, gram = matrix(graph, op), grams[y]
        noise = np.random.default_rng(op.index + 1).standard_normal(own.weights.shape) / np.sqrt(np.diag(gram.damped()))
        noise[:, own.owners == BIAS] = 0.0
        signal, disturbed = gram.energy(own.weights, own.biased), gram.energy(noise, own.biased)
        if signal <= 0.0 or disturbed <= 0.0:
            shares[y] = 0.0
            continue
        weights: Reals = own.weights + noise * np.sqrt(DISTURBANCE * signal / disturbed)
        shares[y] = distances(graph, with_matrices(graph, {y: weights}), few) / DISTURBANCE
    return shares


def _stacked(graph: Graph, cases: Sequence[Mapping[int, Array]], t: int) -> Array:
    values_of_all = np.concatenate([values[t] for values in batch.evaluate(graph, cases, {t})])
    return values_of_all.reshape(len(cases), -1).astype(np.float64)
