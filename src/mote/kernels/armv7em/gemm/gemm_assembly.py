"""The assembly of `mote_gemm4x2_s8.h`: convolutions four pixels and two channels at a time.

How many products a sum has, how a window's bytes lie and where a block's outputs go is known when a model is compiled,
so the code is written for each layer: offsets are constants, a sum that is not long has no loop, and all blocks of a
row are computed in one call.

Registers: r0-r3 the sums of four pixels for the first channel of a pair, r4-r7 those for the second; r8 and r9 where
inputs and the stream come from; r10-r12 and lr inputs and weights. r8 stands 8 bytes before the next step's inputs, r9
one word before its weights, so that the last load of a step can move it.

Loads come contiguous: on a Cortex-M4 each but the first then takes one cycle. A step of two products of each
sum takes 16 cycles, 8 of them multiplications.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

SUMS = tuple(f"r{i}" for i in range(8))
FREE = ("r10", "r11", "r12", "lr")
LIMIT, END, INPUTS, STREAM, SPAN, TO, OUT_STEP, BLOCKS, STRIDE, FROM = 16, 20, 24, 28, 32, 36, 52, 56, 60, 64
"""Where on the stack those of `mote_gemm4x2_frame_t` lie, behind what the code keeps for itself."""
GIVEN = 10
"""Words of these before the pointers at FROM."""
MOST_STEPS = 16
"""Longer sums have a loop."""
MOST_STEPS_TWICE = 8
"""Of sums that are no longer four channels are computed in a pass."""
MOST_WORDS = 6
"""Longer lines of a window are widened in a loop."""
STEP_CYCLES, PASS = 16, 6
"""Cycles of a step on a Cortex-M4, and of a pass of the loop beside its steps."""
AHEAD = 255
"""The furthest that a load or a store can move its pointer."""
MOST_OFFSET = 4095
"""The furthest that a store reaches from its pointer, and the most that an instruction adds to one."""
ADD_SHIFT = 21
"""Of sums of two operands: that of mote_gemm3_add_s8.h."""


@dataclass(frozen=True)
class PixelBytes:
    """The bytes of a pixel: `taps` lines of `words` whole words and `rest` bytes. 0 taps: one line, and four pixels
    wherever they lie."""

    taps: int
    words: int
    rest: int
    ready: bool = False
    """All blocks are there already, widened and contiguous."""

    @property
    def pointers(self) -> int:
        return 0 if self.ready else self.taps or 4

    @property
    def steps(self) -> int:
        """Pairs of products."""
        lines = self.taps or 1
        return 2 * lines * self.words + (lines * self.rest + 1) // 2


@dataclass(frozen=True)
class OutputPlaces:
    """Where a block's outputs go: bytes from a pixel's output to that of the next channel, and the distances of the
    four pixels from the first one, if they are always the same. `fours`: channels come in fours; `added`: what is there
    is added to what comes."""

    line: int
    places: tuple[int, ...] | None = None
    fours: bool = False
    added: bool = False


def twice(source: PixelBytes, target: OutputPlaces) -> bool:
    """Whether four channels are computed in a pass."""
    places = target.places or (MOST_OFFSET,)
    near = max(places) + 3 * target.line <= MOST_OFFSET
    return near and target.fours and not target.added and source.steps <= MOST_STEPS_TWICE


@lru_cache(maxsize=256)
def code(
    source: PixelBytes,
    target: OutputPlaces,
    weights: str,
    out: str,
    shift: int,
    *,
    dual: bool = False,
    most: int | None = None,
) -> tuple[str, ...]:
    """A function that computes all channels of some blocks of four pixels, for a form of weights and of outputs;
    `dual`: ordered for a core that starts two instructions a cycle; `most`: so many steps are written out behind the
    first one at most. Layers of the same shape have the same."""
    added = FROM + 4 * source.pointers
    frame = added + (12 if target.added else 0)
    steps, loop = source.steps, _loop(source.steps, most)
    scale = "linear" if out == "linear" else "relu"
    saturate = "usat" if out == "planar" else "ssat"
    last = ["r10", "r11"] if target.places else list(FREE)
    made = [*_sums(weights, steps, loop, _pairs if dual else in_steps), *narrow(weights, scale, saturate, shift)]
    if twice(source, target):
        channels = [*made, *_store_half(target), *made, *_store_rest(target)]
    else:
        channels = [*made, *(add_onto(target, added) if target.added else []), *_store(target, last)]
    return (
        "push {r4-r11, lr}",
        f"sub sp, sp, #{frame}",
        f"add r12, sp, #{INPUTS}",
        *copy(GIVEN + source.pointers),
        *(addition(added) if target.added else []),
        f"ldrd r0, r1, [sp, #{INPUTS}]",
        "subs r0, r0, #8",
        "subs r1, r1, #4",
        f"strd r0, r1, [sp, #{INPUTS}]",
        *([*_plus("add", "r0", 16 * steps), f"str r0, [sp, #{END}]"] if loop else []),
        "1:",
        *_widened_inputs(source),
        *begin(target),
        f"ldrd r8, r9, [sp, #{INPUTS}]",
        "2:",
        *channels,
        *(_plus("sub", "r8", 16 * steps) if loop else []),
        "bne.w 2b",
        *(_next_inputs(steps, loop) if source.ready else []),
        f"ldr r0, [sp, #{BLOCKS}]",
        "subs r0, r0, #1",
        f"str r0, [sp, #{BLOCKS}]",
        "bne.w 1b",
        f"add sp, sp, #{frame}",
        "pop {r4-r11, pc}",
    )


def _plus(op: str, register: str, value: int) -> list[str]:
    """Added or subtracted, by way of r12 where an instruction cannot hold it."""
    return (
        [f"{op} {register}, {register}, #{value}"]
        if value <= MOST_OFFSET
        else [
            f"movw r12, #{value}",
            f"{op} {register}, {register}, r12",
        ]
    )


def copy(words: int) -> list[str]:
    """From r0 to r12."""
    lines = []
    for at in range(0, words, 10):
        registers = f"{{r1-r{min(words - at, 10)}}}" if words - at > 1 else "{r1}"
        lines += [f"ldm r0!, {registers}", f"stm r12!, {registers}"]
    return lines


def _widened_inputs(source: PixelBytes) -> list[str]:
    """Instructions that widen a block's inputs, if they are not widened yet."""
    if source.ready:
        return []
    return _window(source) if source.taps else _pixels(source)


