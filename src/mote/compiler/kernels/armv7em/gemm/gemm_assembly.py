"""Assembly of `mote_gemm4x2_s8.h`: convolutions four pixels and two output channels at a time.

The length of a sum, the memory layout of a window and the offsets of a block's outputs are known at compile time, so
the code is generated for each layer: offsets are constants, short sums have no loop, and all blocks of a row are
computed in one call.

Registers: r0-r3 the sums of four pixels for the first channel of a pair, r4-r7 those for the second; r8 the input
pointer and r9 the pointer to the stream of weights and constants; r10-r12 and lr inputs and weights. r8 is 8 bytes
before the next step's inputs and r9 one word before its weights, so that the last load of a step can update it.

Loads are grouped: on a Cortex-M4 each load after the first takes only one cycle. A step (two products of each of the
eight sums) takes 16 cycles, 8 of them multiplications.

An FPU adds 32 registers, from which a word is moved in one cycle (`fpu`). For sums of up to 8 steps they hold the
inputs of all four pixels, so that weights are loaded four at a time: 14.5 cycles a step. For longer sums they hold the
inputs of two pixels in the first 16 steps: 15 cycles a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Protocol

from mote.compiler.kernels.assembly import FLOATS, MOST_OFFSET, enter, leave, listed, plus, scaled


class MatrixWeights(StrEnum):
    """Storage format of convolution weights, and how results are rounded."""

    WIDE = "wide"
    """16 bits for each weight."""
    PAIR = "pair"
    """8 bits for each weight; results are rounded twice, as in LiteRT's reference."""
    ONCE = "once"
    """8 bits for each weight; results are rounded once."""


SUMS = tuple(f"r{i}" for i in range(8))
FREE = ("r10", "r11", "r12", "lr")
LIMIT, END, INPUTS, STREAM, SPAN, TO, OUT_STEP, BLOCKS, STRIDE, FROM = 16, 20, 24, 28, 32, 36, 52, 56, 60, 64
"""Stack offsets of the fields of `mote_gemm4x2_frame_t`, after the words that the code uses for itself."""
GIVEN = 10
"""Words of that frame before the input pointers at FROM."""
MOST_STEPS = 16
"""Sums with more steps than this use a loop."""
MOST_STEPS_MORE = 24
"""Most steps without a loop after the steps whose inputs are in FPU registers."""
MOST_STEPS_TWICE, MOST_STEPS_TWICE_FPU = 8, 16
"""Longest sums, in steps, for which four channels are computed in a pass: without FPU, and with inputs in FPU registers
(then they have no loop)."""
MOST_WORDS = 6
"""Window lines with more words than this are widened in a loop."""
MOST_WORDS_MORE = 8
"""Most words of a line that are widened without a loop after the words that go to FPU registers."""
STEP_CYCLES, PASS = 16, 6
"""Cycles on a Cortex-M4: of a step, and the loop overhead of a pass."""
AHEAD = 255
"""Largest immediate offset with which a load or store can update its pointer."""
ADD_SHIFT = 21
"""Fixed-point shift of sums of two operands, as in `mote_gemm3_add_s8.h`."""
FPU_WORDS = 32
"""Number of FPU registers."""


@dataclass(frozen=True)
class PixelBytes:
    """Memory layout of a pixel's inputs: `taps` lines of `words` whole words and `rest` bytes. With 0 taps: one line,
    at any address for each of the four pixels."""

    taps: int
    words: int
    rest: int
    ready: bool = False
    """Whether the inputs of all blocks are already widened and contiguous."""

    @property
    def pointers(self) -> int:
        return 0 if self.ready else self.taps or 4

    @property
    def steps(self) -> int:
        """Length of a sum in steps (two products each)."""
        lines = self.taps or 1
        return 2 * lines * self.words + (lines * self.rest + 1) // 2


@dataclass(frozen=True)
class FpuInputs:
    """Inputs that stay in FPU registers for all channels: those of the last `pixels` of four pixels, for the first
    `steps` steps."""

    steps: int = 0
    pixels: int = 0

    def register(self, step: int, pixel: int) -> int | None:
        """Index of the FPU register with the input of a pixel in a step; None: it is in memory."""
        first = 4 - self.pixels
        return step * self.pixels + pixel - first if step < self.steps and pixel >= first else None

    @property
    def all(self) -> bool:
        return self.pixels == 4

    @property
    def saved(self) -> bool:
        """Whether callee-saved FPU registers are used."""
        return self.steps * self.pixels > FPU_WORDS // 2

    def cycles(self, steps: int) -> float:
        """Cycles of a sum of that many steps."""
        fewer = 1.5 if self.all else 1.0
        return STEP_CYCLES * steps - fewer * max(self.steps - 1, 0)


