"""A layer as ESP-NN's functions take it."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from mote.compiler.offload.contract import Blob, Invocation

MOST = (1 << 15) - 1
"""Sizes are passed as uint16_t, and positions kept as int16_t."""


@dataclass(frozen=True)
class EspWindow:
    """The sizes of a layer with a window over NHWC images: the fields of `esp_nn_window_t`, in its order."""

    images: int
    in_height: int
    in_width: int
    in_channels: int
    height: int
    width: int
    out_height: int
    out_width: int
    out_channels: int
    stride_y: int
    stride_x: int
    pad_y: int
    pad_x: int
    in_offset: int
    out_offset: int
    low: int
    high: int

    @property
    def words(self) -> tuple[int, ...]:
        """Its fields, as C reads them."""
        return astuple(self)

    @property
    def after_y(self) -> int:
        """Rows below the image that windows reach."""
        return max(0, (self.out_height - 1) * self.stride_y + self.height - self.pad_y - self.in_height)

    @property
    def after_x(self) -> int:
        """Columns to the right of the image that windows reach."""
        return max(0, (self.out_width - 1) * self.stride_x + self.width - self.pad_x - self.in_width)

    @property
    def padded(self) -> bool:
        """Whether there is padding above or to the left of the image."""
        return bool(self.pad_y or self.pad_x)

    @property
    def pointwise(self) -> bool:
        return (self.height, self.width, self.stride_y, self.stride_x, self.padded) == (1, 1, 1, 1, False)


@dataclass(frozen=True)
class EspWork:
    """How often a function does what costs are known of."""

    kind: str
    """The function, or that case of it which costs something else."""
    taps: int
    """Products, or values that are looked at."""
    pixels: int
    """Pixels of all windows, for each output, or for each four channels of a depthwise layer; rows of a softmax."""
    outputs: int


@dataclass(frozen=True)
class EspLayer:
    """The calls that compute an operator, before a target is known."""

    function: str
    """The function of ESP-NN without its prefix, `conv_s8`: what its sources are found by."""
    calls: tuple[Invocation, ...]
    work: EspWork
    blobs: tuple[Blob, ...] = ()
    scratch: int = 0

    @property
    def weighted(self) -> bool:
        """Whether it has weights, each of which is read for every product."""
        return any(blob.name == "weights" for blob in self.blobs)
