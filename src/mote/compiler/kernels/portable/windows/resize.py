"""RESIZE_NEAREST_NEIGHBOR and RESIZE_BILINEAR: `mote_resize_nearest.h`, `mote_resize_bilinear.h`, and for uint8 models
`mote_resize_unsigned_s8.h`.

Tables give the input position of each output row and column.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from mote.compiler.kernels.contract import (
    ANY_TYPE,
    FLOAT32,
    INT8,
    OTHER,
    OTHER_F32,
    OTHER_S16,
    Call,
    Entry,
    Kernel,
    Packed,
    Params,
    View,
    signature,
)
from mote.ir.graph.types import DType
from mote.ir.ops.windows.resize import ResizeBilinear, ResizeBilinearUnsigned, ResizeNearest


def _nearest(view: View) -> Packed:
    op = view.the(ResizeNearest)
    _, height, width, channels = view.input.shape
    pixel = channels * view.input.dtype.itemsize
    params: Params = {
        "in_rows": height,
        "out_rows": op.size[0],
        "in_stride": width * pixel,
        "out_columns": op.size[1],
        "pixel": pixel,
        "row": op.sources(height, op.size[0]).astype(np.int16),
        "column": op.sources(width, op.size[1]).astype(np.int16),
    }
    return Packed("resize_nearest", params, Entry(Call.ROWS, row="resize_nearest_row", moves=True))


def _bilinear(view: View) -> Packed:
    return _blended(view, "resize_bilinear_s8", np.int16)


def _bilinear_s16(view: View) -> Packed:
    return _blended(view, "resize_bilinear_s16", np.int16)


def _bilinear_f32(view: View) -> Packed:
    return _blended(view, "resize_bilinear_f32", np.float32)


def _blended(view: View, name: str, weight: DTypeLike) -> Packed:
    """Packs bilinear interpolation with weights of this type."""
    op = view.the(ResizeBilinear)
    _, height, width, channels = view.input.shape
    rows, columns = op.blend(view.graph, height, op.size[0]), op.blend(view.graph, width, op.size[1])
    params: Params = {
        "in_rows": height,
        "out_rows": op.size[0],
        "in_stride": width * channels,
        "out_columns": op.size[1],
        "channels": channels,
        "row": rows.lower.astype(np.int16),
        "row_weight": rows.weight.astype(weight),
        "column": columns.lower.astype(np.int16),
        "column_weight": columns.weight.astype(weight),
    }
    return Packed(name, params, Entry(Call.ROWS, row=f"{name}_row", row_index=True))


def _bilinear_unsigned(view: View) -> Packed:
    op = view.the(ResizeBilinearUnsigned)
    _, height, width, channels = view.input.shape
    rows, columns = op.blend(height, op.size[0]), op.blend(width, op.size[1])
    params: Params = {
        "in_rows": height,
        "out_rows": op.size[0],
        "in_stride": width * channels,
        "out_columns": op.size[1],
        "channels": channels,
        "row": np.stack([rows.lower, rows.upper], axis=1).astype(np.int16).reshape(-1),
        "row_weight": rows.weight,
        "column": np.stack([columns.lower, columns.upper], axis=1).astype(np.int16).reshape(-1),
        "column_weight": columns.weight,
    }
    return Packed("resize_unsigned_s8", params, Entry(Call.ROWS, row="resize_unsigned_s8_row", row_index=True))


KERNELS = (
    Kernel("resize_nearest", (ResizeNearest,), ANY_TYPE, _nearest, costs=OTHER),
    Kernel("resize_bilinear", (ResizeBilinear,), INT8, _bilinear, header="resize_bilinear"),
    Kernel(
        "resize_bilinear_s16",
        (ResizeBilinear,),
        signature(DType.INT16, DType.INT16),
        _bilinear_s16,
        header="resize_bilinear",
        costs=OTHER_S16,
    ),
    Kernel("resize_unsigned", (ResizeBilinearUnsigned,), INT8, _bilinear_unsigned, costs=OTHER_F32),
    Kernel("resize_bilinear_f32", (ResizeBilinear,), FLOAT32, _bilinear_f32, header="resize_bilinear", costs=OTHER_F32),
)
