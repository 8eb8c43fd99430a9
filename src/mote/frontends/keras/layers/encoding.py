"""Category encoding: discretization, one-hot and multi-hot vectors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise as e
from mote.frontends.build import moves, reductions
from mote.frontends.build.builder import Builder, Value
from mote.frontends.keras.archive import DamagedArchiveError
from mote.frontends.keras.call import LayerCall, Parser
from mote.ir.graph.types import DType


def discretization(call: LayerCall) -> Value:
    """The bucket index of each number, or its one-hot or multi-hot encoding."""
    b, layer = call.b, call.layer
    said = layer.get("bin_boundaries", None)
    try:
        boundaries = np.asarray(said, np.float32)
    except (TypeError, ValueError):
        raise DamagedArchiveError(f"the boundaries of '{layer.name}' are not numbers") from None
    if boundaries.ndim != 1 or not boundaries.size:
        raise UnsupportedNodeError("it has no boundaries: adapt the layer to data, or give it bin_boundaries")
    x = moves.unsqueeze(b, e.cast(b, call.x, DType.FLOAT32), [call.x.rank])
    reached = e.greater_equal(b, x, b.constant(boundaries))
    buckets = e.cast(b, reductions.sum_(b, e.cast(b, reached, DType.FLOAT32), [-1], False), DType.INT32)
    mode = layer.text("output_mode", "int")
    return buckets if mode == "int" else _encoded(b, buckets, boundaries.size + 1, mode)


def category_encoding(call: LayerCall) -> Value:
    if call.argument("count_weights", 1) is not None:
        raise UnsupportedNodeError("count_weights are not supported")
    count, mode = call.layer.integer("num_tokens"), call.layer.text("output_mode", "multi_hot")
    return _encoded(call.b, e.cast(call.b, call.x, DType.INT32), count, mode)


def _encoded(b: Builder, x: Value, count: int, mode: str) -> Value:
    """Categories as vectors: one-hot for each, or multi-hot or counts along the last axis."""
    if mode not in ("one_hot", "multi_hot", "count") or count < 1:
        raise UnsupportedNodeError(f"{count} categories by '{mode}' are not supported (only one_hot, multi_hot, count)")
    each = e.cast(b, reductions.one_hot(b, x, count), DType.FLOAT32)
    if mode == "one_hot":
        return moves.squeeze(b, each, [x.rank - 1]) if x.rank > 1 and x.shape[-1] == 1 else each
    if x.rank < 2:
        return each
    return (reductions.maximum if mode == "multi_hot" else reductions.sum_)(b, each, [x.rank - 1], False)


LAYERS: Mapping[str, Parser] = {"CategoryEncoding": category_encoding, "Discretization": discretization}
