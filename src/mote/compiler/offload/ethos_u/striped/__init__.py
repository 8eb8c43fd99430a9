"""Regions that the Ethos-U computes in stripes of rows: the same operations and weights, less working memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mote.compiler.offload.ethos_u.job import NpuJob
from mote.compiler.offload.ethos_u.striped.emit import emitted
from mote.compiler.offload.ethos_u.striped.program import NotPlainError, StreamProgram, arriving, program
from mote.compiler.offload.ethos_u.striped.schedule import Stripe, StripePlan, arranged
from mote.compiler.offload.ethos_u.striped.search import least
from mote.compiler.offload.ethos_u.striped.sums import Sums, with_sums
from mote.hardware.npu.stream import decode

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


def striped(job: NpuJob, sums: Sums, heights: int | None = None) -> StripedJob:
    """A job that computes the same in stripes: with the least working memory, or with given rows in each stripe."""
    ways = []
    for made, used in _ways(program(decode(job.payload), job), job, sums):
        layout = least(made) if heights is None else arranged(made, [heights] * len(made.operations))
        ways.append(StripedJob(replace(used, scratch=layout.size), made, layout))
    best = min(ways, key=lambda way: way.layout.size)
    payload = emitted(best.program, best.layout, best.layout.stripes).encode()
    return replace(best, job=replace(best.job, payload=payload))


def _ways(made: StreamProgram, job: NpuJob, sums: Sums) -> Iterator[tuple[StreamProgram, NpuJob]]:
    """The program as it is, and with averages from sums of rows."""
    yield made, job
    summed, changed = with_sums(made, job, sums)
    if summed.operations != made.operations:
        yield summed, changed


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


def by_rows(job: NpuJob, rows: int, sums: Sums) -> RowJobs:
    """Jobs that compute the same from an input of so many rows, each when its row has arrived. Base pointer TENSORS is
    not used."""
    ways = (
        (least(made), made, changed)
        for made, changed in _ways(arriving(program(decode(job.payload), job), rows), job, sums)
    )
    layout, made, changed = min(ways, key=lambda way: way[0].size)
    parts: list[list[Stripe]] = []
    for stripe in layout.stripes:
        if made.operations[stripe.operation].arrives:
            parts.append([])
        else:
            parts[-1].append(stripe)
    used = replace(changed, scratch=layout.size, inputs=(0,))
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
