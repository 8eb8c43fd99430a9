"""Vectorized AVERAGE_POOL_2D and MAX_POOL_2D: `mote_pool_helium_s8.h`."""

from __future__ import annotations

from dataclasses import replace

from mote.compiler.kernels.contract import INT8, Kernel, Packed, Refusal, View
from mote.compiler.kernels.helium.common import HELIUM
from mote.compiler.kernels.portable.windows.pool import pool_rows
from mote.ir.ops.windows.pool import AveragePool, MaxPool, Pool

VECTOR = 16
MOST_PIXELS = 256
"""Largest average-pooling window in pixels: sums of more overflow 16 bits."""


def _average(view: View) -> Packed | Refusal:
    op = view.the(Pool)
    if op.vertical.kernel * op.horizontal.kernel > MOST_PIXELS:
        return Refusal("sums of more than 256 pixels do not fit half words")
    return _pooled(view, "avg_pool")


def _maximum(view: View) -> Packed | Refusal:
    return _pooled(view, "max_pool")


def _pooled(view: View, kind: str) -> Packed | Refusal:
    if view.output.shape[3] < VECTOR:
        return Refusal("it is for sixteen channels and more")
    return replace(pool_rows(view, f"{kind}_helium_s8"), beats=(kind,))


KERNELS = (
    Kernel("avg_pool_helium", (AveragePool,), INT8, _average, header="pool_helium_s8", isa=HELIUM),
    Kernel("max_pool_helium", (MaxPool,), INT8, _maximum, header="pool_helium_s8", isa=HELIUM),
)
