"""Steps on images, and the lines of a camera that they begin with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mote.base.errors import MoteError
from mote.frontends.features.sample import WHERE
from mote.frontends.features.sensor import Sensor
from mote.frontends.features.signal import Signal, SignalKind
from mote.ir.graph import Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.ops.features.images import (
    BAYER,
    LARGEST,
    METHODS,
    PACKED,
    Demosaic,
    GrayImage,
    Packing,
    ResizeColumns,
    ResizePacked,
    ResizeRows,
    UnpackPixels,
    resampling,
)
from mote.ir.ops.features.images import gray as luma
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.moves.slice import Slice

PLAIN = {"rgb888": Packing(3, 1), "gray8": Packing(1, 1)}
"""Formats whose bytes are pixels as they are."""
FORMATS = {**PLAIN, **PACKED, **dict.fromkeys(BAYER, Packing(1, 1))}
RANGES = ("full", "limited")
CENTRE = -1


@dataclass(frozen=True)
class Camera:
    """The lines of a camera: their format, how many there are, and how many pixels each has."""

    format: str
    height: int
    width: int
    limited: bool
    """Of YCbCr: luma from 16 to 235 instead of 0 to 255."""

    @property
    def shape(self) -> Shape:
        return self.height, FORMATS[self.format].line(self.width), 1

    def unpacked(self, lines: Signal) -> Signal:
        """Pixels of its lines."""
        if self.format == "gray8":
            return lines
        if self.format == "rgb888":
            return lines.then(Reshape, shape=(1, self.height, self.width, 3))
        if self.format in BAYER:
            return lines.then(Demosaic, pattern=self.format)
        return lines.then(UnpackPixels, packing=self.format, limited=self.limited)

    def packed(self, image: Array) -> Array:
        """Its lines when it sees an image. What has the shape of lines is taken as they are."""
        if image.shape == self.shape:
            return image
        pixels = np.repeat(image, 3, axis=2) if image.shape[2] == 1 else image[..., :3]
        for axis, size in ((1, self.width), (0, self.height)):
            pixels = resampling(pixels.shape[axis], size, "antialias").apply(pixels, axis)
        return _bytes_of(pixels, self.format, self.limited).reshape(self.shape)


def camera(sensor: Sensor, size: str = "320x240", format: str = "rgb565", range: str = "full") -> Sensor:
    """A camera of WIDTHxHEIGHT pixels, whose lines are given one by one. Images of data become what it would give:
    resized to its size, and packed."""
    width, height = _size(size)
    if format not in FORMATS:
        raise MoteError(f"'{format}' is no format", where=WHERE, remedy=f"use one of {', '.join(FORMATS)}")
    if range not in RANGES:
        raise MoteError(f"'{range}' is no range of luma", where=WHERE, remedy=f"use one of {', '.join(RANGES)}")
    if width % FORMATS[format].pixels or (format in BAYER and min(width, height) < 2):
        raise MoteError(f"{format} has no images of {size}", where=WHERE, remedy="give an even width and height")
    lines = Camera(format, height, width, range == "limited")
    return replace(
        sensor, kind=SignalKind.IMAGE, fraction=0, shape=lines.shape, unpack=lines.unpacked, packed=lines.packed
    )


def gray(signal: Signal) -> Signal:
    """An image with one channel: how bright each colour is to the eye (ITU-R BT.601). Of lines that are unpacked or
    demosaiced it is computed at once."""
    signal = signal.integers("gray", SignalKind.IMAGE)
    if signal.channels == 1:
        return signal
    if signal.channels < 3:
        raise signal.refuse(f"gray takes red, green and blue, and gets {signal.channels} channels", "omit it")
    last = _last(signal)
    if isinstance(last, UnpackPixels | Demosaic):
        return _undone(signal).then(type(last), **{**last.attributes(), "channels": 1})
    return signal.then(GrayImage)


def resize(signal: Signal, size: str, method: str = "antialias") -> Signal:
    """An image of WIDTHxHEIGHT: every pixel is a mean of those around its middle, or the nearest one."""
    signal = signal.integers("resize", SignalKind.IMAGE)
    width, height = _size(size)
    if method not in METHODS:
        raise signal.refuse(f"'{method}' is no method", f"use one of {', '.join(METHODS)}")
    _, rows, columns, _ = signal.tensor.shape
    last = _last(signal)
    if columns != width and isinstance(last, UnpackPixels):
        signal = _resized_lines(signal, last, width, method)
    elif columns != width:
        signal = signal.then(ResizeColumns, size=width, method=method)
    return signal.then(ResizeRows, size=height, method=method) if rows != height else signal


def crop(signal: Signal, size: str, x: int = CENTRE, y: int = CENTRE) -> Signal:
    """Part of an image, WIDTHxHEIGHT: from column x and row y on, or the middle. Of a camera's lines what is outside
    is not unpacked."""
    signal = signal.integers("crop", SignalKind.IMAGE)
    width, height = _size(size)
    _, rows, columns, _ = signal.tensor.shape
    if width > columns or height > rows:
        raise signal.refuse(f"the image is {columns}x{rows}, less than {size}", "resize it")
    left, top = ((columns - width) // 2 if x == CENTRE else x), ((rows - height) // 2 if y == CENTRE else y)
    if not (0 <= left <= columns - width and 0 <= top <= rows - height):
        raise signal.refuse(
            f"{size} from {left},{top} on is not inside of {columns}x{rows}", "move it to the left or up"
        )
    last = _last(signal)
    if isinstance(last, UnpackPixels):
        packing = PACKED[last.packing]
        if not left % packing.pixels and not width % packing.pixels:
            begin, part = (top, packing.line(left)), (height, packing.line(width))
            return _sliced(_undone(signal), begin, part).then(UnpackPixels, **last.attributes())
    return _sliced(signal, (top, left), (height, width))


IMAGE_STEPS: tuple[Callable[..., Signal], ...] = (gray, resize, crop)


def _resized_lines(signal: Signal, last: UnpackPixels, width: int, method: str) -> Signal:
    """Lines that are unpacked, or parts of them, with another width."""
    lines, (_, height, columns, _) = _undone(signal), signal.tensor.shape
    top = left = 0
    part = _last(lines)
    if isinstance(part, Slice):
        lines, packing = _undone(lines), PACKED[last.packing]
        top, left = part.begin[1], part.begin[2] // packing.nbytes * packing.pixels
    where = {"top": top, "left": left, "height": height, "width": columns}
    return lines.then(ResizePacked, **last.attributes(), **where, size=width, method=method)


def _sliced(signal: Signal, begin: tuple[int, int], size: tuple[int, int]) -> Signal:
    part = (1, *size, signal.channels)
    if part == signal.tensor.shape:
        return signal
    return signal.then(Slice, begin=(0, *begin, 0), size=part, strides=(1, 1, 1, 1), shape=part)


def _last(signal: Signal) -> Op | None:
    """The operator that made the signal."""
    return signal.builder.ops[-1] if signal.builder.ops else None


def _undone(signal: Signal) -> Signal:
    """The signal before the last operator, which is made again."""
    op = signal.builder.ops.pop()
    del signal.builder.tensors[signal.tensor.id]
    return replace(signal, tensor=signal.builder.tensors[op.inputs[0]])


def _bytes_of(pixels: Array, format: str, limited: bool) -> Array:
    """The bytes of pixels [height, width, 3] in a format."""
    if format in PLAIN:
        return pixels if format == "rgb888" else luma(pixels)
    if format == "bgr888":
        return pixels[..., ::-1]
    if format in BAYER:
        top, left = BAYER[format]
        y, x = np.indices(pixels.shape[:2])
        red, blue = (y % 2 == top) & (x % 2 == left), (y % 2 != top) & (x % 2 != left)
        return np.where(red, pixels[..., 0], np.where(blue, pixels[..., 2], pixels[..., 1]))
    if format in ("rgb565", "rgb565be"):
        red, green, blue = (pixels[..., c].astype(np.uint16) for c in (0, 1, 2))
        word = (red >> 3) << 11 | (green >> 2) << 5 | blue >> 3
        return word.astype("<u2" if format == "rgb565" else ">u2").view(np.uint8)
    return _chroma(pixels, limited)[..., [0, 1, 2, 3] if format == "yuyv" else [1, 0, 3, 2]]


def _chroma(pixels: Array, limited: bool) -> Array:
    """[height, width / 2, 4]: luma, blue, luma and red differences, which two pixels share."""
    real = pixels.astype(np.float64)
    luminance = real @ [0.299, 0.587, 0.114]
    differences = (real[..., [2, 0]] - luminance[..., None]) / (2 * (1 - np.array([0.114, 0.299])))
    shared = differences.reshape(*pixels.shape[:1], -1, 2, 2).mean(2)
    gains = (219 / 255, 224 / 255, 16) if limited else (1.0, 1.0, 0)
    pairs = luminance.reshape(*pixels.shape[:1], -1, 2) * gains[0] + gains[2]
    blue, red = (shared[..., c] * gains[1] + 128 for c in (0, 1))
    stacked = np.stack([pairs[..., 0], blue, pairs[..., 1], red], axis=-1)
    return np.asarray(np.clip(np.rint(stacked), 0, 255), np.uint8)


def _size(text: str) -> tuple[int, int]:
    parts = text.lower().split("x")
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() and 0 < int(part) <= LARGEST for part in parts):
        raise MoteError(f"'{text}' is no size", where=WHERE, remedy="write it as WIDTHxHEIGHT: 96x96")
    return int(parts[0]), int(parts[1])
