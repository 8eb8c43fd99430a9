"""Weights for two products in one multiplication: dot products modulo 2^32, for inputs and weights at the extremes."""

from __future__ import annotations

import numpy as np
import pytest

from mote.compiler.kernels.pack.weights.swar import PIXELS, VECTOR, Places, SwarWeights, swar
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.ranges import Range

WORD = 1 << 32
KINDS = {
    "any": lambda rng, shape: rng.integers(-128, 128, shape),
    "large": lambda rng, shape: rng.choice([-128, -127, 127], shape),
    "least": lambda rng, shape: np.full(shape, -128),
    "mixed": lambda rng, shape: rng.choice([0, 0, 3, -128, 64, 127], shape),
    "small": lambda rng, shape: rng.integers(-63, 64, shape),
}


def words(x: Ints) -> Ints:
    """The input words of groups of four."""
    fours = x.reshape(-1, 4)
    return fours[:, :2] + (fours[:, 2:] << 16)


def words_of_bytes(values: Ints) -> Ints:
    """Weight words of bytes that are 128 more than weights."""
    parts = np.stack([values & 0x00FF00FF, values >> 8 & 0x00FF00FF], axis=-1) - 0x00800080
    return parts.reshape(len(values), -1)


def upper(products: Ints) -> Ints:
    """The upper half of a word, after half of the lower one's range was added."""
    return (((products + (1 << 15)) % WORD) ^ (1 << 31)) - (1 << 31) >> 16


def check(matrix: Ints, packed: SwarWeights, x: Ints, places: Places) -> None:
    inputs = words(np.pad(x, (0, -len(x) % 4)))
    for row, own, spills in zip(matrix, packed.words, packed.spills, strict=True):
        total = int(upper((inputs * own.reshape(-1, 2)).sum(axis=1)).sum())
        for offset, word in spills:
            group, place = divmod(offset, places.group)
            total += int(upper(inputs[group, place // places.word] * word))
        assert total == int(row @ x)


@pytest.mark.parametrize("places", [PIXELS, VECTOR])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", [1, 4, 7, 64])
def test_sums_are_exact(kind: str, depth: int, places: Places) -> None:
    rng = np.random.default_rng(depth)
    matrix = KINDS[kind](rng, (9, depth)).astype(np.int64)
    packed = swar(matrix, places)
    assert np.array_equal(words_of_bytes(packed.bytes), packed.words)
    for x in (rng.integers(-128, 128, depth), rng.choice([-128, 127], depth), np.full(depth, -128)):
        check(matrix, packed, x.astype(np.int64), places)


def test_small_weights_leave_nothing_over() -> None:
    rng = np.random.default_rng(1)
    assert not any(swar(KINDS["small"](rng, (8, 64)).astype(np.int64)).spills)
    assert all(swar(KINDS["least"](rng, (8, 64)).astype(np.int64)).spills)


def test_inputs_of_small_range_leave_less_over() -> None:
    """Each input has its own range: sums are exact for all inputs in these."""
    rng = np.random.default_rng(3)
    matrix = KINDS["large"](rng, (6, 32)).astype(np.int64)
    low, high = np.sort(rng.integers(-128, 128, (2, 32)), axis=0)
    packed, any_inputs = swar(matrix, PIXELS, Range(low, high)), swar(matrix)
    assert 0 < sum(map(len, packed.spills)) < sum(map(len, any_inputs.spills))
    for x in (low, high, rng.integers(low, high + 1), np.where(rng.random(32) < 0.5, low, high)):
        check(matrix, packed, x, PIXELS)
