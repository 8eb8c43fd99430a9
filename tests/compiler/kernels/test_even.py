"""Results that are rounded to even in single precision, as ONNX Runtime does: every kernel that a core is offered for a
layer gives them, with constants that were found for its staircase or by following single precision in integers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import NHWC, View
from mote.compiler.kernels.pack.planar import Planar
from mote.compiler.kernels.pack.requantize.even import single_scale
from mote.compiler.kernels.pack.requantize.loose import loosened
from mote.compiler.kernels.pack.requantize.patch import layer_sums_of, loose_channels
from mote.compiler.kernels.pack.requantize.search import staircases
from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import Ints, scale_even
from mote.ir.graph.tensor import Array
from mote.ir.ops.common import Axis
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.matrix.round_once import once_results, once_steps
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from tests.compiler.kernels.c_harness import Case, Program, check_cases, int8_inputs
from tests.compiler.kernels.even import Layers
from tests.helpers.offered import DSP, PORTABLE, offered
from tests.helpers.support import FUZZ, emulated

HELIUM = DSP | {"mve"}


def cases(features: frozenset[str], seeds: range, *, wide: bool = False) -> list[Case]:
    """Every kernel for some layers, half of which meet halves."""
    found = []
    for seed in seeds:
        for g in Layers(seed, halves=seed % 2 == 1, wide=wide).some():
            kernels = offered(g, g.ops[0], features)
            assert kernels, g.text()
            found += [Case(g, g.ops[0], kernel, seed + 1) for kernel in kernels]
    return found


def some(found: list[Case]) -> list[Case]:
    """One of each family in `make test`, since every kernel is compiled for its layer; all in `make fuzz`."""
    return found if FUZZ else list({case.kernel.family: case for case in found}.values())


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("wide", [False, True])
def test_portable(wide: bool) -> None:
    check_cases(cases(PORTABLE, range(2), wide=wide), Program())


@pytest.mark.slow
def test_dsp() -> None:
    """Usual layers have the kernels that LiteRT's have, with weights of one byte."""
    found = cases(DSP, range(1, 3))
    usual = {case.kernel.family for case in found if case.seed % 2 == 1}
    assert {"pointwise3_pair", "conv3_pair", "pointwise3_wide", "fully_connected4"} <= usual, usual
    check_cases(some(found), Program(emulated("cortex-m4")))


PATCHED = (7, 8, 10, 11, 14)
"""Layers among the following ones that have every family of kernels between them."""


def patched_layers() -> Iterator[Graph]:
    """Sums that are scaled by little, so that single precision makes halves of some products."""
    for seed in range(3):
        layers = Layers(seed)
        one, three = Axis(1), Axis(3, before=1, after=1)
        yield layers.layer(Conv2D, (1, 5, 6, 256), (16, 1, 1, 256), (1, 5, 6, 16), vertical=one, horizontal=one)
        yield layers.layer(Conv2D, (1, 7, 7, 64), (12, 3, 3, 64), (1, 7, 7, 12), vertical=three, horizontal=three)
        yield layers.layer(FullyConnected, (3, 512), (20, 512), (3, 20))
        layers.coarse, layers.first = 2.0, -128
        shape = (1, 5, 9, 64)
        yield layers.layer(DepthwiseConv2D, shape, (1, 3, 3, 64), shape, 3, vertical=three, horizontal=three)
        five = Axis(5, before=2, after=2)
        yield layers.layer(DepthwiseConv2D, shape, (1, 5, 5, 64), shape, 3, vertical=five, horizontal=five)


