"""Convolutions with entropy-coded weights: `mote_coded_s8.h` around a kernel for plain weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import Call, Coding, Instance, Kernel, Packed, Params, Refusal, Value, View
from mote.compiler.kernels.pack.weights.coding import encode
from mote.ir.graph.rows import row_count

STREAM_FIRST = 8
"""Bytes of other constants before the weights of each channel pair in a stream."""
AT_ONCE = (2, 8, 32)
"""Numbers of channels decoded at once that are offered: larger ones need fewer passes over the inputs but more
memory."""


def coded(base: Kernel) -> tuple[Kernel, ...]:
    """The variants of `base` with coded weights, one for each number of channels decoded at once."""
    return tuple(_kernel(base, at_once) for at_once in AT_ONCE)


def _kernel(base: Kernel, at_once: int) -> Kernel:
    def pack(view: View) -> Packed | Refusal:
        plain = view.once(base.bind)
        if isinstance(plain, Refusal):
            return plain
        if AT_ONCE[0] < at_once >= view.output.shape[-1]:
            return Refusal(f"there are no more than {at_once} channels to expand at once")
        return _coded(plain, view, at_once)

    name, constant = f"{base.name}_coded{at_once}", frozenset[int]()
    return replace(base, name=name, pack=pack, header="coded_s8", coded=True, learned=constant)


@dataclass(frozen=True)
class ChannelPairs:
    """Constants of a kernel grouped by pairs of output channels: weights alone, or a stream that contains other
    constants."""

    base: Packed
    channels: int
    gemm: Mapping[str, Value]
    field: str
    bytes: NDArray[np.int8]
    """The constants as bytes [pairs, bytes per pair]."""
    weights: tuple[int, int]
    """Range of the weights within the bytes of a pair."""

    @classmethod
    def of(cls, base: Packed, view: View) -> ChannelPairs:
        channels, gemm = view.output.shape[-1], base.params["gemm"]
        assert isinstance(gemm, Mapping)
        field = "stream" if "stream" in gemm else "weights"
        data, depth = gemm[field], gemm["depth"]
        assert isinstance(data, np.ndarray) and isinstance(depth, int)
        pairs = data.view(np.int8).reshape(-(-channels // 2), -1)
        weights = (STREAM_FIRST, STREAM_FIRST + 2 * depth) if field == "stream" else (0, pairs.shape[1])
        return cls(base, channels, gemm, field, pairs, weights)

    def expanded(
        self, view: View, at_once: int, how: str, first: int, end: int, constants: Params, symbols: int
    ) -> Packed:
        """Wraps the kernel so that `MOTE_<HOW>` decodes bytes first..end of every pair from `constants`, `at_once`
        channels at a time; other bytes are stored plain. `symbols`: number of symbols decoded per pass."""
        base, size = self.base, self.bytes.shape[1]
        rest = np.delete(self.bytes, slice(first, end), axis=1).view(np.uint8)
        flat = base.entry.call is Call.FLAT
        asked = ["count"] if flat else ["0", "count"]
        asked += [] if base.needs.scratch is None else ["work"]
        coding = Coding(symbols, len(self.bytes) * (end - first), -(-self.channels // at_once))
        params: Params = {
            **constants,
            "rest": rest if rest.size else 0,
            "first": first,
            "coded": end - first,
            "last": size - end,
            "channels": at_once,
            "step": at_once * (base.needs.writes.planes[0] or 1),
            "count": base.entry.units if flat else row_count(view.output.shape),
        }
        return replace(
            base,
            entry=replace(base.entry, call=Call.WHOLE, row="", group=1),
            needs=replace(base.needs, scratch=at_once // 2 * size + (base.needs.scratch or 0)),
            price=replace(base.price, coding=coding),
            name=f"{how}_{base.name}",
            params={"plain": {**base.params, "gemm": {**self.gemm, self.field: 0}}, "coded": params},
            instances=(*base.instances, Instance(f"MOTE_{how.upper()}", (base.name, self.field, *asked))),
        )


def _coded(base: Packed, view: View, at_once: int) -> Packed:
    """Packs the variant with coded weights; other constants in the stream are coded too if that is smaller."""
    pairs = ChannelPairs.of(base, view)
    count, size = pairs.bytes.shape
    spans = dict.fromkeys([(0, size), pairs.weights])
    ways = [(encode(pairs.bytes[:, lo:hi]), lo, hi) for lo, hi in spans]
    code, first, end = min(ways, key=lambda way: way[0].nbytes + count * (size - way[2] + way[1]))
    return pairs.expanded(view, at_once, "coded", first, end, {"code": code.params}, code.symbols)
