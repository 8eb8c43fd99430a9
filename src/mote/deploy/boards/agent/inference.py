"""Runs inferences on a board: inputs, breakpoints after steps, outputs, cycles."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mote.base.errors import MoteError
from mote.deploy.boards.agent.device import AgentDevice
from mote.deploy.boards.agent.exchange import SOMETHING_ELSE
from mote.deploy.boards.protocol import NO_STOP, RESULT, AgentRegion, Counter, Identity, Request, RunFlag, Status
from mote.deploy.wire.links import ConnectionLostError


@dataclass(frozen=True)
class Wants:
    """Measurements wanted of an inference besides its outputs."""

    tensors: bool = False
    """Whether to read the tensor after every step."""
    steps: bool = False
    """Whether to measure every step's cycles."""
    stack: bool = False
    marks: bool = False
    """Whether to mark steps on a pin for an energy meter."""
    keep_caches: bool = False

    @property
    def flags(self) -> RunFlag:
        flags = RunFlag(0)
        flags |= RunFlag.MEASURE_STACK if self.stack else flags
        flags |= RunFlag.MARKS if self.marks else flags
        return flags | (RunFlag.KEEP_CACHES if self.keep_caches else flags)


@dataclass(frozen=True)
class BoardInference:
    """Result of an inference on a board."""

    outputs: list[bytes]
    cycles: int | None
    """Core cycles without the agent's overhead; None without a counter."""
    tensors: Mapping[int, bytes] = field(default_factory=dict)
    """Traced tensor bytes by step."""
    steps: list[int] | None = None
    stack: int | None = None
    """Stack bytes used; None if not measured."""


@dataclass(frozen=True)
class _Result:
    """Parsed answer to RUN and CONTINUE."""

    status: Status
    step: int
    size: int
    """Bytes of the tensor after the step where the model stopped."""
    value: int
    stack: int
    ticks: int
    head: bytes
    """First bytes of that tensor."""


def infer(device: AgentDevice, inputs: Sequence[bytes], wants: Wants, *, anew: bool) -> BoardInference:
    """Runs an inference; `anew`: from initial states."""
    identity = device.identity
    if len(inputs) != identity.inputs:
        raise _other_inputs(device, f"{identity.inputs} inputs, not {len(inputs)}")
    for i, data in enumerate(inputs):
        if (size := device.place(AgentRegion.INPUT, i).bytes) != len(data):
            raise _other_inputs(device, f"an input {i} of {size:,} bytes, not {len(data):,}")
        device.write(AgentRegion.INPUT, i, data)
    flags = wants.flags | (RunFlag.RESET_STATES if anew else RunFlag(0))
    result, tensors = run(device, flags, shows=wants.tensors)
    outputs = [output(device, i) for i in range(_outputs(device, identity))]
    return BoardInference(
        outputs,
        device.cycles(result.ticks),
        tensors,
        _steps(device) if wants.steps else None,
        result.stack or None if wants.stack else None,
    )


def run(device: AgentDevice, flags: RunFlag, *, shows: bool) -> tuple[_Result, dict[int, bytes]]:
    """Runs an inference to its end, collecting tensors after steps if requested; rejects more steps or bytes than the
    model has."""
    stop = 0 if shows else NO_STOP
    result = _result(device, Request.RUN, struct.pack("<II", flags, stop))
    tensors: dict[int, bytearray] = {}
    parts = total = 0
    while result.status is Status.STOPPED:
        parts, total = parts + 1, total + result.size
        if not shows:
            raise device.implausible(f"has stopped behind step {result.step:,}, where nobody asked it to")
        if parts > device.extent.traced_parts:
            raise device.implausible(f"has stopped {parts:,} times in an inference, more often than the model can")
        if total > device.extent.traced_bytes:
            raise device.implausible(
                f"has {total:,} bytes of tensors, and the model has {device.extent.traced_bytes:,}"
            )
        pieces = tensors.setdefault(result.step, bytearray())
        pieces += result.head
        pieces += device.read(AgentRegion.TENSOR, 0, len(result.head), result.size - len(result.head))
        result = _result(device, Request.CONTINUE, struct.pack("<I", stop))
    return result, {step: bytes(pieces) for step, pieces in tensors.items()}


def _outputs(device: AgentDevice, identity: Identity) -> int:
    """Number of outputs, checked against the model's."""
    wanted = device.extent.outputs
    if wanted is not None and identity.outputs != len(wanted):
        raise device.implausible(f"has {identity.outputs} outputs, and the model has {len(wanted)}")
    return identity.outputs


def output(device: AgentDevice, index: int) -> bytes:
    """Reads an output, with its size checked against the model's."""
    size, wanted = device.place(AgentRegion.OUTPUT, index).bytes, device.extent.outputs
    if wanted is not None and size != wanted[index]:
        raise device.implausible(f"has {size:,} bytes of output {index}, and the model has {wanted[index]:,}")
    return device.read(AgentRegion.OUTPUT, index, 0, size)


def _other_inputs(device: AgentDevice, what: str) -> MoteError:
    return MoteError(f"its model has {what}", where=device.where, remedy="give the inputs of that model")


def _result(device: AgentDevice, request: Request, data: bytes) -> _Result:
    status, answer = device.exchange.answered(request, data, device.exchange.patience.run_s)
    if status not in (Status.OK, Status.STOPPED, Status.MODEL_FAILED):
        raise device.exchange.refused(request, status)
    if len(answer) < RESULT.size:
        raise ConnectionLostError(SOMETHING_ELSE)
    step, size, value, stack, ticks = RESULT.unpack_from(answer)
    result = _Result(status, step, size, value, stack, ticks, answer[RESULT.size :])
    if len(result.head) > result.size:
        raise ConnectionLostError(SOMETHING_ELSE)
    if status is Status.MODEL_FAILED:
        raise MoteError(
            f"the model failed with status {result.value}", where=device.where, remedy="mote_status in its header"
        )
    return result


def _steps(device: AgentDevice) -> list[int]:
    identity = device.identity
    count = identity.steps if device.extent.steps is None else device.extent.steps
    size = device.place(AgentRegion.CYCLES, 0).bytes
    if identity.counter == Counter.NONE or size < 8 * count:
        raise MoteError(
            f"its agent counts the cycles of {size // 8:,} steps, and the model has {count:,}",
            where=device.where,
            remedy=f"build the agent with a cycle counter and MOTE_AGENT_STEPS of {count}",
        )
    ticks = struct.unpack(f"<{count}Q", device.read(AgentRegion.CYCLES, 0, 0, 8 * count))
    return [device.cycles(each) or 0 for each in ticks]
