"""A matrix times a vector: the weights and constants of `mote_fully_connected4_s8.h`, for fully connected layers and
convolutions of few pixels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.armv7em.common import CUTS_OFF, DSP, FEW_ZEROS, NO_CONSTANTS
from mote.compiler.kernels.contract import (
    INT8,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    Price,
    Refusal,
    Structs,
    View,
    units_of,
)
from mote.compiler.kernels.pack.params import pad_to, window_params
from mote.compiler.kernels.pack.requantize.dsp import widest
from mote.compiler.kernels.pack.weights.sparse import without_zeros
from mote.compiler.kernels.portable.matrix.fully_connected import channels_of
from mote.compiler.kernels.portable.matrix.fully_connected import sums_of as vector_sums
from mote.compiler.kernels.portable.windows.conv import gemm_params, sums_of
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.ops.common import int8_range
from mote.ir.ops.matrix.accumulators import Accumulators
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D

DEPTH = 8
"""So many inputs are multiplied at a time."""
WORTH_WIDENING = 8
"""Of fewer outputs inputs need not be widened once for all."""
MOST_PIXELS = 2
"""Of longer rows kernels for several pixels read each weight less often."""
ROOMY = "_roomy"
"""The end of the names of kernels that widen their inputs once."""
BLOCKS = (8, 4)
"""Inputs that are left out together where all of their weights for four outputs are zero."""


class VectorForm(NamedTuple):
    """`mote_fc4_t` for widened inputs: the end of the kernel's name, and the share of weights that is in it."""

    end: str
    params: Params
    density: float = 1.0


@dataclass(frozen=True)
class Vectors:
    """The kernels of a layer, whose names begin alike. The first form has all weights, others
    none of blocks of zeros."""

    name: str
    forms: list[VectorForm]
    instances: tuple[Instance, ...] = ()

    def form(self, end: str) -> VectorForm | None:
        return next((form for form in self.forms if form.end == end), None)


