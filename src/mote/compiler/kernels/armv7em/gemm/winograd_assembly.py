"""Assembly of `mote_winograd.h`: products of transformed inputs and weights, for one number of input channels.

The number of channel pairs and the destinations of sums are known at compile time, so the code skips the control words
between the inputs that hold them: positions follow one another without jumps, and `period` positions with the same
accumulation pattern are one loop iteration.

Registers: r0-r3 the sums of four tiles for the first channel of a pair, r4-r7 those for the second; r8 is 8 bytes
before the next inputs, r9 one word before the next weights; r10-r12 and lr inputs and weights. On the stack:
destination of an iteration's sums, end of all sums, and initial values of the iteration's first sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from mote.compiler.kernels.assembly import enter, leave

CONTROL = 8
"""Bytes of control words before each run of channel pairs."""
SUMS = 32
"""Bytes of the sums of one position of the transformed tile."""
MOST_PAIRS = 16
"""Most channel pairs of specialized code in source order: with more, the savings are small relative to the products."""
MOST_ORDERED = 32
"""Most channel pairs of rescheduled code; its savings do not depend on their number."""
PAIR_CYCLES, POSITION_CYCLES, JUMP_CYCLES = 16, 11, 11
"""Cycles on a Cortex-M4: of a channel pair's products, of a position's overhead, and of its jumps in shared code."""
TO, END, BEGIN, FRAME = 0, 4, 8, 16
"""Stack offsets: destination of sums, end of sums, initial values. FRAME: total bytes."""


@lru_cache(maxsize=64)
def products(pairs: int, positions: int, keep: int, period: int) -> tuple[str, ...]:
    """The function `mote_winograd_products` for that many pairs of input channels; `keep` (accumulation mask) and
    `period` as in `mote_winograd_control`."""
    assert 1 < pairs <= MOST_ORDERED and positions % period == 0 and not keep & 1
    return (
        *enter(FRAME),
        "ldr r2, [r0, #4]",
        f"add r3, r2, #{SUMS * positions}",
        "ldrd r4, r5, [r1]",
        "stm sp, {r2-r5}",
        "sub r8, r0, #8",
        "add r9, r1, #4",
        "1:",
        *(text for i in range(period) for text in _position(i, pairs, keeps=bool(keep >> i & 1))),
        f"ldr r12, [sp, #{END}]",
        f"add lr, lr, #{SUMS * period}",
        "movs r10, #0",
        f"str lr, [sp, #{TO}]",
        f"str r10, [sp, #{BEGIN}]",
        f"str r10, [sp, #{BEGIN + 4}]",
        "cmp lr, r12",
        "bne.w 1b",
        "add r0, r9, #4",
        *leave(FRAME),
    )


def jumpless_share(pairs: int) -> float:
    """Cycles without jumps as a fraction of the shared code's cycles."""
    cycles = PAIR_CYCLES * pairs + POSITION_CYCLES
    return cycles / (cycles + JUMP_CYCLES)


def _position(i: int, pairs: int, *, keeps: bool) -> list[str]:
    """All products of a position, and stores of its sums; `keeps`: they accumulate onto the previous position's
    sums."""
    lines = []
    for k, at in enumerate(_input_offsets(pairs)):
        if k == 0 and not keeps:
            lines += _first_pair(at, zero=i > 0)
        else:
            end = "!" if k == pairs - 1 else ""
            lines += _pair(4 + 8 * (k % MOST_PAIRS), at, end, "!" if k % MOST_PAIRS == MOST_PAIRS - 1 else end)
    return [*lines, f"ldr lr, [sp, #{TO}]", *(f"str r{n}, [lr, #{SUMS * i + 4 * n}]" for n in range(8))]


def _input_offsets(pairs: int) -> Iterator[int]:
    """Byte offsets of each channel pair's inputs from r8, in runs separated by control words, as `mote_winograd_next`
    lays them out."""
    at = 8
    while pairs:
        run = pairs % 8 or (8 if pairs % 16 else 16)
        at += CONTROL
        yield from range(at, at + 16 * run, 16)
        at += 16 * run
        pairs -= run


def _first_pair(at: int, *, zero: bool) -> list[str]:
    """Products of the first channel pair; sums start from zero, or from the initial values on the stack."""
    loads = ["ldr r10, [r9, #4]", "ldr r11, [r9, #8]", *(f"ldr r{p}, [r8, #{at + 4 * p}]" for p in range(4))]
    if zero:
        second = [f"smuad r{4 + p}, r{p}, r11" for p in range(4)]
        return [*loads, *second, *(f"smuad r{p}, r{p}, r10" for p in range(4))]
    loads += [f"ldr r12, [sp, #{BEGIN}]", f"ldr lr, [sp, #{BEGIN + 4}]"]
    second = [f"smlad r{4 + p}, r{p}, r11, lr" for p in range(4)]
    return [*loads, *second, *(f"smlad r{p}, r{p}, r10, r12" for p in range(4))]


def _pair(weights: int, at: int, move: str, move_weights: str) -> list[str]:
    """Products of a channel pair: 16 in 16 cycles of a Cortex-M4. `move`: `!` to update the input pointer;
    `move_weights`: `!` to update the weight pointer."""
    lines = [f"ldr r10, [r9, #{weights}]", f"ldr r12, [r8, #{at}]"]
    lines += [f"ldr r11, [r9, #{weights + 4}]{move_weights}", f"ldr lr, [r8, #{at + 4}]"]
    for p in (0, 2):
        lines += [f"ldrd r12, lr, [r8, #{at + 8}]{move}"] if p else []
        for n, x in ((p, "r12"), (p + 1, "lr")):
            lines += [f"smlad r{n}, {x}, r10, r{n}", f"smlad r{4 + n}, {x}, r11, r{4 + n}"]
    return lines
