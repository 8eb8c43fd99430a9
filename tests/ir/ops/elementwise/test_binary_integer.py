"""Functions of two integers of every width, with and without a sign, where sums wrap and nothing is undefined."""

from __future__ import annotations

import numpy as np
import pytest

from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.binary_integer import IntegerFunction, Whole
from tests.compiler.kernels.c_harness import Program
from tests.helpers.support import emulated
from tests.ir.ops.alone import Case, alone, check_alone

TYPES = sorted(Whole.types)


def numbers(dtype: str, rng: np.random.Generator, *shape: int) -> np.ndarray:
    """All kinds of them: around zero, at both ends, and any."""
    info = np.iinfo(dtype)
    ends = [info.min, info.min + 1, info.max - 1, info.max, 0, 1, 2, 3, 7, 8]
    near = rng.integers(max(info.min, -9), 9, shape)
    far = rng.integers(info.min, info.max, shape, np.dtype(dtype), endpoint=True)
    found = np.where(rng.random(shape) < 0.3, rng.choice(np.array(ends, dtype), shape), near.astype(dtype))
    return np.where(rng.random(shape) < 0.4, far, found).astype(dtype)


def cases(seed: int, *dtypes: str) -> list[Case]:
    rng = np.random.default_rng(seed)
    found = []
    for dtype in dtypes:
        for function in IntegerFunction:
            a, b = numbers(dtype, rng, 3, 4, 10), numbers(dtype, rng, *((3, 4, 10) if rng.random() < 0.5 else (4, 1)))
            to = "bool" if function.compares else None
            found.append(Case(alone(Whole, [a, b], to, int(rng.integers(2)), function=function), [a, b]))
    return found


@pytest.mark.slow
def test_every_function_of_every_type() -> None:
    check_alone(cases(0, *TYPES))


def test_every_function() -> None:
    check_alone(cases(0, "int16", "uint64"))


@pytest.mark.slow
def test_on_a_core() -> None:
    """int64 and what is narrower than a register are what a core of 32 bits has to take care of."""
    check_alone(cases(1, "int8", "int64"), Program(emulated("cortex-m0plus")))


@pytest.mark.parametrize("dtype", TYPES)
def test_the_reference_is_what_python_computes(dtype: str) -> None:
    """With integers of any length, cut to the type's."""
    rng, info, bits = np.random.default_rng(2), np.iinfo(dtype), np.dtype(dtype).itemsize * 8

    def wrapped(n: int) -> int:
        return (n - int(info.min)) % (1 << bits) + int(info.min)

    def towards_zero(x: int, y: int) -> int:
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)

    python = {
        IntegerFunction.ADD: lambda x, y: wrapped(x + y),
        IntegerFunction.SUBTRACT: lambda x, y: wrapped(x - y),
        IntegerFunction.MULTIPLY: lambda x, y: wrapped(x * y),
        IntegerFunction.DIVIDE: lambda x, y: wrapped(towards_zero(x, y)) if y else 0,
        IntegerFunction.MODULO: lambda x, y: x % y if y else 0,
        IntegerFunction.REMAINDER: lambda x, y: x - y * towards_zero(x, y) if y else 0,
        IntegerFunction.POWER: lambda x, y: wrapped(pow(x, y, 1 << 64)) if y >= 0 else 0,
        IntegerFunction.AND: lambda x, y: x & y,
        IntegerFunction.OR: lambda x, y: x | y,
        IntegerFunction.XOR: lambda x, y: x ^ y,
        IntegerFunction.SHIFT_LEFT: lambda x, y: wrapped(x << min(y, 64)) if y >= 0 else 0,
        IntegerFunction.SHIFT_RIGHT: lambda x, y: x >> (min(y, 64) if y >= 0 else 64),
        IntegerFunction.LEAST: min,
        IntegerFunction.MOST: max,
        IntegerFunction.EQUAL: lambda x, y: x == y,
        IntegerFunction.GREATER: lambda x, y: x > y,
        IntegerFunction.GREATER_EQUAL: lambda x, y: x >= y,
    }
    a, b = numbers(dtype, rng, 300), numbers(dtype, rng, 300)
    for function, of in python.items():
        case = Case(alone(Whole, [a, b], "bool" if function.compares else None, function=function), [a, b])
        want = [of(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        assert case.expected().tolist() == want, function


def test_types_are_not_mixed() -> None:
    a, b = np.ones(3, np.int8), np.ones(3, np.int16)
    with pytest.raises(AssertionError, match="int8 input with int16 input is not supported"):
        alone(Whole, [a, b], function=IntegerFunction.ADD)
    with pytest.raises(AssertionError, match="float32 input is not supported"):
        alone(Whole, [b.astype(np.float32)] * 2, function=IntegerFunction.ADD)


def test_comparisons_give_truths() -> None:
    a = np.ones(3, np.int8)
    with pytest.raises(AssertionError, match="with int8 output"):
        alone(Whole, [a, a], function=IntegerFunction.EQUAL)
    assert alone(Whole, [a, a], "bool", function=IntegerFunction.EQUAL).ops[0].output is not None
    assert DType.UINT16.computable
