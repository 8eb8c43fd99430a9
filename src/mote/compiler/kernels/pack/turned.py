"""Depthwise layers over images of one column as layers over images of one row, and the other way round, whose elements
lie the same way in memory."""

from __future__ import annotations

from dataclasses import replace

from mote.compiler.kernels.contract import View
from mote.ir.ops.windows.depthwise import DepthwiseConv2D


def turned(view: View) -> View:
    """The layer with rows and columns swapped; its weights keep their shape."""
    op, x, y = view.the(DepthwiseConv2D), view.input, view.output
    swapped = [replace(t, shape=(t.shape[0], t.shape[2], t.shape[1], t.shape[3])) for t in (x, y)]
    other = op.with_(vertical=op.horizontal, horizontal=op.vertical)
    return View(view.graph.with_ops([other], swapped), (other,))
