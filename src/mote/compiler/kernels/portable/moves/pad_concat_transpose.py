"""Operators that only move data: `mote_join.h` row by row, `mote_move.h` where output rows are not made of input rows.

Elements are copied as bytes, whatever their type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from mote.compiler.kernels.contract import (
    ANY_TYPE,
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
from mote.compiler.kernels.pack.moves import BY_ROWS, Work, fill_params, move_params, move_work, moved, moving, run_work
from mote.ir.graph import Tensor
from mote.ir.graph.rows import row_count
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
    work = sum((_part_work(c, width) for c in copies), _fill_work(view, copies, elements * width))
    work["row"] = row_count(view.output.shape)
    entry = Entry(Call.ROWS, operands=operands, row="join_row", moves=True)
    return Packed(f"join_{count}", params, entry, price=moving("join", work), instances=instances)


def _part_work(copy: RowCopy, width: int) -> Work:
    """The work of one row-by-row copy in all rows of all images."""
    *_, in_row, in_start, out_start, lines, line_in, line_out, items, item_in, item_out, run = _part(copy, width)
    times = copy.images * copy.rows.count
    out_row = copy.columns.total * copy.channels.total * width
    places = (in_row, out_row, in_start, out_start, run, line_in, line_out, item_in, item_out)
    aligned = all(place % 4 == 0 for place in places)
    return Counter(step=times * lines) + run_work(times * lines * items, run, aligned)


def _fill_work(view: View, copies: Sequence[RowCopy], row: int) -> Work:
    """The bytes that PAD fills in all rows, of `row` bytes: without what a copy in one piece covers."""
    if not isinstance(view.op, Pad):
        return Counter()
    copy = copies[0]
    *_, lines, _, _, items, _, _, run = _part(copy, _width(view.output))
    covered = copy.rows.count * run if lines * items == 1 else 0
    return Counter(filled=copy.images * (copy.rows.total * row - covered))


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
    work = Counter(filled=view.output.nbytes) + move_work(move)
    return Packed("pad", {"fill": _padding(view, view.output.size), "move": move}, price=moving("move", work))


def _slice(view: View) -> Packed | Refusal:
    op = view.the(Slice)
    if op.row_copies(view.graph) is not None:
        return BY_ROWS
    return moved(_span_params(op.spans(view.graph)[0], _width(view.output)))


def _transpose(view: View) -> Packed:
    return moved(move_params(view.the(Transpose).loops(view.graph), _width(view.output)))


KERNELS = (
    Kernel("join", (Join,), ANY_TYPE, _join, header="join"),
    Kernel("pad", (Pad,), ANY_TYPE, _pad, header="move", costs="move"),
    Kernel("move", (Slice,), ANY_TYPE, _slice),
    Kernel("move", (Transpose,), ANY_TYPE, _transpose),
)
