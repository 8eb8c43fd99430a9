"""QUANTIZE and DEQUANTIZE between float32 and int8: `mote_quantize.h`."""

from __future__ import annotations

from mote.graph.types import DType
from mote.kernels.contract import Call, Kernel, Packed, View, signature
from mote.ops.quantize import Dequantize, Quantize


def _quantize(view: View) -> Packed:
    y = view.output
    return Packed("quantize_f32_s8", {"scale": y.scale, "zero": y.zero_point}, Call.FLAT, y.size)


def _dequantize(view: View) -> Packed:
    x = view.input
    return Packed("dequantize_s8_f32", {"scale": x.scale, "zero": x.zero_point}, Call.FLAT, x.size)


KERNELS = (
    Kernel("quantize", (Quantize,), signature(DType.FLOAT32, DType.INT8), _quantize, header="quantize"),
    Kernel("dequantize", (Dequantize,), signature(DType.INT8, DType.FLOAT32), _dequantize, header="quantize"),
)
