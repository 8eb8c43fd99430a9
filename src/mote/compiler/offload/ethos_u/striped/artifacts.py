"""Artifacts of a region that is computed in stripes: one job for whole inputs, or jobs that take the rows of an input
as they arrive.

A call for a row stores it, and computes as much as possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mote.compiler.offload.contract import ROW, SCRATCH, STATE, TAP, Artifact, Blob, Invocation, Pointer
from mote.compiler.offload.ethos_u.artifact import ALIGNMENT, INVOCATION, NAME, artifact, job_words
from mote.compiler.offload.ethos_u.job import NpuJob
from mote.compiler.offload.ethos_u.regions import ExportedRegion
from mote.compiler.offload.ethos_u.striped import NotPlainError, RowJobs, by_rows, estimated, striped
from mote.compiler.offload.ethos_u.striped.sums import sums
from mote.compiler.offload.ethos_u.vela import configuration
from mote.hardware.targets import Target
from mote.ir.graph import Graph
from mote.ir.graph.rows import row_count

STRIPED, ROWS = "striped", "rows"
"""Names of the variants: for whole inputs, and for an input that arrives row by row."""
WORDS = ALIGNMENT // 4
"""Alignment of jobs in words."""


def striped_artifacts(
    job: NpuJob, region: ExportedRegion, graph: Graph, target: Target, cycles: int, most: int
) -> Iterator[Artifact]:
    """The artifacts of a region with stripes; the one for whole inputs only if it takes less than `most` bytes of
    working memory. `job`: not split, takes `cycles`."""
    given = sums(configuration(target))
    with suppress(NotPlainError):
        made = striped(job, given)
        if made.job.scratch < most:
            yield artifact(made.job, region.inputs, region.outputs, target, estimated(made, cycles), STRIPED)
    counts = [[row_count(graph.tensors[t].shape) for t in tensors] for tensors in (region.inputs, region.outputs)]
    if len(counts[0]) == 1 < counts[0][0] and counts[1] == [1]:
        with suppress(NotPlainError):
            jobs = by_rows(job, counts[0][0], given)
            yield row_artifact(jobs, region.inputs[0], region.outputs[0], target, estimated(jobs, cycles))


def row_artifact(rows: RowJobs, given: int, output: int, target: Target, cycles: float) -> Artifact:
    """The artifact of jobs that take the rows of tensor `given` and compute tensor `output`."""
    some = next(job for job in rows.jobs if job is not None)
    whole = artifact(some, [given], [output], target, cycles, ROWS)
    weights = [blob for blob in whole.blobs if blob.name != "job"]
    pointers = (Pointer(STATE), Pointer("job"), Pointer("weights") if weights else "NULL", Pointer(SCRATCH))
    return replace(
        whole,
        calls=(Invocation(f"{NAME}_row", (*pointers, Pointer(ROW), TAP, Pointer(output)), True),),
        cost=whole.cost + (sum(job is not None for job in rows.jobs) - 1) * INVOCATION,
        blobs=(Blob("job", words(rows), ALIGNMENT), *weights),
        scratch=0,
        sums=some.scratch,
        image=None,
    )


def words(rows: RowJobs) -> NDArray[np.uint32]:
    """The jobs as words for the C file: bytes of a row, offset and number of stored rows, 0; for each row the index of
    its job, 0 for none; then the jobs."""
    head = [rows.row_bytes, rows.offset, rows.lines, 0, *[0] * len(rows.jobs)]
    head += [0] * (-len(head) % WORDS)
    parts = [np.zeros(len(head), "<u4")]
    at = len(head)
    for number, job in enumerate(rows.jobs):
        if job is not None:
            head[4 + number] = at
            made = job_words(job)
            parts.append(np.pad(made, (0, -len(made) % WORDS)))
            at += len(parts[-1])
    parts[0][:] = head
    return np.concatenate(parts)
