"""Assembly of `mote_fully_connected6_pairs_s8.h`: matrix-vector products, three pairs of outputs at a time.

Registers: r0-r5 the sums, every other one the combined sum of two outputs, d0 + 256 d1; r6 and r7 four inputs; r8 the
input pointer and r9 the weight pointer; r10-r12 and lr weights. Four weights of each of two outputs are two words,
loaded with those of another pair. Two multiplications add them to d0 + 256 d1. For d0 alone, its weights are
sign-extended, added to the inputs of the other word and multiplied by one another (Winograd's inner product), which
takes one multiplication instead of two. A Cortex-M4 takes 51 cycles for 48 products, 30 of them multiplications and
additions; 53 if it also extends the inputs, and 49 if these are in FPU registers.
"""

from __future__ import annotations

from mote.compiler.kernels.assembly import FLOATS, enter, leave, load_next, scaled

X, OUT, STOP, MULT, FIRST, SECOND, PRODUCTS, END, FRAME = range(0, 36, 4)
"""Stack offsets of the fields of `mote_fc6_pairs_run_t`, and of the end of the inputs. FRAME: total bytes."""
ONCE = "once"
"""The form of requantization with one scale for all outputs and one rounding."""
LONG, SHORT, SHORTEST = 32, 8, 4
"""Most steps (of four inputs) that are unrolled: by default, in compact code or for the last group, and for both."""
MOST_PAIRS = 3
KEPT, UNSAVED = 16, 8
"""Steps whose inputs fit the FPU registers, and those that fit the caller-saved ones."""
WEIGHTS = ("r10", "r11", "r12", "lr")


