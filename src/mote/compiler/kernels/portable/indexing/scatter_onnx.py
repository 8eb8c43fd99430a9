"""ONNX Scatter, which combines a tensor with updates at run-time indices: `mote_scatter_into.h`."""

from __future__ import annotations

from math import prod

from mote.compiler.kernels.contract import ANY_TYPE, OTHER, Entry, Instance, Kernel, Needs, Packed, Params, View
from mote.compiler.kernels.pack.elements import CTYPES, SUFFIXES
from mote.compiler.kernels.pack.moves import indexed
from mote.ir.ops.indexing.scatter_onnx import Combine, Scatter

COMBINED = {
    Combine.PUT: "y",
    Combine.ADD: "a + b",
    Combine.MULTIPLY: "a * b",
    Combine.LEAST: "y < x ? y : x",
    Combine.MOST: "y > x ? y : x",
}


def _scatter(view: View) -> Packed:
    op, x = view.the(Scatter), view.input
    indices = op.input(view.graph, 2)
    depth = indices.shape[-1]
    params: Params = {
        "bytes": x.nbytes,
        "count": indices.size // depth,
        "depth": depth,
        "run": prod(x.shape[depth:]),
        "index_width": indices.dtype.itemsize,
        "axis": indexed(x.shape, depth, x.dtype.itemsize),
    }
    name, ctype = f"scatter_{op.combine}_{SUFFIXES[x.dtype]}", CTYPES[x.dtype]
    word = ctype if x.dtype.real else "uint64_t" if x.dtype.itemsize == 8 else "uint32_t"
    instance = Instance("MOTE_SCATTER_INTO", (name, ctype, word, COMBINED[op.combine]))
    return Packed(name, params, Entry(operands=(0, 1, 2)), Needs(in_place=(0,), overlays=True), instances=(instance,))


KERNELS = (Kernel("scatter_into", (Scatter,), ANY_TYPE, _scatter, header="scatter_into", costs=OTHER),)
