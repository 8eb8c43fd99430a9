"""Regions that the Ethos-U computes in stripes of rows: the same operations and weights, less working memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mote.npu.stream import decode
from mote.offload.ethos_u.job import NpuJob
from mote.offload.ethos_u.striped.emit import emitted
from mote.offload.ethos_u.striped.program import NotPlainError, StreamProgram, arriving, program
from mote.offload.ethos_u.striped.schedule import Stripe, StripePlan, arranged
from mote.offload.ethos_u.striped.search import least

__all__ = ["NotPlainError", "RowJobs", "StreamProgram", "StripedJob", "by_rows", "estimated", "striped"]

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
    payload = emitted(whole, layout, layout.stripes).encode()
    return StripedJob(replace(job, payload=payload, scratch=layout.size), whole, layout)


@dataclass(frozen=True)
class RowJobs:
    """A job for each row of an input that arrives in rows, None where a row is only kept."""

    jobs: tuple[NpuJob | None, ...]
    program: StreamProgram
    layout: StripePlan
    row_bytes: int
    offset: int
    """Where the rows of the input lie in working memory, in `lines` lines."""
    lines: int


def by_rows(job: NpuJob, rows: int) -> RowJobs:
    """Jobs that compute the same from an input of so many rows, each when its row has arrived. Base pointer TENSORS is
    not used."""
    made = arriving(program(decode(job.payload), job), rows)
    layout = least(made)
    parts: list[list[Stripe]] = []
    for stripe in layout.stripes:
        if made.operations[stripe.operation].arrives:
            parts.append([])
        else:
            parts[-1].append(stripe)
    used = replace(job, scratch=layout.size, inputs=(0,))
    jobs = (replace(used, payload=emitted(made, layout, p).encode()) if p else None for p in parts)
    write = made.operations[0].write
    return RowJobs(tuple(jobs), made, layout, write.pitch, layout.offsets[write.tensor], layout.lines[write.tensor])


def estimated(made: StripedJob | RowJobs, whole: int) -> float:
    """About the cycles of a job, from those without stripes: every stripe reads its operation's weights again."""
    again = sum(stripe.first > 0 for stripe in made.layout.stripes) * OVERHEAD
    for stripe in made.layout.stripes:
        operation = made.program.operations[stripe.operation]
        if stripe.first and operation.command.name in ("CONV", "DEPTHWISE"):
            registers = operation.registers
            again += int(sum(registers[n]["length"] for n in ("WEIGHT_LENGTH", "SCALE_LENGTH")) / READ)
    return whole + again
