"""Assembly of `mote_conv4x2_s16.h`: convolutions of int16 images, up to four pixels and two output channels at a time.

Registers: r0-r3 the sums of the pixels for the first channel of a pair, r4-r7 those for the second; r8 the input
pointer and r9 the pointer to the stream of weights and constants; r10 and r11 weights, r12 and lr inputs. Two products
of each of eight sums take 13 instructions with 16-bit weights and 15 with 8-bit weights.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from mote.compiler.kernels.assembly import enter, leave, plus

TO, LIMIT, FROM, END, TAP, FRAME = 0, 4, 8, 12, 16, 20
"""Stack offsets. TO: next outputs; LIMIT: end of the outputs; FROM: pointers to input rows; END: end of a line's loop;
TAP: pointer to the next row's pointer. FRAME: total bytes."""
ROWS = 12
"""Offset of the row pointers in `mote_block_s16_t`."""
MOST_STEPS = 20
"""Most pairs of products that are unrolled; longer sums use loops."""
LOWEST, HIGHEST = -32768, 32767


@dataclass(frozen=True)
class Outputs:
    """Requantization of sums to int16: shift after the multiplication, activation limits, and the pixel's number of
    channels."""

    shift: int
    low: int
    high: int
    channels: int

    @property
    def saturate(self) -> str:
        return "usat {0}, #15, {0}" if self.low == 0 else "ssat {0}, #16, {0}"

    @property
    def limits(self) -> list[tuple[str, str, int]]:
        """Activation limits that the saturation instruction does not enforce: (saturating addition, its inverse,
        amount) each."""
        below = [] if self.low in (LOWEST, 0) else [("qsub16", "qadd16", self.low - LOWEST)]
        return [*below, *([("qadd16", "qsub16", HIGHEST - self.high)] if self.high < HIGHEST else [])]


def begin(out: Outputs, frame: int) -> list[str]:
    """Function prologue: save registers, store the output range on the stack, load the stream into r9; r0 is the
    block."""
    return [
        *enter(frame),
        "ldrd r9, r1, [r0]",
        *plus("r2", "r1", 2 * out.channels),
        f"strd r1, r2, [sp, #{TO}]",
    ]


def finish(pixels: int, out: Outputs) -> list[str]:
    """Requantize the sums to int16 and store them; the flags say whether channels remain."""
    first, second = ([f"r{row + p}" for p in range(pixels)] for row in (0, 4))
    lines = ["ldrd r10, r11, [r9], #8", f"mov r12, #{1 << (out.shift - 1)}", f"ldr lr, [sp, #{TO}]"]
    for p in range(pixels):
        lines += [f"smmla {first[p]}, {first[p]}, r10, r12", f"smmla {second[p]}, {second[p]}, r11, r12"]
    lines += [f"{out.saturate.format(r)}, asr #{out.shift}" for r in (*first, *second)]
    lines += [f"pkhbt {a}, {a}, {b}, lsl #16" for a, b in zip(first, second, strict=True)]
    for there, back, amount in out.limits:
        lines += [f"movw r10, #{amount}", f"movt r10, #{amount}"]
        lines += [f"{how} {a}, {a}, r10" for a in first for how in (there, back)]
    lines += [f"str {a}, [lr, #{2 * out.channels * p}]" for p, a in enumerate(first) if p]
    return [
        *lines,
        "str r0, [lr], #4",
        f"ldr r10, [sp, #{LIMIT}]",
        f"str lr, [sp, #{TO}]",
        "cmp lr, r10",
    ]


def biases(pixels: int) -> list[str]:
    """Load the biases as the initial sums."""
    return ["ldrd r0, r4, [r9], #8", *(f"mov r{row + p}, r{row}" for p in range(1, pixels) for row in (0, 4))]


@lru_cache(maxsize=256)
def code(pixels: int, taps: int, line: int, pixel: int, *, wide: bool, out: Outputs) -> tuple[str, ...]:
    """A function that computes all channels of `pixels` pixels: windows have `taps` rows of `line` inputs; adjacent
    windows are `pixel` inputs apart."""
    return (
        *begin(out, FRAME),
        f"adds r0, r0, #{ROWS}",
        f"str r0, [sp, #{FROM}]",
        "1:",
        *biases(pixels),
        *_sums(pixels, taps, line, pixel, wide=wide),
        *finish(pixels, out),
        "bne.w 1b",
        *leave(FRAME),
    )


def _sums(pixels: int, taps: int, line: int, pixel: int, *, wide: bool) -> Iterable[str]:
    steps = (line + 1) // 2
    if taps * steps <= MOST_STEPS:
        lines = []
        for k in range(taps):
            lines += [f"ldr r8, [sp, #{FROM}]", f"ldr r8, [r8, #{4 * k}]", *_line(pixels, line, pixel, wide=wide)]
        return lines
    if taps == 1:
        return [f"ldr r8, [sp, #{FROM}]", "ldr r8, [r8]", *_line(pixels, line, pixel, wide=wide)]
    return [
        f"ldr r12, [sp, #{FROM}]",
        "2:",
        "ldr r8, [r12], #4",
        f"str r12, [sp, #{TAP}]",
        *_line(pixels, line, pixel, wide=wide),
        f"ldr r12, [sp, #{TAP}]",
        f"ldr lr, [sp, #{FROM}]",
        "sub lr, r12, lr",
        f"cmp lr, #{4 * taps}",
        "bne.w 2b",
    ]


def _line(pixels: int, line: int, pixel: int, *, wide: bool) -> list[str]:
    """Products of one window row, whose inputs r8 points to. Loop iterations cost four extra instructions; the unroll
    factor balances these against code size."""
    pairs, steps = line // 2, (line + 1) // 2
    if steps <= MOST_STEPS:
        return _steps(pixels, range(steps), line, pixel, wide=wide)
    each = min(range(6, 17), key=lambda n: 8 * (pairs // n) + n + pairs % n)
    passes = pairs // each
    return [
        *plus("lr", "r8", 4 * each * passes),
        f"str lr, [sp, #{END}]",
        "3:",
        *_steps(pixels, range(each), line, pixel, wide=wide),
        f"ldr r12, [sp, #{END}]",
        f"adds r8, r8, #{4 * each}",
        "cmp r8, r12",
        "bne.w 3b",
        *_steps(pixels, range(steps - each * passes), line - 2 * each * passes, pixel, wide=wide),
    ]


def _steps(pixels: int, steps: range, line: int, pixel: int, *, wide: bool) -> list[str]:
    """Steps of two products for each sum; one product at the end of a line of odd length."""
    lines = []
    for i in steps:
        load = "ldrh" if 2 * i + 1 == line else "ldr"
        if wide:
            lines.append("ldrd r10, r11, [r9], #8")
        else:
            lines += ["ldr r11, [r9], #4", "sxtb16 r10, r11", "sxtb16 r11, r11, ror #8"]
        for first in range(0, pixels, 2):
            some = [(p, r) for p, r in ((first, "r12"), (first + 1, "lr")) if p < pixels]
            lines += [f"{load} {r}, [r8, #{4 * i + 2 * pixel * p}]" for p, r in some]
            for p, r in some:
                lines += [f"smlad r{p}, {r}, r10, r{p}", f"smlad r{4 + p}, {r}, r11, r{4 + p}"]
    return lines
