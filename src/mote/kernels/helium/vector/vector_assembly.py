"""The assembly of `mote_fully_connected8_s8.h`: a vector times a matrix, eight outputs at a time.

Sums are in the even core registers, one for each output. r1 the weights, r3 the inputs, r5 where sums begin, r7 the
sums in memory, r9 the count of rounds, r11 that of outputs.

    [sp] the layer, inputs, where outputs go, where sums go, constants, eights of outputs left and in this part, where
    sums begin
"""

from __future__ import annotations

from mote.kernels.helium.requantize import Requantize

SUMS = ("r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr")
STORE_SUMS = f"stm r7!, {{{', '.join(SUMS)}}}"
LAYER, IN, OUT, TO, CONSTANTS, LEFT, PART, BEGIN, FRAME = 0, 4, 8, 12, 16, 20, 24, 28, 32
LAYER_PART, LAYER_LOOPS, LAYER_LANES, LAYER_SAME = 12, 16, 20, 40
"""Where `mote_fc8_t` has the outputs of a part, rounds, how sums become bytes, and the constants of all outputs."""
MOST_RESIDENT = 6


def fully_connected(steps: int, looped: bool, same: bool, requantize: Requantize, rest: int) -> list[str]:
    """The function, of `steps` vectors of inputs in each round; `rest`: outputs that are left of the last eight."""
    resident = 0 if looped else min(steps, MOST_RESIDENT)
    sums = ", ".join(SUMS)
    begin = [f"ldm r5!, {{{sums}}}"] if same else [f"mov {r}, #0" for r in SUMS] if looped else []
    rounds = [f"ldr r3, [sp, #{IN}]", "ldr r9, [sp, #32]", "3:"] if looped else []
    return [
        "push {r7, r11}",
        f"sub sp, sp, #{FRAME + 8}",
        "ldm r0, {r1-r4}",
        "stm sp, {r1-r4}",
        "ldm r1, {r4-r6}",
        f"ldr r0, [r1, #{LAYER_LOOPS}]",
        "str r0, [sp, #32]",
        "mov r1, r4",
        f"strd r5, r6, [sp, #{CONSTANTS}]",
        f"str r5, [sp, #{BEGIN}]",
        "1:",
        f"ldr r0, [sp, #{LAYER}]",
        f"ldr r11, [r0, #{LAYER_PART}]",
        f"ldr r4, [sp, #{LEFT}]",
        "cmp r4, r11",
        "it lt",
        "movlt r11, r4",
        "subs r4, r4, r11",
        f"strd r4, r11, [sp, #{LEFT}]",
        f"ldr r7, [sp, #{TO}]",
        *([f"ldr r5, [sp, #{BEGIN}]"] if same else []),
        *([] if looped else [f"ldr r3, [sp, #{IN}]"]),
        *(f"vldrb.u8 q{i}, [r3], #16" for i in range(resident)),
        "2:",
        *begin,
        *rounds,
        *_products(steps, resident, adds=same or looped, looped=looped),
        *(["subs r9, r9, #1", "bne.w 3b"] if looped else []),
        "subs r11, r11, #1",
        STORE_SUMS,
        "bne.w 2b",
        *_finish(same, requantize, rest),
        f"ldr r4, [sp, #{LEFT}]",
        "cmp r4, #0",
        "bne.w 1b",
        f"add sp, sp, #{FRAME + 8}",
        "pop {r7, r11}",
    ]


def _products(steps: int, resident: int, *, adds: bool, looped: bool) -> list[str]:
    """Each vector of weights is loaded one product before it is used, where a register is left for that."""
    inputs = [f"q{i}" if i < resident else f"q{resident}" for i in range(steps)]
    free = [f"q{i}" for i in range(8) if f"q{i}" not in inputs]
    weights = [free[i % 2] if len(free) > 1 else free[0] for i in range(8 * steps)]
    ahead = len(free) > 1
    lines: list[str] = []
    for i in range(8 * steps):
        if i % 8 == 0 and i // 8 >= resident:
            place = "[r3], #16" if looped else f"[r3, #{2 * i - 16 * resident}]"
            lines.append(f"vldrb.u8 {inputs[i // 8]}, {place}")
        wanted = [i + 1] if ahead and i else [0, 1] if ahead else [i]
        lines += [f"vldrw.u32 {weights[w]}, [r1], #16" for w in wanted if w < 8 * steps]
        op = "vmladava.s8" if adds or i >= 8 else "vmladav.s8"
        lines.append(f"{op} {SUMS[i % 8]}, {inputs[i // 8]}, {weights[i]}")
    return lines


def _finish(same: bool, requantize: Requantize, rest: int) -> list[str]:
    """The sums of a part of the outputs -> bytes."""
    lines = [
        *([f"str r5, [sp, #{BEGIN}]"] if same else []),
        f"ldr r0, [sp, #{LAYER}]",
        f"add r2, r0, #{LAYER_LANES}",
        *requantize.begin("r2", "r3"),
        *([f"add r0, r0, #{LAYER_SAME}", "ldrd r4, r5, [r0]"] if same else []),
        f"ldr r6, [sp, #{CONSTANTS}]",
        f"ldr r7, [sp, #{TO}]",
        f"ldr r2, [sp, #{OUT}]",
        f"ldr r9, [sp, #{PART}]",
    ]
    eight = requantize.eight_outputs("r6", "r7", "r3", ("r4", "r5") if same else None)
    end = [f"str r2, [sp, #{OUT}]", f"str r6, [sp, #{CONSTANTS}]"]
    if not rest:
        return [*lines, "dls lr, r9", "4:", *eight, "vstrb.16 q4, [r2], #8", "le lr, 4b", *end]
    return [
        *lines,
        f"ldr r0, [sp, #{LEFT}]",
        "cmp r0, #0",
        "it eq",
        "subeq r9, r9, #1",
        "wls lr, r9, 5f",
        "4:",
        *eight,
        "vstrb.16 q4, [r2], #8",
        "le lr, 4b",
        "5:",
        "cmp r0, #0",
        "bne.w 6f",
        *eight,
        f"mov r0, #{rest}",
        "vctp.16 r0",
        "vpst",
        "vstrbt.16 q4, [r2]",
        "6:",
        *end,
    ]
