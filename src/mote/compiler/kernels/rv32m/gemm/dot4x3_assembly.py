"""Assembly of `mote_dot4x3_s8.h`: the sums of four pixels and a block of channels, and their requantization.

Registers: a0 the inputs, a1 the stream of weights and constants, a2 the end of the inputs, a3 the constant 2^15
(rounding of an upper half); s0-s11 the sums, a channel's four pixels adjacent; t0-t5 weights, a4 and a5 a pixel's input
words. In requantization: t1 mult, t2 add, t3 shift, t0 fix, t4 and t5 the int8 limits; a4, a5, a7 and t6 the output
pointers. On the stack: saved registers, the first inputs, the number of remaining blocks, and the output pointers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

PIXELS = 4
SAVED = (*(f"s{i}" for i in range(12)), "ra")
INPUTS, BLOCKS, TO, FRAME = 52, 56, 60, 80
"""Stack offsets, and the size of the stack frame."""
PLACES = ("a4", "a5", "a7", "t6")
X_OF, Y_OF = (0, 4, 16, 20), (8, 12, 24, 28)
"""Byte offsets of each pixel's two words in a group of inputs."""
GROUP = 32


@lru_cache(maxsize=16)
def block(lanes: int, unroll: int, *, linear: bool) -> tuple[str, ...]:
    """The function for blocks of `lanes` channels, unrolled by `unroll` groups of inputs. `linear`: negative outputs
    are not clipped, and round differently from positive ones."""
    sums = [[f"s{PIXELS * c + p}" for p in range(PIXELS)] for c in range(lanes)]
    return (
        f"addi sp, sp, -{FRAME}",
        *(f"sw {name}, {4 * i}(sp)" for i, name in enumerate(SAVED)),
        f"sw a2, {BLOCKS}(sp)",
        *(
            line
            for p in range(PIXELS)
            for line in (f"lw t0, {16 + 4 * p}(a0)", "add t0, t0, a3", f"sw t0, {TO + 4 * p}(sp)")
        ),
        "lw a2, 4(a0)",
        "lw a0, 0(a0)",
        f"sw a0, {INPUTS}(sp)",
        "lui a3, 8",
        "1:",
        *(line for c, of in enumerate(sums) for line in _begun(c, of)),
        f"addi a1, a1, {4 * lanes}",
        "2:",
        *(line for turn in range(unroll) for line in _group(turn, lanes, sums)),
        f"addi a0, a0, {GROUP * unroll}",
        f"addi a1, a1, {8 * lanes * unroll}",
        "bne a0, a2, 2b",
        f"lw a0, {INPUTS}(sp)",
        "li t4, -128",
        "li t5, 127",
        *(line for c, of in enumerate(sums) for line in _finished(c, of, linear=linear)),
        *(line for p, to in enumerate(PLACES) for line in (f"addi {to}, {to}, {lanes}", f"sw {to}, {TO + 4 * p}(sp)")),
        f"lw t0, {BLOCKS}(sp)",
        "addi t0, t0, -1",
        f"sw t0, {BLOCKS}(sp)",
        "beqz t0, 3f",
        "j 1b",
        "3:",
        "mv a0, a1",
        *(f"lw {name}, {4 * i}(sp)" for i, name in enumerate(SAVED)),
        f"addi sp, sp, {FRAME}",
        "ret",
        *(line for c, of in enumerate(sums) for line in (*_left_over(c, of), *_ends(c))),
    )


def _begun(channel: int, sums: list[str]) -> Iterator[str]:
    yield f"lw {sums[0]}, {4 * channel}(a1)"
    yield from (f"mv {sum_}, {sums[0]}" for sum_ in sums[1:])


def _group(turn: int, lanes: int, sums: list[list[str]]) -> Iterator[str]:
    """Sixteen products for each channel, in 24 instructions."""
    yield from (f"lw t{i}, {8 * lanes * turn + 4 * i}(a1)" for i in range(2 * lanes))
    for p in range(PIXELS):
        yield from (f"lw a4, {GROUP * turn + X_OF[p]}(a0)", f"lw a5, {GROUP * turn + Y_OF[p]}(a0)")
        for c in range(lanes):
            yield from (f"mul a6, a4, t{2 * c}", f"mul a7, a5, t{2 * c + 1}", "add a6, a6, a3", "add a6, a6, a7")
            yield from ("srai a6, a6, 16", f"add {sums[c][p]}, {sums[c][p]}, a6")


def _finished(channel: int, sums: list[str], *, linear: bool) -> Iterator[str]:
    """Requantize and store a channel; rare cases branch to code out of line."""
    yield from ("lw ra, 0(a1)", "addi a1, a1, 4", f"bnez ra, 1{channel}f", f"2{channel}:")
    if channel == 0:
        yield from (f"lw {to}, {TO + 4 * p}(sp)" for p, to in enumerate(PLACES))
    yield from (f"lw t{i + 1}, {4 * i}(a1)" for i in range(3))
    if linear:
        yield "lw t0, 12(a1)"
    yield f"addi a1, a1, {16 if linear else 12}"
    for p, (sum_, to) in enumerate(zip(sums, PLACES, strict=True)):
        if linear:
            yield from (f"slli a6, {sum_}, 2", "mulh a6, a6, t1", f"srai {sum_}, {sum_}, 31", f"and {sum_}, {sum_}, t0")
            yield f"sub a6, a6, {sum_}"
        else:
            yield f"mulh a6, {sum_}, t1"
        at = 4 * channel + p
        yield from ("add a6, a6, t2", "sra a6, a6, t3", f"blt a6, t4, 4{at:02}f", f"blt t5, a6, 5{at:02}f")
        yield from (f"6{at:02}:", f"sb a6, {channel}({to})")


def _left_over(channel: int, sums: list[str]) -> Iterator[str]:
    """Add the channel's separately listed products, ra of them, that would overflow a packed sum."""
    yield from (f"1{channel}:", "lw t0, 0(a1)", "lw t1, 4(a1)", "addi a1, a1, 8", "add t0, t0, a0", "addi ra, ra, -1")
    for p, sum_ in enumerate(sums):
        yield from (f"lw a6, {X_OF[p]}(t0)", "mul a6, a6, t1", "add a6, a6, a3", "srai a6, a6, 16")
        yield f"add {sum_}, {sum_}, a6"
    yield from (f"bnez ra, 1{channel}b", f"j 2{channel}b")


def _ends(channel: int) -> Iterator[str]:
    for at in range(4 * channel, 4 * channel + PIXELS):
        yield from (f"4{at:02}:", "mv a6, t4", f"j 6{at:02}b", f"5{at:02}:", "mv a6, t5", f"j 6{at:02}b")
