"""int8 layers with weights and biases learned on the device: `mote_learned_conv2d_s8.h`, `mote_learned_depthwise_s8.h`,
and with results rounded to even `mote_learned_conv2d_even_s8.h`, `mote_learned_depthwise_even_s8.h`.

Weights are operands in the model's own order. A bias may be constant.
"""

from __future__ import annotations

from functools import partial
from math import prod

import numpy as np

from mote.compiler.kernels.contract import (
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
from mote.compiler.kernels.pack.layers import exact_scales
from mote.compiler.kernels.pack.params import channel_structs, output_params, window_params
from mote.compiler.kernels.pack.requantize.even import NOT_TO_EVEN, TO_EVEN, even_channels, rounds_to_even
from mote.compiler.kernels.portable.windows.conv import patch_params
from mote.ir.graph.types import Rounding
from mote.ir.ops.common import BIAS, MOST_LEARNED_BITS, WEIGHTS, bias_values, channel_scales, learned, learned_bias_bits
from mote.ir.ops.matrix.accumulators import Accumulators
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

OPERANDS = (0, WEIGHTS, BIAS)
CONSTANT = Refusal("it is for learned weights")
WITHOUT_BIAS = Refusal("it is for layers with a bias")
FAR = Refusal(f"its biases exceed 2^{MOST_LEARNED_BITS}")
EVEN = "_even"
"""Suffix of the names of kernels that round to even."""


def learned_layer(view: View, depth: int, rounded: str = "") -> Params | Refusal:
    """Sizes and requantization of a layer with learned weights (`mote_learned_layer_t`), or a refusal."""
    op, y = view.op, view.output
    if WEIGHTS not in learned(view.graph, op):
        return CONSTANT
    if op.tensor(view.graph, BIAS) is None:
        return WITHOUT_BIAS
    if rounds_to_even(view) != (rounded == EVEN):
        return TO_EVEN if rounds_to_even(view) else NOT_TO_EVEN
    channels, learns = y.channels, BIAS in learned(view.graph, op)
    if np.abs(bias_values(op.tensor(view.graph, BIAS), channels)).max() > 1 << MOST_LEARNED_BITS:
        return FAR
    bits = learned_bias_bits(view.graph, op) if learns else np.full(channels, MOST_LEARNED_BITS, np.int64)
    scales = _scales(view)
    if isinstance(scales, Refusal):
        return scales
    assert isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected)
    return {
        "depth": depth,
        "channels": channels,
        "pixel": channels,
        "in_zero": view.input.zero_point,
        "bits": bits.astype(np.uint8),
        **scales,
    }


def _scales(view: View) -> Params | Refusal:
    """Requantization parameters for layers that round twice, once, or to even."""
    op, y = view.op, view.output
    assert isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected)
    none = np.zeros(y.channels, np.int64)
    if op.rounding is Rounding.TWICE:
        structs = channel_structs(none, *channel_scales(view.input, op.input(view.graph, WEIGHTS), y, y.channels))
        return {"output": output_params(op.activation, y, structs), "channel": structs, "exact": 0}
    output = output_params(op.activation, y)
    sums: Accumulators = op.sums(view.graph, view.graph.ranges[op.inputs[0]])
    if op.rounding is Rounding.EVEN:
        return {"output": output, "channel": even_channels(sums, none), "exact": 0}
    exact = exact_scales(view, int(np.abs([sums.low, sums.high]).max()))
    return exact if isinstance(exact, Refusal) else {"output": output, "channel": 0, "exact": exact}


def _widened(depth: int) -> int:
    """Scratch bytes for the inputs of two pixels widened to int16."""
    return 16 * (-(-depth // 4))


def _conv(view: View, rounded: str) -> Packed | Refusal:
    op, depth = view.the(Conv2D), prod(view.op.input(view.graph, WEIGHTS).shape[1:])
    layer = learned_layer(view, depth, rounded)
    if isinstance(layer, Refusal):
        return layer
    name = f"learned_conv2d{rounded}_s8"
    return Packed(
        name,
        {"patch": patch_params(view), "layer": layer},
        Entry(Call.ROWS, operands=OPERANDS, row=f"{name}_row", taps=op.vertical.kernel),
        Needs(scratch=_widened(depth) + aligned(depth)),
        Price(tile=(1, 2)),
    )


def _dense(view: View, rounded: str) -> Packed | Refusal:
    depth = view.op.input(view.graph, WEIGHTS).shape[1]
    layer = learned_layer(view, depth, rounded)
    if isinstance(layer, Refusal):
        return layer
    entry = Entry(Call.FLAT, units_of(view.input.shape, depth), operands=OPERANDS)
    return Packed(f"learned_dense{rounded}_s8", layer, entry, Needs(scratch=_widened(depth)))


def _depthwise(view: View, rounded: str) -> Packed | Refusal:
    op = view.the(DepthwiseConv2D)
    layer = learned_layer(view, op.vertical.kernel * op.horizontal.kernel, rounded)
    if isinstance(layer, Refusal):
        return layer
    name = f"learned_depthwise{rounded}_s8"
    window: Params = {**window_params(view), "in_channels": view.input.channels, "multiplier": op.multiplier}
    return Packed(
        name,
        window | {"layer": layer},
        Entry(Call.ROWS, operands=OPERANDS, row=f"{name}_row", taps=op.vertical.kernel),
        Needs(scratch=4 * view.output.channels),
    )


KERNELS = tuple(
    Kernel(
        f"learned_{layer}{rounded}",
        (kind,),
        INT8,
        partial(pack, rounded=rounded),
        header=f"learned_{header}{rounded}_s8",
        tuned=header == "conv2d",
        lanes=lanes,
        costs=costs,
        learned=frozenset({WEIGHTS, BIAS}),
    )
    for layer, kind, pack, header, lanes, costs in (
        ("conv2d", Conv2D, _conv, "conv2d", 2, "conv2d"),
        ("dense", FullyConnected, _dense, "conv2d", 1, "fully_connected"),
        ("depthwise", DepthwiseConv2D, _depthwise, "depthwise", 1, "depthwise"),
    )
    for rounded in ("", EVEN)
)
