"""Gather with constant indices: `mote_pick.h`."""

from __future__ import annotations

from math import prod

import numpy as np

from mote.compiler.kernels.contract import ANY_TYPE, OTHER, Call, Entry, Kernel, Packed, Params, Structs, View
from mote.ir.ops.moves.gather_constant import Pick, row_axes
from mote.ir.ops.moves.pad_concat_transpose import steps

EVEN = -1
"""Offset in the index list that marks an axis without one, whose elements are all copied."""


def _pick(view: View) -> Packed:
    op, g = view.the(Pick), view.graph
    width, shape = view.output.dtype.itemsize, op.picked(g)
    axes: list[tuple[int, int, int]] = []
    places: list[int] = []
    for n, step, taken in zip(shape, steps(op.input(g).shape, width), op.places, strict=True):
        axes.append((n, step, EVEN if taken is None else len(places)))
        places += [step * i for i in taken or ()]
    rows = row_axes(shape)
    leading, (lines, items) = axes[:rows], ([(1, 0, EVEN)] * 2 + axes[rows:])[-2:]
    run = width
    if items[2] == EVEN:
        run, items = run * items[0], (1, 0, EVEN)
        if lines[2] == EVEN:
            run, lines = run * lines[0], (1, 0, EVEN)
        else:
            lines, items = (1, 0, EVEN), lines
    params: Params = {
        "rows": prod(shape[:rows]),
        "row_axes": rows,
        "out_row": width * prod(shape[rows:]),
        "axis": Structs("mote_pick_axis_t", np.array([*leading, lines, items], np.int64)),
        "place": np.array(places or [0], np.int32),
        "run": run,
    }
    if not op.by_rows(g):
        return Packed("pick_whole", params)
    return Packed("pick", params, Entry(Call.ROWS, row="pick_row", moves=True))


KERNELS = (Kernel("pick", (Pick,), ANY_TYPE, _pick, header="pick", costs=OTHER),)
