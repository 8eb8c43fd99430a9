"""Weights for two products in one 32-bit multiplication (SWAR, SIMD within a register).

An input word x = a0 + a1 * 2^16 times a weight word w = w1 + w0 * 2^16 is, modulo 2^32,

    a0 * w1 + (a0 * w0 + a1 * w1) * 2^16

so the upper half of the product is the dot product, once half of 2^16 has been added to correct for the sign of the
lower half. The two words of a group of four inputs are added before the upper half is taken, wherever both halves of
the sum fit 16 bits for all inputs. Where they do not, some weights of the group are zeroed and multiplied separately
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
"""Number of inputs in a group: one word holds the first and third, the other the second and fourth."""


class Places(NamedTuple):
    """Layout of input words, with offsets in bytes."""

    group: int
    """Stride between groups."""
    word: int
    """Stride between the words of a group."""
    words: int = 2
    """Number of words in a group."""
    second: int = 0
    """Extra offset of every second word, which is stored in another format."""


PIXELS = Places(32, 8)
"""Layout of input words for four pixels."""
VECTOR = Places(12, 4)
"""Layout of input words for one vector."""
ANY = Range(np.array([-128], np.int64), np.array([127], np.int64))
"""Input range of any int8 value."""
HALF = 1 << 15
"""Half the range of a 16-bit lane, which holds -HALF..HALF-1."""


class Spill(NamedTuple):
    """Weights removed from a group whose lanes might overflow; the kernel multiplies them separately."""

    offset: int
    """Offset in bytes of the input word (for the first pixel)."""
    word: int
    """Weight word: two weights."""


@dataclass(frozen=True)
class SwarWeights:
    """The weights of a layer's channels as weight words and spills."""

    pairs: Ints
    """Weights that remain in groups of four inputs: [channels, groups, words, 2]."""
    spills: list[list[Spill]]
    """For each channel: the weights that are multiplied separately."""

    @property
    def words(self) -> Ints:
        """The weight words [channels, 2 * groups]."""
        return words_of(self.pairs[..., 0], self.pairs[..., 1]).reshape(len(self.pairs), -1)

    @property
    def bytes(self) -> Ints:
        """[channels, words / 2]: the four weights of a group in one word, as bytes offset by 128."""
        (first, third), (second, fourth) = (self.pairs.reshape(len(self.pairs), -1, 2, 2) + 128).transpose(2, 3, 0, 1)
        words: Ints = third + (fourth << 8) + (first << 16) + (second << 24)
        return words

    @property
    def density(self) -> float:
        """Relative cost compared to a layer without spills, at least 1: each spill takes as long as a group."""
        return 1 + sum(map(len, self.spills)) / max(self.pairs.size // GROUP, 1)


def words_of(first: Ints, second: Ints) -> Ints:
    """Weight words of pairs of weights."""
    return second + (first << 16)


def swar(matrix: Ints, places: Places = PIXELS, inputs: Range = ANY) -> SwarWeights:
    """Converts [channels, depth] weights for inputs with layout `places` and range `inputs` (shared or per input)."""
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
    """Reorders [.., depth] values to [.., groups, words, 2], zero-padded."""
    padded: Ints = pad_to(values, 1, words * GROUP // 2).astype(np.int64)
    return padded.reshape(len(padded), -1, 2, 2).transpose(0, 1, 3, 2).reshape(len(padded), -1, words, 2)


def fits(pairs: Ints, low: Ints, high: Ints) -> NDArray[np.bool_]:
    """Whether no 16-bit lane overflows for weights [.., words, 2] and input ranges: neither the sum of both products,
    nor the second weight times the first input."""
    return _within(pairs, low, high) & _within(pairs[..., 1:], low[..., :1], high[..., :1])


def _within(weights: Ints, low: Ints, high: Ints) -> NDArray[np.bool_]:
    least, most = (f(low * weights, high * weights).sum(axis=(-2, -1)) for f in (np.minimum, np.maximum))
    inside: NDArray[np.bool_] = (least >= -HALF) & (most < HALF)
    return inside


def _spilled(group: Ints, low: Ints, high: Ints, offset: int, places: Places) -> list[Spill]:
    """Moves weights [words, 2] from a group to spills until no lane can overflow."""
    spills = []
    for word in reversed(range(len(group))):
        if fits(group, low, high):
            break
        taken = [group[word].copy()]
        group[word] = 0
        if word == 0 or not fits(taken[0][None], low[word : word + 1], high[word : word + 1]):
            taken = [taken[0] * np.array(one) for one in ((1, 0), (0, 1))]
        if word == 0:  # one of the two products may stay
            group[word] = taken.pop(0)
        at = offset + word * places.word + word % 2 * places.second
        spills += [Spill(at, int(words_of(t[0], t[1]))) for t in taken]
    return spills
