"""MEAN, and int8 SUM, which rescales its result: `mote_mean_s8.h`, `mote_mean_f32.h`, over the last axis
`mote_mean_lines_s8.h`, and with running sums `mote_mean_add_s8.h`."""

from __future__ import annotations

from math import prod

import numpy as np

from mote.compiler.kernels.contract import (
    FLOAT32,
    INT8,
    Call,
    Entry,
    Kernel,
    Needs,
    Packed,
    Params,
    Refusal,
    Structs,
    View,
)
from mote.compiler.kernels.pack.params import output_params
from mote.ir.graph.rows import row_count
from mote.ir.graph.types import Activation
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.reduce import LOOPS, RowReduction, ScaledSum, Sum


def walk_params(view: View) -> Params:
    """Sizes and strides of the loops over kept and averaged axes."""
    kept, averaged, inner = view.the(RowReduction).loops(view.graph)
    return {"inner": inner, "kept": _structs(kept), "averaged": _structs(averaged)}


def _structs(loops: list[tuple[int, int]]) -> Structs:
    """Nested loops (size, stride) as `mote_loop_t[3]`; unused ones come first."""
    return Structs("mote_loop_t", np.array([(1, 0)] * (LOOPS - len(loops)) + loops, np.int64))


def _finish(view: View) -> Params:
    """Requantization parameters of the sums."""
    op = view.the(ScaledSum)
    mult, shift = op.scale(view.graph)
    bias = -view.input.zero_point * op.count(view.graph)
    return {
        "channel": {"bias": bias, "mult": mult, "shift": -shift - 1},
        "output": output_params(Activation.NONE, view.output),
    }


def _mean_f32(view: View) -> Packed:
    return Packed("mean_f32", walk_params(view) | {"count": view.the(Mean).count(view.graph)})


def _mean(view: View) -> Packed:
    return Packed("mean_s8", walk_params(view) | _finish(view))


def _mean_lines(view: View) -> Packed | Refusal:
    """Packs the mean or sum over the last axis, callable for any number of vectors."""
    op = view.the(ScaledSum)
    if not op.of_lines(view.graph):
        return Refusal("other axes than the last one are reduced")
    size = view.input.shape[-1]
    return Packed("mean_lines_s8", {"size": size, **_finish(view)}, Entry(Call.FLAT, view.output.size), beats=("mean",))


def _mean_add(view: View) -> Packed | Refusal:
    """Packs the mean with running sums, for inputs whose rows are all averaged: the pixels of each row are added to
    `size` sums."""
    shape, axes = view.input.shape, view.the(ScaledSum).axes
    rows = row_count(shape)
    outer = len(shape) - (2 if len(shape) > 2 else 1)
    if rows == 1:
        return Refusal("the input is one row")
    if len(shape) - 1 in axes:
        return Refusal("channels are averaged")
    if any(n > 1 and i not in axes for i, n in enumerate(shape[:outer])):
        return Refusal("not all rows are averaged")
    pixels = prod(shape[i] for i in axes if i >= outer)
    size = prod(shape) // rows // pixels
    return Packed(
        "mean_add_s8", {"pixels": pixels, "size": size, **_finish(view)}, Entry(Call.ADDS), Needs(sums=4 * size)
    )


KERNELS = (
    Kernel("mean_f32", (Mean,), FLOAT32, _mean_f32),
    *(Kernel("mean_lines", (op,), INT8, _mean_lines, tuned=True) for op in (Mean, Sum)),
    *(Kernel("mean", (op,), INT8, _mean, tuned=True) for op in (Mean, Sum)),
    *(Kernel("mean_add", (op,), INT8, _mean_add, call=Call.ADDS, tuned=True) for op in (Mean, Sum)),
)
