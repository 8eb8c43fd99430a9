"""Block-wise quantized constants: the scales of blocks along the last axis are elements of another tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.tflite.file import schema
from mote.frontends.tflite.file.flatbuffer import MalformedError
from mote.frontends.tflite.file.record import TableRecord
from mote.ir.graph import Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType

MULTI_AXIS = 3
"""Number of the quantization details with scales along several axes."""
REMEDY = "quantize the weights with a scale for each channel instead, or leave them float32"
TAKE = {"FULLY_CONNECTED": 1, "EMBEDDING_LOOKUP": 1}
"""Operators that take such a constant, and the index of that input."""


@dataclass(frozen=True)
class BlockwiseScales:
    """Block-wise quantization of a tensor: the scales by row and block, in float32 and as stored, or the reason why it
    is unsupported."""

    scales: Array | None = None
    stored: DType | None = None
    problem: str = ""


def blocks_of(records: Sequence[TableRecord], tensors: Mapping[int, Tensor]) -> dict[int, BlockwiseScales]:
    """The block-wise quantized tensors of a subgraph, by index."""
    scales = {}
    for i, record in enumerate(records):
        quantization = TableRecord(schema.QUANTIZATION, record.child("quantization"))
        kind, details = quantization.integer("details_type"), quantization.child("details")
        if kind == MULTI_AXIS:
            scales[i] = BlockwiseScales(problem="multi-axis quantization is not supported")
        elif kind == schema.BLOCKWISE:
            if details is None:
                raise MalformedError(f"tensor {i} '{tensors[i].name}' has no details of its block-wise quantization")
            scales[i] = _blocks(tensors[i], TableRecord(schema.BLOCKWISE_QUANTIZATION, details), tensors)
    return scales


def _blocks(t: Tensor, record: TableRecord, tensors: Mapping[int, Tensor]) -> BlockwiseScales:
    number, size, shape = record.integer("scales"), record.integer("block_size"), record.integers("block_shape")
    held = tensors.get(number)
    if held is None or held.data is None or held.dtype not in (DType.FLOAT16, DType.FLOAT32):
        raise MalformedError(f"tensor {t.id} '{t.name}' has no float constant as the scales of its blocks")
    if t.data is None or t.dtype != DType.INT8 or len(t.shape) != 2:
        return BlockwiseScales(problem="it is not a constant matrix of int8, int4 or int2")
    if size < 1 or t.shape[1] % size or held.size != t.size // size:
        return BlockwiseScales(problem=f"{held.size} scales of blocks of {size} do not fit its shape {t.shape}")
    if shape and shape != [1, size]:
        return BlockwiseScales(problem=f"blocks of shape {shape} are not supported, only those along the last axis")
    if not _zero(tensors.get(record.integer("zero_points")), held.size):
        return BlockwiseScales(problem="zero points of blocks other than 0 are not supported (nor by LiteRT)")
    scales = held.data.astype(np.float32).reshape(t.shape[0], -1)
    if not np.all(np.isfinite(scales) & (scales >= 0)):
        return BlockwiseScales(problem="a scale of a block is negative, infinite or NaN")
    return BlockwiseScales(scales, held.dtype if held.dtype == DType.FLOAT16 else None)


def _zero(points: Tensor | None, count: int) -> bool:
    """Whether all zero points are 0. That is so without a tensor of them, and where it is not a constant of as many
    integers: a file that omits the field has tensor 0 here."""
    if points is None or points.data is None or not points.dtype.integer or points.size != count:
        return True
    return not points.data.any()


def check_blocks(
    code: str, inputs: Sequence[int], blocks: Mapping[int, BlockwiseScales], tensors: Mapping[int, Tensor]
) -> None:
    """Refuse block-wise quantized tensors where an operator does not take them."""
    for position, t in enumerate(inputs):
        if t not in blocks:
            continue
        name, problem = tensors[t].name, blocks[t].problem
        if not problem and position != TAKE.get(code):
            problem = f"only {' and '.join(TAKE)} take such constants"
        if problem:
            raise UnsupportedNodeError(f"'{name}' is block-wise quantized: {problem}; {REMEDY}")
