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

from mote.compiler.kernels.pack.params import pad_to
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.ranges import Range

GROUP = 4
"""Inputs of a group: words hold the first and the third of them, the second and the fourth."""


class Places(NamedTuple):
    """Where input words lie, in bytes."""

    group: int
    """From a group's words to those of the next one."""
    word: int
    """Between its words."""
    words: int = 2
    """Words of a group."""
    second: int = 0
    """Added to the places of every second word, which the kernel keeps in another form."""


PIXELS = Places(32, 8)
"""Where the input words of four pixels lie."""
VECTOR = Places(12, 4)
"""Where the input words of one vector lie."""
ANY = Range(np.array([-128], np.int64), np.array([127], np.int64))
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

    pairs: Ints
    """[channels, groups, words, 2] weights that are left in the groups."""
    spills: list[list[Spill]]
    """Of each channel."""

    @property
    def words(self) -> Ints:
        """[channels, 2 * groups]"""
        return words_of(self.pairs[..., 0], self.pairs[..., 1]).reshape(len(self.pairs), -1)

    @property
    def bytes(self) -> Ints:
        """[channels, words / 2]: each four weights in a word, as bytes that are 128 more."""
        (first, third), (second, fourth) = (self.pairs.reshape(len(self.pairs), -1, 2, 2) + 128).transpose(2, 3, 0, 1)
        words: Ints = third + (fourth << 8) + (first << 16) + (second << 24)
        return words

    @property
    def density(self) -> float:
        """Products that are left over take as long as a group: its share of all, more than one."""
        return 1 + sum(map(len, self.spills)) / max(self.pairs.size // GROUP, 1)


def words_of(first: Ints, second: Ints) -> Ints:
    """Weight words of pairs of weights."""
    return second + (first << 16)


def swar(matrix: Ints, places: Places = PIXELS, inputs: Range = ANY) -> SwarWeights:
    """[channels, depth] weights, of inputs that lie so and have these ranges, one for all or one for each."""
    pairs = _pairs(matrix, places.words)
    ends = (np.broadcast_to(end, matrix.shape[1:])[None] for end in (inputs.low, inputs.high))
    low, high = (_pairs(end, places.words)[0] for end in ends)
    kept = pairs.copy()
    spills: list[list[Spill]] = [[] for _ in pairs]
    for channel, group in np.argwhere(~fits(pairs, low, high)).tolist():
        at = group * places.group
        spills[channel] += _spilled(kept[channel, group], low[group], high[group], at, places)
    assert fits(kept, low, high).all()
    return SwarWeights(kept, spills)


def _pairs(values: Ints, words: int) -> Ints:
    """[.., groups, words, 2] of [.., depth] values, with zeros behind them."""
    padded: Ints = pad_to(values, 1, words * GROUP // 2).astype(np.int64)
    return padded.reshape(len(padded), -1, 2, 2).transpose(0, 1, 3, 2).reshape(len(padded), -1, words, 2)


def fits(pairs: Ints, low: Ints, high: Ints) -> NDArray[np.bool_]:
    """Whether the sums of the products of [.., words, 2] weights with inputs fit half words: both of a pair, and the
    second weight with the first input."""
    return _within(pairs, low, high) & _within(pairs[..., 1:], low[..., :1], high[..., :1])


def _within(weights: Ints, low: Ints, high: Ints) -> NDArray[np.bool_]:
    least, most = (f(low * weights, high * weights).sum(axis=(-2, -1)) for f in (np.minimum, np.maximum))
    inside: NDArray[np.bool_] = (least >= -HALF) & (most < HALF)
    return inside


def _spilled(group: Ints, low: Ints, high: Ints, offset: int, places: Places) -> list[Spill]:
    """Takes weights [words, 2] out of a group until it fits."""
    spills = []
    for word in reversed(range(len(group))):
        if fits(group, low, high):
            break
        taken = [group[word].copy()]
        group[word] = 0
        if word == 0 or not fits(taken[0][None], low[word : word + 1], high[word : word + 1]):
            taken = [taken[0] * np.array(one) for one in ((1, 0), (0, 1))]
        if word == 0:  # one of the two may stay
            group[word] = taken.pop(0)
        at = offset + word * places.word + word % 2 * places.second
        spills += [Spill(at, int(words_of(t[0], t[1]))) for t in taken]
    return spills
