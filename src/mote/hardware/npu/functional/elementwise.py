"""Element-wise operations of Ethos-U55 and U65."""

from __future__ import annotations

import numpy as np

from mote.hardware.npu.functional.memory import Ints, NpuMemory, feature_map
from mote.hardware.npu.functional.output import finish, output_shape
from mote.hardware.npu.functional.rounding import rounded, scaled, wrapped
from mote.hardware.npu.stream import NpuOperation

UNARY = ("LRELU", "ABS", "CLZ")
BEFORE = {8: 20, 16: 15, 32: 1}
"""Left shift that LiteRT applies to operands before scaling, by operand bits; the larger scale is one half."""


def elementwise(memory: NpuMemory, operation: NpuOperation) -> Ints:
    mode = operation.command.said("mode")
    shape = output_shape(operation)
    source = feature_map(operation, "IFM")
    values = source.read(memory, shape) - operation.value("IFM_ZERO_POINT")
    if mode in UNARY:
        return finish(memory, operation, _unary(operation, mode, values, source.bits))
    other = _second(memory, operation, shape)
    a, b = (other, values) if operation.value("IFM2_BROADCAST", "swapped") else (values, other)
    made = _binary(operation, mode, a, b, source.bits)
    return finish(memory, operation, wrapped(made, 32) if source.bits == 32 else made)


def _second(memory: NpuMemory, operation: NpuOperation, shape: tuple[int, int, int]) -> Ints:
    """The second operand: a scalar, or a feature map that may be broadcast."""
    how = operation.register("IFM2_BROADCAST")
    zero = operation.value("IFM2_ZERO_POINT")
    if how["scalar"]:
        number = operation.value("IFM2_SCALAR")
        signed = operation.value("IFM2_PRECISION", "sign")
        return np.full((1, 1, 1), ((number ^ 0x8000) - 0x8000 if signed else number) - zero, np.int64)
    height, width, depth = (1 if how[axis] else size for axis, size in zip("hwc", shape, strict=True))
    return feature_map(operation, "IFM2").read(memory, (height, width, depth)) - zero


def _unary(operation: NpuOperation, mode: str, values: Ints, bits: int) -> Ints:
    if mode == "CLZ":
        return np.where(values < 0, 0, 32 - _bit_length(values))
    if mode == "ABS":
        return _scaled(operation, np.abs(values), bits)
    return np.where(values < 0, _scaled(operation, values, bits), values)


def _bit_length(values: Ints) -> Ints:
    """Bit length of numbers below 2
    53."""
    return np.frexp(values.astype(np.float64))[1].astype(np.int64)


def _binary(operation: NpuOperation, mode: str, a: Ints, b: Ints, bits: int) -> Ints:
    match mode:
        case "ADD" | "SUB":
            a, b = _operands(operation, a, b, bits)
            return _scaled(operation, a + b if mode == "ADD" else a - b, bits)
        case "MUL":
            return _scaled(operation, a * b, bits)
        case "MIN":
            return np.minimum(a, b)
        case "MAX":
            return np.maximum(a, b)
        case "SHL":
            return wrapped(a << (b & 63), 32)
        case _:
            return rounded(a, b & 63, operation.said("OFM_PRECISION", "round_mode"))


def _operands(operation: NpuOperation, a: Ints, b: Ints, bits: int) -> tuple[Ints, Ints]:
    """Scaled operands of sums: both multiplied by a factor, or one scaled and the other shifted left."""
    first, second = operation.register("OPA_SCALE"), operation.value("OPB_SCALE")
    rounding = operation.said("IFM_PRECISION", "round_mode")
    before = BEFORE[bits]
    match operation.said("IFM_PRECISION", "scale_mode"):
        case "BOTH_16":
            return a * first["scale"], b * second
        case "A_32":
            return scaled(a, first["scale"], first["shift"], rounding, before), b << before - 1
        case _:
            return a << before - 1, scaled(b, first["scale"], first["shift"], rounding, before)


def _scaled(operation: NpuOperation, values: Ints, bits: int) -> Ints:
    """Results scaled for the output; for 32-bit operands only shifted."""
    if operation.said("OFM_PRECISION", "scale_mode") != "GLOBAL":
        return values
    scale, shift = (operation.value("OFM_SCALE", field) for field in ("scale", "shift"))
    return scaled(values, 1 if bits == 32 else scale, shift, operation.said("OFM_PRECISION", "round_mode"))
