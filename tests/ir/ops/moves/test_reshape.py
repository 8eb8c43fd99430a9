"""RESHAPE, SQUEEZE and EXPAND_DIMS: the same bytes, in the same buffer, or copied where they cannot be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.frontends import tflite
from tests.helpers.network import Net
from tests.helpers.support import check, examples, needs_litert

pytestmark = needs_litert


def model(layers: list[tuple[str, list[int], int]]) -> bytes:
    """Every reshape is of its own input; every second one is followed by a layer that reads it."""
    net, outputs = Net(), []
    for i, (kind, shape, axis) in enumerate(layers):
        x = net.input(*shape)
        if kind == "RESHAPE":
            new = (*shape[axis:], *shape[:axis])
            y = net.moved(kind, [x, net.ints(*new)], new, new_shape=new)
        elif kind == "SQUEEZE":
            y = net.moved(kind, [x], tuple(n for n in shape if n > 1))
        else:
            where = net.writer.const("axis", np.int32(axis))
            y = net.moved(kind, [x, where], (*shape[:axis], 1, *shape[axis:]))
        if i % 2:
            new = net.shapes[y][::-1]
            y = net.moved("TRANSPOSE", [y, net.ints(*reversed(range(len(new))))], new)
        outputs.append(y)
    return net.finish(*outputs)


@st.composite
def layers(draw: st.DrawFn) -> tuple[str, list[int], int]:
    kind = draw(st.sampled_from(["RESHAPE", "SQUEEZE", "EXPAND_DIMS"]))
    shape = [*draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)), 2]
    return kind, shape, draw(st.integers(0, len(shape) - 1))


@given(st.lists(layers(), min_size=24, max_size=24))
@settings(max_examples=examples(4), deadline=None)
def test_reshape(layers: list[tuple[str, list[int], int]]) -> None:
    check(model(layers), inputs=2)


def test_wrong_size() -> None:
    net = Net()
    with pytest.raises(UnsupportedError, match="does not fill"):
        tflite.parse(net.finish(net.reshape(net.input(2, 3), 7)), "model")
