"""Convolutions three pixels at a time: packed weights and requantization constants of `mote_gemm3_s8.h`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.armv7em.common import CUTS_OFF, DSP, FEW_ZEROS, NO_CONSTANTS
from mote.compiler.kernels.armv7em.gemm.gemm_assembly import MatrixWeights
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
    View,
    aligned,
    units_of,
)
from mote.compiler.kernels.pack.params import pad_to
from mote.compiler.kernels.pack.planar import Planar
from mote.compiler.kernels.pack.requantize.dsp import narrow, widest
from mote.compiler.kernels.pack.requantize.search import HALF_CHOOSING, searched
from mote.compiler.kernels.pack.weights.sparse import paired, without_zeros
from mote.compiler.kernels.portable.windows.coded_conv import coded
from mote.compiler.kernels.portable.windows.conv import patch_params, sums_of
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.graph.tensor import Shape
from mote.ir.ops.common import bias_values, int8_range
from mote.ir.ops.matrix.accumulators import Accumulators
from mote.ir.ops.windows.conv import Conv2D

WEIGHTS = (MatrixWeights.PAIR, MatrixWeights.WIDE)
BLOCKS = (4, 2)
"""Block sizes, in weights along a sum, of the block-sparse kernels."""

SHORT = 16
"""Output rows with fewer pixels than this are computed three at once."""
MOST_SHIFT = 23
"""Largest requantization shift: with a larger one, zero points overflow a register."""
MOST_OFFSET = 1 << 22
"""Limit of the sum offset of a pair's first channel; a register holds its sum plus 256 times the second channel's
sum."""
TAIL = 28
"""Bytes of scratch after the widened inputs."""


def matrix_of(view: View) -> Ints:
    """Weights [outputs, depth] in the order of the widened inputs: first the whole words of each window row, then the
    remainders of all rows; zero-padded to a multiple of four."""
    w = view.constant(1)
    rows = w.astype(np.int64).reshape(w.shape[0], w.shape[1], -1)
    whole = rows.shape[2] // 4 * 4
    parts = [part.reshape(w.shape[0], -1) for part in (rows[:, :, :whole], rows[:, :, whole:])]
    padded: Ints = pad_to(np.concatenate(parts, axis=1), 1, 4)
    return padded


def bias_of(view: View) -> Ints:
    """The biases, with the input's zero point folded in."""
    matrix: Ints = view.once(matrix_of)
    bias = bias_values(view.op.tensor(view.graph, 2), len(matrix))
    folded: Ints = bias - view.input.zero_point * matrix.sum(axis=1, dtype=np.int64)
    return folded


