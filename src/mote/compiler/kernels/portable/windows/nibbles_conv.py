"""Convolutions whose weights have 4 bits, two in a byte: `mote_nibbles_s8.h` around a kernel that takes bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import Kernel, Packed, Refusal, View
from mote.compiler.kernels.portable.windows.coded_conv import ChannelPairs
from mote.ir.graph.numeric.fixedpoint import Ints

AT_ONCE = (8, 32)
"""Channels that are expanded at once: the more, the less often inputs are gone through, and the more memory."""
LOWEST, HIGHEST = -8, 7
WORDS = {"stream": 1, "weights": 2}
"""Codes that it takes as much time as to expand a word of eight weights: words are stored as words, or by bytes."""
WIDE = Refusal("weights have more than 4 bits")


def nibbles(base: Kernel) -> tuple[Kernel, ...]:
    """The kernels that expand weights of 4 bits for `base`, so many channels at once."""
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
    """Eight weights a word, four in the low halves of its bytes and four in the high ones; rows begin with a word."""
    padded = np.pad(weights, ((0, 0), (0, -weights.shape[1] % 8))).reshape(-1, 2, 4) & 15
    low, high = ((padded[:, i] << np.arange(0, 32, 8, dtype=np.int64)).sum(axis=1) for i in range(2))
    return np.asarray(low | high << 4, np.uint32)
