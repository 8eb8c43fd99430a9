"""Convolutions, pooling and resizing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise, moves, resize, sampling, windows
from mote.frontends.build.builder import Builder, Value
from mote.frontends.torch.node import Node, Parser
from mote.ir.graph.tensor import Array
from mote.ir.ops.common import Axis
from mote.ir.ops.windows.grid_roi_sampling import Outside, Sampling


def _image(node: Node, name: str, axes: int) -> tuple[Value, bool]:
    """A value with images on its last axes, and whether it lacks a batch axis."""
    x = node.value(name)
    alone = x.rank == axes + 1
    return (moves.unsqueeze(node.b, x, [0]) if alone else x), alone


def _back(node: Node, x: Value, alone: bool) -> Value:
    return moves.squeeze(node.b, x, [0]) if alone else x


def conv_window(node: Node, weights: Array) -> list[Axis]:
    """The window of a convolution."""
    count = weights.ndim - 2
    pads = [(n, n) for n in node.each("padding", count)]
    return windows.window(weights.shape[2:], node.each("stride", count), pads, node.each("dilation", count))


def _convolution(node: Node) -> Value:
    weights = node.known("weight")
    bias = node.known("bias") if node.has("bias") else None
    count = weights.ndim - 2
    x, alone = _image(node, "input", count)
    axes, groups = conv_window(node, weights), node.integer("groups")
    if node.flag("transposed"):
        more = node.each("output_padding", count, 0)
        return _back(node, windows.conv_transpose(node.b, x, weights, bias, axes, more, groups), alone)
    return _back(node, windows.conv(node.b, x, weights, bias, axes, groups), alone)


def pool_window(node: Node, count: int) -> list[Axis]:
    """The window of a pooling layer: the default stride is the window size."""
    kernel = node.each("kernel_size", count)
    strides = node.each("stride", count) if node.integers("stride") else kernel
    pads = [(n, n) for n in node.each("padding", count, 0)]
    return windows.window(kernel, strides, pads, node.each("dilation", count, 1))


def _max_pool(count: int) -> Parser:
    def parse(node: Node) -> Sequence[Value | None]:
        _refuse_places(node)
        x, alone = _image(node, "self", count)
        pooled = windows.max_pool(node.b, x, pool_window(node, count), ceil=node.flag("ceil_mode"))
        return [_back(node, pooled, alone), None]

    return parse


def _refuse_places(node: Node) -> None:
    if node.reads(1):
        raise UnsupportedNodeError("where the largest elements are is not supported: use max pooling without indices")


def _average_pool(count: int) -> Parser:
    def parse(node: Node) -> Value:
        if node.has("divisor_override"):
            raise UnsupportedNodeError("average pooling with a divisor of its own is not supported")
        x, alone = _image(node, "self", count)
        ceil, include = node.flag("ceil_mode"), node.flag("count_include_pad")
        return _back(
            node, windows.average_pool(node.b, x, pool_window(node, count), ceil=ceil, include_pad=include), alone
        )

    return parse


def _adaptive_average(count: int) -> Parser:
    def parse(node: Node) -> Value:
        x, alone = _image(node, "self", count)
        return _back(node, _adaptive(node, x, count, largest=False), alone)

    return parse


def _adaptive_max(count: int) -> Parser:
    def parse(node: Node) -> Sequence[Value | None]:
        _refuse_places(node)
        x, alone = _image(node, "self", count)
        return [_back(node, _adaptive(node, x, count, largest=True), alone), None]

    return parse


def _adaptive(node: Node, x: Value, count: int, *, largest: bool) -> Value:
    """Adaptive pooling: global, or by windows that do not overlap where possible."""
    b, wanted = node.b, list(node.shape[-count:])
    if set(wanted) == {1}:
        return (windows.global_max_pool if largest else windows.global_average_pool)(b, x)
    if all(n % m == 0 for n, m in zip(x.shape[2:], wanted, strict=True)):
        sizes = [n // m for n, m in zip(x.shape[2:], wanted, strict=True)]
        axes = windows.window(sizes, sizes)
        return windows.max_pool(b, x, axes) if largest else windows.average_pool(b, x, axes)
    return windows.adaptive_pool(b, x, wanted, largest=largest)


def _resize(axes: int, taps: Callable[[int, int, float | None, bool], resize.ResizeTaps]) -> Parser:
    """Resized images; `taps` gives the input elements and weights of each output element along an axis."""

    def parse(node: Node) -> Value:
        x = node.value("input" if "input" in node.arguments else "self")
        first = x.rank - axes
        corners = bool(node.given("align_corners"))
        scales = _scales(node, axes)
        return resize.resize(
            node.b,
            x,
            {
                first + i: taps(x.shape[first + i], node.shape[first + i], scales[i], corners)
                for i in range(axes)
                if x.shape[first + i] != node.shape[first + i] or scales[i] is not None
            },
        )

    return parse


def _scales(node: Node, axes: int) -> list[float | None]:
    """The scale factors of PyTorch's coordinates: the given ones, from which the sizes are rounded."""
    if node.has("scale_factors"):
        return [float(x) for x in node.reals("scale_factors")]
    names = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}[axes]
    return [node.real(name) if node.has(name) else None for name in names]


