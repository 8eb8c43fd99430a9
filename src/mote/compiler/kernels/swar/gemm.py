"""Convolutions with two products in one multiplication (SWAR): packed weights and constants of `mote_swar_s8.h`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import gcd

import numpy as np

from mote.compiler.kernels.contract import (
    INT8,
    Call,
    Entry,
    Instance,
    Kernel,
    Knob,
    Needs,
    Packed,
    Params,
    Price,
    Refusal,
    Structs,
    Value,
    View,
    aligned,
    units_of,
)
from mote.compiler.kernels.pack.params import output_params
from mote.compiler.kernels.pack.requantize.even import TO_EVEN
from mote.compiler.kernels.pack.requantize.scalar import ScalarConstants, long_product, short_product
from mote.compiler.kernels.pack.weights.swar import GROUP, Spill, SwarWeights, swar
from mote.compiler.kernels.pack.weights.swar import PIXELS as PIXEL_WORDS
from mote.compiler.kernels.portable.windows.conv import patch_params, sums_of
from mote.compiler.kernels.scalar import winograd
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.graph.ranges import Range
from mote.ir.graph.tensor import Shape
from mote.ir.ops.common import bias_values, int8_range
from mote.ir.ops.matrix.accumulators import Accumulators
from mote.ir.ops.windows.conv import Conv2D

CUTS_OFF = Refusal("the activation cuts off more than int8 does")
OVERFLOWS = Refusal("a sum may leave 32 bits")
Packer = Callable[..., Packed | Refusal]
PIXELS = 4
"""Pixels that are computed at once."""
SHORT = 16
"""Output rows with fewer pixels than this are computed several at once, if they are not a multiple of four."""


@dataclass(frozen=True)
class CoreProducts:
    """Widening multiplication of a core, which decides how sums are requantized."""

    suffix: str
    """Suffix of the names of kernels and forms of requantization."""
    constants: Callable[[Accumulators], ScalarConstants]
    words_anywhere: bool
    """Whether unaligned words can be loaded."""


LONG = CoreProducts("", long_product, True)
"""64-bit products, as Armv7-M has."""
SHORT_PRODUCT = CoreProducts("32", short_product, False)
"""32-bit products, as Armv6-M has."""


@dataclass(frozen=True, eq=False)
class Stream:
    """All weights and constants of a layer in the order in which the kernel reads them."""

    form: str
    words: Ints
    again: Ints
    """Shape [slow channels, fields of `mote_swar_again_t`]: channels without exact constants, which are recomputed step
    by step."""
    density: float


@dataclass(frozen=True, eq=False)
class Layer:
    """Packed weights and requantization constants of a layer's channels."""

    sums: Accumulators
    starts: Ints
    """Initial values of the sums."""
    weights: SwarWeights
    constants: ScalarConstants


NO_CONSTANTS = Refusal("a channel has no constants of requantization")


def layer(view: View, products: CoreProducts) -> Layer | Refusal:
    """Pack a layer's weights for two products in one multiplication, with requantization constants."""
    sums = sums_of(view)
    if not sums.fits.all():
        return OVERFLOWS
    constants = products.constants(sums)
    if sums.even and constants.slow.any():
        return TO_EVEN
    matrix = view.constant(1).astype(np.int64).reshape(len(constants.offset), -1)
    matrix[sums.constant] = 0
    bias = bias_values(view.op.tensor(view.graph, 2), len(matrix)) - view.input.zero_point * matrix.sum(
        axis=1, dtype=np.int64
    )
    starts = np.where(sums.constant, 0, bias + constants.offset)
    return Layer(sums, starts, swar(matrix, PIXEL_WORDS, _inputs(view)), constants)


