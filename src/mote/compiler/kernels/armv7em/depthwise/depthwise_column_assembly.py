"""Assembly of `mote_depthwise_column_s8.h` unrolled for one window height: an output row, four channels at a time.

Registers: r0-r3 the sums; r8 the output pointer and r9 the record pointer; r10 the channel index minus the number of
channels, so that the loop ends at zero; the others inputs and weights. Pointers to the ends of all input rows are on
the stack, or in FPU registers, which saves a cycle for two rows.
"""

from __future__ import annotations

from mote.compiler.kernels.assembly import enter, leave


def code(taps: int, form: str, shift: int, *, fpu: bool = False) -> list[str]:
    """A function that computes the channels of a `mote_column_run_t` from `taps` input rows. `fpu`: keep the row
    pointers (at most 16) in FPU registers."""
    pairs, alone = taps // 2, taps % 2
    frame = 0 if fpu else 4 * taps
    return [
        *enter(),
        "ldm r0, {r4-r11}",
        *([f"sub sp, sp, #{frame}", "mov lr, sp"] if frame else []),
        "add r8, r6, r11",
        "mov r9, r10",
        "sub r10, r11, r7",
        *(line for first in range(0, taps, 4) for line in _ends(first, min(4, taps - first), fpu)),
        "1:",
        "ldm r9!, {r0-r3}",
        *(line for pair in range(pairs) for line in _two_rows(pair, fpu)),
        *(_one_row(taps - 1, fpu) if alone else []),
        *_bytes(form),
        *(f"ssat r{i}, #8, r{i}, asr #{shift}" for i in range(4)),
        *(f"strb r{i}, [r8, #{i}]" for i in range(1, 4)),
        "strb r0, [r8], #4",
        "adds r10, r10, #4",
        "bne.w 1b",
        *leave(frame),
    ]


def _ends(first: int, rows: int, fpu: bool) -> list[str]:
    """Load pointers of input rows, advance them to the row ends, and save them on the stack or in FPU registers."""
    names = ["r0", "r1", "r2", "r3"][:rows]
    some = ", ".join(names)
    loads = [f"ldm r4!, {{{some}}}" if rows > 1 else "ldr r0, [r4]", *(f"add {r}, {r}, r7" for r in names)]
    if fpu:
        return [*loads, *(f"vmov s{first + i}, {r}" for i, r in enumerate(names))]
    return [*loads, f"stm lr!, {{{some}}}" if rows > 1 else "str r0, [lr]"]


def _two_rows(pair: int, fpu: bool) -> list[str]:
    """Multiply-accumulate two input rows: two words of four channels become one register for each channel with its
    values in both rows."""
    return [
        f"vmov r4, r5, s{2 * pair}, s{2 * pair + 1}" if fpu else f"ldrd r4, r5, [sp, #{8 * pair}]",
        "ldm r9!, {r7, r11, r12, lr}",
        "ldr r4, [r4, r10]",
        "ldr r5, [r5, r10]",
        "pkhbt r6, r4, r5, lsl #16",
        "pkhtb r4, r5, r4, asr #16",
        "sxtb16 r5, r6",
        "sxtb16 r6, r6, ror #8",
        "smlad r0, r5, r7, r0",
        "sxtb16 r5, r4",
        "smlad r1, r6, r11, r1",
        "sxtb16 r4, r4, ror #8",
        "smlad r2, r5, r12, r2",
        "smlad r3, r4, lr, r3",
    ]


def _one_row(row: int, fpu: bool) -> list[str]:
    return [
        f"vmov r4, s{row}" if fpu else f"ldr r4, [sp, #{4 * row}]",
        "ldm r9!, {r6, r7}",
        "ldr r5, [r4, r10]",
        "sxtb16 r4, r5",
        "sxtb16 r11, r5, ror #8",
        "smlabb r0, r4, r6, r0",
        "smlabb r1, r11, r7, r1",
        "smlatt r2, r4, r6, r2",
        "smlatt r3, r11, r7, r3",
    ]


def _bytes(form: str) -> list[str]:
    """Requantize the sums of four channels, as `mote_narrow_s8.h` does in C."""
    if form == "relu":
        return [
            "ldm r9!, {r4-r7, r11, r12}",
            "smmla r0, r0, r4, r5",
            "smmla r1, r1, r6, r7",
            "smmla r2, r2, r11, r12",
            "ldm r9!, {r4, r5}",
            "smmla r3, r3, r4, r5",
        ]
    lines = []
    for first, second in (("r0", "r1"), ("r2", "r3")):
        lines += ["ldm r9!, {r4-r7, r11, r12}"]
        lines += [f"bic r6, r6, {first}, asr #31", f"bic r12, r12, {second}, asr #31"]
        lines += ["add r5, r5, r6", "add r11, r11, r12"]
        lines += [f"smmla {first}, {first}, r4, r5", f"smmla {second}, {second}, r7, r11"]
    return lines
