"""The assembly of `mote_winograd.h`: products of transformed inputs and weights, for a number of input channels.

How many pairs of channels a position has and where its sums go is known when a model is compiled, so the words between
inputs that say it are stepped over: positions follow one another without a jump, and those with the same roles, every
`period` of them, are a pass of a loop.

Registers: r0-r3 the sums of four tiles for the first channel of a pair, r4-r7 those for the second; r8 stands 8 bytes
before what comes next of the inputs, r9 one word before the next weights; r10-r12 and lr inputs and weights. On the
stack: where a pass's sums go, where they end, and what its first sums begin with.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

CONTROL = 8
"""Bytes before the inputs of each run of pairs."""
SUMS = 32
"""Bytes of a position's sums."""
MOST_PAIRS = 16
"""More pairs of channels have no code of their own: what it would save is little beside their products."""
MOST_ORDERED = 32
"""The most pairs of channels of code that is put into another order: what that saves does not depend on the number."""
PAIR_CYCLES, POSITION_CYCLES, JUMP_CYCLES = 16, 11, 11
"""Cycles of a Cortex-M4: of a pair's products, and of what a position takes beside them, without and for jumps."""
TO, END, BEGIN = 0, 4, 8
"""Places on the stack."""


@lru_cache(maxsize=64)
def products(pairs: int, positions: int, keep: int, period: int) -> tuple[str, ...]:
    """The function `mote_winograd_products` for so many pairs of input channels; `keep` and `period` are those of
    `mote_winograd_control`."""
    assert 1 < pairs <= MOST_ORDERED and positions % period == 0 and not keep & 1
    return (
        "push {r4-r11, lr}",
        "sub sp, sp, #16",
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
        "add sp, sp, #16",
        "pop {r4-r11, pc}",
    )


def faster(pairs: int) -> float:
    """The share of the cycles of products that is left without jumps."""
    cycles = PAIR_CYCLES * pairs + POSITION_CYCLES
    return cycles / (cycles + JUMP_CYCLES)


def _position(i: int, pairs: int, *, keeps: bool) -> list[str]:
    """All products of a position, and its sums to memory; `keeps`: they go on from those before."""
    lines = []
    for k, at in enumerate(_places(pairs)):
        if k == 0 and not keeps:
            lines += _begun(at, zero=i > 0)
        else:
            end = "!" if k == pairs - 1 else ""
            lines += _pair(4 + 8 * (k % MOST_PAIRS), at, end, "!" if k % MOST_PAIRS == MOST_PAIRS - 1 else end)
    return [*lines, f"ldr lr, [sp, #{TO}]", *(f"str r{n}, [lr, #{SUMS * i + 4 * n}]" for n in range(8))]


def _places(pairs: int) -> Iterator[int]:
    """How far behind r8 the inputs of each pair lie: in runs as `mote_winograd_next` makes them."""
    at = 8
    while pairs:
        run = pairs % 8 or (8 if pairs % 16 else 16)
        at += CONTROL
        yield from range(at, at + 16 * run, 16)
        at += 16 * run
        pairs -= run


def _begun(at: int, *, zero: bool) -> list[str]:
    """The first pair's products: sums begin with them, or with what is on the stack."""
    loads = ["ldr r10, [r9, #4]", "ldr r11, [r9, #8]", *(f"ldr r{p}, [r8, #{at + 4 * p}]" for p in range(4))]
    if zero:
        second = [f"smuad r{4 + p}, r{p}, r11" for p in range(4)]
        return [*loads, *second, *(f"smuad r{p}, r{p}, r10" for p in range(4))]
    loads += [f"ldr r12, [sp, #{BEGIN}]", f"ldr lr, [sp, #{BEGIN + 4}]"]
    second = [f"smlad r{4 + p}, r{p}, r11, lr" for p in range(4)]
    return [*loads, *second, *(f"smlad r{p}, r{p}, r10, r12" for p in range(4))]


def _pair(weights: int, at: int, move: str, move_weights: str) -> list[str]:
    """The products of a pair, 16 in as many cycles of a Cortex-M4; `move`: with the pointer to inputs behind them,
    `move_weights`: with that to weights."""
    lines = [f"ldr r10, [r9, #{weights}]", f"ldr r12, [r8, #{at}]"]
    lines += [f"ldr r11, [r9, #{weights + 4}]{move_weights}", f"ldr lr, [r8, #{at + 4}]"]
    for p in (0, 2):
        lines += [f"ldrd r12, lr, [r8, #{at + 8}]{move}"] if p else []
        for n, x in ((p, "r12"), (p + 1, "lr")):
            lines += [f"smlad r{n}, {x}, r10, r{n}", f"smlad r{4 + n}, {x}, r11, r{4 + n}"]
    return lines
