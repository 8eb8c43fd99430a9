"""A job for the Ethos-U driver: a command stream with its constants, and the memory at each of its base pointers.

Base pointer 0 is for constants, 1 for working memory, 2 for the driver's fast memory; then follows one for each input,
and one for each output, so that the planner can place each tensor independently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mote.base.errors import MoteError
from mote.compiler.offload.ethos_u.vela import NotAcceptedError, VelaModel, VelaTensor
from mote.hardware.npu.check import check
from mote.hardware.npu.commands import Command
from mote.hardware.npu.stream import CommandStream, NpuOperation, decode, operations

CONSTANTS, WORKING, FAST, TENSORS = range(4)
"""The numbers of base pointers: constants, working memory, fast memory, and the first tensor."""
BASES = 8
"""Number of base pointers of the hardware."""
MOST_TENSORS = BASES - TENSORS
WORKING_OPERATIONS = frozenset({"CONV", "DEPTHWISE", "POOL", "ELEMENTWISE", "RESIZE", "DMA_START"})
"""Operations that read registers; others wait or end the stream."""
_TILES = ("BASE0", "BASE1", "BASE2", "BASE3")
_AREAS: Mapping[str, tuple[str, ...]] = {
    "IFM_REGION": tuple(f"IFM_{tile}" for tile in _TILES),
    "IFM2_REGION": tuple(f"IFM2_{tile}" for tile in _TILES),
    "OFM_REGION": tuple(f"OFM_{tile}" for tile in _TILES),
    "DMA0_SRC_REGION": ("DMA0_SRC",),
    "DMA0_DST_REGION": ("DMA0_DST",),
}
"""By register with a base pointer: the registers with addresses relative to it. Weights and scales are never
tensors."""
Registers = Mapping[str, Command]


@dataclass(frozen=True)
class NpuJob:
    """What is passed to the driver: the payload, and the memory at its base pointers."""

    payload: bytes
    constants: bytes
    scratch: int
    """Bytes of working memory."""
    fast: int
    """Bytes of the driver's fast memory."""
    inputs: tuple[int, ...]
    """Bytes of each input."""
    outputs: tuple[int, ...]
    """Bytes of each output."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of memory at each base pointer."""
        return (len(self.constants), self.scratch, self.fast, *self.inputs, *self.outputs)

    @property
    def writable(self) -> tuple[bool, ...]:
        """Whether the stream may write to each base pointer."""
        return (False, True, True, *(False for _ in self.inputs), *(True for _ in self.outputs))


def job_of(model: VelaModel) -> NpuJob:
    """The job of a file compiled by Vela; an error if it would access memory other than its own."""
    tensors = (*model.inputs, *model.outputs)
    inputs, outputs = (tuple(t.size for t in part) for part in (model.inputs, model.outputs))
    job = NpuJob(linked(model.payload, tensors), model.constants, model.scratch, model.fast, inputs, outputs)
    try:
        check(decode(job.payload), job.sizes, job.writable)
    except MoteError as error:
        raise NotAcceptedError(f"its command stream is refused: {error.where}: {error.reason}") from None
    return job


def linked(payload: bytes, tensors: Sequence[VelaTensor]) -> bytes:
    """The payload changed so that each tensor has a base pointer of its own, from TENSORS on. Nothing else may use the
    addresses of a tensor."""
    if len(tensors) > MOST_TENSORS:
        raise MoteError(
            f"{len(tensors)} inputs and outputs: Ethos-U has base pointers for {MOST_TENSORS}",
            remedy="split the model into regions with fewer inputs and outputs",
        )
    wanted = {VelaTensor(TENSORS + number, 0, tensor.size) for number, tensor in enumerate(tensors)}
    if wanted == set(tensors):
        return payload
    stream = decode(payload)
    names = frozenset(name for region, bases in _AREAS.items() for name in (region, *bases))
    return rewritten(stream, names, lambda operation: _relinked(operation, tensors)).encode()


def rewritten(
    stream: CommandStream, names: frozenset[str], change: Callable[[NpuOperation], Registers]
) -> CommandStream:
    """The stream with changed register values: for each operation that reads registers, `change` gives the registers
    that differ. A register is set when its value changes."""
    commands: list[Command] = []
    now: dict[str, int] = {}
    walked = operations(stream)
    for command in stream.commands:
        if not command.kind.operation:
            if command.name not in names:
                commands.append(command)
            continue
        operation = next(walked)
        if operation.name in WORKING_OPERATIONS:
            registers = {name: c for name, c in operation.registers.items() if name in names}
            for name, wanted in {**registers, **change(operation)}.items():
                if now.get(name) != wanted.operand:
                    commands.append(wanted)
                    now[name] = wanted.operand
        commands.append(command)
    return stream.with_commands(commands)


def _relinked(operation: NpuOperation, tensors: Sequence[VelaTensor]) -> dict[str, Command]:
    changed: dict[str, Command] = {}
    registers = operation.registers
    for region, bases in _AREAS.items():
        if region not in registers or bases[0] not in registers:
            continue
        base, first = registers[region]["region"], registers[bases[0]].value
        number = next((n for n, t in enumerate(tensors) if _holds(t, base, first)), None)
        if number is None:
            continue
        tensor = tensors[number]
        changed[region] = registers[region].with_value(TENSORS + number, "region")
        for name in (name for name in bases if name in registers):
            offset = registers[name].value - tensor.offset if _holds(tensor, base, registers[name].value) else 0
            changed[name] = registers[name].with_value(offset)
    return changed


def _holds(tensor: VelaTensor, base: int, address: int) -> bool:
    return base == tensor.base and tensor.offset <= address < tensor.offset + tensor.size
