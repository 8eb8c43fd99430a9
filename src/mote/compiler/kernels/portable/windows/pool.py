"""AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D: `mote_pool_s8.h`, `mote_pool_s16.h`, `mote_pool_f32.h`, and with running
sums `mote_pool_add_s8.h`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mote.compiler.kernels.contract import (
    FLOAT32,
    INT8,
    OTHER_F32,
    OTHER_S16,
    Call,
    Entry,
    Kernel,
    Needs,
    Packed,
    Params,
    Refusal,
    View,
    signature,
)
from mote.compiler.kernels.pack.params import adds_rows, window_params
from mote.ir.graph.types import DType
from mote.ir.ops.common import float_range, quantized_range
from mote.ir.ops.windows.pool import AveragePool, AveragePoolUpward, L2Pool, MaxPool, Pool

INT16 = signature(DType.INT16, DType.INT16)


def _params(view: View) -> Params:
    op, y = view.the(Pool), view.output
    limits: Params = {"channels": y.shape[3]}
    if y.dtype == DType.FLOAT32:
        low, high = float_range(op.activation)
        return {**window_params(view), **limits, "low": low, "high": high}
    lo, hi = quantized_range(op.activation, y)
    return {**window_params(view), **limits, "lo": lo, "hi": hi}


def pool_rows(view: View, name: str) -> Packed:
    """Packs a pooling kernel that computes output rows."""
    taps = view.the(Pool).vertical.kernel
    return Packed(name, _params(view), Entry(Call.ROWS, row=f"{name}_row", taps=taps))


def _by_rows(name: str) -> Callable[[View], Packed]:
    return partial(pool_rows, name=name)


def _running(name: str, sum_bytes: int) -> Callable[[View], Packed | Refusal]:
    """Returns the packer with running sums or maxima of `sum_bytes` bytes each."""

    def pack(view: View) -> Packed | Refusal:
        if not adds_rows(view):
            return Refusal("the output is not one row computed from several")
        return Packed(name, _params(view), Entry(Call.ADDS), Needs(sums=sum_bytes * view.output.size))

    return pack


KERNELS = (
    *(
        kernel
        for op, name, sum_bytes in ((AveragePool, "avg_pool", 4), (MaxPool, "max_pool", 1))
        for kernel in (
            Kernel(f"{name}_f32", (op,), FLOAT32, _by_rows(f"{name}_f32"), header="pool_f32", costs=OTHER_F32),
            Kernel(name, (op,), INT8, _by_rows(f"{name}_s8"), header="pool_s8", tuned=True),
            Kernel(
                f"{name}_add",
                (op,),
                INT8,
                _running(f"{name}_add_s8", sum_bytes),
                header="pool_add_s8",
                call=Call.ADDS,
                tuned=True,
            ),
            Kernel(f"{name}_s16", (op,), INT16, _by_rows(f"{name}_s16"), header="pool_s16", costs=OTHER_S16),
            Kernel(
                f"{name}_add_s16",
                (op,),
                INT16,
                _running(f"{name}_add_s16", max(sum_bytes, 2)),
                header="pool_s16",
                costs=OTHER_S16,
                call=Call.ADDS,
            ),
        )
    ),
    Kernel("l2_pool_f32", (L2Pool,), FLOAT32, _by_rows("l2_pool_f32"), header="pool_f32", costs=OTHER_F32),
    Kernel(
        "avg_pool_upward",
        (AveragePoolUpward,),
        INT8,
        _by_rows("avg_pool_upward_s8"),
        header="pool_upward_s8",
        costs="avg_pool",
        tuned=True,
    ),
)
