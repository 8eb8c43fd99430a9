"""Weights for two products in one multiplication of 32 bits (SWAR, SIMD within a register).

An input word x = a0 + a1 * 2^16 times a weight word w = w1 + w0 * 2^16 is, modulo 2^32,

    a0 * w1 + (a0 * w0 + a1 * w1) * 2^16

so the upper half of the product is the dot product, once half of 2^16 has been added for the sign of the lower one. Two
such words, of a group of four inputs, are added up before that half is taken, wherever both halves of the sum fit 16
bits for all inputs. Where they do not, some of a group's weights become zero in its words and are computed on their own
(`Spill`): results are exact for any weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mote.graph.numeric.fixedpoint import Ints
from mote.kernels.pack.params import pad_to

GROUP = 4
"""Inputs of a group: words hold the first and the third of them, the second and the fourth."""
GROUP_BYTES, WORD_BYTES = 32, 8
"""From a group's inputs to those of the next one, and between its two words, for four pixels."""
LOW, HIGH = -128, 127
"""Inputs are int8."""
HALF = 1 << 15
"""A half word holds -HALF..HALF-1."""


class Spill(NamedTuple):
    """Products that are computed on their own."""

    offset: int
    """The first pixel's input word, in bytes."""
    word: int
    """Two weights."""


@dataclass(frozen=True)
class SwarWeights:
    """The weights of a layer's channels."""

    words: Ints
    """[channels, 2 * groups]"""
    spills: list[list[Spill]]
    """Of each channel."""


def words_of(first: Ints, second: Ints) -> Ints:
    """Weight words of pairs of weights."""
    return second + (first << 16)


def swar(matrix: Ints) -> SwarWeights:
    """[channels, depth] weights."""
    weights: Ints = pad_to(matrix, 1, GROUP).astype(np.int64)
    pairs = weights.reshape(len(weights), -1, 2, 2).transpose(0, 1, 3, 2)  # [channels, groups, words, weights]
    kept = pairs.copy()
    spills: list[list[Spill]] = [[] for _ in weights]
    for channel, group in np.argwhere(~fits(pairs)).tolist():
        spills[channel] += _spilled(kept[channel, group], group * GROUP_BYTES)
    assert fits(kept).all()
    return SwarWeights(words_of(kept[..., 0], kept[..., 1]).reshape(len(weights), -1), spills)


def fits(pairs: Ints) -> NDArray[np.bool_]:
    """Whether the sums of the products of [.., words, 2] weights fit half words."""
    cross = pairs[..., 1:]
    return _within(pairs) & _within(cross)


def _within(weights: Ints) -> NDArray[np.bool_]:
    low, high = (f(LOW * weights, HIGH * weights).sum(axis=(-2, -1)) for f in (np.minimum, np.maximum))
    inside: NDArray[np.bool_] = (low >= -HALF) & (high < HALF)
    return inside


def _spilled(group: Ints, offset: int) -> list[Spill]:
    """Takes weights [2, 2] out of a group until it fits."""
    spills = []
    for word in (1, 0):
        if fits(group):
            break
        taken = [group[word].copy()]
        group[word] = 0
        if word == 0 or not fits(taken[0][None]):
            taken = [taken[0] * np.array(one) for one in ((1, 0), (0, 1))]
        if word == 0:  # one of the two may stay
            group[word] = taken.pop(0)
        spills += [Spill(offset + word * WORD_BYTES, int(words_of(t[0], t[1]))) for t in taken]
    return spills
