"""Transposed convolutions by kernels of ordinary ones: what `mote_transpose_conv_rows_s8.h` needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from mote.compiler.kernels.contract import (
    ALIGNMENT,
    INT8,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    Price,
    Refusal,
    View,
    aligned,
)
from mote.ir.graph.tensor import Tensor
from mote.ir.ops.common import Axis
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.transpose_conv import TransposeConv

NAME = "transpose_conv_rows"
MOST_PHASES = 2
OUTSIDE = Refusal("some outputs are reached by no input, or some inputs reach none")


@dataclass(frozen=True)
class _Inner:
    """An axis of the convolution that computes the outputs of a phase, or of neighbouring phases."""

    axis: Axis
    size: int
    """Inputs under its windows."""
    outputs: int


def _axis(kernel: int, first: int, outputs: int, size: int) -> _Inner | None:
    """Windows of `kernel` inputs of `size`, the first of which ends at input `first`."""
    before, behind = kernel - 1 - first, first + outputs - size
    return (
        _Inner(Axis(kernel, before=before, after=max(behind, 0)), size + min(behind, 0), outputs)
        if before >= 0
        else None
    )


def _rows(axis: Axis, phase: int, size: int, inputs: int) -> _Inner | None:
    """The axis of all outputs of a phase."""
    begin = (phase - axis.before) % axis.stride
    taps = len(range(phase, axis.kernel, axis.stride))
    return _axis(taps, (begin + axis.before) // axis.stride, -(-(size - begin) // axis.stride), inputs)


def _convolution(view: View, phase: int, rows: _Inner, columns: _Inner) -> View:
    """The convolution that computes the rows of a phase, `stride` pixels at a time as channels of one."""
    op, x, y = view.the(TransposeConv), view.input, view.output
    weights, bias = op.input(view.graph, 1), op.tensor(view.graph, 2)
    stride, fresh = op.horizontal.stride, view.graph.fresh_id()
    values = view.constant(1)[:, phase :: op.vertical.stride][:, ::-1]
    parts = np.zeros((stride, *values.shape[:2], columns.axis.kernel, values.shape[3]), np.int8)
    for first in range(stride):
        part = values[:, :, first::stride][:, :, ::-1]
        parts[first, :, :, columns.axis.kernel - part.shape[2] :] = part
    tensors = [
        replace(x, shape=(x.shape[0], rows.size, *x.shape[2:])),
        replace(y, shape=(x.shape[0], rows.outputs, columns.outputs, stride * y.shape[3])),
        _repeated(weights, fresh, parts.reshape(-1, *parts.shape[2:]), stride),
    ]
    inputs = [x.id, fresh]
    if bias is not None and bias.data is not None:
        tensors.append(_repeated(bias, fresh + 1, np.tile(bias.data, stride), stride))
        inputs.append(fresh + 1)
    made = Conv2D(
        inputs=tuple(inputs),
        outputs=op.outputs,
        vertical=rows.axis,
        horizontal=columns.axis,
        activation=op.activation,
        rounding=op.rounding,
    )
    return View(view.graph.with_ops([made], tensors), (made,), small=view.small, fast=view.fast)


def _repeated(tensor: Tensor, number: int, data: np.ndarray, times: int) -> Tensor:
    """Constants of the channels of several neighbouring pixels."""
    quant = tensor.quant
    if quant is not None and quant.per_channel:
        zeros = np.tile(quant.zero_point, times) if quant.zero_point.size > 1 else quant.zero_point
        quant = replace(quant, scale=np.tile(quant.scale, times), zero_point=zeros)
    return replace(tensor, id=number, shape=data.shape, data=data, quant=quant)


def _views(view: View) -> tuple[list[View], _Inner] | Refusal:
    """The convolutions of all phases of rows, and the columns of their outputs."""
    op, x, y = view.the(TransposeConv), view.input.shape, view.output.shape
    v, h = op.vertical, op.horizontal
    phases = min(v.stride, y[1])
    if v.kernel < phases or h.kernel < h.stride:
        return OUTSIDE
    pixels = -(-(h.before % h.stride + y[2]) // h.stride)
    columns = _axis(-(-h.kernel // h.stride), h.before // h.stride, pixels, x[2])
    numbers = range(phases) if phases == v.stride else [v.before % v.stride]
    rows = [_rows(v, phase, y[1], x[1]) for phase in numbers]
    if phases > MOST_PHASES or (phases == 1 and y[1] > 1 and v.stride > 1):
        return Refusal(f"it is for strides of {MOST_PHASES} rows at most")
    if columns is None or columns.size < x[2] or not all(rows):
        return OUTSIDE
    return [_convolution(view, n, each, columns) for n, each in zip(numbers, rows, strict=True) if each], columns


def _best(view: View, kernels: Sequence[Kernel]) -> Packed | None:
    """The first kernel that computes rows of a convolution."""
    for kernel in kernels:
        packed = kernel.bind(view) if kernel.computed(view) else None
        if isinstance(packed, Packed) and (packed.entry.row or packed.entry.rows or packed.entry.call is Call.FLAT):
            return packed
    return None


def _call(kernel: Packed) -> tuple[str, str, str, str]:
    """How its function is called: the arguments of the macros that define the layer's."""
    entry = kernel.entry
    how, function = ("FLAT", kernel.name)
    if entry.row:
        how, function = "ROW", entry.row
    elif entry.call is not Call.FLAT:
        how, function = "ROWS", entry.rows
    working = "MOTE_PHASE_NO_SCRATCH" if kernel.needs.scratch is None else "MOTE_PHASE_SCRATCH"
    return f"MOTE_PHASE_{how}", kernel.name, function, working


