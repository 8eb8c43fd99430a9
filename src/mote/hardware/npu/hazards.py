"""Checks ordering hazards: an Ethos-U computes and transfers concurrently, so streams must wait where one depends on
the other.

Transfers and computing operations start in stream order and run concurrently, up to a number outstanding. `DMA_WAIT n`
waits until at most n transfers are outstanding, `KERNEL_WAIT n` likewise for computing operations. Nothing else orders
transfers and operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mote.base.errors import MoteError
from mote.hardware.npu.blocks import SMALL, check_blocks
from mote.hardware.npu.check import BLOCK, INTERNAL, Footprint, MemorySpan, OperationFootprint, check, internal_bytes
from mote.hardware.npu.stream import CommandStream, Config

TRANSFERS = {"ethos-u55": 1, "ethos-u65": 2, "ethos-u85": 4}
"""Maximum outstanding transfers; a further one starts when the oldest has ended."""
OPERATIONS = 2
"""Maximum outstanding computing operations."""
REMEDY = "compile the model again with Vela: a DMA_WAIT or KERNEL_WAIT is missing"


def judge(stream: CommandStream, sizes: Sequence[int], writable: Sequence[bool]) -> Footprint:
    """Footprint of a stream; raises an error for illegal accesses or missing waits."""
    footprint = check(stream, sizes, writable)
    check_order(stream.config, footprint)
    check_blocks(stream.config, footprint)
    return footprint


def check_order(config: Config, footprint: Footprint) -> None:
    """Raises an error for an operation that accesses bytes an outstanding one still writes, or writes bytes an
    outstanding one still reads."""
    transfers: list[OperationFootprint] = []
    computing: list[OperationFootprint] = []
    for one in footprint.operations:
        operation = one.operation
        if operation.name == "DMA_WAIT":
            _keep(transfers, operation.command["outstanding"])
        elif operation.name == "KERNEL_WAIT":
            _keep(computing, operation.command["outstanding"])
        elif operation.name == "DMA_START":
            _refuse_conflicts(config, one, [*transfers, *computing])
            transfers.append(one)
            _keep(transfers, TRANSFERS[config.core])
        elif operation.name in BLOCK:
            _refuse_conflicts(config, one, transfers)
            computing.append(one)
            _keep(computing, OPERATIONS)


def _keep(outstanding: list[OperationFootprint], count: int) -> None:
    """Keeps only the last outstanding operations."""
    del outstanding[: max(0, len(outstanding) - count)]


def _refuse_conflicts(config: Config, one: OperationFootprint, others: Sequence[OperationFootprint]) -> None:
    for other in others:
        for span, before in _conflicts(config, one, other):
            place = "internal memory" if span.base == INTERNAL else f"base pointer {span.base}"
            first, end = max(span.first, before.first), min(span.end, before.end)
            raise MoteError(
                f"{span.registers} has bytes {first} to {end} of {place}, which {before.registers} of"
                f" {other.operation.where} may not have done with",
                where=one.operation.where,
                remedy=REMEDY,
            )


def _conflicts(
    config: Config, one: OperationFootprint, other: OperationFootprint
) -> Iterator[tuple[MemorySpan, MemorySpan]]:
    """Overlapping spans of two operations of which one is written."""
    writes, before = _written(config, one), _written(config, other)
    for mine, theirs in ((one.reads, before), (writes, other.reads), (writes, before)):
        yield from ((a, b) for a in mine for b in theirs if a.overlaps(b))


def _written(config: Config, one: OperationFootprint) -> tuple[MemorySpan, ...]:
    """Bytes written, including accumulators in small internal memories."""
    size = internal_bytes(config)
    small = one.operation.name in BLOCK and config.core != "ethos-u85" and size <= SMALL
    uses_table = any(span.registers == "ACTIVATION" for span in one.reads)
    return (*one.writes, MemorySpan(INTERNAL, 0, size, "accumulators")) if small and not uses_table else one.writes
