"""Executes a command stream in NumPy as the hardware would."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import naming
from mote.hardware.npu.functional.elementwise import elementwise
from mote.hardware.npu.functional.limits import bounded
from mote.hardware.npu.functional.memory import Ints, NpuMemory, refuse
from mote.hardware.npu.functional.transfers import transfer
from mote.hardware.npu.functional.u85 import StateU85, convolve_u85, elementwise_u85, pool_u85, resize
from mote.hardware.npu.functional.windows import convolve, pool
from mote.hardware.npu.stream import CommandStream, Config, NpuOperation, operations

COMPUTING = ("CONV", "DEPTHWISE", "POOL", "ELEMENTWISE", "RESIZE")
Trace = Callable[[NpuOperation, Ints], None]
"""Callback after each operation that writes: [rows, columns, channels] written, or bytes of a transfer."""


def execute(stream: CommandStream, memory: Sequence[NDArray[np.uint8]], trace: Trace | None = None) -> None:
    """Executes a stream on the memory of its base pointers, in place. Raises an error for anything a device would
    reject, and for out-of-bounds accesses."""
    state = NpuMemory(memory, stream.config.shram // stream.config.cores)
    last = StateU85(state, stream.config) if stream.config.core == "ethos-u85" else None
    for operation in operations(stream):
        if operation.name == "STOP":
            return
        with naming(operation.where):
            if operation.name in COMPUTING:
                bounded(operation)
            written = _operate(state, operation, stream.config) if last is None else _operate_u85(last, operation)
        if trace is not None and written is not None:
            trace(operation, written)


def _operate(memory: NpuMemory, operation: NpuOperation, config: Config) -> Ints | None:
    match operation.name:
        case "CONV" | "DEPTHWISE":
            return convolve(memory, operation, config)
        case "POOL":
            return pool(memory, operation)
        case "ELEMENTWISE":
            return elementwise(memory, operation)
        case "DMA_START":
            return transfer(memory, operation)
    return None


def _operate_u85(state: StateU85, operation: NpuOperation) -> Ints | None:
    match operation.name:
        case "CONV" | "DEPTHWISE":
            return convolve_u85(state, operation)
        case "POOL":
            return pool_u85(state, operation)
        case "ELEMENTWISE":
            return elementwise_u85(state, operation)
        case "RESIZE":
            return resize(state, operation)
        case "DMA_START":
            return transfer(state.memory, operation)
        case "BRANCH":
            refuse(operation, "branches are not modelled")
    return None
