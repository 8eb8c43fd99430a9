"""SELECT and SELECT_V2 against LiteRT."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from mote.base.errors import UnsupportedError
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.tensor import Array, Shape
from tests.helpers.support import check, needs_litert
from tests.ir.ops.elementwise.pair_models import FLOATS, INTS, SELECTIONS, TRUTHS, built, select


@needs_litert
def test_selections() -> None:
    w = Writer("selections")
    for n, (dtype, (kind, shapes)) in enumerate(product(("int8", "int16", "int64", "float32"), SELECTIONS)):
        select(w, kind, dtype, shapes, constant=n % 4 - 1)
    check(w.finish(), inputs=6)


@needs_litert
def test_masks_of_infinity() -> None:
    """As attention has them: before SOFTMAX, elements that do not count are infinitely small."""
    w = Writer("masked")
    mask = np.tril(np.ones((4, 4), np.bool_))
    x = w.input("x", (2, 4, 4), "float32")
    scores, sums, most, y = (w.tensor(f"t{i}", (2, 4, 4), "float32") for i in range(4))
    small = w.const("small", np.float32(-np.inf))
    w.op("SELECT_V2", [w.const("mask", mask[None]), x, small], [scores])
    w.op("ADD", [scores, w.const("bias", np.where(mask, 0, -np.inf)[None].astype(np.float32))], [sums])
    w.op("MAXIMUM", [sums, small], [most])
    w.op("SOFTMAX", [most], [y])
    w.output(scores, y)
    check(w.finish(), inputs=6)


@pytest.mark.parametrize(
    ("kind", "inputs", "output", "error"),
    [
        ("SELECT", [INTS, INTS, INTS], INTS, "a condition of type int32"),
        ("SELECT", [TRUTHS, INTS, FLOATS], INTS, "int32 and float32 inputs"),
        ("SELECT", [TRUTHS, INTS, ("int32", (3,))], INTS, "which SELECT requires to be equal"),
        ("SELECT", [("bool", (3,)), INTS, INTS], INTS, "does not fit inputs"),
        ("SELECT_V2", [("bool", (2,)), INTS, INTS], INTS, "do not fit each other"),
        ("SELECT_V2", [TRUTHS, INTS], INTS, "has 2 inputs"),
    ],
)
def test_errors(kind: str, inputs: Sequence[tuple[str, Shape] | Array], output: tuple[str, Shape], error: str) -> None:
    with pytest.raises(UnsupportedError, match=error):
        tflite.parse(built(kind, inputs, output), "model")
