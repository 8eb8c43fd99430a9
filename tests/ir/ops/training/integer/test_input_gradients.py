"""Gradients of int8 layers, masks and maxima: against those of float32, and the C of all operators."""

from __future__ import annotations

import numpy as np
import pytest

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis
from mote.ir.ops.training.integer.input_gradients import IntegerConvInputGradient, IntegerDepthwiseInputGradient
from mote.ir.ops.training.integer.masks import ActivationMask, MaskedGradient, MaxPoolSpread, MaxPoolTaps
from mote.ir.ops.training.window_gradients import ConvInputGradient, DepthwiseInputGradient, MaxPoolGradient
from tests.helpers.support import HOST_DSP, HOST_HELIUM, emulated
from tests.ir.ops.training.integer.pieces import agree, any_window, piece, quantized, tensors
from tests.ir.ops.training.single import evaluate

SAME = Axis(3, before=1, after=1)
STRIDED = Axis(3, stride=2, after=1)
SPREAD = Axis(2, dilation=2)
ONE = Axis(1)
MADE = quantized(0.02)


def conv(size: tuple[int, int], depth: int, out: int, v: Axis, h: Axis) -> Graph:
    given = tensors(
        ("gradient", (1, v.size(size[0]), h.size(size[1]), out), "int8", quantized(0.01)),
        ("weights", (out, v.kernel, h.kernel, depth), "int8", quantized(np.geomspace(0.005, 0.05, out).tolist())),
    )
    return piece(IntegerConvInputGradient, given, quant=MADE, size=size, vertical=v, horizontal=h)


def dense(depth: int, out: int) -> Graph:
    given = tensors(("gradient", (1, out), "int8", quantized(0.01)), ("weights", (out, depth), "int8", quantized(0.03)))
    return piece(IntegerConvInputGradient, given, quant=MADE, size=(1, 1), vertical=ONE, horizontal=ONE)


def depthwise(size: tuple[int, int], depth: int, v: Axis, h: Axis, multiplier: int = 1) -> Graph:
    outputs = depth * multiplier
    scales = quantized(np.geomspace(0.005, 0.05, outputs).tolist(), axis=3)
    given = tensors(
        ("gradient", (1, v.size(size[0]), h.size(size[1]), outputs), "int8", quantized(0.01)),
        ("weights", (1, v.kernel, h.kernel, outputs), "int8", scales),
    )
    own = {"size": size, "vertical": v, "horizontal": h, "multiplier": multiplier}
    return piece(IntegerDepthwiseInputGradient, given, quant=MADE, **own)


def pooled(kind: type[Op], size: int, channels: int, axis: Axis) -> Graph:
    own = {"vertical": axis, "horizontal": axis}
    if kind is MaxPoolTaps:
        return piece(kind, tensors(("x", (1, size, size, channels), "int8", quantized(0.1))), DType.UINT8, **own)
    shape = (1, axis.size(size), axis.size(size), channels)
    given = tensors(("gradient", shape, "int8", quantized(0.1)), ("taps", shape, "uint8", None))
    return piece(kind, given, quant=quantized(0.1), size=(size, size), **own)


