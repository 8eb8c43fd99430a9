"""Vectorized RESIZE_NEAREST_NEIGHBOR and float32 RESIZE_BILINEAR: `mote_resize_nearest.h` with `mote_move_items.h`, and
`mote_resize_bilinear.h` with `mote_blend_run.h`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.compiler.kernels.contract import Kernel, Packed, Price, Refusal, View
from mote.compiler.kernels.helium.common import HELIUM, HELIUM_FLOAT, vectorized
from mote.compiler.kernels.helium.moves import moving
from mote.compiler.kernels.portable.windows import resize

PORTABLE = {kernel.name: kernel for kernel in resize.KERNELS}
CHECKED = 5.0
"""Cycles for each column of a row to see whether pixels are repeated evenly."""
PIXEL, COPIED_WORD = 30.0, 1.5
"""Cycles to copy a pixel alone: to begin, and for four bytes."""


def _cycles(packed: Packed) -> float:
    """Of rows whose pixels are repeated evenly, or copied one by one, and of those that repeat a row."""
    params = packed.params
    row, column, pixel = params["row"], params["column"], params["pixel"]
    assert isinstance(row, np.ndarray) and isinstance(column, np.ndarray) and isinstance(pixel, int)
    times = int((column == 0).sum())
    even = np.array_equal(column, np.arange(column.size, dtype=np.int64) // max(times, 1))
    repeated = int((row[1:] == row[:-1]).sum())
    once = times * moving(column.size // times, pixel) if even else column.size * (PIXEL + COPIED_WORD * pixel / 4)
    return (row.size - repeated) * (once + CHECKED * column.size) + repeated * moving(1, column.size * pixel)


def _nearest(view: View) -> Packed | Refusal:
    packed = PORTABLE["resize_nearest"].pack(view)
    if isinstance(packed, Refusal):
        return packed
    price = Price(work=view.output.shape[0] * _cycles(packed))
    return replace(packed, price=price, beats=("resize_nearest",))


KERNELS: tuple[Kernel, ...] = (
    replace(
        PORTABLE["resize_nearest"],
        name="resize_nearest_helium",
        pack=_nearest,
        header="resize_nearest",
        isa=HELIUM,
        costs="resize_nearest_helium",
    ),
    vectorized(PORTABLE["resize_bilinear_f32"], HELIUM_FLOAT),
)
