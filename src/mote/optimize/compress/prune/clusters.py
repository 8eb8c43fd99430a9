"""Weight clustering: few distinct weights per layer, which the coded kernels of `--optimize size` store in few bits.

Weights of a layer become integers from a codebook shared by the layer, times a scale per output channel. The codebook
contains 127 or -127 and every channel uses it, so that a quantizer that maps a channel's largest weight to 127 recovers
the same integers. Codebook and assignments minimize the error of the layer's output plus a price per bit of entropy;
weights that are not rounded yet compensate for those that are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mote.base.integers import bincount, weighted
from mote.compiler.passes.shrinking.removable_channels import Layer
from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.windows.transpose_conv import TransposeConv
from mote.optimize.compress.prune.layers import Gram, Reals, float_layers, matrix

MOST = 127
"""The largest quantized weight."""
MOST_VALUES = 64
"""Initial codebook size."""
ROUNDS = 12
"""Number of alternating updates of assignments and codebook (Lloyd iterations)."""


@dataclass(frozen=True, eq=False)
class Clustered:
    """Clustered weights of a layer: `steps[o] * values[codes[o, i]]`."""

    values: Ints
    codes: Ints
    steps: Reals
    bias: Reals

    @property
    def matrix(self) -> Reals:
        """The weight matrix with the bias as its last column."""
        return np.column_stack([self.values[self.codes] * self.steps[:, None], self.bias])

    @property
    def bits(self) -> float:
        """Entropy of the codes in bits: a lower bound of the coded size."""
        counts = bincount(self.codes.reshape(-1), len(self.values))
        counts = counts[counts > 0]
        return float(-(counts * np.log2(counts / counts.sum())).sum())

    @property
    def distinct(self) -> int:
        return len(np.unique(self.codes))


def clusterable(graph: Graph) -> list[Layer]:
    """Layers for which there are coded kernels."""
    return [op for op in float_layers(graph) if not isinstance(op, TransposeConv)]


def prices(
    graph: Graph, grams: Mapping[int, Gram], sensitivities: Mapping[int, float], worth: float
) -> dict[int, float]:
    """Price per bit of each layer, by output tensor, from `worth`: the acceptable loss of the model's signal per share
    of all weight bits."""
    layers = {op.outputs[0]: matrix(graph, op) for op in clusterable(graph)}
    bits = sum(8.0 * own.weights[:, :-1].size for own in layers.values())
    energies = {y: grams[y].energy(own.weights, own.biased) for y, own in layers.items()}
    return {y: worth / bits * e / max(sensitivities[y], 1e-12) for y, e in energies.items() if e > 0.0}


def layer(weights: Reals, gram: Gram, price: float) -> Clustered:
    """Clusters the weights of a layer (bias as last column); `price` is the squared output error that a bit is
    worth."""
    w, bias = weights[:, :-1], weights[:, -1]
    used = np.abs(w).max(axis=1) > 0.0
    importance = np.diag(gram.damped())[:-1]
    steps = np.where(used, np.abs(w).max(axis=1) / MOST, 1.0)
    values, bits = _initial_codebook()
    for _ in range(ROUNDS):
        codes = _nearest(w, steps, values, bits, importance, price)
        values, codes = _updated_codebook(w, steps, values, codes, importance)
        bits = _bits(codes, len(values))
        steps = _fitted_scales(w, steps, values[codes], importance)
    steps = _scales_reaching_most(w, steps, values, codes)
    return _assigned_with_compensation(w, bias, steps, values, bits, gram, price)


def _initial_codebook() -> tuple[Ints, Reals]:
    """Initial codebook: evenly spaced integers including zero, with equal code lengths."""
    half = np.rint(np.linspace(0, MOST, MOST_VALUES // 2 + 1)).astype(np.int64)
    values = np.unique(np.concatenate([-half, half]))
    return values, np.full(len(values), np.log2(len(values)))


def _nearest(w: Reals, steps: Reals, values: Ints, bits: Reals, importance: Reals, price: float) -> Ints:
    """Assigns each weight the codebook entry that minimizes error plus price of its bits."""
    best = np.full(w.shape, np.inf)
    codes = np.zeros(w.shape, np.int64)
    for code, value in enumerate(values):
        cost = importance * (w - steps[:, None] * value) ** 2 + price * bits[code]
        better = cost < best
        best, codes = np.where(better, cost, best), np.where(better, code, codes)
    return codes


def _updated_codebook(w: Reals, steps: Reals, values: Ints, codes: Ints, importance: Reals) -> tuple[Ints, Ints]:
    """Moves codebook entries to the integer centroids of their weights, drops unused ones, and sets the largest to
    MOST."""
    flat = codes.reshape(-1)
    weight = (importance * np.square(steps)[:, None] + np.zeros_like(w)).reshape(-1)
    reals = (importance * steps[:, None] * w).reshape(-1)
    below = weighted(flat, weight, len(values))
    above = weighted(flat, reals, len(values))
    used = np.unique(flat)
    centres = np.where(below > 0.0, above / np.where(below > 0.0, below, 1.0), values)[used]
    moved = np.clip(np.rint(centres), -MOST, MOST).astype(np.int64)
    moved[np.abs(moved).argmax()] = MOST * (1 if moved[np.abs(moved).argmax()] >= 0 else -1)
    unique, place = np.unique(moved, return_inverse=True)
    numbers = np.zeros(len(values), np.int64)
    numbers[used] = place.reshape(-1)
    return unique, numbers[codes]


def _bits(codes: Ints, count: int) -> Reals:
    """Ideal code length of each value in bits."""
    counts = bincount(codes.reshape(-1), count)
    return -np.log2(np.maximum(counts, 0.5) / codes.size)


def _fitted_scales(w: Reals, steps: Reals, integers: Ints, importance: Reals) -> Reals:
    """Least-squares scale of each channel for these integers."""
    below = (importance * np.square(integers)).sum(axis=1)
    above = (importance * w * integers).sum(axis=1)
    return np.where((below > 0.0) & (above > 0.0), above / np.where(below > 0.0, below, 1.0), steps)


def _scales_reaching_most(w: Reals, steps: Reals, values: Ints, codes: Ints) -> Reals:
    """Scales reduced where necessary so that every nonzero channel uses the codebook entry MOST."""
    largest = np.abs(w).max(axis=1) / MOST
    reaches = (np.abs(values[codes]) == MOST).any(axis=1)
    return np.where(reaches | (largest == 0.0), steps, np.minimum(steps, largest))


def _assigned_with_compensation(
    w: Reals, bias: Reals, steps: Reals, values: Ints, bits: Reals, gram: Gram, price: float
) -> Clustered:
    """Assigns codebook entries column by column; later columns and the bias compensate for the error (as GPTQ does)."""
    rest = np.column_stack([w, bias])
    upper = np.linalg.cholesky(np.linalg.inv(gram.damped())).T
    codes = np.zeros(w.shape, np.int64)
    farthest = np.abs(w).argmax(axis=1)
    extreme = _extreme(values, np.sign(w[np.arange(len(w), dtype=np.int64), farthest]))
    for column in range(w.shape[1]):
        scale = upper[column, column]
        codes[:, column] = _nearest(rest[:, column, None], steps, values, bits, np.full(1, 1 / scale**2), price)[:, 0]
        last = (farthest == column) & (np.abs(w).max(axis=1) > 0.0)
        codes[last, column] = extreme[last]
        error = (rest[:, column] - steps * values[codes[:, column]]) / scale
        rest[:, column:] -= np.outer(error, upper[column, column:])
    return Clustered(values, codes, steps, rest[:, -1])


def _extreme(values: Ints, signs: Reals) -> Ints:
    """Codebook index of MOST or -MOST, by sign, or of the one that exists."""
    low, high = int(values.argmin()), int(values.argmax())
    if abs(int(values[low])) != MOST:
        return np.full(len(signs), high)
    if abs(int(values[high])) != MOST:
        return np.full(len(signs), low)
    return np.where(signs < 0, low, high)
