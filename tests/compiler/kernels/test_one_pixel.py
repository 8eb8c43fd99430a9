"""Rows of one pixel, as models over time have them frame by frame: every kernel that a layer could have, whole and from
rows in blocks of their own, under the sanitizers and on an emulated Cortex-M4."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.bench.evaluation.verify import verify
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph import Graph
from tests.compiler.kernels.c_harness import Case, Program, check_cases
from tests.helpers.network import Net
from tests.helpers.offered import DSP, offered
from tests.helpers.support import FUZZ, emulated, examples, needs_litert

FEATURES = DSP | {"fpu"}
KINDS = ["CONV_2D", "DEPTHWISE_CONV_2D"]
MANY = list(HealthCheck)
WEIGHTS = {
    "usual": range(-127, 128),
    "extreme": (-127, 127),
    "lowest": (-128, 127, 0),
    "small": (-1, 0, 1),
    "few": (-127, *[0] * 60, 127),
    "none": (0,),
}


@dataclass(frozen=True)
class Layer:
    kind: str = "CONV_2D"
    taps: int = 1
    more: int = 0
    """Rows of the input that one window does not reach."""
    columns: int = 1
    """Of the window of a convolution and of the image under it."""
    channels: int = 8
    outputs: int = 4
    """Of a convolution; a depthwise one has as many as channels."""
    step: tuple[int, int] = (1, 1)
    """Stride and dilation."""
    weights: str = "usual"
    bias: int = 2000
    gain: float = 1.0
    spread: float = 1.0
    """How different the channels' scales are: up to 2^spread."""
    zeros: tuple[int, int] = (-3, 5)
    seed: int = 0

    @property
    def rows(self) -> tuple[int, int]:
        """Of the input and of the output."""
        stride, dilation = self.step
        reach = (self.taps - 1) * dilation + 1
        return reach + self.more, self.more // stride + 1


@st.composite
def layers(draw: st.DrawFn, kind: str) -> Layer:
    return Layer(
        kind=kind,
        taps=draw(st.just(1) | st.integers(1, 12) | st.integers(13, 30)),
        more=draw(st.sampled_from([0, 0, 0, 1, 4])),
        columns=draw(st.sampled_from([1, 1, 2, 3])) if kind == "CONV_2D" else 1,
        channels=draw(st.integers(1, 24)),
        outputs=draw(st.integers(1, 14)),
        step=draw(st.sampled_from([(1, 1), (1, 1), (2, 1), (1, 3)])),
        weights=draw(st.sampled_from(["usual", "usual", *WEIGHTS])),
        bias=draw(st.sampled_from([0, 2000, 2000, 100_000, 1 << 24])),
        gain=draw(st.sampled_from([0.1, 0.5, 1.0, 1.0, 2.0, 30.0])),
        spread=draw(st.sampled_from([0.0, 2.0, 6.0])),
        zeros=(draw(st.sampled_from([-128, 127, 3])), draw(st.sampled_from([-128, -128, -127, 4, 127]))),
        seed=draw(st.integers(0, 1 << 30)),
    )


def graph(c: Layer) -> Graph:
    return tflite.parse(model(c), "layer")


def model(c: Layer) -> bytes:
    rng = np.random.default_rng(c.seed)
    depthwise = c.kind == "DEPTHWISE_CONV_2D"
    outputs = c.channels if depthwise else c.outputs
    shape = (1, c.taps, 1, outputs) if depthwise else (outputs, c.taps, c.columns, c.channels)
    scale = (0.01 * 2 ** -rng.uniform(0, c.spread, outputs)).astype(np.float32)
    rows_in, rows_out = c.rows
    w = Writer("layer")
    x = w.input("x", (1, rows_in, c.columns, c.channels), "int8", scale=0.05, zero_point=c.zeros[0])
    k = w.const("k", rng.choice(WEIGHTS[c.weights], shape).astype(np.int8), scale=scale, axis=3 if depthwise else 0)
    bias = rng.integers(-c.bias, c.bias + 1, outputs).astype(np.int32)
    b = w.const("b", bias, scale=scale * np.float32(0.05))
    depth = c.taps if depthwise else c.taps * c.columns * c.channels
    y = w.tensor(
        "y",
        (1, rows_out, 1, outputs),
        "int8",
        scale=float(0.05 * 0.01 * 80 * depth**0.5 * c.gain),
        zero_point=c.zeros[1],
    )
    options = {"padding": "VALID", "stride_h": c.step[0], "stride_w": 1}
    options |= {"dilation_h_factor": c.step[1], "dilation_w_factor": 1}
    options |= {"depth_multiplier": 1} if depthwise else {}
    activation = "RELU" if c.zeros[1] == -128 else "NONE"
    w.op(c.kind, [x, k, b], [y], fused_activation_function=activation, **options)
    w.output(y)
    return w.finish()


