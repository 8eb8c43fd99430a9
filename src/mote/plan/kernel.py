"""What an operator becomes: the call of one C kernel, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mote.graph.tensor import Array, Shape


@dataclass(frozen=True, eq=False)
class Structs:
    """A constant array of C structs, one row of integers each (`mote_channel_t`, say)."""

    ctype: str
    rows: NDArray[np.int64]


Value = int | float | Array | Structs | Mapping[str, "Value"]


@dataclass(frozen=True)
class Layout:
    """How a tensor lies in its buffer. Kernels say what they read and write, the planner chooses for each buffer; the
    model's inputs and outputs are always NHWC: channels innermost, the order of the model file."""

    NHWC: ClassVar[Layout]

    line: int = 0
    """Planar: inside a row one line of this many bytes (a multiple of four) for each channel, with the window's padding
    as zeros before and after the pixels. Bytes are 128 more than the values, whose zero point is -128, and the middle
    two of each four change places: one instruction then widens neighbours. 0: NHWC."""
    before: int = 0
    """Bytes of padding before a line's first pixel."""

    @property
    def planar(self) -> bool:
        return self.line > 0

    def load(self, flat: Array, shape: Shape) -> Array:
        """A buffer's elements as NHWC values."""
        if not self.planar:
            return flat.reshape(shape)
        lines = flat.reshape(*shape[:-2], shape[-1], self.line // 4, 4)[..., [0, 2, 1, 3]]
        pixels = lines.reshape(*shape[:-2], shape[-1], self.line)[..., self.before : self.before + shape[-2]]
        return np.swapaxes(pixels ^ np.int8(-128), -1, -2)

    def store(self, values: Array) -> Array:
        """NHWC values as they lie in a buffer."""
        if not self.planar:
            return values
        after = self.line - self.before - values.shape[-2]
        pad = [(0, 0)] * (values.ndim - 1) + [(self.before, after)]
        lines = np.pad(np.swapaxes(values, -1, -2) ^ np.int8(-128), pad)
        return np.ascontiguousarray(lines.reshape(*lines.shape[:-1], -1, 4)[..., [0, 2, 1, 3]]).reshape(lines.shape)

    def __str__(self) -> str:
        return f"planar, lines of {self.line}" if self.planar else "nhwc"


Layout.NHWC = Layout()


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

    RING = "ring"
    """New rows into a ring buffer: `kernel(&params, rows, buffer, &oldest)`."""


@dataclass(frozen=True)
class Lowering:
    """What kernels may count on: the core's features, what to optimize for, and the layouts that the planner chose
    for the operator's first input and its output."""

    features: frozenset[str] = frozenset()
    optimize: str = "balanced"
    reads: Layout = Layout.NHWC
    writes: Layout = Layout.NHWC
    adds: bool = False
    """The kernel that keeps running sums is wanted, where there is one (see `Call.ADDS`)."""
    coded: bool = False
    """Kernels that expand coded weights may be chosen."""


@dataclass(frozen=True)
class Coding:
    """What a kernel does because its weights are coded: see ops/coding.py."""

    symbols: int
    """Codes that it decodes."""
    expanded: int = 0
    """Weights that it writes into working memory."""
    passes: int = 1
    """How often it goes through its inputs, each time for some of the channels."""


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
    rows: str = ""
    """The function that computes up to `group` output rows at once, one below the other, from the input rows under all
    of them: `mote_<rows>(&params, rows, outs, count)`, and the scratch memory. It stands in for `row`."""
    moves: bool = False
    """It copies elements whatever their type is: to its row functions they are bytes."""
    row_index: bool = False
    """The row function is told which row it computes: `(&params, rows, y, out)`."""
    group: int = 1
    """How many output rows it wants to compute at once, by rows."""
    tile: tuple[int, int] = (1, 1)
    """How many rows and columns of the output it computes at once."""
    family: str = "other"
    """Which kernels cost alike: see cost.py."""
    lanes: int = 1
    """Output channels that it computes at once: costs count those too that are computed for nothing."""
    density: float = 1.0
    """The share of its products that are computed: the others have weights of zero."""
    sums: int = 0
    """Bytes of the running sums of an ADDS kernel."""
    reads: Layout = Layout.NHWC
    writes: Layout = Layout.NHWC
    instances: tuple[str, ...] = ()
    """Macros of the header that define the functions called, with what is known at compile time built into them."""
    dsp: bool = False
    """Whether the kernel has a variant for the Armv7E-M DSP instructions."""
    coding: Coding | None = None
    """Where its weights are coded."""

    @property
    def file(self) -> str:
        return f"mote_{self.header or self.name}.h"

    @cached_property
    def constants(self) -> int:
        """Bytes of the arrays in its parameters."""
        return _nbytes(self.params)


def _nbytes(value: Value) -> int:
    if isinstance(value, Mapping):
        return sum(map(_nbytes, value.values()))
    if isinstance(value, Structs):
        return 4 * value.rows.size
    return value.nbytes if isinstance(value, np.ndarray) else 0


def units_of(shape: Shape, unit: int = 1) -> int:
    """How many units of `unit` elements a tensor has."""
    return prod(shape) // unit
