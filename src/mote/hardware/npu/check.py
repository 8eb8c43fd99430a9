"""Computes the bytes that each operation of a command stream reads and writes, and checks that it may.

An Ethos-U accesses any address in a stream, bypassing the core's memory protection. A stream is valid if every
operation has all registers it needs, all accesses are within the memory of a base pointer, and writes only in writable
memory. Anything unknown is rejected. Decisions are identical to those of `mote_npu_check.c` and `mote_npu_check_u85.c`
on devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from mote.base.errors import MoteError
from mote.hardware.npu.commands import ENUMS
from mote.hardware.npu.stream import REMEDY, CommandStream, Config, NpuOperation, operations

BASES = 8
"""Number of base pointers of a stream."""
INTERNAL = BASES
"""Pseudo base pointer number of the NPU's internal memory."""
UNLIMITED = 1 << 48
"""Size beyond any address, for footprints of streams with unknown memory sizes."""
BLOCK = ("CONV", "DEPTHWISE", "POOL", "ELEMENTWISE", "RESIZE")
"""Operations that compute; others transfer, wait or stop."""
UNARY = ("LRELU", "ABS", "CLZ", "NOT")
"""Unary element-wise operations."""
TABLES = 2048
"""Bytes of activation tables at the end of internal memory (in a separate memory on Ethos-U85)."""
SLOT = 256
"""Distance between activation tables in bytes."""
TABLE_BYTES = {"TABLE_U8_U8": 256, "TABLE_S8_S8": 256, "TABLE_S8_S16": 512, "TABLE_S8_S32": 1024}
"""Table sizes of Ethos-U85 in bytes; tables of 16-bit functions use all."""
BRICK = 16
"""Channels per brick of the layout NHCWB16."""


class MemorySpan(NamedTuple):
    """A byte range relative to a base pointer, with the register prefix that describes it, such as `IFM`."""

    base: int
    first: int
    end: int
    registers: str

    def overlaps(self, other: MemorySpan) -> bool:
        return self.base == other.base and self.first < other.end and other.first < self.end


@dataclass(frozen=True)
class OperationFootprint:
    """Bytes that an operation reads and writes: a span per tile of a feature map, including gaps."""

    operation: NpuOperation
    reads: tuple[MemorySpan, ...] = ()
    writes: tuple[MemorySpan, ...] = ()


@dataclass(frozen=True)
class Footprint:
    """Bytes that a stream reads and writes."""

    operations: tuple[OperationFootprint, ...]
    """All operations in order including waits, except the final STOP."""

    def read(self, base: int) -> tuple[int, int]:
        """(first byte, end) of all reads relative to a base pointer; (0, 0) if there are none."""
        return _hull(span for operation in self.operations for span in operation.reads if span.base == base)

    def written(self, base: int) -> tuple[int, int]:
        """(first byte, end) of all writes relative to a base pointer; (0, 0) if there are none."""
        return _hull(span for operation in self.operations for span in operation.writes if span.base == base)


def check(stream: CommandStream, sizes: Sequence[int], writable: Sequence[bool]) -> Footprint:
    """Footprint of a stream, given the memory size of each base pointer. An invalid stream raises an error with the
    byte offset in the payload."""
    if len(sizes) > BASES or len(writable) > BASES:
        raise MoteError(f"a stream has {BASES} base pointers, not more", remedy=f"hand over {BASES} sizes at most")
    given = ([*sizes, *[0] * (BASES - len(sizes))], [*writable, *[False] * (BASES - len(writable))])
    listed: list[OperationFootprint] = []
    for operation in operations(stream):
        if operation.name == "STOP":
            if operation.command is not stream.commands[-1]:
                _refuse(operation, "commands follow the one that stops the NPU")
            return Footprint(tuple(listed))
        listed.append(touched(stream.config, operation, *given))
    last = stream.commands[-1] if stream.commands else None
    end = 0 if last is None else last.offset + 4 * last.kind.words
    raise MoteError("no command stops the NPU", where=f"end of the command stream at byte {end}", remedy=REMEDY)


def touched(
    config: Config,
    operation: NpuOperation,
    sizes: Sequence[int] = (UNLIMITED,) * BASES,
    writable: Sequence[bool] = (True,) * BASES,
) -> OperationFootprint:
    """Footprint of one operation; raises an error if it is invalid."""
    return _Checked(config, [*sizes, internal_bytes(config)], [*writable, True], operation).footprint()