@dataclass(frozen=True)
class Pairs:
    """Packed weights and requantization constants of pairs of output channels."""

    biases: Ints
    """Shape [pairs, 2]."""
    words: Ints
    """Shape [pairs, depth / 2, words]: two weights of each of the two channels."""
    constants: Ints
    """Shape [pairs, number of constants]."""
    shift: int
    scale: Ints
    """Shape [channels]: the factor by which each channel's sum is scaled; 0: the channel's result is constant."""
    paired: bool = False
    """Whether the register of a pair's second sum also contains the first sum (first + 256 * second)."""

    def stream(self) -> Ints:
        pairs = len(self.words)
        return np.concatenate([self.biases, self.words.reshape(pairs, -1), self.constants], axis=1).reshape(-1)

    def sparse(self, depth: int, offsets: Ints) -> tuple[Ints, float] | None:
        """Block-sparse stream without the blocks of `depth` weights that are zero, and the fraction of blocks that
        remain; None: too few are zero. `offsets`: output offset of each channel. In an odd number of channels, the
        missing partner of the last one repeats its offset."""
        pairs, _, words = self.words.shape
        left = without_zeros(self.words.reshape(pairs, -1, depth // 2 * words), 6 * depth, words)
        if left is None:
            return None
        both = np.append(offsets, offsets[-1])[: 2 * pairs].reshape(pairs, 2)
        rows = zip(self.biases, left.rows, self.constants, both, strict=True)
        stream = np.concatenate([part for row in rows for part in row])
        return np.concatenate([[len(stream)], stream]), left.density


class GemmForm(NamedTuple):
    """Variant of the matrix product: weight format, block sparsity (empty: dense), output layout, requantization
    shift."""

    weights: MatrixWeights
    blocks: str
    outputs: str
    shift: int

    @property
    def stored(self) -> MatrixWeights:
        """The weight format; variants that only differ in requantization constants share it."""
        return MatrixWeights.PAIR if self.weights is MatrixWeights.ONCE else self.weights

    @property
    def kind(self) -> str:
        return f"{self.weights}_{self.blocks}" if self.blocks else self.weights

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.outputs}_{self.shift}"

    @property
    def instance(self) -> Instance:
        if self.blocks:
            return Instance("MOTE_GEMM3_SPARSE", (self.weights, self.blocks, self.outputs, self.shift))
        return Instance("MOTE_GEMM3", (self.weights, self.outputs, self.shift))


def form_of(view: View, weights: MatrixWeights, shift: int, blocks: str = "") -> GemmForm:
    """The variant for a layer; `ONCE`: paired weights whose requantization rounds once, which needs one constant
    more."""
    once = weights is MatrixWeights.PAIR and sums_of(view).once
    return GemmForm(MatrixWeights.ONCE if once else weights, blocks, outputs_of(view), shift)


class Stream(NamedTuple):
    """Weights and requantization constants in the order in which the kernel reads them, and the fraction of blocks of
    weights that are stored."""

    form: GemmForm
    words: Ints
    density: float = 1.0
    pairs: Pairs | None = None
    """The unserialized parts, for dense streams only."""


def _dense(view: View, weights: MatrixWeights) -> Stream | Refusal:
    packed = PACKERS[weights](view.once(matrix_of), view.once(bias_of), sums_of(view), isinstance(view.writes, Planar))
    if packed is None:
        return NO_CONSTANTS
    return Stream(form_of(view, weights, packed.shift), packed.stream(), pairs=packed)


def _sparse(view: View, weights: MatrixWeights, block: int) -> Stream | Refusal:
    """Block-sparse stream; channels are reordered so that pairs have zero blocks at the same positions."""
    dense = view.once(DENSE[weights])
    if isinstance(dense, Refusal):
        return dense
    matrix, bias, sums = view.once(matrix_of), view.once(bias_of), sums_of(view)
    order = paired((_words(matrix) != 0).reshape(len(matrix), -1, block // 2).any(axis=2))
    if order is None:
        return FEW_ZEROS
    packed = PACKERS[weights](matrix[order], bias[order], sums.some(order), isinstance(view.writes, Planar))
    if packed is None:
        return NO_CONSTANTS
    left = packed.sparse(block, order * (view.writes.planes[0] or 1))
    if left is None:
        return FEW_ZEROS
    return Stream(form_of(view, weights, packed.shift, f"sparse{block}"), *left)


def outputs_of(view: View) -> str:
    return "planar" if isinstance(view.writes, Planar) else "linear" if sums_of(view).linear else "nhwc"


def refused_of(view: View, *, pointwise: bool) -> Refusal | None:
    op, x, y = view.the(Conv2D), view.input, view.output
    if (op.pointwise and x.shape[3] % 4 == 0) != pointwise:
        return Refusal(
            "it is for windows of one pixel and channels in fours" if pointwise else "pointwise3 is for this"
        )
    if int8_range(op.activation, y) != (-128, 127):
        return CUTS_OFF
    if isinstance(view.writes, Planar) and y.zero_point != -128:
        return Refusal("planar rows want a zero point of -128")
    return None


def _common(view: View, stream: Stream) -> tuple[Params, Price]:
    """Parameters `mote_gemm3_t`, and the cost factors, of pointwise and other convolutions alike."""
    y, depth = view.output.shape, view.once(matrix_of).shape[1]
    gemm: Params = {
        "depth": depth,
        "channels": y[3],
        "pixel": y[3],
        "planes": view.writes.planes[0],
        "before": view.writes.planes[1],
        "stream": wrap32(stream.words).astype(np.int32),
    }
    return gemm, Price(tile=(1, 3), whole_tiles=True, density=stream.density)


def out_row(view: View) -> int:
    """Elements from one output row to the next."""
    y = view.output.shape
    return (view.writes.planes[0] or y[2]) * y[3]


def _pointwise(view: View, stream: Stream) -> Packed:
    x, y, name = view.input.shape, view.output.shape, stream.form.name
    gemm, price = _common(view, stream)
    params: Params = {"width": y[2], "in_channels": x[3], "in_stride": x[2] * x[3]}
    params |= {"out_stride": out_row(view), "gemm": gemm}
    planar, rows = isinstance(view.writes, Planar), f"pointwise3_{name}_rows" if y[0] == 1 else ""
    call, units = (Call.ROWS, 0) if planar else (Call.FLAT, units_of(y, y[3]))
    return Packed(
        f"pointwise3_rows_{name}" if planar else f"pointwise3_{name}",
        params,
        Entry(call, units, rows=rows, group=_group(y)),
        Needs(scratch=_scratch(view), writes=view.writes),
        price,
        (stream.form.instance,),
    )


def _conv(view: View, stream: Stream) -> Packed:
    op, x, name = view.the(Conv2D), view.input.shape, stream.form.name
    gemm, price = _common(view, stream)
    patch = patch_params(view)
    window = patch["rows"]
    assert isinstance(window, dict)
    patch["rows"] = window | {"out_stride": out_row(view)}
    line, taps = op.horizontal.kernel * x[3], op.vertical.kernel
    scratch = _scratch(view) + 3 * aligned(taps * (line % 4)) + aligned(line) + taps * line
    return Packed(
        f"conv3_{name}",
        {"patch": patch, "gemm": gemm},
        Entry(
            Call.ROWS,
            row=f"conv3_{name}_row",
            rows=f"conv3_{name}_rows" if view.output.shape[0] == 1 and op.vertical.dilation == 1 else "",
            taps=taps,
            group=_group(view.output.shape),
        ),
        Needs(scratch=aligned(scratch), writes=view.writes),
        price,
        (stream.form.instance,),
    )


def _scratch(view: View) -> int:
    """Scratch bytes for the widened inputs of three pixels."""
    return 6 * int(view.once(matrix_of).shape[1]) + TAIL


def _group(shape: Shape) -> int:
    """Output rows that are computed at once: 3 where blocks of three pixels continue in the next row, because rows are
    short and not a multiple of three; else 1."""
    return 3 if shape[0] == 1 and shape[2] % 3 and shape[2] < SHORT else 1


def _words(values: Ints) -> Ints:
    """Pack 16-bit values [.., depth] two to a word, in the order that widening bytes gives: elements 0 and 2, then 1
    and 3 of each four."""
    fours = values.reshape(*values.shape[:-1], -1, 4) & 0xFFFF
    words = np.stack([fours[..., 0] | fours[..., 2] << 16, fours[..., 1] | fours[..., 3] << 16], axis=-1)
    return words.reshape(*values.shape[:-1], -1)


def _pairs(values: NDArray[Any]) -> NDArray[Any]:
    """Group values [channels, ..] to [pairs, 2, ..]; an odd last channel is paired with zeros."""
    padded = pad_to(values, 0, 2)
    return padded.reshape(-1, 2, *values.shape[1:])


def _wide(matrix: Ints, bias: Ints, sums: Accumulators, planar: bool) -> Pairs | None:
    requantization = widest(sums, matrix)
    if requantization is None:
        return None
    if planar:
        requantization = requantization.unsigned()
    biases, words = _pairs(requantization.biases(bias)), _pairs(_words(requantization.scaled(matrix)))
    constants = _pairs(requantization.constants(sums.linear))
    scale = requantization.scaled(np.ones(len(bias), np.int64))
    return Pairs(biases, words.transpose(0, 2, 1), constants.reshape(len(words), -1), requantization.shift, scale)


def _pair(matrix: Ints, bias: Ints, sums: Accumulators, planar: bool) -> Pairs | None:
    """Pack pairs of channels whose sums share a register (first + 256 * second).

    The first channel is requantized like LiteRT's reference, with its own shift, or, if results are rounded once, with
    searched constants that give equal results. The second channel, whose sums are scaled by 256, is requantized like
    wide weights, but with its own shift. One word holds both shifts in a byte each. If results are rounded twice, its
    other half holds the first channel's rounding term, halved, because the last step divides by two.
    """
    constant, right = sums.constant, -sums.shift
    fits = (right >= 1) & (right <= MOST_SHIFT) & (np.maximum(np.abs(sums.low), np.abs(sums.high)) < 1 << 22)
    weights = _pairs(np.where(constant[:, None], 0, matrix))
    both = weights[:, 0] + 256 * weights[:, 1]
    if not np.all(fits | constant) or both.max(initial=0) > 32767 or both.min(initial=0) < -32768:
        return None
    first, second = _first(sums, planar), _second(sums, planar)
    if first is None or second is None:
        return None
    biases = _pairs(np.where(constant, 0, bias))
    alone = biases[:, 0] + _pairs(first[:, 0])[:, 0]
    biases = np.stack([alone, alone + 256 * biases[:, 1] + _pairs(second[:, 0])[:, 1]], axis=1)
    mult, add, right = _pairs(first[:, 1:])[:, 0].T
    *other, further = _pairs(second[:, 1:])[:, 1].T
    one = [mult, add, right | further << 8]
    if not sums.once:
        shift = np.maximum(right, 1) - 1
        one = [mult, shift | further << 8 | (add >> shift) << 16]
    scale = np.where(constant, 0, np.where(np.arange(len(bias), dtype=np.int64) % 2, 256, 1))
    return Pairs(biases, _words(both)[:, :, None], np.stack([*one, *other], axis=1), 0, scale, paired=True)


def _first(sums: Accumulators, unsigned: bool) -> Ints | None:
    """Requantization constants [channels, 4] of the first channel of each pair: sum offset, twice the multiplier minus
    2^32, rounding term, shift."""
    right = np.where(sums.constant, 1, -sums.shift)
    value, more = sums.outputs(sums.low) + 128 * unsigned, 128 * unsigned << right
    offset, mult, add = 0 * right, sums.mult, (1 << (right - 1)) + (sums.zero << right)
    if sums.once:
        rows = _searched_first(sums, right)
        if rows is None:
            return None
        offset, mult, add = rows[:, 0], rows[:, 1], rows[:, 2]
    constants = np.stack([offset, 2 * mult - (1 << 32), add + more, right], axis=1)
    return np.where(sums.constant[:, None], np.stack([0 * value, 0 * value, value << 1, right], axis=1), constants)


def _searched_first(sums: Accumulators, right: Ints) -> Ints | None:
    """Search constants [channels, 4] for results that are rounded once, shift by shift; None: none are exact, or a sum
    offset exceeds the range that the pair's second sum leaves."""
    rows, active = np.zeros((len(right), 4), np.int64), ~sums.constant
    for shift in np.unique(right[active]):
        these = active & (right == shift)
        constants = searched(sums.some(these), np.ones(these.sum(), np.int64), int(shift), HALF_CHOOSING)
        if constants is None or np.any(constants[:, 1] < 1 << 30) or np.any(np.abs(constants[:, 0]) >= MOST_OFFSET):
            return None
        rows[these] = constants
    return rows


def _second(sums: Accumulators, unsigned: bool) -> Ints | None:
    """Requantization constants of the second channel of each pair: offset of the sum times 256, multiplier, rounding
    term, `fix` for linear outputs, shift."""
    shifts = np.clip(-sums.shift, 1, MOST_SHIFT - 7) + 7
    rows = np.zeros((len(shifts), 4 + sums.linear), np.int64)
    for shift in np.unique(shifts):
        these = shifts == shift
        requantization = narrow(sums.some(these), int(shift), np.full(these.sum(), 8, np.int64), fixed=True)
        if requantization is None:
            return None
        requantization = requantization.unsigned() if unsigned else requantization
        rows[these] = np.column_stack([requantization.offset, requantization.constants(sums.linear), shifts[these]])
    return rows


PACKERS: dict[MatrixWeights, Callable[[Ints, Ints, Accumulators, bool], Pairs | None]] = {
    MatrixWeights.PAIR: _pair,
    MatrixWeights.WIDE: _wide,
}
DENSE: dict[MatrixWeights, Callable[[View], Stream | Refusal]] = {w: partial(_dense, weights=w) for w in WEIGHTS}


def _kernel(weights: MatrixWeights, block: int | None, *, pointwise: bool) -> Kernel:
    def pack(view: View) -> Packed | Refusal:
        if refused := refused_of(view, pointwise=pointwise):
            return refused
        stream = view.once(DENSE[weights]) if block is None else _sparse(view, weights, block)
        if isinstance(stream, Refusal):
            return stream
        return _pointwise(view, stream) if pointwise else _conv(view, stream)

    name = f"{'pointwise3' if pointwise else 'conv3'}_{weights}" + ("" if block is None else f"_sparse{block}")
    return Kernel(name, (Conv2D,), INT8, pack, header="gemm3_s8", isa=DSP, lanes=2, writes=(Planar,))


KERNELS = tuple(
    _kernel(weights, block, pointwise=pointwise)
    for pointwise in (True, False)
    for weights in WEIGHTS
    for block in (None, *BLOCKS)
)
CODED = tuple(entry for kernel in KERNELS if kernel.name.endswith("_pair") for entry in coded(kernel))
