"""Convolutions and pooling of Ethos-U55 and U65: sliding windows over the input."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mote.hardware.npu import weights
from mote.hardware.npu.functional.kernels import Traversal, kernel
from mote.hardware.npu.functional.memory import Ints, NpuMemory, feature_map, refuse
from mote.hardware.npu.functional.output import finish, output_shape
from mote.hardware.npu.functional.rounding import scaled, wrapped
from mote.hardware.npu.stream import Config, NpuOperation

OUTPUT_UNIT = 8
"""Output channels computed together."""
Number = TypeVar("Number", bound=np.generic)
ACCUMULATORS = {"INT32": 32, "INT40": 40}


@dataclass(frozen=True)
class KernelWindow:
    """A window and the input region it slides over, in rows and columns."""

    output: tuple[int, int]
    size: tuple[int, int]
    """Kernel size."""
    stride: tuple[int, int]
    dilation: tuple[int, int]
    before: tuple[int, int]
    after: tuple[int, int]
    upscale: str

    @property
    def upscaled(self) -> tuple[int, int]:
        """Rows and columns read from the upscaled input, without padding."""
        height, width = (
            (made - 1) * stride + (size - 1) * dilation + 1 - before - after
            for made, stride, size, dilation, before, after in zip(
                self.output, self.stride, self.size, self.dilation, self.before, self.after, strict=True
            )
        )
        return height, width

    @property
    def read(self) -> tuple[int, int]:
        """Rows and columns of the input in memory."""
        height, width = self.upscaled
        return (height, width) if self.upscale == "NONE" else (-(-height // 2), -(-width // 2))

    def padded(self, values: Ints, fill: int) -> Ints:
        """The input, upscaled and padded."""
        height, width = self.upscaled
        if self.upscale == "NEAREST":
            values = values.repeat(2, axis=0).repeat(2, axis=1)[:height, :width]
        elif self.upscale == "ZEROS":
            spread = np.zeros((2 * values.shape[0], 2 * values.shape[1], values.shape[2]), np.int64)
            spread[::2, ::2] = values
            values = spread[:height, :width]
        pads = (*zip(self.before, self.after, strict=True), (0, 0))
        return np.pad(values, pads, constant_values=fill)

    def moved(self, padded: NDArray[Number]) -> Iterator[tuple[int, int, NDArray[Number]]]:
        """Yields (row, column, input values at all output positions) for each kernel element."""
        spans = [(made - 1) * stride + 1 for made, stride in zip(self.output, self.stride, strict=True)]
        for row in range(self.size[0]):
            for column in range(self.size[1]):
                top, left = row * self.dilation[0], column * self.dilation[1]
                yield (
                    row,
                    column,
                    padded[top : top + spans[0] : self.stride[0], left : left + spans[1] : self.stride[1]],
                )


def window(operation: NpuOperation) -> KernelWindow:
    value = operation.value
    steps = operation.register("KERNEL_STRIDE")
    dilation = steps["dilate_y"] + 1, steps["dilate_x"] + 1
    reach = value("KERNEL_HEIGHT_M1"), value("KERNEL_WIDTH_M1")
    if reach[0] % dilation[0] or reach[1] % dilation[1]:
        refuse(operation, f"a kernel that reaches over {reach[0] + 1} x {reach[1] + 1} elements cannot be dilated")
    shape = KernelWindow(
        output_shape(operation)[:2],
        (reach[0] // dilation[0] + 1, reach[1] // dilation[1] + 1),
        (1 + steps["y_low"] + 2 * steps["y_high"], 1 + steps["x_low"] + 2 * steps["x_high"]),
        dilation,
        (value("IFM_PAD_TOP"), value("IFM_PAD_LEFT")),
        (value("IFM_PAD_BOTTOM"), value("IFM_PAD_RIGHT")),
        operation.said("IFM_UPSCALE", "mode"),
    )
    if min(shape.upscaled) < 1:
        refuse(operation, "its window lies in the padding altogether")
    return shape


def convolve(memory: NpuMemory, operation: NpuOperation, config: Config) -> Ints:
    """Executes CONV and DEPTHWISE."""
    depthwise = operation.name == "DEPTHWISE"
    shape, over = output_shape(operation), window(operation)
    inputs = operation.value("IFM_DEPTH_M1") + 1
    if depthwise and inputs != shape[2]:
        refuse(operation, f"a depthwise convolution of {inputs} channels has no output of {shape[2]}")
    source = feature_map(operation, "IFM", 16)
    values = source.read(memory, (*over.read, inputs)) - operation.value("IFM_ZERO_POINT")
    weight, bias, scale, shift = parameters(memory, operation, config, over, inputs, source.bits)
    sums = products(over, over.padded(values, 0), weight, depthwise)
    sums = wrapped(sums, ACCUMULATORS[accumulator(operation)]) + bias
    if operation.said("OFM_PRECISION", "scale_mode") == "GLOBAL":
        scale, shift = (np.array(operation.value("OFM_SCALE", field), np.int64) for field in ("scale", "shift"))
    return finish(memory, operation, scaled(sums, scale, shift, operation.said("OFM_PRECISION", "round_mode")))


def products(over: KernelWindow, padded: Ints, weight: Ints, depthwise: bool) -> Ints:
    """Convolution sums of a kernel (outputs, rows, columns, inputs), in double precision where that is exact (always
    for 16-bit inputs and 9-bit weights)."""
    terms = weight[0].size
    largest = int(np.abs(padded).max(initial=0)) * int(np.abs(weight).max(initial=0)) * terms
    kind = np.float64 if largest < 1 << 53 else np.int64
    values: NDArray[Any] = padded.astype(kind)
    factors: NDArray[Any] = weight.astype(kind)
    sums: NDArray[Any] = np.zeros((*over.output, len(weight)), kind)
    for row, column, met in over.moved(values):
        sums += met * factors[:, row, column, 0] if depthwise else met @ factors[:, row, column].T
    return sums.astype(np.int64)


def accumulator(operation: NpuOperation) -> str:
    name = operation.said("ACC_FORMAT", "format")
    if name not in ACCUMULATORS:
        refuse(operation, f"accumulators of {name} are not modelled")
    return name


def parameters(
    memory: NpuMemory, operation: NpuOperation, config: Config, over: KernelWindow, inputs: int, bits: int
) -> tuple[Ints, Ints, Ints, Ints]:
    """Kernel, biases, scales and shifts of a convolution; with two cores each has every other channel."""
    outputs = operation.value("OFM_DEPTH_M1") + 1
    cores = 2 if operation.has("PARALLEL_MODE") and operation.value("PARALLEL_MODE") else 1
    streams = [
        _stream(memory, operation, config, over, inputs, bits, core, cores) for core in range(min(cores, outputs))
    ]
    whole = tuple(np.zeros((outputs, *part.shape[1:]), np.int64) for part in streams[0])
    for core, stream in enumerate(streams):
        for total, part in zip(whole, stream, strict=True):
            total[core::cores] = part
    return whole[0], whole[1], whole[2], whole[3]


def _stream(
    memory: NpuMemory,
    operation: NpuOperation,
    config: Config,
    over: KernelWindow,
    inputs: int,
    bits: int,
    core: int,
    cores: int,
) -> tuple[Ints, Ints, Ints, Ints]:
    value = operation.value
    suffix = str(core) if core else ""
    outputs = -(-(value("OFM_DEPTH_M1") + 1 - core) // cores)
    block = -(-(value("OFM_BLK_DEPTH_M1") + 1 - core) // cores)
    steps = operation.register("KERNEL_STRIDE")
    depthwise, parts_first = operation.name == "DEPTHWISE", steps.said("order") == "PART_KERNEL_FIRST"
    side = 4 if steps.said("parts") == "4X4" else 8
    traversal = Traversal(
        *over.size,
        1 if depthwise else inputs,
        outputs,
        block,
        (side // over.dilation[0], side // over.dilation[1]),
        8,
        4 if config.macs == 32 else OUTPUT_UNIT,
        16 if parts_first or bits == 16 else 32,
        depthwise,
        parts_first and not depthwise,
        4 if depthwise else 1 if not parts_first else 2 if bits == 16 else 4,
    )
    address, length = value(f"WEIGHT{suffix}_BASE"), value(f"WEIGHT{suffix}_LENGTH")
    data = memory.run(operation, value("WEIGHT_REGION"), address, length)
    weight = kernel(weights.decode(data.tobytes()), traversal, operation.where)
    count, least = value(f"SCALE{suffix}_LENGTH"), outputs * weights.RECORD
    if count < least:
        refuse(operation, f"{count} bytes are no scales of {outputs} channels")
    scales = memory.run(operation, value("SCALE_REGION"), value(f"SCALE{suffix}_BASE"), count)[:least]
    return weight, *weights.records(scales.tobytes(), 40)


def pool(memory: NpuMemory, operation: NpuOperation) -> Ints:
    """Executes pooling: maximum, average, and sums over channels."""
    mode = operation.command.said("mode")
    shape, over = output_shape(operation), window(operation)
    source = feature_map(operation, "IFM")
    depth = operation.value("IFM_DEPTH_M1") + 1 if mode == "REDUCE_SUM" else shape[2]
    values = source.read(memory, (*over.read, depth)) - operation.value("IFM_ZERO_POINT")
    scale, shift = operation.value("OFM_SCALE", "scale"), operation.value("OFM_SCALE", "shift")
    rounding = operation.said("OFM_PRECISION", "round_mode")
    if mode == "MAX":
        lowest = np.iinfo(np.int64).min
        largest = np.maximum.reduce([met for *_, met in over.moved(over.padded(values, lowest))])
        return finish(memory, operation, largest)
    met = [part for *_, part in over.moved(over.padded(values, 0))]
    sums = np.add.reduce(met)
    if mode == "REDUCE_SUM":
        if shape[2] != 1:
            refuse(operation, f"a sum over channels has an output of {shape[2]} channels")
        sums = sums.sum(axis=-1, keepdims=True)
    elif any((*over.before, *over.after)):
        return finish(memory, operation, averages(sums, over))
    return finish(
        memory, operation, scaled(wrapped(sums, ACCUMULATORS[accumulator(operation)]), scale, shift, rounding)
    )


def averages(sums: Ints, over: KernelWindow) -> Ints:
    """Averages of elements excluding padding, rounded half away from zero."""
    inside = over.padded(np.ones((*over.read, 1), np.int64), 0)
    count = np.add.reduce([part for *_, part in over.moved(inside)])
    mean: Ints = np.sign(sums) * ((np.abs(sums) + count // 2) // np.maximum(count, 1))
    return mean