def _stream(view: View, products: CoreProducts, *, joined: bool = False) -> Stream | Refusal:
    channels = layer(view, products)
    if isinstance(channels, Refusal):
        return channels
    sums, weights, constants = channels.sums, channels.weights, channels.constants
    if joined and constants.slow.any():
        return NO_CONSTANTS
    packed = weights.bytes if joined else weights.words
    parts = [
        np.concatenate([[start], words, left_over(spills), rest])
        for start, words, spills, rest in zip(channels.starts, packed, weights.spills, constants.rows, strict=True)
    ]
    begins = np.cumsum([0, *map(len, parts)])[:-1]
    slow = np.flatnonzero(constants.slow)
    again = np.stack([slow, begins[slow], sums.mult[slow], -sums.shift[slow] - 1], axis=1)
    form = ("linear" if sums.linear else "plain") + products.suffix
    return Stream(f"joined_{form}" if joined else form, np.concatenate(parts), again, weights.density)


def _inputs(view: View) -> Range:
    """Value range of each input of a window, including padding."""
    x, op = view.input, view.the(Conv2D)
    ends, taps = view.graph.ranges[x.id], op.vertical.kernel * op.horizontal.kernel
    low, high = np.minimum(ends.low, x.zero_point), np.maximum(ends.high, x.zero_point)
    return Range(*(np.tile(np.broadcast_to(end, x.shape[3:]), taps) for end in (low, high)))


def left_over(spills: list[Spill]) -> Ints:
    """Serialize products that would overflow a packed sum: their number, then the input offset and weight word of
    each."""
    return np.array([len(spills), *(number for spill in spills for number in spill)], np.int64)


WORDS, JOINED = "words", "joined"
"""Values of the knob `weights`: two bytes for each weight, or one."""
JOINED_GROUP = 48
"""Bytes of the inputs of a group of four pixels with `JOINED` weights."""
JOINED_HEADER = "joined_s8"


def knobs(view: View, *, pointwise: bool) -> dict[str, tuple[Knob, ...]]:
    """The knobs of a layer: `weights`, and `tile` where Winograd's algorithm fits the shape."""
    if for_pointwise(view) != pointwise:
        return {}
    return {"weights": (WORDS, JOINED)} | ({} if pointwise else winograd.knobs(view))


def _pack(
    view: View,
    products: CoreProducts,
    *,
    pointwise: bool,
    tile: int = winograd.DIRECT,
    weights: str = WORDS,
) -> Packed | Refusal:
    if tile == winograd.TILE:
        return (
            Refusal("tiles have weights of their own")
            if weights == JOINED
            else winograd.pack(view, tiles=2, lanes=2, short=True)
        )
    if weights == JOINED:
        packed = pack(view, products, view.once(_joined), pointwise=pointwise)
        return packed if isinstance(packed, Refusal) else _with_bytes(view, packed, pointwise=pointwise)
    return pack(view, products, view.once(_STREAMS[products.suffix]), pointwise=pointwise)


def _joined(view: View) -> Stream | Refusal:
    return _stream(view, SHORT_PRODUCT, joined=True)


def _with_bytes(view: View, packed: Packed, *, pointwise: bool) -> Packed:
    """The kernel for one-byte weights, with scratch for inputs in their packed form after the widened ones and for a
    window in between."""
    form = packed.name.rpartition("_")[2]
    scratch = _scratch(view) + (GROUP + JOINED_GROUP) * groups_of(view)
    kind = "POINTWISE" if pointwise else "CONV"
    instances = Instance("MOTE_JOINED", (form,)), Instance(f"MOTE_{kind}_JOINED", (form,))
    return replace(packed, needs=Needs(scratch=scratch), instances=instances, headers=(JOINED_HEADER,))


def for_pointwise(view: View) -> bool:
    """Whether the layer is a 1x1 convolution with channels in fours."""
    return view.the(Conv2D).pointwise and view.input.shape[3] % GROUP == 0