def masks(shape: tuple[int, ...], low: int, high: int) -> list[Graph]:
    packed = (*shape[:-1], -(-shape[-1] // 8))
    given = tensors(("gradient", shape, "int8", quantized(0.1)), ("mask", packed, "uint8", None))
    return [
        piece(ActivationMask, tensors(("x", shape, "int8", quantized(0.1))), DType.UINT8, low=low, high=high),
        piece(MaskedGradient, given, quant=quantized(0.1)),
    ]


def layers() -> list[Graph]:
    return [
        conv((5, 4), 6, 3, SAME, SAME),
        conv((6, 6), 3, 4, STRIDED, STRIDED),
        conv((7, 5), 2, 5, SPREAD, Axis(3, stride=3, before=2, after=2)),
        conv((4, 4), 8, 3, Axis(1, stride=2), Axis(1, stride=2)),
        dense(9, 4),
        depthwise((5, 4), 6, SAME, SAME),
        depthwise((6, 7), 3, STRIDED, Axis(3, stride=2, before=1, after=1)),
        depthwise((5, 4), 3, SAME, SPREAD, multiplier=2),
        depthwise((6, 7), 2, STRIDED, Axis(3, stride=2, before=1, after=1), multiplier=5),
    ]


def large() -> list[Graph]:
    """More terms than are summed up at once."""
    return [
        conv((3, 4), 9, 140, SAME, Axis(3, stride=4, before=1, after=1)),
        conv((5, 5), 24, 6, SAME, SAME),
        conv((6, 6), 12, 5, STRIDED, STRIDED),
        conv((4, 4), 20, 130, SAME, SPREAD),
    ]


def several() -> list[Graph]:
    pools = [Axis(2, stride=2), Axis(3, stride=1, before=1, after=1), Axis(2, stride=4, before=2, after=2)]
    return [
        *layers(),
        *(pooled(kind, 6, 3, axis) for kind in (MaxPoolTaps, MaxPoolSpread) for axis in pools),
        *masks((1, 3, 3, 8), -128, 128),
        *masks((1, 2, 11), -20, 90),
        *masks((1, 3, 16), -129, 40),
        *masks((1, 1, 5), 127, 129),
    ]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("target", ["host", HOST_DSP, HOST_HELIUM])
def test_c_has_the_bits_of_the_reference(target: str) -> None:
    agree([*several(), *large()], target, 12)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("target", [emulated("cortex-m4"), emulated("cortex-m55")])
def test_a_core_has_the_bits_of_the_reference(target: str) -> None:
    agree([*several(), *large()], target, 4)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["host", HOST_DSP, HOST_HELIUM, emulated("cortex-m4"), emulated("cortex-m55")])
def test_windows_of_all_kinds(target: str) -> None:
    rng = np.random.default_rng(2)
    pieces = []
    for _ in range(40):
        (height, v), (width, h) = any_window(rng), any_window(rng)
        channels = int(rng.integers(1, 40))
        pieces.append(conv((height, width), channels, int(rng.integers(1, 20)), v, h))
        pieces.append(depthwise((height, width), channels, v, h))
        pieces.append(depthwise((height, width), channels, v, h, multiplier=int(rng.integers(2, 5))))
    agree(pieces, target, 8)


@pytest.mark.parametrize("graph", layers(), ids=lambda g: str(g.tensors[1].shape))
def test_gradients_are_those_of_float32(graph: Graph) -> None:
    """Within the roundings of the result, and of the gradient that is multiplied by the scale of its channel."""
    (op,) = graph.ops
    assert isinstance(op, IntegerConvInputGradient | IntegerDepthwiseInputGradient)
    rng = np.random.default_rng(0)
    gradient, weights = (rng.integers(-127, 128, graph.tensors[i].shape).astype(np.int8) for i in range(2))
    (made,) = op.evaluate(graph, [gradient, weights])
    rows, columns = op.vertical.size(op.size[0]), op.horizontal.size(op.size[1])
    real = gradient.reshape(1, rows, columns, -1).astype(np.float32) * np.float32(0.01)
    w = graph.tensors[1]
    assert w.quant is not None
    dense_ = isinstance(op, IntegerConvInputGradient)
    scales = w.quant.scale.reshape(-1, *[1] * (weights.ndim - 1)) if dense_ else w.quant.scale
    kind = ConvInputGradient if dense_ else DepthwiseInputGradient
    of = {"size": op.size, "vertical": op.vertical, "horizontal": op.horizontal}
    of |= {} if dense_ else {"multiplier": op.multiplier}
    (want,) = evaluate(kind, real, (weights * scales).astype(np.float32).reshape(op.kernel(graph)), **of)
    assert np.abs(made - np.clip(want / 0.02, -127, 127)).max() < 1.6
    assert np.abs(want / 0.02).max() > 20


def test_maxima_give_their_gradients_to_the_largest_pixels() -> None:
    rng = np.random.default_rng(0)
    axis = Axis(2, stride=2)
    x = rng.integers(-9, 9, (1, 6, 6, 3)).astype(np.int8)
    gradient: Array = rng.integers(-127, 128, (1, 3, 3, 3)).astype(np.int8)
    first, second = pooled(MaxPoolTaps, 6, 3, axis), pooled(MaxPoolSpread, 6, 3, axis)
    (taken,) = first.ops[0].evaluate(first, [x])
    (made,) = second.ops[0].evaluate(second, [gradient, taken])
    of = {"size": (6, 6), "vertical": axis, "horizontal": axis}
    (want,) = evaluate(MaxPoolGradient, gradient.astype(np.float32), x.astype(np.float32), **of)
    np.testing.assert_array_equal(made, want)


def test_masks_let_through_what_was_not_clamped() -> None:
    first, second = masks((1, 2, 11), -20, 90)
    x = np.random.default_rng(0).integers(-128, 128, (1, 2, 11)).astype(np.int8)
    (bits,) = first.ops[0].evaluate(first, [x])
    (made,) = second.ops[0].evaluate(second, [np.full(x.shape, 5, np.int8), bits])
    np.testing.assert_array_equal(made, np.where((x > -20) & (x < 90), 5, 0))
