"""Assembly of `mote_winograd_words.h`: products of transformed inputs and weights of two tiles and two channels, in
16-bit Thumb instructions.

Registers: r0 inputs, r1 weights, r8-r11 the sums of both tiles for the first channel and for the second, r12 the
destination of sums, lr the end of a position's inputs; r2 and r3 the weights of two inputs, both channels in a word. On
the stack: bytes of a position's inputs, and the end of all inputs.
"""

from __future__ import annotations

from functools import lru_cache

from mote.compiler.kernels.assembly import RESTORE16, SAVE16

POSITIONS = 36


@lru_cache(maxsize=64)
def products(depth: int, unroll: int) -> tuple[str, ...]:
    """The function for `depth` input channels; `unroll`: input channels in a loop iteration, an even number."""
    assert depth % unroll == 0 and unroll % 2 == 0
    return (
        ".syntax unified",
        *SAVE16,
        "sub sp, sp, #8",
        "mov r12, r2",
        "lsls r3, r3, #3",
        "str r3, [sp]",
        f"movs r4, #{POSITIONS}",
        "muls r4, r3, r4",
        "adds r4, r4, r0",
        "str r4, [sp, #4]",
        "mov lr, r0",
        "1:",
        "ldr r3, [sp]",
        "add lr, r3",
        "movs r4, #0",
        *(f"mov r{i}, r4" for i in range(8, 12)),
        "2:",
        *(line for _ in range(unroll // 2) for line in ("ldmia r1!, {r2, r3}", *_products("r2"), *_products("r3"))),
        *(("cmp r0, lr", "beq 3f", "b 2b", "3:") if unroll < depth else ()),
        *(f"mov r{i}, r{i + 4}" for i in range(4, 8)),
        "mov r2, r12",
        "stmia r2!, {r4-r7}",
        "mov r12, r2",
        "ldr r3, [sp, #4]",
        "cmp r0, r3",
        "beq 4f",
        "b 1b",
        "4:",
        "movs r0, r1",
        "add sp, sp, #8",
        *RESTORE16,
    )


def _products(weights: str) -> tuple[str, ...]:
    """Four products, in 14 cycles."""
    return (
        "ldmia r0!, {r4, r5}",
        f"sxth r6, {weights}",
        f"asrs {weights}, {weights}, #16",
        "movs r7, r4",
        "muls r7, r6, r7",
        f"muls r4, {weights}, r4",
        "muls r6, r5, r6",
        f"muls {weights}, r5, {weights}",
        "add r8, r7",
        "add r9, r6",
        "add r10, r4",
        f"add r11, {weights}",
    )
