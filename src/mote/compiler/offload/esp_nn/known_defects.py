"""Layers for which ESP-NN 1.2.3 gives other results than LiteRT, or uses more memory than it asks for.

These defects were found by reading its sources; the generic edition has none of them. Each function here returns the
reason why a layer is refused; empty if it is not.
"""

from __future__ import annotations

import numpy as np

from mote.compiler.offload.esp_nn.layer import EspWindow
from mote.compiler.offload.esp_nn.library import Edition
from mote.compiler.offload.esp_nn.scratch import S3_WHOLE_WIDE
from mote.ir.graph import Tensor
from mote.ir.graph.numeric.fixedpoint import Ints, rounding_shift_right

MOST_AVERAGED = 256
"""Maximum number of int8 values whose sum fits 16 bits."""
MOST_P4_DEPTHWISE = 256
"""Maximum channels of a depthwise convolution on the ESP32-P4, which stores sums of weights for as many."""
LEAST_VECTOR = 32
"""Minimum number of values from which on softmax on the ESP32-S3 finds the maximum by vector instructions."""


def conv(w: EspWindow, edition: Edition) -> str:
    if edition is Edition.S3:
        return _conv_s3(w)
    return _conv_p4(w) if edition is Edition.P4 else ""


def depthwise(w: EspWindow, multiplier: int, edition: Edition) -> str:
    if edition is Edition.S3 and multiplier == 1 and w.in_channels % 8 == 0:
        return _depthwise_s3(w)
    if edition is Edition.P4 and multiplier == 1 and w.in_channels > MOST_P4_DEPTHWISE:
        return f"ESP-NN leaves out the bias of more than {MOST_P4_DEPTHWISE} channels on an ESP32-P4"
    return ""


def average(w: EspWindow, edition: Edition) -> str:
    if edition is Edition.S3 and w.height * w.width > MOST_AVERAGED:
        return f"ESP-NN adds the values of a window in 16 bits on an ESP32-S3: {w.height * w.width} are too many"
    return ""


def softmax(rows: int, classes: int, edition: Edition) -> str:
    if edition is Edition.S3 and rows > 1 and classes >= LEAST_VECTOR and classes % 16:
        return "ESP-NN reads rows at multiples of 16 bytes only on an ESP32-S3"
    return ""


def hard_swish(x: Tensor, y: Tensor, out: tuple[int, int], unit: tuple[int, int], edition: Edition) -> Ints:
    """The results for all int8 values from -128 up, as ESP-NN computes them in 16 bits: the last product is rounded
    down on an ESP32-P4, elsewhere towards zero."""
    (mult, shift), (unit_mult, unit_shift) = out, unit
    fine = (np.arange(-128, 128, dtype=np.int64) - x.zero_point) * 128
    value = (fine * mult + (1 << 14)) >> 15
    gate = np.clip(fine << max(unit_shift - 1, 0), -(1 << 15), (1 << 15) - 1)
    gate = (gate * unit_mult + (1 << 14)) >> 15
    if unit_shift > 0:
        gate = np.clip(gate * 2, -(1 << 15), (1 << 15) - 1)
    gate = rounding_shift_right(gate, max(-unit_shift, 0))
    product = ((gate + (1 << 15)) >> 1) * value
    halved = product >> 15 if edition is Edition.P4 else np.sign(product) * (np.abs(product) >> 15)
    return np.clip(rounding_shift_right(halved, -shift) + y.zero_point, -128, 127)


def _conv_s3(w: EspWindow) -> str:
    row, taps = w.width * w.in_channels, w.width * w.height * w.in_channels
    if w.pointwise or row < 16 <= taps:
        return ""
    if w.padded and (w.after_y > w.pad_y or w.after_x > w.pad_x):
        return "ESP-NN pads images by as much behind as before on an ESP32-S3"
    return ""


def _conv_p4(w: EspWindow) -> str:
    taps = w.width * w.height * w.in_channels
    if w.padded:
        return "" if taps >= 16 else "ESP-NN asks for too little working memory on an ESP32-P4"
    if not (w.after_y or w.after_x) or w.width * w.in_channels < 16:
        return ""
    if w.after_x > 1 or w.after_y > 1 or (w.after_y and w.height != 3):
        return "ESP-NN computes the last column and row of other windows than 3x3 wrong on an ESP32-P4"
    return ""


def _depthwise_s3(w: EspWindow) -> str:
    three = w.height == w.width == 3
    if three and w.in_channels % 16 == 0:
        pads = w.pad_y, w.pad_x
        if pads not in ((0, 0), (1, 1)):
            return "ESP-NN asks for too little working memory on an ESP32-S3"
        if pads == (1, 1) and (w.after_y > 1 or w.after_x > 1):
            return "ESP-NN pads images by as much behind as before on an ESP32-S3"
        return ""
    whole = 2 * (w.height * w.width + w.in_height * w.in_width) * w.in_channels
    if not three and whole > S3_WHOLE_WIDE and (w.pad_y or w.after_y):
        return "ESP-NN pads large images with another value than the zero point on an ESP32-S3"
    return ""
