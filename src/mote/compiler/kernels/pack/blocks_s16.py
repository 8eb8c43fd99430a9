"""int16 windowed layers in blocks of four pixels: the parameters of `mote_blocks_s16.h`, and weights packed into 32-bit
words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mote.compiler.kernels.contract import Call, Entry, Instance, Needs, Packed, Price, Refusal, View, signature
from mote.compiler.kernels.pack.params import window_params
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis, WindowOp

INT16 = signature(DType.INT16, DType.INT16)
PIXELS = 4
WHOLE = 8
"""Output rows of at most this many pixels have all their input columns copied at once where windows need padding."""
ODD = Refusal("channels are computed two at a time")
DILATED = Refusal("windows are dilated")
FAR = Refusal("pixels have too many channels")
NARROW = Refusal("sums might not fit 32 bits")


def _inside(axis: Axis, size: int, count: int) -> bool:
    return axis.before == 0 and (count - 1) * axis.stride + (axis.kernel - 1) * axis.dilation < size


def _rows_inside(view: View) -> bool:
    """Whether no window needs padding at the top or bottom of the image."""
    return _inside(view.the(WindowOp).vertical, view.input.shape[1], view.output.shape[1])


def in_image(view: View) -> bool:
    """Whether no window needs padding."""
    return _rows_inside(view) and _inside(view.the(WindowOp).horizontal, view.input.shape[2], view.output.shape[2])


def is_flat(view: View) -> bool:
    """Whether several rows can be computed as one contiguous run of pixels: 1x1 windows with stride 1, and at least
    four pixels."""
    axes, (batch, rows, columns, _) = (view.the(WindowOp).vertical, view.the(WindowOp).horizontal), view.output.shape
    return all(axis.kernel == axis.stride == 1 for axis in axes) and batch * rows * columns >= PIXELS


def pixels_of(view: View) -> list[int]:
    """Block sizes in pixels that a layer needs: four, and the remainder of a row."""
    width = view.output.shape[2]
    return [n for n in (PIXELS if width >= PIXELS or is_flat(view) else 0, width % PIXELS) if n]


def blocks(view: View, name: str, stream: Ints, codes: dict[int, Instance], work: int = 0) -> Packed:
    """Packs a kernel that computes blocks of pixels. `codes`: the macro instance for each block size in pixels; `work`:
    extra scratch memory in elements."""
    op, channels, rest = view.the(WindowOp), view.input.shape[3], view.output.shape[2] % PIXELS
    names = [str(codes[n].arguments[0]) for n in sorted(codes, reverse=True)]
    whole = view.output.shape[2] <= WHOLE and not _inside(op.horizontal, view.input.shape[2], view.output.shape[2])
    columns = ((view.output.shape[2] if whole else PIXELS) - 1) * op.horizontal.stride + op.horizontal.kernel
    zeros = 0 if in_image(view) else op.vertical.kernel * columns * channels
    zeros += zeros % 2
    name = f"{name}_{rest}" if rest else name
    params = {
        **window_params(view),
        "in_channels": channels,
        "channels": view.output.shape[3],
        "flat": int(is_flat(view)),
        "whole": int(whole),
        "work": zeros,
        "stream": wrap32(stream).astype(np.int32),
    }
    return Packed(
        name,
        params,
        Entry(Call.ROWS, row=f"{name}_row", taps=op.vertical.kernel),
        Needs(scratch=2 * (zeros + work)),
        Price(tile=(1, PIXELS)),
        instances=(*codes.values(), Instance("MOTE_BLOCKS_S16", (name, names[0], names[-1]))),
    )


@dataclass(frozen=True)
class EdgeBlock:
    """A block of `pixels` output pixels, with the number of padding columns to the left and right of its windows."""

    pixels: int
    left: int
    right: int

    def __str__(self) -> str:
        return f"{self.pixels}_{self.left}_{self.right}"


def edges_of(view: View) -> list[EdgeBlock] | Refusal:
    """The four kinds of blocks in an output row: first, middle, last but one, last. Refused if middle blocks differ in
    padding."""
    axis, size, width = view.the(WindowOp).horizontal, view.input.shape[2], view.output.shape[2]
    row = [
        EdgeBlock(n, max(0, axis.before - x * axis.stride), max(0, first + (n - 1) * axis.stride + axis.kernel - size))
        for x in range(0, width, PIXELS)
        for n, first in ((min(PIXELS, width - x), x * axis.stride - axis.before),)
    ]
    middle = row[1:-2] or row[:1]
    if any(edge != middle[0] for edge in middle):
        return Refusal("blocks in the middle of a row differ in padding")
    return [row[0], middle[0], row[-2] if len(row) > 2 else row[0], row[-1]]


def edged(view: View, name: str, stream: Ints, codes: dict[EdgeBlock, Instance], order: Sequence[EdgeBlock]) -> Packed:
    """Packs a kernel with separate code for each kind of block in `order` (see `edges_of`), which skips padding
    columns."""
    op, (_, _, width, channels) = view.the(WindowOp), view.output.shape
    name = f"{name}_{view.input.shape[2]}_{width}_{op.horizontal.before}"
    columns = 3 * op.horizontal.stride + op.horizontal.kernel
    params = {
        **window_params(view),
        "in_channels": channels,
        "channels": channels,
        "flat": 0,
        "whole": 0,
        "work": 0,
        "stream": wrap32(stream).astype(np.int32),
    }
    return Packed(
        name,
        params,
        Entry(Call.ROWS, row=f"{name}_row", taps=op.vertical.kernel),
        Needs(scratch=0 if _rows_inside(view) else 2 * columns * channels),
        Price(tile=(1, PIXELS)),
        instances=(
            *codes.values(),
            Instance("MOTE_EDGES_S16", (name, *(codes[edge].arguments[0] for edge in order))),
        ),
    )


def bytes_in_words(data: Ints) -> Ints:
    """Packs groups of four bytes on the last axis into 32-bit words, little-endian."""
    fours = (data & 0xFF).reshape(*data.shape[:-1], -1, 4)
    return np.asarray((fours << np.arange(0, 32, 8, dtype=np.int64)).sum(axis=-1))


def halves_in_words(data: Ints) -> Ints:
    """Packs pairs of 16-bit values on the last axis into 32-bit words, little-endian."""
    return np.asarray((data[..., 0::2] & 0xFFFF) | (data[..., 1::2] & 0xFFFF) << 16)
