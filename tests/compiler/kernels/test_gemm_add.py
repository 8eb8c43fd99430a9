"""CONV_2D with the ADD or SUB behind it in one kernel: whole, over what is added, and from rows in blocks of their own,
under the sanitizers and on an emulated Cortex-M4, against the two operators; and in residual networks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.bench.evaluation.verify import verify
from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import Call, Packed, Refusal, View
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph import Graph
from mote.ir.graph.region import Region, joined
from mote.ir.graph.rows import row_count
from mote.ir.graph.tensor import Shape
from tests.compiler.kernels.c_harness import Case, Program, call_row_by_row, check_cases
from tests.compiler.kernels.test_variants import layers
from tests.helpers.offered import DSP
from tests.helpers.support import HOST_DSP, batch, check, emulated, exact_on, examples, needs_litert
from tests.ir.ops.elementwise.test_arithmetic import Quant
from tests.ir.ops.windows import test_conv

MANY = list(HealthCheck)


@dataclass(frozen=True)
class Pair:
    conv: test_conv.Config
    kind: str = "ADD"
    first: bool = True
    """The convolution's result is the first operand."""
    constant: bool = False
    """The other one is a constant."""
    activation: str = "NONE"
    other: Quant = (0.7, -7)
    """Scales are relative to that of the convolution's result."""
    output: Quant = (1.3, 11)

    @property
    def shape(self) -> Shape:
        c = self.conv
        sides = zip(c.size, c.kernel, c.stride, c.dilation, strict=True)
        return (c.batch, *(test_conv.positions(*side, c.padding) for side in sides), c.outputs)


@st.composite
def pairs(draw: st.DrawFn) -> Pair:
    conv = replace(draw(layers()), outputs=draw(st.sampled_from([2, 4, 6, 14])))
    ratio = st.one_of(st.floats(0.3, 3.0), st.sampled_from([0.5, 1.0, 2.0]))
    zero = st.sampled_from([-128, 127]) | st.integers(-128, 127)
    relu = draw(st.booleans())
    return Pair(
        conv,
        kind=draw(st.sampled_from(["ADD", "ADD", "SUB"])),
        first=draw(st.booleans()),
        constant=draw(st.sampled_from([False, False, True])),
        activation="RELU" if relu else "NONE",
        other=(draw(ratio), draw(zero)),
        output=(draw(ratio), -128 if relu else draw(zero)),
    )


def add_pair(w: Writer, i: int, c: Pair, other_shape: Shape | None = None) -> None:
    conv = test_conv.add_layer(w, i, c.conv, output=False)
    (scale, zero), shape, own = c.other, other_shape or c.shape, w._tensors[conv].scales[0]
    if c.constant:
        data = np.random.default_rng(c.conv.seed).integers(-128, 128, shape).astype(np.int8)
        other = w.const(f"r{i}", data, scale=scale * own, zero_point=zero)
    else:
        other = w.input(f"r{i}", shape, "int8", scale=scale * own, zero_point=zero)
    y = w.tensor(f"z{i}", c.shape, "int8", scale=c.output[0] * own, zero_point=c.output[1])
    w.op(c.kind, [conv, other] if c.first else [other, conv], [y], fused_activation_function=c.activation)
    w.output(y)


def model(*found: Pair, other: Shape | None = None) -> bytes:
    w = Writer("pairs")
    for i, c in enumerate(found):
        add_pair(w, i, c, other)
    return w.finish()


class Added(Case):
    """A convolution with the addition behind it."""

    ways = ("whole", "in place", "by rows")

    def call(self, program: Program) -> None:
        kernel, nbytes = self.kernel, self.expected.nbytes
        params = program.params(kernel)
        x, other = (program.block(v.nbytes, v) for v in (self.inputs[p] for p in kernel.entry.operands))
        out, scratch = program.block(nbytes), program.block(kernel.needs.scratch or 0)
        how = f"{kernel.entry.units}" if kernel.entry.call is Call.FLAT else f"0, {row_count(self.expected.shape)}"
        for to in (out, other):
            program.say(f"mote_{kernel.name}({params}, {x}, {other}, {to}, {how}, {scratch});")
            program.write(to, nbytes)
        call_row_by_row(program, self.graph, self.op, kernel, self.inputs)


def offered(g: Graph, features: frozenset[str] = DSP) -> list[Packed]:
    return catalogue.candidates(View(g, g.ops), features)


def refusals(g: Graph) -> set[str]:
    found = (packed for _, packed in catalogue.attempts(View(g, g.ops), DSP))
    return {packed.why for packed in found if isinstance(packed, Refusal)}


def run(found: list[Pair], program: Program) -> None:
    graphs = [(tflite.parse(model(c), "pair"), c.conv.seed) for c in found]
    cases = [Added(g, joined(g, g.ops), kernel, seed) for g, seed in graphs for kernel in offered(g, DSP | {"fpu"})]
    assert cases
    check_cases(cases, program)


@pytest.mark.slow
@given(batch(pairs(), 12, 6))
@settings(max_examples=examples(2, 1), deadline=None, suppress_health_check=MANY)
def test_portable_twins(found: list[Pair]) -> None:
    run(found, Program())


@pytest.mark.slow
@given(batch(pairs(), 12, 6))
@settings(max_examples=examples(2, 1), deadline=None, suppress_health_check=MANY)
def test_on_cortex_m4(found: list[Pair]) -> None:
    run(found, Program(emulated("cortex-m4")))


