"""Convolutions with two products in one multiplication, whole and by rows: on the host and on the cores."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote import compile, run, verify
from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import Refusal, View
from mote.frontends import tflite
from tests.compiler.kernels import test_variants
from tests.compiler.kernels.c_harness import Case, Program, check_cases
from tests.compiler.kernels.test_four_pixels import layer
from tests.helpers.network import Net
from tests.helpers.offered import offered
from tests.helpers.support import emulated, examples, soaked
from tests.ir.ops.windows import test_conv

FEW = settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck))
CORES = {"cortex-m3": ("armv7m", ""), "cortex-m0plus": ("armv6m", "32")}
HOST_AND_CORES = [(core, isa) for isa in CORES for core in ("host", isa)]


FULLY_CONNECTED = [
    layer(size, channels, outputs, kind="FULLY_CONNECTED", **{"per_channel": False, **more})
    for size, channels, outputs, more in (
        ((1, 1), 640, 13, {}),
        ((3, 1), 8, 4, {"activation": "NONE"}),
        ((1, 1), 30, 1, {"activation": "NONE"}),
        ((1, 1), 129, 10, {"gain": 0.0005}),
        ((2, 1), 3, 7, {"weights": "small"}),
        ((1, 1), 64, 6, {"per_channel": True}),
    )
]
SHAPES = [
    layer((3, 8), 4, 2), layer((5, 5), 64, 6), layer((2, 12), 40, 4, activation="NONE"), layer((2, 6), 36, 4),
    layer((4, 3), 72, 3, activation="NONE"), layer((1, 9), 16, 10, batch=2), layer((3, 20), 8, 4, gain=0.1),
    layer((9, 16), 3, 4, kernel=(3, 3), stride=(2, 2)), layer((6, 8), 3, 4, kernel=(3, 3)),
    layer((9, 10), 1, 6, kernel=(10, 4), stride=(2, 2)), layer((5, 7), 8, 4, kernel=(3, 3), activation="NONE"),
    layer((4, 4), 32, 2, kernel=(3, 3)), layer((5, 11), 2, 1, kernel=(2, 5), padding="VALID"),
    layer((7, 9), 12, 4, stride=(2, 2)), layer((6, 3), 4, 4, kernel=(3, 3), batch=2), layer((1, 1), 32, 5),
    layer((8, 8), 1, 2, kernel=(3, 3)), layer((6, 5), 8, 2, kernel=(3, 1), dilation=(2, 1)), layer((3, 8), 28, 4),
    layer((5, 9), 4, 3, kernel=(3, 3), dilation=(2, 2)), layer((2, 4), 6, 2), layer((4, 6), 8, 3, gain=0.001),
]  # fmt: skip


def cases(configs: Sequence[test_conv.Config], core: str) -> list[Case]:
    """The kernel of the core for each layer."""
    isa, suffix = CORES[core]
    graphs = [tflite.parse(test_conv.model([c]), "model") for c in configs]
    return [
        Case(g, g.ops[0], kernel, i)
        for i, g in enumerate(graphs)
        for kernel in offered(g, g.ops[0], frozenset({isa}))
        if kernel.family in (f"pointwise_swar{suffix}", f"conv_swar{suffix}", f"fully_connected_swar{suffix}")
    ]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("core", "isa"), HOST_AND_CORES)
def test_shapes(core: str, isa: str) -> None:
    layers = cases([*SHAPES, *FULLY_CONNECTED], isa)
    assert len(layers) == len(SHAPES) + len(FULLY_CONNECTED)
    check_cases(layers, Program(core))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("core", "isa"), soaked(HOST_AND_CORES, HOST_AND_CORES[1:3]))
@given(st.lists(test_variants.layers(), min_size=6, max_size=6))
@FEW
def test_any_layer(core: str, isa: str, configs: list[test_conv.Config]) -> None:
    check_cases(cases(configs, isa), Program(core))


@pytest.mark.parametrize("core", soaked(tuple(CORES), ("cortex-m0plus",)))
def test_the_planner_chooses_it(core: str) -> None:
    """For outputs of both forms in one model, whose stack is then known."""
    suffix = CORES[core][1]
    net, relu = Net(), {"fused_activation_function": "RELU", "quant": (0.05, -128)}
    y = net.conv(net.conv(net.input(1, 14, 10, 3), 8, stride=2, **relu), 16, 1, **relu)
    y = net.conv(net.conv(y, 16, 1), 8, 3)
    compiled = compile(net.finish(net.fully_connected(net.mean(y), 24)), target=core, optimize="speed")
    chosen = {step.kernel.family for step in compiled.plan.steps}
    assert chosen >= {f"{kind}_swar{suffix}" for kind in ("pointwise", "conv")}
    emulated(core)
    assert verify(compiled, 2).passed
    assert run(compiled, layers=False).instructions


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (layer((4, 4), 8, 3, kernel=(3, 3)), "channels in fours"),
        (layer((4, 4), 8, 3), "it is a 1x1 convolution"),
        (layer((4, 4), 8, 3, zeros=(7, 0)), "cuts off more than int8 does"),
    ],
    ids=str,
)
def test_refusals(config: test_conv.Config, why: str) -> None:
    g = tflite.parse(test_conv.model([config]), "model")
    asked = catalogue.attempts(View(g, (g.ops[0],)), frozenset({"armv7m"}))
    refused = [r.why for kernel, r in asked if kernel.name.endswith("_swar") and isinstance(r, Refusal)]
    assert any(why in reason for reason in refused), refused


def test_slow_channels_and_products_left_over_are_among_the_shapes() -> None:
    for core in CORES:
        kernels = [case.kernel for case in cases(SHAPES, core)]
        assert any(kernel.params["gemm"]["slow"] for kernel in kernels)  # type: ignore[call-overload, index]
        assert all(kernel.price.density > 1 for kernel in kernels)
