"""Sums of grouped convolutions: each group of output channels reads one group of input channels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph
from mote.ir.graph.ranges import Range
from mote.ir.graph.tensor import Array, Shape
from mote.ir.ops.common import WindowOp
from mote.ir.ops.matrix.accumulators import Ends, products, window_ends


class GroupedWindow(WindowOp):
    """A convolution of NHWC images with [out, kh, kw, in per group] weights; padded with the zero point."""

    kind = "CONV_2D"
    pads_with_zero = True

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.input(g).shape[0], *self.spatial(g), self.input(g, 1).shape[0])]

    def groups(self, g: Graph) -> int:
        return self.input(g).shape[3] // self.input(g, 1).shape[3]

    def macs(self, g: Graph) -> int:
        w = self.input(g, 1)
        return self.output(g).size * (w.size // w.shape[0])

    def ends(self, g: Graph, inputs: Range) -> Ends:
        """The least and the largest sums of each output channel."""
        x, w, groups = self.input(g), self.input(g, 1), self.groups(g)
        assert w.data is not None
        low, high = (np.split(end - x.zero_point, groups) for end in (inputs.low, inputs.high))
        ends = [products(part, *read) for part, *read in zip(np.split(w.data, groups), low, high, strict=True)]
        least, most = (np.concatenate(end).transpose(1, 2, 0) for end in zip(*ends, strict=True))
        return window_ends((least, most), *self.present(g))

    def window_sums(self, g: Graph, values: Sequence[Array | None]) -> NDArray[np.float64]:
        """The exact sums of products of all windows."""
        x, w = values[0], values[1]
        assert x is not None and w is not None
        zero, groups = self.input(g).zero_point, self.groups(g)
        weights = w.astype(np.float64).reshape(groups, w.shape[0] // groups, *w.shape[1:])
        sums = []
        for patches in self.windows(x, zero):
            n, rows, columns, _, *kernel = patches.shape
            grouped = (patches.astype(np.float64) - zero).reshape(n, rows, columns, groups, -1, *kernel)
            total = np.einsum("nyxgckl,goklc->nyxgo", grouped, weights, optimize=True)
            sums.append(total.reshape(n, rows, columns, -1))
        return np.concatenate(sums, axis=1)
