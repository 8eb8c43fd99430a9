"""Sparsity search: layers of a float graph with zero blocks of weights, which the sparse kernels skip."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mote.compiler.passes.shrinking.removable_channels import Layer, Mask
from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.windows.conv import Conv2D
from mote.optimize.compress.prune.blocks import LEAST, prunable, tiling
from mote.optimize.compress.prune.layers import BIAS, Gram, Reals, float_layers, matrix, with_matrices
from mote.optimize.nas.around.kernels import crop_offset

SHARES = (0.75, 0.5, 0.3, 0.0)
"""Shares of a layer's weight blocks to set to zero."""

Energies = Mapping[int, Reals]
"""Mean square of each input (column) of a layer's weight matrix, by the layer's output tensor."""


def energies(grams: Mapping[int, Gram]) -> Energies:
    """Mean squares of layer inputs: the diagonals of the Gram matrices."""
    return {y: np.diag(gram.products).copy() for y, gram in grams.items()}


def sparse_layers(graph: Graph) -> tuple[int, ...]:
    """Output tensors of the layers whose weights can be made block-sparse."""
    return tuple(op.outputs[0] for op in prunable(graph))


def sparse(before: Graph, graph: Graph, shares: Mapping[int, float], energy_of: Energies) -> Graph:
    """The graph with zeroed weight blocks: in each layer of `shares`, this share of the blocks of every block row,
    lowest output energy first. `before` is the unchanged graph in which the energies were measured."""
    original = {op.outputs[0]: op for op in float_layers(before)}
    sparse_ones: dict[int, Reals] = {}
    for op in prunable(graph):
        y = op.outputs[0]
        if shares.get(y):
            layer_matrix = matrix(graph, op)
            energy = energy_of[y][_inputs_left(before, original[y], graph, op)]
            sparse_ones[y] = layer_matrix.weights * _mask(graph, op, layer_matrix.weights**2 * energy, shares[y])
    return with_matrices(graph, sparse_ones) if sparse_ones else graph


def weights_kept(graph: Graph, layers: Mapping[int, float]) -> dict[int, Mask]:
    """Masks of the weights to keep in the sparse layers, by output tensor: nonzero weights and the bias."""
    masks = {}
    for op in float_layers(graph):
        if layers.get(op.outputs[0]):
            layer_matrix = matrix(graph, op)
            masks[op.outputs[0]] = (layer_matrix.weights != 0) | (layer_matrix.owners == BIAS)
    return masks


def _mask(graph: Graph, op: Layer, scores: Reals, share: float) -> Mask:
    """Mask of the weights that are kept, from a score for each weight: blocks with the smallest sums of scores are
    dropped."""
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
    """Columns of the unchanged layer's weight matrix that are left after pruning channels and cropping the kernel; the
    bias column is last."""
    columns, kept = old.columns(before), new.input(after).kept
    assert columns is not None
    channels = np.arange(len(columns), dtype=np.int64) if kept is None else np.flatnonzero(np.isin(columns, kept))
    depth = old.input(before, 1).size // old.input(before, 1).shape[0]
    places = np.arange(depth, dtype=np.int64)
    if isinstance(old, Conv2D) and isinstance(new, Conv2D):
        down, right = crop_offset(old, new)
        taps = places.reshape(old.vertical.kernel, old.horizontal.kernel, -1)
        taps = taps[down : down + new.vertical.kernel, right : right + new.horizontal.kernel]
        return np.append(taps[..., channels].reshape(-1), depth)
    return np.append(places[channels], depth)
