"""Convolutions four pixels and three output channels at a time: packed weights and constants of `mote_gemm4x3_s8.h`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

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
    View,
    aligned,
    units_of,
)
from mote.compiler.kernels.pack.requantize.even import TO_EVEN, rounds_to_even
from mote.compiler.kernels.pack.requantize.high import high_words
from mote.compiler.kernels.pack.weights.lanes import spilled
from mote.compiler.kernels.portable.windows.conv import patch_params, sums_of
from mote.compiler.kernels.rv32m.gemm import dot4x3
from mote.compiler.kernels.rv32m.gemm.dot4x3 import blocks
from mote.compiler.kernels.scalar import winograd
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.ops.common import bias_values, int8_range
from mote.ir.ops.windows.conv import Conv2D

RV32M = frozenset({"rv32m"})
GROUP = 4
"""Products that are accumulated in a packed word before its upper half is extracted."""
WORDS, TAIL = 8, 48
"""Scratch bytes of an input's words, and of the state that the kernel stores after them."""
SPILLED = 2.4
"""Cost of a spilled weight (one listed separately because a packed sum would overflow), in products."""
MOST_DEPTH = 1 << 14
"""Most inputs of a window, so that 16-bit lists can index them."""


def stream(weights: Ints) -> NDArray[np.int8]:
    """Weights [channels, inputs] in the order in which the kernel reads them: [blocks][inputs][channels of the
    block]."""
    ends = np.cumsum(blocks(len(weights)))
    return np.concatenate([part.T.reshape(-1) for part in np.split(weights, ends[:-1])]).astype(np.int8)


@dataclass(frozen=True, eq=False)
class Gemm:
    """Parameters `mote_gemm4x3_t`, and the form of requantization."""

    params: Params
    depth: int
    form: str
    spills: float
    """Fraction of weights that are spilled."""

    @property
    def price(self) -> Price:
        return Price(tile=(1, 2), whole_tiles=True, density=1 + SPILLED * self.spills)

    @property
    def instance(self) -> Instance:
        return Instance("MOTE_GEMM4X3", (self.form, f"mote_lanes_byte_{self.form}"))


ONE_BYTE, TWO_BYTES = "bytes", "words"
"""Values of the knob `weights`: one byte each, multiplied with two pixels at once, or two bytes each, multiplied with
two inputs at once."""
ALL, USED = "all", "used"
"""Values of the knob `biases`: as in the model for all channels, or zero for channels whose output is constant."""


def gemm_of(view: View) -> Gemm | Refusal:
    """The matrix product with the biases of all channels."""
    return _gemm_of(view, ALL)


def gemm_of_used(view: View) -> Gemm | Refusal:
    """The matrix product without the biases of channels whose output is constant."""
    return _gemm_of(view, USED)


def _gemm_of(view: View, biases: str) -> Gemm | Refusal:
    """Pack the layer; the input's zero point is folded into the biases."""
    op, w, x = view.the(Conv2D), view.constant(1), view.input
    matrix: Ints = w.reshape(w.shape[0], -1).astype(np.int64)
    channels, depth = matrix.shape
    if channels == 1:
        return Refusal("there is one output channel")
    if depth > MOST_DEPTH:
        return Refusal("sums are too long")
    words = high_words(sums_of(view), int8_range(op.activation, view.output), idle=biases == USED)
    if isinstance(words, Refusal):
        return words
    parts = spilled(matrix, view.graph.ranges[op.inputs[0]], x.zero_point, GROUP)
    bias = bias_values(op.tensor(view.graph, 2), channels) - x.zero_point * matrix.sum(axis=1, dtype=np.int64)
    bias = np.where(words.mult == 0, 0, bias) if biases == USED else bias
    params: Params = {
        "depth": parts.weights.shape[1],
        "channels": channels,
        "pixel": channels,
        "threes": blocks(channels).count(3),
        "twos": blocks(channels).count(2),
        "lo": words.lo,
        "hi": words.hi,
        "weights": stream(parts.weights),
        "channel": words.structs(wrap32(bias)),
        "spill": parts.lists,
    }
    return Gemm(params, parts.weights.shape[1], words.form, float(np.mean(parts.taken != 0)))


def knobs(view: View, *, pointwise: bool) -> dict[str, tuple[Knob, ...]]:
    """The knobs of a layer: `weights`, `tile` where Winograd's algorithm fits the shape, and `biases` if a channel's
    output is constant."""
    if view.the(Conv2D).pointwise != pointwise:
        return {}
    constant = {"biases": (ALL, USED)} if bool(np.any(sums_of(view).constant)) else {}
    return {"weights": (ONE_BYTE, TWO_BYTES)} | winograd.knobs(view) | constant


def pack(
    view: View, *, pointwise: bool, weights: str = ONE_BYTE, tile: int = winograd.DIRECT, biases: str = ALL
) -> Packed | Refusal:
    """The kernel for a layer; `tile`: outputs of a Winograd tile in each direction, or `DIRECT`."""
    op = view.the(Conv2D)
    if rounds_to_even(view):
        return TO_EVEN
    if op.pointwise != pointwise:
        return Refusal("it is for windows of one pixel" if pointwise else "pointwise4x3 is for windows of one pixel")
    if (biases == USED) + (tile == winograd.TILE) + (weights == TWO_BYTES) > 1:
        return Refusal("each of these knobs is for kernels in which the others have their defaults")
    if weights == TWO_BYTES:
        return dot4x3.pack(view)
    if tile == winograd.TILE:
        return winograd.pack(view, tiles=4, lanes=2 if view.output.shape[3] % 4 else 4, short=False)
    gemm = view.once(gemm_of if biases == ALL else gemm_of_used)
    if isinstance(gemm, Refusal):
        return gemm
    y, scratch = view.output.shape, WORDS * gemm.depth + TAIL
    if pointwise:
        return Packed(
            f"pointwise4x3_{gemm.form}",
            {"in_channels": view.input.shape[3], "gemm": gemm.params},
            Entry(Call.FLAT, units_of(y, y[3])),
            Needs(scratch),
            gemm.price,
            (gemm.instance,),
        )
    name, line = f"conv4x3_{gemm.form}", op.horizontal.kernel * view.input.shape[3]
    return Packed(
        name,
        {"patch": patch_params(view), "gemm": gemm.params},
        Entry(Call.ROWS, row=f"{name}_row", taps=op.vertical.kernel),
        Needs(aligned(scratch + 2 * line)),
        gemm.price,
        (gemm.instance,),
    )


KERNELS = tuple(
    Kernel(
        name,
        (Conv2D,),
        INT8,
        partial(pack, pointwise=name.startswith("p")),
        header="gemm4x3_s8",
        isa=RV32M,
        knobs=partial(knobs, pointwise=name.startswith("p")),
    )
    for name in ("pointwise4x3", "conv4x3")
)
