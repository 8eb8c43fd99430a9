"""3x3 convolutions by Winograd's algorithm: transformed weights and requantization constants of `mote_winograd*_s8.h`.

Every form is exact: intermediate sums may wrap around, but the inverse transform yields the exact sum times a constant.
Whether that fits 32 bits, and whether it can be requantized exactly, is checked here for the given weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import gcd

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.armv7em.common import CUTS_OFF, DSP
from mote.compiler.kernels.armv7em.gemm.winograd_assembly import MOST_ORDERED, MOST_PAIRS, jumpless_share, products
from mote.compiler.kernels.armv7em.ordering.knob import order_knob
from mote.compiler.kernels.armv7em.ordering.schedule import Order, ordered
from mote.compiler.kernels.contract import (
    INT8,
    Biases,
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
)
from mote.compiler.kernels.pack.learned_bias import learning
from mote.compiler.kernels.pack.params import pad_to, window_params
from mote.compiler.kernels.pack.requantize.dsp import narrow
from mote.compiler.kernels.pack.requantize.search import searched
from mote.compiler.kernels.portable.windows.conv import sums_of
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.ops.common import BIAS, bias_values, int8_range, learned
from mote.ir.ops.matrix.accumulators import Accumulators
from mote.ir.ops.windows.conv import Conv2D

UNROLLED = "_unrolled"
"""Name suffix of kernels with code for one number of channels."""
LANES = 4
"""Tiles that are computed at once."""


@dataclass(frozen=True)
class WinogradForm:
    """A variant of Winograd's algorithm: tile size, transform and its constants."""

    header: str
    size: int
    """Outputs of a tile in each direction."""
    matrix: Ints
    """Transform of the weights in one direction: [transformed, 3]."""
    scale: int
    """Factor by which the inverse transform scales sums."""
    stride: int = 1
    offset: int = 0
    """Offset that is added to inputs before their transform."""
    shifts: tuple[int, ...] = (11, 12, 10, 13, 14, 9, 15, 16, 17, 8, 18, 7)
    """Requantization shifts in the order in which they are tried, equal for all layers: layers with equal shifts share
    code."""

    order: tuple[int, ...] = ()
    """Order in which the transformed weights are stored; positions are numbered row by row."""
    positions: int = 0
    """Positions of the transformed inputs: more than of the weights if some inputs are used twice."""
    sums: int = 0
    """Sums that the matrix product leaves for each tile."""
    control: int = 2
    """Control words before each run of transformed inputs."""
    columns: int = 0
    """Words of scratch for inputs that are transformed in one direction."""
    patch: int = 0
    """Pixels of the buffer for windows at the image's edges."""
    keep: tuple[int, int] | None = None
    """Accumulation pattern of the positions in `order`: a bit mask of those that add to the previous position's sums,
    and the period after which the mask repeats. None: no specialized code."""

    def scratch(self, width: int, channels: int) -> int:
        """Scratch bytes, in the layout that the header defines."""
        pairs = channels // 2
        runs = (pairs % 8 > 0) + (pairs % 16 >= 8) + pairs // 16
        position = 2 * channels + self.control * runs
        inputs = self.control + self.positions * position
        words = 8 * self.sums + 2 + self.columns + 2 * self.size**2 + inputs
        return 4 * words + (width + self.patch) * channels


FORMS = {
    "2x2": WinogradForm(
        "winograd2_s8",
        size=2,
        matrix=np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]], np.int64),
        scale=4,
        order=tuple(4 * row + column for row in (1, 0, 2, 3) for column in (1, 2, 0, 3)),
        positions=16,
        sums=16,
        columns=80,
        keep=(0b0110, 4),
    ),
    "4x4": WinogradForm(
        "winograd4_s8",
        size=4,
        matrix=np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 6]], np.int64),
        scale=576,
        offset=128,
        shifts=(15, 14, 13, 16, 12, 17, 11, 18, 10, 9, 8),
        order=tuple(6 * row + column for column in (1, 0, 2, 3, 4, 5) for row in (1, 2, 0, 3, 4, 5)),
        positions=36,
        sums=36,
        columns=216,
        keep=(0b010110, 6),
    ),
    "stride2": WinogradForm(
        "winograd_stride2_s8",
        size=2,
        matrix=np.array([[1, 0, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1]], np.int64),
        scale=1,
        stride=2,
        order=tuple(range(16)),
        positions=25,
        sums=9,
        control=3,
        patch=25,
    ),
}


