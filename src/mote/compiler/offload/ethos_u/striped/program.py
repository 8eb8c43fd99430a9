"""Analyzes a command stream as operations on tensors: which operation writes what another one reads, by rows if
possible.

The registers of an operation say which addresses it reads and writes. Bytes that one operation reads belong to one
tensor, whichever operations wrote them. A tensor can be computed by rows if all its operations see the same rows;
others are linear: they are complete before any of their bytes is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import aligned
from mote.compiler.offload.ethos_u.job import CONSTANTS, FAST, TENSORS, WORKING, NpuJob, Registers
from mote.hardware.npu.commands import Command
from mote.hardware.npu.stream import CommandStream, NpuOperation, operations

KERNELS = frozenset({"CONV", "DEPTHWISE", "POOL", "ELEMENTWISE"})
BRICK = 64
"""Maximum bytes of 16 channels, to which the layout NHCWB16 pads."""
_ALONE = frozenset({"LRELU", "ABS", "CLZ"})
"""Element-wise operations with one operand."""
_LUT = "TABLE"


class NotPlainError(Exception):
    """Raised if a stream cannot be computed in stripes; the message gives the reason."""


@dataclass(frozen=True)
class RowWindow:
    """How rows of an output depend on rows of an input: window height including dilation, stride, padding above, and
    number of input rows."""

    kernel: int
    stride: int
    above: int
    rows: int
    """Number of input rows that the whole operation reads."""

    def rows_of(self, first: int, end: int) -> tuple[int, int, int, int]:
        """For a range of output rows: the range of input rows, and the padding above and below."""
        low, high = first * self.stride - self.above, (end - 1) * self.stride - self.above + self.kernel
        return max(low, 0), min(high, self.rows), max(-low, 0), max(high - self.rows, 0)


@dataclass(frozen=True)
class Access:
    """An operation's access to a tensor, by the registers with the prefix `what`."""

    what: str
    tensor: int
    offset: int
    """Offset in bytes of the first element in the tensor."""
    rows: int
    pitch: int
    """Distance of rows in bytes."""
    window: RowWindow | None = None
    """How rows of the input are read; None: one row for all output rows."""


@dataclass(frozen=True)
class RowTensor:
    """A tensor in working memory, or with a base pointer of its own."""

    base: int
    size: int
    pitch: int
    """Bytes of a row; 0 for a linear tensor."""
    rows: int

    @property
    def placed(self) -> bool:
        """Whether the tensor is in working memory, so that it can be moved."""
        return self.base == WORKING


@dataclass(frozen=True)
class RowOperation:
    """An operation of the stream, with its accesses to tensors."""

    command: Command
    registers: Registers
    reads: tuple[Access, ...]
    write: Access
    tables: tuple[Registers, ...] = ()
    """The DMA registers that copy its lookup table."""
    begins: Registers = field(default_factory=dict)
    """The registers for an operand that has no rows yet, of an operation that accumulates its own results."""
    arrives: bool = False
    """Whether it stands for an arriving input row instead of an operation of the stream."""

    @property
    def rows(self) -> int:
        return self.write.rows

    @property
    def most(self) -> int:
        """Maximum rows that can be computed at once."""
        return 1 if self.arrives or self.begins else self.rows


@dataclass(frozen=True)
class Need:
    """A tensor that an operation reads; without a window, all rows. `writers`: the operations before it that write the
    tensor, last one first."""

    tensor: int
    window: RowWindow | None
    rows: int
    writers: tuple[int, ...]

    def rows_of(self, first: int, end: int) -> tuple[int, int]:
        """The range of rows that a stripe reads."""
        window = self.window
        if window is None:
            return 0, self.rows
        low, high = first * window.stride - window.above, (end - 1) * window.stride - window.above + window.kernel
        return (low if low > 0 else 0), (high if high < window.rows else window.rows)


