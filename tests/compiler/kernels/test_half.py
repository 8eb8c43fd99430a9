"""Layers in half precision: equal to their definition in NumPy bit for bit, on the host and on a Cortex-M55."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote import compile, verify
from mote.base.errors import MoteError
from mote.compiler.passes.rewriting import half_precision
from mote.ir.graph import Graph
from mote.ir.ops.matrix.half_precision import add_product
from tests.compiler.kernels.c_harness import Program
from tests.compiler.kernels.test_blocks_f32 import FloatCase, configs, layer
from tests.compiler.kernels.test_halves import USUAL
from tests.helpers.offered import offered
from tests.helpers.support import emulated, examples
from tests.ir.ops.windows import test_conv

MVE = frozenset({"mve", "fpu"})
QUICK = settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck))
HALVES = st.integers(0, (1 << 16) - 1).map(lambda bits: np.array([bits], np.uint16).view(np.float16))


def halved(config: test_conv.Config) -> Graph:
    return half_precision.run(layer(config)[0])[0]


def rounded(exact: Fraction) -> np.float16:
    """The nearest number of half precision, halves to even, by trying neighbours of the nearest double."""
    near = np.float16(float(exact))
    tried = {float(n) for n in (near, np.nextafter(near, np.float16(np.inf)), np.nextafter(near, np.float16(-np.inf)))}
    finite = [n for n in tried if np.isfinite(n)]
    return np.float16(min(finite, key=lambda n: (abs(Fraction(n) - exact), int(np.float16(n).view(np.uint16)) & 1)))


@given(HALVES, HALVES, HALVES)
@settings(max_examples=300)
def test_a_product_is_added_with_one_rounding(s: np.ndarray, x: np.ndarray, w: np.ndarray) -> None:
    exact = [Fraction(float(v[0])) for v in (s, x, w) if np.isfinite(v[0])]
    if len(exact) < 3 or abs(exact[0] + exact[1] * exact[2]) > 65504:
        return
    got = add_product(s, x, w)[0]
    assert got == rounded(exact[0] + exact[1] * exact[2])


def check(layers: list[test_conv.Config], core: str) -> None:
    program, cases = Program(core), []
    for config in layers:
        g = halved(config)
        (kernel,) = offered(g, g.ops[0], MVE)
        case = FloatCase(g, g.ops[0], kernel, config.seed)
        case.call(program)
        cases.append(case)
    got = np.frombuffer(program.run(), np.float32)
    for case in cases:
        for _ in case.ways:
            result, got = got[: case.expected.size], got[case.expected.size :]
            assert np.array_equal(result, case.expected.reshape(-1), equal_nan=True), case.graph.text()
    assert not got.size


KINDS = st.sampled_from(["CONV_2D", "FULLY_CONNECTED"])
SOME = st.lists(st.builds(lambda c, kind: replace(c, kind=kind), configs(), KINDS), min_size=6, max_size=6)


@pytest.mark.parametrize("core", ["host", "cortex-m55"])
@given(SOME)
@QUICK
def test_any_layer(core: str, layers: list[test_conv.Config]) -> None:
    check([replace(c, outputs=max(c.outputs, 4)) for c in layers], emulated(core) if core != "host" else core)


def test_models_and_what_they_lose() -> None:
    """Convolutions and fully connected layers are in half precision, depthwise ones are not."""
    kinds = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")
    layers = [replace(USUAL, kind=kind, size=(5, 5), outputs=1 if kind[0] == "D" else 9) for kind in kinds]
    compiled = compile(test_conv.model(layers), target=emulated("cortex-m55"), numerics="half")
    names = {step.kernel.name for step in compiled.plan.steps}
    assert {"conv2d_half", "fully_connected_half"} <= names and any("depthwise" in name for name in names)
    result = verify(compiled, 1)
    assert result.passed and "half precision: outputs are within 0.0" in result.reference
    assert any("2 of 3 layers" in saving.detail for saving in compiled.savings)


def test_other_cores_are_refused() -> None:
    with pytest.raises(MoteError, match="cortex-m4 has no vectors of half precision"):
        compile(test_conv.model([USUAL]), target="cortex-m4", numerics="half")
