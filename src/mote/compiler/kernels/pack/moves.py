"""Parameters of `mote_move.h`: copies between multi-dimensional regions of tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.compiler.kernels.contract import Params, Refusal, Structs
from mote.ir.graph.tensor import Array, Shape
from mote.ir.ops.moves.pad_concat_transpose import Loop, merge, steps

BY_ROWS = Refusal("it can run row by row")


def move_params(loops: Sequence[Loop], width: int, in_start: int = 0, out_start: int = 0) -> Params:
    """The fields of `mote_move_t` for copies in nested loops of runs of `width` bytes."""
    merged, run = merge(loops, width)
    return {
        "axes": len(merged),
        "run": run,
        "in_start": in_start,
        "out_start": out_start,
        "axis": Structs("mote_move_axis_t", np.array(merged, np.int64)),
    }


def fill_params(nbytes: int, value: Array) -> Params:
    """The fields of `mote_fill_t`, which repeats the bytes of `value`; one byte if all are equal."""
    pattern = np.frombuffer(value.tobytes(), np.int8)
    if np.all(pattern == pattern[0]):
        pattern = pattern[:1]
    return {"bytes": nbytes, "width": pattern.size, "value": pattern}


def indexed(shape: Shape, depth: int, width: int) -> Structs:
    """`mote_indexed_t` for the first `depth` axes of a tensor: sizes, and strides in units of `width` bytes per
    element."""
    axes = list(zip(shape, steps(shape, width), strict=True))[:depth]
    return Structs("mote_indexed_t", np.array(axes, np.int64))


def begins(axes: Sequence[tuple[int, int, int, int]]) -> Structs:
    """`mote_begin_t` for the axes of a region that starts at a run-time index."""
    return Structs("mote_begin_t", np.array(axes or [(0, 0, 0, 0)], np.int64))
