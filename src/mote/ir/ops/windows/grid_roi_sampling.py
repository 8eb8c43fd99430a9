"""GRID_SAMPLE, ROI_ALIGN and MAX_ROI_POOL: sampling of images (channels last) at computed coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType

Floats = NDArray[np.float32]
FAR = 8.0
"""Distance in pixels from the image at which coordinates are clamped: all that is farther away is equal."""
CUBIC = -0.75
"""Coefficient a of cubic convolution interpolation."""


class Sampling(StrEnum):
    """Interpolation method of samples: nearest pixel, linear or cubic."""

    NEAREST = "nearest"
    LINEAR = "linear"
    CUBIC = "cubic"

    @property
    def taps(self) -> int:
        return {Sampling.NEAREST: 1, Sampling.LINEAR: 2, Sampling.CUBIC: 4}[self]


class Outside(StrEnum):
    """The padding mode of samples outside of an image."""

    ZEROS = "zeros"
    BORDER = "border"
    REFLECTION = "reflection"


def _real_problem(g: Graph, op: Op, *positions: int) -> str | None:
    """Why the inputs at these positions and the output are not all float32, or None."""
    for t in (*(op.input(g, p) for p in positions), op.output(g)):
        if t.dtype != DType.FLOAT32:
            return f"{t.dtype} is not supported (only float32)"
    return None


class GridSample(Op):
    """GRID_SAMPLE: samples images (input 0: n, one to three spatial axes, channels) at the coordinates of a grid (input
    1: n, axes, one number per spatial axis, the last spatial axis first). Coordinates -1 and 1 are the outer edges of
    an image, or with `corners` (align_corners) the centers of its outermost pixels."""

    sampling: Sampling
    outside: Outside
    corners: bool
    kind = "GRID_SAMPLE"

    def shapes(self, g: Graph) -> list[Shape]:
        x, grid = self.input(g).shape, self.input(g, 1).shape
        return [(*grid[:-1], x[-1])]

    def unsupported(self, g: Graph) -> str | None:
        x, grid = self.input(g).shape, self.input(g, 1).shape
        if not 3 <= len(x) <= 5 or grid[-1] != len(x) - 2 or grid[0] != x[0]:
            return f"a grid of the shape {grid} does not fit images of the shape {x}"
        return _real_problem(g, self, 0, 1)

    def misjudged(self, g: Graph) -> str | None:
        return "LiteRT has no such operator"

    def work(self, g: Graph) -> int:
        pixels: int = self.sampling.taps ** (len(self.input(g).shape) - 2)
        return pixels * self.output(g).size

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, grid = values
        assert x is not None and grid is not None
        axes = [self._taps(grid[..., -1 - i], n) for i, n in enumerate(x.shape[1:-1])]
        images = np.arange(x.shape[0], dtype=np.int64).reshape(-1, *[1] * (grid.ndim - 2))
        total = np.zeros(self.output(g).shape, np.float64)
        for chosen in product(range(self.sampling.taps), repeat=len(axes)):
            at = tuple(places[k] for (places, _), k in zip(axes, chosen, strict=True))
            weight = prod((weights[k] for (_, weights), k in zip(axes, chosen, strict=True)), start=np.float64(1))
            total += x[(images, *at)] * np.asarray(weight)[..., None]
        return [total.astype(np.float32)]

    def _taps(self, grid: Floats, size: int) -> tuple[list[Ints], list[Array]]:
        """The pixels along an axis that samples are interpolated from, and their weights."""
        at = self._coordinates(grid, size)
        first = np.floor(at)
        rest = (at - first).astype(np.float64)
        if self.sampling is Sampling.NEAREST:
            pixels, weights = [at], [np.ones(at.shape)]
        elif self.sampling is Sampling.LINEAR:
            pixels, weights = [first, first + 1], [1 - rest, rest]
        else:
            pixels = [first - 1, first, first + 1, first + 2]
            weights = [_far(1 + rest), _near(rest), _near(1 - rest), _far(2 - rest)]
        taps = [self._inside(p.astype(np.int64), size) for p in pixels]
        return [f[0] for f in taps], [np.where(f[1], w, 0) for f, w in zip(taps, weights, strict=True)]

    def _coordinates(self, grid: Floats, size: int) -> Floats:
        """Convert grid coordinates along an axis to pixels, with padding mode applied."""
        one, half = np.float32(1), np.float32(0.5)
        low, high = self.borders(size)
        with np.errstate(all="ignore"):
            at = (grid + one) * half * np.float32(size - 1)
            if not self.corners:
                at = ((grid + one) * np.float32(size) - one) * half
            at = np.rint(at) if self.sampling is Sampling.NEAREST else at
            beyond = ~((at >= low) & (at <= high))
            if self.outside is Outside.BORDER:
                at = np.where(beyond, np.clip(np.nan_to_num(at, nan=0.0), 0, size - 1), at)
            elif self.outside is Outside.REFLECTION:
                at = np.where(beyond, reflected(at, low, high), at)
            coordinates: Floats = np.clip(np.nan_to_num(at, nan=-FAR), -FAR, size + FAR).astype(np.float32)
            return coordinates

    def borders(self, size: int) -> tuple[float, float]:
        """The smallest and largest coordinate inside the image."""
        return (0.0, size - 1.0) if self.corners else (-0.5, size - 0.5)

    def _inside(self, at: Ints, size: int) -> tuple[Ints, NDArray[np.bool_]]:
        """Replace pixels outside of the image by the padding mode; and a mask of pixels whose weight counts."""
        inside = (at >= 0) & (at < size)
        if self.outside is Outside.REFLECTION:
            low, high = self.borders(size)
            at = np.where(inside, at, reflected(at.astype(np.float32), low, high).astype(np.int64))
        return np.clip(at, 0, size - 1), inside | (self.outside is not Outside.ZEROS)


def reflected(at: Floats, low: float, high: float) -> Floats:
    """Reflect coordinates at both borders until they are inside."""
    span = np.float32(high - low)
    if span <= 0:
        return np.full_like(at, low)
    away = np.abs(np.nan_to_num(at, nan=low, posinf=low, neginf=low) - np.float32(low)).astype(np.float32)
    turns = np.floor(away / span)
    rest = away - turns * span
    coordinates: Floats = (np.float32(low) + np.where(turns % 2 == 0, rest, span - rest)).astype(np.float32)
    return coordinates


def _near(x: Array) -> Array:
    """Cubic weight of the near neighbour, `x` pixels away."""
    return ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1


def _far(x: Array) -> Array:
    """Cubic weight of the far neighbour, `x` pixels away."""
    return ((CUBIC * x - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC


class RoiAlign(Op):
    """ROI_ALIGN: pools regions of images (input 0: n, height, width, channels) to `size` cells. A region (input 1:
    left, top, right, bottom, to be multiplied by `scale`) belongs to the image with the index in input 2; an invalid
    index gives zeros. A cell is the mean of `samples` x `samples` bilinear samples (0: about one per pixel), or with
    `largest` the largest weighted pixel of them."""

    size: tuple[int, int]
    scale: float
    samples: int
    largest: bool
    half_pixel: bool
    """Whether pixel centers are at half coordinates; otherwise regions are at least one pixel large."""
    kind = "ROI_ALIGN"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.input(g, 1).shape[0], *self.size, self.input(g).shape[-1])]

    def unsupported(self, g: Graph) -> str | None:
        if self.input(g, 2).dtype not in (DType.INT32, DType.INT64):
            return f"{self.input(g, 2).dtype} indices are not supported (only int32, int64)"
        return _real_problem(g, self, 0, 1)

    def misjudged(self, g: Graph) -> str | None:
        return "LiteRT has no such operator"

    def bounds(self, g: Graph, position: int) -> tuple[int, int] | None:
        return (0, self.input(g).shape[0] - 1) if position == 2 else None

    def work(self, g: Graph) -> int:
        return 16 * self.output(g).size

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, regions, images = values
        assert x is not None and regions is not None and images is not None
        pooled = np.zeros(self.output(g).shape, np.float32)
        for region, image, out in zip(regions.astype(np.float32), images.reshape(-1).tolist(), pooled, strict=True):
            if 0 <= image < x.shape[0]:
                self._region(x[image], region, out)
        return [pooled]

    def _region(self, x: Array, region: Floats, out: Array) -> None:
        offset = np.float32(0.5 if self.half_pixel else 0.0)
        left, top, right, bottom = (region * np.float32(self.scale) - offset).astype(np.float32).tolist()
        rows = self._samples(top, bottom, self.size[0], x.shape[0])
        columns = self._samples(left, right, self.size[1], x.shape[1])
        for i, j in product(range(self.size[0]), range(self.size[1])):
            shares = [
                x[r, c] * (v * w) for row in rows[i] for column in columns[j] for (r, v), (c, w) in product(row, column)
            ]
            if shares:
                each = len(rows[i]) * len(columns[j])
                out[i, j] = np.max(shares, axis=0) if self.largest else np.sum(shares, axis=0) / each

    def _samples(self, begin: float, end: float, cells: int, size: int) -> list[list[list[tuple[int, float]]]]:
        """For each cell along an axis: its samples, each as two neighbouring pixels with interpolation weights."""
        length = end - begin if self.half_pixel else max(end - begin, 1.0)
        cell = length / cells
        count = self.samples if self.samples > 0 else max(int(np.ceil(cell)), 0)
        places = [[begin + i * cell + (k + 0.5) * cell / count for k in range(count)] for i in range(cells)]
        return [[_neighbours(at, size) for at in those] for those in places]


def _neighbours(at: float, size: int) -> list[tuple[int, float]]:
    """The two pixels next to a coordinate with their interpolation weights, 0 if it is outside."""
    if at < -1.0 or at > size:
        return [(0, 0.0), (0, 0.0)]
    at = max(at, 0.0)
    first = int(at)
    if first >= size - 1:
        return [(size - 1, 1.0), (size - 1, 0.0)]
    return [(first, 1.0 - (at - first)), (first + 1, at - first)]


class MaxRoiPool(Op):
    """MAX_ROI_POOL: pools regions of images (input 0: n, height, width, channels) to the maxima of `size` cells. A
    region (input 1) is the index of an image, then left, top, right and bottom, which are multiplied by `scale` and
    rounded to pixels, halves away from zero; empty cells are 0."""

    size: tuple[int, int]
    scale: float
    kind = "MAX_ROI_POOL"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.input(g, 1).shape[0], *self.size, self.input(g).shape[-1])]

    def unsupported(self, g: Graph) -> str | None:
        if self.input(g, 1).shape[1:] != (5,):
            return f"regions of the shape {self.input(g, 1).shape} are not supported (only five numbers each)"
        return _real_problem(g, self, 0, 1)

    def misjudged(self, g: Graph) -> str | None:
        return "LiteRT has no such operator"

    def work(self, g: Graph) -> int:
        return self.input(g).size * self.input(g, 1).shape[0]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, regions = values
        assert x is not None and regions is not None
        pooled = np.zeros(self.output(g).shape, np.float32)
        for (image, *edges), out in zip(regions.astype(np.float32), pooled, strict=True):
            if 0 <= image < x.shape[0]:
                left, top, right, bottom = (_pixel(edge * np.float32(self.scale)) for edge in edges)
                rows = _cells(top, bottom, self.size[0], x.shape[1])
                columns = _cells(left, right, self.size[1], x.shape[2])
                for (i, row), (j, column) in product(enumerate(rows), enumerate(columns)):
                    cell = x[int(image), slice(*row), slice(*column)].reshape(-1, x.shape[-1])
                    out[i, j] = cell.max(axis=0) if cell.size else 0
        return [pooled]


MOST_PIXELS = 1 << 20
"""Bound of pixel coordinates of regions: far outside of any image."""


def _pixel(at: np.float32) -> int:
    """Round a coordinate to a pixel, halves away from zero."""
    within = float(np.clip(np.nan_to_num(at), -MOST_PIXELS, MOST_PIXELS))
    return int(np.copysign(np.floor(np.float32(abs(within)) + np.float32(0.5)), within))


def _cells(begin: int, end: int, count: int, size: int) -> list[tuple[int, int]]:
    """Pixel range (first, end) of each cell along an axis, clamped to the image."""
    cell = np.float32(max(end - begin + 1, 1)) / np.float32(count)
    edges = [(int(np.floor(np.float32(i) * cell)), int(np.ceil(np.float32(i + 1) * cell))) for i in range(count)]
    return [(min(max(a + begin, 0), size), min(max(b + begin, 0), size)) for a, b in edges]
