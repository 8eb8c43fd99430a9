"""Averages over all rows computed from sums of rows, so that an average does not need all rows at once.

The Ethos-U cannot average rows incrementally, but it can execute what Vela generates for a MEAN over many rows: a
depthwise convolution with ones sums each row into 32 bits, additions accumulate these, and a multiplication scales the
sum. Vela compiles such a MEAN, and its operations are reused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from mote.compiler.offload.ethos_u.job import CONSTANTS, WORKING, NpuJob, Registers
from mote.compiler.offload.ethos_u.striped.program import (
    Access,
    RowOperation,
    RowTensor,
    RowWindow,
    StreamProgram,
    linked,
)
from mote.compiler.offload.ethos_u.vela import Configuration, compiled
from mote.frontends.tflite.writer import Writer
from mote.hardware.npu.commands import Command
from mote.hardware.npu.stream import NpuOperation, decode, operations

MOST_ROWS, MOST_ELEMENTS = 64, 64 * 64
"""Maximum rows and elements that Vela sums in one operation."""
MOST_SUM = 1 << 20
"""Maximum sum up to which roundings are compared."""
ALIGNMENT = 16


@dataclass(frozen=True)
class SumOperations:
    """The operations of Vela's MEAN for rows of one width: sum of a row, addition, and scaling."""

    row: NpuOperation
    add: NpuOperation
    scale: NpuOperation
    constants: bytes


Sums = Callable[[int, int], SumOperations]
"""A function that gives the operations of Vela's MEAN for a row width and number of channels."""


def sums(config: Configuration) -> Sums:
    return lambda width, channels: _sums(config, width, channels)