def _products(view: View, kernel: Packed) -> float:
    """The products that a kernel computes for a convolution, with those of pixels that tiles have too many."""
    pixels, tile = view.output.shape[2], kernel.price.tile[1] if kernel.price.whole_tiles else 1
    return view.op.macs(view.graph) * kernel.price.density * (aligned(pixels, tile) / pixels)


def _pack(view: View, kernels: Sequence[Kernel]) -> Packed | Refusal:
    op, x, y = view.the(TransposeConv), view.input.shape, view.output.shape
    views = view.once(_views)
    if isinstance(views, Refusal):
        return views
    phases, columns = views
    if x[2] * x[3] % ALIGNMENT or y[2] * y[3] % ALIGNMENT:
        return Refusal("rows have no multiple of four bytes")
    packed = [_best(phase, kernels) for phase in phases]
    inner = [each for each in packed if each is not None]
    if len(inner) < len(packed):
        return Refusal("no kernel computes rows of the convolutions that it consists of")
    before = op.horizontal.before % op.horizontal.stride * y[3]
    width = columns.outputs * op.horizontal.stride * y[3]
    made = 0 if width == y[2] * y[3] else aligned(width)
    v = op.vertical
    params: Params = {
        "phases": {
            "count": y[0] * y[1],
            "in_rows": x[1],
            "out_rows": y[1],
            "in_stride": x[2] * x[3],
            "out_stride": y[2] * y[3],
            "rows": {"taps": v.kernel, "stride": v.stride, "pad": v.before},
            "columns": columns.outputs,
            "made": made,
            "before": before,
        },
        **{field: each.params for field, each in zip(("first", "second"), inner, strict=False)},
    }
    several = "_two" if len(inner) > 1 else ""
    name = f"{NAME}{several}_{'_'.join(dict.fromkeys(each.name for each in inner))}"
    arguments = (name, *(part for each in inner for part in _call(each)))
    macro = f"MOTE_TRANSPOSE_CONV_ROWS{several.upper()}"
    products = sum(_products(phase, each) for phase, each in zip(phases, inner, strict=True))
    return Packed(
        name,
        params,
        Entry(Call.WHOLE, taps=op.taps),
        Needs(made + max(aligned(each.needs.scratch or 0) for each in inner)),
        Price(density=products / op.macs(view.graph)),
        instances=(*dict.fromkeys(i for each in inner for i in each.instances), Instance(macro, arguments)),
        headers=tuple(dict.fromkeys(header for each in inner for header in each.headers)),
    )


def transposed(
    kernels: Sequence[Kernel], name: str, isa: frozenset[str], unless: frozenset[str] = frozenset()
) -> Kernel:
    """A kernel for transposed convolutions on cores with `isa`, by the first of these kernels for ordinary ones that
    fits each of its parts."""
    plain = [k for k in kernels if k.computes == (Conv2D,) and k.reads is None and k.isa <= isa]
    return Kernel(
        f"{NAME}_{name}",
        (TransposeConv,),
        INT8,
        partial(_pack, kernels=plain),
        header=f"{NAME}_s8",
        isa=isa,
        unless=unless,
        costs=NAME,
    )
