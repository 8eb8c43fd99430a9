"""Simulates the Ethos-U for the simulated driver (c/npu_ethosu_driver.c): jobs are checked, then executed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.compiler.offload.ethos_u.artifact import job_read
from mote.compiler.offload.ethos_u.job import FAST
from mote.hardware.npu.functional import execute
from mote.hardware.npu.hazards import judge
from mote.hardware.npu.stream import CommandStream, decode

UNDEFINED = 0xA5
"""Value of all bytes in the driver's fast memory when a job begins."""


def simulate(memory: Sequence[NDArray[np.uint8]]) -> None:
    """Executes a job. `memory`: its words, then the memory at each base pointer; the driver's fast memory is
    replaced."""
    payload, sizes, writable = job_read(memory[0])
    areas = list(memory[1:])
    areas[FAST] = np.full(sizes[FAST], UNDEFINED, np.uint8)
    if tuple(area.size for area in areas) != sizes:
        raise MoteError(f"the driver was given areas of {[a.size for a in areas]} bytes, and the job asks for {sizes}")
    execute(_checked(payload, sizes, writable), areas)


@lru_cache(maxsize=64)
def _checked(payload: bytes, sizes: tuple[int, ...], writable: tuple[bool, ...]) -> CommandStream:
    stream = decode(payload)
    judge(stream, sizes, writable)
    return stream