@dataclass(frozen=True)
class StreamProgram:
    """The operations of a stream, and the tensors that they access."""

    stream: CommandStream
    operations: tuple[RowOperation, ...]
    tensors: tuple[RowTensor, ...]
    writers: tuple[tuple[int, ...], ...] = field(default=())
    """By tensor: the operations that write it."""

    @cached_property
    def needs(self) -> tuple[tuple[Need, ...], ...]:
        """The tensors that each operation reads, by rows."""
        return tuple(
            tuple(self._need(number, read) for read in operation.reads)
            for number, operation in enumerate(self.operations)
        )

    def _need(self, number: int, read: Access) -> Need:
        writers = self.writers[read.tensor]
        rows = max((self.operations[w].rows for w in writers), default=0)
        window = read.window if self.tensors[read.tensor].pitch else None
        return Need(read.tensor, window, rows, tuple(w for w in reversed(writers) if w < number))


def program(stream: CommandStream, job: NpuJob) -> StreamProgram:
    """Analyzes a stream in which no operator is split by rows and no weights are copied."""
    if stream.config.core == "ethos-u85":
        raise NotPlainError("stripes are for Ethos-U55 and U65")
    areas = {base: np.full(size, -1, np.int32) for base, size in enumerate(job.sizes)}
    for number, base in enumerate(_given(job)):
        areas[base][:] = -2 - number
    kept: list[_Accesses] = []
    tables: dict[int, Registers] = {}
    for operation in operations(stream):
        if operation.name == "DMA_START":
            tables[_table(operation)] = _dma(operation)
        elif operation.name in KERNELS:
            kept.append(_accesses(operation, len(kept), areas, tables))
    return _joined(stream, kept, job)


def _given(job: NpuJob) -> tuple[int, ...]:
    """Base pointers of memory that is valid before the stream runs: constants and inputs."""
    return (CONSTANTS, *range(TENSORS, TENSORS + len(job.inputs)))


@dataclass(frozen=True)
class _Area:
    """The bytes of memory that an operation accesses."""

    what: str
    base: int
    bytes: NDArray[np.int64]
    rows: int
    pitch: int
    window: RowWindow | None
    writers: tuple[int, ...]

    @property
    def first(self) -> int:
        return int(self.bytes.min())

    @property
    def end(self) -> int:
        return int(self.bytes.max()) + 1


@dataclass(frozen=True)
class _Accesses:
    operation: NpuOperation
    reads: tuple[_Area, ...]
    write: _Area
    tables: tuple[Registers, ...]


def _accesses(
    operation: NpuOperation,
    number: int,
    areas: Mapping[int, NDArray[np.int32]],
    tables: dict[int, Mapping[str, Command]],
) -> _Accesses:
    reads = tuple(
        replace(area, writers=tuple(np.unique(areas[area.base][area.bytes]).tolist())) for area in _inputs(operation)
    )
    write = replace(_output(operation), writers=(number,))
    if any(-1 in area.writers for area in reads):
        raise NotPlainError(f"{operation.where} reads what nothing has written")
    if write.base == FAST or any(area.base == FAST for area in reads):
        raise NotPlainError("tensors lie in the driver's fast memory")
    areas[write.base][write.bytes] = number
    uses = operation.said("ACTIVATION", "function").startswith(_LUT)
    return _Accesses(operation, reads, write, tuple(tables.values()) if uses else ())


def _joined(stream: CommandStream, kept: Sequence[_Accesses], job: NpuJob) -> StreamProgram:
    """Forms tensors from accesses: all operations that wrote bytes of one read write the same tensor."""
    parent = {n: n for n in range(-1 - len(_given(job)), len(kept))}

    def root(n: int) -> int:
        while parent[n] != n:
            n = parent[n]
        return n

    for seen in kept:
        for area in seen.reads:
            for writer in area.writers[1:]:
                parent[root(writer)] = root(area.writers[0])
    groups: dict[int, list[_Area]] = {}
    for seen in kept:
        for area in (*seen.reads, seen.write):
            groups.setdefault(root(area.writers[0]), []).append(area)
    numbers = {key: n for n, key in enumerate(groups)}
    starts: dict[int, int] = {}
    tensors: list[RowTensor] = []
    for key, areas in groups.items():
        if len({area.base for area in areas}) > 1:
            raise NotPlainError("a tensor lies behind two base pointers")
        base = areas[0].base
        starts[key] = min(a.first for a in areas) if base == WORKING else 0
        end = max(a.end for a in areas)
        size = aligned(end - starts[key], BRICK) if base == WORKING else job.sizes[base]
        tensors.append(_tensor(areas, base, starts[key], size))

    def access(area: _Area) -> Access:
        key = root(area.writers[0])
        return Access(area.what, numbers[key], area.first - starts[key], area.rows, area.pitch, area.window)

    made = tuple(
        RowOperation(
            seen.operation.command,
            seen.operation.registers,
            tuple(map(access, seen.reads)),
            access(seen.write),
            seen.tables,
        )
        for seen in kept
    )
    return _in_place(StreamProgram(stream, made, tuple(tensors)))