def pack(view: View, f: WinogradForm, shift: int | None = None) -> Packed | Refusal:
    """The kernel for a variant of the algorithm; `shift`: try only this requantization shift."""
    if refused := _refused(view, f):
        return refused
    apart = BIAS in learned(view.graph, view.op)
    x, weights, sums = view.input, view.constant(1).astype(np.int64), sums_of(view)
    zero = x.zero_point + f.offset
    bias = bias_values(view.op.tensor(view.graph, 2), len(weights)) - zero * weights.sum(axis=(1, 2, 3), dtype=np.int64)
    every = np.einsum("pi,qj,oijc->opqc", f.matrix, f.matrix, pad_to(weights, 3, 4))
    transformed = every.reshape(len(weights), len(f.matrix) ** 2, -1)[:, f.order]
    make = _scaled if f.scale.bit_count() == 1 else _divided
    tried = f.shifts if shift is None else (shift,)
    chosen = next((constants for s in tried if (constants := make(f, transformed, bias, sums, s))), None)
    if chosen is None:
        return Refusal("its transformed weights do not fit 16 bits, or no constants requantize its sums exactly")
    packed = _packed(view, f, "linear" if sums.linear else "relu", chosen)
    return _apart(packed, f, chosen) if apart else packed


def pack_unrolled(view: View, f: WinogradForm, order: Order = Order.WRITTEN) -> Packed | Refusal:
    """The kernel with code specialized to the number of input channels; `order`: schedule of its instructions."""
    if learned(view.graph, view.op):
        return Refusal("it is for biases that do not learn")
    packed = view.once(KERNELS_OF[f.header].bind)
    if isinstance(packed, Refusal):
        return packed
    channels = -(-view.input.shape[3] // 4) * 4
    most = 2 * (MOST_ORDERED if order else MOST_PAIRS)
    if channels > most:
        return Refusal(f"it is for at most {most} input channels")
    assert f.keep is not None
    end = f"_{order}" if order else ""
    form, name = f.header.removesuffix("_s8"), f"{packed.name}_{channels}{end}"
    text = ordered(products(channels // 2, f.positions, *f.keep), order)
    code = Instance("MOTE_WINOGRAD_CODE", (f"{form}_{channels}{end}",), text)
    calls = Instance("MOTE_WINOGRAD_UNROLLED", (form, packed.name, channels, f.size))
    if order:
        calls = Instance("MOTE_WINOGRAD_ORDERED", (form, packed.name, channels, order, f.size))
    return replace(
        packed,
        name=name,
        family="",
        entry=replace(packed.entry, row=f"{name}_row", rows=f"{name}_rows" if packed.entry.rows else ""),
        price=replace(packed.price, density=jumpless_share(channels // 2)),
        instances=(*packed.instances, code, calls),
    )


@dataclass(frozen=True)
class Transformed:
    """Transformed weights, biases and requantization constants of a layer."""

    shift: int
    weights: Ints
    bias: Ints
    constants: Ints
    """Shape [channels, 3]: multiplier, rounding term, `fix`."""
    scale: Ints
    """Factor by which each channel's sums are scaled; 0: the channel's result is constant."""


def _scaled(f: WinogradForm, weights: Ints, bias: Ints, sums: Accumulators, shift: int) -> Transformed | None:
    """Constants for variants that scale sums by a power of two: the rest of the requantization scale is folded into the
    weights, as far as they fit 16 bits."""
    largest = np.maximum(np.abs(weights).max(axis=(1, 2)), 1)
    most = np.floor(np.log2(32767 * f.scale / largest)).astype(np.int64)
    requantization = narrow(sums, shift, most)
    if requantization is None:
        return None
    used = np.where(requantization.constant, 0, 1)
    more = requantization.scale - (f.scale.bit_length() - 1)
    scaled = used[:, None, None] * weights << np.where(requantization.constant, 0, more)[:, None, None]
    biases = used * ((bias << requantization.scale) + requantization.offset)
    return Transformed(
        shift,
        scaled,
        biases,
        np.stack([requantization.mult, requantization.add, requantization.fix], axis=1),
        used << requantization.scale,
    )


def _divided(f: WinogradForm, weights: Ints, bias: Ints, sums: Accumulators, shift: int) -> Transformed | None:
    """Constants for variants whose scale is not a power of two: the multipliers are divided by it."""
    constant = sums.constant
    bits = np.where(constant, 0, shift + 1 + sums.shift)
    largest = np.maximum(np.abs(sums.low), np.abs(sums.high)) + 2
    fits = (largest * f.scale < 1 << 31) & (bits >= 0) & (sums.mult << np.maximum(bits, 0) < f.scale << 31)
    if not np.all(fits | constant) or np.abs(weights).max() > 32767:
        return None
    rows = searched(sums, np.full(len(bias), f.scale, np.int64), shift)
    if rows is None:
        return None
    biases = np.where(constant, 0, f.scale * bias + rows[:, 0])
    used = np.where(constant, 0, 1)
    return Transformed(shift, used[:, None, None] * weights, biases, rows[:, 1:], used * f.scale)


def _refused(view: View, f: WinogradForm) -> Refusal | None:
    op, x, y = view.the(Conv2D), view.input, view.output
    axes = ((a.kernel, a.stride, a.dilation) for a in (op.vertical, op.horizontal))
    if any(axis != (3, f.stride, 1) for axis in axes):
        return Refusal(f"it is for windows of 3x3 with a stride of {f.stride}")
    fours = x.shape[3] % 4 == 0 or (x.shape[3] % 4 == 3 and f.stride == 1)
    if not fours or y.shape[3] % 2:
        return Refusal("it is for input channels in fours and output channels in pairs")
    if int8_range(op.activation, y) != (-128, 127):
        return CUTS_OFF
    if (y.shape[2] - 1) * f.stride - op.horizontal.before >= x.shape[2]:
        return Refusal("it is for windows that begin inside of the image")
    return None


def _stream(weights: Ints, bias: Ints) -> NDArray[np.int32]:
    """Serialize weights [outputs, positions, inputs] in the order of use: for each pair of outputs their biases, then
    for each position inputs 0 and 2, then 1 and 3 of each four, two 16-bit numbers in a word."""
    outputs, positions, inputs = weights.shape
    fours = weights.reshape(outputs // 2, 2, positions, inputs // 4, 2, 2)
    pairs = fours.transpose(0, 2, 3, 5, 1, 4).reshape(outputs // 2, -1).astype("<i2").view("<i4")
    return np.concatenate([wrap32(bias).reshape(outputs // 2, -1), pairs], axis=1).reshape(-1).astype(np.int32)


def _packed(view: View, f: WinogradForm, kind: str, packed: Transformed) -> Packed:
    x, y = view.input, view.output
    one, tile_rows = y.shape[0] == 1, _tile_rows(y.shape[1], y.shape[2], f.size)
    channels = -(-x.shape[3] // 4) * 4
    params: Params = {
        **window_params(view),
        "in_channels": channels,
        "channels": y.shape[3],
        "in_pixel": x.shape[3],
        "in_zero": x.zero_point,
        "tile_rows": tile_rows,
        "weights": _stream(packed.weights, packed.bias),
        "channel": Structs("mote_winograd_channel_t", wrap32(packed.constants)),
    }
    name = f"{f.header}_{kind}_{packed.shift}"
    return Packed(
        name,
        params,
        Entry(
            Call.ROWS,
            row=f"{name}_row",
            rows=f"{name}_rows" if one else "",
            group=1 if not one else f.size * tile_rows if y.shape[2] < f.size * LANES else f.size,
            taps=3,
        ),
        Needs(scratch=f.scratch(x.shape[2], channels)),
        Price(tile=(f.size, f.size), tile_rows=tile_rows, whole_tiles=True),
        instances=(Instance(f"MOTE_{f.header.upper()}", (kind, packed.shift)),),
    )


def _apart(packed: Packed, f: WinogradForm, chosen: Transformed) -> Packed:
    """The kernel with biases in a separate array, for biases that are trained on the device."""
    name, products = f"{packed.name}_apart", f"winograd_products{'_seeking' if f.control == 3 else ''}"
    wrapper = Instance("MOTE_WINOGRAD_LEARNED", (f.header.removesuffix("_s8"), packed.name, products, f.size))
    entry = packed.entry
    return replace(
        packed,
        name=name,
        params={"layer": packed.params, "biases": wrap32(chosen.bias).astype(np.int32)},
        entry=replace(entry, row=f"{name}_row", rows=f"{name}_rows" if entry.rows else ""),
        instances=(*packed.instances, wrapper),
        biases=Biases("biases", 1, chosen.scale),
    )


def _tile_rows(height: int, width: int, size: int) -> int:
    """Rows of tiles that are computed at once so that no lane idles."""
    return min(LANES // gcd(-(-width // size), LANES), -(-height // size))


def _kernel(f: WinogradForm, way: str = "") -> Kernel:
    name, packer = f.header.removesuffix("_s8"), pack_unrolled if way else pack
    kernel = Kernel(name + way, (Conv2D,), INT8, partial(packer, f=f), header=f.header, isa=DSP, lanes=2, costs=name)
    return replace(kernel, knobs=order_knob) if way else learning(kernel)


KERNELS_OF = {f.header: _kernel(f) for f in FORMS.values()}
KERNELS = (*KERNELS_OF.values(), *(_kernel(f, UNROLLED) for f in FORMS.values() if f.keep))
