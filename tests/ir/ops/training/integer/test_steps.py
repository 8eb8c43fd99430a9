"""Steps of integer training: against real numbers, and the C of all operators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array, Quantization
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis
from mote.ir.ops.training.integer.losses import (
    LOG_BITS,
    CrossEntropyGradient,
    CrossEntropyStep,
    MeanSquaredErrorGradient,
    MeanSquaredErrorStep,
    log2,
)
from mote.ir.ops.training.integer.momentum import KEPT_BITS, Momentum
from mote.ir.ops.training.integer.steps import BIAS_LIMIT, BiasStep, ConvStep, DepthwiseStep
from mote.ir.ops.training.integer.sums import GradientSums
from tests.helpers.support import HOST_DSP, HOST_HELIUM, emulated, examples
from tests.ir.ops.training.integer.pieces import agree, any_window, piece, quantized, tensors

STEP = ("size", (2,), "int32", None), ("number", (1,), "int32", None)
RATE_AND_LOSS = ("rate", (1,), "float32", None), ("loss", (1,), "float32", None)
NO_LOSS = np.zeros(1, np.float32)
GRADIENT = quantized(0.01)
SAME = Axis(3, before=1, after=1)
STRIDED = Axis(3, stride=2, after=1)


def drawn(shape: tuple[int, ...], seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(-127, 128, shape).astype(np.int8)


def conv(
    height: int, width: int, depth: int, out: int, windows: tuple[Axis, Axis], all_: int = 0, first: int = 0
) -> Graph:
    """The step of `out` channels of a convolution that has `all_`."""
    v, h = windows
    shape = (out, v.kernel, h.kernel, depth)
    given = tensors(
        ("weights", shape, "int8", quantized(np.linspace(0.005, 0.05, out).tolist())),
        ("gradient", (1, v.size(height), h.size(width), all_ or out), "int8", GRADIENT),
        ("x", (1, height, width, depth), "int8", quantized(0.02, -7)),
        *STEP,
    )
    own = {"vertical": v, "horizontal": h, "first": first, "seed": 5}
    return piece(ConvStep, given, quant=given[0].quant, initial=drawn(shape), **own)


def dense(depth: int, out: int, x: tuple[int, ...]) -> Graph:
    given = tensors(
        ("weights", (out, depth), "int8", quantized(0.01)),
        ("gradient", (1, out), "int8", GRADIENT),
        ("x", x, "int8", quantized(0.02, -128)),
        *STEP,
    )
    return piece(ConvStep, given, quant=given[0].quant, initial=drawn((out, depth)), seed=6)


def depthwise(size: int, depth: int, multiplier: int, window: Axis) -> Graph:
    out = depth * multiplier
    shape = (1, window.kernel, window.kernel, out)
    given = tensors(
        ("weights", shape, "int8", quantized(np.linspace(0.005, 0.05, out).tolist(), axis=3)),
        ("gradient", (1, window.size(size), window.size(size), out), "int8", GRADIENT),
        ("x", (1, size, size, depth), "int8", quantized(0.02, 3)),
        *STEP,
    )
    own = {"vertical": window, "horizontal": window, "multiplier": multiplier, "seed": 7}
    return piece(DepthwiseStep, given, quant=given[0].quant, initial=drawn(shape), **own)


def bias(shape: tuple[int, ...], channels: int, first: int, initial: Array | None = None) -> Graph:
    """The step of a bias by sums over the positions of a gradient of this shape."""
    given = tensors(
        ("bias", (channels,), "int32", quantized(np.linspace(1e-4, 1e-3, channels).tolist())),
        ("sums", (shape[-1],), "int32", GRADIENT),
        *STEP,
    )
    begin = np.arange(channels, dtype=np.int32) if initial is None else initial
    over = int(np.prod(shape[:-1]))
    return piece(BiasStep, given, DType.INT32, given[0].quant, begin, first=first, seed=8, over=over)


def updated(graph: Graph, momentum: float, every: int) -> Graph:
    """The same step of an update that several samples add up."""
    (op,), before = graph.ops, graph.states[0]
    given = [graph.tensors[i] for i in op.inputs]
    given.append(replace(given[0], id=len(given), name="update", quant=None))
    own = {**op.attributes(), "momentum": momentum, "every": every}
    return piece(type(op), given, given[0].dtype, given[0].quant, before.initial, **own)


def sums(*shape: int) -> Graph:
    return piece(GradientSums, tensors(("gradient", shape, "int8", GRADIENT)), DType.INT32, GRADIENT)


def loss(kind: type[CrossEntropyGradient | CrossEntropyStep], classes: int, scale: float, beta: float = 1.0) -> Graph:
    step = kind is CrossEntropyStep
    rate = RATE_AND_LOSS if step else ()
    given = tensors(("logits", (1, classes), "int8", quantized(scale)), ("label", (1,), "int32", None), *rate)
    quant: Quantization | None = None if step else quantized(1 / 127)
    return piece(kind, given, DType.INT32 if step else DType.INT8, quant, beta=beta)


def error(kind: type[MeanSquaredErrorGradient | MeanSquaredErrorStep], shape: tuple[int, ...]) -> Graph:
    step = kind is MeanSquaredErrorStep
    rate = RATE_AND_LOSS if step else ()
    quant = quantized(0.05, 3)
    given = tensors(("output", shape, "int8", quant), ("target", shape, "int8", quant), *rate)
    return piece(kind, given, DType.INT32 if step else DType.INT8, None if step else quantized(0.001))


def large() -> list[Graph]:
    """More positions and channels than are summed up at once."""
    return [
        conv(12, 13, 5, 2, (SAME, SAME)),
        conv(3, 3, 41, 2, (SAME, STRIDED)),
        conv(12, 12, 96, 2, (SAME, SAME)),
        conv(5, 6, 28, 3, (STRIDED, SAME)),
    ]


def several() -> list[Graph]:
    """All operators, with windows of all kinds, some of a layer's channels, and states that no step leaves."""
    ends = np.array([-(1 << 31), (1 << 31) - 1, BIAS_LIMIT, -BIAS_LIMIT], np.int32)
    losses = [loss(kind, n, s) for kind in (CrossEntropyGradient, CrossEntropyStep) for n, s in ((2, 0.5), (5, 0.02))]
    return [
        *losses,
        loss(CrossEntropyGradient, 300, 0.1, 2.0),
        *(error(kind, (1, n)) for kind in (MeanSquaredErrorGradient, MeanSquaredErrorStep) for n in (1, 7)),
        conv(5, 4, 6, 3, (SAME, SAME)),
        conv(6, 6, 4, 2, (STRIDED, STRIDED), all_=5, first=2),
        conv(7, 5, 3, 2, (Axis(2, dilation=2), Axis(3, stride=3, before=4, after=2))),
        dense(9, 4, (1, 9)),
        dense(12, 3, (1, 2, 2, 3)),
        depthwise(5, 3, 1, SAME),
        depthwise(6, 2, 2, STRIDED),
        depthwise(5, 5, 1, STRIDED),
        bias((1, 3, 3, 6), 4, 1, ends),
        bias((1, 4), 4, 0),
        updated(conv(6, 6, 4, 2, (STRIDED, STRIDED), all_=5, first=2), 0.9, 1),
        updated(conv(5, 4, 9, 3, (SAME, SAME)), 0.5, 2),
        updated(depthwise(5, 3, 1, SAME), 0.0, 3),
        updated(bias((1, 3, 3, 6), 4, 1, ends), 0.99, 2),
        sums(1, 5, 4, 7),
        sums(1, 9),
    ]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("target", ["host", HOST_DSP, HOST_HELIUM])
