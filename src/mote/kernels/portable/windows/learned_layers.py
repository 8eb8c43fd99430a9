"""Int8 layers whose weights and biases learn: `mote_learned_conv2d_s8.h`, `mote_learned_depthwise_s8.h`.

Weights are operands, in the order of the model. A bias may also be a constant.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from mote.graph.types import Rounding
from mote.kernels.contract import (
    INT8,
    Call,
    Entry,
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
from mote.kernels.pack.layers import exact_scales
from mote.kernels.pack.params import channel_structs, output_params, window_params
from mote.kernels.portable.windows.conv import patch_params
from mote.ops.common import BIAS, MOST_LEARNED_BITS, WEIGHTS, bias_values, channel_scales, learned, learned_bias_bits
from mote.ops.matrix.accumulators import Accumulators
from mote.ops.matrix.fully_connected import FullyConnected
from mote.ops.windows.conv import Conv2D
from mote.ops.windows.depthwise import DepthwiseConv2D

OPERANDS = (0, WEIGHTS, BIAS)
CONSTANT = Refusal("it is for weights that learn")
WITHOUT_BIAS = Refusal("it is for layers with a bias")
EVEN = Refusal("results are rounded to even")
FAR = Refusal(f"its biases exceed 2^{MOST_LEARNED_BITS}")


def _layer(view: View, depth: int) -> Params | Refusal:
    """`mote_learned_layer_t`."""
    op, y = view.op, view.output
    assert isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected)
    if WEIGHTS not in learned(view.graph, op):
        return CONSTANT
    if op.tensor(view.graph, BIAS) is None:
        return WITHOUT_BIAS
    if op.rounding is Rounding.EVEN:
        return EVEN
    channels, learns = y.channels, BIAS in learned(view.graph, op)
    if np.abs(bias_values(op.tensor(view.graph, BIAS), channels)).max() > 1 << MOST_LEARNED_BITS:
        return FAR
    bits = learned_bias_bits(view.graph, op) if learns else np.full(channels, MOST_LEARNED_BITS)
    structs = channel_structs(
        np.zeros(channels, np.int64), *channel_scales(view.input, op.input(view.graph, 1), y, channels)
    )
    common: Params = {
        "depth": depth,
        "channels": channels,
        "pixel": channels,
        "in_zero": view.input.zero_point,
        "output": output_params(op.activation, y),
        "bits": bits.astype(np.uint8),
    }
    if op.rounding is Rounding.TWICE:
        return common | {"channel": structs, "exact": 0}
    sums: Accumulators = op.sums(view.graph, view.graph.ranges[op.inputs[0]])
    exact = exact_scales(view, int(np.abs([sums.low, sums.high]).max()))
    return exact if isinstance(exact, Refusal) else common | {"channel": 0, "exact": exact}


def _widened(depth: int) -> int:
    """Bytes of the widened inputs of two pixels."""
    return 16 * (-(-depth // 4))


def _conv(view: View) -> Packed | Refusal:
    op, depth = view.the(Conv2D), prod(view.op.input(view.graph, WEIGHTS).shape[1:])
    layer = _layer(view, depth)
    if isinstance(layer, Refusal):
        return layer
    return Packed(
        "learned_conv2d_s8",
        {"patch": patch_params(view), "layer": layer},
        Entry(Call.ROWS, operands=OPERANDS, row="learned_conv2d_s8_row", taps=op.vertical.kernel),
        Needs(scratch=_widened(depth) + aligned(depth)),
        Price(tile=(1, 2)),
    )


def _dense(view: View) -> Packed | Refusal:
    depth = view.op.input(view.graph, WEIGHTS).shape[1]
    layer = _layer(view, depth)
    if isinstance(layer, Refusal):
        return layer
    entry = Entry(Call.FLAT, units_of(view.input.shape, depth), operands=OPERANDS)
    return Packed("learned_dense_s8", layer, entry, Needs(scratch=_widened(depth)))


def _depthwise(view: View) -> Packed | Refusal:
    op = view.the(DepthwiseConv2D)
    layer = _layer(view, op.vertical.kernel * op.horizontal.kernel)
    if isinstance(layer, Refusal):
        return layer
    window: Params = {**window_params(view), "in_channels": view.input.channels, "multiplier": op.multiplier}
    return Packed(
        "learned_depthwise_s8",
        window | {"layer": layer},
        Entry(Call.ROWS, operands=OPERANDS, row="learned_depthwise_s8_row", taps=op.vertical.kernel),
        Needs(scratch=4 * view.output.channels),
    )


_CONV = Kernel("learned_conv2d", (Conv2D,), INT8, _conv, tuned=True, lanes=2, costs="conv2d")
_DENSE = Kernel("learned_dense", (FullyConnected,), INT8, _dense, header="learned_conv2d_s8", tuned=True,
                costs="fully_connected")  # fmt: skip
_DEPTHWISE = Kernel("learned_depthwise", (DepthwiseConv2D,), INT8, _depthwise, costs="depthwise")
KERNELS = tuple(replace(kernel, learned=frozenset({WEIGHTS, BIAS})) for kernel in (_CONV, _DENSE, _DEPTHWISE))
