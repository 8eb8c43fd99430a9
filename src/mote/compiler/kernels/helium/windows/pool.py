"""Vectorized AVERAGE_POOL_2D and MAX_POOL_2D over 2x2 and 3x3 windows: `mote_pool_vectors.h`. What they cost is counted
here, in vectors inside of an image and in values under the windows at its edges, and the cost table scales it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mote.compiler.kernels.contract import FLOAT32, INT8, Kernel, Packed, Price, Refusal, Signature, View
from mote.compiler.kernels.helium.common import HELIUM, HELIUM_FLOAT
from mote.compiler.kernels.portable.windows.pool import INT16, pool_rows
from mote.ir.ops.windows.pool import AveragePool, MaxPool, Pool

VECTOR = 16
"""Least number of int8 channels, which edges of images are computed for at once."""
CALL, ROW = 60.0, 134.0
TAKEN: Mapping[str, Mapping[int, float]] = {"avg_pool": {2: 23.5, 3: 39.0}, "max_pool": {2: 15.5, 3: 31.0}}
"""Cycles for a vector of results, by the size of the window."""
LANES = {"avg_pool": {"s8": 8, "s16": 4, "f32": 4}, "max_pool": {"s8": 16, "s16": 8, "f32": 4}}
EDGE = {"avg_pool": {"s8": 40.0, "s16": 13.1, "f32": 14.3}, "max_pool": {"s8": 18.0, "s16": 10.3, "f32": 12.6}}
"""Cycles for a value under a window at the edge of an image: of a channel, or of sixteen of int8."""


def _over(n: int, size: int) -> int:
    return -(-n // size)


def _cycles(view: View, kind: str, suffix: str) -> float:
    pool, y = view.the(Pool), view.output
    images, high, wide, channels = y.shape
    size, lanes = pool.vertical.kernel, LANES[kind][suffix]
    down = pool.vertical.inside(high, view.input.shape[1])
    across = pool.horizontal.inside(wide, view.input.shape[2])
    rows, pixels = int((down == size).sum()), int((across == size).sum())
    near = pool.horizontal.stride == 1
    vectors = _over(pixels * channels, lanes) if near else pixels * _over(channels, lanes)
    edge = int(down.sum()) * int(across.sum()) - rows * pixels * size**2
    edges = edge * (_over(channels, VECTOR) if suffix == "s8" else channels)
    return CALL + images * (rows * (ROW + vectors * TAKEN[kind][size]) + edges * EDGE[kind][suffix])


def _kernel(kind: str, op: type[Pool], types: Signature, suffix: str, beaten: str) -> Kernel:
    def pack(view: View) -> Packed | Refusal:
        pool = view.the(Pool)
        if pool.vertical.kernel != pool.horizontal.kernel or pool.vertical.kernel not in TAKEN[kind]:
            return Refusal("it is for windows of 2x2 and 3x3")
        if suffix == "s8" and view.output.shape[3] < VECTOR:
            return Refusal("it is for sixteen channels and more")
        price = Price(work=_cycles(view, kind, suffix))
        beats = (beaten, kind) if suffix == "s8" else (beaten,)
        return replace(pool_rows(view, f"{kind}_vectors_{suffix}"), price=price, beats=beats)

    isa = HELIUM_FLOAT if suffix == "f32" else HELIUM
    return Kernel(f"{kind}_vectors_{suffix}", (op,), types, pack, header="pool_vectors", isa=isa, costs="pooled")


KERNELS = tuple(
    _kernel(kind, op, types, suffix, f"{kind}{beaten}")
    for kind, op in (("avg_pool", AveragePool), ("max_pool", MaxPool))
    for types, suffix, beaten in ((INT8, "s8", "_helium"), (INT16, "s16", "_s16"), (FLOAT32, "f32", "_f32"))
)
