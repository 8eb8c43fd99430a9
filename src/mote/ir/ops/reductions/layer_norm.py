"""LAYER_NORMALIZATION and RMS_NORMALIZATION over the last axis, for ONNX, PyTorch and Keras; in TFLite files these are
several operators (see `mote.compiler.passes.fusing.fuse_lines`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.common import activation_type
from mote.ir.ops.reductions.normalize import Normalization

SCALE, BIAS = 1, 2
"""Input positions of the constant scale and bias per channel, which may be absent."""


class Standardize(Normalization):
    """Layer normalization over the last axis: (x - mean) / sqrt(variance + epsilon) * scale + bias."""

    epsilon: float
    kind = "LAYER_NORMALIZATION"

    def work(self, g: Graph) -> int:
        return 4 * self.input(g).size

    def unsupported(self, g: Graph) -> str | None:
        for position in (SCALE, BIAS):
            t = self.tensor(g, position)
            if t is not None and (t.data is None or t.shape != (self.input(g).channels,) or t.dtype != DType.FLOAT32):
                return f"a scale or bias of {t.dtype} {t.shape} is not supported (only a constant for each channel)"
        return activation_type(g, self, dtypes=(DType.FLOAT32,))

    def centered(self, x: Array) -> Array:
        return np.asarray(x - x.mean(axis=-1, keepdims=True))

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x = values[0]
        assert x is not None
        z = self.centered(x.astype(np.float64))
        normalized = z / np.sqrt(np.square(z).mean(axis=-1, keepdims=True) + np.float32(self.epsilon))
        scale, bias = (values[p] if len(values) > p else None for p in (SCALE, BIAS))
        normalized = normalized if scale is None else normalized * scale
        return [(normalized if bias is None else normalized + bias).astype(np.float32)]


class RootMeanSquare(Standardize):
    """RMS normalization over the last axis: x / sqrt(mean square + epsilon) * scale + bias."""

    kind = "RMS_NORMALIZATION"

    def centered(self, x: Array) -> Array:
        return x
