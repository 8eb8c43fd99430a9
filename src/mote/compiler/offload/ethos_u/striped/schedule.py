"""Schedules stripes: their order, the rows of each tensor that are in memory at a time, and their addresses.

Every operation computes some rows at a time, as late as possible: before a stripe, the rows that it reads are computed.
A tensor needs memory for the rows from the oldest one that is still read to the newest: a ring buffer, with row `r` in
line `r` modulo its number of lines. Ring buffers that are not live at the same time share memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mote.compiler.offload.ethos_u.striped.program import StreamProgram

ALIGNMENT = 16


@dataclass(frozen=True)
class Stripe:
    """A range of output rows of an operation that is computed at once."""

    operation: int
    first: int
    end: int


@dataclass(frozen=True)
class StripePlan:
    """A schedule of stripes with memory addresses: for each tensor its offset in working memory and number of lines."""

    stripes: tuple[Stripe, ...]
    offsets: tuple[int, ...]
    lines: tuple[int, ...]
    size: int
    sizes: tuple[int, ...] = ()
    """Bytes of each tensor in working memory."""
    live: tuple[int, ...] = ()
    """By tensor: a bit mask of the stripes during which it is live."""

    @property
    def peak(self) -> int:
        """The stripe at which most bytes are live."""
        needed = np.zeros(len(self.stripes), np.int64)
        for size, mask in zip(self.sizes, self.live, strict=True):
            if size:
                bits = np.frombuffer(mask.to_bytes(len(needed) // 8 + 1, "little"), np.uint8)
                needed += size * np.unpackbits(bits, bitorder="little")[: len(needed)].astype(np.int64)
        return int(needed.argmax())


def stripes(program: StreamProgram, heights: Sequence[int]) -> list[Stripe]:
    """The stripes in execution order, with up to `heights` rows for each operation."""
    rows = [operation.rows for operation in program.operations]
    steps = [min(height, operation.most) for height, operation in zip(heights, program.operations, strict=True)]
    done = [0] * len(rows)
    order: list[Stripe] = []

    def compute(number: int, until: int) -> None:
        until = min(until, rows[number])
        while done[number] < until:
            first = done[number]
            end = min(first + steps[number], rows[number])
            for need in program.needs[number]:
                needed = need.rows_of(first, end)[1]
                for writer in need.writers:
                    if done[writer] < needed:
                        compute(writer, needed)
            order.append(Stripe(number, first, end))
            done[number] = end

    for number, operation in enumerate(program.operations):
        if not program.tensors[operation.write.tensor].placed:
            compute(number, operation.rows)
    for number, operation in enumerate(program.operations):
        if operation.arrives:
            compute(number, operation.rows)
    return order


def arranged(program: StreamProgram, heights: Sequence[int]) -> StripePlan:
    """The plan for given numbers of rows per stripe."""
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
    return StripePlan(tuple(order), tuple(offsets), tuple(lines), size, tuple(sizes), tuple(live))


def lives(program: StreamProgram, order: Sequence[Stripe]) -> list[int]:
    """By tensor: a bit mask of the stripes during which it is live."""
    last: list[dict[int, int]] = [{} for _ in program.tensors]
    for step, stripe in enumerate(order):
        for need in program.needs[stripe.operation]:
            last[need.tensor].update(dict.fromkeys(range(*need.rows_of(stripe.first, stripe.end)), step))
    live = [0] * len(program.tensors)
    for step, stripe in enumerate(order):
        write = program.operations[stripe.operation].write.tensor
        end = max((last[write].get(row, step) for row in range(stripe.first, stripe.end)), default=step)
        live[write] |= (1 << end + 1) - (1 << step)
    return live


def _oldest(program: StreamProgram, order: Sequence[Stripe]) -> list[int]:
    """For each stripe, the oldest row of the tensor it writes that this stripe writes or a later one reads."""
    needed = [tensor.rows for tensor in program.tensors]
    oldest = [0] * len(order)
    for step in range(len(order) - 1, -1, -1):
        stripe = order[step]
        operation = program.operations[stripe.operation]
        oldest[step] = min(needed[operation.write.tensor], stripe.first)
        for need in program.needs[stripe.operation]:
            low = need.rows_of(stripe.first, stripe.end)[0]
            if low < needed[need.tensor]:
                needed[need.tensor] = low
    return oldest


def packed(sizes: Sequence[int], live: Sequence[int]) -> tuple[list[int], int]:
    """Offsets of buffers with given live ranges, and the total size: each is placed as low as possible; the best of
    several orders."""
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
