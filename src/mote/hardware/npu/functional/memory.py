"""Memory of a command stream: areas at base pointers, internal memory, and feature maps in them.

Every access is a view made by `NpuMemory.view`, which checks bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.hardware.npu.stream import REMEDY, NpuOperation

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

BRICK = 16
"""Channels per brick of the layout NHCWB16."""
TABLES = 2048
"""Bytes of activation tables at the end of internal memory."""
SLOT = 256
"""Distance between activation tables in bytes."""
TYPES = {
    (sign, bits): np.dtype(f"<{'i' if sign else 'u'}{bits // 8}") for sign in (False, True) for bits in (8, 16, 32, 64)
}


class NpuMemory:
    """Memory areas by base pointer, and internal memory with activation tables."""

    def __init__(self, areas: Sequence[Bytes], internal: int) -> None:
        for number, area in enumerate(areas):
            if area.dtype != np.uint8 or area.ndim != 1 or not area.flags.c_contiguous:
                raise MoteError(
                    f"the memory of base pointer {number} is {area.dtype} of {area.ndim} dimensions",
                    remedy="hand over contiguous arrays of uint8 with one dimension",
                )
        self.areas = tuple(areas)
        self.internal = np.zeros(max(internal, TABLES), np.uint8)

    def view(
        self,
        operation: NpuOperation,
        region: int | None,
        address: int,
        shape: Sequence[int],
        strides: Sequence[int],
        dtype: np.dtype[np.generic],
        *,
        writes: bool = False,
    ) -> NDArray[np.generic]:
        """View of elements at an address of a region, or of internal memory (None)."""
        if region is not None and region >= len(self.areas):
            refuse(operation, f"there is no memory behind base pointer {region}")
        area = self.internal if region is None else self.areas[region]
        reach = [(size - 1) * stride for size, stride in zip(shape, strides, strict=True)]
        first = address + sum(step for step in reach if step < 0)
        end = address + sum(step for step in reach if step > 0) + dtype.itemsize
        if first < 0 or end > area.size:
            where = "the internal memory" if region is None else f"base pointer {region}"
            verb = "writes" if writes else "reads"
            refuse(operation, f"it {verb} bytes {first} to {end} behind {where}, which has {area.size}")
        if writes and not area.flags.writeable:
            refuse(operation, f"it writes to base pointer {region}, which is read only")
        return np.ndarray(tuple(shape), dtype, area.data, address, tuple(strides))

    def run(
        self, operation: NpuOperation, region: int | None, address: int, count: int, *, writes: bool = False
    ) -> Bytes:
        """View of consecutive bytes."""
        if not count:
            return np.zeros(0, np.uint8)
        return self.view(operation, region, address, (count,), (1,), np.dtype(np.uint8), writes=writes).view(np.uint8)

    def table(self, operation: NpuOperation, number: int, count: int, dtype: np.dtype[np.generic]) -> Ints:
        """View of an activation table."""
        start = self.internal.size - TABLES + SLOT * number
        return self.run(operation, None, start, count * dtype.itemsize).view(dtype).astype(np.int64)


@dataclass(frozen=True)
class FeatureMap:
    """Addressing of an input or output: up to four tiles in one layout."""

    operation: NpuOperation
    region: int
    bases: tuple[int, ...]
    heights: tuple[int, int]
    """Rows of the upper left tile and of the upper right tile."""
    width: int
    """Columns of the left tiles."""
    strides: tuple[int, int, int]
    """Byte strides of rows, columns, and bricks of channels."""
    bricks: bool
    dtype: np.dtype[np.generic]

    @property
    def bits(self) -> int:
        return 8 * self.dtype.itemsize

    @property
    def signed(self) -> bool:
        return self.dtype.kind == "i"

    def typed(self, dtype: np.dtype[np.generic]) -> FeatureMap:
        return replace(self, dtype=dtype)

    def read(self, memory: NpuMemory, shape: tuple[int, int, int]) -> Ints:
        """Reads the feature map as [rows, columns, channels]."""
        values = np.empty(shape, np.int64)
        for part, base in self._parts(shape):
            values[part] = self._part(memory, values[part].shape, base, writes=False)
        return values

    def write(self, memory: NpuMemory, values: Ints) -> None:
        for part, base in self._parts(values.shape):
            self._part(memory, values[part].shape, base, writes=True)[...] = values[part].astype(self.dtype)

    def _parts(self, shape: Sequence[int]) -> Iterator[tuple[tuple[slice, slice, slice], int]]:
        """Parts with regular strides: their rows, columns and channels, and the address of the first element."""
        rows, columns, depth = shape
        for number, base in enumerate(self.bases):
            right, lower = number & 1, number >> 1
            split = self.heights[right]
            vertical = slice(split, rows) if lower else slice(0, min(split, rows))
            horizontal = slice(self.width, columns) if right else slice(0, min(self.width, columns))
            if vertical.start >= vertical.stop or horizontal.start >= horizontal.stop:
                continue
            step = BRICK if self.bricks else depth
            for brick, first in enumerate(range(0, depth, step)):
                channels = slice(first, min(first + step, depth))
                yield (vertical, horizontal, channels), base + brick * self.strides[2]

    def _part(self, memory: NpuMemory, shape: Sequence[int], base: int, *, writes: bool) -> NDArray[np.generic]:
        size = self.dtype.itemsize
        y, x, _ = self.strides
        unit = BRICK if self.bricks else size
        x = BRICK * size if self.bricks else x
        if base % unit or y % unit or x % unit:
            refuse(self.operation, f"address {base} or strides {y} and {x} of a feature map are no multiples of {unit}")
        return memory.view(self.operation, self.region, base, shape, (y, x, size), self.dtype, writes=writes)


def refuse(operation: NpuOperation, reason: str) -> NoReturn:
    raise MoteError(reason, where=operation.where, remedy=REMEDY)


def feature_map(operation: NpuOperation, name: str, most: int = 32) -> FeatureMap:
    """Parses the registers of IFM, IFM2 or OFM; elements have at most `bits` bits."""
    value = operation.value
    precision = operation.register(f"{name}_PRECISION")
    if 8 << precision["bits"] > most:
        refuse(operation, f"{name} has elements of {8 << precision['bits']} bits, and there are {most} at most")
    bricks = precision.said("layout") == "NHCWB16"
    y, x = (value(f"{name}_STRIDE_{axis}") for axis in "YX")
    return FeatureMap(
        operation,
        value(f"{name}_REGION"),
        tuple(value(f"{name}_BASE{tile}") for tile in range(4)),
        (value(f"{name}_HEIGHT0_M1") + 1, value(f"{name}_HEIGHT1_M1") + 1),
        value(f"{name}_WIDTH0_M1") + 1,
        (y, x, value(f"{name}_STRIDE_C") if bricks else 0),
        bricks,
        TYPES[bool(precision["sign"]), 8 << precision["bits"]],
    )
