"""What an operator becomes: the call of one C kernel, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import prod

import numpy as np
from numpy.typing import NDArray

from mote.graph.tensor import Array, Shape


@dataclass(frozen=True, eq=False)
class Structs:
    """A constant array of C structs, one row of integers each (`mote_channel_t`, say)."""

    ctype: str
    rows: NDArray[np.int64]


Value = int | float | Array | Structs | Mapping[str, "Value"]


class Layout(StrEnum):
    """How a tensor lies in its buffer. Kernels say what they read and write, the planner chooses for each
    buffer; the model's inputs and outputs are always NHWC."""

    NHWC = "nhwc"
    """Channels innermost, the order of the model file."""

    PLANAR = "planar"
    """Row by row, inside a row one line for each channel."""

    def steps(self, shape: Shape) -> tuple[int, int]:
        """How far apart neighbouring pixels and neighbouring channels of a row lie."""
        return (shape[-1], 1) if self is Layout.NHWC else (1, shape[-2])

    def load(self, flat: Array, shape: Shape) -> Array:
        """A buffer's elements as NHWC values."""
        if self is Layout.NHWC:
            return flat.reshape(shape)
        return np.swapaxes(flat.reshape(*shape[:-2], shape[-1], shape[-2]), -1, -2)


class Call(StrEnum):
    """What a kernel can be asked for at once, and the arguments that say so."""

    FLAT = "flat"
    """Any run of units (elements or pixels): `kernel(&params, inputs..., out, units)`."""

    ROWS = "rows"
    """Output rows lo..hi-1: `kernel(&params, inputs..., out, lo, hi)`."""

    WHOLE = "whole"
    """The whole tensor only: `kernel(&params, inputs..., out)`."""

    ADDS = "adds"
    """One input row at a time into running sums: `kernel(&params, row, tap, part, sums, out)`, once for each tap whose
    row lies inside the image, in any order. Bit 0 of `part` is set in the first call, which begins the sums, bit 1 in
    the last one, which turns them into the output; that may lie where the sums begin."""


@dataclass(frozen=True)
class Lowering:
    """What kernels may count on: the core's features, what to optimize for, and the layouts that the planner chose
    for the operator's first input and its output."""

    features: frozenset[str] = frozenset()
    optimize: str = "balanced"
    reads: Layout = Layout.NHWC
    writes: Layout = Layout.NHWC
    roomy: bool = False
    """The faster kernel that takes more working memory is wanted, where there is one."""
    adds: bool = False
    """The kernel that keeps running sums is wanted, where there is one (see `Call.ADDS`)."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """A call of the C function `mote_<name>` in `mote_<name>.h` (or `header`).

    `params` fill its struct `mote_<name>_t`; arrays in it become constants in flash. `operands` are the
    positions of the operator's inputs that are passed as pointers. `scratch` is working memory in bytes,
    None where the function takes none. `in_place`: the output may lie over an input of the same size.
    """

    name: str
    params: Mapping[str, Value]
    call: Call = Call.WHOLE
    units: int = 0
    operands: tuple[int, ...] = (0,)
    scratch: int | None = None
    in_place: bool = False
    header: str = ""
    taps: int = 0
    """Rows of the window, for kernels that keep a pointer to each."""
    row: str = ""
    """The function that computes one output row wherever its input rows lie: `mote_<row>(&params, rows, out)`, and the
    scratch memory where there is some. FLAT kernels need none; other ROWS kernels without one read row `lo` of
    every operand at the operand's address for `lo` = 0."""
    row_index: bool = False
    """The row function is told which row it computes: `(&params, rows, y, out)`."""
    group: int = 1
    """How many output rows it wants to compute at once, by rows."""
    sums: int = 0
    """Bytes of the running sums of an ADDS kernel."""
    reads: Layout = Layout.NHWC
    writes: Layout = Layout.NHWC
    dsp: bool = False
    """Whether the kernel has a variant for the Armv7E-M DSP instructions."""

    @property
    def file(self) -> str:
        return f"mote_{self.header or self.name}.h"


def units_of(shape: Shape, unit: int = 1) -> int:
    """How many units of `unit` elements a tensor has."""
    return prod(shape) // unit