def aimed(g: Graph, seed: int) -> Graph:
    """The layer with biases that bring its first output in each loose channel to a sum that is rounded otherwise."""
    view, op = View(g, g.ops), g.ops[0]
    loose, sums = loose_channels(view), layer_sums_of(view)
    other = loosened(sums, loose)
    bias = g.tensors[2]
    assert bias.data is not None
    moved, values = bias.data.copy(), int8_inputs(op, g, seed)
    for channel in loose:
        (stairs,) = staircases(sums.some(np.array([channel])))
        at = np.unique(np.concatenate([stairs.steps, stairs.steps - 1]))
        wrong = at[sums.outputs(at, channel) != other.outputs(at, channel)]
        first = first_sum(g, values, channel)
        moved[channel] += int(wrong[len(wrong) // 2]) - first if len(wrong) else 0
    return replace(g, tensors={**g.tensors, 2: replace(bias, data=moved)})


def first_sum(g: Graph, values: list[Array], channel: int) -> int:
    """That of a layer's first output in a channel."""
    x, w = values[0].astype(np.int64) - g.tensors[0].zero_point, values[1].astype(np.int64)
    if isinstance(g.ops[0], DepthwiseConv2D):
        x, w = x[..., channel : channel + 1], w[0, :, :, channel : channel + 1]
    else:
        w = w[channel]
    if isinstance(g.ops[0], FullyConnected):
        return int(x.reshape(-1, w.size)[0] @ w + values[2][channel])
    before = g.ops[0].vertical.before  # type: ignore[attr-defined]
    padded = np.pad(x, [(0, 0), (before, 0), (before, 0), (0, 0)])
    return int((padded[0, : w.shape[0], : w.shape[1]] * w).sum() + values[2][channel])


class Written(Case):
    """What a kernel writes in its layout is compared."""

    @property
    def expected(self) -> Array:  # type: ignore[override]
        (found,) = self.op.evaluate(self.graph, self.inputs)
        return self.kernel.needs.writes.store(found)


@pytest.mark.slow
def test_patched_vectors() -> None:
    """Those of Helium, in lanes."""
    found = []
    for seed, g in enumerate(patched_layers()):
        if loose_channels(View(g, g.ops)):
            made = aimed(g, seed + 1)
            kernels = [k for k in offered(made, made.ops[0], HELIUM) if k.name.startswith("patched_")]
            found += [Written(made, made.ops[0], kernel, seed + 1) for kernel in kernels]
    seen = {case.kernel.family for case in found}
    assert {"pointwise4_patched", "depthwise_taps_patched", "fully_connected8_patched"} <= seen, seen
    check_cases(found, Program(emulated("cortex-m55")))


@pytest.mark.slow
@pytest.mark.parametrize("line", [0, pytest.param(12, marks=pytest.mark.slow)])
def test_patched(line: int) -> None:
    """Kernels whose results are patched, at sums that they are wrong for."""
    found = []
    for seed, g in enumerate(patched_layers()):
        if not ((FUZZ or seed in PATCHED) and loose_channels(View(g, g.ops))):
            continue
        made = aimed(g, seed + 1)
        layout = Planar(line, 1) if line else NHWC
        if line and not isinstance(g.ops[0], Conv2D):
            continue
        views = [{"writes": layout}]
        if isinstance(g.ops[0], DepthwiseConv2D):
            views = [{"reads": reads} for reads in catalogue.wanted_layouts(View(made, made.ops), DSP)]
        kernels = [
            k for view in views for k in offered(made, made.ops[0], DSP, **view) if k.name.startswith("patched_")
        ]
        found += [Written(made, made.ops[0], kernel, seed + 1) for kernel in kernels]
    seen = {case.kernel.family for case in found}
    assert {
        "pointwise4x2_pair_patched",
        "conv4x2_wide_patched",
        "pointwise3_pair_patched",
        "conv3_wide_patched",
    } <= seen
    assert line or {"fully_connected4_patched", "depthwise3_patched", "depthwise_wide_patched"} <= seen, seen
    check_cases(some(found), Program(emulated("cortex-m4")))


@pytest.mark.slow
def test_helium() -> None:
    check_cases(cases(HELIUM, range(2)), Program(emulated("cortex-m55")))


def scales() -> st.SearchStrategy[float]:
    """Numbers in single precision, also with few bits."""
    few = st.builds(lambda m, e: m * 2.0**-e, st.integers(1, 40), st.integers(0, 14))
    any_ = st.builds(lambda m, e: m * 2.0**-e, st.integers(1 << 23, (1 << 24) - 1), st.integers(20, 40))
    return few | any_


def followed(x: Ints, real: float, zero: int) -> Ints:
    """`mote_rescale_even`."""
    mult, shift = single_scale(real)

    def single(n: int) -> int:
        bits = max(n.bit_length() - 24, 0)
        left = n & (1 << bits) - 1
        return (n >> bits) + (2 * left + (n >> bits & 1) > 1 << bits) << bits

    def one(n: int) -> int:
        product = single(abs(n)) * mult
        whole = product >> shift
        beyond = product - (whole << shift) - (1 << shift - 1)
        places = shift + (whole.bit_length() if whole else -(beyond < 0)) - 25
        near = 0 if places < 0 else 1 << places
        size = whole + (beyond > near or (beyond >= -near and whole & 1 == 1))
        return min(max(-size if n < 0 else size, -(1 << 40)), 1 << 40)

    return np.clip(np.array([one(n) for n in x.tolist()]) + zero, -128, 127)


@given(scales(), st.integers(-128, 127), st.integers(1, 1 << 30))
@settings(max_examples=60, deadline=None)
def test_single_precision_in_whole_numbers(real: float, zero: int, limit: int) -> None:
    steps = once_steps(real, zero, limit, even=True)
    at = np.clip(np.concatenate([steps - 1, steps, steps + 1, [-limit, limit]]), -limit, limit)
    wanted = once_results(at, real, zero, even=True)
    assert np.array_equal(followed(at, real, zero), wanted)
    product = at.astype(np.float32) * np.float32(real)
    assert np.array_equal(np.clip(np.rint(product.astype(np.float64)) + zero, -128, 127), wanted)


def test_halves() -> None:
    assert scale_even(np.array([1, 3, 5, -1, -3]), 0.5).tolist() == [0, 2, 2, 0, -2]
    assert scale_even(np.array([(1 << 24) + 1]), 2.0**-24).tolist() == [1]
