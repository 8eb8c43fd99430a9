"""The assembly of `mote_gemm4x2_s8.h` that layers share: the length of sums and the places of outputs are known at run
time.

It is that of `gemm_assembly.py` with a loop over EACH steps, which is entered in its midst so that no step is left
over, and with a pointer to the outputs of each pixel. Behind the frame the stack has what the loop needs, by
`mote_gemm3_t`.
"""

from __future__ import annotations

from functools import lru_cache

from mote.kernels.armv7em.gemm.gemm_assembly import (
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
    OutputPlaces,
    add_onto,
    addition,
    begin,
    copy,
    first_step,
    four_pixels,
    in_steps,
    looped_line,
    narrow,
    tap_of_windows,
)

EACH = 12
"""Steps of a pass of the loop."""
STEP = 52
"""Bytes of code of a step: 13 instructions of four bytes, whatever the form of weights."""
SKIPPED, ENTRY, WORDS, LINE, LENGTH = 0, 4, 8, 12, 16
"""Where behind the frame: bytes of inputs that the first pass leaves out, the address that it begins at, the words of a
line of a window, bytes from a channel's output to that of the next, and bytes of a block's inputs."""
OWN = 20
"""Bytes of these."""
DEPTH, PLANES = 0, 12
"""Of `mote_gemm3_t`."""
assert 16 * EACH <= AHEAD


def loop_cycles(steps: int) -> int:
    """Cycles of the loop beside its products, on a Cortex-M4."""
    return PASS * -(-(steps - 1) // EACH)


@lru_cache(maxsize=64)
def shared_code(
    taps: int, weights: str, out: str, shift: int, *, ready: bool = False, added: bool = False
) -> tuple[str, ...]:
    """A function of a frame and `mote_gemm3_t` that computes all channels of some blocks of four pixels, for a form of
    weights and of outputs, for windows of so many lines (0: one, of four pixels wherever they lie) of any number of
    words; `ready`: inputs are there already, widened and contiguous; `added`: what is there is added to what comes."""
    pointers = 0 if ready else taps or 4
    constants = FROM + 4 * pointers
    own = constants + (12 if added else 0)
    planar = out == "planar"
    saturate, scale = ("usat" if planar else "ssat"), ("linear" if out == "linear" else "relu")
    made = [
        *first_step(weights, move=True),
        f"ldr r12, [sp, #{own + SKIPPED}]",
        "sub r8, r8, r12",
        f"sub r9, r9, r12, lsr #{1 if weights == 'wide' else 2}",
        f"ldr pc, [sp, #{own + ENTRY}]",
        ".p2align 2",
        "4:",
        *in_steps(weights, EACH, start=0, move=True),
        f"ldr r12, [sp, #{END}]",
        "cmp r8, r12",
        "bne.w 4b",
        *narrow(weights, scale, saturate, shift),
        *(add_onto(OutputPlaces(1), constants) if added else []),
        *_store(own, planar=planar),
    ]
    return (
        "push {r4-r11, lr}",
        f"sub sp, sp, #{own + OWN}",
        *_lengths(taps, own, planar=planar),
        f"add r12, sp, #{INPUTS}",
        *copy(GIVEN + pointers),
        *(addition(constants) if added else []),
        f"ldrd r0, r1, [sp, #{INPUTS}]",
        "subs r0, r0, #8",
        "subs r1, r1, #4",
        f"strd r0, r1, [sp, #{INPUTS}]",
        f"ldr r2, [sp, #{own + LENGTH}]",
        "add r0, r0, r2",
        f"str r0, [sp, #{END}]",
        "1:",
        *([] if ready else _widening(taps, own)),
        *begin(OutputPlaces(1)),
        f"ldrd r8, r9, [sp, #{INPUTS}]",
        "2:",
        *made,
        f"ldr r8, [sp, #{INPUTS}]",
        "bne.w 2b",
        *(_next(own) if ready else []),
        f"ldr r0, [sp, #{BLOCKS}]",
        "subs r0, r0, #1",
        f"str r0, [sp, #{BLOCKS}]",
        "bne.w 1b",
        f"add sp, sp, #{own + OWN}",
        "pop {r4-r11, pc}",
    )


def _lengths(taps: int, own: int, *, planar: bool) -> list[str]:
    """The values of the loop: with r2 steps behind the first one, the first pass leaves out as
    many as whole passes have more."""
    return [
        f"ldr r2, [r1, #{DEPTH}]",
        "lsrs r3, r2, #1",
        "lsls r4, r3, #4",
        f"str r4, [sp, #{own + LENGTH}]",
        "lsrs r2, r2, #2",
        *(["movs r4, #" + str(taps), "udiv r2, r2, r4"] if taps > 1 else []),
        f"str r2, [sp, #{own + WORDS}]",
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
        f"strd r2, r3, [sp, #{own + SKIPPED}]",
        *([f"ldr r2, [r1, #{PLANES}]", f"str r2, [sp, #{own + LINE}]"] if planar else []),
    ]


def _widening(taps: int, own: int) -> list[str]:
    """The inputs of a block, and where those of the next one are."""
    words = f"ldr r3, [sp, #{own + WORDS}]"
    if not taps:
        return four_pixels(looped_line(words, "3"))
    lines = [f"ldr r2, [sp, #{INPUTS}]", "adds r2, r2, #8"]
    for tap in range(taps):
        lines += [f"ldr r3, [sp, #{STRIDE}]", *tap_of_windows(tap), *looped_line(words, f"{10 + tap}")]
    return lines


def _next(own: int) -> list[str]:
    """The inputs of the next block, and their end, lie behind those of this one."""
    moved = [
        text for at in (INPUTS, END) for text in (f"ldr r0, [sp, #{at}]", "add r0, r0, r1", f"str r0, [sp, #{at}]")
    ]
    return [f"ldr r1, [sp, #{own + LENGTH}]", *moved]


def _store(own: int, *, planar: bool) -> list[str]:
    """Eight bytes, and whether these were the last."""
    pointers = f"ldm sp, {{{', '.join(FREE)}}}", f"stm sp, {{{', '.join(FREE)}}}"
    if planar:
        first = [f"strb {SUMS[p]}, [{r}]" for p, r in enumerate(FREE)]
        second = [f"strb {SUMS[4 + p]}, [{r}, r0]" for p, r in enumerate(FREE)]
        moved = [f"add {r}, {r}, r0, lsl #1" for r in FREE]
        bytes_ = [*first, f"ldr r0, [sp, #{own + LINE}]", *second, *moved]
    else:
        second = [f"strb {SUMS[4 + p]}, [{r}, #1]" for p, r in enumerate(FREE)]
        bytes_ = [*second, *(f"strb {SUMS[p]}, [{r}], #2" for p, r in enumerate(FREE))]
    return [pointers[0], *bytes_, pointers[1], f"ldr r0, [sp, #{LIMIT}]", "cmp r10, r0"]
