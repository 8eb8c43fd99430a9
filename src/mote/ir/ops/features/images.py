"""Image preprocessing by rows, in integers: packed camera rows to RGB, demosaicing, grayscale and resizing.

Pixels are uint8, [1, height, width, channels]; packed rows are bytes, [1, height, bytes per row, 1]. GRAY_IMAGE equals
Pillow's `convert("L")` bit for bit, and RESIZE_COLUMNS and RESIZE_ROWS with the method "antialias" equal Pillow's
`resize(size, BILINEAR)` along one axis each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from operator import add
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.rows import OUTSIDE
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType

LUMA_BITS = 16
LUMA = (19595, 38470, 7471)
"""Luma weights of red, green and blue (ITU-R BT.601: 0.299, 0.587, 0.114) with LUMA_BITS fraction bits."""
CHROMA_BITS = 14
WEIGHT_BITS = 22
"""Fraction bits of resize weights: a weighted sum of pixels has 30 bits."""
LARGEST = 1 << 14
"""Maximum height and width of an image."""


@dataclass(frozen=True)
class Packing:
    """Pixel format of packed camera rows."""

    nbytes: int
    pixels: int
    """A group of `pixels` pixels takes `nbytes` bytes; rows consist of whole groups."""

    def line(self, width: int) -> int:
        """Number of bytes of a packed row of `width` pixels."""
        return width // self.pixels * self.nbytes


PACKED = {
    "bgr888": Packing(3, 1),
    "rgb565": Packing(2, 1),
    "rgb565be": Packing(2, 1),
    "yuyv": Packing(4, 2),
    "uyvy": Packing(4, 2),
}
"""Packed pixel formats by name. rgb565 is little-endian, rgb565be big-endian."""
BAYER = {"rggb": (0, 0), "grbg": (0, 1), "gbrg": (1, 0), "bggr": (1, 1)}
"""Bayer patterns by name: row and column of the first red pixel."""


@dataclass(frozen=True)
class Chroma:
    """Coefficients of YCbCr to RGB (ITU-R BT.601) with CHROMA_BITS fraction bits; `black` is subtracted from luma, 128
    from chroma."""

    black: int
    luma: int
    red_v: int
    green_u: int
    green_v: int
    blue_u: int


FULL = Chroma(0, 16384, 22970, 5638, 11700, 29032)
"""Full range (JPEG): luma 0 to 255; coefficients 1.402, 0.344136, 0.714136, 1.772."""
LIMITED = Chroma(16, 19077, 26149, 6419, 13320, 33050)
"""Limited range (video): luma 16 to 235, chroma 16 to 240; coefficients 1.164384, 1.596027, 0.391762, 0.812968,
2.017232."""


def _bytes_problem(g: Graph, op: Op) -> str | None:
    """Why an operator's tensors are no supported uint8 images, or None."""
    x, y = op.input(g), op.output(g)
    if x.dtype != DType.UINT8 or y.dtype != DType.UINT8:
        return f"{x.dtype} input with {y.dtype} output is not supported (only uint8)"
    if len(x.shape) != 4 or x.shape[0] != 1:
        return f"an input of shape {'x'.join(map(str, x.shape))} is no image of 1 x height x width x channels"
    return f"more than {LARGEST:,} lines or columns are not supported" if max(x.shape[1:3]) > 4 * LARGEST else None


def _narrow(wide: Array) -> Array:
    return np.clip(wide, 0, 255).astype(np.uint8)


class PackedLines(Op):
    """Base of operators on packed camera rows."""

    packing: str
    channels: int = 3
    limited: bool = False
    """Whether YCbCr has limited range (luma 16 to 235) instead of full range (0 to 255)."""

    def unsupported(self, g: Graph) -> str | None:
        if problem := _bytes_problem(g, self):
            return problem
        if self.packing not in PACKED:
            return f"the format '{self.packing}' is not supported (only {', '.join(PACKED)})"
        _, _, line, channels = self.input(g).shape
        if channels != 1 or line % PACKED[self.packing].nbytes:
            return f"{line} x {channels} bytes are no line of {self.packing}"
        return None if self.channels in (1, 3) else f"{self.channels} channels are not supported (only 1, 3)"