POINTWISE = Pair(
    test_conv.Config(
        "CONV_2D", "int8", 1, (7, 5), 8, 4, (1, 1), (1, 1), (1, 1), "SAME", "NONE", True, True, 1.0, (3, -5), 7
    )
)
WINDOW = replace(POINTWISE, conv=replace(POINTWISE.conv, kernel=(3, 3)))


@pytest.mark.parametrize("pair", [POINTWISE, WINDOW])
def test_offered(pair: Pair) -> None:
    name = "pointwise" if pair is POINTWISE else "conv"
    found = offered(tflite.parse(model(pair), "pair"))
    ways = [("4x2", ""), ("4x2", "_shared"), ("3", "")]
    assert [k.family for k in found] == [f"{name}{n}_{w}{way}_add" for n, way in ways for w in ("pair", "wide")]
    more = {k.family for k in offered(tflite.parse(model(pair), "pair"), DSP | {"fpu"})}
    assert more - {k.family for k in found} == {f"{name}4x2_wide_fpu_add"}
    for kernel in found:
        assert kernel.entry.operands == (0, 3) and kernel.needs.in_place == (3,)


def test_refused() -> None:
    def why(pair: Pair, other: Shape | None = None) -> set[str]:
        g = tflite.parse(model(pair, other=other), "pair")
        assert not offered(g)
        return refusals(g)

    assert why(replace(POINTWISE, activation="RELU6")) == {"the fused activation has limits of its own"}
    assert why(POINTWISE, (1, 1, 1, 4)) == {"one of its operands is repeated"}
    assert why(replace(POINTWISE, conv=replace(POINTWISE.conv, outputs=3))) == {"channels are added two at a time"}


def test_a_tensor_added_to_itself_is_refused() -> None:
    w = Writer("twice")
    conv = test_conv.add_layer(w, 0, POINTWISE.conv, output=False)
    y = w.tensor("z", POINTWISE.shape, "int8", scale=0.06, zero_point=11)
    w.op("ADD", [conv, conv], [y])
    w.output(y)
    assert refusals(tflite.parse(w.finish(), "twice")) == {"it adds a tensor to itself"}


@needs_litert
@given(batch(pairs(), 8, 4))
@settings(max_examples=examples(3, 1), deadline=None, suppress_health_check=MANY)
def test_against_litert(found: list[Pair]) -> None:
    check(model(*found), target=HOST_DSP)


def residual(kernel: int, *, longer: bool = False) -> bytes:
    """A convolution, another one of what it gives, and the sum of both; with one more in between, or not."""
    first = replace(POINTWISE.conv, size=(9, 10), outputs=8)
    second = replace(first, kernel=(kernel, kernel), seed=8)
    w = Writer("residual")
    x = test_conv.add_layer(w, 0, first, output=False)
    between = test_conv.add_layer(w, 3, first, source=x, output=False) if longer else x
    y = test_conv.add_layer(w, 1, second, source=between, output=False)
    z = w.tensor("z", (1, *first.size, 8), "int8", scale=1.2 * w._tensors[y].scales[0], zero_point=4)
    w.op("ADD", [x, y], [z], fused_activation_function="NONE")
    test_conv.add_layer(w, 2, replace(second, kernel=(1, 1), seed=9), source=z)
    return w.finish()


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("kernel", [1, 2])
@pytest.mark.parametrize(
    ("how", "options"),
    [
        ("4x2_wide", {"optimize": "speed"}),
        ("3_pair", {"step": "row"}),
        ("4x2_pair", {"step": "row", "red_zones": True}),
    ],
    ids=str,
)
def test_a_residual_network(kernel: int, how: str, options: dict[str, Any]) -> None:
    """With the kernels named: for so few pixels those of the operators one by one take less."""
    emulated("cortex-m4")
    family = f"{'pointwise' if kernel == 1 else 'conv'}{how}_add"
    found = compile(residual(kernel), target="cortex-m4", kernels={"y1": family}, **options)
    (step,) = (steps[0] for op, steps in found.plan.works if isinstance(op, Region))
    assert step.kernel.family == family and step.whole == ("optimize" in options)
    result = verify(found, 2)
    assert result.passed, result.mismatches


@needs_litert
def test_in_place() -> None:
    exact_on("cortex-m4", residual(2, longer=True), 2, optimize="speed", kernels={"y1": "conv4x2_wide_add"})


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("layer", "kernel"), [("y1", "pointwise3_pair_add"), ("y1", "pointwise3_wide"), ("z", "add4")])
@pytest.mark.parametrize("least_ram", [False, True])
def test_pinned(layer: str, kernel: str, least_ram: bool) -> None:
    found = compile(residual(1), target="cortex-m4", least_ram=least_ram, kernels={layer: kernel})
    used = {steps[0].kernel.family for _, steps in found.plan.works}
    assert kernel in used and any(name.endswith("_add") for name in used) == kernel.endswith("_add")


@pytest.mark.parametrize("longer", [False, True])
def test_written_over_what_is_added_unless_it_is_read_too(longer: bool) -> None:
    kernels = {"y1": "pointwise4x2_wide_add"}
    found = compile(residual(1, longer=longer), target="cortex-m4", optimize="speed", kernels=kernels)
    (chain,) = (op for op, _ in found.plan.works if isinstance(op, Region))
    inner = chain.ops[0].outputs[0]
    (added,) = (t for t in chain.ops[1].inputs if t != inner)
    assert inner not in found.plan.place
    assert (found.plan.place[added].offsets == found.plan.place[chain.outputs[0]].offsets) == longer
