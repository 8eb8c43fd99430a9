"""Resizing of images: each output index of an axis has a list of input indices and weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise, matrix, moves
from mote.frontends.build.builder import Builder, Value
from mote.ir.graph import Op
from mote.ir.graph.element_order import Atom
from mote.ir.graph.types import DType
from mote.ir.ops.windows.resize import ResizeBilinear, ResizeNearest, real_positions

Floats = NDArray[np.float64]
MOST_TAPS = 4
"""Axes with more taps than this per output element are computed as matrix products."""


@dataclass(frozen=True)
class ResizeTaps:
    """The input elements of each output element along an axis, and their weights: both [new, taps]."""

    at: NDArray[np.int64]
    weights: Floats

    @property
    def picks(self) -> bool:
        """Whether each output element is a copy of an input element."""
        return self.at.shape[1] == 1 and bool(np.all(self.weights == 1))


def positions(
    size: int, new: int, transformation: str, scale: float | None = None, roi: tuple[float, float] = (0, 1)
) -> Floats:
    """The input coordinates of `new` output elements over `size` input elements, by ONNX's coordinate transformation
    mode."""
    at = np.arange(new, dtype=np.float64)
    factor = new / size if scale is None else scale
    if transformation == "half_pixel":
        return (at + 0.5) / factor - 0.5
    if transformation == "half_pixel_symmetric":
        adjustment = new / (factor * size)
        return size / 2 * (1 - adjustment) + (at + 0.5) / factor - 0.5
    if transformation == "pytorch_half_pixel":
        return (at + 0.5) / factor - 0.5 if new > 1 else np.zeros(new)
    if transformation == "align_corners":
        return at * (size - 1) / (new - 1) if new > 1 else np.zeros(new)
    if transformation == "asymmetric":
        return at / factor
    if transformation == "tf_half_pixel_for_nn":
        return (at + 0.5) / factor
    if transformation == "tf_crop_and_resize":
        begin, end = roi
        if new == 1:
            return np.array([0.5 * (begin + end) * (size - 1)])
        return begin * (size - 1) + at * (end - begin) * (size - 1) / (new - 1)
    raise UnsupportedNodeError(f"the coordinates '{transformation}' are not supported")


def nearest(at: Floats, size: int, rounding: str = "round_prefer_floor") -> ResizeTaps:
    """Nearest-neighbour resampling."""
    rules = {
        "floor": np.floor(at),
        "ceil": np.ceil(at),
        "round_prefer_floor": np.ceil(at - 0.5),
        "round_prefer_ceil": np.floor(at + 0.5),
    }
    if rounding not in rules:
        raise UnsupportedNodeError(f"the nearest mode '{rounding}' is not supported")
    places = np.clip(rules[rounding], 0, size - 1).astype(np.int64)
    return ResizeTaps(places[:, None], np.ones((len(at), 1)))


def linear(at: Floats, size: int, scale: float = 1.0, *, exclude_outside: bool = False) -> ResizeTaps:
    """Linear interpolation; with a scale below 1 the filter widens against aliasing. `exclude_outside`: taps outside of
    the image are dropped instead of clamped to the edge."""

    def kernel(x: Floats) -> Floats:
        weights: Floats = np.maximum(0, 1 - np.abs(x))
        return weights

    return _filtered(at, size, min(scale, 1.0), 1, kernel, exclude_outside=exclude_outside)


def cubic(at: Floats, size: int, scale: float = 1.0, a: float = -0.75, *, exclude_outside: bool = False) -> ResizeTaps:
    """Cubic interpolation over four neighbours, with Keys' kernel."""

    def kernel(x: Floats) -> Floats:
        d = np.abs(x)
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        return np.where(d <= 1, near, np.where(d < 2, far, 0.0))

    return _filtered(at, size, min(scale, 1.0), 2, kernel, exclude_outside=exclude_outside)


