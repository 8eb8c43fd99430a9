"""Data movement and resizing with vectors, on an emulated Cortex-M55: elements of every size, in runs of any length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from tests.helpers.network import Net
from tests.helpers.offered import HELIUM, first
from tests.helpers.support import batch, exact_on, examples, needs_litert
from tests.ir.ops.moves import test_pad_concat_transpose as moves
from tests.ir.ops.windows import test_resize as resizes

CORE = "cortex-m55"
pytestmark = needs_litert


@given(batch(st.one_of(moves.pads(), moves.transposes(), moves.concatenations(), moves.slices()), 40, 20))
@settings(max_examples=examples(5, 1), deadline=None)
def test_random_moves(layers: list[moves.Config]) -> None:
    exact_on(CORE, moves.model(layers), 2)


@given(batch(resizes.configs(), 24, 12))
@settings(max_examples=examples(5, 1), deadline=None)
def test_random_sizes(layers: list[resizes.Config]) -> None:
    exact_on(CORE, resizes.model(layers))


def joined(dtype: str, channels: tuple[int, ...], size: tuple[int, int]) -> Net:
    net = Net(dtype=dtype)
    quant = net.quant()
    parts = [net.input(1, *size, n, quant=quant) for n in channels]
    net.writer.output(net.op("CONCATENATION", parts, (1, *size, sum(channels)), quant, axis=3))
    return net


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("dtype", ["int8", "float32", "int16"])
@pytest.mark.parametrize("channels", [(1, 3), (5, 7), (2, 8, 6), (16, 16), (9, 33), (64, 20), (100, 3)])
def test_channels_are_joined(dtype: str, channels: tuple[int, ...]) -> None:
    for size in ((5, 7), (1, 1), (3, 16)):
        exact_on(CORE, joined(dtype, channels, size).writer.finish(), 2)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32"])
@pytest.mark.parametrize("shape", [(3, 17), (32, 64), (37, 5), (9, 4, 3)])
def test_matrices_are_turned(dtype: str, shape: tuple[int, ...]) -> None:
    w = Writer("turned")
    quant = {} if dtype == "float32" else {"scale": 0.05, "zero_point": 0}
    x = w.input("x", shape, dtype, **quant)
    turned = tuple(reversed(shape))
    order = w.const("order", np.array(range(len(shape))[::-1], np.int32))
    y = w.tensor("y", turned, dtype, **quant)
    w.op("TRANSPOSE", [x, order], [y])
    w.output(y)
    model = w.finish()
    assert first(tflite.parse(model, "model"), HELIUM).family == "move_helium"
    exact_on(CORE, model, 2)
