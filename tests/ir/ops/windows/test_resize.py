"""RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR against LiteRT, on random configurations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from tests.helpers.support import batch, check, examples, needs_litert

pytestmark = needs_litert
Config = dict[str, Any]
MODES = [(False, False), (True, False), (False, True)]


@st.composite
def configs(draw: st.DrawFn) -> Config:
    kind = draw(st.sampled_from(["RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"]))
    nearest = kind == "RESIZE_NEAREST_NEIGHBOR"
    return {
        "kind": kind,
        "dtype": draw(
            st.sampled_from(["int8", "int8", "float32", "int16", *(["uint8", "int32", "bool"] if nearest else [])])
        ),
        "batch": draw(st.sampled_from([1, 1, 2])),
        "size": draw(st.tuples(st.integers(1, 12), st.integers(1, 12))),
        "channels": draw(st.integers(1, 5)),
        "new": draw(st.tuples(st.integers(1, 25), st.integers(1, 25))),
        "mode": draw(st.sampled_from([*MODES, (True, True)] if nearest else MODES)),
    }


def model(layers: list[Config]) -> bytes:
    w = Writer("resizes")
    for i, c in enumerate(layers):
        quant = {"scale": 0.05, "zero_point": 3} if c["dtype"] == "int8" else {}
        x = w.input(f"x{i}", (c["batch"], *c["size"], c["channels"]), c["dtype"], **quant)
        y = w.tensor(f"y{i}", (c["batch"], *c["new"], c["channels"]), c["dtype"], **quant)
        align, half = c["mode"]
        options = {"align_corners": align, "half_pixel_centers": half}
        w.op(c["kind"], [x, w.const(f"size{i}", np.int32(c["new"]))], [y], **options)
        w.output(y)
    return w.finish()


@given(batch(configs(), 24, 12))
@settings(max_examples=examples(7, 1), deadline=None)
def test_resize(layers: list[Config]) -> None:
    check(model(layers))


PLAIN: Config = {"kind": "RESIZE_BILINEAR", "dtype": "int8", "batch": 1, "channels": 2, "mode": (False, True)}


SIZES = [((1, 1), (33, 33)), ((24, 24), (96, 96)), ((96, 96), (7, 31)), ((3, 2), (61, 40))]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("mode", MODES)
def test_large_factors(mode: tuple[bool, bool]) -> None:
    layers = [PLAIN | {"size": size, "new": new, "mode": mode} for size, new in SIZES]
    check(
        model([c | {"kind": k} for c in layers for k in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")]),
        inputs=6,
    )


def test_never_reads_past_the_image() -> None:
    """1 -> 70 steps by 15/1024 where 14.6 is right: LiteRT ends outside the image, Mote on its edge."""
    graph = tflite.parse(model([PLAIN | {"size": (1, 1), "new": (70, 70), "mode": (False, False)}]), "model")
    image = np.full((1, 1, 1, 2), 42, np.int8)
    assert np.all(graph.evaluate({graph.inputs[0]: image})[graph.outputs[0]] == 42)
