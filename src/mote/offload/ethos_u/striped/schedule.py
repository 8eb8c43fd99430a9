"""The order of stripes, the rows of each tensor that are in memory at a time, and where they lie.

Every operation computes a number of rows at a time, and as late as possible: before a stripe, the rows that it reads
are computed. A tensor needs room for the rows between the newest one and the oldest one that is still read: they lie
in a ring, row `r` in line `r` modulo its lines. Rings that are not needed at the same time share memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mote.offload.ethos_u.striped.program import Access, StreamProgram

ALIGNMENT = 16


@dataclass(frozen=True)
class Stripe:
    """Rows of an operation's output that are computed at once."""

    operation: int
    first: int
    end: int


@dataclass(frozen=True)
class StripePlan:
    """Where tensors lie in working memory: for each, its offset and its lines."""

    stripes: tuple[Stripe, ...]
    offsets: tuple[int, ...]
    lines: tuple[int, ...]
    size: int


def stripes(program: StreamProgram, heights: Sequence[int]) -> list[Stripe]:
    """The stripes in order, where each operation computes as many rows at a time as `heights` says."""
    done = [0] * len(program.operations)
    order: list[Stripe] = []

    def compute(number: int, rows: int) -> None:
        operation = program.operations[number]
        while done[number] < rows:
            first = done[number]
            end = min(first + min(heights[number], operation.most), operation.rows)
            for read in operation.reads:
                needed = wanted(program, read, first, end)[1]
                for writer in reversed(program.writers[read.tensor]):
                    if writer < number:
                        compute(writer, min(needed, program.operations[writer].rows))
            order.append(Stripe(number, first, end))
            done[number] = end

    for number, operation in enumerate(program.operations):
        if not program.tensors[operation.write.tensor].placed:
            compute(number, operation.rows)
    for number, operation in enumerate(program.operations):
        if operation.arrives:
            compute(number, operation.rows)
    return order


def wanted(program: StreamProgram, read: Access, first: int, end: int) -> tuple[int, int]:
    """The rows of a tensor that a stripe reads: all of a linear one."""
    tensor = program.tensors[read.tensor]
    if not tensor.pitch or read.window is None:
        return 0, max((program.operations[w].rows for w in program.writers[read.tensor]), default=0)
    low, high, _, _ = read.window.rows_of(first, end)
    return low, high


def arranged(program: StreamProgram, heights: Sequence[int]) -> StripePlan:
    """The layout for heights of stripes."""
    order = stripes(program, heights)
    oldest = _oldest(program, order)
    lines = [0] * len(program.tensors)
    for step, stripe in enumerate(order):
        write = program.operations[stripe.operation].write.tensor
        lines[write] = max(lines[write], stripe.end - oldest[step])
    live = lives(program, order)
    sizes = [
        0 if not tensor.placed or not live[t] else lines[t] * tensor.pitch if tensor.pitch else tensor.size
        for t, tensor in enumerate(program.tensors)
    ]
    offsets, size = packed(sizes, live)
    return StripePlan(tuple(order), tuple(offsets), tuple(lines), size)


def lives(program: StreamProgram, order: Sequence[Stripe]) -> list[int]:
    """The stripes during which anything of a tensor is needed, one bit each."""
    last: list[dict[int, int]] = [{} for _ in program.tensors]
    for step, stripe in enumerate(order):
        for read in program.operations[stripe.operation].reads:
            rows = range(*wanted(program, read, stripe.first, stripe.end))
            last[read.tensor].update(dict.fromkeys(rows, step))
    live = [0] * len(program.tensors)
    for step, stripe in enumerate(order):
        write = program.operations[stripe.operation].write.tensor
        end = max((last[write].get(row, step) for row in range(stripe.first, stripe.end)), default=step)
        live[write] |= (1 << end + 1) - (1 << step)
    return live


def _oldest(program: StreamProgram, order: Sequence[Stripe]) -> list[int]:
    """For each stripe, the oldest row of the tensor it writes that it writes itself, or that a later one reads."""
    needed = [tensor.rows for tensor in program.tensors]
    oldest = [0] * len(order)
    for step in range(len(order) - 1, -1, -1):
        stripe = order[step]
        operation = program.operations[stripe.operation]
        oldest[step] = min(needed[operation.write.tensor], stripe.first)
        for read in operation.reads:
            low = wanted(program, read, stripe.first, stripe.end)[0]
            needed[read.tensor] = min(needed[read.tensor], low)
    return oldest


def packed(sizes: Sequence[int], live: Sequence[int]) -> tuple[list[int], int]:
    """Offsets for buffers that are needed at times, each as low as it can lie beside those placed before it; of several
    orders, the one that takes least."""
    used = [n for n, size in enumerate(sizes) if size]
    lengths = [mask.bit_count() for mask in live]
    orders = (
        sorted(used, key=lambda n: (-sizes[n], -lengths[n])),
        sorted(used, key=lambda n: (-sizes[n] * lengths[n], -sizes[n])),
        sorted(used, key=lambda n: (-lengths[n], -sizes[n])),
        sorted(used, key=lambda n: (live[n] & -live[n], -sizes[n])),
    )
    return min((_placed(order, sizes, live) for order in orders), key=lambda way: way[1])


def _placed(order: Sequence[int], sizes: Sequence[int], live: Sequence[int]) -> tuple[list[int], int]:
    offsets = [0] * len(sizes)
    for k, n in enumerate(order):
        beside = sorted((offsets[m], offsets[m] + sizes[m]) for m in order[:k] if live[m] & live[n])
        for start, end in beside:
            if offsets[n] + sizes[n] <= start:
                break
            offsets[n] = max(offsets[n], -(-end // ALIGNMENT) * ALIGNMENT)
    return offsets, max((offsets[n] + sizes[n] for n in order), default=0)
