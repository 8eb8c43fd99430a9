"""The order of operations: an Ethos-U computes while it transfers, and a stream must wait where one needs the other.

Transfers and computing operations are started in the order of the stream and run beside each other, some of them
outstanding at a time. `DMA_WAIT n` goes on when n transfers at most are outstanding, `KERNEL_WAIT n` when n computing
operations are. Nothing else orders a transfer and an operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mote.base.errors import MoteError
from mote.hardware.npu.blocks import SMALL, check_blocks
from mote.hardware.npu.check import BLOCK, INTERNAL, Footprint, MemorySpan, OperationFootprint, check, internal_bytes
from mote.hardware.npu.stream import CommandStream, Config

TRANSFERS = {"ethos-u55": 1, "ethos-u65": 2, "ethos-u85": 4}
"""Transfers that may be outstanding: one more begins only when the first of them has ended."""
OPERATIONS = 2
"""Computing operations that may be outstanding."""
REMEDY = "compile the model again with Vela: a DMA_WAIT or KERNEL_WAIT is missing"


def judge(stream: CommandStream, sizes: Sequence[int], writable: Sequence[bool]) -> Footprint:
    """The footprint of a stream that touches only its own memory, and waits where it must."""
    footprint = check(stream, sizes, writable)
    check_order(stream.config, footprint)
    check_blocks(stream.config, footprint)
    return footprint


def check_order(config: Config, footprint: Footprint) -> None:
    """Refuse an operation that touches bytes which an outstanding one still writes, or that writes bytes which an
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
    """The last ones remain."""
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
    """Spans of two operations that overlap, where one of them is written."""
    writes, before = _written(config, one), _written(config, other)
    for mine, theirs in ((one.reads, before), (writes, other.reads), (writes, before)):
        yield from ((a, b) for a in mine for b in theirs if a.overlaps(b))


def _written(config: Config, one: OperationFootprint) -> tuple[MemorySpan, ...]:
    """The bytes that are written, with the accumulators in a small internal memory."""
    size = internal_bytes(config)
    small = one.operation.name in BLOCK and config.core != "ethos-u85" and size <= SMALL
    uses_table = any(span.registers == "ACTIVATION" for span in one.reads)
    return (*one.writes, MemorySpan(INTERNAL, 0, size, "accumulators")) if small and not uses_table else one.writes