@dataclass(frozen=True)
class Matrix:
    """The weights [outputs, inputs] of a layer, the rows of its `mote_channel_t`, and its sums; results are clamped to
    all of int8."""

    weights: NDArray[np.int8]
    channel: Ints
    sums: Accumulators

    def packed(self, end: str, vectors: int, *, wide: bool) -> Packed | Refusal:
        """For vectors one after another: with inputs that are widened as they are read (no `end`), or once; without
        blocks of zeros where there are many."""
        made = self.wide if wide else self.pairs
        if made is None:
            return NO_CONSTANTS
        channels, inputs = self.weights.shape
        form = made.form(end or ROOMY)
        if form is None:
            return FEW_ZEROS
        if not end:
            if inputs != self.depth:
                return Refusal(f"the inputs are no multiple of {DEPTH}")
            return Packed(f"{made.name}_s8", form.params, Entry(Call.FLAT, vectors), instances=made.instances)
        if end == ROOMY and inputs == self.depth and channels < WORTH_WIDENING:
            return Refusal(f"for fewer than {WORTH_WIDENING} outputs inputs are not worth widening")
        return Packed(
            f"{made.name}{end}_s8",
            form.params,
            Entry(Call.FLAT, vectors),
            Needs(scratch=2 * self.depth),
            Price(density=form.density),
            made.instances,
        )

    def by_rows(self, end: str, window: Params, line: int, *, wide: bool) -> Packed | Refusal:
        """For vectors in as many pieces of `line` inputs as a window has rows, each row wherever it lies; the pieces of
        the matrix are padded to words."""
        if not end:
            return Refusal("inputs in pieces have to be widened")
        made, taps = self.wide if wide else self.pairs, window["taps"]
        assert isinstance(taps, int)
        form = made.form(end) if made else None
        if made is None or form is None:
            return NO_CONSTANTS if made is None else FEW_ZEROS
        return Packed(
            f"{made.name}{end}_rows_s8",
            {"rows": window, "line": line, "vector": form.params},
            Entry(Call.ROWS, row=f"{made.name}{end}_rows_s8_row", taps=taps),
            Needs(scratch=2 * self.depth),
            Price(density=form.density),
            instances=made.instances,
        )

    @property
    def depth(self) -> int:
        """The inputs, padded."""
        inputs = int(self.weights.shape[1])
        return inputs + -inputs % DEPTH

    @cached_property
    def pairs(self) -> Vectors | None:
        """With one byte a weight, two outputs to a half word."""
        start, mult, shift = self.channel.T
        once, largest = self.sums.once, int(np.maximum(-self.sums.low, self.sums.high).max())
        fits = self.sums.exact.all() and pairs_fit(self.weights, largest)
        if shift.min() < (1 if once else 0) or not fits:
            return None
        name = "fully_connected4" if once else "fully_connected4_twice"
        scale = four_scales(mult, shift - 1, 8) if once else four_scales(mult << 1, shift, 0)
        words = four_outputs(self.weights.astype(np.int64), start, wide=False)
        return Vectors(name, self._forms(scale, words, words[:, :0]))

    @cached_property
    def wide(self) -> Vectors | None:
        """With two bytes a weight, scaled as requantization wants it."""
        matrix = self.weights.astype(np.int64)
        requantization = widest(self.sums, matrix)
        if requantization is None:
            return None
        form, shift = "linear" if self.sums.linear else "relu", requantization.shift
        words = four_outputs(requantization.scaled(matrix), requantization.biases(self.channel[:, 0]), wide=True)
        constants = pad_to(requantization.constants(self.sums.linear), 0, 4).reshape(len(words), -1)
        instance = Instance("MOTE_FULLY_CONNECTED4", (form, shift))
        return Vectors(f"fully_connected4_{form}_{shift}", self._forms(None, words, constants), (instance,))

    def _forms(self, scale: NDArray[np.int32] | None, words: Ints, constants: Ints) -> list[VectorForm]:
        """Of what `four_outputs` gives, and constants of four outputs in a row."""
        starts, weights = words[:, :4], words[:, 4:]
        forms = [VectorForm(ROOMY, self._params(scale, zip(starts, weights, constants, strict=True)))]
        for block in BLOCKS:
            left = without_zeros(weights.reshape(len(words), self.depth // block, -1), 2 * block, 0)
            if left is not None:
                params = self._params(scale, zip(starts, left.rows, constants, strict=True))
                forms.append(VectorForm(f"_sparse{block}", params, left.density))
        return forms

    def _params(self, scale: NDArray[np.int32] | None, parts: Iterable[tuple[Ints, ...]]) -> Params:
        """`mote_fc4_t`; `parts` of all that four outputs have."""
        fours = [np.concatenate(four) for four in parts]
        return {
            "inputs": self.weights.shape[1],
            "channels": self.weights.shape[0],
            "depth": self.depth,
            "rest": sum(map(len, fours[: len(self.weights) // 4])),
            "zero": 2 * self.sums.zero + 1,
            "step": 8 if scale is not None and len(scale) > 1 else 0,
            "scale": 0 if scale is None else scale.reshape(-1),
            "weights": wrap32(np.concatenate(fours)).astype(np.int32),
        }


def pairs_fit(weights: NDArray[np.int8], largest: int) -> bool:
    """Whether two outputs' weights fit a half word, w0 + 256 * w1, and sums no larger than that, two to a register."""
    return bool(weights.min() > -128) and 257 * largest < 1 << 31


def four_scales(mult: Ints, shift: Ints, more: int) -> NDArray[np.int32]:
    """Multiplier and shift of four outputs in a row, one row where all are the same. Every other output's sum comes
    shifted left by `more`."""
    fours = [np.pad(a, (0, -len(a) % 4), "edge").reshape(-1, 4) for a in (wrap32(mult), shift)]
    rows = np.stack([fours[0], np.minimum(fours[1] + more * (np.arange(4, dtype=np.int64) % 2), 31)], axis=2).astype(
        np.int32
    )
    return rows[:1] if np.all(rows == rows[0]) else rows


def four_outputs(matrix: Ints, start: Ints, *, wide: bool) -> Ints:
    """Four outputs in a row: where their sums start, then words of two weights of each output, or pair of outputs, in
    turn."""
    starts = pad_to(start, 0, 4).reshape(-1, 4)
    lanes = pad_to(pad_to(matrix, 0, 4), 1, DEPTH)
    if not wide:
        starts[:, 1::2] = starts[:, 0::2] + 256 * starts[:, 1::2]
        lanes = lanes[0::2] + 256 * lanes[1::2]
    ordered = lanes.reshape(len(lanes), -1, 4)[:, :, [0, 2, 1, 3]]
    pairs = ordered.reshape(len(starts), len(lanes) // len(starts), -1, 2).transpose(0, 2, 1, 3)
    words = (pairs[..., 0] & 0xFFFF | pairs[..., 1] << 16).reshape(len(starts), -1)
    return np.concatenate([starts, words], axis=1)


def layer_of(view: View) -> Matrix:
    """The matrix of a fully connected layer."""
    return Matrix(view.constant(1), view.once(channels_of).rows, view.once(vector_sums))


def window_of(view: View) -> Matrix:
    """The matrix of a convolution; each row of a window is padded to words, where it has several."""
    op, w, channels = view.the(Conv2D), view.constant(1), view.once(gemm_params)["channel"]
    assert isinstance(channels, Structs)
    lines = w.reshape(w.shape[0], w.shape[1], -1)
    padded = lines if op.pointwise else pad_to(lines, 2, 4)
    return Matrix(padded.reshape(len(w), -1), channels.rows, sums_of(view))


def _fully_connected(view: View, end: str, wide: bool) -> Packed | Refusal:
    if int8_range(view.the(FullyConnected).activation, view.output) != (-128, 127):
        return CUTS_OFF
    channels, depth = view.constant(1).shape
    packed = view.once(layer_of).packed(end, units_of(view.input.shape, depth), wide=wide)
    worse = ("fully_connected",) if not wide and channels >= 4 else ()
    return packed if isinstance(packed, Refusal) else replace(packed, beats=worse)


def _conv(view: View, end: str, wide: bool) -> Packed | Refusal:
    """A matrix times a vector for each pixel, where a row has few and no window crosses the edge of the image."""
    op, y = view.the(Conv2D), view.output
    v, h = op.vertical, op.horizontal
    if v.before or v.after or h.before or h.after or h.dilation > 1:
        return Refusal("windows are padded or dilated")
    if y.shape[2] > (MOST_PIXELS if op.pointwise else 1):
        return Refusal("it is for rows of one pixel, or two")
    if int8_range(op.activation, y) != (-128, 127):
        return CUTS_OFF
    matrix = view.once(window_of)
    if op.pointwise:
        return matrix.packed(end, units_of(y.shape, y.shape[3]), wide=wide)
    window = window_params(view)["rows"]
    assert isinstance(window, dict)
    return matrix.by_rows(end, window, h.kernel * view.input.shape[3], wide=wide)


KERNELS = tuple(
    Kernel(
        f"fully_connected4{'_wide' if wide else ''}{end}",
        (kind,),
        INT8,
        partial(pack, end=end, wide=wide),
        header="fully_connected4_s8",
        isa=DSP,
        lanes=4,
    )
    for kind, pack in ((FullyConnected, _fully_connected), (Conv2D, _conv))
    for wide in (False, True)
    for end in ("", ROOMY, *(f"_sparse{block}" for block in BLOCKS))
)
