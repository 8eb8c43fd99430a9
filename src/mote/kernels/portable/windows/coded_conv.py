"""Convolutions whose weights are coded: `mote_coded_s8.h` around a kernel that takes them as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from mote.graph.rows import row_count
from mote.kernels.contract import Call, Coding, Instance, Kernel, Packed, Params, Refusal, View
from mote.kernels.pack.weights.coding import encode

STREAM_FIRST = 8
"""Bytes of constants before a pair's weights in a stream."""
AT_ONCE = (2, 8, 32)
"""Channels that are expanded at once: the more, the less often inputs are gone through, and the more memory."""


def coded(base: Kernel) -> tuple[Kernel, ...]:
    """The kernels that expand weights for `base`, so many channels at once."""
    return tuple(_kernel(base, at_once) for at_once in AT_ONCE)


def _kernel(base: Kernel, at_once: int) -> Kernel:
    def pack(view: View) -> Packed | Refusal:
        plain = view.once(base.bind)
        if isinstance(plain, Refusal):
            return plain
        if AT_ONCE[0] < at_once >= view.output.shape[-1]:
            return Refusal(f"there are no more than {at_once} channels to expand at once")
        return _coded(plain, view, at_once)

    return replace(base, name=f"{base.name}_coded{at_once}", pack=pack, header="coded_s8", coded=True)


def _coded(base: Packed, view: View, at_once: int) -> Packed:
    """Weights lie in pairs of channels, in a stream with other constants, which are coded as well where that is less,
    or not."""
    shape = view.output.shape
    gemm = base.params["gemm"]
    assert isinstance(gemm, Mapping)
    field = "stream" if "stream" in gemm else "weights"
    data, depth = gemm[field], gemm["depth"]
    assert isinstance(data, np.ndarray) and isinstance(depth, int)
    pairs = data.view(np.int8).reshape(-(-shape[-1] // 2), -1)
    size = pairs.shape[1]
    weights = (STREAM_FIRST, STREAM_FIRST + 2 * depth)
    ways = [(encode(pairs[:, lo:hi]), lo, hi) for lo, hi in [(0, size), *([weights] if field == "stream" else [])]]
    code, first, end = min(ways, key=lambda way: way[0].nbytes + len(pairs) * (size - way[2] + way[1]))
    rest = np.delete(pairs, slice(first, end), axis=1).view(np.uint8)
    asked = ["count"] if base.entry.call is Call.FLAT else ["0", "count"]
    asked += [] if base.needs.scratch is None else ["work"]
    params: Params = {
        "code": code.params,
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
        entry=replace(base.entry, call=Call.WHOLE, row="", group=1),
        needs=replace(base.needs, scratch=at_once // 2 * size + (base.needs.scratch or 0)),
        price=replace(base.price, coding=Coding(code.symbols, len(pairs) * (end - first), -(-shape[-1] // at_once))),
        name=f"coded_{base.name}",
        params={"plain": {**base.params, "gemm": {**gemm, field: 0}}, "coded": params},
        instances=(*base.instances, Instance("MOTE_CODED", (base.name, field, *asked))),
    )
