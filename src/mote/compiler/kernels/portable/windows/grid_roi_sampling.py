"""Sampling of images at run-time coordinates: `mote_grid_sample_f32.h`, `mote_roi_align_f32.h` and
`mote_max_roi_pool_f32.h`."""

from __future__ import annotations

from math import prod

import numpy as np

from mote.compiler.kernels.contract import FLOAT32, OTHER_F32, Entry, Kernel, Packed, Params, Structs, View
from mote.ir.ops.moves.pad_concat_transpose import steps
from mote.ir.ops.windows.grid_roi_sampling import GridSample, MaxRoiPool, Outside, RoiAlign

OUTSIDE = (Outside.ZEROS, Outside.BORDER, Outside.REFLECTION)


def _grid_sample(view: View) -> Packed:
    op, x, y = view.the(GridSample), view.input.shape, view.output.shape
    axes = list(zip(x[1:-1], steps(x, 1)[1:-1], strict=True))
    params: Params = {
        "images": x[0],
        "points": prod(y[1:-1]),
        "channels": x[-1],
        "image": prod(x[1:]),
        "axes": len(axes),
        "taps": op.sampling.taps,
        "outside": OUTSIDE.index(op.outside),
        "corners": int(op.corners),
        "axis": Structs("mote_sampled_t", np.array(axes, np.int64)),
    }
    return Packed("grid_sample_f32", params, Entry(operands=(0, 1)))


def _regions(view: View, op: RoiAlign | MaxRoiPool) -> Params:
    """Sizes of the images, number of regions of interest, and grid cells of each region."""
    images, height, width, channels = view.input.shape
    return {
        "images": images,
        "height": height,
        "width": width,
        "channels": channels,
        "regions": view.output.shape[0],
        "rows": op.size[0],
        "columns": op.size[1],
        "scale": op.scale,
    }


def _roi_align(view: View) -> Packed:
    op = view.the(RoiAlign)
    params: Params = {
        **_regions(view, op),
        "offset": 0.5 if op.half_pixel else 0.0,
        "samples": op.samples,
        "smallest": int(not op.half_pixel),
        "largest": int(op.largest),
        "index_width": op.input(view.graph, 2).dtype.itemsize,
    }
    return Packed("roi_align_f32", params, Entry(operands=(0, 1, 2)))


def _max_roi_pool(view: View) -> Packed:
    return Packed("max_roi_pool_f32", _regions(view, view.the(MaxRoiPool)), Entry(operands=(0, 1)))


KERNELS = (
    Kernel("max_roi_pool_f32", (MaxRoiPool,), FLOAT32, _max_roi_pool, costs=OTHER_F32),
    Kernel("grid_sample_f32", (GridSample,), FLOAT32, _grid_sample, costs=OTHER_F32),
    Kernel("roi_align_f32", (RoiAlign,), FLOAT32, _roi_align, costs=OTHER_F32),
)
