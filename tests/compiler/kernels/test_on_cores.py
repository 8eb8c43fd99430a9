"""The random layers of the other files on emulated cores: instruction-set variants are code of their own."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.compiler.kernels.contract import NHWC
from mote.frontends.tflite.writer import Writer
from tests.compiler.kernels.families import FAMILIES, batch
from tests.helpers.support import FUZZ, HOST_DSP, check, exact_on, examples, needs_litert, soaked, varied
from tests.ir.ops.moves import test_pad_concat_transpose as test_move
from tests.ir.ops.reductions import test_mean
from tests.ir.ops.windows import test_conv

pytestmark = needs_litert


LAYERS = FAMILIES | {
    "mean": batch(test_mean.configs()).map(test_mean.model),
    "move": batch(st.one_of(test_move.pads(), test_move.transposes(), test_move.concatenations())).map(test_move.model),
}
WITH_WEIGHTS = ("conv", "depthwise", "fully connected", "transpose conv")


@pytest.mark.slow
@pytest.mark.parametrize("family", LAYERS)
@given(st.data())
@settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck))
def test_on_cortex_m4(family: str, data: st.DataObject) -> None:
    exact_on("cortex-m4", data.draw(LAYERS[family]))


OTHERS = [(family, core) for family in WITH_WEIGHTS for core in ("cortex-m7", "cortex-m55", "rv32imc")]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("family", "core"), soaked(OTHERS, OTHERS[1::8]))
@given(st.data())
@settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck))
def test_on_other_cores(family: str, core: str, data: st.DataObject) -> None:
    exact_on(core, data.draw(LAYERS[family]))


PAIRS = 12 if FUZZ else 3


@st.composite
def planar_pairs(draw: st.DrawFn) -> bytes:
    """Pairs of a convolution and a depthwise layer large enough for planar rows between them."""
    w = Writer("pairs")
    for i in range(PAIRS):
        add_pair(draw, w, 2 * i)
    return w.finish()


def add_pair(draw: st.DrawFn, w: Writer, index: int) -> None:
    width, height, channels = draw(st.integers(25, 34)), draw(st.integers(3, 6)), draw(st.integers(1, 9))
    stride = draw(st.sampled_from([1, 1, 2]))
    width = width * 2 if stride == 2 else width
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    seed = draw(st.integers(0, 1 << 30))
    common = {
        "dtype": "int8",
        "batch": draw(st.sampled_from([1, 2])),
        "size": (height, width),
        "channels": channels,
        "dilation": (1, 1),
        "per_channel": True,
        "bias": True,
        "gain": 1.0,
        "zeros": (5, -128),
        "seed": seed,
    }
    first = test_conv.Config(
        kind="CONV_2D",
        outputs=draw(st.integers(4, 9)),
        kernel=draw(st.sampled_from([(1, 1), (3, 3)])),
        stride=(1, 1),
        padding="SAME",
        activation="RELU",
        **common,
    )
    second = test_conv.Config(
        kind="DEPTHWISE_CONV_2D",
        outputs=1,
        kernel=(draw(st.sampled_from([1, 3, 3, 5])) if padding == "SAME" else 3, 3),
        stride=(stride, stride),
        padding=padding,
        activation="RELU",
        **{**common, "channels": first.outputs},
    )
    y = test_conv.add_layer(w, index, first, output=False)
    test_conv.add_layer(w, index + 1, second, source=y)


@given(test_conv.batches("FULLY_CONNECTED").map(test_conv.model))
@settings(max_examples=examples(5, 1), deadline=None)
def test_fully_connected_for_dsp(model: bytes) -> None:
    check(model, target=HOST_DSP)


@given(test_conv.batches("CONV_2D").map(test_conv.model))
@settings(max_examples=examples(4, 1), deadline=None)
def test_roomy_kernels(model: bytes) -> None:
    """The portable twins of the kernels that take more working memory, on the host."""
    check(model, target=HOST_DSP, optimize="speed")


@pytest.mark.slow
@given(test_conv.batches("CONV_2D").map(test_conv.model))
@settings(max_examples=examples(3, 1), deadline=None)
def test_roomy_kernels_on_cortex_m4(model: bytes) -> None:
    exact_on("cortex-m4", model, optimize="speed")


@given(varied(planar_pairs()))
@settings(max_examples=examples(3, 1), deadline=None)
def test_planar_rows(model: bytes) -> None:
    """The portable twin on the host, which a target of its own makes choose like a core with DSP instructions."""
    compiled = check(model, target=HOST_DSP, optimize="speed", shrink=False)
    assert sum(b.layout != NHWC for b in compiled.plan.buffers) == PAIRS


@pytest.mark.slow
@given(planar_pairs())
@settings(max_examples=examples(2), deadline=None)
def test_planar_rows_on_cortex_m4(model: bytes) -> None:
    exact_on("cortex-m4", model)
