"""DEPTHWISE_CONV_2D with the 1x1 CONV_2D behind it in one kernel: whole and from rows in blocks of their own, under the
sanitizers and on an emulated Cortex-M4, against the two operators; and in networks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.bench.evaluation.verify import verify
from mote.compiler.kernels import catalogue
from mote.compiler.kernels.armv7em.depthwise.depthwise_planar import planar_layout
from mote.compiler.kernels.contract import NHWC, Packed, Refusal, View
from mote.compiler.kernels.pack.planar import Planar
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph import Graph
from mote.ir.graph.region import Region, joined
from mote.ir.graph.rows import row_count
from mote.ir.graph.tensor import Array
from tests.compiler.kernels.c_harness import Case, Program, call_row_by_row
from tests.compiler.kernels.test_depthwise_planar import Layer, add_layer, layers
from tests.helpers.offered import DSP
from tests.helpers.support import batch, emulated, examples, needs_litert

MANY = list(HealthCheck)
WANTED = Planar(24, 1)
"""What a layer behind the chain might want."""


@dataclass(frozen=True)
class Both:
    depthwise: Layer
    outputs: int = 8
    linear: bool = False
    planar: bool = False
    """The outputs are to be planar."""


@st.composite
def chains(draw: st.DrawFn) -> Both:
    found = draw(layers(st.just((3, 3))))
    stride = draw(st.sampled_from([1, 2]))
    size = draw(st.integers(3, 9)), draw(st.sampled_from([4, 8, 12, 16])) * stride
    depthwise = replace(
        found,
        size=size,
        stride=(stride, stride),
        padding="SAME",
        channels=draw(st.sampled_from([4, 8, 12, 20])),
        batch=1,
    )
    planar = draw(st.booleans())
    return Both(depthwise, draw(st.sampled_from([2, 6, 16])), not planar and draw(st.booleans()), planar)


def model(c: Both) -> bytes:
    w = Writer("both")
    w.output(add_pointwise(w, c, add_layer(w, c.depthwise)))
    return w.finish()


def add_pointwise(w: Writer, c: Both, x: int, name: str = "z") -> int:
    rng = np.random.default_rng(c.depthwise.seed + 1)
    channels, outputs = c.depthwise.channels, c.outputs
    scale = (0.01 * 2 ** -rng.uniform(0, 1, outputs)).astype(np.float32)
    own = w._tensors[x].scales[0]
    k = w.const("v", rng.integers(-127, 128, (outputs, 1, 1, channels)).astype(np.int8), scale=scale, axis=0)
    b = w.const("c", rng.integers(-500, 500, outputs).astype(np.int32), scale=scale * np.float32(own))
    out = float(own * 0.01 * 80 * channels**0.5)
    zero = 3 if c.linear else -128
    z = w.tensor(name, (1, *c.depthwise.outputs, outputs), "int8", scale=out, zero_point=zero)
    activation = "NONE" if c.linear else "RELU"
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1}
    w.op("CONV_2D", [x, k, b], [z], fused_activation_function=activation, **options)
    return z


@dataclass(frozen=True)
class Joined(Case):
    """Compared with what is in memory, padding included."""

    @cached_property
    def stored(self) -> Array:
        return self.kernel.needs.writes.store(self.expected)

    def call(self, program: Program) -> None:
        kernel = self.kernel
        params, stored = program.params(kernel), kernel.needs.reads.store(self.inputs[0])
        given, out = program.block(stored.nbytes, stored), program.block(self.stored.nbytes)
        scratch = program.block(kernel.needs.scratch or 0)
        rows = row_count(self.expected.shape)
        program.say(f"mote_{kernel.name}({params}, {given}, {out}, 0, {rows}, {scratch});")
        program.write(out, self.stored.nbytes)
        call_row_by_row(program, self.graph, self.op, kernel, self.inputs)


def offered(g: Graph, *, planar: bool = False, features: frozenset[str] = DSP) -> list[Packed]:
    reads = planar_layout(View(g, g.ops[:1]))
    assert reads is not None
    writes = WANTED if planar else NHWC
    return catalogue.candidates(View(g, g.ops, reads=reads, writes=writes), features)


def run(found: list[Both], program: Program) -> None:
    cases = []
    for c in found:
        g = tflite.parse(model(c), "both")
        kernels = offered(g, planar=c.planar, features=DSP | {"fpu"})
        cases += [Joined(g, joined(g, g.ops), kernel, c.depthwise.seed) for kernel in kernels]
    assert cases
    for case in cases:
        case.call(program)
    got = np.frombuffer(program.run(), np.int8)
    for case in cases:
        for how in case.ways:
            result, got = got[: case.stored.size], got[case.stored.size :]
            assert np.array_equal(result, case.stored.reshape(-1)), (how, case.kernel.name, case.graph.text())
    assert not got.size


@given(batch(chains(), 4, 2))
@settings(max_examples=examples(2, 1), deadline=None, suppress_health_check=MANY)
def test_portable_twins(found: list[Both]) -> None:
    run(found, Program())


@pytest.mark.slow
@given(batch(chains(), 4, 2))
@settings(max_examples=examples(2, 1), deadline=None, suppress_health_check=MANY)
def test_on_cortex_m4(found: list[Both]) -> None:
    run(found, Program(emulated("cortex-m4")))


PLAIN = Both(Layer((7, 8), 8, seed=3))
FAMILIES = [
    f"depthwise_gemm{two}_{form}{end}"
    for end in ("", "_shared")
    for two in ("_two", "")
    for form in ("wide", "wide_compact", "pair_compact")
]

FPU = [f"{family}_fpu" for family in FAMILIES if "wide" in family and not family.endswith("_shared")]


def test_offered() -> None:
    found = offered(tflite.parse(model(PLAIN), "both"))
    assert [k.family for k in found] == FAMILIES
    assert [k.needs.scratch for k in found] == [256, 256, 256, 128, 128, 128] * 2
    more = offered(tflite.parse(model(PLAIN), "both"), features=DSP | {"fpu"})
    assert [k.family for k in more] == [*FPU, *FAMILIES]


@pytest.mark.parametrize(
    ("c", "why"),
    [
        (replace(PLAIN, depthwise=replace(PLAIN.depthwise, size=(7, 6))), "rows of four pixels"),
        (replace(PLAIN, depthwise=replace(PLAIN.depthwise, channels=6)), "channels in fours"),
        (replace(PLAIN, outputs=5), "two at a time"),
        (replace(PLAIN, depthwise=replace(PLAIN.depthwise, kernel=(5, 5))), "windows of 3x3"),
    ],
    ids=["width", "channels", "outputs", "window"],
)
def test_refused(c: Both, why: str) -> None:
    g = tflite.parse(model(c), "both")
    reads = planar_layout(View(g, g.ops[:1]))
    assert reads is not None and not offered(g)
    found = [packed for _, packed in catalogue.attempts(View(g, g.ops, reads=reads), DSP)]
    assert found and all(isinstance(packed, Refusal) and why in packed.why for packed in found)


def network(width: int = 12) -> bytes:
    """Two chains behind a convolution that can write planar rows; the second one's output is the model's."""
    w = Writer("network")
    first = replace(PLAIN, depthwise=replace(PLAIN.depthwise, size=(10, width)), outputs=12)
    x = w.input("x", (1, 10, width, 8), "int8", scale=0.05, zero_point=-128)
    x = add_pointwise(w, replace(first, outputs=8), x, "a")
    x = add_pointwise(w, first, add_layer(w, first.depthwise, x), "b")
    second = replace(first.depthwise, channels=12, seed=5)
    w.output(add_pointwise(w, replace(first, depthwise=second, outputs=6), add_layer(w, second, x), "c"))
    return w.finish()


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize(
    "options", [{"optimize": "speed"}, {"step": "row"}, {"step": "row", "red_zones": True}], ids=str
)
def test_in_a_network(options: dict[str, Any]) -> None:
    emulated("cortex-m4")
    found = compile(network(), target="cortex-m4", **options)
    steps = [steps[0] for op, steps in found.plan.works if isinstance(op, Region)]
    assert len(steps) == 2 and all(step.kernel.family in (*FAMILIES, *FPU) for step in steps)
    assert all(step.whole == ("optimize" in options) for step in steps)
    result = verify(found, 2)
    assert result.passed, result.mismatches


APART = {"1": "depthwise_two", "3": "depthwise_two"}


def test_what_is_between_has_no_memory() -> None:
    apart = compile(network(), target="cortex-m4", optimize="speed", kernels=APART)
    together = compile(network(), target="cortex-m4", optimize="speed")
    inner = {op.ops[0].outputs[0] for op, _ in together.plan.works if isinstance(op, Region)}
    assert len(inner) == 2 and not inner & together.plan.place.keys() and inner <= apart.plan.place.keys()


def test_a_chain_whose_input_is_not_planar_is_given_up() -> None:
    """The model's own input is never planar."""
    found = compile(model(PLAIN), target="cortex-m4", optimize="speed")
    assert not any(isinstance(op, Region) for op, _ in found.plan.works)
