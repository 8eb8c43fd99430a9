"""The runtime's kernels that run Ethos-U command streams, and their C files."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from mote.compiler.emit.image.kernels import KernelRecord, record
from mote.compiler.kernels.portable.control.npu_job import MOST_INPUTS, NPU, npu_job
from mote.hardware.npu.sources import check_files

DRIVER = "mote_npu_driver.c"
"""The C file that calls the Ethos-U driver."""
FILES = (f"mote_{NPU}.c", DRIVER)


@cache
def npu_kernels() -> tuple[KernelRecord, ...]:
    """The records of the kernels, one for each number of inputs."""
    return tuple(record(npu_job(inputs, {})) for inputs in range(1, MOST_INPUTS + 1))


@cache
def npu_files(family: str) -> dict[str, str]:
    """The C files that kernels for NPU jobs need: the check of command streams of an Ethos-U family, and the calls of
    its driver."""
    folder = files(__package__) / "c"
    return {**{name: (folder / name).read_text(encoding="utf-8") for name in FILES}, **check_files(family)}
