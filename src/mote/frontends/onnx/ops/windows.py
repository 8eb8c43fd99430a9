"""Convolutions and pooling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, elementwise, windows
from mote.frontends.onnx.node import Key, Node, Parser
from mote.frontends.onnx.ops.places import largest_places
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis


def axes_of(node: Node, x: Value, kernel: Sequence[int]) -> list[Axis]:
    """The axes of a window, padded as the node says."""
    if x.rank < 3 or len(kernel) != x.rank - 2:
        raise UnsupportedNodeError(f"a window of {tuple(kernel)} does not fit a value of the shape {x.shape}")
    strides, dilations = (_each(node, name, kernel) for name in ("strides", "dilations"))
    automatic = node.text("auto_pad", "NOTSET")
    pads = pairs(node.integers("pads", [0] * (2 * len(kernel))), len(kernel))
    if automatic == "NOTSET":
        return windows.window(kernel, strides, pads, dilations)
    plain = windows.window(kernel, strides, None, dilations)
    if automatic == "VALID":
        return plain
    if automatic not in ("SAME_UPPER", "SAME_LOWER"):
        raise UnsupportedNodeError(f"the padding {automatic} is not supported")
    return windows.same_pads(x.shape[2:], plain, upper=automatic == "SAME_UPPER")


def _each(node: Node, name: str, kernel: Sequence[int]) -> list[int]:
    """An attribute with one number per spatial axis, 1 where it is omitted."""
    each = node.integers(name, [1] * len(kernel))
    if len(each) != len(kernel):
        raise UnsupportedNodeError(f"the attribute {name} has {len(each)} integers for a window of {len(kernel)} axes")
    return each


def pairs(numbers: Sequence[int], count: int) -> list[tuple[int, int]]:
    """(before, after) for each axis, from all numbers before followed by all numbers after."""
    if len(numbers) != 2 * count:
        raise UnsupportedNodeError(f"{len(numbers)} paddings do not fit {count} axes")
    return list(zip(numbers[:count], numbers[count:], strict=True))


def weights_of(node: Node, x: Value) -> tuple[Array, Array | None]:
    """The weights of a convolution, whose kernel_shape attribute must match them, and its bias."""
    weights = node.b.known(node.input(1), "the weights")
    bias = node.b.known(node.input(2), "the bias") if node.has(2) else None
    kernel = node.integers("kernel_shape", weights.shape[2:])
    if x.rank < 3 or weights.ndim != x.rank or tuple(kernel) != weights.shape[2:] or not weights.size:
        raise UnsupportedNodeError(f"weights of {weights.shape} do not fit a window of {tuple(kernel)} over {x.shape}")
    return weights, bias


def conv(node: Node) -> Value:
    x = node.input()
    weights, bias = weights_of(node, x)
    if bias is not None and bias.shape != weights.shape[:1]:
        raise UnsupportedNodeError(f"a bias of {bias.shape} does not fit {weights.shape[0]} output channels")
    return windows.conv(node.b, x, weights, bias, axes_of(node, x, weights.shape[2:]), node.integer("group", 1))


def conv_transpose(node: Node) -> Value:
    x = node.input()
    weights, bias = weights_of(node, x)
    groups = node.integer("group", 1)
    if bias is not None and bias.shape != (weights.shape[1] * groups,):
        raise UnsupportedNodeError(f"a bias of {bias.shape} does not fit {weights.shape[1] * groups} output channels")
    axes, more = _transposed_axes(node, x, weights.shape[2:])
    return windows.conv_transpose(node.b, x, weights, bias, axes, more, groups)


def _transposed_axes(node: Node, x: Value, kernel: Sequence[int]) -> tuple[list[Axis], list[int]]:
    """The windows of a transposed convolution, and its output padding: paddings follow from output_shape where that is
    given, or from SAME padding."""
    count = len(kernel)
    strides, dilations = (_each(node, name, kernel) for name in ("strides", "dilations"))
    more = node.integers("output_padding", [0] * count)
    automatic = node.text("auto_pad", "NOTSET")
    size = node.integers("output_shape", [])[-count:]
    if automatic in ("SAME_UPPER", "SAME_LOWER") and not size:
        size = [n * stride for n, stride in zip(x.shape[2:], strides, strict=True)]
    plain = windows.window(kernel, strides, None, dilations)
    if len(more) != count or (size and len(size) != count) or min(more, default=0) < 0:
        raise UnsupportedNodeError(f"output_padding {more} or output_shape {size} do not fit {count} axes")
    if not size:
        pads = pairs(node.integers("pads", [0] * (2 * count)), count)
        return windows.window(kernel, strides, None if automatic == "VALID" else pads, dilations), more
    made = []
    for place, (n, axis) in enumerate(zip(x.shape[2:], plain, strict=True)):
        total = axis.stride * (n - 1) + more[place] + axis.extent - size[place]
        more[place] += max(-total, 0)
        less = max(total, 0) // 2
        rest = max(total, 0) - less
        made.append((less, rest) if automatic == "SAME_UPPER" else (rest, less))
    return windows.window(kernel, strides, made, dilations), more


def _pool(node: Node, apply: Callable[[Builder, Value, list[Axis]], Value]) -> Value:
    x = node.input()
    return apply(node.b, x, axes_of(node, x, node.integers("kernel_shape")))


def max_pool(node: Node) -> Value | Sequence[Value]:
    if not node.wants(1):
        return _max_pool(node)
    x, column_major = node.input(), node.flag("storage_order", False)
    axes = windows.ceiled(x, axes_of(node, x, node.integers("kernel_shape")), node.flag("ceil_mode", False))
    return _max_pool(node), largest_places(node.b, x, axes, column_major=column_major)


def _max_pool(node: Node) -> Value:
    apply = partial(windows.max_pool, ceil=node.flag("ceil_mode", False))
    dtype = node.input().dtype
    if not dtype.integer or node.input().quant is not None:
        return _pool(node, apply)
    real = replace(node, inputs=(elementwise.cast(node.b, node.input(), DType.FLOAT32), *node.inputs[1:]))
    return elementwise.cast(node.b, _pool(real, apply), dtype)


def average_pool(node: Node) -> Value:
    ceil, include_pad = node.flag("ceil_mode", False), node.flag("count_include_pad", False)
    return _pool(node, partial(windows.average_pool, ceil=ceil, include_pad=include_pad))


def lp_pool(node: Node) -> Value:
    return _pool(node, partial(windows.lp_pool, order=node.integer("p", 2), ceil=node.flag("ceil_mode", False)))


def _image(node: Node) -> Value:
    x = node.input()
    if x.rank < 2 or not prod(x.shape[2:]):
        raise UnsupportedNodeError(f"a value of the shape {x.shape} has no images")
    return x


def global_average_pool(node: Node) -> Value:
    return windows.global_average_pool(node.b, _image(node))


def global_max_pool(node: Node) -> Value:
    return windows.global_max_pool(node.b, _image(node))


def global_lp_pool(node: Node) -> Value:
    return windows.global_lp_pool(node.b, _image(node), node.integer("p", 2))


PARSERS: Mapping[Key, Parser] = {
    ("", "Conv"): conv,
    ("", "ConvTranspose"): conv_transpose,
    ("", "MaxPool"): max_pool,
    ("", "AveragePool"): average_pool,
    ("", "LpPool"): lp_pool,
    ("", "GlobalAveragePool"): global_average_pool,
    ("", "GlobalMaxPool"): global_max_pool,
    ("", "GlobalLpPool"): global_lp_pool,
}