def code(
    steps: int, pairs: int, shift: int, form: str, *, roomy: bool, compact: bool = False, fpu: bool = False
) -> list[str]:
    """A function that computes groups of `pairs` pairs of outputs from 4 * `steps` inputs. `form`: of requantization
    (`ONCE`, or those of `mote_narrow_s8.h`); `roomy`: inputs are already widened to 16 bits; `compact`: code of at most
    1 KB; `fpu`: the first of up to `LONG` steps read inputs from FPU registers, except for the last outputs."""
    most = (LONG, SHORT, SHORTEST)[compact + (pairs < MOST_PAIRS)]
    sizes = [n for n in range(2, most + 1, 2) if n + steps % n <= most]
    each = min(sizes, key=lambda n: (steps // n, n))
    before, loop = (steps, 0) if steps <= most else (steps % each, each)
    looped = ["2:", *_steps(loop, pairs, roomy), f"ldr r12, [sp, #{END}]", "cmp r8, r12", "bne.w 2b"] if loop else []
    kept = min(steps, KEPT) if fpu and pairs == MOST_PAIRS else 0
    vectors = FLOATS if kept > UNSAVED else ""
    return [
        *enter(vectors=vectors),
        "ldm r0, {r0-r7}",
        "mov r9, r0",
        f"movw r8, #{(8 if roomy else 4) * steps}",
        "add r8, r8, r1",
        *([f"vldm r1, {{s0-s{2 * kept - 1}}}", f"add r1, r1, #{8 * kept}"] if kept else []),
        "push {r1-r8}",
        "1:",
        *_begin(pairs, form, moved=not before),
        *_steps(before, pairs, roomy, kept=kept, first=form != ONCE),
        *looped,
        *(f"sub r{i}, r{i}, r{i - 1}" for i in range(1, 2 * pairs, 2)),
        *(_per_tensor(pairs, shift) if form == ONCE else _per_channel(pairs, shift, form)),
        f"ldr lr, [sp, #{OUT}]",
        f"ldr r10, [sp, #{STOP}]",
        *(f"strb r{i}, [lr, #{i}]" for i in range(1, 2 * pairs)),
        f"strb r0, [lr], #{2 * pairs}",
        "cmp lr, r10",
        f"str lr, [sp, #{OUT}]",
        "bne.w 1b",
        *leave(FRAME, vectors=vectors),
    ]


def _begin(pairs: int, form: str, *, moved: bool) -> list[str]:
    """Load the initial sums. With constants for each channel, all first sums of pairs start with the same value, in the
    register of the last one; `moved`: copy it to the others."""
    last = 2 * pairs - 2
    if form == ONCE:
        adds = [f"add r{i}, r{i}, lr" for i in range(0, 2 * pairs, 2)]
        return [f"ldr lr, [sp, #{PRODUCTS}]", f"ldr r8, [sp, #{X}]", f"ldm r9!, {{r0-r{last + 1}}}", *adds]
    loads = load_next("r9", [f"r{i}" for i in range(1, 2 * pairs, 2)])
    moves = [f"mov r{i}, r{last}" for i in range(0, last, 2)] if moved else []
    return [f"ldr r{last}, [sp, #{PRODUCTS}]", f"ldr r8, [sp, #{X}]", loads, *moves]


def _per_tensor(pairs: int, shift: int) -> list[str]:
    """Requantize the sums by one multiplier; the second sum of a pair is scaled by 256."""
    return [
        f"ldr r10, [sp, #{MULT}]",
        f"ldr r11, [sp, #{FIRST}]",
        f"ldr r12, [sp, #{SECOND}]",
        *(f"smmla r{i}, r{i}, r10, r{11 + i % 2}" for i in range(2 * pairs)),
        *(f"ssat r{i}, #8, r{i}, asr #{shift + 8 * (i % 2)}" for i in range(2 * pairs)),
    ]


def _per_channel(pairs: int, shift: int, form: str) -> list[str]:
    """Requantize the sums by each channel's constants, which follow the weights; first sums are scaled by 256 before,
    as the second ones are."""
    lines = []
    for even in range(0, 2 * pairs, 2):
        widened = f"add r{even}, r6, r{even}, lsl #8"
        if form == "linear":
            lines += ["ldm r9!, {r6, r7, r10, r11}", widened, *scaled(f"r{even}", "r7", "r10", "r11")]
            lines += ["ldm r9!, {r6, r7, r10}", *scaled(f"r{even + 1}", "r6", "r7", "r10")]
        else:
            lines += ["ldm r9!, {r6, r7, r10, r11, r12}", widened]
            lines += [f"smmla r{even}, r{even}, r7, r10", f"smmla r{even + 1}, r{even + 1}, r11, r12"]
    return [*lines, *(f"ssat r{i}, #8, r{i}, asr #{shift}" for i in range(2 * pairs))]


EXTENDED = ["ldm r8!, {r6, r7}"]
BYTES = ["ldr r7, [r8], #4", "sxtb16 r6, r7", "sxtb16 r7, r7, ror #8"]


def _steps(count: int, pairs: int, roomy: bool, *, kept: int = 0, first: bool = False) -> list[str]:
    """Steps of four inputs, two to a word, times the weights of all pairs; words of two pairs are loaded together.
    `kept`: steps whose inputs are in FPU registers; `first`: in the first step, first sums start from the last pair's
    register."""
    lines, blocks = [], [(step, pair) for step in range(count) for pair in range(pairs)]
    for i, (step, pair) in enumerate(blocks):
        if i % 2 == 0:
            words = WEIGHTS[: 2 * min(2, len(blocks) - i)]
            lines.append(load_next("r9", words))
        if pair == 0:
            held = [f"vmov r6, r7, s{2 * step}, s{2 * step + 1}"]
            lines += held if step < kept else EXTENDED if roomy else BYTES
        u, v = WEIGHTS[2 * (i % 2) :][:2]
        d, both = f"r{2 * pair}", f"r{2 * pair + 1}"
        lines += [
            f"smlad {both}, r6, {u}, {both}",
            f"smlad {both}, r7, {v}, {both}",
            f"sxtab16 {u}, r7, {u}",
            f"sxtab16 {v}, r6, {v}",
            f"smlad {d}, {u}, {v}, {f'r{2 * pairs - 2}' if first and step == 0 else d}",
        ]
    return lines