class UnpackPixels(PackedLines):
    """UNPACK_PIXELS: packed camera rows to RGB. The 5 and 6 bits of rgb565 are widened by repeating the highest bits;
    YCbCr is converted with 14-bit coefficients, each sum rounded once, halves up. With one output channel YCbCr gives
    only luma."""

    kind = "UNPACK_PIXELS"

    def shapes(self, g: Graph) -> list[Shape]:
        n, height, line, _ = self.input(g).shape
        packed = PACKED[self.packing]
        return [(n, height, line // packed.nbytes * packed.pixels, self.channels)]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [unpacked(x, self.packing, self.channels, self.limited)]


def unpacked(lines: Array, packing: str, channels: int, limited: bool) -> Array:
    """Convert packed rows [1, height, bytes, 1] to pixels [1, height, width, channels]."""
    parts = lines.reshape(*lines.shape[:2], -1, PACKED[packing].nbytes).astype(np.int64)
    if packing in ("yuyv", "uyvy"):
        return _of_chroma(parts, int(packing == "uyvy"), channels, LIMITED if limited else FULL)
    if packing == "bgr888":
        pixels = parts[..., ::-1]
    else:
        word = parts[..., 0] | parts[..., 1] << 8 if packing == "rgb565" else parts[..., 0] << 8 | parts[..., 1]
        red, green, blue = word >> 11, word >> 5 & 63, word & 31
        pixels = np.stack([red << 3 | red >> 2, green << 2 | green >> 4, blue << 3 | blue >> 2], axis=-1)
    return gray(pixels) if channels == 1 else pixels.astype(np.uint8)


def _of_chroma(parts: Array, first: int, channels: int, c: Chroma) -> Array:
    """Convert YCbCr 4:2:2 groups [1, height, pairs, 4] to pixels; luma begins at byte `first`."""
    luma = (parts[..., first::2] - c.black) * c.luma + (1 << (CHROMA_BITS - 1))
    if channels == 1:
        return _narrow(luma >> CHROMA_BITS).reshape(*parts.shape[:2], -1, 1)
    u, v = (parts[..., place : place + 1] - 128 for place in (1 - first, 3 - first))
    colours = (luma + c.red_v * v, luma - c.green_u * u - c.green_v * v, luma + c.blue_u * u)
    return _narrow(np.stack(colours, axis=-1) >> CHROMA_BITS).reshape(*parts.shape[:2], -1, 3)


class Demosaic(Op):
    """DEMOSAIC: a Bayer image to RGB by bilinear interpolation: a missing colour is the mean of the two or four nearest
    pixels that have it, rounded halves up. The image is mirrored at its first and last pixels (without repeating them),
    which keeps the pattern."""

    pattern: str
    channels: int = 3
    kind = "DEMOSAIC"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(*self.input(g).shape[:3], self.channels)]

    def unsupported(self, g: Graph) -> str | None:
        if problem := _bytes_problem(g, self):
            return problem
        _, height, width, channels = self.input(g).shape
        if self.pattern not in BAYER:
            return f"the pattern '{self.pattern}' is not supported (only {', '.join(BAYER)})"
        if channels != 1 or height < 2 or width < 2:
            return f"{width}x{height}x{channels} pixels are no colour filter array of at least 2x2"
        return None if self.channels in (1, 3) else f"{self.channels} channels are not supported (only 1, 3)"

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        height = self.input(g).shape[1]
        return (1 if y == 0 else y - 1, y, height - 2 if y == height - 1 else y + 1)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        around = np.pad(x[..., 0].astype(np.int64), ((0, 0), (1, 1), (1, 1)), mode="reflect")
        height, width = x.shape[1:3]

        def at(row: int, column: int) -> Array:
            return around[:, 1 + row : 1 + row + height, 1 + column : 1 + column + width]

        across = at(0, -1) + at(0, 1)
        down = at(-1, 0) + at(1, 0)
        corners = at(-1, -1) + at(-1, 1) + at(1, -1) + at(1, 1)
        top, left = BAYER[self.pattern]
        in_row = (np.arange(height, dtype=np.int64) % 2 == top)[:, None]
        in_column = np.arange(width, dtype=np.int64) % 2 == left
        green = np.where(in_row == in_column, (across + down + 2) >> 2, at(0, 0))

        def colour(own_row: Array, own_column: Array) -> Array:
            single = np.where(own_row, (across + 1) >> 1, (down + 1) >> 1)
            mixed = np.where(own_row | own_column, single, (corners + 2) >> 2)
            return np.where(own_row & own_column, at(0, 0), mixed)

        pixels = np.stack([colour(in_row, in_column), green, colour(~in_row, ~in_column)], axis=-1)
        return [gray(pixels) if self.channels == 1 else pixels.astype(np.uint8)]


def gray(pixels: Array) -> Array:
    """Luma [..., 1] of RGB pixels, with 16-bit weights, rounded halves up."""
    total = pixels[..., :3].astype(np.int64) @ np.array(LUMA, np.int64)
    return np.asarray((total + (1 << (LUMA_BITS - 1))) >> LUMA_BITS, np.uint8)[..., None]


class GrayImage(Op):
    """GRAY_IMAGE: luma of RGB pixels. Channels after the third are ignored."""

    kind = "GRAY_IMAGE"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(*self.input(g).shape[:3], 1)]

    def unsupported(self, g: Graph) -> str | None:
        if problem := _bytes_problem(g, self):
            return problem
        channels = self.input(g).channels
        return None if channels >= 3 else f"{channels} channels are no red, green and blue"

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,)

    def macs(self, g: Graph) -> int:
        return 3 * self.output(g).size

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [gray(x)]


