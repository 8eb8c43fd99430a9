"""SELECT and ADD_N: `mote_select.h`, `mote_add_n.h`."""

from __future__ import annotations

import numpy as np

from mote.compiler.kernels.contract import (
    OTHER,
    OTHER_F32,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    Signature,
    Structs,
    View,
    signature,
)
from mote.compiler.kernels.pack.broadcast import runs_of
from mote.compiler.kernels.pack.elements import CTYPES, SUFFIXES
from mote.compiler.kernels.pack.params import output_params, scale_params
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.elementwise.add_n import AddN
from mote.ir.ops.elementwise.select import Select


def _select(view: View) -> Packed:
    op, g, y = view.the(Select), view.graph, view.output
    name = f"select_{SUFFIXES[y.dtype]}"
    (run, steps), runs, loops = runs_of(y.shape, *(op.operand(g, p) for p in range(3)))
    axes = np.array([(n, *each) for n, each in loops] or [(1, 0, 0, 0)], np.int64)
    params: Params = {
        "run": run,
        "runs": runs,
        **dict(zip(("c_step", "x_step", "y_step"), steps, strict=True)),
        "axes": len(loops),
        "axis": Structs("mote_select_axis_t", axes),
    }
    tensors = [op.input(g, p) for p in range(3)]
    over = tuple(p for p, t in enumerate(tensors) if t.shape == y.shape and t.dtype.itemsize == y.dtype.itemsize)
    instance = Instance("MOTE_SELECT", (name, CTYPES[y.dtype]))
    return Packed(name, params, Entry(Call.ROWS, operands=(0, 1, 2)), Needs(in_place=over), instances=(instance,))


def _add_n(view: View) -> Packed:
    op, x = view.the(AddN), view.input
    count, kind, ctype = len(op.inputs), SUFFIXES[x.dtype], CTYPES[x.dtype]
    params: Params = {"inputs": count}
    if x.dtype == DType.INT8:
        scale = scale_params(*op.multiplier(view.graph))
        params |= {"zeros": (count + 1) * x.zero_point, **scale, "output": output_params(Activation.NONE, view.output)}
    names = [f"x{i}" for i in range(count)]
    inputs = ", ".join(f"const {ctype} *{name}" for name in names)
    parameters = f"(const mote_add_n_t *p, {inputs}, {ctype} *out, int32_t n)"
    instance = Instance("MOTE_ADD_N", (kind, count, ctype, parameters, *names))
    each = tuple(range(count))
    return Packed(
        f"add_{count}_{kind}",
        params,
        Entry(Call.FLAT, x.size, operands=each),
        Needs(in_place=each),
        instances=(instance,),
    )


INTEGERS = frozenset({DType.INT8, DType.INT32})
KERNELS = (
    Kernel("select", (Select,), Signature(frozenset({DType.BOOL})), _select, header="select", costs=OTHER),
    Kernel("add_n", (AddN,), Signature(INTEGERS, INTEGERS), _add_n, header="add_n", costs=OTHER),
    Kernel("add_n_f32", (AddN,), signature(DType.FLOAT32, DType.FLOAT32), _add_n, header="add_n", costs=OTHER_F32),
)
