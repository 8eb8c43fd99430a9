"""float32 layers and lookup tables with block-wise quantized constants: `mote_blockwise.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import (
    HYBRID,
    OTHER_F32,
    Call,
    Entry,
    Kernel,
    Packed,
    Params,
    Refusal,
    View,
    signature,
)
from mote.compiler.kernels.portable.matrix.fully_connected import vectors
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.common import float_bias, float_range
from mote.ir.ops.matrix.blockwise import BlockwiseFullyConnected, BlockwiseLookup

LOOKUP = signature(DType.INT32, DType.FLOAT32)
SMALL = Refusal("its integers fit 4 bits")
LARGE = Refusal("its integers do not fit 4 bits")


def _small(codes: Array) -> bool:
    return bool(codes.min() >= -8 and codes.max() <= 7)


def _nibbles(codes: Array, blocks: int) -> Array:
    """Packs two 4-bit integers per byte; every block starts at a new byte."""
    rows = codes.reshape(len(codes) * blocks, -1)
    even = np.pad(rows, ((0, 0), (0, rows.shape[1] % 2))).astype(np.uint8) & 15
    return (even[:, ::2] | even[:, 1::2] << 4).reshape(-1)


def _layer(view: View, weights: Array) -> Params:
    op, scales = view.the(BlockwiseFullyConnected), view.constant(3)
    low, high = float_range(op.activation)
    channels, depth = view.constant(1).shape
    return {
        "depth": depth,
        "channels": channels,
        "size": depth // scales.shape[1],
        "low": low,
        "high": high,
        "weights": weights,
        "scale": scales,
        "bias": float_bias(op.tensor(view.graph, 2), channels),
    }


def _fully_connected(view: View) -> Packed | Refusal:
    weights = view.constant(1)
    if _small(weights):
        return SMALL
    return Packed("fully_connected_blockwise", _layer(view, weights), Entry(Call.FLAT, vectors(view)))


def _fully_connected4(view: View) -> Packed | Refusal:
    weights = view.constant(1)
    if not _small(weights):
        return LARGE
    packed = _layer(view, _nibbles(weights, view.constant(3).shape[1]))
    return Packed("fully_connected_blockwise4", packed, Entry(Call.FLAT, vectors(view)))


def _rows(view: View, table: Array) -> Params:
    (rows, depth), scales = view.constant(1).shape, view.constant(2)
    blocks = scales.shape[1]
    sizes: Params = {"rows": rows, "count": view.input.size, "blocks": blocks, "size": depth // blocks}
    return {**sizes, "table": table, "scale": scales}


def _lookup(view: View) -> Packed | Refusal:
    table = view.constant(1)
    return SMALL if _small(table) else Packed("lookup_blockwise", _rows(view, table))


def _lookup4(view: View) -> Packed | Refusal:
    table = view.constant(1)
    if not _small(table):
        return LARGE
    return Packed("lookup_blockwise4", _rows(view, _nibbles(table, view.constant(2).shape[1])))


LAYER = "fully_connected_f32"
KERNELS = (
    Kernel(
        "fully_connected_blockwise",
        (BlockwiseFullyConnected,),
        HYBRID,
        _fully_connected,
        header="blockwise",
        costs=LAYER,
    ),
    Kernel(
        "fully_connected_blockwise4",
        (BlockwiseFullyConnected,),
        HYBRID,
        _fully_connected4,
        header="blockwise",
        costs=LAYER,
    ),
    Kernel("lookup_blockwise", (BlockwiseLookup,), LOOKUP, _lookup, header="blockwise", costs=OTHER_F32),
    Kernel("lookup_blockwise4", (BlockwiseLookup,), LOOKUP, _lookup4, header="blockwise", costs=OTHER_F32),
)
