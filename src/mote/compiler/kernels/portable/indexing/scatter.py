"""Scatter and one-hot with run-time indices (`mote_scatter.h`), slice and diagonal updates (`mote_overlay.h`), and
diagonal matrices (`mote_move.h`)."""

from __future__ import annotations

from math import prod

import numpy as np

from mote.compiler.kernels.contract import (
    ANY_TYPE,
    OTHER,
    OTHER_F32,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    View,
    signature,
)
from mote.compiler.kernels.pack.moves import begins, fill_params, indexed, move_params
from mote.ir.graph.types import DType
from mote.ir.ops.indexing.scatter import (
    DynamicUpdateSlice,
    MatrixDiag,
    MatrixSetDiag,
    OneHot,
    ReverseSequence,
    ScatterNd,
    SparseToDense,
)
from mote.ir.ops.moves.pad_concat_transpose import steps

SUMS = {
    DType.INT8: ("s8", "int8_t", "MOTE_SUM"),
    DType.UINT8: ("u8", "uint8_t", "MOTE_SUM"),
    DType.INT32: ("s32", "int32_t", "MOTE_SUM_S32"),
    DType.INT64: ("s64", "int64_t", "MOTE_SUM_S64"),
    DType.FLOAT32: ("f32", "float", "MOTE_SUM"),
    DType.BOOL: ("bool", "uint8_t", "MOTE_SUM_BOOL"),
}
"""For each type of scatter-add: suffix of the function's name, C type, and the macro that adds two elements."""


def _scatter(view: View) -> Packed:
    op, y = view.the(ScatterNd), view.output
    depth = op.input(view.graph, 1).shape[-1]
    run = prod(op.shape[depth:])
    params: Params = {
        "bytes": y.nbytes,
        "count": view.input.size // run,
        "depth": depth,
        "run": run,
        "axis": indexed(op.shape, depth, y.dtype.itemsize),
    }
    suffix, ctype, plus = SUMS[y.dtype]
    instance = Instance("MOTE_SCATTER", (suffix, ctype, plus))
    return Packed(f"scatter_{suffix}", params, Entry(operands=(0, 1)), instances=(instance,))


def _put(view: View) -> Packed:
    op, y = view.the(SparseToDense), view.output
    depth, width = len(op.shape), y.dtype.itemsize
    params: Params = {
        "elements": y.size,
        "width": width,
        "count": op.input(view.graph, 1).size // depth,
        "depth": depth,
        "value_step": width if view.input.size > 1 else 0,
        "index_width": op.input(view.graph, 1).dtype.itemsize,
        "axis": indexed(op.shape, depth, width),
    }
    return Packed("put", params, Entry(operands=(0, 1, 2)))


def _one_hot(view: View) -> Packed:
    op, shape = view.the(OneHot), view.input.shape
    params: Params = {
        "elements": view.output.size,
        "width": view.output.dtype.itemsize,
        "outer": prod(shape[: op.axis]),
        "depth": op.depth,
        "inner": prod(shape[op.axis :]),
        "index_width": view.input.dtype.itemsize,
    }
    return Packed("one_hot", params, Entry(operands=(0, 1, 2)))


def _reverse_sequence(view: View) -> Packed:
    op, width, x = view.the(ReverseSequence), view.output.dtype.itemsize, view.input.shape
    outer, outer_step, between, between_step, run = op.loops(view.graph)
    step = steps(x, width)
    params: Params = {
        "size": x[op.axis],
        "step": step[op.axis],
        "batches": x[op.batch_axis],
        "batch_step": step[op.batch_axis],
        "outer": outer,
        "outer_step": outer_step * width,
        "between": between,
        "between_step": between_step * width,
        "run": run * width,
        "width": op.input(view.graph, 1).dtype.itemsize,
    }
    return Packed("reverse_sequence", params, Entry(operands=(0, 1)))


def _overlay_params(view: View, op: DynamicUpdateSlice | MatrixSetDiag) -> Params:
    return {"bytes": view.output.nbytes, "move": move_params(op.loops(view.graph), view.output.dtype.itemsize)}


def _set_diagonals(view: View) -> Packed:
    return Packed(
        "overlay",
        _overlay_params(view, view.the(MatrixSetDiag)),
        Entry(operands=(0, 1)),
        Needs(in_place=(0,), overlays=True),
    )


def _update(view: View) -> Packed:
    op, x = view.the(DynamicUpdateSlice), view.input
    step, last = steps(x.shape, x.dtype.itemsize), op.last(view.graph)
    rows = [(i, last[i], 0, step[i]) for i in range(len(x.shape)) if last[i] > 0]
    params: Params = {
        "axes": len(rows),
        "width": op.input(view.graph, 2).dtype.itemsize,
        "begin": begins(rows),
        "overlay": _overlay_params(view, op),
    }
    return Packed("update", params, Entry(operands=(0, 1, 2)), Needs(in_place=(0,), overlays=True))


def _diagonals(view: View) -> Packed:
    op, y = view.the(MatrixDiag), view.output
    fill = fill_params(y.nbytes, np.zeros(1, np.int8))
    return Packed("pad", {"fill": fill, "move": move_params(op.loops(view.graph), y.dtype.itemsize)})


KERNELS = (
    *(
        Kernel(
            f"scatter_{suffix}",
            (ScatterNd,),
            signature(dtype, dtype),
            _scatter,
            header="scatter",
            costs=OTHER_F32 if dtype == DType.FLOAT32 else OTHER,
        )
        for dtype, (suffix, _, _) in SUMS.items()
    ),
    Kernel("put", (SparseToDense,), ANY_TYPE, _put, header="scatter", costs=OTHER),
    Kernel("one_hot", (OneHot,), ANY_TYPE, _one_hot, header="scatter", costs=OTHER),
    Kernel("reverse_sequence", (ReverseSequence,), ANY_TYPE, _reverse_sequence, header="scatter", costs=OTHER),
    Kernel("overlay", (MatrixSetDiag,), ANY_TYPE, _set_diagonals, header="overlay", costs=OTHER),
    Kernel("update", (DynamicUpdateSlice,), ANY_TYPE, _update, header="overlay", costs=OTHER),
    Kernel("diagonals", (MatrixDiag,), ANY_TYPE, _diagonals, header="move", costs=OTHER),
)
