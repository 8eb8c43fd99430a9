"""Kernel that runs an Ethos-U command stream in a runtime. Only back ends create it; no operator of a graph does."""

from __future__ import annotations

from mote.compiler.kernels.contract import Call, Entry, Needs, Packed, Params

NPU = "npu_job"
MOST_INPUTS = 3
"""Maximum number of inputs of an NPU job in a model image."""
JOB_ALIGNMENT = 16
"""Address alignment in bytes that the hardware requires."""


def npu_job(inputs: int, params: Params, scratch: int = 0) -> Packed:
    """The kernel for an NPU job with `inputs` inputs and one output."""
    assert 1 <= inputs <= MOST_INPUTS
    return Packed(
        NPU if inputs == 1 else f"{NPU}{inputs}",
        params,
        entry=Entry(call=Call.WHOLE, operands=tuple(range(inputs)), fails=True),
        needs=Needs(scratch=scratch, alignment=JOB_ALIGNMENT, tensor_alignment=JOB_ALIGNMENT),
        headers=(NPU,),
        family=NPU,
    )
