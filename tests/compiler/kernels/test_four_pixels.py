"""Convolutions four pixels at a time, whole and by rows, into rows of both layouts: on the host and on a core."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote import compile, verify
from mote.compiler.fitting.code_size import code_size
from mote.compiler.kernels import catalogue
from mote.compiler.kernels.armv7em.gemm.gemm_assembly import MatrixWeights, OutputPlaces, PixelBytes, code
from mote.compiler.kernels.contract import NHWC, Layout, Packed, Refusal, View
from mote.compiler.kernels.pack.planar import Planar
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from tests.compiler.kernels import test_variants
from tests.compiler.kernels.c_harness import Program, call_row_by_row, int8_inputs
from tests.helpers.network import Net
from tests.helpers.offered import DSP, offered
from tests.helpers.support import emulated, examples
from tests.ir.ops.windows import test_conv

FEW = settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck))
COMPACT = "_compact"
FAMILIES = ("pointwise4x2_wide", "pointwise4x2_pair", "conv4x2_wide", "conv4x2_pair")
SHARED = tuple(f"{family}_shared" for family in FAMILIES)
FPU = tuple(f"{family}_fpu" for family in FAMILIES if family.endswith("wide"))


@dataclass(frozen=True)
class Case:
    """A layer and one of its kernels."""

    graph: Graph
    kernel: Packed
    seed: int

    @cached_property
    def inputs(self) -> list[Array]:
        return int8_inputs(self.graph.ops[0], self.graph, self.seed)

    @cached_property
    def expected(self) -> bytes:
        (found,) = self.graph.ops[0].evaluate(self.graph, self.inputs)
        return self.kernel.needs.writes.store(found).tobytes()

    def call(self, program: Program) -> None:
        """Whole, then by rows."""
        kernel, (x, *_) = self.kernel, self.inputs
        shape = self.graph.ops[0].output(self.graph).shape
        out, scratch = program.block(len(self.expected)), program.block(kernel.needs.scratch or 0)
        arguments = [program.params(kernel), program.block(x.nbytes, x), out, 0, shape[0] * shape[1], scratch]
        program.say(f"mote_{kernel.name}({', '.join(map(str, arguments))});")
        program.write(out, len(self.expected))
        call_row_by_row(program, self.graph, self.graph.ops[0], kernel, self.inputs)


def cases(
    configs: Sequence[test_conv.Config],
    layouts: Sequence[Layout],
    features: frozenset[str] = DSP,
    families: Sequence[str] = (*FAMILIES, *SHARED),
) -> list[Case]:
    """Every kernel of four pixels for each layer and layout that there is one for."""
    graphs = [tflite.parse(test_conv.model([c]), "model") for c in configs]
    return [
        Case(g, kernel, i)
        for i, g in enumerate(graphs)
        for layout in layouts
        for kernel in offered(g, g.ops[0], features, writes=layout)
        if kernel.family.removesuffix("_dual") in families
    ]


def check(found: Sequence[Case], core: str) -> None:
    program = Program(core)
    for case in found:
        case.call(program)
    got = program.run()
    for case in found:
        for how in ("whole", "by rows"):
            result, got = got[: len(case.expected)], got[len(case.expected) :]
            assert result == case.expected, (how, case.kernel.name, case.graph.text())
    assert not got


PLAIN = test_conv.Config(
    kind="CONV_2D",
    dtype="int8",
    batch=1,
    size=(1, 1),
    channels=1,
    outputs=1,
    kernel=(1, 1),
    stride=(1, 1),
    dilation=(1, 1),
    padding="SAME",
    activation="RELU",
    per_channel=True,
    bias=True,
    gain=0.5,
    zeros=(7, -128),
    seed=1,
)


def layer(size: tuple[int, int], channels: int, outputs: int, **more: object) -> test_conv.Config:
    zeros = (-128, 11) if more.get("activation") == "NONE" else (7, -128)
    wanted = {"zeros": zeros, **more}
    return replace(PLAIN, size=size, channels=channels, outputs=outputs, **wanted)  # type: ignore[arg-type]


SHAPES = [
    layer((3, 8), 4, 2), layer((5, 5), 64, 6), layer((2, 12), 40, 4, activation="NONE"), layer((2, 6), 36, 4),
    layer((4, 3), 72, 2, activation="NONE"), layer((1, 9), 16, 10, batch=2), layer((3, 20), 8, 4, gain=0.1),
    layer((9, 16), 3, 4, kernel=(3, 3), stride=(2, 2)), layer((6, 8), 3, 4, kernel=(3, 3)),
    layer((9, 10), 1, 6, kernel=(10, 4), stride=(2, 2)), layer((5, 7), 8, 4, kernel=(3, 3), activation="NONE"),
    layer((4, 4), 32, 2, kernel=(3, 3)), layer((5, 11), 2, 2, kernel=(2, 5), padding="VALID"),
    layer((7, 9), 12, 4, stride=(2, 2)), layer((6, 3), 4, 4, kernel=(3, 3), batch=2),
    layer((8, 8), 1, 2, kernel=(3, 3)), layer((6, 5), 8, 2, kernel=(3, 1), dilation=(2, 1)), layer((3, 8), 28, 4),
    layer((1, 4), 520, 2),
]  # fmt: skip
LAYOUTS = [Planar(64, 1), Planar(24, 3), Planar(20, 0)]


def planar(
    configs: Sequence[test_conv.Config],
    features: frozenset[str] = DSP,
    families: Sequence[str] = (*FAMILIES, *SHARED),
) -> list[Case]:
    """Into lines that hold a row, of one layout or another."""
    found = []
    for i, c in enumerate(configs):
        layout = LAYOUTS[i % len(LAYOUTS)]
        found += cases([c], [layout] if c.size[1] + layout.before <= layout.line else LAYOUTS[:1], features, families)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("core", ["host", "cortex-m4"])
def test_shapes(core: str) -> None:
    found = [*cases(SHAPES, [NHWC]), *planar([c for c in SHAPES if c.activation == "RELU"])]
    assert {case.kernel.family for case in found} == {*FAMILIES, *SHARED}
    check(found, core)


def test_short_code() -> None:
    graphs = [tflite.parse(test_conv.model([c]), "model") for c in SHAPES[1:5]]
    kernels = [(g, kernel) for g in graphs for kernel in offered(g, g.ops[0], DSP) if kernel.family.endswith(COMPACT)]
    assert {kernel.family for _, kernel in kernels} == {f"pointwise4x2_{w}{COMPACT}" for w in ("pair", "wide")}
    assert all(kernel.code_bytes <= 1024 for _, kernel in kernels)
    check([Case(g, kernel, 1) for g, kernel in kernels], "cortex-m4")


def test_layers_of_any_depth_share_code() -> None:
    """As many as have the same form of weights and outputs, into lines of any length."""
    made = [
        case.kernel.instances[0]
        for case in planar([layer((5, 8), depth, 4) for depth in (4, 24, 96, 204)], families=SHARED)
    ]
    assert len(made) > 4 and len({str(i) for i in made}) == 2


def test_order_for_two_instructions_a_cycle() -> None:
    features, some = DSP | {"dual"}, SHAPES[:12:2]
    relu = [c for c in some if c.activation == "RELU"]
    found = [*cases(some, [NHWC], features, FAMILIES), *planar(relu, features, FAMILIES)]
    assert {case.kernel.family for case in found} == {f"{family}_dual" for family in FAMILIES}
    check(found, "cortex-m7")


@pytest.mark.slow
def test_inputs_in_the_fpu() -> None:
    """Sums of few steps and of many, with a loop behind those in the FPU or none."""
    features, depths = DSP | {"fpu"}, (4, 8, 12, 16, 20, 24, 28, 32, 36, 60, 64, 68, 100, 136)
    some = [*SHAPES, *(layer((1, 8 - i % 2), depth, 4) for i, depth in enumerate(depths))]
    relu = [c for c in some if c.activation == "RELU"]
    found = [*cases(some, [NHWC], features, FPU), *planar(relu, features, FPU)]
    assert {case.kernel.family for case in found} == set(FPU)
    check(found, "cortex-m4")


@pytest.mark.parametrize("words", range(1, 9))
def test_registers_of_the_fpu_that_a_caller_uses_are_saved(words: int) -> None:
    text = code(PixelBytes(0, words, 0), OutputPlaces(1), MatrixWeights.WIDE, "nhwc", 11, fpu=True)
    used = {int(n) for line in text for n in re.findall(r"\bs(\d+)\b", line)}
    saved = any(line == "vpush {s16-s31}" for line in text)
    assert saved == any(n > 15 for n in used) == any(line == "vpop {s16-s31}" for line in text)
    assert max(used) < 32


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", ["host", "cortex-m4"])
@given(st.lists(test_variants.layers(), min_size=5, max_size=5))
@FEW
def test_any_layer(core: str, configs: list[test_conv.Config]) -> None:
    even = [replace(c, outputs=c.outputs + c.outputs % 2) for c in configs]
    features, families = DSP | {"fpu"}, (*FAMILIES, *SHARED, *FPU)
    relu = [c for c in even if c.activation == "RELU"]
    check([*cases(even, [NHWC], features, families), *planar(relu, features, families)], core)


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (layer((4, 4), 8, 3), "channels are computed two at a time"),
        (layer((1, 3), 8, 2), "there are fewer than four pixels"),
        (layer((4, 8), 8, 2, kernel=(1, 3), dilation=(1, 2)), "windows are dilated"),
        (layer((2, 4), 2048, 2, kernel=(1, 1)), "sums are too long"),
        (layer((2, 4), 8, 1400), "a pixel has too many channels"),
    ],
    ids=str,
)
def test_refusals(config: test_conv.Config, why: str) -> None:
    g = tflite.parse(test_conv.model([config]), "model")
    asked = catalogue.attempts(View(g, (g.ops[0],)), DSP)
    found = [r.why for kernel, r in asked if kernel.name in FAMILIES and isinstance(r, Refusal)]
    assert why in found


def test_the_planner_chooses_it() -> None:
    """For a first layer into planar rows, and where rows have pixels left over."""
    net, relu = Net(), {"fused_activation_function": "RELU", "quant": (0.05, -128)}
    y = net.depthwise(net.conv(net.input(1, 18, 18, 3), 8, stride=2, **relu), **relu)
    model = net.finish(net.conv(net.conv(net.conv(y, 16, 1, **relu), 32, 1, **relu), 8, 1))
    compiled = compile(model, target="cortex-m4", optimize="speed")
    chosen = [step.kernel.family for step in compiled.plan.steps if "4x2" in step.kernel.family]
    assert set(chosen) == set(FPU)
    emulated("cortex-m4")
    assert verify(compiled, 2).passed


def test_layers_share_products_in_a_stack_that_is_known() -> None:
    """Of 1x1 convolutions and windows, whose inputs another routine widens."""
    emulated("cortex-m4")
    net = Net()
    model = net.finish(net.conv(net.conv(net.conv(net.input(1, 6, 9, 8), 8), 12, 1), 8))
    pins = {"0": "conv4x2_pair_shared", "1": "pointwise4x2_pair_shared", "2": "conv4x2_pair_shared"}
    compiled = compile(model, target="cortex-m4", kernels=pins)
    made = {i for step in compiled.plan.steps for i in step.kernel.instances}
    assert len([i for i in made if i.macro == "MOTE_GEMM4X2_ANY_CODE"]) == 1
    assert {i.arguments[0] for i in made if i.macro == "MOTE_GEMM4X2_WIDENING"} == {0, 3}
    built = code_size(compiled).built
    assert built is not None and built.stack is not None
    assert verify(compiled, 2).passed
