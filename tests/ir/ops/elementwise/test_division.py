"""Divisions and powers where LiteRT stops or its C is undefined: by zero, by -1, with negative exponents."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from mote.base.errors import UnsupportedError
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.tensor import Array, Shape
from tests.ir.ops.elementwise.pair_models import FITTING, FLOATS, INTS, Config, built, exact_in_numpy


def test_what_litert_stops_at() -> None:
    """Integers divided by zero and by -1, negative exponents, powers that wrap."""
    w = Writer("zeros")
    scales = {"int8": FITTING["DIV", "int8"], "int16": FITTING["DIV", "int16"]}
    for kind, dtype in (*product(("DIV", "FLOOR_DIV", "FLOOR_MOD"), ("int8", "int16", "int32")), ("POW", "int32")):
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        c = Config(kind, dtype, ((6, 1), (1, 6)), scales=scales.get(dtype))
        operands = [w.input(n, s, dtype, **c.quant(p)) for p, (n, s) in enumerate(zip("ab", c.shapes, strict=True))]
        y = w.tensor("y", (6, 6), dtype, **c.quant(2))
        w.op(kind, operands, [y])
        w.output(y)
        g = tflite.parse(w.finish(), "model")
        values = np.array([0, -1, 1, least, most, 7], dtype)
        (got,) = g.ops[-1].evaluate(g, [values[:, None], values[None]])
        if kind == "POW":
            assert got[5].tolist() == [1, 0, 7, 0, pow(7, most, 1 << 32) - (1 << 32), 823543]
        else:
            assert not got[:, 0].any()
        if kind == "FLOOR_MOD":
            assert not got[:, 1].any()
        if kind == "FLOOR_DIV" or (kind, dtype) == ("DIV", "int32"):
            assert got[3:, 1].tolist() == [most if kind == "DIV" else least, -most, -7]
    exact_in_numpy(w.finish())


@pytest.mark.parametrize(
    ("kind", "inputs", "output", "error"),
    [
        ("DIV", [INTS, np.int32([1, 0, 2])], INTS, "division by a constant zero"),
        ("FLOOR_DIV", [FLOATS, np.float32([0])], FLOATS, "division by a constant zero"),
        ("FLOOR_MOD", [INTS, np.int32(0)], INTS, "division by a constant zero"),
        ("POW", [INTS, np.int32(-1)], INTS, "a negative exponent"),
    ],
)
def test_errors(kind: str, inputs: Sequence[tuple[str, Shape] | Array], output: tuple[str, Shape], error: str) -> None:
    with pytest.raises(UnsupportedError, match=error):
        tflite.parse(built(kind, inputs, output), "model")
