"""Bytes of working memory of CMSIS-NN's functions, equal to its `arm_*_get_buffer_size` for cores with Helium, with DSP
instructions, or with neither."""

from __future__ import annotations

from mote.hardware.targets import Target
from mote.ir.graph.tensor import Shape
from mote.ir.ops.common import Axis

MVE, DSP = "mve", "dsp"
"""The core features that decide the size."""
MVE_CHANNELS = 124
"""Channels that Helium's depthwise convolution computes at once."""
MOST_FAST_TAPS = 512
"""Number of window elements from which on there is no fast int16 function."""


def rounded_up(n: int, unit: int) -> int:
    return -(-n // unit) * unit


def convolve_s8(target: Target, taps: int) -> int:
    """Working memory of arm_convolve_s8 for windows with `taps` elements: two windows of int16, or four of int8."""
    return 4 * rounded_up(taps, 16) if MVE in target.features else 4 * rounded_up(taps, 4)


def convolve_1x1_fast_s8(target: Target, channels: int) -> int:
    """Working memory of arm_convolve_1x1_s8_fast: with DSP instructions, Arm's compiler copies two columns of int16."""
    return 4 * channels if DSP in target.features and MVE not in target.features else 0


def convolve_1_x_n_mve(axis: Axis, channels: int) -> int:
    """Working memory of arm_convolve_1_x_n_s8 with Helium and stride 1: a window and the padding at one end of the
    row."""
    return channels * (axis.kernel + max(axis.before, axis.after - 1))


def depthwise_wrapper_s8(target: Target, x: Shape, out: int, vertical: Axis, horizontal: Axis, filter: int) -> int:
    """Working memory of arm_depthwise_conv_wrapper_s8; `filter`: number of weights. With Helium, a single input channel
    is computed as a convolution with transposed weights."""
    batches, _, _, channels = x
    mve, taps = MVE in target.features, vertical.kernel * horizontal.kernel
    if mve and channels == 1 < out:
        return convolve_s8(target, taps) + filter
    if channels != out or batches > 1 or (vertical.dilation, horizontal.dilation) != (1, 1):
        return 0
    if mve:
        return 4 * MVE_CHANNELS * taps
    if (vertical.kernel, horizontal.kernel) == (3, 3) and max(vertical.before, horizontal.before) <= 1:
        return 0
    return 2 * channels * taps if DSP in target.features else 0


def convolve_s16(target: Target, taps: int) -> int:
    """Working memory of arm_convolve_s16: two windows, or four padded to vectors."""
    return 8 * rounded_up(taps, 8) if MVE in target.features else 4 * taps


def depthwise_wrapper_s16(target: Target, channels: int, multiplier: int, vertical: Axis, horizontal: Axis) -> int:
    """Working memory of arm_depthwise_conv_wrapper_s16: one window, or four."""
    taps = vertical.kernel * horizontal.kernel
    fast = multiplier == vertical.dilation == horizontal.dilation == 1 and taps < MOST_FAST_TAPS
    if not fast or DSP not in target.features:
        return 0
    return 8 * channels * taps + 8 if MVE in target.features else 2 * channels * taps


def transpose_conv_s8(width: int, channels: int, vertical: Axis, horizontal: Axis) -> int:
    """Working memory of arm_transpose_conv_s8: accumulators of the output rows that one input row contributes to."""
    columns = (width - 1) * horizontal.stride + max(horizontal.kernel, horizontal.stride)
    return 4 * channels * columns * max(vertical.kernel, vertical.stride)


def avgpool(target: Target, channels: int) -> int:
    """Working memory of arm_avgpool_s8 and arm_avgpool_s16: an accumulator per channel."""
    return 4 * channels if DSP in target.features and MVE not in target.features else 0
