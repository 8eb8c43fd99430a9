"""A layer in the form that ESP-NN's functions take."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from mote.compiler.offload.contract import Blob, Invocation

MOST = (1 << 15) - 1
"""Maximum size: sizes are passed as uint16_t, and positions stored as int16_t."""


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
        """The values of the fields in the order of the C struct."""
        return astuple(self)

    @property
    def after_y(self) -> int:
        """Number of rows below the image that windows reach."""
        return max(0, (self.out_height - 1) * self.stride_y + self.height - self.pad_y - self.in_height)

    @property
    def after_x(self) -> int:
        """Number of columns to the right of the image that windows reach."""
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
    """Work counts of a call, by which its cycles are estimated."""

    kind: str
    """The function that is called, or a case of it with costs of its own."""
    taps: int
    """Number of products, or of values that are compared."""
    pixels: int
    """Number of window pixels per output, or per four channels of a depthwise layer; rows of a softmax."""
    outputs: int


@dataclass(frozen=True)
class EspLayer:
    """The calls that compute an operator, independent of the target."""

    function: str
    """Name of the function of ESP-NN without its prefix, such as `conv_s8`, by which its sources are found."""
    calls: tuple[Invocation, ...]
    work: EspWork
    blobs: tuple[Blob, ...] = ()
    scratch: int = 0

    @property
    def weighted(self) -> bool:
        """Whether it has weights, which are read for every product."""
        return any(blob.name == "weights" for blob in self.blobs)
