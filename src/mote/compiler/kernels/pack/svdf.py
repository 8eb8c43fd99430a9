"""Packing shared by the kernels of SVDF, portable ones and those of instruction sets."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import Entry, Needs, Packed, Params, Refusal, View
from mote.compiler.kernels.pack.params import scale_params
from mote.compiler.kernels.pack.weights.matrix import Matrix
from mote.ir.graph.tensor import Array
from mote.ir.ops.recurrent.svdf import STATE, Svdf


def svdf_sizes(view: View) -> Params:
    """Fields at the start of all SVDF kernel structs."""
    rank, time = view.the(Svdf).rank, view.constant(2)
    return {
        "batch": view.input.shape[0],
        "units": len(time) // rank,
        "rank": rank,
        "memory": time.shape[1],
        "time": time,
    }


def svdf_filters(view: View) -> Matrix:
    """The feature weights, which reduce an input vector to one number per filter."""
    weights = view.constant(1)
    scale, _ = view.the(Svdf).scales(view.graph)
    return Matrix(weights, -view.input.zero_point, np.zeros(len(weights), np.int64), scale)


def svdf(view: View, name: str, filters: Params, scratch: int | None = None) -> Packed | Refusal:
    """Packs the int8 kernel with int16 state; `filters` are the feature weights in the kernel's own order."""
    if view.the(Svdf).small_state(view.graph):
        return Refusal("the state is int8")
    return Packed(
        name, {**_layer(view, filters), "bias": _starts(view)}, Entry(operands=(0, STATE)), Needs(scratch=scratch)
    )


def svdf_state8(view: View, name: str, filters: Params, scratch: int | None = None) -> Packed | Refusal:
    """Packs the int8 kernel with int8 state; `filters` are the feature weights in the kernel's own order."""
    op = view.the(Svdf)
    if not op.small_state(view.graph):
        return Refusal("the state is int16")
    params = {**_layer(view, filters), "start": _starts(view), "kept_zero": op.input(view.graph, STATE).zero_point}
    return Packed(name, params, Entry(operands=(0, STATE)), Needs(scratch=scratch))


def _layer(view: View, filters: Params) -> Params:
    _, output = view.the(Svdf).scales(view.graph)
    return {**svdf_sizes(view), "filters": filters, **scale_params(*output), "zero": view.output.zero_point}


def _starts(view: View) -> Array:
    return view.the(Svdf).start(view.graph).astype(np.int32)