def _in_place(program: StreamProgram) -> StreamProgram:
    """Lets element-wise operations overwrite an operand that nothing else reads: both become one tensor."""
    changed = list(program.operations)
    for number, operation in enumerate(changed):
        to = operation.write
        for read in operation.reads if operation.command.name == "ELEMENTWISE" else ():
            users = [o for o in changed if read.tensor in (o.write.tensor, *(r.tensor for r in o.reads))]
            alone = len(users) == 2 and [r.tensor for r in operation.reads].count(read.tensor) == 1
            if alone and program.tensors[to.tensor].placed and _alike(program, operation, read):
                for n in (n for n, o in enumerate(changed) if any(o is user for user in users)):
                    changed[n] = _renamed(changed[n], read.tensor, to.tensor)
                operation = changed[number]
                break
    return linked(replace(program, operations=tuple(changed)))


def linked(program: StreamProgram) -> StreamProgram:
    """The program with the writers of its tensors filled in."""
    made = list(enumerate(program.operations))
    writers = (tuple(n for n, o in made if o.write.tensor == t) for t in range(len(program.tensors)))
    return replace(program, writers=tuple(writers))


def arriving(program: StreamProgram, rows: int) -> StreamProgram:
    """The program with its only input arriving row by row in working memory, as its first operation."""
    given = [t for t, tensor in enumerate(program.tensors) if tensor.base == TENSORS]
    if len(given) != 1:
        raise NotPlainError("nothing reads the input")
    (number,) = given
    tensor = program.tensors[number]
    pitch = tensor.size // rows
    reads = [read for operation in program.operations for read in operation.reads if read.tensor == number]
    if any(read.pitch != pitch or read.offset >= pitch or read.window is None for read in reads):
        raise NotPlainError("an operation does not read the input by rows")
    first = RowOperation(program.stream.command("STOP"), {}, (), Access("OFM", number, 0, rows, pitch), arrives=True)
    tensors = list(program.tensors)
    tensors[number] = RowTensor(WORKING, tensor.size, pitch, rows)
    return linked(replace(program, operations=(first, *program.operations), tensors=tuple(tensors)))


def _alike(program: StreamProgram, operation: RowOperation, read: Access) -> bool:
    """Whether an operand has the same memory layout as the result."""
    registers, to = operation.registers, operation.write
    pairs = [(f"{read.what}_{name}", f"OFM_{name}") for name in ("STRIDE_X", "STRIDE_Y", "STRIDE_C")]
    given, made = (registers[f"{what}_PRECISION"] for what in (read.what, "OFM"))
    return (
        program.tensors[read.tensor] == program.tensors[to.tensor]
        and read.window is not None
        and (read.offset, read.rows, read.pitch) == (to.offset, to.rows, to.pitch)
        and all(registers[a].value == registers[b].value for a, b in pairs)
        and all(given[field] == made[field] for field in ("bits", "layout"))
    )


def _renamed(operation: RowOperation, old: int, new: int) -> RowOperation:
    reads = (replace(read, tensor=new) if read.tensor == old else read for read in operation.reads)
    write = replace(operation.write, tensor=new) if operation.write.tensor == old else operation.write
    return replace(operation, reads=tuple(reads), write=write)


def _tensor(areas: Sequence[_Area], base: int, start: int, size: int) -> RowTensor:
    """A tensor by rows, if all operations agree about its rows and every write has all of them; else linear."""
    pitches = {area.pitch for area in areas if area.rows > 1}
    written = [area.rows for area in areas if area.what == "OFM"]
    pitch = next(iter(pitches), 0)
    alike = (
        len(pitches) == 1
        and len(set(written)) == 1
        and all(area.rows <= written[0] and area.first - start < pitch for area in areas)
        and all(area.end - area.first <= area.rows * pitch for area in areas)
        and all(area.window is not None for area in areas if area.what != "OFM")
    )
    if base != WORKING or not alike:
        return RowTensor(base, size, 0, 1)
    return RowTensor(base, size, pitch, written[0])


