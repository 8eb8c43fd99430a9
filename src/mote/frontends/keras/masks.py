"""Masks of sequences: booleans [batch, steps]. Masking and Embedding create them; layers propagate or drop them as in
Keras."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import numpy as np

from mote.frontends.build import elementwise as e
from mote.frontends.build import moves
from mote.frontends.build.builder import Value
from mote.frontends.keras.call import LayerCall
from mote.ir.graph.types import DType

PASSING = frozenset(
    {
        *("Activation", "ActivityRegularization", "AlphaDropout", "BatchNormalization", "Dense", "Dropout", "ELU"),
        *("GaussianDropout", "GaussianNoise", "GroupNormalization", "Identity", "LayerNormalization", "LeakyReLU"),
        *("PReLU", "ReLU", "Softmax", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "ThresholdedReLU"),
        *("TimeDistributed", "UnitNormalization", "Normalization", "Rescaling"),
    }
)
"""Layers whose result has the mask of their input."""
JOINING = frozenset({"Add", "Average", "Maximum", "Minimum", "Multiply", "Subtract"})
"""Layers with several inputs, which propagate a mask only where all inputs have one."""
ALL = "every_mask"
"""The option of Keras 2 layers: a step is unmasked where every mask has it unmasked. In Keras 3 it is so where any mask
has."""


def passed_on(call: LayerCall, results: Sequence[Value]) -> Mapping[int, Value]:
    """The masks of a layer's results, by output index: its own ones, or those of its inputs."""
    layer = call.layer
    own = {i: mask for i, value in enumerate(results) if (mask := call.made.get(value)) is not None}
    if own or layer.is_operation:
        return own
    if layer.kind in PASSING:
        return {} if call.mask is None else {0: call.mask}
    given = [call.masks.get(value) for value in call.values] if layer.kind in (*JOINING, "Concatenate") else []
    there = [mask for mask in given if mask is not None]
    if not there:
        return {}
    if layer.kind == "Concatenate" and call.values[0].axis(layer.integer("axis", -1)) == 1:
        return {0: moves.concat(call.b, [_whole(call, v, m) for v, m in zip(call.values, given, strict=True)], 1)}
    every = layer.flag(ALL, False)
    if not every and len(there) < len(given):
        return {}
    join = e.logical_and if every else e.logical_or
    return {0: reduce(lambda x, y: join(call.b, x, y), there)}


def _whole(call: LayerCall, value: Value, mask: Value | None) -> Value:
    """A mask, or one without masked steps for a value that has none."""
    return call.b.constant(np.ones(value.shape[:2], bool)) if mask is None else mask


def as_numbers(call: LayerCall, mask: Value, dtype: DType = DType.FLOAT32) -> Value:
    """1 for unmasked steps, 0 for masked ones."""
    return e.cast(call.b, e.cast(call.b, mask, DType.BOOL), dtype)
