"""A command stream, executed in NumPy as the hardware would."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mote.npu.functional.elementwise import elementwise
from mote.npu.functional.limits import bounded
from mote.npu.functional.memory import Ints, NpuMemory, refuse
from mote.npu.functional.windows import convolve, pool
from mote.npu.stream import CommandStream, Config, NpuOperation, operations

Trace = Callable[[NpuOperation, Ints], None]
"""Called after each operation that writes: with rows, columns and channels that it wrote, or bytes of a transfer."""


def execute(stream: CommandStream, memory: Sequence[NDArray[np.uint8]], trace: Trace | None = None) -> None:
    """Execute a stream with the memory behind its base pointers, which changes in place. Whatever a device would refuse
    is refused, and every access that is not in this memory."""
    if stream.config.core == "ethos-u85":
        refuse(next(operations(stream)), "Ethos-U85 is not modelled")
    state = NpuMemory(memory, stream.config.shram // stream.config.cores)
    for operation in operations(stream):
        if operation.name == "STOP":
            return
        written = _operate(state, operation, stream.config)
        if trace is not None and written is not None:
            trace(operation, written)


def _operate(memory: NpuMemory, operation: NpuOperation, config: Config) -> Ints | None:
    if operation.name in ("CONV", "DEPTHWISE", "POOL", "ELEMENTWISE"):
        bounded(operation)
    match operation.name:
        case "CONV" | "DEPTHWISE":
            return convolve(memory, operation, config)
        case "POOL":
            return pool(memory, operation)
        case "ELEMENTWISE":
            return elementwise(memory, operation)
        case "DMA_START":
            return transfer(memory, operation)
        case "BRANCH" | "RESIZE":
            refuse(operation, f"{operation.name} is not modelled")
    return None


def transfer(memory: NpuMemory, operation: NpuOperation) -> Ints:
    """DMA of bytes in a row."""
    value = operation.value
    source, target = operation.register("DMA0_SRC_REGION"), operation.register("DMA0_DST_REGION")
    if source.said("stride_mode") != "1D" or target.said("stride_mode") != "1D":
        refuse(operation, "transfers of two and three dimensions are not modelled")
    length = value("DMA0_LEN")
    places = [None if end["place"] else end["region"] for end in (source, target)]
    data = memory.run(operation, places[0], value("DMA0_SRC"), length).copy()
    memory.run(operation, places[1], value("DMA0_DST"), length, writes=True)[...] = data
    return data.astype(np.int64)
