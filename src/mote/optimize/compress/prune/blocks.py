"""Block sparsity: which blocks of weights to set to zero. Kernels skip blocks of two output channels by four inputs in
convolutions, and of four by eight in fully connected layers.

For every row of blocks (the weights of those output channels) one block after another is dropped in the thought that
the weights that are left make the best of it, as `mote.optimize.compress.prune.channels` does with channels; each drop
has its price. Then the drops of all rows and layers are sorted by what is lost for what is saved."""

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
"""The fewest blocks that stay in a row: kernels need so many."""
USEFUL = 0.2
"""The share of a layer's blocks that must be zero for the sparse kernels to be used."""
TOGETHER = 512
"""Inputs of a layer whose correlations are considered when blocks are ordered."""


@dataclass(frozen=True)
class Drop:
    """A block to drop: the layer (by its output), the row of blocks, and the estimated loss and saving."""

    layer: int
    row: int
    block: int
    loss: float
    """Estimated share of the model's signal that is lost."""
    saved: float
    """Estimated saving, in the unit of the layers' prices."""


@dataclass(frozen=True, eq=False)
class Tiling:
    """The blocks of a layer's weight matrix."""

    high: int
    columns: Ints
    """The block of each column; BIAS for columns without a block."""
    outputs: int

    @property
    def rows(self) -> int:
        return -(-self.outputs // self.high)

    @property
    def across(self) -> int:
        return int(self.columns.max()) + 1


def tiling(graph: Graph, op: Layer) -> Tiling:
    """Tiles a layer's weight matrix. Windows of a convolution are read row by row: groups of four within each row
    first, then the remainders."""
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
    """Layers in which some block can be dropped."""
    layers = [op for op in float_layers(graph) if not isinstance(op, TransposeConv)]
    return [op for op in layers if tiling(graph, op).across > LEAST]


def order(
    graph: Graph,
    grams: Mapping[int, Gram],
    sensitivities: Mapping[int, float],
    prices: Mapping[int, float],
) -> list[Drop]:
    """Blocks in the order in which to drop them; those of a row in the order in which they were chosen."""
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
    """Squared errors after dropping each of some blocks."""
    errors = np.zeros(len(places))
    for size in {len(own) for own in places}:
        some = [n for n, own in enumerate(places) if len(own) == size]
        at = np.stack([places[n] for n in some])
        parts = weights[:, at].transpose(1, 2, 0)
        solved = np.linalg.solve(inverse[at[:, :, None], at[:, None, :]], parts)
        errors[some] = (parts * solved).sum(axis=(1, 2))
    return errors


def masks(graph: Graph, drops: Sequence[Drop]) -> dict[int, Mask]:
    """Masks of nonzero weights after dropping blocks, by layer. Layers with too few zero blocks for sparse kernels keep
    all weights."""
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
    """The price of layers after dropping blocks."""
    return sum(price * (float(kept[y][:, :-1].mean()) if y in kept else 1.0) for y, price in prices.items())
