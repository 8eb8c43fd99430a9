"""Depthwise convolutions with channels in vector lanes: packed weights and constants of
`mote_depthwise_channels_s8.h`."""

from __future__ import annotations

import numpy as np

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
    View,
    aligned,
)
from mote.compiler.kernels.helium.common import HELIUM, NO_CONSTANTS
from mote.compiler.kernels.helium.depthwise.channels_assembly import BLOCK, Channels, Tap, code
from mote.compiler.kernels.helium.padded_rows import padded_params, padded_rows
from mote.compiler.kernels.helium.requantize import Requantize
from mote.compiler.kernels.pack.learned_bias import learning
from mote.compiler.kernels.pack.requantize.vector import COUNT, lanes, lanes_params
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.common import bias_values, int8_range
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

LOW, HIGH = -(1 << 15), (1 << 15) - 1


def groups_of(weights: Ints) -> tuple[tuple[Tap, ...], ...]:
    """Partition the taps of weights [rows, columns, channels] into few groups whose sums of products fit 16 bits in
    every channel for any int8 inputs: first fit, largest taps first."""
    high, wide, channels = weights.shape
    products = np.stack([-128 * weights, 127 * weights]).reshape(2, high * wide, channels)
    least, most = products.min(axis=0), products.max(axis=0)
    order = sorted(range(high * wide), key=lambda tap: (-int(most[tap].max()), tap))
    groups: list[list[int]] = []
    for tap in order:
        fitting = (
            group
            for group in groups
            if (least[[*group, tap]].sum(axis=0) >= LOW).all() and (most[[*group, tap]].sum(axis=0) <= HIGH).all()
        )
        group = next(fitting, None)
        if group is None:
            groups.append([tap])
        else:
            group.append(tap)
    return tuple(tuple((tap // wide, tap % wide) for tap in sorted(group)) for group in groups)


def _pack(view: View) -> Packed | Refusal:
    op, x, y = view.the(DepthwiseConv2D), view.input.shape, view.output.shape
    v, h = op.vertical, op.horizontal
    if op.multiplier != 1 or (v.dilation, h.dilation) != (1, 1):
        return Refusal("it is for an output for each channel, and windows without gaps")
    if y[3] % 4 or y[3] < BLOCK:
        return Refusal("channels are no multiple of four, or fewer than sixteen")
    requantization = lanes(op.sums(view.graph, view.graph.ranges[op.inputs[0]]), int8_range(op.activation, view.output))
    if requantization is None:
        return NO_CONSTANTS
    values = view.constant(1)[0].astype(np.int64)
    weights = requantization.weights(values.transpose(2, 0, 1)).transpose(1, 2, 0)
    channels = Channels((v.kernel, h.kernel), h.stride, y[3], groups_of(weights))
    if not channels.fits:
        return Refusal("its window has too many rows, or its pixels too many channels")
    bias = bias_values(op.tensor(view.graph, 2), y[3]) - view.input.zero_point * values.sum(axis=(0, 1), dtype=np.int64)
    first = np.minimum(np.arange(0, y[3], BLOCK, dtype=np.int64), y[3] - BLOCK)
    rows_cost, windows_cost = _copies(view)
    padded = padded_rows(view) if rows_cost < windows_cost else None
    padding = aligned(x[2] * x[3]) if (v.before or v.after) and padded is None else 0
    requantize = Requantize.of(requantization)
    params: Params = {
        **padded_params(view, padded),
        "channels": y[3],
        "zero": view.input.zero_point,
        "blocks": len(first),
        "last": y[3] - BLOCK,
        "padding": padding,
        "weights": _weights(weights, first),
        "constants": _constants(requantization.constants(bias), first),
        "lanes": lanes_params(requantization),
    }
    name = _name(channels, requantize)
    arguments = (name.removeprefix("channels_"), COUNT[requantize.form], *channels.taps, h.stride, y[3])
    function = Instance(
        "MOTE_CHANNELS_CODE",
        (*arguments, requantize.form, requantize.shift),
        tuple(code(channels, requantize)),
    )
    window = v.kernel * h.kernel
    return Packed(
        f"depthwise_{name}",
        params,
        Entry(Call.ROWS, row=f"depthwise_{name}_row", taps=v.kernel),
        Needs(scratch=padded.size if padded else padding + window * y[3]),
        Price(whole_windows=True, density=_cycles(view, channels.cycles(requantize)) / (int(np.prod(y)) * window)),
        instances=(function, Instance("MOTE_CHANNELS", (name,))),
        biases=Biases("constants", scale=requantization.bias_factors, owners=_constants(requantization.owners, first)),
    )


def _copies(view: View) -> tuple[int, int]:
    """Estimated cycles of two ways to handle padding: copying all rows with their padding, or copying the windows of
    pixels at the left and right edges."""
    op, x, y = view.the(DepthwiseConv2D), view.input.shape, view.output.shape
    v, h = op.vertical, op.horizontal
    first = np.arange(y[2], dtype=np.int64) * h.stride - h.before
    sides = int(np.count_nonzero((first < 0) | (first + h.kernel > x[2])))
    vector, call = 4, 50
    row = x[2] * x[3] * vector // BLOCK + call
    window = v.kernel * (h.kernel * x[3] * vector // BLOCK + 2 * call)
    return x[0] * min(y[1] * v.kernel, x[1]) * row, y[0] * y[1] * sides * window


def _cycles(view: View, pixel: int) -> int:
    """Estimated cycles of the layer; `pixel`: of sixteen channels of a pixel."""
    y = view.output.shape
    blocks = -(-y[3] // BLOCK)
    block, row = 40, 150
    return y[0] * y[1] * (blocks * (y[2] * pixel + block) + row) + min(_copies(view))


def _name(channels: Channels, requantize: Requantize) -> str:
    """Name of the code and the kernel; layers for which it is equal share the code."""
    (high, wide), groups = channels.taps, channels.groups
    number = {tap: g for g, group in enumerate(groups) for tap in group}
    order = "".join(f"{number[row, column]:x}" for row in range(high) for column in range(wide))
    return f"channels_{high}x{wide}_{channels.stride}x{channels.channels}_{order}_{requantize.name}"


def _weights(values: Ints, first: np.ndarray) -> np.ndarray:
    """Pack weights [rows, columns, channels] as [blocks of sixteen channels][taps][sixteen]; `first`: first channel of
    each block."""
    taps = values.reshape(-1, values.shape[2])
    return np.stack([taps[:, at : at + BLOCK] for at in first]).astype(np.int8).reshape(-1)


def _constants(each: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Pack constants [channels, constants] as [blocks of sixteen channels][halves][even, odd][constants][four]."""
    blocks = np.stack([each[at : at + BLOCK] for at in first])
    return np.ascontiguousarray(blocks.reshape(len(first), 2, 4, 2, -1).transpose(0, 1, 3, 4, 2)).reshape(-1)


KERNELS = (
    learning(Kernel("depthwise_channels", (DepthwiseConv2D,), INT8, _pack, header="depthwise_channels_s8", isa=HELIUM)),
)