def _inputs(operation: NpuOperation) -> Iterator[_Area]:
    """The memory areas that an operation reads, except weights and scales."""
    rows, width, depth = (operation.value(f"OFM_{what}_M1") + 1 for what in ("HEIGHT", "WIDTH", "DEPTH"))
    if operation.name == "ELEMENTWISE":
        flags = operation.registers.get("IFM2_BROADCAST")
        mode = operation.command.said("mode")
        yield _area(operation, "IFM", rows, width, depth, RowWindow(1, 1, 0, rows))
        if mode in _ALONE or flags is None or flags["scalar"]:
            return
        high, wide, deep = (1 if flags[axis] else size for axis, size in (("h", rows), ("w", width), ("c", depth)))
        yield _area(operation, "IFM2", high, wide, deep, None if flags["h"] else RowWindow(1, 1, 0, rows))
        return
    if operation.value("IFM_UPSCALE"):
        raise NotPlainError(f"{operation.where} reads an enlarged input")
    flags = operation.register("KERNEL_STRIDE")
    kernel, across = (
        operation.value(f"KERNEL_{what}_M1") * (1 + flags[f"dilate_{axis}"]) + 1
        for what, axis in (("HEIGHT", "y"), ("WIDTH", "x"))
    )
    down, right = (1 + flags[f"{axis}_low"] + 2 * flags[f"{axis}_high"] for axis in "yx")
    top, bottom, left, end = (operation.value(f"IFM_PAD_{side}") for side in ("TOP", "BOTTOM", "LEFT", "RIGHT"))
    high = (rows - 1) * down + kernel - top - bottom
    wide = (width - 1) * right + across - left - end
    deep = operation.value("IFM_DEPTH_M1") + 1 if _sums_channels(operation) else depth
    yield _area(operation, "IFM", high, wide, deep, RowWindow(kernel, down, top, high))


def _sums_channels(operation: NpuOperation) -> bool:
    return operation.name == "CONV" or (operation.name == "POOL" and operation.command.said("mode") == "REDUCE_SUM")


def _output(operation: NpuOperation) -> _Area:
    rows, width, depth = (operation.value(f"OFM_{what}_M1") + 1 for what in ("HEIGHT", "WIDTH", "DEPTH"))
    return _area(operation, "OFM", rows, width, depth)


def _area(
    operation: NpuOperation, what: str, rows: int, width: int, depth: int, window: RowWindow | None = None
) -> _Area:
    """The bytes of a feature map; an error if it has several tiles."""
    tile = operation.value(f"{what}_HEIGHT0_M1") + 1, operation.value(f"{what}_WIDTH0_M1") + 1
    if tile[0] < rows or tile[1] < width:
        raise NotPlainError(f"{operation.where} has several tiles of {what}")
    precision = operation.register(f"{what}_PRECISION")
    size = 1 << precision["bits"]
    high, wide, deep = (operation.value(f"{what}_STRIDE_{axis}") for axis in "YXC")
    y, x, z = (np.arange(n, dtype=np.int64) for n in (rows, width, depth))
    channels = z // 16 * deep + z % 16 * size if precision.said("layout") == "NHCWB16" else z * size
    first = operation.value(f"{what}_BASE0")
    at = first + y[:, None, None] * high + x[:, None] * wide + channels
    bytes_ = (at.reshape(-1, 1) + np.arange(size, dtype=np.int64)).ravel()
    return _Area(what, operation.value(f"{what}_REGION"), bytes_, rows, high, window, ())


def _table(operation: NpuOperation) -> int:
    """The address in internal memory that DMA copies a lookup table to."""
    if not operation.value("DMA0_DST_REGION", "place") or operation.value("DMA0_SRC_REGION", "region") != CONSTANTS:
        raise NotPlainError(f"{operation.where} copies something that is no lookup table")
    return operation.value("DMA0_DST")


def _dma(operation: NpuOperation) -> dict[str, Command]:
    return {name: command for name, command in operation.registers.items() if name.startswith("DMA0_")}
