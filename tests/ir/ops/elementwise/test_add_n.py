"""ADD_N against LiteRT and TFLite Micro."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

from mote.base.errors import UnsupportedError
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.tensor import Array, Shape
from tests.helpers.support import check, micro_agrees, needs_litert
from tests.ir.ops.elementwise.pair_models import INTS, TRUTHS, add_n, built, exact_in_numpy


@needs_litert
def test_sums() -> None:
    w = Writer("sums")
    for dtype, count in product(("int32", "float32"), (2, 5)):
        add_n(w, dtype, count)
    check(w.finish(), inputs=6)


def test_int8_sums_of_many_are_those_of_tensorflow_lite_micro() -> None:
    """LiteRT has none."""
    every = Writer("every")
    for count, x, y in ((2, (0.05, 3), (0.06, -7)), (15, (0.01, -128), (0.13, 0)), (5, (0.5, 100), (0.5, 127))):
        w, quants = Writer("many"), [{"scale": s, "zero_point": z} for s, z in (x, y)]
        for model in (w, every):
            add_n(model, "int8", count, (256,), quants)
        micro_agrees(w.finish())
    exact_in_numpy(every.finish())


def test_int8_sums_of_many_have_one_scale() -> None:
    w = Writer("many")
    quants = [{"scale": s, "zero_point": 0} for s in (0.5, 0.25, 0.5)]
    inputs = [w.input("x", (3,), "int8", **q) for q in quants[:2]]
    w.op("ADD_N", inputs, [y := w.tensor("y", (3,), "int8", **quants[2])])
    w.output(y)
    with pytest.raises(UnsupportedError, match="different scales"):
        tflite.parse(w.finish(), "model")


@pytest.mark.parametrize(
    ("kind", "inputs", "output", "error"),
    [
        ("ADD_N", [INTS], INTS, "has 1 inputs"),
        ("ADD_N", [INTS, ("int32", (3,))], INTS, "are not equal"),
        ("ADD_N", [TRUTHS, TRUTHS], TRUTHS, "bool input is not supported"),
        ("ADD_N", [INTS] * 121, INTS, "more than 120"),
    ],
)
def test_errors(kind: str, inputs: Sequence[tuple[str, Shape] | Array], output: tuple[str, Shape], error: str) -> None:
    with pytest.raises(UnsupportedError, match=error):
        tflite.parse(built(kind, inputs, output), "model")
