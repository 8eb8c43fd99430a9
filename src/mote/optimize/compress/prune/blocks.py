"""Block sparsity: selects blocks of weights to set to zero. Sparse kernels skip blocks of (2 outputs x 4 inputs) in
convolutions and (4 x 8) in fully connected layers.

In each block row (the weights of these output channels), blocks are dropped greedily, assuming that the remaining
weights are refitted (as `mote.optimize.compress.prune.channels` does for channels). Drops of all rows and layers are
then merged by loss per saving."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mote.compiler.passes.shrinking.removable_channels import Layer, Mask
from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.transpose_conv import TransposeConv
from mote.optimize.compress.prune.layers import BIAS, Gram, Reals, float_layers, matrix

CONVOLUTION, VECTOR = (2, 4), (4, 8)
"""Block shapes as (outputs, inputs)."""
FEW_PIXELS = 2
"""Convolutions with at most this many output pixels are computed like fully connected layers."""
LEAST = 2
"""Minimum number of blocks that sparse kernels require per row."""
USEFUL = 0.2
"""Minimum share of zero blocks for sparse kernels to be used in a layer."""
TOGETHER = 512
"""Inputs of a layer are split into groups of this size; correlations between groups are ignored when ordering
blocks."""


@dataclass(frozen=True)
class Drop:
    """A block to drop: output tensor of the layer, block row and block, with estimated loss and saving."""

    layer: int
    row: int
    block: int
    loss: float
    """Estimated lost share of the model's output signal."""
    saved: float
    """Estimated saving, in the unit of the layers' prices."""


@dataclass(frozen=True, eq=False)
class Tiling:
    """Partition of a layer's weight matrix into blocks."""

    high: int
    columns: Ints
    """Block index of each column; BIAS for columns without a block."""
    outputs: int

    @property
    def rows(self) -> int:
        return -(-self.outputs // self.high)

    @property
    def across(self) -> int:
        return int(self.columns.max()) + 1


def tiling(graph: Graph, op: Layer) -> Tiling:
    """Partitions a layer's weight matrix: kernel rows of a convolution are split into whole groups of inputs first,
    then their remainders."""
    outputs, depth = op.input(graph, 1).shape[0], op.input(graph, 1).size // op.input(graph, 1).shape[0]
    pixels = op.output(graph).size // outputs
    high, wide = CONVOLUTION if isinstance(op, Conv2D) and pixels > FEW_PIXELS else VECTOR
    at = np.arange(depth, dtype=np.int64)
    if isinstance(op, Conv2D):
        line = depth // op.vertical.kernel
        row, place = np.divmod(at, line)
        whole = line // wide * wide
        inner = row * (whole // wide) + place // wide
        rest = op.vertical.kernel * (whole // wide) + (row * (line - whole) + place - whole) // wide
        blocks = np.where(place < whole, inner, rest)
    else:
        blocks = at // wide
    return Tiling(high, np.append(blocks, BIAS), outputs)


def prunable(graph: Graph) -> list[Layer]:
    """Layers that have enough blocks to drop some."""
    layers = [op for op in float_layers(graph) if not isinstance(op, TransposeConv)]
    return [op for op in layers if tiling(graph, op).across > LEAST]


def order(
    graph: Graph, grams: Mapping[int, Gram], sensitivities: Mapping[int, float], prices: Mapping[int, float]
) -> list[Drop]:
    """Blocks in the order in which to drop them; blocks of one row keep their greedy order."""
    ranked: list[tuple[float, int, Drop]] = []
    for op in prunable(graph):
        y = op.outputs[0]
        own, gram, tiles = matrix(graph, op), grams[y], tiling(graph, op)
        energy = gram.energy(own.weights, own.biased)
        weight = sensitivities[y] / energy if energy > 0.0 else 0.0
        saved = prices.get(y, 0.0) / (tiles.rows * tiles.across)
        inverse = np.linalg.inv(_local(gram.damped()))
        for row in range(tiles.rows):
            worst = 0.0
            weights = own.weights[row * tiles.high : (row + 1) * tiles.high]
            for block, error in _row_order(weights, inverse, tiles.columns):
                drop = Drop(y, row, block, weight * error, saved)
                worst = max(worst, drop.loss / max(saved, 1e-9))
                ranked.append((worst, len(ranked), drop))
    return [drop for _, _, drop in sorted(ranked, key=lambda entry: entry[:2])]


def _local(products: Reals) -> Reals:
    """Approximates a large Gram matrix by treating distant inputs as independent. Only the order of blocks uses this;
    weights are refitted with the full matrix."""
    size = len(products)
    if size <= TOGETHER + 1:
        return products
    part = np.append(np.arange(size - 1, dtype=np.int64) // TOGETHER, BIAS)
    near = part[:, None] == part
    return np.where(near, products, 0.0)


def _row_order(weights: Reals, inverse: Reals, columns: Ints) -> Iterator[tuple[int, float]]:
    """Orders the blocks of a row greedily, with the squared error that each adds."""
    left = sorted(set(columns.tolist()) - {BIAS})
    weights, inverse = weights.copy(), inverse.copy()
    places = {block: np.flatnonzero(columns == block) for block in left}
    while len(left) > LEAST:
        errors = _errors(weights, inverse, [places[block] for block in left])
        best = int(errors.argmin())
        block = left.pop(best)
        own = places[block]
        near = np.flatnonzero(inverse[own[0]])
        scaled = np.linalg.solve(inverse[np.ix_(own, own)], inverse[np.ix_(own, near)])
        weights[:, near] -= weights[:, own] @ scaled
        inverse[np.ix_(near, near)] -= inverse[np.ix_(near, own)] @ scaled
        weights[:, own] = 0.0
        inverse[own] = inverse[:, own] = 0.0
        yield block, float(errors[best])


def _errors(weights: Reals, inverse: Reals, places: Sequence[Ints]) -> Reals:
    """Squared error after dropping each of these blocks."""
    errors = np.zeros(len(places))
    for size in {len(own) for own in places}:
        some = [n for n, own in enumerate(places) if len(own) == size]
        at = np.stack([places[n] for n in some])
        parts = weights[:, at].transpose(1, 2, 0)
        solved = np.linalg.solve(inverse[at[:, :, None], at[:, None, :]], parts)
        errors[some] = (parts * solved).sum(axis=(1, 2))
    return errors


def masks(graph: Graph, drops: Sequence[Drop]) -> dict[int, Mask]:
    """Masks of remaining weights after dropping blocks, by layer output; layers with too few zero blocks for sparse
    kernels are left dense."""
    gone: dict[int, list[Drop]] = {}
    for drop in drops:
        gone.setdefault(drop.layer, []).append(drop)
    kept = {}
    for op in prunable(graph):
        own, tiles = gone.get(op.outputs[0], []), tiling(graph, op)
        if len(own) < USEFUL * tiles.rows * tiles.across:
            continue
        blocks = np.ones((tiles.rows, tiles.across + 1), np.bool_)
        blocks[[d.row for d in own], [d.block for d in own]] = False
        kept[op.outputs[0]] = np.repeat(blocks, tiles.high, axis=0)[: tiles.outputs, tiles.columns]
    return kept


def price_left(prices: Mapping[int, float], kept: Mapping[int, Mask]) -> float:
    """Total cost of the layers after dropping blocks."""
    return sum(price * (float(kept[y][:, :-1].mean()) if y in kept else 1.0) for y, price in prices.items())