def _filtered(
    at: Floats, size: int, scale: float, radius: int, kernel: Callable[[Floats], Floats], *, exclude_outside: bool
) -> ResizeTaps:
    """Weighted sums of the elements within a radius, which grows as the scale shrinks."""
    reach = radius / scale
    first = np.floor(at - reach).astype(np.int64) + 1
    places = first[:, None] + np.arange(int(np.ceil(2 * reach)), dtype=np.int64)
    weights = kernel((places - at[:, None]) * scale)
    if exclude_outside:
        weights = np.where((places >= 0) & (places < size), weights, 0)
    if exclude_outside or scale < 1:
        weights = weights / weights.sum(axis=1, keepdims=True)
    return ResizeTaps(np.clip(places, 0, size - 1), weights)


def resize(b: Builder, x: Value, taps: Mapping[int, ResizeTaps]) -> Value:
    """A value resampled along some axes."""
    if any(not t.picks for t in taps.values()) and x.dtype != DType.FLOAT32:
        raise UnsupportedNodeError(f"{x.dtype} values cannot be interpolated")
    if x.rank == 4 and set(taps) <= {2, 3} and not x.constant:
        both = [taps.get(a) or nearest(np.arange(x.shape[a], dtype=np.float64), x.shape[a]) for a in (2, 3)]
        if (op := _operator(x, both[0], both[1])) is not None:
            return _by_operator(b, x, *op)
    for axis, t in taps.items():
        x = _along(b, x, axis, t)
    return x


def _operator(x: Value, rows: ResizeTaps, columns: ResizeTaps) -> tuple[type[Op], dict[str, Any]] | None:
    """The resize operator that is equal to these taps and its options; None where there is none."""
    copies = rows.picks and columns.picks
    kind = ResizeNearest if copies else ResizeBilinear
    for corners, half in ((False, False), (False, True), (True, False)):
        options: dict[str, Any] = {
            "size": (len(rows.at), len(columns.at)),
            "align_corners": corners,
            "half_pixel_centers": half,
        }
        op = kind(inputs=(0,), outputs=(1,), **options)
        if all(_alike(op, n, t) for n, t in ((x.shape[2], rows), (x.shape[3], columns))):
            return kind, options
    return None


def _alike(op: ResizeNearest | ResizeBilinear, size: int, taps: ResizeTaps) -> bool:
    """Whether an operator takes the same elements along an axis."""
    if isinstance(op, ResizeNearest):
        return np.array_equal(op.sources(size, len(taps.at)), taps.at[:, 0])
    at = np.clip(real_positions(op, size, len(taps.at)).astype(np.float64), 0, size - 1)
    return bool(np.allclose((taps.at * taps.weights).sum(axis=1), at, atol=1e-5)) and taps.at.shape[1] <= 2


def _by_operator(b: Builder, x: Value, kind: type[Op], options: dict[str, Any]) -> Value:
    source, stored = b.loosely(x, [[0], [2], [3], [1]], (1,))
    height, width = options["size"]
    n, channels = x.shape[:2]
    made = b.op(kind, [source], (n, height, width, channels), quant=b.tensors[source].quant, **options)
    atoms = [Atom(0, 0, n), Atom(2, 0, height), Atom(3, 0, width), *stored[-1]]
    return b.value(made, (n, channels, height, width), atoms)


def _along(b: Builder, x: Value, axis: int, taps: ResizeTaps) -> Value:
    """Resampling along one axis: copies, or weighted sums of copies; a matrix product where that is cheaper."""
    if taps.at.shape[1] > MOST_TAPS:
        whole = np.zeros((x.shape[axis], len(taps.at)))
        np.add.at(whole, (taps.at, np.arange(len(taps.at), dtype=np.int64)[:, None]), taps.weights)
        return matrix.linear(b, x, whole.astype(np.float32), axis=axis)
    if taps.picks:
        return moves.gather(b, x, axis, b.constant(taps.at[:, 0]))
    total: Value | None = None
    for at, weights in zip(taps.at.T, taps.weights.T, strict=True):
        part = moves.gather(b, x, axis, b.constant(at))
        shape = [-1] + [1] * (x.rank - axis - 1)
        part = elementwise.mul(b, part, b.constant(weights.astype(np.float32).reshape(shape)))
        total = part if total is None else elementwise.add(b, total, part)
    assert total is not None
    return total
