"""Images line by line, in integers: packed camera lines to RGB, demosaicing, grayscale and resizing.

Pixels are uint8 from 0 to 255, [1, height, width, channels]; packed lines are bytes, [1, height, bytes of a line, 1].
GRAY_IMAGE equals Pillow's `convert("L")` bit for bit, and with the method "antialias" RESIZE_COLUMNS and RESIZE_ROWS
equal its `resize(size, BILINEAR)` of one axis each.
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
"""Weights of red, green and blue in the luma of ITU-R BT.601, 0.299, 0.587 and 0.114: of 2^16."""
CHROMA_BITS = 14
WEIGHT_BITS = 22
"""Weights of resized pixels are of 2^22: the sum of 255 times all of them has 30 bits."""
LARGEST = 1 << 14
"""The largest height and width."""


@dataclass(frozen=True)
class Packing:
    """How pixels lie in the bytes of a camera's line."""

    nbytes: int
    pixels: int
    """So many pixels take so many bytes, and a line has a multiple of them."""

    def line(self, width: int) -> int:
        """Bytes of a line of `width` pixels."""
        return width // self.pixels * self.nbytes


PACKED = {
    "bgr888": Packing(3, 1),
    "rgb565": Packing(2, 1),
    "rgb565be": Packing(2, 1),
    "yuyv": Packing(4, 2),
    "uyvy": Packing(4, 2),
}
"""Formats whose pixels are unpacked one by one, or in pairs. Of rgb565 the low byte comes first, of rgb565be the high
one."""
BAYER = {"rggb": (0, 0), "grbg": (0, 1), "gbrg": (1, 0), "bggr": (1, 1)}
"""Colour filter arrays by their first two rows: the row and the column of the first red pixel."""


@dataclass(frozen=True)
class Chroma:
    """YCbCr of ITU-R BT.601 to RGB: luma less `black` times `luma`, and chroma less 128 times the others, of 2^14."""

    black: int
    luma: int
    red_v: int
    green_u: int
    green_v: int
    blue_u: int


FULL = Chroma(0, 16384, 22970, 5638, 11700, 29032)
"""Luma from 0 to 255, as in JPEG: 1.402, 0.344136, 0.714136, 1.772."""
LIMITED = Chroma(16, 19077, 26149, 6419, 13320, 33050)
"""Luma from 16 to 235, chroma from 16 to 240, as in video: 1.164384, 1.596027, 0.391762, 0.812968, 2.017232."""


def _bytes_problem(g: Graph, op: Op) -> str | None:
    """Why an operator's tensors are not images of bytes, or None."""
    x, y = op.input(g), op.output(g)
    if x.dtype != DType.UINT8 or y.dtype != DType.UINT8:
        return f"{x.dtype} input with {y.dtype} output is not supported (only uint8)"
    if len(x.shape) != 4 or x.shape[0] != 1:
        return f"an input of shape {'x'.join(map(str, x.shape))} is no image of 1 x height x width x channels"
    return f"more than {LARGEST:,} lines or columns are not supported" if max(x.shape[1:3]) > 4 * LARGEST else None


def _narrow(wide: Array) -> Array:
    return np.clip(wide, 0, 255).astype(np.uint8)


class PackedLines(Op):
    """An operator on packed lines."""

    packing: str
    channels: int = 3
    limited: bool = False
    """Of YCbCr: luma from 16 to 235 instead of 0 to 255."""

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
    """Packed lines as RGB. The five and six bits of rgb565 become eight by repeating the highest ones; YCbCr becomes
    RGB with 14-bit weights, each sum rounded once, halves up. With one channel YCbCr gives luma alone."""

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
    """[1, height, width, channels] of packed lines [1, height, bytes, 1]."""
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
    """Pixels of pairs [1, height, pairs, 4], whose luma begins at byte `first`."""
    luma = (parts[..., first::2] - c.black) * c.luma + (1 << (CHROMA_BITS - 1))
    if channels == 1:
        return _narrow(luma >> CHROMA_BITS).reshape(*parts.shape[:2], -1, 1)
    u, v = (parts[..., place : place + 1] - 128 for place in (1 - first, 3 - first))
    colours = (luma + c.red_v * v, luma - c.green_u * u - c.green_v * v, luma + c.blue_u * u)
    return _narrow(np.stack(colours, axis=-1) >> CHROMA_BITS).reshape(*parts.shape[:2], -1, 3)


