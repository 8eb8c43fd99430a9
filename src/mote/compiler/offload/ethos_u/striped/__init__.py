"""Regions computed in stripes of rows on the Ethos-U: the same operations and weights with less working memory."""

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
"""Assumed cycles to start an operation after the previous one has ended: registers and first reads."""
READ = 1.0
"""Assumed bytes of weights read from flash per cycle."""


@dataclass(frozen=True)
class StripedJob:
    """A job whose operations are computed in stripes."""

    job: NpuJob
    program: StreamProgram
    layout: StripePlan


def striped(job: NpuJob, sums: Sums, heights: int | None = None) -> StripedJob:
    """The job computed in stripes: with the least working memory, or with a given number of rows per stripe."""
    ways = []
    for made, used in _variants(program(decode(job.payload), job), job, sums):
        layout = least(made) if heights is None else arranged(made, [heights] * len(made.operations))
        ways.append(StripedJob(replace(used, scratch=layout.size), made, layout))
    best = min(ways, key=lambda way: way.layout.size)
    payload = emitted(best.program, best.layout, best.layout.stripes).encode()
    return replace(best, job=replace(best.job, payload=payload))


def _variants(made: StreamProgram, job: NpuJob, sums: Sums) -> Iterator[tuple[StreamProgram, NpuJob]]:
    """The program unchanged, and, if different, with averages computed from sums of rows."""
    yield made, job
    summed, changed = with_sums(made, job, sums)
    if summed.operations != made.operations:
        yield summed, changed


@dataclass(frozen=True)
class RowJobs:
    """A job for each row of an input that arrives row by row; None if a row is only stored."""

    jobs: tuple[NpuJob | None, ...]
    program: StreamProgram
    layout: StripePlan
    row_bytes: int
    offset: int
    """Offset in working memory of the input's rows, a ring of `lines` rows."""
    lines: int


def by_rows(job: NpuJob, rows: int, sums: Sums) -> RowJobs:
    """The job split into one job per input row, for an input of `rows` rows that arrives row by row. Base pointer
    TENSORS is unused."""
    ways = (
        (least(made), made, changed)
        for made, changed in _variants(arriving(program(decode(job.payload), job), rows), job, sums)
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
    """Approximate cycles of a job with stripes, from those without (`whole`): every stripe reads its operation's
    weights again."""
    again = sum(stripe.first > 0 for stripe in made.layout.stripes) * OVERHEAD
    for stripe in made.layout.stripes:
        operation = made.program.operations[stripe.operation]
        if stripe.first and operation.command.name in ("CONV", "DEPTHWISE"):
            registers = operation.registers
            again += int(sum(registers[n]["length"] for n in ("WEIGHT_LENGTH", "SCALE_LENGTH")) / READ)
    return whole + again
