"""Rows that convolutions keep with their padding: the parameters of `mote_padded_rows.h`."""

from __future__ import annotations

from typing import NamedTuple

from mote.compiler.kernels.contract import Params, View, aligned
from mote.compiler.kernels.pack.params import window_params
from mote.ir.ops.common import WindowOp


class Padded(NamedTuple):
    """`mote_padded_t`, the columns that rows have, and the bytes of those under a window."""

    params: Params
    columns: int
    size: int


def padded_rows(view: View, least: int = 0) -> Padded | None:
    """Rows of `least` columns and more, or None where windows have no padding."""
    op, x, y = view.the(WindowOp), view.input.shape, view.output.shape
    v, h = op.vertical, op.horizontal
    if not (v.before or v.after or h.before or h.after):
        return None
    columns = max(h.before + x[2], (y[2] - 1) * h.stride + h.extent, least)
    size = aligned(columns * x[3])
    params: Params = {"size": size, "left": h.before * x[3], "line": x[2] * x[3]}
    return Padded(params, columns, v.kernel * size)


def padded_params(view: View, padded: Padded | None) -> Params:
    """`mote_window_t`, `mote_span_t` and `mote_padded_t`: rows that have their padding have none at the sides."""
    window = window_params(view)
    if padded is None:
        return window | {"padded": {"size": 0, "left": 0, "line": 0}}
    cols = window["cols"]
    assert isinstance(cols, dict)
    return window | {"cols": cols | {"in_size": padded.columns, "pad": 0}, "padded": padded.params}
