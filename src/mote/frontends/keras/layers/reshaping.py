"""Layers that move elements: Reshape, Permute, Flatten, UpSampling, Resizing and similar ones."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import moves, resize
from mote.frontends.build.builder import Value
from mote.frontends.keras.call import LayerCall, Parser, channels_back, channels_second


def reshape(call: LayerCall) -> Value:
    shape = call.layer.list_of_integers("target_shape")
    if shape.count(-1) > 1 or min(shape, default=1) < -1:
        raise UnsupportedNodeError(f"the shape {shape} is not supported")
    return moves.reshape(call.b, call.x, (call.x.shape[0], *shape))


def flatten(call: LayerCall) -> Value:
    """Flatten; with channels_first the channels are moved last before."""
    x = channels_back(call.b, call.x, False) if call.channels_first else call.x
    return moves.reshape(call.b, x, (x.shape[0], prod(x.shape[1:])))


def permute(call: LayerCall) -> Value:
    return moves.transpose(call.b, call.x, (0, *call.layer.list_of_integers("dims")))


def repeat_vector(call: LayerCall) -> Value:
    b, x = call.b, call.x
    if x.rank != 2:
        raise UnsupportedNodeError(f"it takes vectors, and is given the shape {x.shape}")
    wide = moves.unsqueeze(b, x, [1])
    return moves.expand(b, wide, (x.shape[0], call.layer.integer("n"), x.shape[1]))


def up_sampling(count: int) -> Parser:
    """Upsampling, nearest or interpolated."""

    def parse(call: LayerCall) -> Value:
        b, x = call.b, call.x
        if x.rank != count + 2:
            raise UnsupportedNodeError(f"it takes {count + 2} axes, and is given the shape {x.shape}")
        times = call.layer.integers("size", count)
        if min(times) < 1:
            raise UnsupportedNodeError(f"a size of {times} is not supported")
        image = channels_second(b, x, call.channels_first)
        sizes = [n * t for n, t in zip(image.shape[2:], times, strict=True)]
        how = call.layer.text("interpolation", "nearest")
        return channels_back(b, _resized(call, image, sizes, how), call.channels_first)

    return parse


def resizing(call: LayerCall) -> Value:
    layer, b = call.layer, call.b
    for option in ("crop_to_aspect_ratio", "pad_to_aspect_ratio"):
        if layer.flag(option, False):
            raise UnsupportedNodeError(f"{option} is not supported")
    if call.x.rank != 4:
        raise UnsupportedNodeError(f"it takes images, and is given the shape {call.x.shape}")
    image = channels_second(b, call.x, call.channels_first)
    sizes = [layer.integer("height"), layer.integer("width")]
    made = _resized(call, image, sizes, layer.text("interpolation", "bilinear"), layer.flag("antialias", False))
    return channels_back(b, made, call.channels_first)


def _resized(call: LayerCall, x: Value, sizes: list[int], how: str, smooth: bool = False) -> Value:
    """Images with channels on axis 1 resized, nearest or bilinear."""
    if min(sizes) < 1 or how not in ("nearest", "bilinear"):
        raise UnsupportedNodeError(f"a size of {sizes} by '{how}' is not supported (only nearest, bilinear)")
    taps = {}
    for axis, (size, new) in enumerate(zip(x.shape[2:], sizes, strict=True), 2):
        at = resize.positions(size, new, "half_pixel" if how == "bilinear" else "asymmetric")
        if how == "nearest":
            taps[axis] = resize.nearest(at, size, "floor")
        else:
            narrow = new / size if smooth else 1.0
            taps[axis] = resize.linear(np.clip(at, 0, size - 1), size, narrow, exclude_outside=narrow < 1)
    return resize.resize(call.b, x, taps)


def center_crop(call: LayerCall) -> Value:
    b, layer = call.b, call.layer
    rows = 2 if call.channels_first else 1
    x = call.x
    for axis, size in ((rows, layer.integer("height")), (rows + 1, layer.integer("width"))):
        if x.rank != 4 or not 1 <= size <= x.shape[axis]:
            raise UnsupportedNodeError(f"{size} pixels are outside of the shape {x.shape}: that would be a resize")
        x = moves.slice_(b, x, axis, (x.shape[axis] - size) // 2, size)
    return x


LAYERS: Mapping[str, Parser] = {
    "CenterCrop": center_crop,
    "Flatten": flatten,
    "Permute": permute,
    "RepeatVector": repeat_vector,
    "Reshape": reshape,
    "Resizing": resizing,
    **{f"UpSampling{n}D": up_sampling(n) for n in (1, 2, 3)},
}
