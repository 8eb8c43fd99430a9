"""RESHAPE, SQUEEZE and EXPAND_DIMS: the same bytes, in the same buffer, or copied where they cannot be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.errors import UnsupportedError
from mote.frontends import tflite
from support import check, needs_litert
from tflite_writer import Writer

pytestmark = needs_litert
QUANT = {"scale": 0.1, "zero_point": 3}


def model(layers: list[tuple[str, list[int], int]]) -> bytes:
    """Every reshape is of its own input; every second one is followed by a layer that reads it."""
    w = Writer("reshapes")
    for i, (kind, shape, axis) in enumerate(layers):
        x = w.input(f"x{i}", shape, "int8", **QUANT)
        if kind == "RESHAPE":
            new = [*shape[axis:], *shape[:axis]]
            y = w.tensor(f"y{i}", new, "int8", **QUANT)
            w.op(kind, [x, w.const(f"shape{i}", np.int32(new))], [y], new_shape=new)
        elif kind == "SQUEEZE":
            y = w.tensor(f"y{i}", [n for n in shape if n > 1], "int8", **QUANT)
            w.op(kind, [x], [y])
        else:
            y = w.tensor(f"y{i}", [*shape[:axis], 1, *shape[axis:]], "int8", **QUANT)
            w.op(kind, [x, w.const(f"axis{i}", np.int32(axis))], [y])
        if i % 2:
            z = w.tensor(f"z{i}", w._tensors[y].shape[::-1], "int8", **QUANT)
            order = np.int32(range(len(w._tensors[y].shape))[::-1])
            w.op("TRANSPOSE", [y, w.const(f"order{i}", order)], [z])
            y = z
        w.output(y)
    return w.finish()


@st.composite
def layers(draw: st.DrawFn) -> tuple[str, list[int], int]:
    kind = draw(st.sampled_from(["RESHAPE", "SQUEEZE", "EXPAND_DIMS"]))
    shape = [*draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)), 2]
    return kind, shape, draw(st.integers(0, len(shape) - 1))


@given(st.lists(layers(), min_size=24, max_size=24))
@settings(max_examples=8, deadline=None)
def test_reshape(layers: list[tuple[str, list[int], int]]) -> None:
    check(model(layers), inputs=2)


def test_wrong_size() -> None:
    w = Writer("reshape")
    x, y = w.input("x", (2, 3), "float32"), w.tensor("y", (7,), "float32")
    w.op("RESHAPE", [x, w.const("shape", np.int32([7]))], [y])
    w.output(y)
    with pytest.raises(UnsupportedError, match="does not fill"):
        tflite.parse(w.finish(), "model")
