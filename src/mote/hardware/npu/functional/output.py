"""Output stage of Ethos-U55 and U65 operations: zero point, clipping, activation table, write."""

from __future__ import annotations

import numpy as np

from mote.hardware.npu.functional.curves import sigmoid, tanh
from mote.hardware.npu.functional.memory import TYPES, FeatureMap, Ints, NpuMemory, feature_map
from mote.hardware.npu.functional.rounding import wrapped
from mote.hardware.npu.stream import NpuOperation

CURVES = {"SIGMOID": sigmoid, "TANH": tanh}
FIRST_TABLE = 16
"""First code of table-based activation functions."""
INTERPOLATED = 7
"""Bits of a 16-bit value between two table entries."""


def output_shape(operation: NpuOperation) -> tuple[int, int, int]:
    value = operation.value
    return value("OFM_HEIGHT_M1") + 1, value("OFM_WIDTH_M1") + 1, value("OFM_DEPTH_M1") + 1


def finish(memory: NpuMemory, operation: NpuOperation, values: Ints) -> Ints:
    """Writes scaled values to the output; returns the written values."""
    target = feature_map(operation, "OFM")
    activation = operation.register("ACTIVATION")
    curve = CURVES.get(activation.said("function"))
    values = (values if curve is None else curve(values)) + operation.value("OFM_ZERO_POINT")
    if target.bits < 32 or activation.said("clip") != "OFM":
        values = np.clip(values, *_bounds(operation, target, activation.said("clip")))
    if activation["function"] >= FIRST_TABLE:
        values = _looked_up(memory, operation, target, values, activation["function"] - FIRST_TABLE)
    values = to_bits(values, target.bits, signed=target.signed)
    target.write(memory, values)
    return values


def to_bits(values: Ints, bits: int, *, signed: bool) -> Ints:
    """Lower bits of integers."""
    return wrapped(values, bits) if signed or bits == 64 else values & (1 << bits) - 1


def _bounds(operation: NpuOperation, target: FeatureMap, clip: str) -> tuple[int, int]:
    signed = target.signed if clip == "OFM" else clip != "UINT8"
    low, high = operation.value("ACTIVATION_MIN"), operation.value("ACTIVATION_MAX")
    return (_signed(low), _signed(high)) if signed else (low, high)


def _signed(value: int) -> int:
    return (value ^ 0x8000) - 0x8000


def _looked_up(memory: NpuMemory, operation: NpuOperation, target: FeatureMap, values: Ints, number: int) -> Ints:
    """Activation by table: 8-bit values are indices, 16-bit values are interpolated by each entry's base and slope."""
    source = feature_map(operation, "IFM")
    if target.bits == 16 or (target.bits == 8 and source.bits == 16):
        entries = memory.table(operation, number, 512, TYPES[False, 32])
        index = wrapped(values, 16) + 0x8000
        entry, rest = entries[index >> INTERPOLATED], index & (1 << INTERPOLATED) - 1
        base, slope = wrapped(entry, 16), wrapped(entry >> 16, 16)
        return base + (slope * rest + (1 << INTERPOLATED - 1) >> INTERPOLATED)
    signed = target.signed or target.bits == 32
    index = wrapped(values, 8) + 0x80 if signed else values & 0xFF
    return memory.table(operation, number, 256, target.dtype)[index]
