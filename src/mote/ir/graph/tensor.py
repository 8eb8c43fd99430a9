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
"""Pairs (mean, standard deviation) with which raw data is normalized: one, or one for each channel; empty: unknown."""


@dataclass(frozen=True, eq=False)
class Quantization:
    """`real = scale * (q - zero_point)`, one pair for the tensor or one for each index along `axis`."""

    scale: NDArray[np.float32]
    zero_point: NDArray[np.int64]
    axis: int = 0
    unsigned: bool = False
    """The file's tensor is uint8, and has values and a zero point that are 128 more: LiteRT's kernels for it round
    differently from those for int8 in places."""

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
    """A value in the graph. `id` is the tensor's index in the source file; a tensor keeps its meaning
    (and so its id) through every pass, which is what lets `verify` compare it with the reference."""

    id: int
    name: str
    shape: Shape
    dtype: DType
    quant: Quantization | None = None
    data: Array | None = None
    copy_of: int | None = None
    """The tensor of the source file that this one is computed again as."""
    newest: int | None = None
    """The axis along which it has only the last elements of that tensor."""
    kept: tuple[int, ...] | None = None
    """The channels of that tensor (indices on the last axis) that this one still has; None: all."""
    inner: bool = False
    """No tensor of the source file has its value: one operator of the file became several, and hands it on between
    them. What is made of it is compared with the reference, it itself is not."""
    arrangement: ElementOrder | None = None
    """How the value of the source file lies in this tensor; None: as it is."""
    stored: DType | None = None
    """The type in which a file holds a constant, where that is one that Mote does not compute with: fewer bits."""
    labels: tuple[str, ...] = ()
    """Names: of an input, of the features along its last axis; of an output, of the classes 0, 1, .. that it has scores
    for, or that its values are."""
    normalization: Normalization = ()
    """Of an input: how its values were made of raw data, as the model's file says."""

    @property
    def source(self) -> int:
        """The tensor of the source file that has the same value."""
        return self.id if self.copy_of is None else self.copy_of

    def part(self, value: Array) -> Array:
        """This tensor's part of the source tensor's value, in this tensor's element order; of a uint8 one an int8
        tensor has 128 less."""
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
        """Indices on the last axis."""
        return self.shape[-1] if self.shape else 1

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def scale(self) -> float:
        """The per-tensor scale, as the float32 number that the file holds."""
        assert self.quant is not None
        return float(self.quant.scale[0])

    @property
    def zero_point(self) -> int:
        return int(self.quant.zero_point[0]) if self.quant is not None else 0

    def __str__(self) -> str:
        dims = "x".join(map(str, self.shape)) or "scalar"
        return f"%{self.id}: {self.dtype}[{dims}]"
