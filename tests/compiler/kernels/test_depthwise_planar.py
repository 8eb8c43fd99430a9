"""Depthwise kernels over planar rows and over time against NumPy: their portable twins under the sanitizers, and the
assembly on an emulated Cortex-M4."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.compiler.kernels.armv7em.depthwise.depthwise_planar import layout_of_any, layout_of_any3, planar_layout
from mote.compiler.kernels.contract import NHWC, View
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph import Graph
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from tests.compiler.kernels.c_harness import Case, Program, check_cases
from tests.helpers.offered import named
from tests.helpers.support import batch, emulated, examples

WEIGHTS = ("random", "random", "small", "lowest", "highest", "extremes", "zero")


@dataclass(frozen=True)
class Layer:
    size: tuple[int, int] = (5, 8)
    channels: int = 3
    kernel: tuple[int, int] = (3, 3)
    stride: tuple[int, int] = (1, 1)
    padding: str = "SAME"
    dilation: tuple[int, int] = (1, 1)
    multiplier: int = 1
    batch: int = 1
    weights: str = "random"
    bias: int = 2000
    zero_in: int = -128
    zero: int = -128
    gain: float = 1.0
    spread: float = 1.0
    """How different the channels' scales are: up to 2^spread."""
    compact: bool = False
    seed: int = 0

    @property
    def outputs(self) -> tuple[int, int]:
        if self.padding == "SAME":
            high, wide = (-(-n // s) for n, s in zip(self.size, self.stride, strict=True))
        else:
            moves = zip(self.size, self.kernel, self.dilation, self.stride, strict=True)
            high, wide = ((n - (k - 1) * d - 1) // s + 1 for n, k, d, s in moves)
        return high, wide


def model(c: Layer) -> bytes:
    w = Writer("layer")
    w.output(add_layer(w, c))
    return w.finish()


def graph(c: Layer) -> Graph:
    return tflite.parse(model(c), "layer")


def add_layer(w: Writer, c: Layer, source: int | None = None) -> int:
    """The layer, of an input of its own where none is given."""
    rng = np.random.default_rng(c.seed)
    count = c.channels * c.multiplier
    shape = (1, *c.kernel, count)
    values = {
        "random": rng.integers(-128, 128, shape),
        "small": rng.integers(-3, 4, shape),
        "lowest": np.full(shape, -128),
        "highest": np.full(shape, 127),
        "extremes": rng.choice([-128, -127, 127], shape),
        "zero": np.zeros(shape),
    }[c.weights]
    scale = (0.01 * 2 ** -rng.uniform(0, c.spread, count)).astype(np.float32)
    shape_in = (c.batch, *c.size, c.channels)
    x = w.input("x", shape_in, "int8", scale=0.05, zero_point=c.zero_in) if source is None else source
    own = w._tensors[x].scales[0]
    k = w.const("k", values.astype(np.int8), scale=scale, axis=3)
    bias = rng.integers(-c.bias, c.bias + 1, count).astype(np.int32)
    b = w.const("b", bias, scale=scale * np.float32(own))
    depth = c.kernel[0] * c.kernel[1]
    out = float(own * 0.01 * 80 * depth**0.5 * c.gain)
    y = w.tensor("y", (c.batch, *c.outputs, count), "int8", scale=out, zero_point=c.zero)
    options: dict[str, Any] = {"padding": c.padding, "depth_multiplier": c.multiplier}
    options |= {"stride_h": c.stride[0], "stride_w": c.stride[1]}
    options |= {"dilation_h_factor": c.dilation[0], "dilation_w_factor": c.dilation[1]}
    activation = "RELU" if c.zero == -128 else "NONE"
    w.op("DEPTHWISE_CONV_2D", [x, k, b], [y], fused_activation_function=activation, **options)
    return y


@st.composite
def layers(draw: st.DrawFn, kernel: st.SearchStrategy[tuple[int, int]]) -> Layer:
    high, wide = draw(kernel)
    padding = draw(st.sampled_from(["SAME", "SAME", "VALID"]))
    least = (high, wide) if padding == "VALID" else (1, 1)
    return Layer(
        size=(
            draw(st.integers(least[0], max(least[0], 8))),
            draw(st.integers(least[1], draw(st.sampled_from([9, 50])))),
        ),
        channels=draw(st.sampled_from([1, 2, 3, 4, 5, 9, 17])),
        kernel=(high, wide),
        stride=draw(st.sampled_from([(1, 1), (1, 1), (2, 2), (2, 2), (1, 2), (3, 1)])),
        padding=padding,
        batch=draw(st.sampled_from([1, 1, 1, 2])),
        weights=draw(st.sampled_from(WEIGHTS)),
        bias=draw(st.sampled_from([0, 2000, 2000, 100_000, 1 << 24])),
        zero=draw(st.sampled_from([-128, -128, -128, -127, 3, 127])),
        gain=draw(st.sampled_from([0.1, 0.5, 1.0, 1.0, 2.0, 30.0])),
        spread=draw(st.sampled_from([0.0, 2.0, 6.0])),
        compact=draw(st.booleans()),
        seed=draw(st.integers(0, 1 << 30)),
    )


def batches(*kernels: tuple[int, int]) -> st.SearchStrategy[list[Layer]]:
    return batch(layers(st.sampled_from(kernels)), 24, 12)


def kernels(c: Layer) -> list[Case]:
    """One case for each kernel that there is for a layer."""
    g = graph(c)
    op = g.ops[0]
    assert isinstance(op, DepthwiseConv2D)
    end = "_compact" if c.compact else ""
    own = ("depthwise_time", f"depthwise_two{end}", f"depthwise3{end}", f"depthwise_wide{end}")
    names = own if c.compact else (*own, "depthwise3_any", "depthwise_any")
    found = [k for k in (named(name, g, op) for name in names) if k is not None]
    layouts = [NHWC, *(layout(View(g, (op,))) for layout in (planar_layout, layout_of_any3, layout_of_any))]
    assert all(k.needs.reads in layouts for k in found)
    return [Case(g, op, kernel, c.seed) for kernel in found]


def cases(chosen: list[Layer]) -> list[Case]:
    return [found for c in chosen for found in kernels(c)]


@given(batches((3, 3)))
@settings(max_examples=examples(6, 1), deadline=None, suppress_health_check=list(HealthCheck))
def test_three_by_three(chosen: list[Layer]) -> None:
    check_cases(cases(chosen), Program())


@given(batches((3, 3)))
@settings(max_examples=examples(6, 1), deadline=None, suppress_health_check=list(HealthCheck))
def test_three_by_three_on_cortex_m4(chosen: list[Layer]) -> None:
    check_cases(cases(chosen), Program(emulated("cortex-m4")))


OTHER_WINDOWS = [(5, 5), (5, 5), (7, 7), (7, 7), (1, 3), (5, 3), (3, 1), (2, 2), (3, 4), (7, 5), (3, 7), (1, 6)]


@given(batches(*OTHER_WINDOWS))
@settings(max_examples=examples(6, 1), deadline=None, suppress_health_check=list(HealthCheck))
def test_other_windows(chosen: list[Layer]) -> None:
    check_cases(cases(chosen), Program())


@given(batches(*OTHER_WINDOWS))
@settings(max_examples=examples(9, 1), deadline=None, suppress_health_check=list(HealthCheck))
def test_other_windows_on_cortex_m4(chosen: list[Layer]) -> None:
    check_cases(cases(chosen), Program(emulated("cortex-m4")))


@st.composite
def time_layers(draw: st.DrawFn) -> list[Layer]:
    """Rows of one pixel."""

    def one() -> Layer:
        taps = draw(st.integers(1, 16))
        return replace(
            draw(layers(st.just((taps, 1)))),
            size=(taps + draw(st.integers(1, 30)), 1),
            channels=draw(st.sampled_from([4, 5, 6, 7, 8, 12, 13])),
            stride=(1, 1),
            padding="VALID",
            zero_in=draw(st.integers(-128, 127)),
        )

    return [one() for _ in range(24)]


@given(time_layers())
@settings(max_examples=examples(6), deadline=None, suppress_health_check=list(HealthCheck))
def test_over_time(chosen: list[Layer]) -> None:
    found = cases(chosen)
    assert all(c.kernel.name.startswith("depthwise_time") for c in found)
    check_cases(found, Program())


@pytest.mark.slow
@given(time_layers())
@settings(max_examples=examples(7), deadline=None, suppress_health_check=list(HealthCheck))
def test_over_time_on_cortex_m4(chosen: list[Layer]) -> None:
    check_cases(cases(chosen), Program(emulated("cortex-m4")))


def every_width(kernel: int, stride: int) -> Iterator[Case]:
    """Rows of every length up to 18 outputs, at both borders of the image and between them."""
    for width in range(1, 18 * stride):
        for padding in ("SAME", "VALID") if width >= kernel else ("SAME",):
            zero, compact = (-128, 5)[width // 2 % 2], width % 2 == 1
            c = Layer((kernel + 1, width), 5, (kernel, kernel), (1, stride), padding, seed=width)
            for each in (replace(c, zero=zero, compact=compact), replace(c, zero=-123 - zero, compact=not compact)):
                found = [one for one in kernels(each) if one.kernel.price.tile[0] == 1]
                assert found
                yield from found


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "stride"), [(3, 1), (3, 2), (5, 2), (7, 1)])
def test_every_width(kernel: int, stride: int) -> None:
    found = list(every_width(kernel, stride))
    check_cases(found, Program())
    for half in (found[::2], found[1::2]):
        check_cases(half, Program(emulated("cortex-m4")))


def two_rows() -> Iterator[Case]:
    """Rows of every length up to 12 outputs, two at a time and with one left over; rows so long that loads and stores
    do not reach from one to the next; so many channels that stores do not reach the last pixel."""
    for stride in (1, 2):
        for width in range(1, 12 * stride):
            c = Layer((6 + width % 4, width), 3, (3, 3), (stride, stride), compact=width % 3 == 0, seed=width)
            yield from kernels(replace(c, zero=(-128, 5)[width // 2 % 2]))
        yield from kernels(Layer((7, 34 * stride), 128, (3, 3), (stride, stride), seed=stride))
    yield from kernels(Layer((7, 7), 960, (3, 3), zero=-128))


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_two_rows(step: int) -> None:
    found = [c for c in two_rows() if c.kernel.family.startswith("depthwise_two")]
    assert len(found) > 25
    check_cases([*found[::step], found[-1]], Program(emulated("cortex-m4")))


@pytest.mark.parametrize("padding", ["VALID", "SAME"])
def test_two_rows_at_once_are_of_one_image(padding: str) -> None:
    """Rows of several images are not a fixed step apart."""
    layer = Layer((5, 32), 4, padding=padding)
    assert {case.kernel.entry.group for case in kernels(layer)} == {1, 2}
    assert {case.kernel.entry.group for case in kernels(replace(layer, batch=2))} == {1}
