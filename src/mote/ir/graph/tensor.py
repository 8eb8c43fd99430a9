"""Tensors: shape, element type, quantization, and data where the value is known at compile time."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph.element_order import ElementOrder
from mote.ir.graph.types import DType

Array = NDArray[Any]
Shape = tuple[int, ...]
Normalization = tuple[tuple[float, float], ...]
"""Pairs (mean, standard deviation) that raw data is normalized with: one, or one per channel; empty if unknown."""


@dataclass(frozen=True, eq=False)
class Quantization:
    """`real = scale * (q - zero_point)`, with one scale and zero point for the tensor, or one per index along
    `axis`."""

    scale: NDArray[np.float32]
    zero_point: NDArray[np.int64]
    axis: int = 0
    unsigned: bool = False
    """The file's tensor is uint8, with values and zero point 128 higher: some of LiteRT's kernels round differently for
    uint8 than for int8."""

    @property
    def per_channel(self) -> bool:
        return self.scale.size > 1

    def same_as(self, other: Quantization | None) -> bool:
        return (
            other is not None
            and np.array_equal(self.scale, other.scale)
            and np.array_equal(self.zero_point, other.zero_point)
        )

    def __str__(self) -> str:
        if self.per_channel:
            return f"{self.scale.size} scales on axis {self.axis}"
        return f"{self.scale[0]:.6g} * (q - {self.zero_point[0]})"


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value in the graph. `id` is the tensor's index in the source file. A tensor keeps its meaning (and so its id)
    through every pass, so that `verify` can compare it with the reference."""

    id: int
    name: str
    shape: Shape
    dtype: DType
    quant: Quantization | None = None
    data: Array | None = None
    copy_of: int | None = None
    """Id of the source file's tensor that this one recomputes."""
    newest: int | None = None
    """The axis along which this tensor has only the last elements of its source tensor (streaming)."""
    kept: tuple[int, ...] | None = None
    """The channels of the source tensor (indices on the last axis) that this one still has; None: all."""
    inner: bool = False
    """An intermediate tensor without a counterpart in the source file, between operators that one operator became. It
    is not compared with the reference, only what is computed from it."""
    arrangement: ElementOrder | None = None
    """Memory layout of the source tensor's value in this tensor; None: unchanged."""
    stored: DType | None = None
    """The type of a constant in the file, if that is a narrower type that Mote does not compute with."""
    labels: tuple[str, ...] = ()
    """Names: of the features along an input's last axis; of the classes that an output has scores for, or whose indices
    are its values."""
    normalization: Normalization = ()
    """How the model's file says that this input was normalized from raw data."""

    @property
    def source(self) -> int:
        """Id of the source file's tensor that has the same value."""
        return self.id if self.copy_of is None else self.copy_of

    def part(self, value: Array) -> Array:
        """The elements of the source tensor's value that this tensor holds, in its layout; uint8 values become int8 by
        subtracting 128."""
        if self.arrangement is not None:
            whole = self.newest is None and self.kept is None
            value = self.arrangement.stored(value, self.shape if whole else (value.size,))
        if value.dtype == np.uint8 and self.dtype == DType.INT8:
            value = (value ^ np.uint8(128)).view(np.int8)
        if self.newest is not None:
            if self.kept is None:
                before, behind = self.shape[: self.newest], self.shape[self.newest + 1 :]
                value = value.reshape(*before, value.size // prod((*before, *behind)), *behind)
            size = value.shape[self.newest]
            value = value.take(range(size - self.shape[self.newest], size), self.newest)
        return value if self.kept is None else value.reshape(*self.shape[:-1], -1)[..., list(self.kept)]

    @property
    def channels(self) -> int:
        """Size of the last axis."""
        return self.shape[-1] if self.shape else 1

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def scale(self) -> float:
        """The per-tensor scale (a float32 value)."""
        assert self.quant is not None
        return float(self.quant.scale[0])

    @property
    def zero_point(self) -> int:
        return int(self.quant.zero_point[0]) if self.quant is not None else 0

    def __str__(self) -> str:
        dims = "x".join(map(str, self.shape)) or "scalar"
        return f"%{self.id}: {self.dtype}[{dims}]"
