"""Numeric precisions of layers, for a whole model or layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Op
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType


class Precision(StrEnum):
    """Types of a layer's weights and activations."""

    INT4 = "int4"
    """int4 weights, int8 activations."""
    INT8 = "int8"
    INT16 = "int16"
    """int16 activations, int8 weights."""
    FLOAT16 = "float16"
    """Float32 activations, float16 weights in the file."""
    FLOAT32 = "float32"

    @property
    def activations(self) -> DType:
        """Type of activations."""
        return _ACTIVATIONS[self]

    @property
    def integer(self) -> bool:
        return self.activations != DType.FLOAT32

    @property
    def most(self) -> int:
        """Largest absolute value of a quantized weight."""
        return _MOST[self]


_ACTIVATIONS = {
    Precision.INT4: DType.INT8,
    Precision.INT8: DType.INT8,
    Precision.INT16: DType.INT16,
    Precision.FLOAT16: DType.FLOAT32,
    Precision.FLOAT32: DType.FLOAT32,
}
_MOST = {Precision.INT4: 7, Precision.INT8: 127, Precision.INT16: 127}


@dataclass(frozen=True, eq=False)
class Rounded:
    """Already quantized weights: integers in the shape of the float weights, and scales per tensor or per channel."""

    values: Array
    scale: NDArray[np.float32]


@dataclass(frozen=True)
class Scheme:
    """Precisions of all layers: a default, and exceptions by layer number (`Op.index` in the normal form of
    `mote.compiler.passes.normal_form`). Operators that only move data follow the layer before them unless listed."""

    default: Precision = Precision.INT8
    layers: Mapping[int, Precision] = field(default_factory=dict)

    def of(self, op: Op) -> Precision:
        return self.layers.get(op.index, self.default)
