"""The assembly of `mote_gemm4x2_s8.h` that layers share: the length of sums and the places of outputs are known at run
time.

It is that of `gemm_assembly.py` with a loop over EACH steps, which is entered in its midst so that no step is left
over, and with a pointer to the outputs of each pixel. Behind the frame the stack has what the loop needs, by
`mote_gemm3_t`. Inputs are widened by another routine, whose address comes with the call: 1x1 convolutions, windows and
layers whose inputs are widened already share the code of their products. That routine works on the stack of the code,
which jumps there instead of calling it: how much stack is needed stays known.
"""

from __future__ import annotations

from functools import lru_cache

from mote.compiler.kernels.armv7em.gemm.gemm_assembly import (
    AHEAD,
    BLOCKS,
    END,
    FREE,
    FROM,
    GIVEN,
    INPUTS,
    LIMIT,
    PASS,
    STRIDE,
    SUMS,
    MatrixWeights,
    OutputPlaces,
    add_onto,
    addition,
    begin,
    copy,
    first_step,
    in_steps,
    looped_line,
    narrow,
)

EACH = 12
"""Steps of a pass of the loop."""
STEP = 52
"""Bytes of code of a step: 13 instructions of four bytes, whatever the form of weights."""
SKIPPED, ENTRY, WORDS, LINE, LENGTH, FRAME, WIDEN, RETURN, NEXT = range(FROM, FROM + 36, 4)
"""Where on the stack: bytes of inputs that the first pass leaves out, the address that it begins at, the words of a
line of a window, bytes from a channel's output to that of the next, bytes of a block's inputs, the caller's frame, the
routine that widens inputs, where that returns to, and its place among the lines of a window."""
CONSTANTS = NEXT + 4
"""Of an addition, behind these."""
GIVEN_FROM = 4 * GIVEN
"""Where the pointers to inputs lie in `mote_gemm4x2_frame_t`."""
DEPTH, PLANES = 0, 12
"""Of `mote_gemm3_t`."""
assert 16 * EACH <= AHEAD


