"""FULLY_CONNECTED and EMBEDDING_LOOKUP in float32 with blockwise-quantized weights: a scale per block of consecutive
elements of a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import Increment
from mote.ir.graph.streaming import StreamAxis
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import activation_type, clamp_float, float_bias, float_bias_problem
from mote.ir.ops.pointwise import pointwise

UNKNOWN_BLOCKS = "LiteRT's reference kernels do not know such block-wise quantized constants"
READ = {DType.INT4: 2, DType.INT2: 4}
"""Element types of blockwise tables that LiteRT supports, and how many elements share a byte in the file."""


def dequantized_blocks(codes: Array, scales: Array) -> Array:
    """Dequantize [rows, depth] integers with [rows, blocks] scales."""
    blocks = codes.astype(np.float32).reshape(*scales.shape, -1)
    return (blocks * scales[:, :, None]).reshape(codes.shape)


class BlockwiseFullyConnected(Op):
    """FULLY_CONNECTED with blockwise-quantized weights: [.., depth] x [channels, depth]. Inputs: activations, weights,
    bias, scales."""

    activation: Activation = Activation.NONE
    keep_dims: bool = False
    kind = "FULLY_CONNECTED"
    weights = 1

    def shapes(self, g: Graph) -> list[Shape]:
        x, (channels, depth) = self.input(g).shape, self.input(g, 1).shape
        return [(*x[:-1], channels) if self.keep_dims else (prod(x) // depth, channels)]

    def macs(self, g: Graph) -> int:
        return self.output(g).size * self.input(g, 1).shape[1]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,) if self.input(g).shape[:-1] == self.output(g).shape[:-1] else None

    def increment(self, g: Graph, flows: Mapping[int, StreamAxis], causal: bool) -> Increment | None:
        """Streaming form, if the streamed axis is also an axis of the output."""
        x = self.input(g).shape
        same = x[:-1] == self.output(g).shape[:-1] and flows[0].axis != len(x) - 1
        return pointwise(self, flows) if same else None

    def unsupported(self, g: Graph) -> str | None:
        if problem := activation_type(g, self, dtypes=(DType.FLOAT32,)):
            return f"{problem} with block-wise quantized weights"
        return float_bias_problem(self.tensor(g, 2), self.input(g, 1).shape[0])

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, w, _, scales = values
        assert x is not None and w is not None and scales is not None
        sums = x.reshape(-1, w.shape[1]).astype(np.float64) @ dequantized_blocks(w, scales).astype(np.float64).T
        return [clamp_float(sums + float_bias(self.tensor(g, 2), w.shape[0]), self.activation)]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, w, bias, scales = values
        assert w is not None
        return self.with_(activation=Activation.NONE).evaluate(g, [x, np.abs(w.astype(np.int16)), bias, scales])

    def misjudged(self, g: Graph) -> str | None:
        return UNKNOWN_BLOCKS


class BlockwiseLookup(Op):
    """EMBEDDING_LOOKUP in a blockwise-quantized table. Inputs: indices, the table, scales of the blocks."""

    kind = "EMBEDDING_LOOKUP"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(*self.input(g).shape, self.input(g, 1).shape[1])]

    def bounds(self, g: Graph, position: int) -> tuple[int, int] | None:
        return (0, self.input(g, 1).shape[0] - 1) if position == 0 else None

    def unsupported(self, g: Graph) -> str | None:
        indices, y = self.input(g).dtype, self.output(g).dtype
        if indices != DType.INT32:
            return f"{indices} indices are not supported (only int32)"
        return None if y == DType.FLOAT32 else f"{y} output with a block-wise quantized table is not supported"

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        """The dequantized table rows for the indices; zeros for indices out of range."""
        indices, table, scales = values
        assert indices is not None and table is not None and scales is not None
        inside = (indices >= 0) & (indices < len(table))
        rows = dequantized_blocks(table, scales)[np.where(inside, indices, 0)]
        return [np.where(inside[..., None], rows, np.float32(0))]

    def misjudged(self, g: Graph) -> str | None:
        """Why LiteRT is no reference: it only supports blocks of whole bytes, with float16 scales."""
        table, scales = self.input(g, 1), self.input(g, 2)
        together = 0 if table.stored is None else READ.get(table.stored, 0)
        known = together and scales.stored == DType.FLOAT16 and table.size // scales.size % together == 0
        return None if known else UNKNOWN_BLOCKS
