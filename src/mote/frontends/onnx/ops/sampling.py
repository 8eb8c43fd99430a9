"""GridSample, RoiAlign, MaxRoiPool and Col2Im."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, elementwise, moves, sampling, windows
from mote.frontends.onnx.node import Key, Node, Parser
from mote.frontends.onnx.ops.windows import pairs
from mote.ir.ops.windows.grid_roi_sampling import MaxRoiPool, Outside, RoiAlign, Sampling

SAMPLINGS = {
    "nearest": Sampling.NEAREST,
    "bilinear": Sampling.LINEAR,
    "linear": Sampling.LINEAR,
    "bicubic": Sampling.CUBIC,
    "cubic": Sampling.CUBIC,
}


def grid_sample(node: Node) -> Value:
    mode, outside = node.text("mode", "linear"), node.text("padding_mode", "zeros")
    if mode not in SAMPLINGS or outside not in list(Outside):
        raise UnsupportedNodeError(f"the mode {mode} with {outside} outside is not supported")
    corners = node.flag("align_corners", False)
    return sampling.grid_sample(node.b, node.input(0), node.input(1), SAMPLINGS[mode], Outside(outside), corners)


def roi_align(node: Node) -> Value:
    b, x, regions = node.b, node.input(0), node.input(1)
    mode = node.text("mode", "avg")
    if mode not in ("avg", "max"):
        raise UnsupportedNodeError(f"the mode {mode} is not supported")
    rule = node.text("coordinate_transformation_mode", "half_pixel" if node.version >= 16 else "output_half_pixel")
    size = node.integer("output_height", 1), node.integer("output_width", 1)
    _check_regions(x, regions)
    shape = (regions.shape[0], *size, x.shape[1])
    made = b.op(
        RoiAlign,
        [b.channels_last(x), b.plain(regions), b.plain(node.input(2))],
        shape,
        size=size,
        scale=node.real("spatial_scale", 1.0),
        samples=node.integer("sampling_ratio", 0),
        largest=mode == "max",
        half_pixel=rule == "half_pixel",
    )
    return sampling.channels_first(b, b.value(made, shape))


def _check_regions(x: Value, regions: Value) -> None:
    if x.rank != 4 or regions.rank != 2:
        reason = f"regions of the shape {regions.shape} of a value of the shape {x.shape} are not supported"
        raise UnsupportedNodeError(f"{reason} (only a table of them, of images)")


def max_roi_pool(node: Node) -> Value:
    b, x, regions = node.b, node.input(0), node.input(1)
    size = node.integers("pooled_shape")
    if len(size) != 2 or x.rank != 4:
        raise UnsupportedNodeError(f"cells of the shape {size} in a value of the shape {x.shape} are not supported")
    _check_regions(x, regions)
    shape = (regions.shape[0], *size, x.shape[1])
    scale = node.real("spatial_scale", 1.0)
    made = b.op(MaxRoiPool, [b.channels_last(x), b.plain(regions)], shape, size=(size[0], size[1]), scale=scale)
    return sampling.channels_first(b, b.value(made, shape))


def deformed_conv(node: Node) -> Value:
    """A deformable convolution: samples at the offset taps make an image with the taps of each output pixel side by
    side, on which an ordinary convolution without overlaps runs."""
    b, x, offsets = node.b, node.input(0), node.input(2)
    weights = node.known(1, "the weights").astype(np.float32)
    bias = node.known(3, "the bias").astype(np.float32) if node.has(3) else None
    if x.rank != 4:
        raise UnsupportedNodeError(f"images must have 4 axes, this has the shape {x.shape}")
    kernel, count = weights.shape[2:], node.integer("offset_group", 1)
    parts = moves.split(b, x, 1, [x.shape[1] // count] * count)
    out = offsets.shape[2:]
    places = moves.reshape(b, offsets, (x.shape[0], count, *kernel, 2, *out))
    mask = moves.reshape(b, node.input(4), (x.shape[0], count, *kernel, *out)) if node.has(4) else None
    sampled = []
    for group, part in enumerate(parts):
        own = _taps(node, b, moves.slice_(b, places, 1, group, 1), kernel, out, part.shape[2:])
        samples = sampling.grid_sample(b, part, own, Sampling.LINEAR, Outside.ZEROS, True)
        if mask is not None:
            samples = elementwise.mul(b, samples, _interleaved(b, moves.slice_(b, mask, 1, group, 1), kernel, out))
        sampled.append(samples)
    whole = moves.concat(b, sampled, 1)
    axes = windows.window(kernel, kernel, [(0, 0)] * 2, [1, 1])
    return windows.conv(b, whole, weights, bias, axes, node.integer("group", 1))


def _taps(
    node: Node, b: Builder, offsets: Value, kernel: Sequence[int], out: Sequence[int], sizes: Sequence[int]
) -> Value:
    """The sampling grid of the taps of all output pixels: [n, 1, kernel, 2, out] offsets become a grid of out * kernel
    points."""
    strides, dilations = node.integers("strides", [1, 1]), node.integers("dilations", [1, 1])
    pads = pairs(node.integers("pads", [0] * 4), 2)
    coordinates = []
    for axis in (1, 0):  # the last axis comes first in a grid
        own = moves.slice_(b, offsets, 4, axis, 1)
        moved = _interleaved(b, moves.squeeze(b, own, [4]), kernel, out)
        steps = (
            np.arange(out[axis], dtype=np.int64)[:, None] * strides[axis]
            + np.arange(kernel[axis], dtype=np.int64) * dilations[axis]
        )
        shape = (1, 1, -1, 1) if axis == 0 else (1, 1, 1, -1)
        base = (steps.reshape(-1) - pads[axis][0]).reshape(shape).astype(np.float32)
        at = elementwise.add(b, moved, b.constant(base))
        span = max(sizes[axis] - 1, 1)
        coordinates.append(elementwise.scaled(b, at, 2 / span, -1))
    flat = [moves.reshape(b, v, (v.shape[0], *v.shape[2:], 1)) for v in coordinates]
    return moves.concat(b, flat, -1)


def _interleaved(b: Builder, x: Value, kernel: Sequence[int], out: Sequence[int]) -> Value:
    """[n, 1, kernel, out] as images with the taps of each pixel side by side."""
    moved = moves.transpose(b, moves.reshape(b, x, (x.shape[0], *kernel, *out)), (0, 3, 1, 4, 2))
    return moves.reshape(b, moved, (x.shape[0], 1, out[0] * kernel[0], out[1] * kernel[1]))


def columns_to_image(node: Node) -> Value:
    """Col2Im: columns scattered into an image; overlapping elements are summed."""
    b, x = node.b, node.input()
    sizes, block = node.known_integers(1, "the shape of the image"), node.known_integers(2, "the shape of a block")
    rank = len(block)
    strides, dilations = node.integers("strides", [1] * rank), node.integers("dilations", [1] * rank)
    pads = pairs(node.integers("pads", [0] * 2 * rank), rank)
    counts = [
        (n + sum(pad) - dilation * (k - 1) - 1) // stride + 1
        for n, k, stride, dilation, pad in zip(sizes, block, strides, dilations, pads, strict=True)
    ]
    n, channels = x.shape[0], x.shape[1] // prod(block)
    blocks = moves.reshape(b, x, (n, channels, prod(block), *counts))
    total: Value | None = None
    for place, taps in enumerate(product(*(range(k) for k in block))):
        part = moves.reshape(b, moves.slice_(b, blocks, 2, place, 1), (n, channels, *counts))
        part = _spread(b, part, strides)
        around = []
        for have, want, tap, dilation, pad in zip(part.shape[2:], sizes, taps, dilations, pads, strict=True):
            before = tap * dilation - pad[0]
            around.append((before, want - before - have))
        if any(have + min(around[axis]) <= 0 for axis, have in enumerate(part.shape[2:])):
            continue
        own = moves.pad(b, part, [(0, 0), (0, 0), *around])
        total = own if total is None else elementwise.add(b, total, own)
    assert total is not None
    return total


def _spread(b: Builder, x: Value, strides: Sequence[int]) -> Value:
    """Images with zeros inserted between pixels."""
    for axis, stride in enumerate(strides, 2):
        if stride > 1:
            size = x.shape[axis]
            apart = moves.pad(
                b,
                moves.unsqueeze(b, x, [axis + 1]),
                [(0, stride - 1) if a == axis + 1 else (0, 0) for a in range(x.rank + 1)],
            )
            wide = moves.reshape(b, apart, (*x.shape[:axis], size * stride, *x.shape[axis + 1 :]))
            x = moves.slice_(b, wide, axis, 0, (size - 1) * stride + 1)
    return x


PARSERS: Mapping[Key, Parser] = {
    ("", "Col2Im"): columns_to_image,
    ("", "DeformConv"): deformed_conv,
    ("", "GridSample"): grid_sample,
    ("", "MaxRoiPool"): max_roi_pool,
    ("", "RoiAlign"): roi_align,
}
