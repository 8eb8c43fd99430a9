"""Sparsity: blocks of weights that are zero, which the sparse kernels skip, in layers of a float graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mote.compiler.passes.shrinking.removable_channels import Layer, Mask
from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.windows.conv import Conv2D
from mote.optimize.compress.prune.blocks import LEAST, prunable, tiling
from mote.optimize.compress.prune.layers import BIAS, Gram, Reals, float_layers, matrix, with_matrices
from mote.optimize.nas.around.kernels import first_taps

SHARES = (0.75, 0.5, 0.3, 0.0)
"""Shares of a layer's blocks that can be zero."""

Energies = Mapping[int, Reals]
"""The mean square of each input of a layer's matrix, by the layer's output."""


def energies(grams: Mapping[int, Gram]) -> Energies:
    """Mean squares of inputs, from the second moments of layers' inputs."""
    return {y: np.diag(gram.products).copy() for y, gram in grams.items()}


def sparse_layers(graph: Graph) -> tuple[int, ...]:
    """The layers, by output, of which blocks of weights can be zero."""
    return tuple(op.outputs[0] for op in prunable(graph))


def sparse(before: Graph, graph: Graph, shares: Mapping[int, float], seen: Energies) -> Graph:
    """The graph with so large shares of zero blocks in some layers, each row of blocks alike: those whose outputs have
    the least energy. `before` is the graph that the energies were seen in, from which channels, blocks and taps may
    have been cut."""
    whole = {op.outputs[0]: op for op in float_layers(before)}
    sparse_ones: dict[int, Reals] = {}
    for op in prunable(graph):
        y = op.outputs[0]
        if shares.get(y):
            own = matrix(graph, op)
            energy = seen[y][_inputs_left(before, whole[y], graph, op)]
            sparse_ones[y] = own.weights * _mask(graph, op, own.weights**2 * energy, shares[y])
    return with_matrices(graph, sparse_ones) if sparse_ones else graph


def zeros_kept(graph: Graph, layers: Mapping[int, float]) -> dict[int, Mask]:
    """Masks of nonzero weights, with the bias, of sparse layers."""
    masks = {}
    for op in float_layers(graph):
        if layers.get(op.outputs[0]):
            own = matrix(graph, op)
            masks[op.outputs[0]] = (own.weights != 0) | (own.owners == BIAS)
    return masks


def _mask(graph: Graph, op: Layer, scores: Reals, share: float) -> Mask:
    """Where weights stay; `scores` are those of each weight."""
    tiles = tiling(graph, op)
    sums = np.zeros((tiles.rows * tiles.high, tiles.across))
    for output, row in enumerate(scores):
        np.add.at(sums[output], tiles.columns[:-1], row[:-1])
    by_block = sums.reshape(tiles.rows, tiles.high, tiles.across).sum(axis=1)
    count = max(min(round(share * tiles.across), tiles.across - LEAST), 0)
    stays = np.ones((tiles.rows, tiles.across + 1), np.bool_)
    np.put_along_axis(stays, np.argsort(by_block, axis=1, kind="stable")[:, :count], False, axis=1)
    mask: Mask = np.repeat(stays, tiles.high, axis=0)[: tiles.outputs, tiles.columns]
    return mask


def _inputs_left(before: Graph, old: Layer, after: Graph, new: Layer) -> Ints:
    """The columns of a layer's matrix that are left, the bias last."""
    columns, kept = old.columns(before), new.input(after).kept
    assert columns is not None
    channels = np.arange(len(columns), dtype=np.int64) if kept is None else np.flatnonzero(np.isin(columns, kept))
    depth = old.input(before, 1).size // old.input(before, 1).shape[0]
    places = np.arange(depth, dtype=np.int64)
    if isinstance(old, Conv2D) and isinstance(new, Conv2D):
        down, right = first_taps(old, new)
        taps = places.reshape(old.vertical.kernel, old.horizontal.kernel, -1)
        taps = taps[down : down + new.vertical.kernel, right : right + new.horizontal.kernel]
        return np.append(taps[..., channels].reshape(-1), depth)
    return np.append(places[channels], depth)
