"""Convolutions and pooling, along one to three axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise as e
from mote.frontends.build import moves, reductions, windows
from mote.frontends.build.builder import Value
from mote.frontends.keras.call import LayerCall, Parser, channels_back, channels_second
from mote.frontends.keras.layers.core import activated
from mote.frontends.keras.masks import as_numbers
from mote.ir.graph.tensor import Array
from mote.ir.ops.common import Axis


def window_of(call: LayerCall, count: int, sizes: Sequence[int], kernel: str = "kernel_size") -> list[Axis]:
    """The axes of a layer's window over an image of these sizes. An odd element of SAME padding is at the end."""
    layer = call.layer
    taps = layer.integers(kernel, count)
    strides = taps if layer.get("strides", None) is None else layer.integers("strides", count)
    dilations = layer.integers("dilation_rate", count, 1)
    padding = layer.text("padding", "valid")
    axes = windows.window(taps, strides, None, dilations)
    if padding == "same":
        return windows.same_pads(sizes, axes)
    if padding == "causal" and count == 1:
        return windows.window(taps, strides, [(axes[0].extent - 1, 0)], dilations)
    if padding != "valid":
        raise UnsupportedNodeError(f"padding '{padding}' is not supported")
    return axes


def _image(call: LayerCall, count: int) -> Value:
    """The input with its channels on axis 1."""
    x = call.x
    if x.rank != count + 2:
        raise UnsupportedNodeError(f"it takes {count + 2} axes, and is given the shape {x.shape}")
    return channels_second(call.b, x, call.channels_first)


def _finished(call: LayerCall, x: Value) -> Value:
    return activated(call, channels_back(call.b, x, call.channels_first))


