"""Int8 layers with learned operands: the C gives what NumPy does, whatever was learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest

import mlperf_tiny
from mote import frontends
from mote.compiler.kernels import cost
from mote.compiler.kernels.catalogue import candidates
from mote.compiler.kernels.contract import View
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation, DType, Rounding
from mote.ir.ops.common import BIAS, WEIGHTS, bias_ends, learned
from mote.ir.ops.control.state import Assign
from mote.ir.ops.training.integer.masks import ActivationMask, packed_shape
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from tests.compiler.kernels.learned_layers import Layer, Learners, with_learned_biases
from tests.frontends.features.postprocess.scored import in_c, streamed
from tests.helpers.support import emulated

RELU = Activation.RELU
BIASES = (
    Layer("conv", 6, 4, 6),
    Layer("conv", 8, 8, 8, activation=RELU),
    Layer("conv", 8, 4, 8, stride=2),
    Layer("conv", 5, 4, 5, kernel=1),
    Layer("conv", 6, 8, 6, kernel=1, stride=2, activation=RELU),
    Layer("depthwise", 6, 6, 6),
    Layer("depthwise", 7, 8, 8, stride=2, activation=RELU),
    Layer("dense", 1, 20, 7),
    Layer("dense", 1, 33, 4, rounding=Rounding.ONCE),
    Layer("conv", 5, 12, 7, kernel=1, faint=True),
)
ALL = (WEIGHTS, BIAS)
WHOLE = (
    Layer("conv", 6, 4, 6, learns=ALL),
    Layer("conv", 7, 20, 5, stride=2, activation=RELU, learns=ALL),
    Layer("conv", 5, 3, 4, learns=ALL),
    Layer("conv", 5, 8, 7, kernel=1, stride=2, activation=RELU, learns=(WEIGHTS,)),
    Layer("conv", 7, 16, 8, activation=RELU, learns=ALL),
    Layer("conv", 8, 8, 12, stride=2, learns=ALL),
    Layer("conv", 6, 24, 4, kernel=1, learns=ALL, rounding=Rounding.ONCE),
    Layer("depthwise", 6, 6, 6, learns=ALL),
    Layer("depthwise", 7, 8, 8, stride=2, activation=RELU, learns=(WEIGHTS,)),
    Layer("dense", 1, 20, 7, learns=ALL),
    Layer("dense", 1, 33, 4, rounding=Rounding.ONCE, learns=ALL),
    Layer("conv", 5, 12, 7, kernel=1, learns=ALL, faint=True),
)


TO_EVEN = tuple(
    replace(layer, rounding=Rounding.EVEN, halves=halves) for layer in (*BIASES, *WHOLE) for halves in (False, True)
)
"""Layers whose results are rounded to even, half of which meet halves."""


def agree(layers: Sequence[Layer], target: str, count: int = 5) -> None:
    """All bits, also where what was learned goes as far as integers do."""
    learners = Learners(layers)
    graph, given = learners.graph(), [learners.case(i) for i in range(count)]
    for number, (want, got) in enumerate(zip(streamed(graph, given), in_c(graph, given, target), strict=True)):
        for t, x, y in zip(graph.outputs, want, got, strict=True):
            np.testing.assert_array_equal(y, x, err_msg=f"{graph.tensors[t]}, inference {number}")


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("target", ["host", emulated("cortex-m4"), emulated("cortex-m55")])
def test_learned_biases_and_weights(target: str) -> None:
    agree((*BIASES, *WHOLE), target)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("target", ["host", emulated("cortex-m4"), emulated("cortex-m55")])
def test_layers_that_round_to_even(target: str) -> None:
    agree(TO_EVEN, target)


def test_layers_that_round_to_even_have_kernels_of_their_own() -> None:
    """Also those with sums that meet halves, for which no multiplier of 31 bits is right."""
    graph, features = Learners(TO_EVEN).graph(), frozenset[str]()
    chosen = {candidates(View(graph, (op,)), features)[0].family for op in graph.ops if learned(graph, op)}
    layers = {"learned_conv2d_even", "learned_dense_even", "learned_depthwise_even", "conv2d_even", "depthwise_even"}
    assert layers | {"pointwise_even", "fully_connected_even"} <= chosen


PINNED = {
    "winograd2": Layer("conv", 10, 8, 6, activation=RELU),
    "winograd4": Layer("conv", 9, 4, 4),
    "winograd_stride2": Layer("conv", 8, 4, 4, stride=2),
    "conv4x2_wide": Layer("conv", 7, 3, 6, activation=RELU),
    "conv4x2_wide_fpu": Layer("conv", 8, 8, 4, stride=2),
    "conv4x2_wide_compact": Layer("conv", 4, 32, 2),
    "conv4x2_pair": Layer("conv", 6, 4, 6),
    "conv4x2_pair_compact": Layer("conv", 4, 32, 4, activation=RELU),
    "pointwise4x2_pair": Layer("conv", 6, 8, 6, kernel=1),
    "pointwise4x2_wide": Layer("conv", 5, 12, 4, kernel=1, activation=RELU),
    "pointwise4x2_wide_fpu": Layer("conv", 4, 8, 8, kernel=1),
}


IN_VECTORS = (
    ("conv4", Layer("conv", 6, 16, 8, activation=RELU)),
    ("conv4_lean", Layer("conv", 7, 16, 10, stride=2)),
    ("conv4_packed", Layer("conv", 6, 4, 6)),
    ("conv4_packed_lean", Layer("conv", 7, 3, 5, stride=2, activation=RELU)),
    ("pointwise4", Layer("conv", 5, 12, 7, kernel=1, activation=RELU)),
    ("pointwise4", Layer("conv", 6, 8, 6, kernel=1, stride=2)),
    ("depthwise_taps", Layer("depthwise", 6, 8, 8)),
    ("depthwise_taps", Layer("depthwise", 3, 12, 12, activation=RELU)),
    ("depthwise_taps_row", Layer("depthwise", 9, 4, 4, activation=RELU)),
    ("depthwise_channels", Layer("depthwise", 6, 20, 20, activation=RELU)),
    ("depthwise_channels", Layer("depthwise", 7, 32, 32, stride=2)),
    ("fully_connected8", Layer("dense", 1, 20, 7, activation=RELU)),
    ("fully_connected8", Layer("dense", 1, 16, 12, rounding=Rounding.ONCE, activation=RELU)),
    ("fully_connected8", Layer("conv", 1, 24, 9, kernel=1)),
)
"""For Helium: channels in fours and sixteens, and some that are left over."""
WHOLE_IN_VECTORS = (
    ("learned_conv4", Layer("conv", 6, 16, 8, activation=RELU, learns=ALL)),
    ("learned_conv4", Layer("conv", 5, 32, 10, stride=2, learns=ALL)),
    ("learned_conv4_lean", Layer("conv", 7, 16, 10, stride=2, learns=ALL)),
    ("learned_conv4_packed", Layer("conv", 6, 4, 6, learns=(WEIGHTS,))),
    ("learned_conv4_packed_lean", Layer("conv", 7, 3, 5, stride=2, activation=RELU, learns=ALL)),
    ("learned_pointwise4", Layer("conv", 5, 12, 7, kernel=1, activation=RELU, learns=ALL)),
    ("learned_pointwise4", Layer("conv", 6, 32, 6, kernel=1, stride=2, learns=ALL)),
    ("learned_pointwise4", Layer("conv", 1, 8, 5, kernel=1, learns=ALL)),
)
"""Those whose weights learn, in a model of their own, whose windows no other layer has."""


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("target", "pinned"),
    [
        (emulated("cortex-m4"), (*PINNED.items(),)),
        (emulated("cortex-m55"), IN_VECTORS),
        (emulated("cortex-m55"), WHOLE_IN_VECTORS),
    ],
)
def test_tuned_kernels_add_learned_biases(target: str, pinned: Sequence[tuple[str, Layer]]) -> None:
    """Weights, code and constants of these are those of layers that do not learn."""
    learners = Learners([layer for _, layer in pinned])
    graph, given = learners.graph(), [learners.case(i) for i in range(4)]
    layers = [op for op in graph.ops if learned(graph, op)]
    pins = {op.name: kernel for op, (kernel, _) in zip(layers, pinned, strict=True)}
    for want, got in zip(streamed(graph, given), in_c(graph, given, target, kernels=pins), strict=True):
        for (name, layer), x, y in zip(pinned, want, got, strict=True):
            np.testing.assert_array_equal(y, x, err_msg=f"{name} of {layer}")


def planar(first: str, kernel: str, layer: Layer) -> tuple[tuple[str, Layer], tuple[str, Layer]]:
    """A depthwise layer behind a convolution that writes the rows which it reads, and their kernels."""
    channels = layer.outputs
    before = Layer("conv", layer.size, 8, channels, kernel=1, activation=RELU)
    return (first, before), (kernel, replace(layer, inputs=channels, chained=True))


PLANAR = (
    planar("pointwise4x2_wide", "depthwise3_compact", Layer("depthwise", 5, 0, 4)),
    planar("pointwise4x2_wide_fpu", "depthwise3_compact", Layer("depthwise", 8, 0, 6, stride=2, activation=RELU)),
    planar("pointwise4x2_wide", "depthwise3_compact", Layer("depthwise", 5, 0, 8, activation=RELU)),
    planar("pointwise4x2_wide", "depthwise3_compact", Layer("depthwise", 7, 0, 4)),
    planar("pointwise4x2_wide", "depthwise_two_compact", Layer("depthwise", 8, 0, 4, activation=RELU)),
    planar("pointwise4x2_wide", "depthwise_two_compact", Layer("depthwise", 7, 0, 12)),
    planar("pointwise4x2_pair", "depthwise_wide", Layer("depthwise", 8, 0, 4, kernel=5)),
    planar("pointwise4x2_wide_fpu", "depthwise_wide_compact", Layer("depthwise", 6, 0, 6, kernel=5, activation=RELU)),
)


CUT = ((-128, 127), (-129, 128), (-100, 50), (3, 4), (127, 128), (-128, 128))
"""What masks of their inputs tell apart."""


def with_masks(graph: Graph) -> Graph:
    """With a mask of what each depthwise layer reads."""
    tensors, ops, masks = dict(graph.tensors), list(graph.ops), list[int]()
    reads = [op.inputs[0] for op in ops if isinstance(op, DepthwiseConv2D)]
    for t, (low, high) in zip(reads, cycle(CUT), strict=False):
        masks.append(mask := max(tensors) + 1)
        tensors[mask] = Tensor(mask, f"mask{mask}", packed_shape(tensors[t].shape), DType.UINT8)
        ops.append(ActivationMask(inputs=(t,), outputs=(mask,), name=f"mask{mask}", index=len(ops), low=low, high=high))
    return Graph("masks", tensors, tuple(ops), graph.inputs, (*graph.outputs, *masks), graph.states).verify()


@pytest.mark.parametrize("target", [emulated("cortex-m4")])
def test_planar_kernels_add_learned_biases(target: str) -> None:
    """And masks of what they read are made from the same rows."""
    pinned = [layer for pair in PLANAR for layer in pair]
    learners = Learners([layer for _, layer in pinned])
    graph, given = with_masks(learners.graph()), [learners.case(i) for i in range(4)]
    layers = [op for op in graph.ops if learned(graph, op)]
    pins = {op.name: kernel for op, (kernel, _) in zip(layers, pinned, strict=True)}
    pins |= {op.name: "planar_mask" for op in graph.ops if isinstance(op, ActivationMask)}
    for want, got in zip(streamed(graph, given), in_c(graph, given, target, kernels=pins), strict=True):
        for t, x, y in zip(graph.outputs, want, got, strict=True):
            np.testing.assert_array_equal(y, x, err_msg=str(graph.tensors[t]))


@pytest.mark.slow
@pytest.mark.parametrize("target", ["host", emulated("cortex-m4"), emulated("cortex-m55")])
@pytest.mark.parametrize("model", ["ic", "kws"])
def test_models_with_learned_biases(model: str, target: str) -> None:
    """By rows, as planned."""
    graph, rng = with_learned_biases(frontends.load(mlperf_tiny.build(model))), np.random.default_rng(0)
    given = []
    for spread in (1, 100000, 1):
        state = {s.after: s.initial for s in graph.states}
        told = {op.inputs[1]: state[op.outputs[0]] for op in graph.ops if isinstance(op, Assign)}
        case: dict[int, Array] = {
            t: (told[t] + spread * rng.integers(-3000, 3000, told[t].shape)).astype(np.int32)
            if t in told
            else rng.integers(-128, 128, graph.tensors[t].shape).astype(np.int8)
            for t in graph.inputs
        }
        given.append(case)
    for want, got in zip(streamed(graph, given), in_c(graph, given, target), strict=True):
        for x, y in zip(want, got, strict=True):
            np.testing.assert_array_equal(y, x)


def test_layers_that_learn_are_refused_where_no_kernel_can() -> None:
    """A kernel with weights or biases built in is not offered, and other types are refused by reason."""
    graph = Learners([Layer("conv", 4, 4, 4, learns=ALL)]).graph()
    offered = candidates(View(graph, (graph.ops[0],)), frozenset({"dsp", "armv7m"}), coded=True)
    assert [k.family for k in offered] == ["learned_conv2d"]
    op = graph.ops[0]
    computed = Graph(graph.name, graph.tensors, graph.ops, graph.inputs, graph.outputs)
    assert op.unsupported(computed) == "weights that are computed at run time are not supported"


def test_biases_count_as_far_as_sums_are_proved() -> None:
    """A bias beyond its bound gives the results of the bound, and the layer's range holds for both ends."""
    learners = Learners([Layer("conv", 4, 3, 4)])
    graph, case = learners.graph(), learners.case(0)
    op = graph.ops[0]
    assert learned(graph, op) == (BIAS,)
    low, high = bias_ends(graph, op, 4)
    assert np.all(high >= np.abs(graph.states[0].initial)) and np.all(low == -high)
    results = []
    for value in (high, np.full(4, np.iinfo(np.int32).max), low, np.full(4, np.iinfo(np.int32).min)):
        results.append(graph.evaluate({**case, op.inputs[BIAS]: value.astype(np.int32)})[op.outputs[0]])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[2], results[3])
    assert np.any(results[0] != results[2])
    limits, peak = graph.ranges[op.outputs[0]], graph.peak(op)
    assert all(np.all(limits.low <= r) and np.all(r <= limits.high) for r in results)
    assert peak is not None and peak.total >= high.max()
    assert WEIGHTS not in learned(graph, op)


def test_each_call_takes_what_adding_biases_does() -> None:
    graph = Learners([Layer("conv", 6, 4, 6)]).graph()
    op, costs = graph.ops[0], cost.load("cortex-m4")
    packed = candidates(View(graph, (op,)), frozenset({"dsp", "armv7m"}))[0]
    free = replace(packed, price=replace(packed.price, opening=0.0))
    more = [costs.of(graph, op, packed, whole) - costs.of(graph, op, free, whole) for whole in (True, False)]
    assert packed.price.opening > 0 and np.allclose(more, [packed.price.opening, 6 * packed.price.opening])
