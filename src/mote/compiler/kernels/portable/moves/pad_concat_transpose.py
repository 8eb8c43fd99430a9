"""Operators that only move data: `mote_join.h` row by row, `mote_move.h` where output rows are not made of input rows.

Elements are copied as bytes, whatever their type.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.compiler.kernels.contract import (
    ANY_TYPE,
    OTHER,
    Call,
    Entry,
    Instance,
    Kernel,
    Packed,
    Params,
    Refusal,
    Structs,
    View,
)
from mote.compiler.kernels.pack.moves import BY_ROWS, fill_params, move_params
from mote.ir.graph import Tensor
from mote.ir.ops.moves.pad_concat_transpose import CopySpan, Join, Pad, RowCopy, Transpose, merge, span_loops, steps
from mote.ir.ops.moves.slice import Slice


def _width(t: Tensor) -> int:
    """Bytes of an element."""
    return t.dtype.itemsize


def _span_params(spans: Sequence[CopySpan], width: int) -> Params:
    """The fields of `mote_move_t` for a copy between regions of two tensors."""
    source, target = steps([s.size for s in spans], width), steps([s.total for s in spans], width)
    in_start = sum(s.begin * i for s, i in zip(spans, source, strict=True))
    out_start = sum(s.at * o for s, o in zip(spans, target, strict=True))
    return move_params(span_loops(spans, width), width, in_start, out_start)


def _padding(view: View, elements: int) -> Params:
    """The fields of `mote_fill_t` that fill `elements` elements with PAD's value; other operators fill nothing."""
    if not isinstance(view.op, Pad):
        return fill_params(0, np.zeros(1, np.int8))
    value = np.array(view.op.value).astype(view.output.dtype.numpy)
    return fill_params(elements * value.itemsize, value)


def _part(copy: RowCopy, width: int) -> list[int]:
    """The fields of `mote_part_t`: one row-by-row copy."""
    w, c = copy.columns, copy.channels
    loops, run = merge(span_loops([w, c], width), width)
    (lines, line_in, line_out), (items, item_in, item_out) = [(1, 0, 0)] * (2 - len(loops)) + loops
    starts = [(w.begin * c.size + c.begin) * width, (w.at * c.total + c.at) * width]
    image = [copy.first, copy.rows.step, copy.rows.size, w.size * c.size * width]
    return [*image, *starts, lines, line_in, line_out, items, item_in, item_out, run]


def _join(view: View) -> Packed | Refusal:
    copies = view.the(Join).row_copies(view.graph)
    if copies is None:
        return Refusal("rows of the output are not made from rows of the inputs")
    count, width = len(copies), _width(view.output)
    rows = copies[0]
    elements = rows.columns.total * rows.channels.total
    params: Params = {
        "out_rows": rows.rows.total,
        "out_stride": elements * width,
        "parts": count,
        "part": Structs("mote_part_t", np.array([_part(c, width) for c in copies], np.int64)),
        "fill": _padding(view, elements),
    }
    instances = (_join_instance(count),)
    operands = tuple(range(count))
    name = f"join_{count}"
    return Packed(name, params, Entry(Call.ROWS, operands=operands, row="join_row", moves=True), instances=instances)


def _join_instance(count: int) -> Instance:
    """The macro instance that concatenates `count` inputs."""
    names = [f"x{i}" for i in range(count)]
    inputs = ", ".join(f"mote_any_const_t {x}" for x in names)
    return Instance(
        "MOTE_JOIN", (count, f"(const mote_join_t *p, {inputs}, void *out, int32_t lo, int32_t hi)", *names)
    )


def _pad(view: View) -> Packed | Refusal:
    op = view.the(Pad)
    if op.row_copies(view.graph) is not None:
        return BY_ROWS
    move = _span_params(op.spans(view.graph)[0], _width(view.output))
    return Packed("pad", {"fill": _padding(view, view.output.size), "move": move})


def _slice(view: View) -> Packed | Refusal:
    op = view.the(Slice)
    if op.row_copies(view.graph) is not None:
        return BY_ROWS
    return Packed("move", _span_params(op.spans(view.graph)[0], _width(view.output)))


def _transpose(view: View) -> Packed:
    return Packed("move", move_params(view.the(Transpose).loops(view.graph), _width(view.output)))


KERNELS = (
    Kernel("join", (Join,), ANY_TYPE, _join, header="join", costs=OTHER),
    Kernel("pad", (Pad,), ANY_TYPE, _pad, header="move", costs=OTHER),
    Kernel("move", (Slice,), ANY_TYPE, _slice, costs=OTHER),
    Kernel("move", (Transpose,), ANY_TYPE, _transpose, costs=OTHER),
)