def conv(count: int) -> Parser:
    def parse(call: LayerCall) -> Value:
        x, filters, groups = _image(call, count), call.layer.integer("filters"), call.layer.integer("groups", 1)
        if groups < 1 or x.shape[1] % groups or filters % groups:
            raise UnsupportedNodeError(f"{groups} groups do not fit {x.shape[1]} channels and {filters} filters")
        axes = window_of(call, count, x.shape[2:])
        kernel = call.weight(0, (*(a.kernel for a in axes), x.shape[1] // groups, filters), "kernel")
        made = windows.conv(call.b, x, outputs_first(kernel), call.bias(1, filters), axes, groups)
        return _finished(call, made)

    return parse


def outputs_first(kernel: Array) -> Array:
    """A kernel with output channels, then input channels, before the spatial axes."""
    return np.moveaxis(kernel, (-1, -2), (0, 1))


def _by_channel(kernel: Array) -> Array:
    """The kernel of a depthwise convolution as a grouped one."""
    whole = kernel.reshape(*kernel.shape[:-2], -1)
    return np.moveaxis(whole, -1, 0)[:, None]


def depthwise(count: int) -> Parser:
    def parse(call: LayerCall) -> Value:
        x, times = _image(call, count), call.layer.integer("depth_multiplier", 1)
        axes = window_of(call, count, x.shape[2:])
        kernel = call.weight(0, (*(a.kernel for a in axes), x.shape[1], times), "kernel")
        bias = call.bias(1, x.shape[1] * times)
        return _finished(call, windows.conv(call.b, x, _by_channel(kernel), bias, axes, x.shape[1]))

    return parse


def separable(count: int) -> Parser:
    """A depthwise convolution followed by a pointwise one."""

    def parse(call: LayerCall) -> Value:
        x, times = _image(call, count), call.layer.integer("depth_multiplier", 1)
        filters = call.layer.integer("filters")
        axes = window_of(call, count, x.shape[2:])
        each = call.weight(0, (*(a.kernel for a in axes), x.shape[1], times), "depthwise kernel")
        all_ = call.weight(1, (*[1] * count, x.shape[1] * times, filters), "pointwise kernel")
        middle = windows.conv(call.b, x, _by_channel(each), None, axes, x.shape[1])
        plain = windows.window([1] * count)
        made = windows.conv(call.b, middle, outputs_first(all_), call.bias(2, filters), plain)
        return _finished(call, made)

    return parse


def transposed(count: int) -> Parser:
    def parse(call: LayerCall) -> Value:
        x, filters = _image(call, count), call.layer.integer("filters")
        layer = call.layer
        taps, strides = layer.integers("kernel_size", count), layer.integers("strides", count)
        dilations = layer.integers("dilation_rate", count, 1)
        more = None if layer.get("output_padding", None) is None else layer.integers("output_padding", count)
        plain = windows.window(taps, strides, None, dilations)
        crops = [_crop(axis, layer.text("padding"), None if more is None else more[i]) for i, axis in enumerate(plain)]
        axes = windows.window(taps, strides, [(before, after) for before, after, _ in crops], dilations)
        if any(before != after for before, after, _ in crops) or any(m and b for b, _, m in crops):
            _warn(call, "the output is cropped unevenly")
        kernel = call.weight(0, (*taps, filters, x.shape[1]), "kernel")
        bias = call.bias(1, filters)
        beyond = [extra for *_, extra in crops]
        made = windows.conv_transpose(call.b, x, outputs_first(kernel), bias, axes, beyond)
        return _finished(call, made)

    return parse


def _crop(axis: Axis, padding: str, more: int | None) -> tuple[int, int, int]:
    """Cropping before and after the output of a transposed convolution, and its output padding."""
    if padding not in ("valid", "same"):
        raise UnsupportedNodeError(f"padding '{padding}' is not supported")
    size, odd = axis.extent, axis.extent % 2
    if padding == "valid":
        return 0, 0, max(size, axis.stride) - size if more is None else more
    around = size + odd - 2 + (axis.stride - odd if more is None else more)
    left = min(-(-around // 2), size - 1)
    after = size - 1 - (around - left)
    return size - 1 - left, max(after, 0), max(-after, 0)


def _warn(call: LayerCall, why: str) -> None:
    """Warning about results that differ between Keras's own backends."""
    call.b.warnings.append(
        f"'{call.layer.name}': {why}, which Keras does otherwise with PyTorch; computed as with TensorFlow and JAX"
    )


def pool(count: int, *, largest: bool) -> Parser:
    def parse(call: LayerCall) -> Value:
        x = _image(call, count)
        axes = window_of(call, count, x.shape[2:], "pool_size")
        if not largest and any(axis.before != axis.after for axis in axes):
            _warn(call, "windows are padded unevenly")
        made = (windows.max_pool if largest else windows.average_pool)(call.b, x, axes)
        return channels_back(call.b, made, call.channels_first)

    return parse


def global_pool(count: int, *, largest: bool) -> Parser:
    def parse(call: LayerCall) -> Value:
        if call.x.rank != count + 2:
            raise UnsupportedNodeError(f"it takes {count + 2} axes, and is given the shape {call.x.shape}")
        axes = range(2, count + 2) if call.channels_first else range(1, count + 1)
        keep = call.layer.flag("keepdims", False)
        if count == 1 and not largest and call.mask is not None:
            return _mean_of_steps(call, call.mask, keep)
        reduce = reductions.maximum if largest else reductions.mean
        return reduce(call.b, call.x, axes, keep)

    return parse


def _mean_of_steps(call: LayerCall, mask: Value, keep: bool) -> Value:
    """The mean over the unmasked steps."""
    b, x, axis = call.b, call.x, 2 if call.channels_first else 1
    wide = moves.unsqueeze(b, as_numbers(call, mask), [3 - axis])
    total, count = (reductions.sum_(b, v, [axis], keep) for v in (e.mul(b, x, wide), wide))
    return e.div(b, total, count)


def adaptive_pool(count: int, *, largest: bool) -> Parser:
    def parse(call: LayerCall) -> Value:
        x = _image(call, count)
        sizes = call.layer.integers("output_size", count)
        if min(sizes) < 1:
            raise UnsupportedNodeError(f"an output of {sizes} is not supported")
        return channels_back(call.b, windows.adaptive_pool(call.b, x, sizes, largest=largest), call.channels_first)

    return parse


def zero_padding(count: int) -> Parser:
    def parse(call: LayerCall) -> Value:
        return moves.pad(call.b, call.x, _around(call, count, "padding"))

    return parse


def cropping(count: int) -> Parser:
    def parse(call: LayerCall) -> Value:
        less = [(-before, -after) for before, after in _around(call, count, "cropping")]
        return moves.pad(call.b, call.x, less)

    return parse


def _around(call: LayerCall, count: int, option: str) -> list[tuple[int, int]]:
    """Amounts before and after each spatial axis, for all axes of the input."""
    said = call.layer.get(option)
    pairs = [said] if count == 1 and _is_pair(said) else said if isinstance(said, list) else [said] * count
    amounts = [
        (p, p) if isinstance(p, int) else (int(p[0]), int(p[1])) for p in pairs if isinstance(p, int) or _is_pair(p)
    ]
    if len(amounts) != count or call.x.rank != count + 2 or min(min(p) for p in amounts) < 0:
        raise UnsupportedNodeError(f"{option} of {said} does not fit the shape {call.x.shape}")
    none = (0, 0)
    return [none, none, *amounts] if call.channels_first else [none, *amounts, none]


def _is_pair(said: object) -> bool:
    return isinstance(said, list) and len(said) == 2 and all(isinstance(n, int) for n in said)


def _of_each(name: str, make: object) -> dict[str, Parser]:
    """The parsers of a layer for one to three spatial axes."""
    assert callable(make)
    return {f"{name}{count}D": make(count) for count in (1, 2, 3)}


LAYERS: Mapping[str, Parser] = {
    **_of_each("Conv", conv),
    **{f"Conv{n}DTranspose": transposed(n) for n in (1, 2, 3)},
    **{f"DepthwiseConv{n}D": depthwise(n) for n in (1, 2)},
    **{f"SeparableConv{n}D": separable(n) for n in (1, 2)},
    **_of_each("MaxPooling", lambda n: pool(n, largest=True)),
    **_of_each("AveragePooling", lambda n: pool(n, largest=False)),
    **_of_each("GlobalMaxPooling", lambda n: global_pool(n, largest=True)),
    **_of_each("GlobalAveragePooling", lambda n: global_pool(n, largest=False)),
    **_of_each("AdaptiveMaxPooling", lambda n: adaptive_pool(n, largest=True)),
    **_of_each("AdaptiveAveragePooling", lambda n: adaptive_pool(n, largest=False)),
    **_of_each("ZeroPadding", zero_padding),
    **_of_each("Cropping", cropping),
}