class _Checked:
    """Computes the footprint of one operation."""

    def __init__(self, config: Config, sizes: Sequence[int], writable: Sequence[bool], operation: NpuOperation) -> None:
        self.config = config
        self.sizes = sizes
        self.writable = writable
        self.operation = operation
        self.newest = config.core == "ethos-u85"
        self.reads: list[MemorySpan] = []
        self.writes: list[MemorySpan] = []

    def footprint(self) -> OperationFootprint:
        operation = self.operation
        if operation.name == "DMA_START":
            self.transfer()
        elif operation.name in BLOCK:
            self.block()
        elif operation.name == "IRQ":
            _refuse(operation, "the driver would take this interrupt for the end of the stream")
        elif operation.name == "BRANCH":
            _refuse(operation, "streams that branch are not checked: what their registers hold depends on the way")
        return OperationFootprint(operation, tuple(self.reads), tuple(self.writes))

    def value(self, name: str, field: str = "") -> int:
        return self.operation.value(name, field)

    def touch(self, span: MemorySpan, writes: bool = False) -> None:
        """Adds bytes to the footprint, if they exist and may be accessed."""
        size = self.sizes[span.base]
        place = "internal memory" if span.base == INTERNAL else f"base pointer {span.base}"
        if span.first < 0 or span.end > size:
            _refuse(
                self.operation,
                f"{span.registers} has bytes {span.first} to {span.end} of {place}, which has {size} bytes",
            )
        if writes and not self.writable[span.base]:
            _refuse(self.operation, f"{span.registers} writes to {place}, which may only be read")
        (self.writes if writes else self.reads).append(span)

    def aligned(self, registers: str, alignment: int, *values: int) -> None:
        for value in values:
            if value % alignment:
                _refuse(self.operation, f"{registers} has {value}, which is not a multiple of {alignment}")

    def block(self) -> None:
        """Footprint of an operation that computes."""
        operation = self.operation
        each = operation.name == "ELEMENTWISE"
        made = tuple(self.value(f"OFM_{axis}_M1") + 1 for axis in ("HEIGHT", "WIDTH", "DEPTH"))
        self.map("OFM", self._transposed(made), writes=True)
        self.second(made)
        if operation.name in ("CONV", "DEPTHWISE"):
            self.weights()
        if self._scaled():
            self.scales(made[2])
        self.first(each, made)
        self.table()

    def first(self, each: bool, made: tuple[int, ...]) -> None:
        """Adds the first input: as large as the output, or what windows cover."""
        if each and self.newest:
            if self.operation.said("IFM_BROADCAST", "mode") != "SCALAR":
                self.map("IFM", _broadcast(self.value("IFM_BROADCAST"), made))
            return
        mode = self.operation.command.said("mode") if self.operation.name == "POOL" else ""
        rows, columns, depth = made
        if self.operation.name == "RESIZE":
            rows, columns = self.value("KERNEL_HEIGHT_M1") + 1, self.value("KERNEL_WIDTH_M1") + 1
        elif not each:
            rows = self.covered(rows, "HEIGHT", "y", "TOP", "BOTTOM")
            columns = self.covered(columns, "WIDTH", "x", "LEFT", "RIGHT")
        if self._stored("IFM"):
            own = self.value("IFM_DEPTH_M1") + 1
            whole = self.operation.name == "CONV" or mode == "REDUCE_SUM"
            self.map("IFM", (rows, columns, own if whole else max(own, depth)))

    def covered(self, made: int, side: str, axis: str, before: str, behind: str) -> int:
        """Input rows or columns covered by windows."""
        stride = self.operation.register("KERNEL_STRIDE")
        step = 1 + stride[f"{axis}_low"] + 2 * stride[f"{axis}_high"]
        pads = self.value(f"IFM_PAD_{before}") + self.value(f"IFM_PAD_{behind}")
        read = (made - 1) * step + self.value(f"KERNEL_{side}_M1") + 1 - pads
        if read <= 0:
            _refuse(self.operation, f"all of its windows lie in the padding: {pads} of {read + pads} positions")
        return (read + 1) // 2 if self.value("IFM_UPSCALE") else read

    def second(self, made: tuple[int, ...]) -> None:
        """Adds the second input of element-wise operations (on Ethos-U85 also of others)."""
        operation = self.operation
        if operation.name == "ELEMENTWISE":
            if operation.command.said("mode") in UNARY:
                return
            broadcast = operation.register("IFM2_BROADCAST").operand
            scalar = broadcast == 8 if self.newest else broadcast & 0x80
            if not scalar:
                self.map("IFM2", _broadcast(broadcast, made))
        elif self.newest and operation.name == "CONV" and operation.command["weights_ifm2"]:
            if made[0] > 1:
                _refuse(operation, "weights from IFM2 are understood for outputs of one row only")
            self.map("IFM2", (1, made[2], self.value("IFM_DEPTH_M1") + 1))
        elif self.newest and operation.said("ACC_FORMAT", "input") == "IFM2":
            self.map("IFM2", made)

    def map(self, name: str, shape: tuple[int, ...], writes: bool = False) -> None:
        """Adds a feature map: rows, columns and channels in up to four tiles."""
        if not self._stored(name):
            return
        rows, columns, depth = shape
        precision = self.operation.register(f"{name}_PRECISION")
        bricks = precision.said("layout") == "NHCWB16"
        size = 1 << precision["bits"]
        region = self.value(f"{name}_REGION")
        bases = [self.value(f"{name}_BASE{tile}") for tile in range(4)]
        width = self.value(f"{name}_WIDTH0_M1") + 1
        heights = [self.value(f"{name}_HEIGHT{tile}_M1") + 1 for tile in range(2)]
        x, y = (self.value(f"{name}_STRIDE_{axis}") for axis in "XY")
        c = self.value(f"{name}_STRIDE_C") if bricks else 0
        if size == 8 and not self.newest:
            _refuse(self.operation, f"{name} has elements of 64 bits")
        x = BRICK * size if bricks else x
        together = BRICK * size if bricks else depth * size
        for tile, base in enumerate(bases):
            height = heights[tile & 1]
            if (tile & 1 and columns <= width) or (tile > 1 and rows <= height):
                continue
            steps = (
                (rows - height if tile > 1 else min(rows, height)) - 1,
                (columns - width if tile & 1 else min(columns, width)) - 1,
                (depth - 1) // BRICK if bricks else 0,
            )
            reaches = [step * stride for step, stride in zip(steps, (y, x, c), strict=True)]
            self.aligned(name, BRICK if bricks else size, base, y, x, c)
            first = base + sum(reach for reach in reaches if reach < 0)
            end = base + together + sum(reach for reach in reaches if reach > 0)
            self.touch(MemorySpan(region, first, end, name), writes)

    def weights(self) -> None:
        operation = self.operation
        if self.newest:
            if operation.name == "CONV" and operation.command["weights_ifm2"]:
                return
            operation.register("WEIGHT_FORMAT")
            for core in range(self.config.cores):
                self.constants("WEIGHT", str(core) if core else "", optional=True)
            return
        self.constants("WEIGHT")
        if self.parallel:
            self.constants("WEIGHT", "1", optional=True)

    def scales(self, depth: int) -> None:
        """Adds the records of bias and scale per channel."""
        length = self.constants("SCALE")
        if self.parallel:
            length += self.constants("SCALE", "1", optional=True)
        if length < 10 * depth:
            _refuse(self.operation, f"{length} bytes of scales are too few for {depth} channels of 10 bytes")

    def constants(self, kind: str, core: str = "", optional: bool = False) -> int:
        """Adds weights or scales; the length may be 0 if they are optional."""
        name = f"{kind}{core}"
        length = self.value(f"{name}_LENGTH")
        region = self.value(f"{kind}_REGION")
        if length or not optional:
            base = self.value(f"{name}_BASE")
            self.aligned(name, 16, base, length)
            self.touch(MemorySpan(region, base, base + length, name))
        return length

    @property
    def parallel(self) -> bool:
        """Whether two cores share the output channels."""
        return self.operation.has("PARALLEL_MODE") and self.value("PARALLEL_MODE") != 0

    def table(self) -> None:
        """Adds the table of an activation function; before Ethos-U85 its location is fixed in hardware."""
        function = self.operation.said("ACTIVATION", "function") if self.operation.has("ACTIVATION") else "NONE"
        if not self.newest:
            if function.startswith("TABLE"):
                wide = self.value("IFM_PRECISION", "bits") == 1 or self.value("OFM_PRECISION", "bits") == 1
                size = TABLES if wide else SLOT << self.value("OFM_PRECISION", "bits")
                first = internal_bytes(self.config) - TABLES + SLOT * int(function.removeprefix("TABLE_"))
                self.reads.append(MemorySpan(INTERNAL, first, first + size, "ACTIVATION"))
            return
        if function == "NONE":
            return
        size = TABLE_BYTES.get(function, TABLES)
        first = size * self.value("ACTIVATION", "table")
        self.touch(MemorySpan(INTERNAL, first, first + size, "ACTIVATION"))

    def transfer(self) -> None:
        """Footprint of a DMA transfer."""
        source, target = (self.operation.register(f"DMA0_{side}_REGION") for side in ("SRC", "DST"))
        start, to, length = (self.value(f"DMA0_{name}") for name in ("SRC", "DST", "LEN"))
        inside = target.said("place") == "INTERNAL"
        if source.said("place") == "INTERNAL":
            _refuse(self.operation, "transfers out of internal memory are for debugging")
        strided = source["stride_mode"] or (not self.newest and target["stride_mode"])
        if strided and not self.newest:
            _refuse(self.operation, "transfers with strides are understood for Ethos-U85 only")
        if self.config.core == "ethos-u55":
            self.aligned("DMA0", 16, start, to, length)
        elif inside:
            self.aligned("DMA0", 16, to, length)
        place = INTERNAL if inside else target["region"]
        if not self.newest or not (strided or source["indexed"] or target["indexed"]):
            self.touch(MemorySpan(source["region"], start, start + length, "DMA0_SRC"))
            self.touch(MemorySpan(place, to, to + length, "DMA0_DST"), writes=True)
            return
        if source["indexed"] and target["indexed"]:
            _refuse(self.operation, "one side of a transfer is indexed, not both")
        inner = self.value("DMA0_SIZE0")
        outer = self.value("DMA0_SIZE1") if source.said("stride_mode") == "3D" else 1
        if not inner or not outer:
            _refuse(self.operation, "the transfer has a size of 0")
        self.strided("SRC", source["region"], start, length, (inner, outer), source["indexed"])
        self.strided("DST", place, to, length, (inner, outer), target["indexed"])
        if source["indexed"] or target["indexed"]:
            skip = self.value("DMA0_IDX_SKIP1") if outer > 1 else 0
            first = self.value("DMA0_IDX")
            self.aligned("DMA0_IDX", 4, first, skip)
            if skip < 0:
                _refuse(self.operation, f"DMA0_IDX_SKIP1 has {skip}: indices lie one behind the other")
            end = first + (outer - 1) * (4 * inner + skip) + 4 * inner
            self.touch(MemorySpan(self.value("DMA0_IDX_REGION"), first, end, "DMA0_IDX"))

    def strided(self, side: str, region: int, start: int, length: int, sizes: tuple[int, int], indexed: int) -> None:
        """Adds one side of a strided transfer, with rows selected by indices if any."""
        inner, outer = sizes
        steps = (self.value("DMA0_IDX_MAX") if indexed else inner - 1, outer - 1)
        needed = (steps[0] > 0, outer > 1)
        reaches = [steps[i] * self.value(f"DMA0_{side}_STRIDE{i}") if needed[i] else 0 for i in range(2)]
        first = start + sum(reach for reach in reaches if reach < 0)
        end = start + length + sum(reach for reach in reaches if reach > 0)
        self.touch(MemorySpan(region, first, end, f"DMA0_{side}"), writes=side == "DST")

    def _stored(self, name: str) -> bool:
        """Whether a feature map is in memory; on Ethos-U85 it may be chained between operations instead."""
        if not self.newest:
            return True
        storage = self.operation.said(f"{name}_PRECISION", "storage")
        if storage == "TILES_3X1":
            _refuse(self.operation, f"{name} is stored in three tiles, which is not understood")
        return storage == "TILES_2X2"

    def _scaled(self) -> bool:
        """Whether scales are read; on Ethos-U85 the output registers determine it."""
        if self.newest:
            return self.operation.said("OFM_PRECISION", "scale_mode") == "PER_CHANNEL"
        return self.operation.name in ("CONV", "DEPTHWISE")

    def _transposed(self, made: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of the output as stored."""
        if not self.newest:
            return made
        order = ENUMS["transpose"][self.value("OFM_PRECISION", "transpose")]
        return tuple(made["HWC".index(axis)] for axis in order)


def _broadcast(mode: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of an operand that is broadcast along rows, columns or channels."""
    return tuple(1 if mode >> axis & 1 else size for axis, size in enumerate(shape))


def internal_bytes(config: Config) -> int:
    """Bytes of internal memory per core."""
    return TABLES if config.core == "ethos-u85" else config.shram // config.cores


def _hull(spans: Iterator[MemorySpan]) -> tuple[int, int]:
    listed = list(spans)
    return (min(span.first for span in listed), max(span.end for span in listed)) if listed else (0, 0)


def _refuse(operation: NpuOperation, reason: str) -> NoReturn:
    raise MoteError(reason, where=operation.where, remedy=REMEDY)
