"""Element types of tensors as C types and as suffixes of kernel names."""

from __future__ import annotations

from mote.ir.graph.types import DType

CTYPES = {
    DType.INT8: "int8_t",
    DType.UINT8: "uint8_t",
    DType.INT16: "int16_t",
    DType.INT32: "int32_t",
    DType.INT64: "int64_t",
    DType.UINT16: "uint16_t",
    DType.UINT32: "uint32_t",
    DType.UINT64: "uint64_t",
    DType.FLOAT32: "float",
    DType.BOOL: "uint8_t",
}
SUFFIXES = {
    DType.INT8: "s8",
    DType.UINT8: "u8",
    DType.INT16: "s16",
    DType.INT32: "s32",
    DType.INT64: "s64",
    DType.UINT16: "u16",
    DType.UINT32: "u32",
    DType.UINT64: "u64",
    DType.FLOAT32: "f32",
    DType.BOOL: "u8",
}
