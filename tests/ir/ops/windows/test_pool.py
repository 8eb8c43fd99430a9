"""AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D against LiteRT, on random configurations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.compiler.kernels.contract import Call
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from tests.helpers.support import batch, check, exact_on, examples, needs_litert

pytestmark = needs_litert
Config = dict[str, Any]


TYPES = ("int8", "int8", "int16", "float32")


@st.composite
def configs(draw: st.DrawFn, types: tuple[str, ...] = TYPES) -> Config:
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    kernel = draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    least = kernel if padding == "VALID" else (1, 1)
    dtype = draw(st.sampled_from(types))
    kinds = ["AVERAGE_POOL_2D", "MAX_POOL_2D", *(["L2_POOL_2D"] if dtype == "float32" else [])]
    return {
        "kind": draw(st.sampled_from(kinds)),
        "dtype": dtype,
        "batch": draw(st.sampled_from([1, 1, 2])),
        "size": [draw(st.integers(n, n + 7)) for n in least],
        "channels": draw(st.integers(1, 10)),
        "kernel": kernel,
        "stride": draw(st.tuples(st.integers(1, 4), st.integers(1, 4))),
        "padding": padding,
        "activation": draw(st.sampled_from(["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])),
        "scale": draw(st.sampled_from([0.02, 0.05, 0.3])),
        "zero_point": draw(st.integers(-128, 127)),
    }


def positions(size: int, kernel: int, stride: int, padding: str) -> int:
    return -(-size // stride) if padding == "SAME" else (size - kernel) // stride + 1


def model(layers: list[Config]) -> bytes:
    w = Writer("pools")
    for i, c in enumerate(layers):
        quant = {} if c["dtype"] == "float32" else {"scale": c["scale"], "zero_point": c["zero_point"]}
        x = w.input(f"x{i}", (c["batch"], *c["size"], c["channels"]), c["dtype"], **quant)
        axes = zip(c["size"], c["kernel"], c["stride"], strict=True)
        shape = (c["batch"], *(positions(*axis, c["padding"]) for axis in axes), c["channels"])
        y = w.tensor(f"y{i}", shape, c["dtype"], **quant)
        w.op(
            c["kind"],
            [x],
            [y],
            padding=c["padding"],
            stride_h=c["stride"][0],
            stride_w=c["stride"][1],
            filter_height=c["kernel"][0],
            filter_width=c["kernel"][1],
            fused_activation_function=c["activation"],
        )
        w.output(y)
    return w.finish()


@given(batch(configs(), 24, 12))
@settings(max_examples=examples(7, 1), deadline=None)
def test_pool(layers: list[Config]) -> None:
    check(model(layers))


PLAIN: Config = {
    "kind": "AVERAGE_POOL_2D",
    "dtype": "int8",
    "batch": 1,
    "size": [6, 6],
    "channels": 3,
    "kernel": (3, 3),
    "stride": (2, 2),
    "padding": "SAME",
    "activation": "NONE",
    "scale": 0.05,
    "zero_point": -7,
}


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("size", [(13, 223), (50, 58), (64, 64), (8, 512), (1, 1)])
def test_average_of_a_large_image(size: tuple[int, int]) -> None:
    """On both sides of the largest window whose division is a multiplication."""
    check(model([PLAIN | {"size": list(size), "kernel": size, "padding": "VALID"}]), inputs=6)


@pytest.mark.parametrize("kind", ["AVERAGE_POOL_2D", "MAX_POOL_2D"])
def test_running_sums_of_int16(kind: str) -> None:
    """Windows as high as the image, and narrower: one row at a time."""
    layer = PLAIN | {
        "kind": kind,
        "dtype": "int16",
        "size": [7, 5],
        "kernel": (7, 3),
        "padding": "VALID",
        "scale": 1e-4,
    }
    compiled = check(model([layer]), inputs=5, input="rows")
    assert {step.kernel.entry.call for step in compiled.plan.steps if step.tap is not None} == {Call.ADDS}


@pytest.mark.slow
def test_on_a_core() -> None:
    kinds = [("AVERAGE_POOL_2D", "int16"), ("MAX_POOL_2D", "int16"), ("L2_POOL_2D", "float32")]
    exact_on("cortex-m4", model([PLAIN | {"kind": kind, "dtype": dtype} for kind, dtype in kinds]))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"dtype": "int32"}, "int32 input is not supported"),
        ({"kind": "L2_POOL_2D"}, "int8 input is not supported"),
        ({"dtype": "int16", "size": [256, 256], "kernel": (256, 256), "padding": "VALID"}, "a mean of 65536 elements"),
    ],
)
def test_unsupported(change: Config, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        tflite.parse(model([PLAIN | change]), "model")
