"""SOFTMAX: `mote_softmax_s8.h` and `mote_softmax_f32.h`, a vector at a time."""

from __future__ import annotations

from mote.kernels.contract import FLOAT32, INT8, Call, Kernel, Packed, Params, View, units_of
from mote.ops.softmax import Softmax

MAX_SHIFT = 30
"""C has no larger left shift of 32 bits. Beyond it only zeros are shifted, the distances of the largest elements."""


def _packed(view: View, name: str, params: Params) -> Packed:
    depth = view.input.shape[-1]
    return Packed(name, {"depth": depth, **params}, Call.FLAT, units_of(view.input.shape, depth), in_place=(0,))


def _softmax_f32(view: View) -> Packed:
    return _packed(view, "softmax_f32", {"beta": view.the(Softmax).beta})


def _softmax(view: View) -> Packed:
    mult, shift, radius = view.the(Softmax).scaling(view.graph)
    return _packed(view, "softmax_s8", {"mult": mult, "shift": min(shift, MAX_SHIFT), "radius": radius})


KERNELS = (
    Kernel("softmax_f32", (Softmax,), FLOAT32, _softmax_f32, costs="unary_f32"),
    Kernel("softmax", (Softmax,), INT8, _softmax),
)
