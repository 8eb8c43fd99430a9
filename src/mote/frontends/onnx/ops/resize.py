"""Resize and Upsample."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends import limits
from mote.frontends.build import Value, elementwise, resize
from mote.frontends.build.resize import ResizeTaps
from mote.frontends.onnx.node import Key, Node, Parser
from mote.ir.graph.tensor import Array

_MODES = ("nearest", "linear", "cubic")


def _numbers(node: Node, position: int, what: str) -> list[float]:
    """A constant input as a list; empty where the input is omitted or empty."""
    return [float(n) for n in node.known(position, what).reshape(-1)] if node.has(position) else []


def _new_sizes(node: Node, x: Value, axes: list[int]) -> tuple[list[float], list[int]]:
    """The scales and the new sizes of some axes, of which a node gives one."""
    scales = _numbers(node, 2, "the scales")
    sizes = [int(n) for n in _numbers(node, 3, "the sizes")]
    old = [x.shape[a] for a in axes]
    if bool(scales) == bool(sizes) or len(scales or sizes) != len(axes):
        raise UnsupportedNodeError(f"scales {scales} and sizes {sizes} do not fit {len(axes)} axes")
    if scales:
        return scales, [_scaled(n, scale) for n, scale in zip(old, scales, strict=True)]
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    ratios = [new / n for n, new in zip(old, sizes, strict=True)]
    if policy in ("not_larger", "not_smaller"):
        scale = min(ratios) if policy == "not_larger" else max(ratios)
        return [scale] * len(axes), [_scaled(n, scale, 0.5) for n in old]
    if policy != "stretch":
        raise UnsupportedNodeError(f"the policy {policy} is not supported")
    return ratios, sizes


def _scaled(size: int, scale: float, more: float = 0.0) -> int:
    """The scaled size of an axis."""
    if not 1 <= scale * size + more < limits.MOST_ELEMENTS:
        raise UnsupportedNodeError(f"a scale of {scale} for {size} elements is not supported")
    return floor(size * scale + more)


def resize_node(node: Node) -> Value:
    """Sizes and a region of interest exist since opset 11."""
    x = node.input()
    if node.version < 11:
        return _upsampled(node, x, _numbers(node, 1, "the scales"))
    axes = [x.axis(a) for a in node.integers("axes", range(x.rank))]
    scales, sizes = _new_sizes(node, x, axes)
    rule = node.text("coordinate_transformation_mode", "half_pixel")
    given = _numbers(node, 1, "the region of interest") if rule == "tf_crop_and_resize" else []
    part = given or [0.0] * len(axes) + [1.0] * len(axes)
    if len(part) != 2 * len(axes):
        raise UnsupportedNodeError(f"a region of interest of {len(part)} values does not fit {len(axes)} axes")
    taps = {}
    inside: Array = np.ones((1,) * x.rank, bool)
    for place, (axis, scale, new) in enumerate(zip(axes, scales, sizes, strict=True)):
        if not 0 < new < limits.MOST_ELEMENTS:
            raise UnsupportedNodeError(f"an axis of {x.shape[axis]} elements would have {new}")
        roi = (part[place], part[place + len(axes)])
        if new != x.shape[axis] or roi != (0.0, 1.0) or scale != 1:
            at = resize.positions(x.shape[axis], new, rule, scale, roi)
            taps[axis] = _taps(node, np.clip(at, 0, x.shape[axis] - 1) if given else at, x.shape[axis], scale)
            own = (at >= 0) & (at <= x.shape[axis] - 1) if given else np.ones(new, bool)
            inside = inside & own.reshape([-1 if a == axis else 1 for a in range(x.rank)])
    made = resize.resize(node.b, x, taps) if taps else x
    if inside.all():
        return made
    other = elementwise.scalar(node.b, node.real("extrapolation_value", 0.0), x.dtype)
    return elementwise.where(node.b, node.b.constant(inside), made, other)


def _taps(node: Node, at: resize.Floats, size: int, scale: float) -> ResizeTaps:
    """The resampling taps of an axis."""
    mode = node.text("mode", "nearest")
    narrow = scale if node.flag("antialias", False) else 1.0
    if mode == "nearest":
        return resize.nearest(at, size, node.text("nearest_mode", "round_prefer_floor"))
    outside = node.flag("exclude_outside", False)
    if mode == "linear":
        return resize.linear(at, size, narrow, exclude_outside=outside)
    if mode == "cubic":
        return resize.cubic(at, size, narrow, node.real("cubic_coeff_a", -0.75), exclude_outside=outside)
    raise UnsupportedNodeError(f"the mode {mode} is not supported (only {', '.join(_MODES)})")


def upsample(node: Node) -> Value:
    return _upsampled(node, node.input(), _numbers(node, 1, "the scales"))


def _upsampled(node: Node, x: Value, scales: list[float]) -> Value:
    """Upsample of opsets up to 10: asymmetric coordinates, rounded down."""
    if len(scales) != x.rank:
        raise UnsupportedNodeError(f"scales {scales} do not fit a value of the shape {x.shape}")
    mode = node.text("mode", "nearest")
    if mode not in ("nearest", "linear", "bilinear"):
        raise UnsupportedNodeError(f"the mode {mode} is not supported")
    taps = {}
    for axis, scale in enumerate(scales):
        if scale != 1:
            size = x.shape[axis]
            at = resize.positions(size, _scaled(size, scale), "asymmetric", scale)
            taps[axis] = resize.nearest(at, size, "floor") if mode == "nearest" else resize.linear(at, size)
    return resize.resize(node.b, x, taps) if taps else x


PARSERS: Mapping[Key, Parser] = {("", "Resize"): resize_node, ("", "Upsample"): upsample}
