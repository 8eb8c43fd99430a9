"""Quantization of layers with integer weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Op, Quantization
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation, DType, Rounding
from mote.ir.ops.matrix.affine_layer import FRACTION_BITS, AffineConv2D, AffineDepthwiseConv2D, AffineFullyConnected
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.grouped_conv import GroupedConv2D

AFFINE: dict[type[Op], type[Op]] = {
    Conv2D: AffineConv2D,
    GroupedConv2D: AffineConv2D,
    DepthwiseConv2D: AffineDepthwiseConv2D,
    FullyConnected: AffineFullyConnected,
}
"""Layers with affine requantization, by the operator without it."""


@dataclass(frozen=True, eq=False)
class Codes:
    """Quantization of a layer's weights and results."""

    scale: NDArray[np.float32]
    """Scale of the weights: per-tensor, or per output channel. The zero points are subtracted already."""
    output: Quantization | None = None
    """Quantization of the results; None for float results, which needs float inputs."""
    activation: Activation = Activation.NONE
    """Fused activation."""
    dtype: DType | None = None
    """Element type of the results; None for that of the inputs."""

    def weights(self, data: Array, axis: int = 0, order: Array | None = None) -> Quantization:
        """Quantization parameters of constant weights with output channels on an axis; `order` permutes the scales."""
        scale = self.scale if order is None or self.scale.size == 1 else self.scale[order]
        zeros = np.zeros(scale.size, np.int64)
        return Quantization(scale, zeros, axis, unsigned=data.dtype == DType.INT16.numpy)

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the operator."""
        common: dict[str, Any] = {"activation": self.activation}
        return common if self.output is None else common | {"quant": self.output, "rounding": Rounding.EVEN}

    def kind(self, kind: type[Op]) -> type[Op]:
        """The operator class for a kind of layer."""
        return kind

    def biases(self, bias: Array) -> list[Array]:
        """A bias as inputs of the operator."""
        return [bias]


@dataclass(frozen=True, eq=False)
class AffineCodes(Codes):
    """Layers with affine requantization, whose biases are fixed-point with FRACTION_BITS."""

    origin: int = 0
    """Offset that is added to the rounded results."""
    limits: tuple[int, int] = (-128, 127)
    """Lower and upper bound of the results."""

    def weights(self, data: Array, axis: int = 0, order: Array | None = None) -> Quantization:
        scale = self.scale if order is None or self.scale.size == 1 else self.scale[order]
        return Quantization(scale, np.zeros(scale.size, np.int64), axis)

    @property
    def attributes(self) -> dict[str, Any]:
        assert self.output is not None
        return {"quant": self.output, "origin": self.origin, "limits": self.limits}

    def kind(self, kind: type[Op]) -> type[Op]:
        return AFFINE[kind]

    def biases(self, bias: Array) -> list[Array]:
        fraction = bias & ((1 << FRACTION_BITS) - 1)
        return [(bias >> FRACTION_BITS).astype(np.int32), fraction.astype(np.int32)]