@cache
def _sums(config: Configuration, width: int, channels: int) -> SumOperations:
    rows = MOST_ROWS * -(-MOST_ELEMENTS // (MOST_ROWS * width)) + 1
    w = Writer("mean")
    x = w.input("x", (1, rows, width, channels), "int8", 1.0, 0)
    y = w.tensor("y", (1, 1, 1, channels), "int8", 1.0, 0)
    w.op("MEAN", [x, w.const("axes", np.array([1, 2], np.int32))], [y], keep_dims=True)
    w.output(y)
    model = compiled(w.finish(), config, whole=True)
    made = list(operations(decode(model.payload)))
    row = next(o for o in made if o.name == "DEPTHWISE" and not o.value("KERNEL_HEIGHT_M1"))
    add, scale = (
        next(o for o in made if o.name == "ELEMENTWISE" and o.command.said("mode") == mode) for mode in ("ADD", "MUL")
    )
    return SumOperations(row, add, scale, model.constants)


def with_sums(program: StreamProgram, job: NpuJob, given: Sums) -> tuple[StreamProgram, NpuJob]:
    """The program and its job with averages over all rows computed from sums of rows."""
    made: list[RowOperation] = []
    tensors, constants = list(program.tensors), bytearray(job.constants)

    def constant(data: bytes) -> int:
        constants.extend(bytes(-len(constants) % ALIGNMENT))
        constants.extend(data)
        return len(constants) - len(data)

    for operation in program.operations:
        factor = _factor(program, operation)
        if factor is None:
            made.append(operation)
            continue
        width, channels = (operation.registers[n].value + 1 for n in ("KERNEL_WIDTH_M1", "OFM_DEPTH_M1"))
        made += _summed(operation, given(width, channels), factor, tensors, constant)
    changed = linked(replace(program, operations=tuple(made), tensors=tuple(tensors)))
    return changed, replace(job, constants=bytes(constants))


def _factor(program: StreamProgram, operation: RowOperation) -> tuple[int, int] | None:
    """The 31-bit multiplier and the shift of an average over all rows that can be computed from sums; None for other
    operations."""
    registers = operation.registers
    if operation.command.name != "POOL" or operation.command.said("mode") != "AVERAGE" or operation.tables:
        return None
    (read,) = operation.reads
    whole = read.window is not None and read.window.kernel == read.rows == program.tensors[read.tensor].rows > 1
    single = operation.rows == 1 and registers["OFM_WIDTH_M1"].value == 0
    rounds = registers["OFM_PRECISION"].said("round_mode") == "NATURAL"
    byte = all(registers[n].said("bits") == "8" for n in ("IFM_PRECISION", "OFM_PRECISION"))
    padded = any(registers[f"IFM_PAD_{side}"].value for side in ("TOP", "BOTTOM", "LEFT", "RIGHT"))
    if not (program.tensors[read.tensor].pitch and whole and single and rounds and byte) or padded:
        return None
    scale, shift = registers["OFM_SCALE"]["scale"], registers["OFM_SCALE"]["shift"]
    return _signed(scale, shift, read.rows * (registers["KERNEL_WIDTH_M1"].value + 1) << 8)


def _signed(scale: int, shift: int, limit: int) -> tuple[int, int] | None:
    """A 31-bit multiplier and its shift that round all sums up to `limit` like a 32-bit multiplier; None if there is
    none."""
    if scale < 1 << 31:
        return scale, shift
    if limit > MOST_SUM or shift < 1:
        return None
    acc = np.arange(-limit, limit + 1, dtype=np.int64)
    half, less = scale + 1 >> 1, shift - 1
    alike = np.array_equal(acc * scale + (1 << shift >> 1) >> shift, acc * half + (1 << less >> 1) >> less)
    return (half, less) if alike and half < 1 << 31 else None


def _summed(
    pool: RowOperation,
    given: SumOperations,
    factor: tuple[int, int],
    tensors: list[RowTensor],
    constant: Callable[[bytes], int],
) -> list[RowOperation]:
    (read,) = pool.reads
    rows = read.rows
    pitch = given.row.value("OFM_STRIDE_Y")
    part, total = len(tensors), len(tensors) + 1
    tensors += [RowTensor(WORKING, rows * pitch, pitch, rows)] * 2
    each = RowWindow(1, 1, 0, rows)

    def at(what: str, tensor: int, window: RowWindow | None = None) -> Access:
        return Access(what, tensor, 0, rows, pitch, window)

    row = dict(given.row.registers) | _of(pool.registers, "IFM_", "IFM_IB_END")
    for base, length in (("WEIGHT_BASE", "WEIGHT_LENGTH"), ("SCALE_BASE", "SCALE_LENGTH")):
        start = row[base].value
        row[base] = row[base].with_value(constant(given.constants[start : start + row[length]["length"]]))
    scale = dict(given.scale.registers) | _of(pool.registers, "OFM_", "OFM_BLK", "OFM_SCALE")
    scale |= _of(pool.registers, "ACTIV")
    multiplier, shift = factor
    scale["IFM2_BASE0"] = scale["IFM2_BASE0"].with_value(constant(multiplier.to_bytes(4, "little")))
    scale["OFM_SCALE"] = scale["OFM_SCALE"].with_value(shift, "shift")
    nothing = _of(scale, "IFM2_", "IFM2_IB") | {"IFM2_BASE0": scale["IFM2_BASE0"].with_value(constant(bytes(4)))}
    assert nothing["IFM2_REGION"].value == CONSTANTS
    before, last = RowWindow(1, 1, 1, rows), RowWindow(1, 1, 1 - rows, rows)
    return [
        RowOperation(given.row.command, row, (replace(read, window=each),), at("OFM", part)),
        RowOperation(
            given.add.command,
            given.add.registers,
            (at("IFM", part, each), at("IFM2", total, before)),
            at("OFM", total),
            begins=nothing,
        ),
        RowOperation(given.scale.command, scale, (at("IFM", total, last),), pool.write),
    ]


def _of(registers: Registers, begin: str, *without: str) -> dict[str, Command]:
    return {n: c for n, c in registers.items() if n.startswith(begin) and not n.startswith(without or "-")}
