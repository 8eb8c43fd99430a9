"""Convolutions with 4-bit weights, two per byte: `mote_nibbles_s8.h` around a kernel for int8 weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import Kernel, Packed, Refusal, View
from mote.compiler.kernels.portable.windows.coded_conv import ChannelPairs
from mote.ir.graph.numeric.fixedpoint import Ints

AT_ONCE = (8, 32)
"""Numbers of channels expanded at once that are offered: larger ones need fewer passes over the inputs but more
memory."""
LOWEST, HIGHEST = -8, 7
WORDS = {"stream": 1, "weights": 2}
"""Cost of expanding a word of eight weights, in units of one decoded symbol: in a stream words are stored as words,
elsewhere byte by byte."""
WIDE = Refusal("weights have more than 4 bits")


def nibbles(base: Kernel) -> tuple[Kernel, ...]:
    """The variants of `base` with 4-bit weights, one for each number of channels expanded at once."""
    return tuple(_kernel(base, at_once) for at_once in AT_ONCE)


def _kernel(base: Kernel, at_once: int) -> Kernel:
    def pack(view: View) -> Packed | Refusal:
        weights = view.constant(1)
        if weights.dtype != np.int8 or weights.min() < LOWEST or weights.max() > HIGHEST:
            return WIDE
        if AT_ONCE[0] < at_once >= view.output.shape[-1]:
            return Refusal(f"there are no more than {at_once} channels to expand at once")
        plain = view.once(base.bind)
        return plain if isinstance(plain, Refusal) else _packed(plain, view, at_once)

    return replace(
        base,
        name=f"{base.name}_nibbles{at_once}",
        pack=pack,
        header="nibbles_s8",
        costs=base.costs or base.name,
        knobs=None,
        learned=frozenset(),
    )


def _packed(base: Packed, view: View, at_once: int) -> Packed | Refusal:
    pairs = ChannelPairs.of(base, view)
    first, end = pairs.weights
    weights = pairs.bytes[:, first:end].astype(np.int64)
    if pairs.field == "stream":
        weights[:, 1::2] += weights[:, 0::2] < 0
    if (first | end | pairs.bytes.shape[1]) % 4 or weights.min() < LOWEST or weights.max() > HIGHEST:
        return WIDE
    words = in_words(weights)
    symbols = words.size * WORDS[pairs.field]
    made = pairs.expanded(view, at_once, "nibbles", first, end, {"words": words}, symbols)
    return replace(made, entry=replace(made.entry, rows=""), beats=())


def in_words(weights: Ints) -> NDArray[np.uint32]:
    """Packs eight 4-bit weights per 32-bit word, four in the low halves of its bytes and four in the high ones; rows
    start at a new word."""
    padded = np.pad(weights, ((0, 0), (0, -weights.shape[1] % 8))).reshape(-1, 2, 4) & 15
    low, high = ((padded[:, i] << np.arange(0, 32, 8, dtype=np.int64)).sum(axis=1) for i in range(2))
    return np.asarray(low | high << 4, np.uint32)
