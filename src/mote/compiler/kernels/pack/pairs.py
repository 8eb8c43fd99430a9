"""Packing shared by binary element-wise kernels: `mote_pairs.h`."""

from __future__ import annotations

from collections.abc import Sequence

from mote.compiler.kernels.contract import Call, Entry, Instance, Needs, Packed, Params, View
from mote.compiler.kernels.pack.broadcast import pairs
from mote.compiler.kernels.pack.elements import CTYPES, SUFFIXES
from mote.compiler.kernels.pack.params import scale_params
from mote.ir.graph import Tensor
from mote.ir.graph.types import Activation
from mote.ir.ops.common import quantized_range

NOTHING: Params = {"unused": 0}
"""Parameters of a function without any: a struct in C must have a field."""


def pair_kernel(view: View, stem: str, macro: str, arguments: Sequence[str], params: Params = NOTHING) -> Packed:
    """Packs a kernel defined by `macro`: element-wise for operands of equal shape, otherwise broadcasting by rows."""
    g, op, y = view.graph, view.op, view.output
    a, b = op.input(g), op.input(g, 1)
    name = f"{stem}_{SUFFIXES[a.dtype]}"
    instances = (Instance(macro, (name, *arguments)),)
    over = tuple(p for p, t in enumerate((a, b)) if t.shape == y.shape and t.dtype.itemsize == y.dtype.itemsize)
    if a.shape == b.shape:
        return Packed(
            name, params, Entry(Call.FLAT, y.size, operands=(0, 1)), Needs(in_place=over), instances=instances
        )
    both: Params = {"pairs": pairs(y.shape, a.shape, b.shape), "each": params}
    return Packed(f"{name}_rows", both, Entry(Call.ROWS, operands=(0, 1)), Needs(in_place=over), instances=instances)


def plain_kernel(view: View, stem: str, of: str, struct: str = "mote_nothing_t", params: Params = NOTHING) -> Packed:
    """Packs a kernel that applies the C function or macro `of` to two elements."""
    tensors = view.input, view.op.input(view.graph, 1), view.output
    types = [CTYPES[t.dtype] for t in tensors]
    return pair_kernel(view, stem, "MOTE_PAIRS", (struct, *types, of), params)


def term_params(t: Tensor, scale: tuple[int, int]) -> Params:
    """Zero point and rescaling of an operand."""
    return {"zero": t.zero_point, **scale_params(*scale)}


def result_params(scale: tuple[int, int], activation: Activation, output: Tensor) -> Params:
    """The fields of `mote_result_t`: rescaling, zero point and limits of a result."""
    lo, hi = quantized_range(activation, output)
    return {**scale_params(*scale), "zero": output.zero_point, "lo": lo, "hi": hi}
