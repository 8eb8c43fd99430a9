"""Parameter structs shared by many kernels, and weight orders."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import Params, Structs, View
from mote.ir.graph import Tensor
from mote.ir.graph.numeric.fixedpoint import wrap32
from mote.ir.graph.rows import OUTSIDE, row_count
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation
from mote.ir.ops.common import Axis, WindowOp, int8_range
from mote.ir.ops.windows.transpose_conv import TransposeConv

CHANNEL_WORDS = 3
"""32-bit words of a `mote_channel_t`; the first is the bias."""


def output_params(activation: Activation, output: Tensor, channels: Structs | None = None) -> Params:
    """The fields of `mote_output_t`. If `channels` are given, `plain` tells the kernel that no clamping or left shift
    is needed."""
    lo, hi = int8_range(activation, output)
    plain = channels is not None and (lo, hi) == (-128, 127) and bool(np.all(channels.rows[:, 2] >= 0))
    return {"zero": output.zero_point, "lo": lo, "hi": hi, "plain": int(plain)}


def _taps(axis: Axis) -> Params:
    return {"taps": axis.kernel, "step": axis.stride, "spread": axis.dilation, "pad": axis.before}


def rows_params(axis: Axis, x: Shape, y: Shape) -> Params:
    """The fields of `mote_window_t`: the vertical window over the rows of images or volumes."""
    sizes: Params = {"in_rows": x[-3], "out_rows": y[-3], "in_stride": x[-2] * x[-1], "out_stride": y[-2] * y[-1]}
    return sizes | _taps(axis)


def span_params(axis: Axis, in_size: int, out_size: int) -> Params:
    """The fields of `mote_span_t`: the window along one axis."""
    return {"in_size": in_size, "out_size": out_size, **_taps(axis)}


def window_params(view: View) -> Params:
    """The fields `mote_window_t rows` and `mote_span_t cols` of a sliding window."""
    x, y, op = view.input.shape, view.output.shape, view.the(WindowOp)
    return {"rows": rows_params(op.vertical, x, y), "cols": span_params(op.horizontal, x[2], y[2])}


def spread_params(view: View) -> Params:
    """Sizes and the `mote_spread_t` fields of a transposed convolution."""
    op, x, y = view.the(TransposeConv), view.input.shape, view.output.shape
    axes = {"rows": op.vertical, "columns": op.horizontal}
    return {
        **dict(zip(("in_rows", "in_columns", "in_channels"), x[1:], strict=True)),
        **dict(zip(("out_rows", "out_columns", "out_channels"), y[1:], strict=True)),
        **{name: {"taps": a.kernel, "stride": a.stride, "pad": a.before} for name, a in axes.items()},
    }


def adds_rows(view: View) -> bool:
    """Whether a windowed operator has a single output row computed from several input rows, so that running sums pay
    off."""
    reads = view.op.reads(view.graph, 0, 0) or ()
    return row_count(view.output.shape) == 1 and sum(r != OUTSIDE for r in reads) > 1


def channel_structs(bias: NDArray[np.int64], mult: NDArray[np.int64], shift: NDArray[np.int64]) -> Structs:
    """`mote_channel_t` for each channel; the right shift is stored minus one. Kernels need a normalized multiplier, so
    a zero multiplier (a scale too small to matter) becomes 2^-32, which also rounds every accumulator to zero; its bias
    is then zero."""
    bias = np.where(mult == 0, 0, bias)
    shift = np.where(mult == 0, -31, shift)
    mult = np.where(mult == 0, 1 << 30, mult)
    return Structs("mote_channel_t", np.stack([wrap32(bias), mult, -shift - 1], axis=1))


def scale_params(mult: int, shift: int) -> Params:
    """Multiplier and shift for `mote_rescale`; a zero multiplier becomes 2^-32, which also gives zero."""
    return {"mult": mult or 1 << 30, "shift": (-shift if mult else 31) - 1}


def pad_to(x: Array, axis: int, multiple: int) -> Array:
    """`x` zero-padded on `axis` to a multiple of `multiple`."""
    missing = -x.shape[axis] % multiple
    return np.pad(x, [(0, missing if i == axis else 0) for i in range(x.ndim)])


def interleave(weights: Array, channels: int) -> NDArray[np.int8]:
    """Reorders [outputs, depth] weights into blocks of `channels` outputs; within a block, groups of four inputs
    alternate between the outputs. Zero-padded."""
    padded = pad_to(pad_to(weights, 0, channels), 1, 4)
    blocks = padded.reshape(padded.shape[0] // channels, channels, padded.shape[1] // 4, 4)
    return np.ascontiguousarray(blocks.transpose(0, 2, 1, 3)).astype(np.int8).reshape(-1)
