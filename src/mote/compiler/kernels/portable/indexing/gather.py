"""Gather, lookup and slices with run-time indices: `mote_lookup.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import (
    ANY_TYPE,
    OTHER,
    OTHER_F32,
    Entry,
    Kernel,
    Packed,
    Params,
    Refusal,
    View,
    signature,
)
from mote.compiler.kernels.pack.moves import begins, indexed, move_params
from mote.ir.graph.types import DType
from mote.ir.ops.indexing.gather import DynamicSlice, Gather, GatherNd, ScaledLookup
from mote.ir.ops.moves.pad_concat_transpose import steps


def _index_width(view: View) -> int:
    return view.op.input(view.graph, 1).dtype.itemsize


def _gather(view: View) -> Packed | Refusal:
    op = view.the(Gather)
    if isinstance(op, ScaledLookup):
        return Refusal("its table is quantized")
    batches, outer, size, count, behind = op.sizes(view.graph)
    params: Params = {
        "batches": batches,
        "outer": outer,
        "size": size,
        "count": count,
        "run": behind * view.output.dtype.itemsize,
        "width": _index_width(view),
    }
    return Packed("lookup", params, Entry(operands=(0, 1)))


def _gather_nd(view: View) -> Packed:
    g, indices = view.graph, view.op.input(view.graph, 1).shape
    depth = indices[-1]
    params: Params = {
        "count": view.op.input(g, 1).size // depth,
        "depth": depth,
        "run": steps(view.input.shape, view.output.dtype.itemsize)[depth - 1],
        "width": _index_width(view),
        "axis": indexed(view.input.shape, depth, view.output.dtype.itemsize),
    }
    return Packed("lookup_nd", params, Entry(operands=(0, 1)))


def _slice(view: View) -> Packed:
    op, width = view.the(DynamicSlice), view.output.dtype.itemsize
    x, last = view.input.shape, op.last(view.graph)
    step = steps(x, width)
    fixed = sum(at * s for at, s in zip(op.fixed, step, strict=True))
    rows = [(i, last[a], x[a] if op.wraps else 0, step[a]) for i, a in enumerate(op.given) if a >= 0]
    params: Params = {
        "axes": len(rows),
        "width": _index_width(view),
        "begin": begins(rows),
        "move": move_params(op.loops(view.graph), width, fixed),
    }
    return Packed("lookup_box", params, Entry(operands=(0, 1)))


def _scaled(view: View) -> Packed:
    op = view.the(ScaledLookup)
    _, _, size, count, behind = op.sizes(view.graph)
    scale = op.scales(view.graph)
    params: Params = {
        "size": size,
        "count": count,
        "run": behind,
        "width": _index_width(view),
        "step": int(scale.size > 1),
        "scale": scale.astype(np.float32),
    }
    return Packed("lookup_f32", params, Entry(operands=(0, 1)))


KERNELS = (
    Kernel("lookup", (Gather,), ANY_TYPE, _gather, header="lookup", costs=OTHER),
    Kernel("lookup_nd", (GatherNd,), ANY_TYPE, _gather_nd, header="lookup", costs=OTHER),
    Kernel("lookup_box", (DynamicSlice,), ANY_TYPE, _slice, header="lookup", costs=OTHER),
    Kernel(
        "lookup_f32",
        (ScaledLookup,),
        signature(DType.INT8, DType.FLOAT32),
        _scaled,
        header="lookup",
        costs=OTHER_F32,
    ),
)
