"""Assembly of `mote_depthwise4x2_s16.h`: depthwise convolutions of int16 images, up to four pixels and two channels at
a time.

Registers: r0-r3 the sums of the pixels for the first channel of a pair, r4-r7 those for the second; r8 the input
pointer and r9 the pointer to the stream of weights and constants; r10-r12 the weights of up to three window columns,
both channels in a word; lr the inputs of both channels. A row of 3x3 windows takes 33 instructions for 24 products.
"""

from __future__ import annotations

from functools import lru_cache

from mote.compiler.kernels.armv7em.int16.conv4x2_assembly import ROWS, Outputs, begin, biases, finish
from mote.compiler.kernels.assembly import leave, load_next
from mote.compiler.kernels.pack.blocks_s16 import EdgeBlock

SLOT, LINES = 8, 12
"""Stack offsets of the pointer to the next row's pointer, and of the row pointers."""
MOST_WRITTEN = 15
"""Most window elements that are unrolled; larger windows use a loop over rows."""
WEIGHTS = ("r10", "r11", "r12")
MOST_ROWS = 10
"""Most window rows: their pointers must fit the registers that copy them."""


@lru_cache(maxsize=256)
def code(edge: EdgeBlock, taps: int, columns: int, step: int, out: Outputs) -> tuple[str, ...]:
    """A function that computes all channels of a block of pixels, `step` columns apart, with windows of `taps` rows."""
    pixels = edge.pixels
    frame = LINES + 4 * taps
    row = _row(edge, columns, step, 2 * out.channels)
    if taps * columns <= MOST_WRITTEN:
        rows = [
            text
            for k in range(taps)
            for text in (f"ldr r8, [sp, #{LINES + 4 * k}]", row[0], f"str r8, [sp, #{LINES + 4 * k}]", *row[1:])
        ]
    else:
        rows = [
            f"add r12, sp, #{LINES}",
            "2:",
            "ldr r8, [r12]",
            row[0],
            "str r8, [r12], #4",
            f"str r12, [sp, #{SLOT}]",
            *row[1:],
            f"ldr r12, [sp, #{SLOT}]",
            f"add lr, sp, #{frame}",
            "cmp r12, lr",
            "bne.w 2b",
        ]
    registers = f"{{r2-r{1 + taps}}}" if taps > 1 else "{r2}"
    return (
        *begin(out, frame),
        f"adds r0, r0, #{ROWS}",
        f"ldm r0, {registers}",
        f"add r12, sp, #{LINES}",
        f"stm r12, {registers}",
        "1:",
        *biases(pixels),
        *rows,
        *finish(pixels, out),
        "bne.w 1b",
        *leave(frame),
    )


def _row(edge: EdgeBlock, columns: int, step: int, pixel: int) -> list[str]:
    """Products of one window row; `pixel`: bytes between columns. The first instruction advances r8 to the next two
    channels and, if the first column is used, also loads it."""
    lines: list[str] = []
    inside = range(edge.left, (edge.pixels - 1) * step + columns - edge.right)
    for first in range(0, columns, len(WEIGHTS)):
        taps = range(first, min(columns, first + len(WEIGHTS)))
        load = load_next("r9", WEIGHTS[: len(taps)])
        used = sorted({p * step + t for p in range(edge.pixels) for t in taps} & set(inside))
        if not lines and used[:1] != [edge.left]:
            lines.append("add r8, r8, #4")
        if not used:
            lines.append(load)
        for column in used:
            at = (column - edge.left) * pixel - 4
            lines.append("ldr lr, [r8], #4" if not lines else f"ldr lr, [r8, #{at}]")
            lines += [load] if column == used[0] else []
            for t in taps:
                p, off = divmod(column - t, step)
                if off == 0 and 0 <= p < edge.pixels:
                    w = WEIGHTS[t - first]
                    lines += [f"smlabb r{p}, lr, {w}, r{p}", f"smlatt r{4 + p}, lr, {w}, r{4 + p}"]
    return lines
