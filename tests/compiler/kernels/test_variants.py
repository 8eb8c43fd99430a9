"""Every kernel that a layer could have, whatever it costs: all compute what the reference computes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.compiler.kernels.contract import Packed
from mote.compiler.plan.selection.select import Selection
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.region import Numbers
from tests.helpers.support import HOST_DSP, check, exact_on, examples, needs_litert
from tests.ir.ops.windows import test_conv

pytestmark = needs_litert
QUICK = settings(max_examples=examples(3), deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def layers(draw: st.DrawFn) -> test_conv.Config:
    """Convolutions as networks have them: ReLU down to the zero point, or none at all."""
    relu = draw(st.booleans())
    kernel = draw(st.sampled_from([(1, 1), (3, 3), (3, 3), (1, 3), (5, 2)]))
    size = st.integers(5, 11)
    return test_conv.Config(
        kind="CONV_2D",
        dtype="int8",
        batch=draw(st.sampled_from([1, 1, 2])),
        size=(draw(size), draw(size)),
        channels=draw(st.sampled_from([1, 3, 4, 8, 12, 16])),
        outputs=draw(st.sampled_from([1, 2, 5, 8, 14])),
        kernel=kernel,
        stride=draw(st.sampled_from([(1, 1), (1, 1), (2, 2)])),
        dilation=draw(st.sampled_from([(1, 1), (1, 1), (1, 1), (1, 2)])),
        padding=draw(st.sampled_from(["SAME", "VALID"])),
        activation="RELU" if relu else "NONE",
        per_channel=draw(st.booleans()),
        bias=True,
        gain=draw(st.sampled_from([0.1, 0.5, 1.0])),
        zeros=(draw(st.sampled_from([-128, 7])), -128 if relu else draw(st.integers(-128, 127))),
        seed=draw(st.integers(0, 1 << 30)),
    )


@dataclass(frozen=True)
class Pair:
    """A convolution with a depthwise one behind it, which reads planar rows where there is a kernel for that."""

    first: test_conv.Config
    seed: int

    def add(self, w: Writer, i: int) -> None:
        c = replace(self.first, activation="RELU", zeros=(self.first.zeros[0], -128))
        y = test_conv.add_layer(w, 2 * i, c, output=False)
        high, wide = (
            test_conv.positions(*a, c.padding) for a in zip(c.size, c.kernel, c.stride, c.dilation, strict=True)
        )
        second = replace(c, kind="DEPTHWISE_CONV_2D", size=(high, wide), channels=c.outputs, outputs=1, kernel=(3, 3))
        second = replace(second, stride=(1, 1), dilation=(1, 1), padding="SAME", zeros=(-128, -128), seed=self.seed)
        test_conv.add_layer(w, 2 * i + 1, second, source=y)


def batches(one: st.SearchStrategy[test_conv.Config]) -> st.SearchStrategy[bytes]:
    """Models of many layers."""
    return st.lists(one, min_size=10, max_size=10).map(test_conv.model)


def planar(one: st.SearchStrategy[test_conv.Config], count: int = 3) -> st.SearchStrategy[bytes]:
    """Models of many pairs."""

    def model(pairs: list[Pair]) -> bytes:
        w = Writer("pairs")
        for i, pair in enumerate(pairs):
            pair.add(w, i)
        return w.finish()

    pairs = st.builds(Pair, one, st.integers(0, 1 << 30))
    return st.lists(pairs, min_size=count, max_size=count).map(model)


@pytest.fixture(params=range(6))
def nth(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Operators get the n-th of their kernels."""

    def best(self: Selection, ops: Numbers, whole: bool, room: int | None = None) -> Packed:
        found = self.variants[ops]
        return found[request.param % len(found)]

    monkeypatch.setattr(Selection, "best", best)
    return int(request.param)


@pytest.mark.quick_cases(1)
@given(batches(layers()))
@QUICK
def test_on_the_host(nth: int, model: bytes) -> None:
    check(model, target=HOST_DSP, optimize="speed")


@pytest.mark.slow
@given(batches(layers()))
@QUICK
def test_on_cortex_m4(nth: int, model: bytes) -> None:
    exact_on("cortex-m4", model, 2, optimize="speed")


@pytest.mark.quick_cases(1)
@given(planar(layers()))
@QUICK
def test_into_planar_rows(nth: int, model: bytes) -> None:
    exact_on("cortex-m4", model, 2, optimize="speed")