def _next_inputs(steps: int, loop: tuple[int, int] | None) -> list[str]:
    """The inputs of the next block, and their end where there is a loop, lie behind those of this one."""
    places = [INPUTS, *([END] if loop else [])]
    moved = [text for at in places for text in (f"ldr r0, [sp, #{at}]", "add r0, r0, r1", f"str r0, [sp, #{at}]")]
    return [f"movw r1, #{16 * steps}", *moved]


def _pixels(source: PixelBytes) -> list[str]:
    """Four pixels' inputs; then where those of the next four are."""
    return [
        f"add r3, sp, #{FROM}",
        "ldm r3, {r0, r1, r12, lr}",
        f"ldr r2, [sp, #{INPUTS}]",
        "adds r2, r2, #8",
        *_line(source.words, "3"),
        f"ldr r3, [sp, #{STRIDE}]",
        *([f"add lr, lr, #{4 * source.words}"] if source.words <= MOST_WORDS else []),
        f"add r4, sp, #{FROM}",
        "add r1, lr, r3",
        "add r12, r1, r3",
        "mov r0, lr",
        "add lr, r12, r3",
        "stm r4, {r0, r1, r12, lr}",
    ]


def _window(source: PixelBytes) -> list[str]:
    """The inputs of four windows, `stride` bytes apart in each row; their rests two to a word behind all else."""
    lines = [f"ldr r2, [sp, #{INPUTS}]", f"ldr r3, [sp, #{STRIDE}]", "adds r2, r2, #8"]
    looped = source.words > MOST_WORDS
    for tap in range(source.taps):
        lines += [
            *([f"ldr r3, [sp, #{STRIDE}]"] if looped and tap else []),
            *_tap_of_windows(tap),
            *_line(source.words, f"{10 + tap}"),
        ]
        for i in range(source.rest):
            at, n = i + (0 if looped else 4 * source.words), tap * source.rest + i
            behind = 32 * source.words * (source.taps - 1 - tap)
            to = behind + 16 * (n // 2) + 2 * (n % 2)
            lines += [f"ldrsb r{4 + p}, [{r}, #{at}]" for p, r in enumerate(("r0", "r1", "r12", "lr"))]
            lines += [f"strh r{4 + p}, [r2, #{to + 4 * p}]" for p in range(4)]
    return lines


def _tap_of_windows(tap: int) -> list[str]:
    """Where a row of four windows is, r3 bytes apart, and in its place where that of the next four is."""
    slot = FROM + 4 * tap
    return [
        f"ldr r0, [sp, #{slot}]",
        "add r1, r0, r3",
        "add r12, r1, r3",
        "add lr, r12, r3",
        "add r4, lr, r3",
        f"str r4, [sp, #{slot}]",
    ]


def _line(words: int, label: str) -> list[str]:
    """Words from four places, to r2."""
    if words <= MOST_WORDS:
        return [text for i in range(words) for text in _widen([f"#{4 * i}"] * 4)]
    return looped_line(f"movs r3, #{words}" if words < 256 else f"movw r3, #{words}", label)


def looped_line(count: str, label: str) -> list[str]:
    """Words from four places, to r2, as many as `count` loads into r3."""
    loads = [f"ldr r{4 + p}, [{r}], #4" for p, r in enumerate(("r0", "r1", "r12", "lr"))]
    return [count, f"{label}:", *loads, "subs r3, r3, #1", *_widened(), f"bne {label}b"]


def _widen(offsets: Sequence[str]) -> list[str]:
    places = zip(("r0", "r1", "r12", "lr"), offsets, strict=True)
    return [*(f"ldr r{4 + p}, [{r}, {offset}]" for p, (r, offset) in enumerate(places)), *_widened()]


def _widened() -> list[str]:
    odd = [f"sxtb16 r{8 + p}, r{4 + p}, ror #8" for p in range(4)]
    return [*odd, *(f"sxtb16 r{4 + p}, r{4 + p}" for p in range(4)), "stm r2!, {r4-r11}"]


def begin(target: OutputPlaces) -> list[str]:
    """Where this block's outputs begin and end, and where the next one's begin."""
    if target.places:
        return [
            f"ldr r4, [sp, #{TO}]",
            f"ldr r8, [sp, #{OUT_STEP}]",
            f"ldr r5, [sp, #{SPAN}]",
            "add r8, r4, r8",
            "add r5, r4, r5",
            "strd r4, r5, [sp]",
            f"str r8, [sp, #{TO}]",
        ]
    return [
        f"add r0, sp, #{TO}",
        "ldm r0, {r4-r8}",
        f"ldr r9, [sp, #{SPAN}]",
        "stm sp, {r4-r7}",
        "add r9, r4, r9",
        f"str r9, [sp, #{LIMIT}]",
        *(f"add r{i}, r{i}, r8" for i in range(4, 8)),
        "stm r0, {r4-r7}",
    ]


def _loop(steps: int, most: int | None) -> tuple[int, int] | None:
    """Steps of a pass of the loop, and its passes; those that are left come before it."""
    left = steps - 1
    if left < (MOST_STEPS if most is None else most + 1):
        return None
    sizes = range(8, AHEAD // 16 + 1) if most is None else [n for n in range(1, most + 1) if n + left % n <= most]
    each = min(sizes, key=lambda k: (PASS * (left // k) + left % k, k))
    return each, left // each


def loop_cycles(steps: int, most: int | None = None) -> int:
    """Cycles of the loop of a sum beside its products, on a Cortex-M4."""
    loop = _loop(steps, most)
    return PASS * loop[1] if loop else 0


class Products(Protocol):
    """Some steps' instructions."""

    def __call__(self, weights: str, count: int, *, start: int, move: bool) -> list[str]: ...


def _sums(weights: str, steps: int, loop: tuple[int, int] | None, products: Products) -> list[str]:
    """All products of eight sums."""
    if loop is None:
        return [*first_step(weights, move=False), *products(weights, steps - 1, start=16, move=False)]
    each, passes = loop
    before = steps - 1 - each * passes
    lines = [*first_step(weights, move=True), *products(weights, before, start=0, move=True)]
    return [*lines, "4:", *products(weights, each, start=0, move=True),
            f"ldr r12, [sp, #{END}]", "cmp r8, r12", "bne.w 4b"]  # fmt: skip


def first_step(weights: str, *, move: bool) -> list[str]:
    """The first products, with the biases; `move`: the inputs' pointer too."""
    loads = ["ldr r0, [r8, #8]", "ldr r1, [r8, #12]", "ldr r3, [r8, #20]", f"ldr r2, [r8, #16]{'!' if move else ''}"]
    biases = ["ldr r10, [r9, #4]", "ldr r11, [r9, #8]"]
    if weights == "wide":
        loads += [*biases, "ldr r12, [r9, #12]", "ldr lr, [r9, #16]!"]
    else:
        loads += [*biases, "ldr lr, [r9, #12]!", "sxtb16 r12, lr"]
    second = [f"smlad r{4 + p}, r{p}, lr, r11" for p in range(4)]
    return [*loads, *second, *(f"smlad r{p}, r{p}, r12, r10" for p in range(4))]


def in_steps(weights: str, count: int, *, start: int, move: bool) -> list[str]:
    """Two products of each sum a step. The weights' pointer moves with the last one, the inputs' where `move` says."""
    lines = []
    for i in range(count):
        at, last = start + 16 * i, i == count - 1
        lines += _weights(weights, i, last=last, most=count)
        lines += [f"ldr r12, [r8, #{at + 8}]", f"ldr lr, [r8, #{at + 12}]"]
        lines += ["sxtb16 r11, r10"] if weights == "pair" else []
        first, second = ("r10", "r11") if weights == "wide" else ("r11", "r10")
        for pair in (0, 2):
            if pair:
                lines.append(f"ldrd r12, lr, [r8, #{at + 16}]{'!' if move and last else ''}")
            for p, x in ((pair, "r12"), (pair + 1, "lr")):
                lines += [f"smlad r{p}, {x}, {first}, r{p}", f"smlad r{4 + p}, {x}, {second}, r{4 + p}"]
    return lines


def _pairs(weights: str, count: int, *, start: int, move: bool) -> list[str]:
    """Products with a load beside all but two of them, for cores that issue both in one cycle: a register is
    loaded anew as soon as it was used, and not used before the next cycle."""

    def load(i: int, p: int) -> str:
        """Pixel `p` of step `i`; the pointer moves with the last step's third."""
        at, moved = start + 16 * i + 4 * p + 8, move and i == count - 1
        place = f"#{at}]!" if moved and p == 2 else "#4]" if moved and p == 3 else f"#{at}]"
        return f"ldr {'lr' if p % 2 else 'r12'}, [r8, {place}"

    lines = [] if count == 0 else [*_weights(weights, 0, last=count == 1, most=count), load(0, 0), load(0, 1)]
    for i in range(count):
        more = i + 1 < count
        after = _weights(weights, i + 1, last=i + 2 == count, most=count) if more else []
        rows, low = ((0, 4), []) if weights == "wide" else ((4, 0), ["sxtb16 r11, r10"])
        times = [
            f"smlad r{p + row}, {'lr' if p % 2 else 'r12'}, {w}, r{p + row}"
            for p in range(4)
            for row, w in zip(rows, ("r10", "r11"), strict=True)
        ]
        lines += [*low, *times[:2], load(i, 2), *times[2:4], load(i, 3), *times[4:6]]
        if more and weights == "wide":
            lines += [load(i + 1, 0), times[6], after[0], times[7], after[1], load(i + 1, 1)]
        elif more:
            lines += [load(i + 1, 0), *times[6:], *after, load(i + 1, 1)]
        else:
            lines += times[6:]
    return lines


def _weights(weights: str, i: int, *, last: bool, most: int) -> list[str]:
    assert 8 * most <= AHEAD
    end = "!" if last else ""
    if weights == "wide":
        return [f"ldr r10, [r9, #{8 * i + 4}]", f"ldr r11, [r9, #{8 * i + 8}]{end}"]
    return [f"ldr r10, [r9, #{4 * i + 4}]{end}"]


def _constants(registers: Sequence[str]) -> list[str]:
    """The next words of the stream."""
    last = len(registers) - 1
    return [f"ldr {r}, [r9, #{4 * i + 4}]{'!' if i == last else ''}" for i, r in enumerate(registers)]


def narrow(weights: str, scale: str, saturate: str, shift: int) -> list[str]:
    """Sums to bytes."""
    first, second = SUMS[:4], SUMS[4:]
    if weights == "pair":
        return [
            *(f"sub {b}, {b}, {a}" for a, b in zip(first, second, strict=True)),
            *_constants(["r10", "r11", "r12"]),
            *(text for a in first for text in _rounded(a, scale)),
            *_shifted(first, saturate),
            *_scaled(second, scale),
            f"ldrb r12, [r9, #{-11 if scale == 'linear' else -7}]",
            *_shifted(second, saturate),
        ]
    if scale == "relu":
        scaled = [*_constants(FREE), *(f"smmla {a}, {a}, r10, r11" for a in first),
                  *(f"smmla {a}, {a}, r12, lr" for a in second)]  # fmt: skip
    else:
        scaled = [*_scaled(first, scale), *_scaled(second, scale)]
    return [*scaled, *(f"{saturate} {a}, #8, {a}, asr #{shift}" for a in SUMS)]


def _scaled(sums: Sequence[str], scale: str) -> list[str]:
    if scale == "relu":
        return [*_constants(["r10", "r11"]), *(f"smmla {a}, {a}, r10, r11" for a in sums)]
    return [
        *_constants(["r10", "r11", "r12"]),
        *(t for a in sums for t in (f"bic lr, r12, {a}, asr #31", "add lr, lr, r11", f"smmla {a}, {a}, r10, lr")),
    ]


def _rounded(a: str, scale: str) -> list[str]:
    """A sum that is not scaled, times twice its multiplier less 2^32, doubled and rounded."""
    down = [f"add {a}, {a}, {a}, asr #31"] if scale == "linear" else []
    return [f"smmlar {a}, {a}, r10, {a}", *down, f"add {a}, {a}, r11"]


def _shifted(sums: Sequence[str], saturate: str) -> list[str]:
    return [text for a in sums for text in (f"asr {a}, {a}, r12", f"{saturate} {a}, #8, {a}")]


def addition(at: int) -> list[str]:
    """The constants of the addition, the first three of the stream, to the stack."""
    return [
        f"ldr r1, [sp, #{STREAM}]",
        "ldm r1!, {r2-r4}",
        f"str r1, [sp, #{STREAM}]",
        f"add r5, sp, #{at}",
        "stm r5, {r2-r4}",
    ]


def add_onto(target: OutputPlaces, at: int) -> list[str]:
    """(c + a * y + b * out) >> 21 for every result y. All is loaded before anything is stored: a pixel may be there
    more than once."""
    lines = [f"ldrd r11, r12, [sp, #{at}]", *(f"mla {a}, {a}, r11, r12" for a in SUMS), f"ldr r11, [sp, #{at + 8}]"]
    if target.places:
        lines.append("ldr r10, [sp]")
    for p in range(4):
        place = target.places[p] if target.places else 0
        lines += [] if target.places else [f"ldr r10, [sp, #{4 * p}]"]
        lines += [f"ldrsb r12, [r10, #{place}]", f"ldrsb lr, [r10, #{place + target.line}]"]
        lines += [f"mla r{p}, r12, r11, r{p}", f"mla r{4 + p}, lr, r11, r{4 + p}"]
    return [*lines, *(f"ssat {a}, #8, {a}, asr #{ADD_SHIFT}" for a in SUMS)]


def _store_half(target: OutputPlaces) -> list[str]:
    """The first two channels of four."""
    assert target.places is not None
    second = [f"strb r{4 + p}, [r10, #{at + target.line}]" for p, at in enumerate(target.places)]
    return ["ldr r10, [sp]", *second, *(f"strb r{p}, [r10, #{at}]" for p, at in enumerate(target.places))]


def _store_rest(target: OutputPlaces) -> list[str]:
    """The others, and whether these were the last."""
    line, places = target.line, [at + 2 * target.line for at in target.places or ()]
    second = [f"strb r{4 + p}, [r10, #{at + line}]" for p, at in enumerate(places)]
    first = [f"strb r{p}, [r10, #{at}]" for p, at in enumerate(places)]
    return ["ldrd r10, r11, [sp]", *second, *first, f"add r10, r10, #{4 * line}", "str r10, [sp]", "cmp r10, r11"]


def _store(target: OutputPlaces, pointers: list[str]) -> list[str]:
    """Eight bytes, and whether these were the last; constants keep their places, a pointer for each pixel moves."""
    line = target.line
    if target.places:
        second = [f"strb r{4 + p}, [r10, #{at + line}]" for p, at in enumerate(target.places)]
        first = [f"strb r{p}, [r10, #{at}]" for p, at in enumerate(target.places)]
        return ["ldrd r10, r11, [sp]", *second, *first, f"add r10, r10, #{2 * line}", "str r10, [sp]", "cmp r10, r11"]
    second = [f"strb r{4 + p}, [{r}, #{line}]" for p, r in enumerate(pointers)]
    first = [f"strb r{p}, [{r}], #{2 * line}" for p, r in enumerate(pointers)]
    return [f"ldm sp, {{{', '.join(pointers)}}}", *second, *first, f"stm sp, {{{', '.join(pointers)}}}",
            f"ldr r0, [sp, #{LIMIT}]", "cmp r10, r0"]  # fmt: skip
