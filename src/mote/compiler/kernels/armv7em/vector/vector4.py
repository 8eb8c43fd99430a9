"""Matrix-vector products: packed weights and constants of `mote_fully_connected4_s8.h`, for fully connected layers and
convolutions with few pixels."""

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
"""Inputs that an iteration of the inner loop multiplies."""
WORTH_WIDENING = 8
"""Fewest outputs for which widening the inputs once in advance pays off."""
MOST_PIXELS = 2
"""Widest output rows, in pixels: for wider ones, kernels that compute several pixels at once read each weight less
often."""
ROOMY = "_roomy"
"""Name suffix of kernels that widen their inputs once, in scratch memory."""
BLOCKS = (8, 4)
"""Block sizes, in inputs, of the block-sparse kernels; a block has the weights of four outputs."""


class VectorForm(NamedTuple):
    """Variant for widened inputs: name suffix, parameters `mote_fc4_t`, and fraction of weights that are stored."""

    end: str
    params: Params
    density: float = 1.0


@dataclass(frozen=True)
class Vectors:
    """The variants of a layer's kernel with a common name prefix. The first one is dense, the others block-sparse."""

    name: str
    forms: list[VectorForm]
    instances: tuple[Instance, ...] = ()

    def form(self, end: str) -> VectorForm | None:
        return next((form for form in self.forms if form.end == end), None)


@dataclass(frozen=True)
class Matrix:
    """A layer as matrix: weights [outputs, inputs], rows of its `mote_channel_t`, and its accumulators; results are
    clamped to the full int8 range."""

    weights: NDArray[np.int8]
    channel: Ints
    sums: Accumulators

    def packed(self, end: str, vectors: int, *, wide: bool) -> Packed | Refusal:
        """The kernel for `vectors` contiguous input vectors. `end`: empty (inputs are widened as they are read), ROOMY
        (widened once) or the suffix of a block-sparse variant; `wide`: 16-bit weights."""
        variants = self.wide if wide else self.pairs
        if variants is None:
            return NO_CONSTANTS
        channels, inputs = self.weights.shape
        form = variants.form(end or ROOMY)
        if form is None:
            return FEW_ZEROS
        if not end:
            if inputs != self.depth:
                return Refusal(f"the inputs are no multiple of {DEPTH}")
            return Packed(f"{variants.name}_s8", form.params, Entry(Call.FLAT, vectors), instances=variants.instances)
        if end == ROOMY and inputs == self.depth and channels < WORTH_WIDENING:
            return Refusal(f"for fewer than {WORTH_WIDENING} outputs inputs are not worth widening")
        return Packed(
            f"{variants.name}{end}_s8",
            form.params,
            Entry(Call.FLAT, vectors),
            Needs(scratch=2 * self.depth),
            Price(density=form.density),
            variants.instances,
        )

    def by_rows(self, end: str, window: Params, line: int, *, wide: bool) -> Packed | Refusal:
        """The kernel for an input vector in pieces of `line` inputs, one for each window row, each at any address; the
        matrix is padded to words in each piece."""
        if not end:
            return Refusal("inputs in pieces have to be widened")
        variants, taps = self.wide if wide else self.pairs, window["taps"]
        assert isinstance(taps, int)
        form = variants.form(end) if variants else None
        if variants is None or form is None:
            return NO_CONSTANTS if variants is None else FEW_ZEROS
        return Packed(
            f"{variants.name}{end}_rows_s8",
            {"rows": window, "line": line, "vector": form.params},
            Entry(Call.ROWS, row=f"{variants.name}{end}_rows_s8_row", taps=taps),
            Needs(scratch=2 * self.depth),
            Price(density=form.density),
            instances=variants.instances,
        )

    @property
    def depth(self) -> int:
        """Number of inputs, padded to a multiple of DEPTH."""
        inputs = int(self.weights.shape[1])
        return inputs + -inputs % DEPTH

    @cached_property
    def pairs(self) -> Vectors | None:
        """Variants with 8-bit weights, two outputs packed into 16 bits; None: they overflow."""
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
        """Variants with 16-bit weights that include the requantization scale; None: no constants are exact."""
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
        """Dense and block-sparse variants of packed weights (from `four_outputs`), with constants for each four
        outputs."""
        starts, weights = words[:, :4], words[:, 4:]
        forms = [VectorForm(ROOMY, self._params(scale, zip(starts, weights, constants, strict=True)))]
        for block in BLOCKS:
            left = without_zeros(weights.reshape(len(words), self.depth // block, -1), 2 * block, 0)
            if left is not None:
                params = self._params(scale, zip(starts, left.rows, constants, strict=True))
                forms.append(VectorForm(f"_sparse{block}", params, left.density))
        return forms

    def _params(self, scale: NDArray[np.int32] | None, parts: Iterable[tuple[Ints, ...]]) -> Params:
        """Parameters `mote_fc4_t`; `parts`: for each four outputs the initial sums, weights and constants."""
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
    """Whether packed weights w0 + 256 * w1 fit 16 bits, and sums up to `largest`, packed alike, fit 32 bits."""
    return bool(weights.min() > -128) and 257 * largest < 1 << 31


def four_scales(mult: Ints, shift: Ints, more: int) -> NDArray[np.int32]:
    """Multipliers and shifts of each four outputs, or one row if all are equal. Odd outputs' sums are scaled by
    2^more."""
    fours = [np.pad(a, (0, -len(a) % 4), "edge").reshape(-1, 4) for a in (wrap32(mult), shift)]
    rows = np.stack([fours[0], np.minimum(fours[1] + more * (np.arange(4, dtype=np.int64) % 2), 31)], axis=2).astype(
        np.int32
    )
    return rows[:1] if np.all(rows == rows[0]) else rows


def four_outputs(matrix: Ints, start: Ints, *, wide: bool) -> Ints:
    """Packed weights of each four outputs: initial sums, then words of two weights of each output in turn (`wide`), or
    of each pair of outputs."""
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
    """The matrix of a convolution; with windows of several pixels, each row is padded to words."""
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
    beaten = ("fully_connected",) if not wide and channels >= 4 else ()
    return packed if isinstance(packed, Refusal) else replace(packed, beats=beaten)


def _conv(view: View, end: str, wide: bool) -> Packed | Refusal:
    """A convolution as one matrix-vector product for each pixel, for rows of few pixels and unpadded windows."""
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
