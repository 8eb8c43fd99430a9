"""Jobs of an Ethos-U as a kernel of runtimes: backends make them, no operator of a graph does."""

from __future__ import annotations

from mote.compiler.kernels.contract import Call, Entry, Needs, Packed, Params

NPU = "npu_job"
MOST_INPUTS = 3
"""Inputs that a job in an image has at most."""
JOB_ALIGNMENT = 16
"""Of addresses that the hardware takes, in bytes."""


def npu_job(inputs: int, params: Params, scratch: int = 0) -> Packed:
    """The kernel for a job with so many inputs and one output."""
    assert 1 <= inputs <= MOST_INPUTS
    return Packed(
        NPU if inputs == 1 else f"{NPU}{inputs}",
        params,
        entry=Entry(call=Call.WHOLE, operands=tuple(range(inputs)), fails=True),
        needs=Needs(scratch=scratch, alignment=JOB_ALIGNMENT, tensor_alignment=JOB_ALIGNMENT),
        headers=(NPU,),
        family=NPU,
    )
