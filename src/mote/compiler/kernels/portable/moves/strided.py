"""Operators that read the input at regular strides: `mote_strides.h` row by row, `mote_move.h` where an output row
would need too many input rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod

import numpy as np

from mote.compiler.kernels.contract import ANY_TYPE, Call, Entry, Kernel, Packed, Params, Refusal, Structs, View
from mote.compiler.kernels.pack.moves import BY_ROWS, move_params, move_work, moved, moving
from mote.ir.ops.moves.strided import Digit, RowWalk, StridedOp


def _walk(view: View) -> Packed | Refusal:
    walk = view.the(StridedOp).row_walk(view.graph)
    if walk is None:
        return Refusal("rows of the output are not made from few rows of the input")
    width = view.output.dtype.itemsize
    digits = _merged(walk)
    steps = [(n, step * width, walk.split(step)[1] * width) for n, step in digits]
    move = move_params([(n, i * width, o * width) for n, i, o in walk.inner], width)
    params: Params = {
        "digits": len(steps),
        "digit": Structs("mote_digit_t", np.array(steps or [(1, 0, 0)], np.int64)),
        "start": walk.start * width,
        "inside": walk.start % walk.row * width,
        "out_row": width * view.output.size // prod(n for n, _ in walk.digits),
        "taps": walk.taps,
        "tap_in": walk.spread * walk.row * width,
        "tap_out": walk.tap_step * width,
        "move": move,
    }
    rows = prod(n for n, _ in walk.digits)
    entry = Entry(Call.ROWS, row="strides_row", row_index=True, moves=True)
    return Packed("strides", params, entry, price=moving("move", move_work(move, rows * walk.taps) + Counter(row=rows)))


def _merged(walk: RowWalk) -> Sequence[Digit]:
    """The mixed-radix digits of an output row's index, merged so that the kernel needs as few divisions as possible."""
    merged: list[Digit] = []
    for n, step in walk.digits:
        if n == 1:
            continue
        if merged and merged[-1][1] == n * step and walk.split(merged[-1][1])[1] == n * walk.split(step)[1]:
            merged[-1] = (merged[-1][0] * n, step)
        else:
            merged.append((n, step))
    return merged


def _move(view: View) -> Packed | Refusal:
    op, width = view.the(StridedOp), view.output.dtype.itemsize
    if op.row_walk(view.graph) is not None:
        return BY_ROWS
    return moved(move_params(op.loops(view.graph), width, op.start(view.graph) * width))


KERNELS = (
    Kernel("strides", (StridedOp,), ANY_TYPE, _walk, header="strides", costs="move"),
    Kernel("move", (StridedOp,), ANY_TYPE, _move),
)
