"""DMA: transfers of byte rows at regular strides or at indexed addresses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mote.hardware.npu.functional.limits import MOST_ELEMENTS
from mote.hardware.npu.functional.memory import TYPES, Bytes, Ints, NpuMemory, refuse
from mote.hardware.npu.stream import NpuOperation


def transfer(memory: NpuMemory, operation: NpuOperation) -> Ints:
    """Executes a transfer, reading all rows before writing; returns the written bytes."""
    source, target = operation.register("DMA0_SRC_REGION"), operation.register("DMA0_DST_REGION")
    places = [None if end["place"] else end["region"] for end in (source, target)]
    length = operation.value("DMA0_LEN")
    rows: list[tuple[int, Bytes]] = []
    for read, written in _rows(memory, operation):
        rows.append((written, memory.run(operation, places[0], read, length).copy()))
    for address, data in rows:
        memory.run(operation, places[1], address, length, writes=True)[...] = data
    return np.concatenate([np.zeros(0, np.uint8), *(data for _, data in rows)]).astype(np.int64)


def _rows(memory: NpuMemory, operation: NpuOperation) -> Iterator[tuple[int, int]]:
    """Source and destination addresses of the rows."""
    value = operation.value
    sources, targets = value("DMA0_SRC"), value("DMA0_DST")
    dimensions = int(operation.said("DMA0_SRC_REGION", "stride_mode")[0])
    many, planes = (value("DMA0_SIZE0") if dimensions > 1 else 1), (value("DMA0_SIZE1") if dimensions > 2 else 1)
    indexed = [operation.has("DMA0_IDX") and value(f"DMA0_{end}_REGION", "indexed") for end in ("SRC", "DST")]
    names = ("DMA0_SRC_STRIDE", "DMA0_DST_STRIDE")
    if dimensions > 1 and not operation.has("DMA0_SRC_STRIDE0"):
        refuse(operation, "transfers of several dimensions are modelled for Ethos-U85 only")
    if many * planes * value("DMA0_LEN") > MOST_ELEMENTS:
        refuse(operation, f"{planes} x {many} rows of {value('DMA0_LEN')} bytes are more than any device transfers")
    for plane in range(planes):
        for number in range(many):
            addresses = []
            for start, name, by_index in zip((sources, targets), names, indexed, strict=True):
                near = _index(memory, operation, plane, number) if by_index else number
                far = plane * value(f"{name}1") if planes > 1 else 0
                addresses.append(start + far + (near * value(f"{name}0") if by_index or many > 1 else 0))
            yield addresses[0], addresses[1]


def _index(memory: NpuMemory, operation: NpuOperation, plane: int, number: int) -> int:
    value = operation.value
    skipped = plane * (4 * value("DMA0_SIZE0") + value("DMA0_IDX_SKIP1")) if plane else 0
    at = value("DMA0_IDX") + 4 * number + skipped
    index = int(memory.run(operation, value("DMA0_IDX_REGION"), at, 4).view(TYPES[True, 32])[0])
    if not 0 <= index <= value("DMA0_IDX_MAX"):
        refuse(operation, f"index {index} is not from 0 to {value('DMA0_IDX_MAX')}")
    return index
