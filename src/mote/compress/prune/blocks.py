"""Which blocks of weights are best set to zero: those that kernels skip whole, two output channels and four inputs of a
convolution, four outputs and eight inputs of a fully connected layer.

For every row of blocks (the weights of those output channels) one block after another is dropped in the thought that
the weights that are left make the best of it, as `mote.compress.prune.channels` does with channels; each drop has its
price. Then the drops of all rows and layers are sorted by what is lost for what is saved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mote.compress.prune.layers import BIAS, Gram, Reals, float_layers, matrix
from mote.graph import Graph
from mote.graph.fixedpoint import Ints
from mote.ops.windows.conv import Conv2D
from mote.ops.windows.transpose_conv import TransposeConv
from mote.passes.removable_channels import Layer, Mask

CONVOLUTION, VECTOR = (2, 4), (4, 8)
"""Outputs and inputs of a block."""
FEW_PIXELS = 2
"""A convolution of no more is computed like a fully connected layer."""
LEAST = 2
"""Blocks of a row that stay: kernels want so many."""
USEFUL = 0.2
"""The share of a layer's blocks that has to be zero for kernels to skip them."""
TOGETHER = 512
"""Inputs of a layer whose effects on one another are looked at, when blocks are put in order."""


@dataclass(frozen=True)
class Drop:
    """A block that goes: of the layer with this output, in this row of blocks; and what that is worth."""

    layer: int
    row: int
    block: int
    loss: float
    """The share of the model's signal that is thought to be lost."""
    saved: float
    """Of the prices of layers."""


@dataclass(frozen=True, eq=False)
class Tiling:
    """How a layer's matrix is cut into blocks."""

    high: int
    columns: Ints
    """The block of each column, BIAS where it has none."""
    outputs: int

    @property
    def rows(self) -> int:
        return -(-self.outputs // self.high)

    @property
    def across(self) -> int:
        return int(self.columns.max()) + 1


def tiling(graph: Graph, op: Layer) -> Tiling:
    """A convolution's windows are read row by row: whole fours of each row first, then what the rows have left over."""
    outputs, depth = op.input(graph, 1).shape[0], op.input(graph, 1).size // op.input(graph, 1).shape[0]
    pixels = op.output(graph).size // outputs
    high, wide = CONVOLUTION if isinstance(op, Conv2D) and pixels > FEW_PIXELS else VECTOR
    at = np.arange(depth)
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
    """Layers with rows of blocks that have some to spare."""
    layers = [op for op in float_layers(graph) if not isinstance(op, TransposeConv)]
    return [op for op in layers if tiling(graph, op).across > LEAST]


def order(
    graph: Graph,
    grams: Mapping[int, Gram],
    sensitivities: Mapping[int, float],
    prices: Mapping[int, float],
) -> list[Drop]:
    """Drops of blocks from the first to the last that is possible; those of a row of blocks in the order in which they
    were found."""
    found: list[tuple[float, int, Drop]] = []
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
                found.append((worst, len(found), drop))
    return [drop for _, _, drop in sorted(found, key=lambda entry: entry[:2])]


def _local(products: Reals) -> Reals:
    """A Gram matrix of which distant inputs are taken for independent, where it is large: that is only for the order of
    blocks, weights are refitted with all of it."""
    size = len(products)
    if size <= TOGETHER + 1:
        return products
    part = np.append(np.arange(size - 1) // TOGETHER, BIAS)
    near = part[:, None] == part
    return np.where(near, products, 0.0)


def _row_order(weights: Reals, inverse: Reals, columns: Ints) -> Iterator[tuple[int, float]]:
    """The blocks of a row from the first that goes to the last, and the squared error that each adds."""
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
    """The squared errors without each of some blocks."""
    found = np.zeros(len(places))
    for size in {len(own) for own in places}:
        some = [n for n, own in enumerate(places) if len(own) == size]
        at = np.stack([places[n] for n in some])
        parts = weights[:, at].transpose(1, 2, 0)
        solved = np.linalg.solve(inverse[at[:, :, None], at[:, None, :]], parts)
        found[some] = (parts * solved).sum(axis=(1, 2))
    return found


def masks(graph: Graph, drops: Sequence[Drop]) -> dict[int, Mask]:
    """Which weights of which layers may be other than zero without these blocks, as masks of their matrices. Layers in
    which there are too few such blocks for kernels to skip them keep all."""
    gone: dict[int, list[Drop]] = {}
    for drop in drops:
        gone.setdefault(drop.layer, []).append(drop)
    found = {}
    for op in prunable(graph):
        own, tiles = gone.get(op.outputs[0], []), tiling(graph, op)
        if len(own) < USEFUL * tiles.rows * tiles.across:
            continue
        blocks = np.ones((tiles.rows, tiles.across + 1), np.bool_)
        blocks[[d.row for d in own], [d.block for d in own]] = False
        found[op.outputs[0]] = np.repeat(blocks, tiles.high, axis=0)[: tiles.outputs, tiles.columns]
    return found


def price_left(prices: Mapping[int, float], kept: Mapping[int, Mask]) -> float:
    """What layers cost without the blocks that are gone."""
    return sum(price * (float(kept[y][:, :-1].mean()) if y in kept else 1.0) for y, price in prices.items())
