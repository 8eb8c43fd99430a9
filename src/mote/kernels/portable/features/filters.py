"""Filters of 16-bit samples: `mote_filters.h`."""

from __future__ import annotations

from mote.graph.types import DType
from mote.kernels.contract import OTHER, Call, Entry, Kernel, Needs, Packed, View, signature, units_of
from mote.ops.features.filters import RemoveDc

SAMPLES = signature(DType.INT16, DType.INT16)


def _remove_dc(view: View) -> Packed:
    channels = view.input.shape[-1]
    return Packed(
        "remove_dc",
        {"channels": channels, "shift": view.the(RemoveDc).shift},
        Entry(Call.FLAT, units_of(view.input.shape, channels), operands=(0, 1)),
        Needs(in_place=(0,)),
    )


KERNELS = (Kernel("remove_dc", (RemoveDc,), SAMPLES, _remove_dc, "filters", costs=OTHER),)