@dataclass(frozen=True, eq=False)
class Resampling:
    """Resize of one axis: output i is the sum over k of input first[i] + k times weights[which[i]][k], with WEIGHT_BITS
    fraction bits. Rows of weights are padded with zeros; inputs of the padding may be out of range."""

    first: Ints
    which: Ints
    weights: NDArray[np.int64]

    @property
    def taps(self) -> int:
        return int(self.weights.shape[1])

    def count(self, i: int) -> int:
        """Number of input pixels that output pixel i depends on."""
        return int(np.flatnonzero(self.weights[self.which[i]])[-1]) + 1

    def apply(self, x: Array, axis: int) -> Array:
        """Resize one axis of an image with these weights, rounded once, halves up."""
        last = x.shape[axis] - 1
        wide = np.full(1, 1 << (WEIGHT_BITS - 1), np.int64)
        shape = [-1 if i == axis else 1 for i in range(x.ndim)]
        for k in range(self.taps):
            taken = np.take(x, np.minimum(self.first + k, last), axis=axis)
            wide = wide + taken.astype(np.int64) * self.weights[self.which, k].reshape(shape)
        return np.asarray(wide >> WEIGHT_BITS, np.uint8)


@lru_cache(maxsize=64)
def resampling(size: int, out: int, method: str) -> Resampling:
    """Weights that resize `size` pixels to `out`.

    "nearest" copies the pixel that contains the new pixel's center (on a boundary the later one); "bilinear"
    interpolates between the two neighbours; "antialias" is a triangle filter as wide as two pixels of the coarser axis
    (bilinear when enlarging); "area" averages what the new pixel covers.
    """
    rows = [_ROWS[method](size, out, i) for i in range(out)]
    fixed = [_trimmed(first, [_rounded(w) for w in weights]) for first, weights in rows]
    taps = max(len(weights) for _, weights in fixed)
    padded = [(*weights, *[0] * (taps - len(weights))) for _, weights in fixed]
    unique = {weights: at for at, weights in enumerate(dict.fromkeys(padded))}
    return Resampling(
        np.array([first for first, _ in fixed], np.int64),
        np.array([unique[weights] for weights in padded], np.int64),
        np.array(list(unique), np.int64),
    )


def _rounded(weight: float | Fraction) -> int:
    """A weight in fixed point with WEIGHT_BITS fraction bits, rounded halves up."""
    half = 0.5 if isinstance(weight, float) else Fraction(1, 2)
    return int(half + weight * (1 << WEIGHT_BITS))


def _trimmed(first: int, weights: list[int]) -> tuple[int, list[int]]:
    """Remove zero weights at both ends: (first input, weights)."""
    used = [k for k, weight in enumerate(weights) if weight]
    return first + used[0], weights[used[0] : used[-1] + 1]


def _nearest(size: int, out: int, i: int) -> tuple[int, list[Fraction]]:
    return (2 * i + 1) * size // (2 * out), [Fraction(1)]


def _bilinear(size: int, out: int, i: int) -> tuple[int, list[Fraction]]:
    at = min(max(Fraction((2 * i + 1) * size - out, 2 * out), Fraction(0)), Fraction(size - 1))
    first = min(int(at), max(size - 2, 0))
    return first, [1 - (at - first), at - first] if size > 1 else [Fraction(1)]


