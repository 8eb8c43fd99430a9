"""Assembly of `mote_fully_connected8_pairs_s8.h`: matrix-vector products, eight outputs at a time.

Registers: r0-r7 the sums, every other one the combined sum of two outputs, d0 + 256 d1; r8 the input pointer and r9 the
weight pointer, each one word before the next element, so that the last load of an iteration can update it; r10-r12 and
lr inputs and weights. Loads are grouped, as many as registers are free: 37 cycles of a Cortex-M4 for 32 products, 24 of
them multiplications and the unpacking of weights.
"""

from __future__ import annotations

from mote.compiler.kernels.assembly import enter, leave, scaled

X, OUT, STOP, MULT, FIRST, SECOND, END, FRAME = range(0, 32, 4)
"""Stack offsets of the fields of `mote_fc8_pairs_run_t`, and of the end of the inputs. FRAME: total bytes."""
ONCE = "once"
"""The form of requantization with one scale for all outputs and one rounding."""
EVEN, ODD = range(0, 8, 2), range(1, 8, 2)
EACH = range(1, 7)
"""Possible unroll factors of the loop, in steps of four inputs."""
SHORT = 5
"""Most steps that compact code unrolls, in the loop and before it together."""


def code(steps: int, shift: int, form: str, *, compact: bool = False) -> list[str]:
    """A function that computes groups of eight outputs from 4 * `steps` inputs. `form`: of requantization (`ONCE`, or
    those of `mote_narrow_s8.h`); `compact`: code of at most 1 KB."""
    sizes = [n for n in EACH if not compact or n + steps % n <= SHORT]
    each = min(sizes, key=lambda n: (6 * (steps // n) + steps % n, n))
    before, loop = (steps % each, each) if steps // each > 1 else (steps, 0)
    looped = ["2:", *_steps(loop), f"ldr r12, [sp, #{END}]", "cmp r8, r12", "bne.w 2b"] if loop else []
    return [
        *enter(),
        "ldm r0, {r0-r6}",
        "sub r9, r0, #4",
        "subs r1, r1, #4",
        f"movw r7, #{8 * steps}",
        "add r7, r7, r1",
        "push {r1-r7}",
        "1:",
        f"ldr r8, [sp, #{X}]",
        *(f"ldr r{i}, [r9, #{4 * i + 4}]{'!' if i == 7 else ''}" for i in range(8)),
        *_steps(before),
        *looped,
        *(f"sub r{i}, r{i}, r{i - 1}" for i in ODD),
        *(_per_tensor(shift) if form == ONCE else _per_channel(shift, form)),
        f"ldr lr, [sp, #{OUT}]",
        f"ldr r10, [sp, #{STOP}]",
        *(f"strb r{i}, [lr, #{i}]" for i in range(1, 8)),
        "strb r0, [lr], #8",
        "cmp lr, r10",
        f"str lr, [sp, #{OUT}]",
        "bne.w 1b",
        *leave(FRAME),
    ]


def _per_tensor(shift: int) -> list[str]:
    """Requantize the sums by one multiplier; the second sum of a pair is scaled by 256."""
    return [
        f"ldr r10, [sp, #{MULT}]",
        f"ldr r11, [sp, #{FIRST}]",
        f"ldr r12, [sp, #{SECOND}]",
        *(f"smmla r{i}, r{i}, r10, r11" for i in EVEN),
        *(f"smmla r{i}, r{i}, r10, r12" for i in ODD),
        *(f"ssat r{i}, #8, r{i}, asr #{shift + 8 * (i % 2)}" for i in range(8)),
    ]


def _per_channel(shift: int, form: str) -> list[str]:
    """Requantize the sums by each channel's constants, which follow the weights; first sums are scaled by 256 before,
    as the second ones are."""
    linear, lines = form == "linear", []
    each = 7 if linear else 5
    for i, (even, odd) in enumerate(zip(EVEN, ODD, strict=True)):
        at, last = 4 * each * i + 4, i == len(EVEN) - 1
        first = ["r10", "r11", "r12", *(["lr"] if linear else [])]
        lines += [f"ldr {r}, [r9, #{at + 4 * n}]" for n, r in enumerate(first)]
        lines += [f"add r{even}, r10, r{even}, lsl #8", *scaled(f"r{even}", *first[1:])]
        second, at = first[:-1], at + 4 * len(first)
        end = "!" if last else ""
        lines += [f"ldr {r}, [r9, #{at + 4 * n}]{end if r == second[-1] else ''}" for n, r in enumerate(second)]
        lines += scaled(f"r{odd}", *second)
    return [*lines, *(f"ssat r{i}, #8, r{i}, asr #{shift}" for i in range(8))]


def _steps(count: int) -> list[str]:
    """Steps of four inputs, two to a word, times the weights of eight outputs. Pointers are updated at least as often
    as immediate offsets require."""
    if count > EACH[-1]:
        return [*_steps(EACH[-1]), *_steps(count - EACH[-1])]
    lines = []
    for i in range(count):
        end = "!" if i == count - 1 else ""
        x, w = 8 * i + 4, 32 * i + 4
        lines += [f"ldr r10, [r9, #{w}]", f"ldr lr, [r8, #{x}]", f"ldr r11, [r9, #{w + 4}]", f"ldr r12, [r9, #{w + 8}]"]
        lines += [*_pair("lr", "r10", 0), *_pair("lr", "r11", 2), *_pair("lr", "r12", 4)]
        lines += [f"ldr r10, [r9, #{w + 12}]", f"ldr r12, [r8, #{x + 4}]{end}", f"ldr r11, [r9, #{w + 16}]"]
        lines += [*_pair("lr", "r10", 6), *_pair("r12", "r11", 0)]
        lines += [f"ldr r10, [r9, #{w + 20}]", f"ldr r11, [r9, #{w + 24}]", f"ldr lr, [r9, #{w + 28}]{end}"]
        lines += [*_pair("r12", "r10", 2), *_pair("r12", "r11", 4), *_pair("r12", "lr", 6)]
    return lines


def _pair(x: str, w: str, first: int) -> list[str]:
    """Products of two outputs, whose weights share a word."""
    return [
        f"smlad r{first + 1}, {x}, {w}, r{first + 1}",
        f"sxtb16 {w}, {w}",
        f"smlad r{first}, {x}, {w}, r{first}",
    ]