def _nearest(size: int, new: int, scale: float | None, _: bool) -> resize.ResizeTaps:
    return resize.nearest(resize.positions(size, new, "asymmetric", scale), size, "floor")


def _nearest_exact(size: int, new: int, scale: float | None, _: bool) -> resize.ResizeTaps:
    return resize.nearest(resize.positions(size, new, "half_pixel", scale), size, "round_prefer_ceil")


def _linear(size: int, new: int, scale: float | None, corners: bool) -> resize.ResizeTaps:
    return resize.linear(resize.positions(size, new, "align_corners" if corners else "half_pixel", scale), size)


def _linear_smooth(size: int, new: int, scale: float | None, corners: bool) -> resize.ResizeTaps:
    at = resize.positions(size, new, "align_corners" if corners else "half_pixel", scale)
    return resize.linear(at, size, new / size if scale is None else scale, exclude_outside=True)


def _grid_sample(node: Node) -> Value:
    mode, outside = (node.integer(name) for name in ("interpolation_mode", "padding_mode"))
    if mode >= len(SAMPLINGS) or outside >= len(Outside):
        raise UnsupportedNodeError(f"the mode {mode} with padding {outside} is not supported")
    b, x, grid, corners = node.b, node.value("input"), node.value("grid"), node.flag("align_corners")
    kind = SAMPLINGS[mode], tuple(Outside)[outside]
    if kind == (Sampling.CUBIC, Outside.BORDER):
        x, grid = _with_margins(b, x, grid, corners)
    return sampling.grid_sample(b, x, grid, *kind, corners)


def _with_margins(b: Builder, x: Value, grid: Value, corners: bool) -> tuple[Value, Value]:
    """Images with pixels of the border around them, and the same points of these: in PyTorch the points of bicubic
    samples may be outside, and only the pixels around them are taken from the border."""
    spans = [n - corners for n in x.shape[:1:-1]]
    factors = np.array([span / (span + 2 * MARGIN) for span in spans], np.float32)
    wide = moves.pad(b, x, [(0, 0), (0, 0), *[(MARGIN, MARGIN)] * len(spans)], "edge")
    return wide, elementwise.mul(b, grid, b.constant(factors))


def _cubic(size: int, new: int, scale: float | None, corners: bool) -> resize.ResizeTaps:
    return resize.cubic(resize.positions(size, new, "align_corners" if corners else "half_pixel", scale), size)


def _resizing(
    name: str, axes: int, taps: Callable[[int, int, float | None, bool], resize.ResizeTaps]
) -> dict[str, Parser]:
    taken_apart = ("upsample_bilinear2d", "upsample_bicubic2d")
    kinds = ("default",) if name.startswith("_") else ("vec",) if name in taken_apart else ("vec", "default")
    return {f"aten.{name}.{kind}": _resize(axes, taps) for kind in kinds}


MARGIN = 3
"""Pixels around an image that have those of the border, such that samples outside of these have nothing else."""
SAMPLINGS = (Sampling.LINEAR, Sampling.NEAREST, Sampling.CUBIC)
"""Interpolation modes by PyTorch's numbers; those of padding are in the order of Outside."""

PARSERS: Mapping[str, Parser] = {
    "aten.grid_sampler_2d.default": _grid_sample,
    "aten.grid_sampler_3d.default": _grid_sample,
    "aten.convolution.default": _convolution,
    **{f"aten.max_pool{n}d_with_indices.default": _max_pool(n) for n in (2, 3)},
    **{f"aten.avg_pool{n}d.default": _average_pool(n) for n in (2, 3)},
    **{f"aten.adaptive_avg_pool{n}d.default": _adaptive_average(n) for n in (1, 2, 3)},
    **{f"aten._adaptive_avg_pool{n}d.default": _adaptive_average(n) for n in (2, 3)},
    **{f"aten.adaptive_max_pool{n}d.default": _adaptive_max(n) for n in (2, 3)},
    **_resizing("upsample_nearest1d", 1, _nearest),
    **_resizing("upsample_nearest2d", 2, _nearest),
    **_resizing("upsample_nearest3d", 3, _nearest),
    **_resizing("_upsample_nearest_exact1d", 1, _nearest_exact),
    **_resizing("_upsample_nearest_exact2d", 2, _nearest_exact),
    **_resizing("upsample_linear1d", 1, _linear),
    **_resizing("upsample_bilinear2d", 2, _linear),
    **_resizing("upsample_trilinear3d", 3, _linear),
    **_resizing("upsample_bicubic2d", 2, _cubic),
    **_resizing("_upsample_bilinear2d_aa", 2, _linear_smooth),
}
