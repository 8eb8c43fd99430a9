"""Packers of kernels that write state or copy tensors: `mote_copy.h`, `mote_slide.h` and `mote_ring.h`."""

from __future__ import annotations

from math import prod

from mote.compiler.kernels.contract import ANY_TYPE, OTHER, Call, Entry, Kernel, Packed, Refusal, View
from mote.ir.graph.tensor import Shape
from mote.ir.ops.control.state import Assign, SlidingWindow
from mote.ir.ops.moves.reshape import Reshape

NEW = 1
"""The position of what is new among the inputs of an operator that updates a state."""


def _assign(view: View) -> Packed:
    return Packed("copy", {"bytes": view.output.nbytes}, Entry(operands=(NEW,)))


def _reshape(view: View) -> Packed:
    """Of a constant, which has no buffer that the output could share."""
    return Packed("copy", {"bytes": view.output.nbytes})


def _slide(view: View) -> Packed:
    """The window that slides in place: readers find the elements in their order."""
    window, new = view.output, view.op.input(view.graph, NEW)
    runs = prod(window.shape[: view.the(SlidingWindow).axis])
    fresh = new.nbytes // runs
    return Packed(
        "slide", {"runs": runs, "kept": window.nbytes // runs - fresh, "fresh": fresh}, Entry(operands=(NEW,))
    )


def _ring(view: View) -> Packed | Refusal:
    """The ring buffer, where rows of the stream are rows of the window."""
    window, new, axis = view.output, view.op.input(view.graph, NEW), view.the(SlidingWindow).axis
    if prod(window.shape[:axis]) != 1 or axis not in _row_axes(window.shape):
        return Refusal("rows of the stream are not rows of the window")
    rows, fresh = window.shape[axis], new.shape[axis]
    return Packed(
        "ring", {"rows": rows, "fresh": fresh, "bytes": window.nbytes // rows}, Entry(Call.RING, operands=(NEW,))
    )


def _row_axes(shape: Shape) -> range:
    """Axes that rows lie along; those outside of them have one element."""
    return range(len(shape) - 2) if len(shape) > 2 else range(len(shape) - 1)


KERNELS = (
    Kernel("copy", (Assign,), ANY_TYPE, _assign, costs=OTHER),
    Kernel("copy", (Reshape,), ANY_TYPE, _reshape, costs=OTHER),
    Kernel("slide", (SlidingWindow,), ANY_TYPE, _slide, costs=OTHER),
    Kernel("ring", (SlidingWindow,), ANY_TYPE, _ring, call=Call.RING, costs=OTHER),
)
