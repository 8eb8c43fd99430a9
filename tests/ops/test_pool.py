"""AVERAGE_POOL_2D and MAX_POOL_2D against LiteRT, on random configurations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.errors import UnsupportedError
from mote.frontends import tflite
from support import check, examples, needs_litert
from tflite_writer import Writer

pytestmark = needs_litert
Config = dict[str, Any]


@st.composite
def configs(draw: st.DrawFn) -> Config:
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    kernel = draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    least = kernel if padding == "VALID" else (1, 1)
    return {
        "kind": draw(st.sampled_from(["AVERAGE_POOL_2D", "MAX_POOL_2D"])),
        "dtype": draw(st.sampled_from(["int8", "int8", "int8", "float32"])),
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
        quant = {"scale": c["scale"], "zero_point": c["zero_point"]} if c["dtype"] == "int8" else {}
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


@given(st.lists(configs(), min_size=24, max_size=24))
@settings(max_examples=examples(7), deadline=None)
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


@pytest.mark.parametrize("size", [(13, 223), (50, 58), (64, 64), (8, 512), (1, 1)])
def test_average_of_a_large_image(size: tuple[int, int]) -> None:
    """On both sides of the largest window whose division is a multiplication."""
    check(model([PLAIN | {"size": list(size), "kernel": size, "padding": "VALID"}]), inputs=6)


def test_unsupported_type() -> None:
    w = Writer("pool")
    x, y = w.input("x", (1, 2, 2, 1), "int16"), w.tensor("y", (1, 2, 2, 1), "int16")
    w.op("MAX_POOL_2D", [x], [y])
    w.output(y)
    with pytest.raises(UnsupportedError, match="int16 input is not supported"):
        tflite.parse(w.finish(), "model")
