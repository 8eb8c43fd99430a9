"""The artifact of a job: the blobs that lie in flash, and the call of C that hands them to the Ethos-U driver."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from mote.offload.contract import SCRATCH, Artifact, Blob, Invocation, Pointer
from mote.offload.ethos_u.job import BASES, MOST_TENSORS, NpuJob
from mote.targets import Target

ALIGNMENT = 16
"""What the driver asks of the addresses behind base pointers, and of a command stream."""
HEAD = 12
"""Words in front of a payload: its bytes, the number of base pointers, the bytes behind each, and padding."""
INVOCATION = 2000.0
"""Assumed cycles of the core for one invocation: the driver's checks, registers, and its interrupt."""
NAME = "npu_ethosu"
"""The C file of calls, and the beginning of its functions' names."""
CODE = 600
"""About the bytes of its code."""


def artifact(
    job: NpuJob, inputs: Sequence[int], outputs: Sequence[int], target: Target, cycles: float, variant: str = ""
) -> Artifact:
    """The artifact of a job whose inputs and outputs are these tensors; `cycles`: those of the Ethos-U."""
    npu = target.npu
    assert npu is not None
    ratio = target.clock_hz / npu.clock_hz if target.clock_hz and npu.clock_hz else 1.0
    tensors: list[Pointer | int | str] = [Pointer(t) for t in (*inputs, *outputs)]
    tensors += ["NULL"] * (MOST_TENSORS - len(tensors))
    blobs = [Blob("job", job_words(job), ALIGNMENT)]
    blobs += [Blob("weights", np.frombuffer(job.constants, np.uint8), ALIGNMENT)] if job.constants else []
    constants: Pointer | str = Pointer("weights") if job.constants else "NULL"
    scratch: Pointer | str = Pointer(SCRATCH) if job.scratch else "NULL"
    return Artifact(
        calls=(Invocation(f"{NAME}_run", (Pointer("job"), constants, scratch, *tensors)),),
        cost=INVOCATION + cycles * ratio,
        header=f"{NAME}.h",
        blobs=tuple(blobs),
        files={name: (files(__package__) / "c" / name).read_text(encoding="utf-8") for name in FILES},
        scratch=job.scratch,
        alignment=ALIGNMENT,
        memories=npu.memories,
        variant=variant,
        code=CODE,
    )


FILES = (f"{NAME}.h", f"{NAME}.c")


def job_words(job: NpuJob) -> NDArray[np.uint32]:
    """A job as the C file reads it: the head, and the payload behind it."""
    sizes = [*job.sizes, *[0] * (BASES - len(job.sizes))]
    head = np.array([len(job.payload), len(job.sizes), *sizes, 0, 0], "<u4")
    assert len(head) == HEAD
    return np.concatenate([head, np.frombuffer(job.payload, "<u4")])
