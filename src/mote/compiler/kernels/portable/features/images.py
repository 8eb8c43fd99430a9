"""Image preprocessing line by line: `mote_pixels.h`, `mote_demosaic.h`, `mote_resample.h`, `mote_packed_lines.h`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mote.compiler.kernels.contract import SIGNAL, Call, Entry, Kernel, Needs, Packed, Params, View, signature, units_of
from mote.compiler.kernels.portable.features.work import each
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.features.images import (
    BAYER,
    FULL,
    LIMITED,
    LUMA,
    LUMA_BITS,
    PACKED,
    Demosaic,
    GrayImage,
    PackedLines,
    Resampling,
    ResizeColumns,
    ResizePacked,
    ResizeRows,
    UnpackPixels,
)

BYTES = signature(DType.UINT8, DType.UINT8)


def _gray(view: View) -> Packed:
    return Packed("gray_image", {"channels": view.input.channels}, Entry(Call.FLAT, units_of(view.output.shape)))


def _unpack(view: View) -> Packed:
    op = view.the(UnpackPixels)
    name, params = _unpacking(op)
    return Packed(name, params, Entry(Call.FLAT, units_of(view.input.shape, PACKED[op.packing].nbytes)))


def _unpacking(op: PackedLines) -> tuple[str, Params]:
    """Kernel name and parameters that unpack a pixel format."""
    if op.packing == "bgr888":
        return "unpack_bgr888", {"channels": op.channels}
    if op.packing in ("rgb565", "rgb565be"):
        high: Params = {"high": int(op.packing == "rgb565")}
        return ("gray_rgb565", {**high, "luma": _luma()}) if op.channels == 1 else ("unpack_rgb565", high)
    c = LIMITED if op.limited else FULL
    weights: Params = {"red_v": c.red_v, "green_u": c.green_u, "green_v": c.green_v, "blue_u": c.blue_u}
    first: Params = {"channels": op.channels, "luma": int(op.packing == "uyvy"), "black": c.black, "scale": c.luma}
    return "unpack_yuv422", {**first, **weights}


def _luma() -> Array:
    """Lookup table for the luma of rgb565 pixels: 256 entries by the high byte, then 256 by the low byte; luma is the
    sum of both entries."""
    byte = np.arange(256, dtype=np.int64)
    blue = byte & 31
    high = (byte & 248 | byte >> 5) * LUMA[0] + ((byte & 7) << 5 | (byte & 7) >> 1) * LUMA[1]
    low = (byte >> 5 << 2) * LUMA[1] + (blue << 3 | blue >> 2) * LUMA[2] + (1 << (LUMA_BITS - 1))
    return np.concatenate([high, low]).astype(np.int32)


def _packed(view: View) -> Packed:
    op = view.the(ResizePacked)
    name, pixels = _unpacking(op)
    packing, axis = PACKED[op.packing], op.resampling
    params: Params = {
        "pixels": pixels,
        "top": op.top,
        "line": view.input.shape[2],
        "skip": packing.line(op.left),
        "unit": packing.nbytes,
        "pairs": packing.pixels - 1,
        "columns": op.size,
        "depth": op.channels,
        **_axis(axis),
        "count": _counts(axis),
    }
    return Packed(
        f"resize_{name}",
        params,
        Entry(Call.ROWS, row=f"resize_{name}_row"),
        Needs(scratch=(axis.taps + 2 * (packing.pixels - 1)) * op.channels),
    )


def _counts(axis: Resampling) -> Array:
    return np.asarray(np.count_nonzero(axis.weights, axis=1), np.int16)


def _demosaic(view: View) -> Packed:
    op = view.the(Demosaic)
    _, rows, columns, _ = view.input.shape
    top, left = BAYER[op.pattern]
    params: Params = {"rows": rows, "columns": columns, "channels": op.channels, "top": top, "left": left}
    return Packed("demosaic", params, Entry(Call.ROWS, taps=3, row="demosaic_row", row_index=True))


def _columns(view: View) -> Packed:
    axis = view.the(ResizeColumns).resampling(view.graph)
    _, rows, columns, channels = view.input.shape
    params: Params = {
        "in_columns": columns,
        "columns": view.output.shape[2],
        "channels": channels,
        **_axis(axis),
        "count": _counts(axis),
    }
    return Packed("resize_columns", params, Entry(Call.FLAT, rows))


def _rows(view: View) -> Packed:
    axis = view.the(ResizeRows).resampling(view.graph)
    _, rows, columns, channels = view.input.shape
    params: Params = {"in_rows": rows, "rows": view.output.shape[1], "stride": columns * channels, **_axis(axis)}
    return Packed("resize_rows", params, Entry(Call.ROWS, taps=axis.taps, row="resize_rows_row", row_index=True))


def _axis(axis: Resampling) -> Params:
    return {
        "taps": axis.taps,
        "kinds": len(axis.weights),
        "first": axis.first.astype(np.int16),
        "which": axis.which.astype(np.int16),
        "weights": axis.weights.astype(np.int32),
    }


def _taps(value: float, tap: float) -> Callable[[View], float]:
    """Returns a cost estimate from cycles per output value and cycles per filter tap."""
    return lambda view: value * view.output.size + tap * view.op.macs(view.graph)


KERNELS = (
    Kernel("gray_image", (GrayImage,), BYTES, _gray, "pixels", costs=SIGNAL, work=each(10)),
    Kernel("unpack_pixels", (UnpackPixels,), BYTES, _unpack, "pixels", costs=SIGNAL, work=each(14)),
    Kernel("demosaic", (Demosaic,), BYTES, _demosaic, costs=SIGNAL, work=each(17)),
    Kernel("resize_columns", (ResizeColumns,), BYTES, _columns, "resample", costs=SIGNAL, work=_taps(8, 5)),
    Kernel("resize_packed", (ResizePacked,), BYTES, _packed, "packed_lines", costs=SIGNAL, work=_taps(0, 28)),
    Kernel("resize_rows", (ResizeRows,), BYTES, _rows, "resample", costs=SIGNAL, work=_taps(0, 7)),
)
