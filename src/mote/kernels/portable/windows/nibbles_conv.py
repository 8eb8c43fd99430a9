"""Convolutions whose weights have 4 bits, two in a byte: `mote_nibbles_s8.h` around a kernel that takes bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mote.graph.numeric.fixedpoint import Ints
from mote.graph.rows import row_count
from mote.kernels.contract import Call, Coding, Instance, Kernel, Packed, Params, Refusal, View
from mote.kernels.portable.windows.coded_conv import STREAM_FIRST

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
        base, name=f"{base.name}_nibbles{at_once}", pack=pack, header="nibbles_s8", costs=base.costs or base.name
    )


def _packed(base: Packed, view: View, at_once: int) -> Packed | Refusal:
    shape, gemm = view.output.shape, base.params["gemm"]
    assert isinstance(gemm, Mapping)
    field = "stream" if "stream" in gemm else "weights"
    data, depth = gemm[field], gemm["depth"]
    assert isinstance(data, np.ndarray) and isinstance(depth, int)
    pairs = data.view(np.int8).reshape(-(-shape[-1] // 2), -1)
    size = pairs.shape[1]
    first, end = (STREAM_FIRST, STREAM_FIRST + 2 * depth) if field == "stream" else (0, size)
    weights = pairs[:, first:end].astype(np.int64)
    if field == "stream":
        weights[:, 1::2] += weights[:, 0::2] < 0
    if (first | end | size) % 4 or weights.min() < LOWEST or weights.max() > HIGHEST:
        return WIDE
    words = in_words(weights)
    rest = np.delete(pairs, slice(first, end), axis=1).view(np.uint8)
    asked = ["count"] if base.entry.call is Call.FLAT else ["0", "count"]
    asked += [] if base.needs.scratch is None else ["work"]
    params: Params = {
        "words": words,
        "rest": rest if rest.size else 0,
        "first": first,
        "coded": end - first,
        "last": size - end,
        "channels": at_once,
        "step": at_once * (base.needs.writes.planes[0] or 1),
        "count": base.entry.units if base.entry.call is Call.FLAT else row_count(shape),
    }
    return replace(
        base,
        entry=replace(base.entry, call=Call.WHOLE, row="", rows="", group=1),
        needs=replace(base.needs, scratch=at_once // 2 * size + (base.needs.scratch or 0)),
        price=replace(base.price, coding=Coding(words.size * WORDS[field], weights.size, -(-shape[-1] // at_once))),
        name=f"nibbles_{base.name}",
        params={"plain": {**base.params, "gemm": {**gemm, field: 0}}, "coded": params},
        instances=(*base.instances, Instance("MOTE_NIBBLES", (base.name, field, *asked))),
        beats=(),
    )


def in_words(weights: Ints) -> NDArray[np.uint32]:
    """Eight weights a word, four in the low halves of its bytes and four in the high ones; rows begin with a word."""
    padded = np.pad(weights, ((0, 0), (0, -weights.shape[1] % 8))).reshape(-1, 2, 4) & 15
    low, high = ((padded[:, i] << np.arange(0, 32, 8)).sum(axis=1) for i in range(2))
    return np.asarray(low | high << 4, np.uint32)
