"""Operators that only move elements: `mote_join.h` by rows, `mote_move.h` where rows do not stay together.

Elements are moved as bytes, whatever their type.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.graph import Tensor
from mote.graph.tensor import Array
from mote.kernels.contract import ANY_TYPE, OTHER, Call, Instance, Kernel, Packed, Params, Refusal, Structs, View
from mote.ops.move import Join, Loop, Pad, RowCopy, Span, Transpose, merge, span_loops, steps
from mote.ops.slice import Slice

BY_ROWS = Refusal("it can be done by rows")


def _width(t: Tensor) -> int:
    """The bytes of an element."""
    return t.dtype.itemsize


def _move_params(loops: Sequence[Loop], width: int, in_start: int = 0, out_start: int = 0) -> Params:
    """`mote_move_t`."""
    merged, run = merge(loops, width)
    return {
        "axes": len(merged),
        "run": run,
        "in_start": in_start,
        "out_start": out_start,
        "axis": Structs("mote_move_axis_t", np.array(merged, np.int64)),
    }


def _span_params(spans: Sequence[Span], width: int) -> Params:
    """`mote_move_t` of a copy between boxes."""
    source, target = steps([s.size for s in spans], width), steps([s.total for s in spans], width)
    in_start = sum(s.begin * i for s, i in zip(spans, source, strict=True))
    out_start = sum(s.at * o for s, o in zip(spans, target, strict=True))
    return _move_params(span_loops(spans, width), width, in_start, out_start)


def _fill_params(nbytes: int, value: Array) -> Params:
    """`mote_fill_t`; a value whose bytes are all the same is one byte wide."""
    pattern = np.frombuffer(value.tobytes(), np.int8)
    if np.all(pattern == pattern[0]):
        pattern = pattern[:1]
    return {"bytes": nbytes, "width": pattern.size, "value": pattern}


def _padding(view: View, elements: int) -> Params:
    """So many elements of what PAD puts around its input; other operators fill nothing."""
    if not isinstance(view.op, Pad):
        return _fill_params(0, np.zeros(1, np.int8))
    value = np.array(view.op.value).astype(view.output.dtype.numpy)
    return _fill_params(elements * value.itemsize, value)


def _part(copy: RowCopy, width: int) -> list[int]:
    """`mote_part_t`."""
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
    return Packed(name, params, Call.ROWS, operands=operands, row="join_row", moves=True, instances=instances)


def _join_instance(count: int) -> Instance:
    """The function that joins so many inputs."""
    names = [f"x{i}" for i in range(count)]
    inputs = ", ".join(f"const void *{x}" for x in names)
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
    return Packed("move", _move_params(view.the(Transpose).loops(view.graph), _width(view.output)))


KERNELS = (
    Kernel("join", (Join,), ANY_TYPE, _join, header="join", costs=OTHER),
    Kernel("pad", (Pad,), ANY_TYPE, _pad, header="move", costs=OTHER),
    Kernel("move", (Slice,), ANY_TYPE, _slice, costs=OTHER),
    Kernel("move", (Transpose,), ANY_TYPE, _transpose, costs=OTHER),
)