def loop_cycles(steps: int) -> int:
    """Cycles of the loop beside its products, on a Cortex-M4."""
    return PASS * -(-(steps - 1) // EACH)


@lru_cache(maxsize=64)
def shared_code(weights: MatrixWeights, out: str, shift: int, *, added: bool = False) -> tuple[str, ...]:
    """A function of a frame, `mote_gemm3_t` and a routine that widens inputs, which computes all channels of some
    blocks of four pixels, for a form of weights and of outputs. Without a routine inputs are there already, widened and
    contiguous; `added`: what is there is added to what comes."""
    frame = CONSTANTS + (12 if added else 0)
    planar = out == "planar"
    saturate, scale = ("usat" if planar else "ssat"), ("linear" if out == "linear" else "relu")
    made = [
        *first_step(weights, move=True),
        f"ldr r12, [sp, #{SKIPPED}]",
        "sub r8, r8, r12",
        f"sub r9, r9, r12, lsr #{1 if weights is MatrixWeights.WIDE else 2}",
        f"ldr pc, [sp, #{ENTRY}]",
        ".p2align 2",
        "4:",
        *in_steps(weights, EACH, start=0, move=True),
        f"ldr r12, [sp, #{END}]",
        "cmp r8, r12",
        "bne.w 4b",
        *narrow(weights, scale, saturate, shift),
        *(add_onto(OutputPlaces(1), CONSTANTS) if added else []),
        *_store(planar=planar),
    ]
    return (
        "push {r4-r11, lr}",
        f"sub sp, sp, #{frame}",
        f"strd r0, r2, [sp, #{FRAME}]",
        *_lengths(planar=planar),
        f"add r12, sp, #{INPUTS}",
        *copy(GIVEN),
        *(addition(CONSTANTS) if added else []),
        f"ldrd r0, r1, [sp, #{INPUTS}]",
        "subs r0, r0, #8",
        "subs r1, r1, #4",
        f"strd r0, r1, [sp, #{INPUTS}]",
        f"ldr r2, [sp, #{LENGTH}]",
        "add r0, r0, r2",
        f"str r0, [sp, #{END}]",
        "1:",
        f"ldr r3, [sp, #{WIDEN}]",
        "cbz r3, 3f",
        "adr.w lr, 3f",
        "orr lr, lr, #1",
        f"ldr pc, [sp, #{WIDEN}]",
        "3:",
        *begin(OutputPlaces(1)),
        f"ldrd r8, r9, [sp, #{INPUTS}]",
        "2:",
        *made,
        f"ldr r8, [sp, #{INPUTS}]",
        "bne.w 2b",
        *_next(),
        f"ldr r0, [sp, #{BLOCKS}]",
        "subs r0, r0, #1",
        f"str r0, [sp, #{BLOCKS}]",
        "bne.w 1b",
        f"add sp, sp, #{frame}",
        "pop {r4-r11, pc}",
    )


@lru_cache(maxsize=16)
def widening_code(taps: int) -> tuple[str, ...]:
    """The routine that widens the inputs of a block on the stack of `shared_code`, and says where those of the next one
    are: of windows of so many lines of any number of words; 0: of four pixels wherever they lie."""
    to = [f"str lr, [sp, #{RETURN}]", f"ldr r2, [sp, #{INPUTS}]", "adds r2, r2, #8"]
    if not taps:
        return (
            *to,
            f"ldr r3, [sp, #{FRAME}]",
            f"adds r3, r3, #{GIVEN_FROM}",
            "ldm r3, {r0, r1, r12, lr}",
            *looped_line(f"ldr r3, [sp, #{WORDS}]", "1"),
            f"ldr r3, [sp, #{STRIDE}]",
            f"ldr r4, [sp, #{FRAME}]",
            f"adds r4, r4, #{GIVEN_FROM}",
            "add r1, lr, r3",
            "add r12, r1, r3",
            "mov r0, lr",
            "add lr, r12, r3",
            "stm r4, {r0, r1, r12, lr}",
            f"ldr pc, [sp, #{RETURN}]",
        )
    words = [f"ldr r3, [sp, #{WORDS}]", *([f"movs r4, #{taps}", "udiv r3, r3, r4"] if taps > 1 else [])]
    last = [
        f"ldr r5, [sp, #{NEXT}]",
        f"ldr r3, [sp, #{FRAME}]",
        "subs r3, r5, r3",
        f"cmp r3, #{4 * taps}",
        "bne 1b",
    ]
    return (
        *to,
        f"ldr r5, [sp, #{FRAME}]",
        "1:",
        f"ldr r6, [sp, #{STRIDE}]",
        f"ldr r0, [r5, #{GIVEN_FROM}]",
        "add r1, r0, r6",
        "add r12, r1, r6",
        "add lr, r12, r6",
        "add r4, lr, r6",
        f"str r4, [r5, #{GIVEN_FROM}]",
        "adds r5, r5, #4",
        f"str r5, [sp, #{NEXT}]",
        *words[:-1],
        *looped_line(words[-1], "2"),
        *(last if taps > 1 else []),
        f"ldr pc, [sp, #{RETURN}]",
    )


def _lengths(*, planar: bool) -> list[str]:
    """The values of the loop: with r2 steps behind the first one, the first pass leaves out as
    many as whole passes have more."""
    return [
        f"ldr r2, [r1, #{DEPTH}]",
        "lsrs r3, r2, #1",
        "lsls r4, r3, #4",
        f"str r4, [sp, #{LENGTH}]",
        "lsrs r2, r2, #2",
        f"str r2, [sp, #{WORDS}]",
        "subs r3, r3, #1",
        f"add r2, r3, #{EACH - 1}",
        f"movs r4, #{EACH}",
        "udiv r2, r2, r4",
        "muls r2, r4, r2",
        "subs r2, r2, r3",
        f"movs r4, #{STEP}",
        "adr.w r3, 4f",
        "mla r3, r2, r4, r3",
        "orr r3, r3, #1",
        "lsls r2, r2, #4",
        f"strd r2, r3, [sp, #{SKIPPED}]",
        *([f"ldr r2, [r1, #{PLANES}]", f"str r2, [sp, #{LINE}]"] if planar else []),
    ]


def _next() -> list[str]:
    """Without a routine that widens them the inputs of the next block, and their end, lie behind those of this one."""
    moved = [
        text for at in (INPUTS, END) for text in (f"ldr r0, [sp, #{at}]", "add r0, r0, r1", f"str r0, [sp, #{at}]")
    ]
    return [f"ldr r0, [sp, #{WIDEN}]", "cbnz r0, 5f", f"ldr r1, [sp, #{LENGTH}]", *moved, "5:"]


def _store(*, planar: bool) -> list[str]:
    """Eight bytes, and whether these were the last."""
    pointers = f"ldm sp, {{{', '.join(FREE)}}}", f"stm sp, {{{', '.join(FREE)}}}"
    if planar:
        first = [f"strb {SUMS[p]}, [{r}]" for p, r in enumerate(FREE)]
        second = [f"strb {SUMS[4 + p]}, [{r}, r0]" for p, r in enumerate(FREE)]
        moved = [f"add {r}, {r}, r0, lsl #1" for r in FREE]
        bytes_ = [*first, f"ldr r0, [sp, #{LINE}]", *second, *moved]
    else:
        second = [f"strb {SUMS[4 + p]}, [{r}, #1]" for p, r in enumerate(FREE)]
        bytes_ = [*second, *(f"strb {SUMS[p]}, [{r}], #2" for p, r in enumerate(FREE))]
    return [pointers[0], *bytes_, pointers[1], f"ldr r0, [sp, #{LIMIT}]", "cmp r10, r0"]
