"""Jobs whose working memory partly shares the memory of their output.

A tensor that is written after the last read of an input, and not read after the output is begun, can be placed in the
output's memory. The output may then overlap the input, too, as nothing reads the input any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from mote.compiler.offload.contract import Artifact
from mote.compiler.offload.ethos_u.artifact import artifact
from mote.compiler.offload.ethos_u.job import TENSORS, WORKING, NpuJob, rewritten
from mote.compiler.offload.ethos_u.regions import ExportedRegion
from mote.compiler.offload.ethos_u.striped import OVERHEAD
from mote.compiler.offload.ethos_u.striped.program import KERNELS, NotPlainError, StreamProgram, program
from mote.compiler.offload.ethos_u.striped.schedule import packed
from mote.hardware.npu.commands import Command
from mote.hardware.npu.stream import NpuOperation, decode, operations
from mote.hardware.targets import Target

SHARED = "shared"
"""Name of this variant of an artifact."""
_NAMES = frozenset({"BLOCKDEP", *(f"{what}_{n}" for what in ("IFM", "IFM2", "OFM") for n in ("REGION", "BASE0"))})


def shared_artifact(job: NpuJob, region: ExportedRegion, target: Target, cycles: int, most: int) -> Iterator[Artifact]:
    """The artifact with shared memory, if it takes less than `most` bytes of working memory. `job`: not split, takes
    `cycles`."""
    with suppress(NotPlainError):
        made = shared(job)
        if made.scratch < most or job.inputs == job.outputs:
            count = sum(operation.name in KERNELS for operation in operations(decode(made.payload)))
            estimate = cycles + OVERHEAD * count
            yield replace(artifact(made, region.inputs, region.outputs, target, estimate, SHARED), in_place=True)


def shared(job: NpuJob) -> NpuJob:
    """A job changed to take less working memory by sharing the output's. Every operation waits for the previous one to
    end (BLOCKDEP 0)."""
    if len(job.outputs) != 1:
        raise NotPlainError("there are several outputs")
    whole = program(decode(job.payload), job)
    output = TENSORS + len(job.inputs)
    spans = _spans(whole)
    read = max(end for t, (_, end) in spans.items() if TENSORS <= whole.tensors[t].base < output)
    begun = min(first for t, (first, _) in spans.items() if whole.tensors[t].base == output)
    if begun <= read:
        raise NotPlainError("an input is read when the output has begun")
    sizes = [tensor.size if tensor.base == WORKING else 0 for tensor in whole.tensors]
    live = [(1 << spans[t][1] + 1) - (1 << spans[t][0]) if t in spans else 0 for t in range(len(sizes))]
    inside = _inside(sizes, live, [t for t, (a, b) in spans.items() if sizes[t] and read < a and b < begun], job)
    offsets, scratch = packed([0 if t in inside else size for t, size in enumerate(sizes)], live)
    places = {t: (output, inside[t]) if t in inside else (WORKING, offsets[t]) for t, size in enumerate(sizes) if size}
    return replace(job, payload=_moved(whole, places), scratch=scratch)


def _spans(whole: StreamProgram) -> dict[int, tuple[int, int]]:
    """By tensor: the first and the last operation that use it."""
    spans: dict[int, tuple[int, int]] = {}
    for number, operation in enumerate(whole.operations):
        for access in (*operation.reads, operation.write):
            spans[access.tensor] = (spans.get(access.tensor, (number, 0))[0], number)
    return spans


def _inside(sizes: list[int], live: list[int], able: list[int], job: NpuJob) -> dict[int, int]:
    """The tensors that are placed in the output's memory, largest first, with their offsets."""
    inside: dict[int, int] = {}
    for tensor in sorted(able, key=lambda t: -sizes[t]):
        tried = [*inside, tensor]
        offsets, size = packed([sizes[t] for t in tried], [live[t] for t in tried])
        if size <= job.outputs[0]:
            inside = dict(zip(tried, offsets, strict=True))
    return inside


def _moved(whole: StreamProgram, places: dict[int, tuple[int, int]]) -> bytes:
    """The payload with tensors moved to other base pointers and offsets."""
    walked = iter(whole.operations)

    def change(operation: NpuOperation) -> dict[str, Command]:
        if operation.name not in KERNELS:
            return {}
        own = next(walked)
        changed = {"BLOCKDEP": operation.register("BLOCKDEP").with_value(0)}
        for access in (*own.reads, own.write):
            if access.tensor in places:
                base, offset = places[access.tensor]
                region, first = f"{access.what}_REGION", f"{access.what}_BASE0"
                changed[region] = operation.register(region).with_value(base)
                changed[first] = operation.register(first).with_value(offset + access.offset)
        return changed

    return rewritten(whole.stream, _NAMES, change).encode()