def _antialias(size: int, out: int, i: int) -> tuple[int, list[float]]:
    """Triangle filter in double precision, in Pillow's order of operations."""
    ratio = size / out
    support = max(ratio, 1.0)
    middle = (i + 0.5) * ratio
    first, end = max(int(middle - support + 0.5), 0), min(int(middle + support + 0.5), size)
    weights = [max(1.0 - abs((x - middle + 0.5) * (1.0 / support)), 0.0) for x in range(first, end)]
    total = reduce(add, weights)
    return first, [weight / total for weight in weights]


def _area(size: int, out: int, i: int) -> tuple[int, list[Fraction]]:
    begin, end = i * size, (i + 1) * size
    first, last = begin // out, -(-end // out)
    covered = [min(end, (x + 1) * out) - max(begin, x * out) for x in range(first, last)]
    return first, [Fraction(part, size) for part in covered]


_ROWS: Mapping[str, Callable[[int, int, int], tuple[int, Sequence[float | Fraction]]]] = {
    "nearest": _nearest,
    "bilinear": _bilinear,
    "antialias": _antialias,
    "area": _area,
}
METHODS = tuple(_ROWS)


class ResizeAxis(Op):
    """Base of operators that resize one axis of an image; a subclass defines the axis."""

    size: int
    method: str = "antialias"
    axis: ClassVar[int]

    def shapes(self, g: Graph) -> list[Shape]:
        shape = list(self.input(g).shape)
        shape[self.axis] = self.size
        return [tuple(shape)]

    def unsupported(self, g: Graph) -> str | None:
        if problem := _bytes_problem(g, self):
            return problem
        if self.method not in METHODS:
            return f"the method '{self.method}' is not supported (only {', '.join(METHODS)})"
        most = max(self.size, self.input(g).shape[self.axis])
        return f"{most:,} lines or columns are more than {LARGEST:,}" if most > LARGEST else None

    def resampling(self, g: Graph) -> Resampling:
        return resampling(self.input(g).shape[self.axis], self.size, self.method)

    def macs(self, g: Graph) -> int:
        return self.output(g).size * self.resampling(g).taps

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [resampling(x.shape[self.axis], self.size, self.method).apply(x, self.axis)]


class ResizeColumns(ResizeAxis):
    """RESIZE_COLUMNS: changes the width of an image."""

    kind = "RESIZE_COLUMNS"
    axis = 2

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,)


class ResizePacked(PackedLines):
    """RESIZE_PACKED: crops packed rows, converts them to pixels and changes their width: UNPACK_PIXELS and
    RESIZE_COLUMNS fused, without an unpacked row in between."""

    top: int
    left: int
    height: int
    width: int
    """The crop in pixels; `left` and `width` are multiples of the pixels of a group."""
    size: int
    method: str = "antialias"
    kind = "RESIZE_PACKED"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(1, self.height, self.size, self.channels)]

    def unsupported(self, g: Graph) -> str | None:
        if problem := super().unsupported(g):
            return problem
        _, lines, line, _ = self.input(g).shape
        packed = PACKED[self.packing]
        inside = self.top + self.height <= lines and packed.line(self.left + self.width) <= line
        if not inside or self.left % packed.pixels or self.width % packed.pixels:
            return f"{self.width}x{self.height} pixels from {self.left},{self.top} on are no part of the lines"
        most = max(self.size, self.width)
        return f"{most:,} columns are more than {LARGEST:,}" if most > LARGEST else None

    @property
    def resampling(self) -> Resampling:
        return resampling(self.width, self.size, self.method)

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y + self.top,)

    def macs(self, g: Graph) -> int:
        return self.output(g).size * self.resampling.taps

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        begin, end = (PACKED[self.packing].line(column) for column in (self.left, self.left + self.width))
        part = x[:, self.top : self.top + self.height, begin:end]
        return [self.resampling.apply(unpacked(part, self.packing, self.channels, self.limited), 2)]


class ResizeRows(ResizeAxis):
    """RESIZE_ROWS: changes the height of an image."""

    kind = "RESIZE_ROWS"
    axis = 1

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        axis = self.resampling(g)
        first, count = int(axis.first[y]), axis.count(y)
        return (*range(first, first + count), *[OUTSIDE] * (axis.taps - count))
