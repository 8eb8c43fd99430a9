"""Functions of real numbers that LiteRT does not have: angles, hyperbolic functions, roundings to narrower types."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mote.compiler.kernels.portable.elementwise.float_math import FUNCTIONS
from mote.ir.ops.elementwise.round_to_format import FloatFormat, RoundToFormat
from tests.compiler.kernels.c_harness import Program
from tests.helpers.support import emulated
from tests.ir.ops.alone import Case, alone, check_alone

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, math.inf, -math.inf, math.nan, 1e-30, -1e-30, 1e30, 88.9, 89.3, -89.3]
ULP = 2.0**-23
BOUND = 8
"""Units in the last place that a function may be away from the true value."""


def arguments() -> np.ndarray:
    rng = np.random.default_rng(0)
    sizes = np.exp(rng.uniform(-20, 5, 3000))
    signed = np.where(rng.random(3000) < 0.5, -sizes, sizes)
    return np.concatenate([SPECIAL, signed, rng.uniform(-1.5, 1.5, 1000)]).astype(np.float32)


def every() -> list[Case]:
    """Some of all kernels."""
    x = arguments()[:40]
    return [Case(alone(op, [x]), [x]) for op in FUNCTIONS[:2]] + [
        Case(alone(RoundToFormat, [x], format=FloatFormat.FLOAT16), [x])
    ]


def test_functions() -> None:
    x = arguments()
    check_alone([Case(alone(op, [x]), [x], BOUND * ULP, 1e-44) for op in FUNCTIONS])


def test_functions_on_a_core() -> None:
    x = arguments()[:200]
    check_alone([Case(alone(op, [x]), [x], BOUND * ULP, 1e-44) for op in FUNCTIONS], Program(emulated("cortex-m4")))


ML_TYPES = {
    FloatFormat.BFLOAT16: "bfloat16",
    FloatFormat.FLOAT8E4M3FN: "float8_e4m3fn",
    FloatFormat.FLOAT8E4M3FNUZ: "float8_e4m3fnuz",
    FloatFormat.FLOAT8E5M2: "float8_e5m2",
    FloatFormat.FLOAT8E5M2FNUZ: "float8_e5m2fnuz",
    FloatFormat.FLOAT4E2M1: "float4_e2m1fn",
}


def ml_type(format_: FloatFormat) -> np.dtype:
    """The type of NumPy, or of `ml_dtypes`, with the numbers of a format."""
    if format_ == FloatFormat.FLOAT16:
        return np.dtype(np.float16)
    return np.dtype(getattr(pytest.importorskip("ml_dtypes"), ML_TYPES[format_]))


def halves() -> np.ndarray:
    """Numbers that all formats have, all places half way between two of them, and any."""
    rng = np.random.default_rng(1)
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)[::7]
    any_ = rng.integers(0, 1 << 32, 4000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    few = np.concatenate([np.arange(256, dtype=np.uint8).view(ml_type(FloatFormat.FLOAT8E4M3FN)).astype(np.float32)])
    middles = ((few[:-1] + few[1:]) / 2).astype(np.float32)
    return np.concatenate(
        [every, any_, few, middles, np.float32([65519, 65520, 448, 464, 465, 240, 248, 61439, 61440])]
    )


@pytest.mark.parametrize("format_", list(FloatFormat))
def test_narrow_rounds_as_the_type_does(format_: FloatFormat) -> None:
    x = halves()
    with np.errstate(all="ignore"):
        want = x.astype(ml_type(format_)).astype(np.float32)
    np.testing.assert_array_equal(Case(alone(RoundToFormat, [x], format=format_), [x]).expected(), want)


def test_narrow() -> None:
    x = halves()
    graphs = [alone(RoundToFormat, [x], format=f, saturates=s) for f in FloatFormat for s in (False, True)]
    check_alone([Case(g, [x]) for g in graphs])
    saturated = alone(RoundToFormat, [x], format=FloatFormat.FLOAT8E4M3FN, saturates=True)
    assert np.nanmax(Case(saturated, [x]).expected()) == 448
