"""An Ethos-U job as a kernel of the runtime, for images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import Params
from mote.compiler.kernels.portable.control.npu_job import MOST_INPUTS, npu_job
from mote.compiler.offload.contract import ImageCall
from mote.compiler.offload.ethos_u.job import NpuJob
from mote.hardware.npu.stream import decode

OWN = (0, -1)
"""Stands for a tensor with a base pointer of its own, in place of its bytes and offset."""
_NAMES = ("first", "second", "third")
_NOWHERE: Mapping[int, tuple[int, int]] = MappingProxyType({})


def image_call(
    words: NDArray[np.uint32],
    job: NpuJob,
    inputs: Sequence[int],
    outputs: Sequence[int],
    places: Mapping[int, tuple[int, int]] = _NOWHERE,
) -> ImageCall | None:
    """The runtime kernel of a job, given as words for C; None if runtimes have no kernel for it. `places`: bytes and
    offsets in working memory of tensors without base pointers of their own."""
    if decode(job.payload).form != "COP1":
        return None
    if not 1 <= len(inputs) <= MOST_INPUTS or len(outputs) != 1:
        return None
    tensors = zip((*_NAMES[: len(inputs)], "out"), (*inputs, *outputs), strict=True)
    params: Params = {"job": words, "constants": np.frombuffer(job.constants, np.uint8) if job.constants else 0}
    for name, tensor in tensors:
        nbytes, at = places.get(tensor, OWN)
        params[name] = {"bytes": nbytes, "at": at}
    return ImageCall(npu_job(len(inputs), params, job.scratch), tuple(inputs))
