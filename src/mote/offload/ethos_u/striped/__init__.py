"""Regions that the Ethos-U computes in stripes of rows: the same operations and weights, less working memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mote.npu.stream import decode
from mote.offload.ethos_u.job import NpuJob
from mote.offload.ethos_u.striped.emit import emitted
from mote.offload.ethos_u.striped.program import NotPlainError, StreamProgram, program
from mote.offload.ethos_u.striped.schedule import StripePlan, arranged
from mote.offload.ethos_u.striped.search import least

__all__ = ["NotPlainError", "StreamProgram", "StripedJob", "estimated", "striped"]

OVERHEAD = 200
"""Assumed cycles to start an operation after the one before it has ended: its registers, and first reads."""
READ = 1.0
"""Assumed bytes of weights that are read from flash in a cycle."""


@dataclass(frozen=True)
class StripedJob:
    """A job whose operators are computed in stripes."""

    job: NpuJob
    program: StreamProgram
    layout: StripePlan


def striped(job: NpuJob, heights: list[int] | None = None) -> StripedJob:
    """A job that computes the same in stripes: with the least working memory, or with given rows in a stripe of each
    operation."""
    whole = program(decode(job.payload), job)
    layout = arranged(whole, heights) if heights is not None else least(whole)
    payload = emitted(whole, layout).encode()
    return StripedJob(replace(job, payload=payload, scratch=layout.size), whole, layout)


def estimated(made: StripedJob, whole: int) -> float:
    """About the cycles of a job, from those without stripes: every stripe reads its operation's weights again."""
    again = sum(stripe.first > 0 for stripe in made.layout.stripes) * OVERHEAD
    for stripe in made.layout.stripes:
        operation = made.program.operations[stripe.operation]
        if stripe.first and operation.command.name in ("CONV", "DEPTHWISE"):
            registers = operation.registers
            again += int(sum(registers[n]["length"] for n in ("WEIGHT_LENGTH", "SCALE_LENGTH")) / READ)
    return whole + again
