"""Input positions of an LSTM, and their validation."""

from __future__ import annotations

from mote.ir.graph import Tensor
from mote.ir.graph.types import DType

INPUT, FORGET, CELL, OUTPUT = GATES = range(4)
NAMES = ("input", "forget", "cell", "output")
PEEPHOLES = {INPUT: 9, FORGET: 10, OUTPUT: 11}
PROJECTION, PROJECTION_BIAS, HIDDEN, MEMORY = 16, 17, 18, 19
"""Input positions; HIDDEN and MEMORY are the states: last output and cells."""


def operand_problem(t: Tensor, position: int, quantized: bool, hybrid: bool = False) -> str | None:
    """Why the type or quantization of an LSTM's input is not supported, or None. `hybrid`: float32 sequence with int8
    weights."""
    matrix = position < 9 or position == PROJECTION
    if position in (HIDDEN, MEMORY):
        wanted, what = (DType.INT8 if position == HIDDEN else DType.INT16), "state"
    elif matrix:
        wanted, what = DType.INT8, "weights"
    elif position in (9, 10, 11) or position > MEMORY:
        wanted, what = DType.INT16, "peephole weights" if position < 12 else "normalization weights"
    else:
        wanted, what = DType.INT32, "bias"
    byte = hybrid and (matrix or position in (9, 10, 11))
    wanted = wanted if quantized else DType.INT8 if byte else DType.FLOAT32
    if t.dtype != wanted:
        return (
            f"{DType.INT8 if quantized else DType.FLOAT32} input with {t.dtype} {what} is not supported (only {wanted})"
        )
    if position not in (HIDDEN, MEMORY) and t.data is None:
        return f"{what} that are computed at run time are not supported"
    scaled = byte or (quantized and wanted != DType.INT32 and what != "state")
    if scaled and (t.quant is None or t.quant.per_channel or t.zero_point or t.scale <= 0):
        return f"{what} must have one scale and zero point 0"
    return None