def fpu_inputs(source: PixelBytes) -> FpuInputs:
    """Choose the inputs to hold in FPU registers; none if lines have no whole words."""
    if source.words == 0:
        return FpuInputs()
    if source.rest == 0 and source.steps <= FPU_WORDS // 4:
        return FpuInputs(source.steps, 4)
    return FpuInputs(min(source.steps, FPU_WORDS // 2), 2)


@dataclass(frozen=True)
class OutputPlaces:
    """Where a block's outputs are stored. `line`: bytes from one channel to the next; `places`: offsets of the four
    pixels from the first one, None: not constant; `fours`: the number of channels is a multiple of four; `added`:
    results are added to the output's present contents."""

    line: int
    places: tuple[int, ...] | None = None
    fours: bool = False
    added: bool = False


def in_fours(source: PixelBytes, target: OutputPlaces, *, fpu: bool = False) -> bool:
    """Whether four channels (two pairs) are computed in a pass."""
    places = target.places or (MOST_OFFSET,)
    near = max(places) + 3 * target.line <= MOST_OFFSET
    most = MOST_STEPS_TWICE_FPU if fpu else MOST_STEPS_TWICE
    return near and target.fours and not target.added and source.steps <= most


@lru_cache(maxsize=256)
def code(
    source: PixelBytes,
    target: OutputPlaces,
    weights: MatrixWeights,
    out: str,
    shift: int,
    *,
    dual: bool = False,
    fpu: bool = False,
    most: int | None = None,
    unrolled: bool = False,
    apart: int | None = None,
) -> tuple[str, ...]:
    """A function that computes all channels of blocks of four pixels, specialized to the layer's shape, weight format
    and output form. `dual`: scheduled for dual-issue cores; `fpu`: inputs in FPU registers; `most`: unroll at most that
    many steps after the first; `unrolled`: unroll all steps; `apart`: byte offset of separate biases behind the widened
    inputs."""
    added = FROM + 4 * source.pointers
    frame = added + (12 if target.added else 0)
    biases = None if apart is None else frame
    frame += 0 if apart is None else 4
    keep = fpu_inputs(source) if fpu else FpuInputs()
    vectors = FLOATS if keep.saved else ""
    steps, loop = source.steps, _fpu_loop(source) if fpu else _loop(source.steps - 1, most)
    loop = None if unrolled else loop
    scale = "linear" if out == "linear" else "relu"
    saturate = "usat" if out == "planar" else "ssat"
    last = ["r10", "r11"] if target.places else list(FREE)
    products = _pairs if dual else in_steps
    sums = _fpu_sums(keep, steps, loop, biases) if fpu else _sums(weights, steps, loop, products, biases)
    results = [*sums, *narrow(weights, scale, saturate, shift)]
    if in_fours(source, target, fpu=fpu):
        to = "r8" if keep.all else ""
        first = [*sums, *narrow(weights, scale, saturate, shift, to=to)]
        channels = [*first, *_store_half(target, to), *results, *_store_rest(target)]
    else:
        channels = [*results, *(add_onto(target, added) if target.added else []), *_store(target, last)]
    return (
        *enter(frame, vectors=vectors),
        f"add r12, sp, #{INPUTS}",
        *copy(GIVEN + source.pointers),
        *(addition(added) if target.added else []),
        f"ldrd r0, r1, [sp, #{INPUTS}]",
        "subs r0, r0, #8",
        "subs r1, r1, #4",
        f"strd r0, r1, [sp, #{INPUTS}]",
        *([*plus("r0", "r0", 16 * steps), f"str r0, [sp, #{END}]"] if loop else []),
        "1:",
        *_widened_inputs(source, keep),
        *begin(target),
        f"ldrd r8, r9, [sp, #{INPUTS}]",
        *([] if apart is None else [f"movw r12, #{apart + 8}", "add r12, r8, r12", f"str r12, [sp, #{biases}]"]),
        "2:",
        *channels,
        *(plus("r8", "r8", -16 * steps) if loop else []),
        "bne.w 2b",
        *_next_block(steps, [INPUTS, *([END] if loop else [])] if source.ready else []),
        "bne.w 1b",
        *leave(frame, vectors=vectors),
    )


def copy(words: int) -> list[str]:
    """Copy words from r0 to r12."""
    lines = []
    for at in range(0, words, 10):
        registers = f"{{r1-r{min(words - at, 10)}}}" if words - at > 1 else "{r1}"
        lines += [f"ldm r0!, {registers}", f"stm r12!, {registers}"]
    return lines


def _widened_inputs(source: PixelBytes, keep: FpuInputs) -> list[str]:
    """Instructions that widen a block's inputs, unless they are widened already, and load some into FPU registers."""
    if source.ready:
        return _load_fpu(keep)
    if keep.steps and source.words > MOST_WORDS and source.taps:
        return [*_window(source, FpuInputs()), *_load_fpu(keep)]
    return _window(source, keep) if source.taps else _pixels(source, keep)


def _load_fpu(keep: FpuInputs) -> list[str]:
    """Load widened inputs from memory into FPU registers."""
    if keep.all:
        return [f"ldr r0, [sp, #{INPUTS}]", "adds r0, r0, #8", f"vldm r0, {{s0-s{4 * keep.steps - 1}}}"]
    loads = [f"vldr d{i}, [r0, #{16 * i + 16}]" for i in range(keep.steps)]
    return [f"ldr r0, [sp, #{INPUTS}]", *loads] if loads else []


def _next_block(steps: int, places: Sequence[int]) -> list[str]:
    """Decrement the number of remaining blocks, and advance the pointers at stack offsets `places` to the next block's
    inputs."""
    registers = [f"r{i}" for i in range(1, 1 + len(places))]
    both = list(zip(registers, places, strict=True))
    return [
        *([f"movw r12, #{16 * steps}"] if places else []),
        f"ldr r0, [sp, #{BLOCKS}]",
        *(f"ldr {r}, [sp, #{at}]" for r, at in both),
        *(f"add {r}, {r}, r12" for r in registers),
        "subs r0, r0, #1",
        *(f"str {r}, [sp, #{at}]" for r, at in both),
        f"str r0, [sp, #{BLOCKS}]",
    ]


def _pixels(source: PixelBytes, keep: FpuInputs) -> list[str]:
    first = keep.steps // 2
    looped = source.words - first > (MOST_WORDS_MORE if first else MOST_WORDS)
    ahead = [] if looped else [f"add lr, lr, #{4 * source.words}"]
    if not first:
        return _four_pixels(_line(source.words, "3"), ahead)
    line = [text for i in range(first if looped else source.words) for text in _fpu_word(keep, i, i, moved=looped)]
    if looped:
        line += [f"add r2, r2, #{32 * first}", *_line(source.words - first, "3")]
    return _four_pixels(line, ahead)


def _fpu_word(keep: FpuInputs, n: int, at: int, *, moved: bool = False) -> list[str]:
    """Widen one word of each of four pixels: the inputs of two steps, to FPU registers or to the buffer at r2. `n`:
    index of the word in the block; `at`: offset in words from the pixel pointers; `moved`: the pointers are
    post-incremented instead."""
    places = zip(("r0", "r1", "r12", "lr"), range(4, 8), strict=True)
    loads = [f"ldr r{r}, [{place}], #4" if moved else f"ldr r{r}, [{place}, #{4 * at}]" for place, r in places]
    stored = []
    for half in range(2):
        for p in range(4):
            r, register = f"r{4 + 4 * half + p}", keep.register(2 * n + half, p)
            to = f"str {r}, [r2, #{32 * n + 16 * half + 4 * p}]"
            stored.append(to if register is None else f"vmov s{register}, {r}")
    return [*loads, *_halves(), *stored]


def _four_pixels(line: Sequence[str], ahead: Sequence[str] = ()) -> list[str]:
    """Widen four pixels' inputs with the code `line`, then advance the pixel pointers to the next four; `ahead` moves
    lr unless `line` did."""
    return [
        f"add r3, sp, #{FROM}",
        "ldm r3, {r0, r1, r12, lr}",
        f"ldr r2, [sp, #{INPUTS}]",
        "adds r2, r2, #8",
        *line,
        f"ldr r3, [sp, #{STRIDE}]",
        *ahead,
        f"add r4, sp, #{FROM}",
        "add r1, lr, r3",
        "add r12, r1, r3",
        "mov r0, lr",
        "add lr, r12, r3",
        "stm r4, {r0, r1, r12, lr}",
    ]


def _window(source: PixelBytes, keep: FpuInputs) -> list[str]:
    """Widen the inputs of four windows, `stride` bytes apart; the remainders of lines are packed two to a word after
    all whole words."""
    lines = [f"ldr r2, [sp, #{INPUTS}]", f"ldr r3, [sp, #{STRIDE}]", "adds r2, r2, #8"]
    looped = source.words > MOST_WORDS
    for tap in range(source.taps):
        lines += [*([f"ldr r3, [sp, #{STRIDE}]"] if looped and tap else []), *_tap_of_windows(tap)]
        if keep.steps:
            lines += [text for i in range(source.words) for text in _fpu_word(keep, tap * source.words + i, i)]
        else:
            lines += _line(source.words, f"{10 + tap}")
        for i in range(source.rest):
            at, n = i + (0 if looped else 4 * source.words), tap * source.rest + i
            behind = 32 * source.words * (source.taps if keep.steps else source.taps - 1 - tap)
            to = behind + 16 * (n // 2) + 2 * (n % 2)
            lines += [f"ldrsb r{4 + p}, [{r}, #{at}]" for p, r in enumerate(("r0", "r1", "r12", "lr"))]
            lines += [f"strh r{4 + p}, [r2, #{to + 4 * p}]" for p in range(4)]
    rests = range(2 * source.taps * source.words, keep.steps)
    return [*lines, *(f"vldr d{i}, [r2, #{16 * i + 8}]" for i in rests)]


def _tap_of_windows(tap: int) -> list[str]:
    """Compute the addresses of window row `tap` for four windows, r3 bytes apart, and advance its pointer to the next
    four."""
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
    """Widen `words` words of each of four pixels to r2."""
    if words <= MOST_WORDS:
        return [text for i in range(words) for text in _widen([f"#{4 * i}"] * 4)]
    return looped_line(f"movs r3, #{words}" if words < 256 else f"movw r3, #{words}", label)


def looped_line(count: str, label: str) -> list[str]:
    """Widen words of each of four pixels to r2 in a loop; `count`: the instruction that loads the iteration count into
    r3."""
    loads = [f"ldr r{4 + p}, [{r}], #4" for p, r in enumerate(("r0", "r1", "r12", "lr"))]
    return [count, f"{label}:", *loads, "subs r3, r3, #1", *_widened(), f"bne {label}b"]


def _widen(offsets: Sequence[str]) -> list[str]:
    places = zip(("r0", "r1", "r12", "lr"), offsets, strict=True)
    return [*(f"ldr r{4 + p}, [{r}, {offset}]" for p, (r, offset) in enumerate(places)), *_widened()]


def _widened() -> list[str]:
    return [*_halves(), "stm r2!, {r4-r11}"]


def _halves() -> list[str]:
    """Widen the words of four pixels in r4-r7 to the 16-bit inputs of two steps."""
    odd = [f"sxtb16 r{8 + p}, r{4 + p}, ror #8" for p in range(4)]
    return [*odd, *(f"sxtb16 r{4 + p}, r{4 + p}" for p in range(4))]


def begin(target: OutputPlaces) -> list[str]:
    """Load the start and end addresses of this block's outputs, and advance to the next block's."""
    if target.places:
        return [
            f"ldr r4, [sp, #{TO}]",
            f"ldr r8, [sp, #{OUT_STEP}]",
            f"ldr r5, [sp, #{SPAN}]",
            "add r8, r4, r8",
            "add r5, r4, r5",
            "str r4, [sp]",
            "str r5, [sp, #4]",
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


def _loop(left: int, most: int | None) -> tuple[int, int] | None:
    """Loop over the `left` steps after the first: steps in an iteration, and iterations; remaining steps run before the
    loop. None: fully unrolled. `most`: unroll at most that many."""
    if left < (MOST_STEPS if most is None else most + 1):
        return None
    sizes = range(8, AHEAD // 16 + 1) if most is None else [n for n in range(1, most + 1) if n + left % n <= most]
    return _passes(left, sizes)


def _fpu_loop(source: PixelBytes) -> tuple[int, int] | None:
    """Loop over the steps after those with inputs in FPU registers: steps in an iteration, and iterations; None: no
    loop."""
    left = source.steps - fpu_inputs(source).steps
    return _passes(left, range(8, MOST_STEPS_MORE + 1)) if left > MOST_STEPS_MORE else None


def _passes(left: int, sizes: Iterable[int]) -> tuple[int, int]:
    each = min(sizes, key=lambda k: (PASS * (left // k) + left % k, k))
    return each, left // each


def loops(source: PixelBytes, *, fpu: bool) -> bool:
    """Whether sums are computed in a loop."""
    return (_fpu_loop(source) if fpu else _loop(source.steps - 1, None)) is not None


def loop_cycles(steps: int, most: int | None = None) -> int:
    """Loop overhead of a sum in cycles, on a Cortex-M4."""
    loop = _loop(steps - 1, most)
    return PASS * loop[1] if loop else 0


def fpu_cycles(source: PixelBytes) -> float:
    """Cycles of a sum on a Cortex-M4 with inputs in FPU registers, including loop overhead."""
    loop = _fpu_loop(source)
    return fpu_inputs(source).cycles(source.steps) + (PASS * loop[1] if loop else 0)


class Products(Protocol):
    """Callback that generates the instructions of `count` steps."""

    def __call__(self, weights: MatrixWeights, count: int, *, start: int, move: bool) -> list[str]: ...


def _sums(
    weights: MatrixWeights, steps: int, loop: tuple[int, int] | None, products: Products, biases: int | None
) -> list[str]:
    """All products of eight sums; `biases`: stack offset of the pointer to separate biases, None: they are in the
    stream."""
    if loop is None:
        return [*first_step(weights, move=False, biases=biases), *_unrolled(products, weights, steps - 1, start=16)]
    each, passes = loop
    before = steps - 1 - each * passes
    lines = [*first_step(weights, move=True, biases=biases), *products(weights, before, start=0, move=True)]
    return [*lines, "4:", *products(weights, each, start=0, move=True),
            f"ldr r12, [sp, #{END}]", "cmp r8, r12", "bne.w 4b"]  # fmt: skip


def _unrolled(products: Products, weights: MatrixWeights, count: int, *, start: int) -> list[str]:
    """Unrolled steps, in groups at whose ends the weight pointer is updated."""
    parts = [(at, min(MOST_STEPS_MORE, count - at)) for at in range(0, count, MOST_STEPS_MORE)]
    return [text for at, some in parts for text in products(weights, some, start=start + 16 * at, move=False)]


def _fpu_sums(keep: FpuInputs, steps: int, loop: tuple[int, int] | None, biases: int | None) -> list[str]:
    """All products of eight sums of 16-bit weights; inputs of the first steps come from FPU registers."""
    start, left = 16 * keep.steps, steps - keep.steps
    lines = [*_first_fpu_step(keep, biases), *(_fpu_steps(keep) if keep.all else _half_fpu_steps(keep))]
    if loop is None:
        return [*lines, *_unrolled(in_steps, MatrixWeights.WIDE, left, start=start)]
    each, passes = loop
    before = left - each * passes
    lines += in_steps(MatrixWeights.WIDE, before, start=start, move=True) if before else [f"add r8, r8, #{start}"]
    return [*lines, "4:", *in_steps(MatrixWeights.WIDE, each, start=0, move=True),
            f"ldr r12, [sp, #{END}]", "cmp r8, r12", "bne.w 4b"]  # fmt: skip


def _first_biases(biases: int | None) -> list[str]:
    """Load the biases of two channels into r10 and r11: from the stream, or through the pointer in stack slot
    `biases`."""
    if biases is None:
        return ["ldr r10, [r9, #4]", "ldr r11, [r9, #8]"]
    move = ["add lr, lr, #8", f"str lr, [sp, #{biases}]"]
    return [f"ldr lr, [sp, #{biases}]", "ldr r10, [lr]", "ldr r11, [lr, #4]", *move]


def _first_fpu_step(keep: FpuInputs, biases: int | None) -> list[str]:
    """The first step, whose sums start with the biases, with inputs in FPU registers."""
    loads = [f"ldr r{p}, [r8, #{8 + 4 * p}]" for p in range(4 - keep.pixels)]
    loads += [*_first_biases(biases), "ldr r12, [r9, #12]", "ldr lr, [r9, #16]!"]
    moves = [f"vmov r{p}, s{keep.register(0, p)}" for p in range(4 - keep.pixels, 4)]
    second = [f"smlad r{4 + p}, r{p}, lr, r11" for p in range(4)]
    return [*loads, *moves, *second, *(f"smlad r{p}, r{p}, r12, r10" for p in range(4))]


def _fpu_steps(keep: FpuInputs) -> list[str]:
    """Steps whose inputs are all in FPU registers, moved through r8; weights of two steps are loaded at once."""
    lines = []
    for first in range(1, keep.steps, 2):
        both = range(first, min(first + 2, keep.steps))
        words = FREE[: 2 * len(both)]
        ends = ["!" if both.stop == keep.steps and r == words[-1] else "" for r in words]
        lines += [f"ldr {r}, [r9, #{8 * first - 4 + 4 * i}]{ends[i]}" for i, r in enumerate(words)]
        for i, step in enumerate(both):
            for p in range(4):
                lines += [
                    f"vmov r8, s{keep.register(step, p)}",
                    f"smlad r{p}, r8, {words[2 * i]}, r{p}",
                    f"smlad r{4 + p}, r8, {words[2 * i + 1]}, r{4 + p}",
                ]
    return lines


def _half_fpu_steps(keep: FpuInputs) -> list[str]:
    """Steps in which the inputs of two of the four pixels are in FPU registers."""
    lines = []
    for i in range(1, keep.steps):
        lines += _weights(MatrixWeights.WIDE, i - 1, last=i == keep.steps - 1, most=keep.steps)
        lines += [f"ldr r12, [r8, #{16 * i + 8}]", f"ldr lr, [r8, #{16 * i + 12}]"]
        for pair in (0, 2):
            if pair:
                lines.append(f"vmov r12, lr, s{keep.register(i, 2)}, s{keep.register(i, 3)}")
            for p, x in ((pair, "r12"), (pair + 1, "lr")):
                lines += [f"smlad r{p}, {x}, r10, r{p}", f"smlad r{4 + p}, {x}, r11, r{4 + p}"]
    return lines


def first_step(weights: MatrixWeights, *, move: bool, biases: int | None = None) -> list[str]:
    """The first step, whose sums start with the biases; `move`: update the input pointer; `biases`: stack slot of the
    pointer to separate biases."""
    loads = ["ldr r0, [r8, #8]", "ldr r1, [r8, #12]", "ldr r3, [r8, #20]", f"ldr r2, [r8, #16]{'!' if move else ''}"]
    if weights is MatrixWeights.WIDE:
        loads += [*_first_biases(biases), "ldr r12, [r9, #12]", "ldr lr, [r9, #16]!"]
    else:
        loads += [*_first_biases(biases), "ldr lr, [r9, #12]!", "sxtb16 r12, lr"]
    second = [f"smlad r{4 + p}, r{p}, lr, r11" for p in range(4)]
    return [*loads, *second, *(f"smlad r{p}, r{p}, r12, r10" for p in range(4))]


def in_steps(weights: MatrixWeights, count: int, *, start: int, move: bool) -> list[str]:
    """Steps of two products for each sum. The last one updates the weight pointer and, with `move`, the input
    pointer."""
    lines = []
    for i in range(count):
        at, last = start + 16 * i, i == count - 1
        lines += _weights(weights, i, last=last, most=count)
        lines += [f"ldr r12, [r8, #{at + 8}]", f"ldr lr, [r8, #{at + 12}]"]
        lines += ["sxtb16 r11, r10"] if weights is not MatrixWeights.WIDE else []
        first, second = ("r10", "r11") if weights is MatrixWeights.WIDE else ("r11", "r10")
        for pair in (0, 2):
            if pair:
                lines.append(f"ldrd r12, lr, [r8, #{at + 16}]{'!' if move and last else ''}")
            for p, x in ((pair, "r12"), (pair + 1, "lr")):
                lines += [f"smlad r{p}, {x}, {first}, r{p}", f"smlad r{4 + p}, {x}, {second}, r{4 + p}"]
    return lines


def _pairs(weights: MatrixWeights, count: int, *, start: int, move: bool) -> list[str]:
    """Steps scheduled for dual-issue cores: all products but two are paired with a load. A register is reloaded right
    after its last use and used a cycle later."""

    def load(i: int, p: int) -> str:
        """Load pixel `p` of step `i`; in the last step, the third pixel's load updates the pointer."""
        at, moved = start + 16 * i + 4 * p + 8, move and i == count - 1
        place = f"#{at}]!" if moved and p == 2 else "#4]" if moved and p == 3 else f"#{at}]"
        return f"ldr {'lr' if p % 2 else 'r12'}, [r8, {place}"

    lines = [] if count == 0 else [*_weights(weights, 0, last=count == 1, most=count), load(0, 0), load(0, 1)]
    for i in range(count):
        more = i + 1 < count
        after = _weights(weights, i + 1, last=i + 2 == count, most=count) if more else []
        rows, low = ((0, 4), []) if weights is MatrixWeights.WIDE else ((4, 0), ["sxtb16 r11, r10"])
        times = [
            f"smlad r{p + row}, {'lr' if p % 2 else 'r12'}, {w}, r{p + row}"
            for p in range(4)
            for row, w in zip(rows, ("r10", "r11"), strict=True)
        ]
        lines += [*low, *times[:2], load(i, 2), *times[2:4], load(i, 3), *times[4:6]]
        if more and weights is MatrixWeights.WIDE:
            lines += [load(i + 1, 0), times[6], after[0], times[7], after[1], load(i + 1, 1)]
        elif more:
            lines += [load(i + 1, 0), *times[6:], *after, load(i + 1, 1)]
        else:
            lines += times[6:]
    return lines


def _weights(weights: MatrixWeights, i: int, *, last: bool, most: int) -> list[str]:
    assert 8 * most <= AHEAD
    end = "!" if last else ""
    if weights is MatrixWeights.WIDE:
        return [f"ldr r10, [r9, #{8 * i + 4}]", f"ldr r11, [r9, #{8 * i + 8}]{end}"]
    return [f"ldr r10, [r9, #{4 * i + 4}]{end}"]


def _constants(registers: Sequence[str]) -> list[str]:
    """Load the next words of the stream."""
    last = len(registers) - 1
    return [f"ldr {r}, [r9, #{4 * i + 4}]{'!' if i == last else ''}" for i, r in enumerate(registers)]


def narrow(weights: MatrixWeights, scale: str, saturate: str, shift: int, *, to: str = "") -> list[str]:
    """Requantize the sums to bytes; `to`: a free register into which the address of the first pixel's outputs is loaded
    in between (16-bit weights only)."""
    first, second = SUMS[:4], SUMS[4:]
    more = [f"ldr {to}, [sp]"] if to else []
    if weights is not MatrixWeights.WIDE:
        once = weights is MatrixWeights.ONCE
        return [
            *(f"sub {b}, {b}, {a}" for a, b in zip(first, second, strict=True)),
            *(_constants(["r10", "r11", "r12"]) if once else [*_constants(["r10", "r12"]), "asr r11, r12, #16"]),
            *(text for a in first for text in _rounded(a, scale)),
            *([f"add {a}, {a}, r11" for a in first] if once else []),
            *(_shifted(first, saturate) if once else _halved(first, saturate)),
            *_scaled(second, scale),
            f"ldrb r12, [r9, #{-11 if scale == 'linear' else -7}]",
            *_shifted(second, saturate),
        ]
    if scale == "relu":
        lines = [*_constants(FREE), *more, *(f"smmla {a}, {a}, r10, r11" for a in first),
                 *(f"smmla {a}, {a}, r12, lr" for a in second)]  # fmt: skip
    else:
        lines = [*_scaled(first, scale, more), *_scaled(second, scale)]
    return [*lines, *(f"{saturate} {a}, #8, {a}, asr #{shift}" for a in SUMS)]


def _scaled(sums: Sequence[str], scale: str, more: Sequence[str] = ()) -> list[str]:
    if scale == "relu":
        return [*_constants(["r10", "r11"]), *(text for a in sums for text in scaled(a, "r10", "r11"))]
    linear = [text for a in sums for text in scaled(a, "r10", "r11", "r12", "lr")]
    return [*_constants(["r10", "r11", "r12"]), *more, *linear]


def _rounded(a: str, scale: str) -> list[str]:
    """Rounding high multiply of a sum by m / 2^31; r10 has 2 m - 2^32."""
    down = [f"add {a}, {a}, {a}, asr #31"] if scale == "linear" else []
    return [f"smmlar {a}, {a}, r10, {a}", *down]


def _shifted(sums: Sequence[str], saturate: str) -> list[str]:
    return [text for a in sums for text in (f"asr {a}, {a}, r12", f"{saturate} {a}, #8, {a}")]


def _halved(sums: Sequence[str], saturate: str) -> list[str]:
    """Shift sums right except for the last bit, add r11 (zero point and rounding term), then shift the last bit while
    saturating to bytes."""
    return [t for a in sums for t in (f"asr {a}, {a}, r12", f"add {a}, {a}, r11", f"{saturate} {a}, #8, {a}, asr #1")]


def addition(at: int) -> list[str]:
    """Move the constants of the addition, the first three words of the stream, to the stack."""
    return [
        f"ldr r1, [sp, #{STREAM}]",
        "ldm r1!, {r2-r4}",
        f"str r1, [sp, #{STREAM}]",
        f"add r5, sp, #{at}",
        "stm r5, {r2-r4}",
    ]


def add_onto(target: OutputPlaces, at: int) -> list[str]:
    """Add the output's present contents to every result y: (c + a * y + b * out) >> 21. All loads come before the
    stores because two of the pixels may be the same one."""
    lines = [f"ldrd r11, r12, [sp, #{at}]", *(f"mla {a}, {a}, r11, r12" for a in SUMS), f"ldr r11, [sp, #{at + 8}]"]
    if target.places:
        lines.append("ldr r10, [sp]")
    for p in range(4):
        place = target.places[p] if target.places else 0
        lines += [] if target.places else [f"ldr r10, [sp, #{4 * p}]"]
        lines += [f"ldrsb r12, [r10, #{place}]", f"ldrsb lr, [r10, #{place + target.line}]"]
        lines += [f"mla r{p}, r12, r11, r{p}", f"mla r{4 + p}, lr, r11, r{4 + p}"]
    return [*lines, *(f"ssat {a}, #8, {a}, asr #{ADD_SHIFT}" for a in SUMS)]


def _store_half(target: OutputPlaces, to: str = "") -> list[str]:
    """Store the first two of four channels; `to`: register with the address, empty: load it."""
    assert target.places is not None
    at = to or "r10"
    second = [f"strb r{4 + p}, [{at}, #{place + target.line}]" for p, place in enumerate(target.places)]
    first = [f"strb r{p}, [{at}, #{place}]" for p, place in enumerate(target.places)]
    return [*([] if to else ["ldr r10, [sp]"]), *second, *first]


def _store_rest(target: OutputPlaces) -> list[str]:
    """Store the last two of four channels, and compare with the end address."""
    line, places = target.line, [at + 2 * target.line for at in target.places or ()]
    second = [f"strb r{4 + p}, [r10, #{at + line}]" for p, at in enumerate(places)]
    first = [f"strb r{p}, [r10, #{at}]" for p, at in enumerate(places)]
    return ["ldrd r10, r11, [sp]", *second, *first, f"add r10, r10, #{4 * line}", "str r10, [sp]", "cmp r10, r11"]


def _store(target: OutputPlaces, pointers: list[str]) -> list[str]:
    """Store two channels of four pixels, and compare with the end address. Pixels at constant distances share a
    pointer; otherwise each has its own."""
    line = target.line
    if target.places:
        second = [f"strb r{4 + p}, [r10, #{at + line}]" for p, at in enumerate(target.places)]
        first = [f"strb r{p}, [r10, #{at}]" for p, at in enumerate(target.places)]
        return ["ldrd r10, r11, [sp]", *second, *first, f"add r10, r10, #{2 * line}", "str r10, [sp]", "cmp r10, r11"]
    second = [f"strb r{4 + p}, [{r}, #{line}]" for p, r in enumerate(pointers)]
    first = [f"strb r{p}, [{r}], #{2 * line}" for p, r in enumerate(pointers)]
    return [f"ldm sp, {listed(pointers)}", *second, *first, f"stm sp, {listed(pointers)}",
            f"ldr r0, [sp, #{LIMIT}]", "cmp r10, r0"]  # fmt: skip
