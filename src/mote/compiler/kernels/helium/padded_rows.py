"""Input rows that convolutions copy with their padding: parameters of `mote_padded_rows.h`."""

from __future__ import annotations

from typing import NamedTuple

from mote.compiler.kernels.contract import Params, View, aligned
from mote.compiler.kernels.pack.params import window_params
from mote.ir.ops.common import WindowOp


class Padded(NamedTuple):
    """Padded input rows: parameters `mote_padded_t`, columns of a row, and scratch bytes for the rows of a window."""

    params: Params
    columns: int
    size: int


def padded_rows(view: View, least: int = 0) -> Padded | None:
    """Padded rows of at least `least` columns; None: windows have no padding."""
    op, x, y = view.the(WindowOp), view.input.shape, view.output.shape
    v, h = op.vertical, op.horizontal
    if not (v.before or v.after or h.before or h.after):
        return None
    columns = max(h.before + x[2], (y[2] - 1) * h.stride + h.extent, least)
    size = aligned(columns * x[3])
    params: Params = {"size": size, "left": h.before * x[3], "line": x[2] * x[3]}
    return Padded(params, columns, v.kernel * size)


def padded_params(view: View, padded: Padded | None) -> Params:
    """Parameters `mote_window_t`, `mote_span_t` and `mote_padded_t`; copied rows include the padding, so that windows
    have none at the sides."""
    window = window_params(view)
    if padded is None:
        return window | {"padded": {"size": 0, "left": 0, "line": 0}}
    cols = window["cols"]
    assert isinstance(cols, dict)
    return window | {"cols": cols | {"in_size": padded.columns, "pad": 0}, "padded": padded.params}
