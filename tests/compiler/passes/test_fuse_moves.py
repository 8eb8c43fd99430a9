"""Sequences of moves become one, exact to LiteRT, and only where nobody else reads what lies between them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.frontends.tflite.writer import Writer
from tests.helpers.idioms import HALVES, MOVES, kinds, same, transposed
from tests.helpers.network import Net
from tests.helpers.support import check, needs_litert


@pytest.mark.parametrize("build", MOVES, ids=lambda build: build.__name__)
def test_moves_become_one(build: Callable[[Net], int]) -> None:
    net = Net()
    assert kinds(net.finish(build(net))) == MOVES[build]


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_moves_are_exact(dtype: str) -> None:
    net = Net(dtype=dtype)
    compiled = check(net.finish(*(build(net) for build in MOVES)))
    assert any(s.name == "fuse moves" and "PACK" in s.detail and s.exact for s in compiled.savings)


@pytest.mark.parametrize("seen", ["output", "reader"])
def test_moves_that_others_see_stay(seen: str) -> None:
    net = Net()
    turned = transposed(net, net.input(1, 4, 6, 2), 0, 3, 1, 2)
    other = turned if seen == "output" else net.op("SOFTMAX", [turned], quant=HALVES, beta=1.0)
    model = net.finish(transposed(net, turned, 0, 3, 2, 1), other)
    assert kinds(model).count("TRANSPOSE") == 2


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_random_moves(data: st.DataObject) -> None:
    """Transposes, reshapes, slices, and tensors joined with themselves or with other parts."""
    net = Net()
    made = [net.input(2, 4, 6, 4)]
    for _ in range(data.draw(st.integers(2, 5))):
        x = data.draw(st.sampled_from(made[-2:]))
        shape = net.shapes[x]
        axis = data.draw(st.integers(0, len(shape) - 1))
        kind = data.draw(st.sampled_from(["TRANSPOSE", "RESHAPE", "SLICE", "CONCATENATION", "PACK"]))
        if kind == "TRANSPOSE":
            made.append(transposed(net, x, *data.draw(st.permutations(range(len(shape))))))
        elif kind == "RESHAPE":
            flat = int(np.prod(shape))
            made.append(net.reshape(x, *data.draw(st.sampled_from([(flat,), (2, flat // 2), (1, 2, flat // 4, 2)]))))
        elif kind == "SLICE" and shape[axis] % 2 == 0:
            half = shape[axis] // 2
            begin = [0] * len(shape)
            begin[axis] = data.draw(st.sampled_from([0, half]))
            made.append(net.slice(x, tuple(begin), (*shape[:axis], half, *shape[axis + 1 :])))
        elif kind == "CONCATENATION":
            made.append(net.concatenate(axis, x, x))
        elif len(shape) < 5:
            doubled = (*shape[:axis], 2, *shape[axis:])
            made.append(net.moved("PACK", [x, x], doubled, axis=axis, values_count=2))
    if len(made) > 1:
        values = np.random.default_rng(0).integers(-128, 128, (2, 4, 6, 4)).astype(np.int8)
        same(net.finish(made[-1]), values)


@needs_litert
def test_a_move_before_a_layer_with_an_absent_input() -> None:
    w = Writer("absent")
    x, turned, y = (
        w.input("x", (2, 6), "float32"),
        w.tensor("turned", (6, 2), "float32"),
        w.tensor("y", (6, 3), "float32"),
    )
    w.op("TRANSPOSE", [x, w.const("order", np.int32([1, 0]))], [turned])
    w.op("FULLY_CONNECTED", [turned, w.const("weights", np.ones((3, 2), np.float32)), -1], [y])
    w.output(y)
    check(w.finish(), inputs=1)
