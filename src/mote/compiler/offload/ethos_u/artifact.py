"""The artifact of an Ethos-U job: constants in flash, and the C call that passes them to the Ethos-U driver."""

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
"""Alignment in bytes that the driver requires of command streams, and at least of memory at base pointers."""
LINE = 32
"""Alignment in bytes that the driver's cache functions require: a cache line of Cortex-M."""
HEAD = 12
"""Words before a payload: its bytes, the number of base pointers, the bytes of memory at each, a bit mask of the
writable ones, and padding."""
INVOCATION = 2000.0
"""Assumed cycles of the core per invocation: checks of the driver, registers, and the interrupt."""
STATE_BYTES = 136
"""Bytes of state of a running job, with pointers of 8 bytes: the driver's handle, addresses and sizes."""
NAME = "npu_ethosu"
"""Name of the C file with calls of the driver, and prefix of its functions."""
CODE = 600
"""Approximate bytes of code of the C file."""


def artifact(
    job: NpuJob, inputs: Sequence[int], outputs: Sequence[int], target: Target, cycles: float, variant: str = ""
) -> Artifact:
    """The artifact of a job with these tensors as inputs and outputs. `cycles`: of the Ethos-U. A job that accesses
    memory other than its own is refused."""
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
    """The C file that replaces the Ethos-U driver if Mote itself runs a model."""
    return _texts(f"{NAME}_driver.c")


@cache
def _texts(*names: str) -> dict[str, str]:
    return {name: (files(__package__) / "c" / name).read_text(encoding="utf-8") for name in names}


def job_words(job: NpuJob) -> NDArray[np.uint32]:
    """A job as words for the C file: a header, then the payload."""
    sizes = [*job.sizes, *[0] * (BASES - len(job.sizes))]
    writable = sum(1 << base for base, may in enumerate(job.writable) if may)
    head = np.array([len(job.payload), len(job.sizes), *sizes, writable, 0], "<u4")
    assert len(head) == HEAD
    return np.concatenate([head, np.frombuffer(job.payload, "<u4")])


def job_read(words: NDArray[np.uint8]) -> tuple[bytes, tuple[int, ...], tuple[bool, ...]]:
    """Splits the words of a job into payload, bytes of memory at each base pointer, and which are writable."""
    head = words[: 4 * HEAD].view("<u4").tolist()
    count, writable = head[1], head[2 + BASES]
    bases = range(count)
    return words[4 * HEAD :].tobytes(), tuple(head[2 : 2 + count]), tuple(bool(writable >> i & 1) for i in bases)
