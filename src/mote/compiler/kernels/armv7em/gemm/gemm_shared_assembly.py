"""Assembly of `mote_gemm4x2_s8.h` that layers share: the length of sums and the offsets of outputs are run-time values.

It is the code of `gemm_assembly.py` with a loop unrolled by EACH steps, entered in the middle (as Duff's device) so
that no remainder is left, and with an output pointer for each pixel. The stack has the loop's values, computed from
`mote_gemm3_t`, after the frame. A separate routine widens inputs; its address is an argument. So 1x1 convolutions,
windows and layers with already widened inputs share the code of the products. The routine works on this code's stack
frame and is entered by a jump instead of a call, so that the stack usage is known statically.
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
from mote.compiler.kernels.assembly import enter, leave, listed

EACH = 12
"""Steps that the loop is unrolled by."""
STEP = 52
"""Code size of a step in bytes: 13 instructions of four bytes, for every weight format."""
SKIPPED, ENTRY, WORDS, LINE, LENGTH, FRAME, WIDEN, RETURN, NEXT = range(FROM, FROM + 36, 4)
"""Stack offsets. SKIPPED: bytes of inputs that the first iteration skips; ENTRY: address at which it enters the loop;
WORDS: words of a window line; LINE: bytes from one channel's output to the next; LENGTH: bytes of a block's inputs;
FRAME: the caller's frame; WIDEN: the routine that widens inputs; RETURN: its return address; NEXT: its position in the
window lines."""
CONSTANTS = NEXT + 4
"""Stack offset of the constants of a fused addition."""
GIVEN_FROM = 4 * GIVEN
"""Offset of the input pointers in `mote_gemm4x2_frame_t`."""
DEPTH, PLANES = 0, 12
"""Offsets of the fields `depth` and `planes` in `mote_gemm3_t`."""
assert 16 * EACH <= AHEAD


def loop_cycles(steps: int) -> int:
    """Loop overhead of a sum in cycles, on a Cortex-M4."""
    return PASS * -(-(steps - 1) // EACH)


@lru_cache(maxsize=64)
def shared_code(weights: MatrixWeights, out: str, shift: int, *, added: bool = False) -> tuple[str, ...]:
    """A function that computes all channels of blocks of four pixels, for one weight format and output form. Arguments:
    a frame, `mote_gemm3_t`, and the routine that widens inputs (NULL: they are already widened and contiguous).
    `added`: results are added to the output's present contents."""
    frame = CONSTANTS + (12 if added else 0)
    planar = out == "planar"
    saturate, scale = ("usat" if planar else "ssat"), ("linear" if out == "linear" else "relu")
    channels = [
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
        *enter(frame),
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
        *channels,
        f"ldr r8, [sp, #{INPUTS}]",
        "bne.w 2b",
        *_next(),
        f"ldr r0, [sp, #{BLOCKS}]",
        "subs r0, r0, #1",
        f"str r0, [sp, #{BLOCKS}]",
        "bne.w 1b",
        *leave(frame),
    )


@lru_cache(maxsize=16)
def widening_code(taps: int) -> tuple[str, ...]:
    """The routine that widens a block's inputs on the stack frame of `shared_code`, and advances the input pointers:
    for windows of `taps` lines with any number of words, or (0) for four pixels at any addresses."""
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
    """Compute the loop's stack values: the first iteration skips as many steps as rounding up to whole iterations
    adds."""
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
    """If inputs are already widened, advance the pointers to the inputs of the next block, which follow
    contiguously."""
    moved = [
        text for at in (INPUTS, END) for text in (f"ldr r0, [sp, #{at}]", "add r0, r0, r1", f"str r0, [sp, #{at}]")
    ]
    return [f"ldr r0, [sp, #{WIDEN}]", "cbnz r0, 5f", f"ldr r1, [sp, #{LENGTH}]", *moved, "5:"]


def _store(*, planar: bool) -> list[str]:
    """Store two channels of four pixels, and compare with the end address."""
    pointers = f"ldm sp, {listed(FREE)}", f"stm sp, {listed(FREE)}"
    if planar:
        first = [f"strb {SUMS[p]}, [{r}]" for p, r in enumerate(FREE)]
        second = [f"strb {SUMS[4 + p]}, [{r}, r0]" for p, r in enumerate(FREE)]
        moved = [f"add {r}, {r}, r0, lsl #1" for r in FREE]
        bytes_ = [*first, f"ldr r0, [sp, #{LINE}]", *second, *moved]
    else:
        second = [f"strb {SUMS[4 + p]}, [{r}, #1]" for p, r in enumerate(FREE)]
        bytes_ = [*second, *(f"strb {SUMS[p]}, [{r}], #2" for p, r in enumerate(FREE))]
    return [pointers[0], *bytes_, pointers[1], f"ldr r0, [sp, #{LIMIT}]", "cmp r10, r0"]