def cases(chosen: list[Layer]) -> list[Case]:
    graphs = [(graph(c), c.seed) for c in chosen]
    offers = ((g, seed, offered(g, g.ops[0], FEATURES, small=True)) for g, seed in graphs)
    return [Case(g, g.ops[0], kernel, seed) for g, seed, kernels in offers for kernel in kernels]


def batches(kind: str) -> st.SearchStrategy[list[Layer]]:
    count = 24 if FUZZ else 8
    return st.lists(layers(kind), min_size=count, max_size=count)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
@settings(max_examples=examples(10, 2), deadline=None, suppress_health_check=MANY)
def test_portable_twins(kind: str, data: st.DataObject) -> None:
    check_cases(cases(data.draw(batches(kind))), Program())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
@settings(max_examples=examples(10, 2), deadline=None, suppress_health_check=MANY)
def test_on_cortex_m4(kind: str, data: st.DataObject) -> None:
    check_cases(cases(data.draw(batches(kind))), Program(emulated("cortex-m4")))


def families(c: Layer) -> set[str]:
    return {case.kernel.family for case in cases([c])}


def test_vectors_have_kernels_of_their_own() -> None:
    roomy = {"fully_connected4_roomy", "fully_connected4_wide_roomy"}
    assert families(Layer(channels=40, outputs=128)) >= {"fully_connected4", "fully_connected4_wide", *roomy}
    assert families(Layer(taps=5, channels=40, outputs=30)) >= roomy
    assert families(Layer(taps=5, columns=3, channels=10)) >= roomy
    assert not families(Layer(weights="lowest", seed=1)) & {"fully_connected4", "fully_connected4_roomy"}


@pytest.mark.parametrize("taps", [1, 5])
def test_vectors_without_blocks_of_zeros(taps: int) -> None:
    sparse = {f"fully_connected4{wide}_sparse{block}" for wide in ("", "_wide") for block in (4, 8)}
    assert families(Layer(taps=taps, channels=40, outputs=30, weights="few")) >= sparse
    assert not families(Layer(taps=taps, channels=40, outputs=30)) & sparse


@pytest.mark.parametrize("zero", [-128, 5])
def test_columns(zero: int) -> None:
    layer = Layer("DEPTHWISE_CONV_2D", taps=5, channels=40, zeros=(3, zero))
    columns = {"depthwise_column", "depthwise_column_wide"}
    unrolled = {"depthwise_column_unrolled", "depthwise_column_unrolled_fpu"}
    assert families(layer) >= {"depthwise", *columns, *unrolled}
    assert families(replace(layer, taps=17)) & (columns | unrolled) == columns
    assert not any("column" in family for family in families(replace(layer, channels=3)))


def test_rows_of_several_outputs_one_by_one_where_flash_counts() -> None:
    g = graph(Layer("DEPTHWISE_CONV_2D", taps=5, more=4, channels=40))
    assert [k.family for k in offered(g, g.ops[0], DSP)] == ["depthwise_long_nhwc", "depthwise_time", "depthwise"]
    size = [k.family for k in offered(g, g.ops[0], DSP, small=True)]
    columns = ["depthwise_column_unrolled", "depthwise_column", "depthwise_column_wide"]
    assert size == ["depthwise_long_nhwc", "depthwise_time", *columns, "depthwise"]


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize(("taps", "channels", "over"), [(5, 8, True), (3, 40, True), (4, 10, False)])
def test_outputs_over_the_inputs(taps: int, channels: int, over: bool) -> None:
    """Four channels at a time, if these are four others each time."""
    emulated("cortex-m4")
    net = Net()
    x = net.conv(net.input(1, 12, 1, 4), channels, 1)
    y = net.conv(net.depthwise(x, 1, (taps, 1), padding="VALID"), 8, 1)
    compiled = compile(net.finish(y), target="cortex-m4", kernels={"1": "depthwise_time"})
    plan = compiled.plan
    (step,) = (s for s in plan.steps if s.kernel.family == "depthwise_time")
    (source, *_), (made,) = plan.op(step).inputs, plan.op(step).outputs
    assert bool(step.kernel.needs.overlays) == over
    assert (plan.place[source].offsets[0] == plan.place[made].offsets[0]) == over
    assert verify(compiled, 3).passed


FRAMES = [
    Layer(channels=40, outputs=32, zeros=(3, -128)),
    Layer(taps=5, channels=40, outputs=32),
    Layer("DEPTHWISE_CONV_2D", taps=15, channels=32, zeros=(-128, -3)),
]


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("optimize", ["speed", "balanced"])
@pytest.mark.parametrize("layer", FRAMES, ids=lambda c: f"{c.kind} {c.taps}x1")
def test_chosen_and_exact(layer: Layer, optimize: str) -> None:
    emulated("cortex-m4")
    compiled = compile(model(layer), target="cortex-m4", optimize=optimize)
    (step,) = compiled.plan.steps
    assert step.kernel.family.startswith(("fully_connected", "depthwise_column"))
    assert verify(compiled, 3).passed
