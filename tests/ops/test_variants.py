"""Every kernel that a layer could have, whatever it costs: all compute what the reference computes."""

from __future__ import annotations

from pathlib import Path

import pytest
import test_conv
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.api.compiler import compile
from mote.api.verifier import verify
from mote.graph.chain import Numbers
from mote.kernels.contract import Packed
from mote.plan.select import Selection
from support import check, emulated, needs_litert
from tflite_writer import Writer

pytestmark = needs_litert
HOST_DSP = str(Path(__file__).parent / "host-dsp.toml")
QUICK = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))


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


def planar(c: test_conv.Config, seed: int) -> bytes:
    """The layer with a depthwise one behind it."""
    w = Writer("pair")
    first = test_conv.Config(**{**vars(c), "activation": "RELU", "zeros": (c.zeros[0], -128)})
    y = test_conv.add_layer(w, 0, first, output=False)
    side = [test_conv.positions(*a, c.padding) for a in zip(c.size, c.kernel, c.stride, c.dilation, strict=True)]
    options = vars(first) | {"kind": "DEPTHWISE_CONV_2D", "size": tuple(side), "channels": c.outputs, "outputs": 1}
    options |= {"kernel": (3, 3), "stride": (1, 1), "dilation": (1, 1), "padding": "SAME", "zeros": (-128, -128)}
    test_conv.add_layer(w, 1, test_conv.Config(**options | {"seed": seed}), source=y)
    return w.finish()


@pytest.fixture(params=range(6))
def nth(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Operators get the n-th of their kernels."""

    def best(self: Selection, ops: Numbers, whole: bool, room: int | None = None) -> Packed:
        found = self.variants[ops]
        return found[request.param % len(found)]

    monkeypatch.setattr(Selection, "best", best)
    return int(request.param)


@given(st.lists(layers(), min_size=4, max_size=4))
@QUICK
def test_on_the_host(nth: int, configs: list[test_conv.Config]) -> None:
    check(test_conv.model(configs), target=HOST_DSP, optimize="speed")


@given(st.lists(layers(), min_size=4, max_size=4))
@QUICK
def test_on_cortex_m4(nth: int, configs: list[test_conv.Config]) -> None:
    emulated("cortex-m4")
    result = verify(compile(test_conv.model(configs), target="cortex-m4", optimize="speed"), 2)
    assert result.exact, result.mismatches


@given(layers(), st.integers(0, 1 << 30))
@QUICK
def test_into_planar_rows(nth: int, config: test_conv.Config, seed: int) -> None:
    emulated("cortex-m4")
    result = verify(compile(planar(config, seed), target="cortex-m4", optimize="speed"), 2)
    assert result.exact, result.mismatches
