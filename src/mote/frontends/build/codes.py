"""How layers with integer weights are quantized."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.graph import Quantization
from mote.graph.tensor import Array
from mote.graph.types import Activation, DType, Rounding


@dataclass(frozen=True, eq=False)
class Codes:
    """What weights and results stand for."""

    scale: NDArray[np.float32]
    """Of weights: one for all output channels, or one for each. Their zero points were taken off."""
    output: Quantization | None = None
    """None: results are real numbers, which takes real inputs."""
    activation: Activation = Activation.NONE
    """What results are limited to."""

    def weights(self, data: Array, axis: int = 0, order: Array | None = None) -> Quantization:
        """Of a constant with output channels on an axis, in another order than the scales where that is given."""
        scale = self.scale if order is None or self.scale.size == 1 else self.scale[order]
        zeros = np.zeros(scale.size, np.int64)
        return Quantization(scale, zeros, axis, unsigned=data.dtype == DType.INT16.numpy)

    @property
    def attributes(self) -> dict[str, Any]:
        """Of an operator."""
        found: dict[str, Any] = {"activation": self.activation}
        return found if self.output is None else found | {"quant": self.output, "rounding": Rounding.EVEN}
