"""TRANSPOSE_CONV in int8: `mote_transpose_conv_s8.h`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import INT8, Call, Entry, Kernel, Needs, Packed, Params, Refusal, Structs, View
from mote.compiler.kernels.pack.params import channel_structs, interleave, output_params, spread_params
from mote.compiler.kernels.pack.requantize.even import TO_EVEN, rounds_to_even
from mote.ir.ops.common import bias_values, channel_scales
from mote.ir.ops.windows.transpose_conv import TransposeConv


def _transpose_conv(view: View) -> Packed | Refusal:
    op = view.the(TransposeConv)
    if rounds_to_even(view):
        return TO_EVEN
    phases, weights, channels = _phases(view)
    params: Params = {
        **spread_params(view),
        "in_zero": view.input.zero_point,
        "output": output_params(op.activation, view.output),
        "phase": phases,
        "weights": weights,
        "channel": channels,
    }
    columns = -(-op.horizontal.kernel // op.horizontal.stride)
    windows = 2 * op.taps * columns * view.input.shape[3]
    row = "transpose_conv_s8_row"
    return Packed("transpose_conv_s8", params, Entry(Call.ROWS, row=row, row_index=True, taps=op.taps), Needs(windows))


def _phases(view: View) -> tuple[Structs, NDArray[np.int8], Structs]:
    """`mote_phase_t` for each phase (output row and column modulo the strides), with the concatenated weights and
    channels of all phases. The taps of a phase are reversed, so that they meet input pixels in ascending order."""
    op, x, y = view.the(TransposeConv), view.input, view.output
    outputs = y.shape[3]
    scales = channel_scales(x, op.input(view.graph, 1), y, outputs)
    starts, packed, channels = [], [np.zeros(0, np.int8)], []
    for py in range(op.vertical.stride):
        for px in range(op.horizontal.stride):
            part = view.constant(1)[:, py :: op.vertical.stride, px :: op.horizontal.stride][:, ::-1, ::-1]
            matrix = part.reshape(outputs, -1).astype(np.int64)
            bias = bias_values(op.tensor(view.graph, 2), outputs) - x.zero_point * matrix.sum(axis=1, dtype=np.int64)
            starts.append((part.shape[1], part.shape[2], sum(a.size for a in packed)))
            packed.append(interleave(matrix, 2))
            channels.append(channel_structs(bias, *scales).rows)
    return (
        Structs("mote_phase_t", np.array(starts, np.int64)),
        np.concatenate(packed),
        Structs("mote_channel_t", np.concatenate(channels)),
    )


KERNELS = (Kernel("transpose_conv", (TransposeConv,), INT8, _transpose_conv, tuned=True),)
