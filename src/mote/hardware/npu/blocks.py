"""Checks block dependencies of consecutive operations: the next one starts while the last output blocks of the previous
one are still being written.

An operation computes its output block by block, channels first, then columns, then rows. `BLOCKDEP n` allows n
outstanding blocks in total: block 0 of the next operation may read while the last n blocks of this one are in flight,
block 1 while the last n - 1 are. Ethos-U85 is not checked, since its registers do not give the block sizes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.hardware.npu.check import BLOCK, BRICK, Footprint, OperationFootprint, internal_bytes
from mote.hardware.npu.stream import Config, NpuOperation

SMALL = 16 << 10
"""Up to this size, internal memory has no separate area for tables, so accumulators may use all of it."""
REMEDY = "compile the model again with Vela: its BLOCKDEP is too large, or an operation is missing"


class BlockBox(NamedTuple):
    """A box of a feature map: ranges of rows, columns and channels."""

    rows: range
    columns: range
    channels: range


class ByteRuns(NamedTuple):
    """Bytes of a box as runs of equal length relative to a base pointer."""

    base: int
    starts: NDArray[np.int64]
    length: int

    def overlap(self, other: ByteRuns) -> bool:
        if self.base != other.base or not len(self.starts) or not len(other.starts):
            return False
        mine = np.sort(self.starts)
        below = np.searchsorted(mine, other.starts + other.length) - 1
        return bool(((below >= 0) & (mine[below] + self.length > other.starts)).any())


def check_blocks(config: Config, footprint: Footprint) -> None:
    """Raises an error for an operation that starts before its predecessor has written what it reads."""
    if config.core == "ethos-u85":
        return
    before: OperationFootprint | None = None
    for one in footprint.operations:
        if one.operation.name == "KERNEL_WAIT" and one.operation.command["outstanding"] == 0:
            before = None
        elif one.operation.name in BLOCK:
            if before is not None:
                _check_pair(config, before, one)
            before = one


def _check_pair(config: Config, before: OperationFootprint, one: OperationFootprint) -> None:
    operation = one.operation
    outstanding = operation.value("BLOCKDEP") if operation.has("BLOCKDEP") else 0
    if not outstanding:
        return
    if internal_bytes(config) <= SMALL and _looks_up(before) and not _looks_up(one):
        _refuse(operation, before.operation, outstanding, "still needs the table that accumulators overwrite")
    written = [span for span in before.writes if span.registers == "OFM"]
    for name in ("IFM", "IFM2"):
        if not any(a.overlaps(b) for a in one.reads if a.registers == name for b in written):
            continue
        last = [runs(before.operation, "OFM", box) for box in islice(_blocks(before.operation, last=True), outstanding)]
        jobs = [runs(operation, name, box) for box in islice(_inputs(operation, name), outstanding)]
        for (i, job), (j, block) in product(enumerate(jobs), enumerate(last)):
            if i + j < outstanding and job.overlap(block):
                _refuse(operation, before.operation, outstanding, f"may still write what its {name} reads")


def _looks_up(one: OperationFootprint) -> bool:
    return any(span.registers == "ACTIVATION" for span in one.reads)


def _refuse(operation: NpuOperation, before: NpuOperation, outstanding: int, why: str) -> None:
    reason = f"BLOCKDEP lets it begin with {outstanding} blocks outstanding, and {before.where} {why}"
    raise MoteError(reason, where=operation.where, remedy=REMEDY)


def _blocks(operation: NpuOperation, *, last: bool = False) -> Iterator[BlockBox]:
    """Output blocks in order of computation, or from the last one backwards."""
    axes = []
    for axis in ("HEIGHT", "WIDTH", "DEPTH"):
        size, step = operation.value(f"OFM_{axis}_M1") + 1, operation.value(f"OFM_BLK_{axis}_M1") + 1
        spans = [range(first, min(first + step, size)) for first in range(0, size, step)]
        axes.append(spans[::-1] if last else spans)
    return (BlockBox(*spans) for spans in product(*axes))


def _inputs(operation: NpuOperation, name: str) -> Iterator[BlockBox]:
    """Input boxes read for each output block, in channel steps for operations that sum over channels."""
    mode = operation.command.said("mode") if operation.name == "POOL" else ""
    wide = operation.name == "CONV" or mode == "REDUCE_SUM"
    depth = operation.value("IFM_DEPTH_M1") + 1
    parts = operation.name == "CONV" and operation.said("KERNEL_STRIDE", "order") == "PART_KERNEL_FIRST"
    step = 16 if parts or operation.value("IFM_PRECISION", "bits") else 32
    for box in _blocks(operation):
        if operation.name == "ELEMENTWISE":
            yield _broadcast(operation, box) if name == "IFM2" else box
            continue
        rows = _covered(operation, box.rows, "HEIGHT", "y", "TOP", "BOTTOM")
        columns = _covered(operation, box.columns, "WIDTH", "x", "LEFT", "RIGHT")
        if not wide:
            yield BlockBox(rows, columns, box.channels)
            continue
        for first in range(0, depth, step):
            yield BlockBox(rows, columns, range(first, min(first + step, depth)))


def _covered(operation: NpuOperation, made: range, side: str, axis: str, before: str, behind: str) -> range:
    """Input rows or columns covered by the windows of a block."""
    stride = operation.register("KERNEL_STRIDE")
    step = 1 + stride[f"{axis}_low"] + 2 * stride[f"{axis}_high"]
    pad, window = operation.value(f"IFM_PAD_{before}"), operation.value(f"KERNEL_{side}_M1") + 1
    size = operation.value(f"OFM_{side}_M1") * step + window - pad - operation.value(f"IFM_PAD_{behind}")
    first, end = made.start * step - pad, (made.stop - 1) * step + window - pad
    if operation.value("IFM_UPSCALE"):
        first, end, size = first // 2, (end + 1) // 2, (size + 1) // 2
    return range(max(0, first), min(end, size))


def _broadcast(operation: NpuOperation, box: BlockBox) -> BlockBox:
    how = operation.register("IFM2_BROADCAST")
    return BlockBox(*(range(1) if how[axis] else span for axis, span in zip("hwc", box, strict=True)))


def runs(operation: NpuOperation, name: str, box: BlockBox) -> ByteRuns:
    """Bytes of a box of a feature map."""
    precision = operation.register(f"{name}_PRECISION")
    size, bricks = 1 << precision["bits"], precision.said("layout") == "NHCWB16"
    rows, columns = (
        np.arange(box.rows.start, box.rows.stop, dtype=np.int64),
        np.arange(box.columns.start, box.columns.stop, dtype=np.int64),
    )
    width = operation.value(f"{name}_WIDTH0_M1") + 1
    heights = [operation.value(f"{name}_HEIGHT{tile}_M1") + 1 for tile in range(2)]
    bases = np.array([operation.value(f"{name}_BASE{tile}") for tile in range(4)], np.int64)
    row, column = np.meshgrid(rows, columns, indexing="ij")
    right = column >= width
    split = np.where(right, heights[1], heights[0])
    lower = row >= split
    start = bases[2 * lower + right] + (row - lower * split) * operation.value(f"{name}_STRIDE_Y")
    column = column - right * width
    if not bricks:
        start = start + column * operation.value(f"{name}_STRIDE_X") + box.channels.start * size
        return ByteRuns(operation.value(f"{name}_REGION"), start.reshape(-1), len(box.channels) * size)
    start = start + column * BRICK * size
    brick = np.arange(box.channels.start // BRICK, -(-box.channels.stop // BRICK), dtype=np.int64)
    start = start[..., None] + brick * operation.value(f"{name}_STRIDE_C")
    return ByteRuns(operation.value(f"{name}_REGION"), start.reshape(-1), BRICK * size)
