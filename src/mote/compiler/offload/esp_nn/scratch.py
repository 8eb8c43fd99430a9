"""Bytes of working memory of ESP-NN's functions, equal to its `esp_nn_get_*_scratch_size`, which the planner needs.

The generic edition needs none for convolutions. The others copy images with their padding, weights aligned to 16 bytes,
and sums of weights.
"""

from __future__ import annotations

from mote.compiler.offload.esp_nn.layer import EspWindow
from mote.compiler.offload.esp_nn.library import Edition

S3_MARGIN = 64
"""Bytes around buffers that the assembly of the ESP32-S3 may access."""
P4_MARGIN = 32
S3_WHOLE = 40 << 10
"""Maximum bytes of a padded image that a 3x3 depthwise convolution on the ESP32-S3 copies as a whole."""
S3_WHOLE_WIDE = 48 << 10
"""Maximum bytes of int16 copies of a padded image and the weights."""
HARD_SWISH = 512


def aligned(size: int, to: int) -> int:
    return -(-size // to) * to


def conv(w: EspWindow, edition: Edition) -> int:
    if edition is Edition.S3:
        return _conv_s3(w)
    return _conv_p4(w) if edition is Edition.P4 else 0


def depthwise(w: EspWindow, multiplier: int, edition: Edition) -> int:
    return _depthwise_s3(w, multiplier) if edition is Edition.S3 else 0


def softmax(classes: int) -> int:
    return 4 * classes


def hard_swish(edition: Edition) -> int:
    return HARD_SWISH if edition is Edition.S3 else 0


def _pointwise(w: EspWindow, margin: int) -> int:
    """Working memory of a 1x1 convolution: both vector editions transpose eight pixels at once, with channels padded to
    multiples of eight."""
    channels = aligned(w.in_channels, 8)
    pixels = w.in_height * w.in_width
    turned = 16 * channels if pixels >= 8 else 0
    image = pixels * channels if w.in_channels % 8 else 0
    return image + channels * w.out_channels + turned + margin


def _conv_s3(w: EspWindow) -> int:
    if w.pointwise:
        return _pointwise(w, S3_MARGIN)
    row, taps = w.width * w.in_channels, w.width * w.height * w.in_channels
    sums = 4 * w.out_channels
    if row < 16 <= taps:
        return sums + 16 + (w.out_channels + 1) * aligned(taps, 16) + 16 + S3_MARGIN
    image = 0
    if w.padded:
        image = (w.in_width + 2 * w.pad_x) * (w.in_height + 2 * w.pad_y) * w.in_channels
    weights = w.width * w.height * aligned(w.in_channels, 16) * w.out_channels
    rows = aligned(row, 16) * w.height * w.out_channels
    right = max(0, w.out_width * w.stride_x + w.width - 1 - w.in_width)
    below = max(0, w.out_height * w.stride_y + w.height - 1 - w.in_height)
    edges = (w.in_width + right) * (w.in_height + below) * w.in_channels if right or below else 0
    return image + weights + rows + edges + S3_MARGIN + sums


def _depthwise_s3(w: EspWindow, multiplier: int) -> int:
    channels, weights = w.in_channels, w.width * w.height * w.out_channels
    image = w.in_width * w.in_height * channels
    three = w.width == w.height == 3
    if multiplier == 1 and channels % 8 == 0:
        if three and channels % 16 == 0:
            return _depthwise_three(w, weights)
        if three and channels >= 12:
            wide = aligned(channels, 16)
            columns = w.in_width + 2 * w.pad_x + max(0, w.out_width * w.stride_x + 2 - w.in_width)
            rows = w.in_height + 2 * w.pad_y + max(0, w.out_height * w.stride_y + 2 - w.in_height)
            return 9 * wide + columns * rows * wide + w.out_width * w.out_height * wide + 64
        whole = 2 * (weights + image)
        if three or whole <= S3_WHOLE_WIDE:
            return whole + 32
        return 2 * weights + 2 * w.in_width * w.height * channels + 32
    if multiplier == 1 and channels > 3:
        wide = aligned(channels, 8)
        begins = aligned(2 * w.width * w.height * wide, 16)
        begins = aligned(begins + 2 * w.in_width * w.in_height * wide, 16)
        begins = aligned(begins + w.out_width * w.out_height * wide, 16)
        return begins + 12 * wide + 16
    return 2 * (weights + image) + 32 if multiplier % 4 == 0 else 32


def _depthwise_three(w: EspWindow, weights: int) -> int:
    """Working memory of a 3x3 depthwise convolution: a copy of the weights, and of the padded image or three rows of
    it."""
    if w.padded:
        columns, rows = 2 * w.pad_x, 2 * w.pad_y
    else:
        columns = w.out_width * w.stride_x + w.width - 1 - w.in_width
        rows = w.out_height * w.stride_y + w.height - 1 - w.in_height
    if not columns and not rows:
        return weights + 16
    whole = (w.in_width + columns) * (w.in_height + rows) * w.in_channels
    strip = (w.in_width + columns) * w.height * w.in_channels
    return weights + (whole if whole <= S3_WHOLE else strip) + 16


def _conv_p4(w: EspWindow) -> int:
    sums = 4 * w.out_channels
    if w.pointwise:
        return sums + 16 * w.out_channels + 32 + P4_MARGIN if w.in_channels < 16 else _pointwise(w, P4_MARGIN)
    taps = w.width * w.height * w.in_channels
    if not w.padded and w.width * w.in_channels >= 16:
        return w.width * w.height * aligned(w.in_channels, 16) * w.out_channels + P4_MARGIN + sums
    if taps >= 16:
        return sums + taps + P4_MARGIN
    return sums + w.width * w.height * 16 * w.out_channels + w.in_width * w.in_height * 16 + P4_MARGIN