def test_c_has_the_bits_of_the_reference(target: str) -> None:
    agree([*several(), *large()], target, 24)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("target", [emulated("cortex-m4"), emulated("cortex-m55")])
def test_a_core_has_the_bits_of_the_reference(target: str) -> None:
    agree([*several(), *large()], target, 8)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["host", HOST_DSP, HOST_HELIUM, emulated("cortex-m4"), emulated("cortex-m55")])
def test_windows_of_all_kinds(target: str) -> None:
    rng = np.random.default_rng(2)
    pieces = []
    for _ in range(40):
        (height, v), (width, h) = any_window(rng), any_window(rng)
        pieces.append(conv(height, width, int(rng.integers(1, 40)), int(rng.integers(1, 6)), (v, h)))
    agree(pieces, target, 8)


def size_of(real: float) -> Array:
    mantissa, exponent = np.frexp(real)
    return np.array([int(mantissa * 2**31), exponent], np.int32)


def stepped(graph: Graph, state: Array, number: int, size: float, *values: Array) -> Array:
    (op,) = graph.ops
    return op.evaluate(graph, [state, *values, size_of(size), np.array([number], np.int32)])[0]


@given(st.integers(0, 1 << 16), st.sampled_from([1e-4, 0.01, 1.0]))
@settings(max_examples=examples(10), deadline=None)
def test_a_step_of_weights_is_the_gradient_on_average(seed: int, size: float) -> None:
    """Rounded down or up from the real step, and by chance: the mean of many is near to it."""
    graph, rng = conv(5, 4, 6, 3, (SAME, SAME)), np.random.default_rng(seed)
    weights, gradient, x = (rng.integers(-20, 20, graph.tensors[i].shape).astype(np.int8) for i in range(3))
    many = np.array([stepped(graph, weights, n, size, gradient, x) for n in range(200)]).astype(np.float64)
    padded = np.pad(x.astype(np.float64) + 7, ((0, 0), (1, 1), (1, 1), (0, 0)))
    scale = 0.01 * 0.02 / np.linspace(0.005, 0.05, 3)
    for o, ky, kx, c in ((0, 0, 0, 0), (1, 1, 2, 5), (2, 2, 1, 3)):
        real = (gradient[0, :, :, o] * padded[0, ky : ky + 5, kx : kx + 4, c]).sum() * scale[o] * size
        made = weights[o, ky, kx, c] - many[:, o, ky, kx, c]
        clipped = np.clip(weights[o, ky, kx, c] - real, -127, 127)
        assert np.abs(weights[o, ky, kx, c] - made - clipped).max() < 1.001
        assert abs((weights[o, ky, kx, c] - made - clipped).mean()) < 0.2


