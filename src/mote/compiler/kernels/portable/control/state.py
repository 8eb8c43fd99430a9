"""Packers of kernels that write state or copy tensors: `mote_copy.h`, `mote_slide.h` and `mote_ring.h`."""

from __future__ import annotations

from math import prod

from mote.compiler.kernels.contract import ANY_TYPE, OTHER, Call, Entry, Kernel, Packed, Refusal, View
from mote.ir.graph.tensor import Shape
from mote.ir.ops.control.state import Assign, SlidingWindow
from mote.ir.ops.moves.reshape import Reshape

NEW = 1
"""Input position of the new values, for operators that update a state."""


def _assign(view: View) -> Packed:
    return Packed("copy", {"bytes": view.output.nbytes}, Entry(operands=(NEW,)))


def _reshape(view: View) -> Packed:
    """Packs RESHAPE of a constant as a copy, because a constant has no buffer to share."""
    return Packed("copy", {"bytes": view.output.nbytes})


def _slide(view: View) -> Packed:
    """Packs a sliding window that moves its contents, so that readers find the elements in order."""
    window, new = view.output, view.op.input(view.graph, NEW)
    runs = prod(window.shape[: view.the(SlidingWindow).axis])
    fresh = new.nbytes // runs
    return Packed(
        "slide", {"runs": runs, "kept": window.nbytes // runs - fresh, "fresh": fresh}, Entry(operands=(NEW,))
    )


def _ring(view: View) -> Packed | Refusal:
    """Packs a sliding window as a ring buffer, if rows of the stream are rows of the window."""
    window, new, axis = view.output, view.op.input(view.graph, NEW), view.the(SlidingWindow).axis
    if prod(window.shape[:axis]) != 1 or axis not in _row_axes(window.shape):
        return Refusal("rows of the stream are not rows of the window")
    rows, fresh = window.shape[axis], new.shape[axis]
    return Packed(
        "ring", {"rows": rows, "fresh": fresh, "bytes": window.nbytes // rows}, Entry(Call.RING, operands=(NEW,))
    )


def _row_axes(shape: Shape) -> range:
    """Axes that rows are stacked along: all but the last two, or but the last one of a matrix."""
    return range(len(shape) - 2) if len(shape) > 2 else range(len(shape) - 1)


KERNELS = (
    Kernel("copy", (Assign,), ANY_TYPE, _assign, costs=OTHER),
    Kernel("copy", (Reshape,), ANY_TYPE, _reshape, costs=OTHER),
    Kernel("slide", (SlidingWindow,), ANY_TYPE, _slide, costs=OTHER),
    Kernel("ring", (SlidingWindow,), ANY_TYPE, _ring, call=Call.RING, costs=OTHER),
)