class Demosaic(Op):
    """Lines of a colour filter array as RGB, by bilinear interpolation: colours that a pixel lacks are the mean of the
    two or four nearest pixels that have them, halves up. Beyond the edges the image is mirrored at its first and last
    pixels, so that colours stay in their places."""

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
    """[..., 1] of RGB: luma with 16-bit weights, halves up."""
    total = pixels[..., :3].astype(np.int64) @ np.array(LUMA, np.int64)
    return np.asarray((total + (1 << (LUMA_BITS - 1))) >> LUMA_BITS, np.uint8)[..., None]


class GrayImage(Op):
    """RGB as luma: how bright each colour is to the eye. Channels behind the third one do not count."""

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
    """One axis of a resized image: output i is the sum of inputs first[i] + k times weights[which[i]][k], of 2^22.
    Weights behind the last one that counts are zero, and those inputs may not exist."""

    first: Ints
    which: Ints
    weights: NDArray[np.int64]

    @property
    def taps(self) -> int:
        return int(self.weights.shape[1])

    def count(self, i: int) -> int:
        """How many inputs output i is made from."""
        return int(np.flatnonzero(self.weights[self.which[i]])[-1]) + 1

    def apply(self, x: Array, axis: int) -> Array:
        """Integers of a resized axis, rounded once, halves up."""
        last = x.shape[axis] - 1
        wide = np.full(1, 1 << (WEIGHT_BITS - 1), np.int64)
        shape = [-1 if i == axis else 1 for i in range(x.ndim)]
        for k in range(self.taps):
            taken = np.take(x, np.minimum(self.first + k, last), axis=axis)
            wide = wide + taken.astype(np.int64) * self.weights[self.which, k].reshape(shape)
        return np.asarray(wide >> WEIGHT_BITS, np.uint8)


@lru_cache(maxsize=64)
def resampling(size: int, out: int, method: str) -> Resampling:
    """How `size` pixels become `out`.

    "nearest" copies the pixel that the middle of the new one lies in, on a border the latter; "bilinear" mixes the two
    on both sides of it; "antialias" takes a triangle around it, as wide as two pixels of the coarser axis, which is
    bilinear where the image grows; "area" is the mean of what the new pixel covers.
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
    """Halves up."""
    half = 0.5 if isinstance(weight, float) else Fraction(1, 2)
    return int(half + weight * (1 << WEIGHT_BITS))


def _trimmed(first: int, weights: list[int]) -> tuple[int, list[int]]:
    """Without zeros at both ends."""
    used = [k for k, weight in enumerate(weights) if weight]
    return first + used[0], weights[used[0] : used[-1] + 1]


def _nearest(size: int, out: int, i: int) -> tuple[int, list[Fraction]]:
    return (2 * i + 1) * size // (2 * out), [Fraction(1)]


def _bilinear(size: int, out: int, i: int) -> tuple[int, list[Fraction]]:
    at = min(max(Fraction((2 * i + 1) * size - out, 2 * out), Fraction(0)), Fraction(size - 1))
    first = min(int(at), max(size - 2, 0))
    return first, [1 - (at - first), at - first] if size > 1 else [Fraction(1)]


def _antialias(size: int, out: int, i: int) -> tuple[int, list[float]]:
    """In double precision, in the order in which Pillow computes it."""
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
    """An image of another height or width. A subclass says which axis that is."""

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
    """Every line gets another width."""

    kind = "RESIZE_COLUMNS"
    axis = 2

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,)


class ResizePacked(PackedLines):
    """Part of packed lines as pixels of another width: what UNPACK_PIXELS and RESIZE_COLUMNS give of it, without a line
    of pixels between them."""

    top: int
    left: int
    height: int
    width: int
    """The part in pixels; columns are multiples of those that share bytes."""
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
    """Every column gets another height."""

    kind = "RESIZE_ROWS"
    axis = 1

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        axis = self.resampling(g)
        first, count = int(axis.first[y]), axis.count(y)
        return (*range(first, first + count), *[OUTSIDE] * (axis.taps - count))
