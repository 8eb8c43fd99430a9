"""Operations of Ethos-U85: operands may be broadcast or chained from previous operations, outputs transposed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from mote.hardware.npu import weights
from mote.hardware.npu.functional.curves import interpolated
from mote.hardware.npu.functional.kernels_u85 import TraversalU85, apart, kernel_u85
from mote.hardware.npu.functional.memory import TYPES, Ints, NpuMemory, feature_map, refuse
from mote.hardware.npu.functional.output import output_shape, to_bits
from mote.hardware.npu.functional.rounding import by_register, rounded, scaled, wrapped
from mote.hardware.npu.functional.windows import KernelWindow, averages, products, window
from mote.hardware.npu.stream import Config, NpuOperation

MICROBLOCKS = {"1X1": 1, "1X2": 2, "1X4": 4, "2X2": 4, "2X4": 8, "4X4": 16}
"""Number of elements in a microblock, by its rows x columns."""
BIAS_BITS = {"INT32": 32, "INT48": 48}
BROADCAST_H, BROADCAST_W, BROADCAST_C = 1, 2, 4
TABLES = {
    "TABLE_U8_U8": (False, 8),
    "TABLE_S8_S8": (True, 8),
    "TABLE_S8_S16": (True, 16),
    "TABLE_S8_S32": (True, 32),
}
"""Tables of 256 entries: (whether indices are signed, bits per entry)."""


@dataclass
class StateU85:
    """Memory, and internal state between operations."""

    memory: NpuMemory
    config: Config
    chained: dict[int, Ints] = field(default_factory=dict)
    """Chained outputs for later operations, by buffer number."""
    sums: Ints | None = None
    """Accumulators kept for the next operation."""


def convolve_u85(state: StateU85, operation: NpuOperation) -> Ints | None:
    """Executes CONV and DEPTHWISE, with weights from a stream or the second input."""
    depthwise = operation.name == "DEPTHWISE"
    shape, over = output_shape(operation), window(operation)
    inputs = operation.value("IFM_DEPTH_M1") + 1
    if depthwise and inputs != shape[2]:
        refuse(operation, f"a depthwise convolution of {inputs} channels has no output of {shape[2]}")
    values = over.padded(read(state, operation, "IFM", (*over.read, inputs), 16), 0)
    if not depthwise and operation.command["weights_ifm2"]:
        if over.size != (1, 1):
            refuse(operation, f"kernels of {over.size[0]} x {over.size[1]} cannot be a second input")
        weight = read(state, operation, "IFM2", (1, shape[2], inputs), 16).reshape(shape[2], 1, 1, inputs)
        return accumulated(state, operation, products(over, values, weight, depthwise))
    weight = _weights(state, operation, over, inputs)
    return accumulated(state, operation, products(over, values, weight, depthwise))


def accumulated(state: StateU85, operation: NpuOperation, sums: Ints) -> Ints | None:
    """Adds sums to kept accumulators; scales and writes them, or keeps them again."""
    register = operation.register("ACC_FORMAT")
    match register.said("input"):
        case "KEEP":
            if state.sums is None or state.sums.shape != sums.shape:
                refuse(operation, "there are no accumulators of its shape to go on with")
            sums = sums + state.sums
        case "IFM2":
            sums = sums + read(state, operation, "IFM2", output_shape(operation))
    bits = BIAS_BITS[register.said("format")]
    sums = wrapped(sums, bits)
    state.sums = sums if register.said("output") == "KEEP" else None
    if state.sums is not None:
        return None
    scale = operation.register("OFM_SCALE")
    if operation.said("OFM_PRECISION", "scale_mode") == "GLOBAL":
        return finish_u85(state, operation, by_register(sums, scale))
    bias, factors, shifts = _records(state, operation, bits)
    mode = scale.said("round_mode")
    return finish_u85(state, operation, scaled(sums + bias, factors, shifts, mode, scale["double"]))


def _records(state: StateU85, operation: NpuOperation, bits: int) -> tuple[Ints, Ints, Ints]:
    outputs, length = operation.value("OFM_DEPTH_M1") + 1, operation.value("SCALE_LENGTH")
    if length < outputs * weights.RECORD:
        refuse(operation, f"{length} bytes are no scales of {outputs} channels")
    data = state.memory.run(operation, operation.value("SCALE_REGION"), operation.value("SCALE_BASE"), length)
    return weights.records(data[: outputs * weights.RECORD].tobytes(), bits)


def _weights(state: StateU85, operation: NpuOperation, over: KernelWindow, inputs: int) -> Ints:
    t = _traversal(state.config, operation, over, inputs)
    fast = operation.said("WEIGHT_FORMAT", "format") == "FAST"
    streams = []
    for number in range(1 if fast else t.streams):
        name = f"WEIGHT{number or ''}"
        length = operation.value(f"{name}_LENGTH")
        base = operation.value(f"{name}_BASE") if length else 0
        data = state.memory.run(operation, operation.value("WEIGHT_REGION"), base, length).tobytes()
        streams.append(weights.decode_fast(data) if fast else weights.decode(data))
    return kernel_u85(apart(streams[0], t) if fast else streams, t, operation.where)


def _traversal(config: Config, operation: NpuOperation, over: KernelWindow, inputs: int) -> TraversalU85:
    steps = operation.register("KERNEL_STRIDE")
    depthwise, parts_first = operation.name == "DEPTHWISE", steps.said("order") == "PART_KERNEL_FIRST"
    sparse = operation.said("WEIGHT_FORMAT", "sparsity") != "NONE"
    wide = operation.said("IFM_PRECISION", "bits") == "16"
    unit = config.macs // (8 * MICROBLOCKS[operation.said("ACC_FORMAT", "microblock")])
    if parts_first:
        block = 16
    elif config.macs <= 256 and unit == 16 and not sparse:
        block = 32
    else:
        block = 128 if sparse and not wide else 64
    side = 4 if steps.said("parts") == "4X4" else 8
    common = (
        *over.size,
        1 if depthwise else inputs,
        operation.value("OFM_DEPTH_M1") + 1,
        operation.value("OFM_BLK_DEPTH_M1") + 1,
        unit,
        (side // over.dilation[0], side // over.dilation[1]),
    )
    if depthwise:
        gap = 0 if not wide and config.macs <= 256 else 2 if config.macs <= 512 else 6
        return TraversalU85(*common, over.stride, 1, 1, 1, 10, gap, config.cores)
    step = 16 if sparse else 8
    if parts_first:
        narrow = wide and not sparse
        return TraversalU85(
            *common, over.stride, block, 8 if narrow else block, step, 10 if wide or sparse else 5, 0, config.cores
        )
    return TraversalU85(*common, (1, 1), block, block, step, 1, 0, config.cores)


def pool_u85(state: StateU85, operation: NpuOperation) -> Ints | None:
    mode = operation.command.said("mode")
    shape = output_shape(operation)
    if mode == "NONE":
        return accumulated(state, operation, np.zeros(shape, np.int64))
    over = window(operation)
    depth = operation.value("IFM_DEPTH_M1") + 1 if mode == "REDUCE_SUM" else shape[2]
    values = read(state, operation, "IFM", (*over.read, depth))
    match mode:
        case "MAX" | "MIN":
            limits = np.iinfo(np.int32)
            largest = over.padded(values, limits.min if mode == "MAX" else limits.max)
            parts = [part for *_, part in over.moved(largest)]
            values = np.maximum.reduce(parts) if mode == "MAX" else np.minimum.reduce(parts)
            return finish_u85(state, operation, by_register(values, operation.register("OFM_SCALE")))
        case "ARGMAX_X" | "ARGMAX_Y":
            if any((*over.before, *over.after)) or min(over.size) > 1:
                refuse(operation, "the place of the largest value is along rows or columns, without padding")
            places = np.argmax(np.stack([part for *_, part in over.moved(values)]), axis=0)
            return finish_u85(state, operation, by_register(places << 16, operation.register("OFM_SCALE")))
    sums = np.add.reduce([part for *_, part in over.moved(over.padded(values, 0))])
    if mode == "REDUCE_SUM":
        if shape[2] != 1:
            refuse(operation, f"a sum over channels has an output of {shape[2]} channels")
        sums = sums.sum(axis=-1, keepdims=True)
    return accumulated(state, operation, averages(sums, over) if mode == "AVERAGE" else sums)


def resize(state: StateU85, operation: NpuOperation) -> Ints | None:
    """Executes RESIZE; positions are fractions of n between two elements."""
    value = operation.value
    shape = output_shape(operation)
    size = value("KERNEL_HEIGHT_M1") + 1, value("KERNEL_WIDTH_M1") + 1
    values = read(state, operation, "IFM", (*size, shape[2])) << 16
    mode = operation.command.said("mode")
    for axis, name in enumerate("YX"):
        n = value(f"RESIZE_{name}_SCALE_N_M1") + 1
        step = operation.register(f"RESIZE_{name}_STEP")
        at = np.arange(shape[axis], dtype=np.int64) * (step["one"] * n + step["one_rest"]) + value(
            f"RESIZE_{name}_OFFSET"
        )
        lower, rest = at // n, at % n
        first, second = (np.clip(lower + k, 0, size[axis] - 1) for k in (0, 1))
        weight = rest.reshape(-1, *[1] * (2 - axis))
        if mode == "BILINEAR":
            values = values.take(first, axis) * (n - weight) + values.take(second, axis) * weight
        elif mode == "NEAREST":
            values = values.take(np.where(2 * rest >= n, second, first), axis)
        else:
            values = values.take(first, axis)
    return finish_u85(state, operation, by_register(values, operation.register("OFM_SCALE")))


UNARY = ("LRELU", "ABS", "CLZ", "NOT")
BINARY: Mapping[str, Callable[[Ints, Ints], Ints]] = {
    "MUL": lambda a, b: a * b,
    "ADD": lambda a, b: a + b,
    "SUB": lambda a, b: a - b,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "SHL": lambda a, b: wrapped(a << (b & 63), 32),
    "LSR": lambda a, b: (a & 0xFFFFFFFF) >> (b & 63),
    "CMP_EQ": lambda a, b: (a == b).astype(np.int64),
    "CMP_NE": lambda a, b: (a != b).astype(np.int64),
    "CMP_GE": lambda a, b: (a >= b).astype(np.int64),
    "CMP_GT": lambda a, b: (a > b).astype(np.int64),
    "AND": lambda a, b: a & b,
    "OR": lambda a, b: a | b,
    "XOR": lambda a, b: a ^ b,
    "AND_NOT": lambda a, b: a & ~b,
}


def elementwise_u85(state: StateU85, operation: NpuOperation) -> Ints | None:
    mode = operation.command.said("mode")
    shape = output_shape(operation)
    values = read(state, operation, "IFM", _broadcast(operation, "IFM", shape))
    last = operation.register("OFM_SCALE")
    only_shift = 1 if operation.said("IFM_PRECISION", "bits") == "32" else None
    if mode in UNARY:
        return finish_u85(state, operation, by_register(_unary(operation, mode, values), last, scale=only_shift))
    other = read(state, operation, "IFM2", _broadcast(operation, "IFM2", shape))
    if mode == "SHR":
        a, b = np.broadcast_arrays(values, other & 63)
        return finish_u85(state, operation, rounded(a, b, operation.said("OFM_SCALE", "round_mode")))
    if mode not in BINARY:
        refuse(operation, f"the element-wise operation {mode} is not modelled")
    a = by_register(values, operation.register("IFM_SCALE"))
    b = by_register(other, operation.register("IFM2_SCALE"))
    made = by_register(BINARY[mode](a, b), last, scale=only_shift)
    return finish_u85(state, operation, np.broadcast_to(made, shape))


def _unary(operation: NpuOperation, mode: str, values: Ints) -> Ints:
    first = operation.register("IFM_SCALE")
    match mode:
        case "LRELU":
            return np.where(
                values < 0, by_register(values, operation.register("IFM2_SCALE")), by_register(values, first)
            )
        case "CLZ":
            return np.where(values < 0, 0, 32 - np.frexp(values.astype(np.float64))[1])
        case "NOT":
            return ~values
    return np.abs(by_register(values, first))


def _broadcast(operation: NpuOperation, name: str, shape: tuple[int, int, int]) -> tuple[int, int, int]:
    """Shape of an operand with broadcast axes."""
    mode = operation.value(f"{name}_BROADCAST")
    if operation.said(f"{name}_BROADCAST", "mode") == "SCALAR":
        return 1, 1, 1
    height, width, depth = shape
    return (
        1 if mode & BROADCAST_H else height,
        1 if mode & BROADCAST_W else width,
        1 if mode & BROADCAST_C else depth,
    )


def read(state: StateU85, operation: NpuOperation, name: str, shape: tuple[int, int, int], most: int = 64) -> Ints:
    """Reads an operand minus its zero point: a scalar, a chained output or a feature map."""
    zero = operation.value(f"{name}_ZERO_POINT")
    match operation.said(f"{name}_PRECISION", "storage"):
        case "NONE":
            return np.full(shape, wrapped(np.array(operation.value("OP_SCALAR")), 32) - zero)
        case "CHAINED":
            kept = state.chained.get(operation.value(f"{name}_REGION"))
            if kept is None or kept.shape != shape:
                refuse(operation, f"{name} is chained, and no operation before it made {shape}")
            return kept - zero
        case "TILES_3X1":
            refuse(operation, "tiles of 3 x 1 are not modelled")
    return feature_map(operation, name, most).read(state.memory, shape) - zero


def finish_u85(state: StateU85, operation: NpuOperation, values: Ints) -> Ints:
    """Output stage: zero point, clipping and activation of scaled values; writes and returns them."""
    precision = operation.register("OFM_PRECISION")
    signed, bits = bool(precision["sign"]), 8 << precision["bits"]
    function = operation.said("ACTIVATION", "function")
    values = _activated(state, operation, values, function)
    if operation.said("ACTIVATION", "clip") == "16":
        values = np.clip(values, *_bounds(operation, signed if function == "NONE" else function != "TABLE_U8_U8"))
    values = to_bits(_tabled(state, operation, values, function), bits, signed=signed)
    axes = ["HWC".index(axis) for axis in precision.said("transpose")]
    values = values.transpose(axes)
    if precision.said("reverse") != "NONE":
        values = np.flip(values, "HWC".index(precision.said("reverse")))
    match precision.said("storage"):
        case "CHAINED":
            state.chained[operation.value("OFM_REGION")] = values
        case "TILES_2X2":
            feature_map(operation, "OFM", 64).write(state.memory, values)
        case other:
            refuse(operation, f"an output cannot be stored as {other}")
    return values


def _bounds(operation: NpuOperation, signed: bool) -> tuple[int, int]:
    low, high = operation.value("ACTIVATION_MIN"), operation.value("ACTIVATION_MAX")
    return ((low ^ 0x8000) - 0x8000, (high ^ 0x8000) - 0x8000) if signed else (low, high)


def _activated(state: StateU85, operation: NpuOperation, values: Ints, function: str) -> Ints:
    """Applies SIGMOID or TANH, before zero point and clipping."""
    if function in ("SIGMOID", "TANH"):
        table = state.memory.table(operation, 0, 512, TYPES[False, 32])
        values = interpolated(values, wrapped(table, 16), wrapped(table >> 16, 16), function)
    return values + operation.value("OFM_ZERO_POINT")


def _tabled(state: StateU85, operation: NpuOperation, values: Ints, function: str) -> Ints:
    number = operation.value("ACTIVATION", "table")
    if function in TABLES:
        signed, bits = TABLES[function]
        table = state.memory.table(operation, number * bits // 8, 256, TYPES[signed, bits])
        return table[wrapped(values, 8) + 0x80 if signed else values & 0xFF]
    if function in ("TABLE_S16_S16", "TABLE_S16_S32"):
        entries = state.memory.table(operation, 0, 512, TYPES[False, 32])
        index = wrapped(values, 16) + 0x8000
        entry, rest = entries[index >> 7], index & 127
        whole = (wrapped(entry, 16) << 7) + wrapped(entry >> 16, 16) * rest
        return whole if function == "TABLE_S16_S32" else whole + 64 >> 7
    return values