def pack(view: View, products: CoreProducts, stream: Stream | Refusal, *, pointwise: bool) -> Packed | Refusal:
    """The kernel for packed weights; a refusal if the layer does not suit it."""
    op, y = view.the(Conv2D), view.output
    if for_pointwise(view) != pointwise:
        return Refusal(
            "it is for windows of one pixel and channels in fours" if pointwise else "it is a 1x1 convolution"
        )
    if int8_range(op.activation, y) != (-128, 127):
        return CUTS_OFF
    if isinstance(stream, Refusal):
        return stream
    return _pointwise(view, stream) if pointwise else _conv(view, stream, products)


def _gemm(view: View, stream: Stream) -> Params:
    """Parameters `mote_swar_t`."""
    op, y = view.the(Conv2D), view.output
    again: Value = Structs("mote_swar_again_t", stream.again) if len(stream.again) else 0
    return {
        "groups": groups_of(view),
        "channels": y.shape[3],
        "pixel": y.shape[3],
        "stream": wrap32(stream.words).astype(np.int32),
        "slow": len(stream.again),
        "again": again,
        "output": output_params(op.activation, y),
    }


def groups_of(view: View) -> int:
    """Groups of four inputs of a window."""
    depth: int = view.the(Conv2D).depth(view.graph)
    return -(-depth // GROUP)


def _scratch(view: View) -> int:
    """Scratch bytes for the widened inputs of four pixels."""
    return 32 * groups_of(view)


def _price(stream: Stream) -> Price:
    return Price(tile=(1, PIXELS), whole_tiles=True, density=stream.density)


def _pointwise(view: View, stream: Stream) -> Packed:
    y, name = view.output.shape, f"pointwise_swar_{stream.form}"
    return Packed(
        name,
        {"width": y[2], "gemm": _gemm(view, stream)},
        Entry(Call.FLAT, units_of(y, y[3]), rows=f"{name}_rows" if y[0] == 1 else "", group=_group(y)),
        Needs(scratch=_scratch(view)),
        _price(stream),
        (Instance("MOTE_POINTWISE_SWAR", (stream.form,)),),
    )


def _conv(view: View, stream: Stream, products: CoreProducts) -> Packed:
    op, x, y, name = view.the(Conv2D), view.input.shape, view.output.shape, f"conv_swar_{stream.form}"
    words = op.horizontal.kernel * x[3] % GROUP == 0 and op.horizontal.dilation == 1
    direct = words and (products.words_anywhere or x[3] % GROUP == 0)
    several = y[0] == 1 and op.vertical.dilation == 1
    return Packed(
        name,
        {"patch": patch_params(view), "gemm": _gemm(view, stream), "direct": int(direct)},
        Entry(
            Call.ROWS,
            row=f"{name}_row",
            rows=f"{name}_rows" if several else "",
            taps=op.vertical.kernel,
            group=_group(y) if several else 1,
        ),
        Needs(scratch=_scratch(view) + aligned(GROUP * groups_of(view))),
        _price(stream),
        (Instance("MOTE_CONV_SWAR", (stream.form,)),),
    )


def _group(shape: Shape) -> int:
    """Output rows that are computed at once: several where blocks of four pixels continue in the next row of an
    image."""
    return PIXELS // gcd(shape[2], PIXELS) if shape[0] == 1 and shape[2] < SHORT else 1


_STREAMS = {a.suffix: partial(_stream, products=a) for a in (LONG, SHORT_PRODUCT)}


def kernels(
    products: CoreProducts, isa: str, ending: str = "", pack: Packer = _pack, header: str = "swar_s8"
) -> tuple[Kernel, ...]:
    """Catalogue entries for an instruction set; `ending`: suffix of the kernels' names."""
    turned = products is SHORT_PRODUCT and pack is _pack
    return tuple(
        Kernel(
            f"{kind}_{ending or f'swar{products.suffix}'}",
            (Conv2D,),
            INT8,
            partial(pack, products=products, pointwise=kind == "pointwise"),
            header=header,
            isa=frozenset({isa}),
            knobs=partial(knobs, pointwise=kind == "pointwise") if turned else None,
        )
        for kind in ("pointwise", "conv")
    )
