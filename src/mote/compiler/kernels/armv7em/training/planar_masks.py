"""Masks of activations (for gradients of clipping) that are stored in planar rows for depthwise layers:
`mote_planar_masks_s8.h`."""

from __future__ import annotations

from math import prod

from mote.compiler.kernels.armv7em.common import DSP
from mote.compiler.kernels.armv7em.depthwise.depthwise_planar import planar_layout
from mote.compiler.kernels.contract import OTHER, Call, Entry, Kernel, Needs, Packed, View
from mote.compiler.kernels.pack.planar import Planar
from mote.compiler.kernels.portable.training.integer_gradients import BITS
from mote.ir.ops.training.integer.masks import ActivationMask
from mote.ir.ops.windows.depthwise import DepthwiseConv2D


def _layout(view: View) -> Planar | None:
    """The planar layout in which depthwise layers read the masked tensor; None: they use none, or different ones."""
    readers = (op for op in view.graph.ops if isinstance(op, DepthwiseConv2D) and op.inputs[0] == view.input.id)
    layouts = {planar_layout(View(view.graph, (op,))) for op in readers}
    return layouts.pop() if len(layouts) == 1 else None


def _mask(view: View) -> Packed:
    op, (*rows, width, channels), (line, before) = view.the(ActivationMask), view.input.shape, view.reads.planes
    params = {"channels": channels, "width": width, "line": line, "before": before, "low": op.low, "high": op.high}
    return Packed("planar_mask_s8", params, Entry(Call.FLAT, prod(rows)), Needs(reads=view.reads))


KERNELS = (
    Kernel("planar_mask", (ActivationMask,), BITS, _mask, "planar_masks_s8", isa=DSP, costs=OTHER, reads=_layout),
)
