"""The artifact of a job: the blobs that lie in flash, and the call of C that hands them to the Ethos-U driver."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from mote.compiler.offload.contract import SCRATCH, STATE, WAIT, Artifact, Blob, Invocation, Pointer
from mote.compiler.offload.ethos_u.image import image_call
from mote.compiler.offload.ethos_u.job import BASES, MOST_TENSORS, NpuJob
from mote.hardware.npu.check import check
from mote.hardware.npu.stream import decode
from mote.hardware.targets import Target

ALIGNMENT = 16
"""What the driver asks of the address of a command stream, and of those behind base pointers at least."""
LINE = 32
"""What its functions for the data cache ask of these: a line of the caches of Cortex-M."""
HEAD = 12
"""Words in front of a payload: its bytes, the number of base pointers, the bytes behind each, a bit for each that may
be written to, and padding."""
INVOCATION = 2000.0
"""Assumed cycles of the core for one invocation: the driver's checks, registers, and its interrupt."""
STATE_BYTES = 136
"""Of a job that has begun, where pointers have 8 bytes: the driver's handle, addresses and sizes."""
NAME = "npu_ethosu"
"""The C file of calls, and the beginning of its functions' names."""
CODE = 600
"""About the bytes of its code."""


def artifact(
    job: NpuJob, inputs: Sequence[int], outputs: Sequence[int], target: Target, cycles: float, variant: str = ""
) -> Artifact:
    """The artifact of a job whose inputs and outputs are these tensors; `cycles`: those of the Ethos-U. A job that
    touches other memory than its own is refused."""
    check(decode(job.payload), job.sizes, job.writable)
    npu = target.npu
    assert npu is not None
    ratio = target.clock_hz / npu.clock_hz if target.clock_hz and npu.clock_hz else 1.0
    tensors: list[Pointer | int | str] = [Pointer(t) for t in (*inputs, *outputs)]
    tensors += ["NULL"] * (MOST_TENSORS - len(tensors))
    blobs = [Blob("job", job_words(job), ALIGNMENT)]
    blobs += [Blob("weights", np.frombuffer(job.constants, np.uint8), LINE)] if job.constants else []
    constants: Pointer | str = Pointer("weights") if job.constants else "NULL"
    scratch: Pointer | str = Pointer(SCRATCH) if job.scratch else "NULL"
    return Artifact(
        calls=(Invocation(f"{NAME}_run", (Pointer(STATE), WAIT, Pointer("job"), constants, scratch, *tensors), True),),
        cost=INVOCATION + cycles * ratio,
        header=f"{NAME}.h",
        blobs=tuple(blobs),
        files=_texts(f"{NAME}.h", f"{NAME}.c"),
        simulated=simulated_driver(),
        scratch=job.scratch,
        state=STATE_BYTES,
        cancel=f"{NAME}_cancel",
        alignment=LINE,
        memories=npu.memories,
        variant=variant,
        code=CODE,
        image=image_call(job_words(job), job, inputs, outputs),
    )


def simulated_driver() -> dict[str, str]:
    """The C file that stands in for the Ethos-U driver where Mote itself runs a model."""
    return _texts(f"{NAME}_driver.c")


@cache
def _texts(*names: str) -> dict[str, str]:
    return {name: (files(__package__) / "c" / name).read_text(encoding="utf-8") for name in names}


def job_words(job: NpuJob) -> NDArray[np.uint32]:
    """A job as the C file reads it: the head, and the payload behind it."""
    sizes = [*job.sizes, *[0] * (BASES - len(job.sizes))]
    writable = sum(1 << base for base, may in enumerate(job.writable) if may)
    head = np.array([len(job.payload), len(job.sizes), *sizes, writable, 0], "<u4")
    assert len(head) == HEAD
    return np.concatenate([head, np.frombuffer(job.payload, "<u4")])


def job_read(words: NDArray[np.uint8]) -> tuple[bytes, tuple[int, ...], tuple[bool, ...]]:
    """The payload of a job's words, the bytes behind each base pointer, and which of these may be written to."""
    head = words[: 4 * HEAD].view("<u4").tolist()
    count, writable = head[1], head[2 + BASES]
    bases = range(count)
    return words[4 * HEAD :].tobytes(), tuple(head[2 : 2 + count]), tuple(bool(writable >> i & 1) for i in bases)