def test_an_update_is_added_and_kept_on_average() -> None:
    """With the last sample of a step; other samples leave it as it is."""
    moves = Momentum(every=2, kept=3 << KEPT_BITS - 2, bits=6, seed=1)
    update = np.arange(-60, 68, 2)
    steps = [moves.added(np.zeros_like(update), update, n, 127) for n in range(400)]
    assert not any(moved.any() for moved, _ in steps[::2]) and all(kept is update for _, kept in steps[::2])
    moved, kept = (np.array([step[i] for step in steps[1::2]]).astype(np.float64) for i in range(2))
    assert np.abs(moved - update / 64).max() < 1 and np.abs(kept - 0.75 * update).max() < 1
    assert np.abs(moved.mean(axis=0) - update / 64).max() < 0.2
    assert np.abs(kept.mean(axis=0) - 0.75 * update).max() < 0.2


def test_a_bias_moves_against_its_gradient() -> None:
    graph = bias((1, 2, 2, 3), 2, 1)
    after = stepped(graph, np.zeros(2, np.int32), 0, 1.0, np.array([36, 4, -8], np.int32))
    assert np.abs(after - [-4 * 0.01 / 1e-4, 8 * 0.01 / 1e-3]).max() <= 1


@given(st.integers(0, 1 << 16), st.integers(2, 40), st.floats(0.02, 0.5), st.floats(2**-20, 8, width=32))
@settings(max_examples=examples(40), deadline=None)
def test_the_cross_entropy_is_that_of_real_numbers(seed: int, classes: int, scale: float, rate: float) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.integers(-60, 61, (1, classes)).astype(np.int8)
    label = np.array([rng.integers(0, classes)], np.int32)
    real = np.exp(logits[0] * np.float64(np.float32(scale)))
    softmax = real / real.sum()
    want = softmax - (np.arange(classes) == label[0])
    graph = loss(CrossEntropyGradient, classes, scale)
    (gradient,) = graph.ops[0].evaluate(graph, [logits, label])
    graph = loss(CrossEntropyStep, classes, scale)
    (mantissa, shift), found = graph.ops[0].evaluate(graph, [logits, label, np.array([rate], np.float32), NO_LOSS])
    share = 1 - softmax[label[0]]
    assert found.item() == pytest.approx(-np.log(softmax[label[0]]), abs=1e-4 * classes)
    if share > 1e-4:
        assert np.abs(gradient[0] - 127 * want / share).max() < 0.6
        assert mantissa * 2.0 ** (shift - 31) == pytest.approx(rate * share, rel=1e-3)


@given(st.integers(0, 1 << 16), st.integers(1, 40), st.floats(2**-20, 8, width=32))
@settings(max_examples=examples(40), deadline=None)
def test_the_mean_squared_error_is_that_of_real_numbers(seed: int, count: int, rate: float) -> None:
    """The gradient times the size of the step is the error in codes times the rate."""
    rng = np.random.default_rng(seed)
    output, target = rng.integers(-128, 128, (2, 1, count)).astype(np.int8)
    graph = error(MeanSquaredErrorGradient, (1, count))
    (gradient,) = graph.ops[0].evaluate(graph, [output, target])
    graph = error(MeanSquaredErrorStep, (1, count))
    (mantissa, shift), found = graph.ops[0].evaluate(graph, [output, target, np.array([rate], np.float32), NO_LOSS])
    want = output.astype(np.float64) - target
    assert np.abs(gradient).max() == (127 if want.any() else 0)
    assert found.item() == pytest.approx(np.square(0.05 * want).mean(), rel=1e-6)
    size = np.abs(want).max()
    assert mantissa * 2.0 ** (shift - 31) == pytest.approx(rate * size, rel=1e-6)
    assert np.abs(gradient * size / 127 - want).max() <= size / 254 + 1e-9


@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, np.inf, 1e-40])
def test_rates_that_are_no_positive_numbers_learn_nothing(rate: float) -> None:
    graph = loss(CrossEntropyStep, 3, 0.1)
    given = [np.zeros((1, 3), np.int8), np.array([1], np.int32), np.array([rate], np.float32), NO_LOSS]
    assert not graph.ops[0].evaluate(graph, given)[0].any()


@pytest.mark.parametrize("label", [-1, 3, -(1 << 31)])
def test_labels_that_are_no_class_have_no_gradient(label: int) -> None:
    graph = loss(CrossEntropyGradient, 3, 0.1)
    given = [np.zeros((1, 3), np.int8), np.array([label], np.int32)]
    assert not graph.ops[0].evaluate(graph, given)[0].any()
    graph = loss(CrossEntropyStep, 3, 0.1)
    assert not any(x.any() for x in graph.ops[0].evaluate(graph, [*given, np.ones(1, np.float32), NO_LOSS]))


@given(st.integers(1, (1 << 32) - 1))
@settings(max_examples=examples(100), deadline=None)
def test_logarithms_are_rounded_down(x: int) -> None:
    assert 0 <= np.log2(x) * (1 << LOG_BITS) - log2(x) < 1.01


def other_target(shape: tuple[int, ...], scale: float) -> Graph:
    given = tensors(("output", (1, 3), "int8", quantized(0.05)), ("target", shape, "int8", quantized(scale)))
    return piece(MeanSquaredErrorGradient, given, quant=quantized(0.001))


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: conv(300, 300, 1, 1, (Axis(1), Axis(1))), "do not fit 32 bits"),
        (lambda: conv(4, 4, 1, 2, (SAME, SAME), all_=3, first=2), "channels 2 to 3"),
        (lambda: loss(CrossEntropyGradient, 1, 0.1), "logits of int8"),
        (lambda: other_target((1, 2), 0.05), "a target of"),
        (lambda: other_target((1, 3), 0.06), "the same scale"),
    ],
)
def test_others_are_refused(make: Any, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        make()
