"""Assembly of `mote_gemm4_s8.h`: matrix products of pairs of pixels with four output channels.

Sums are in the even core registers r0, r2, .. r12 and lr, as VMLADAV requires: four channels of one pixel and four of
the next. From there they move into vector lanes, so that the constants of four channels are vectors, and are stored as
four bytes. The requantization of one pair is interleaved with the products of the next pair. The outer loop is over
groups of four channels, the inner one over all pairs of pixels; if channels are not a multiple of four, the last group
overlaps the one before. The very first iteration requantizes meaningless sums, whose outputs are overwritten later.

Pointers and counters are in odd registers: r1 the weights, r3 the outputs, r9 the number of remaining pairs, r11 and r5
pixels. Windows whose channels are whole vectors are not copied: r5, r7 and r11 point to their rows, and each column is
loaded once for both pixels.

[sp] constants of the four channels, and those of all channels; then the stack offsets named below
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mote.compiler.kernels.assembly import SAVED_HELIUM, advance, enter, leave
from mote.compiler.kernels.helium.gemm.schedule import Finish, Load, Product, scheduled
from mote.compiler.kernels.helium.requantize import Requantize
from mote.compiler.kernels.pack.requantize.vector import LaneForm

PAIR = 2
CHANNELS = 4
SUMS = (("r0", "r2", "r4", "r6"), ("r8", "r10", "r12", "lr"))
BIAS, MULT, RIGHT, SAME = range(0, 64, 16)
ROWS, OUT, PAIRS, WEIGHTS, CONSTANTS, LEFT, PLACE, LAST, BEGUN = (64, *range(80, 112, 4))
FRAME = 112
BACK, REACH = 508, 1020
"""Largest immediate offset of a vector load of words below a pointer (BACK), and the range from there to the largest
one above it, plus four (REACH)."""
POINTERS = ("r11", "r5")
ROW_POINTERS = ("r11", "r5", "r7")
MOST_STEP = 508
"""Largest immediate with which a vector load of words can update its pointer."""
UNROLLED = ((4, 48), (2, 160))
"""Unroll factors of the loop over pairs, each with the most instructions that a pair may have."""
SCALE = "r7"
"""Register of the factor for sums, which is free for 1x1 windows."""
MOST_SCALED = 3
"""Most vectors of a sum for which a multiply-accumulate is faster than a shift and an addition: with few products the
multiplier is idle."""
LAYER_LANES = 16
"""Offset of the requantization constants (`lanes`) in `mote_gemm4_t`."""
ENTRIES = 4
"""Assembly label of the first unrolled pair; the others have the numbers after it."""
CONSTANT = "q5"
LANES = ("q6", "q7")
SIGN = "q4"


@dataclass(frozen=True)
class Outputs:
    """Requantization and stores of the outputs; `pixel`: bytes from one pixel to the next."""

    requantize: Requantize
    pixel: int
    scaled: bool = False
    """Whether sums are scaled and added to their offsets by one multiply-accumulate with register `SCALE` (form `LINE`
    only)."""

    @property
    def registers(self) -> list[str]:
        """Vector registers that are left for products."""
        return [f"q{i}" for i in range(5 if self.requantize.form is LaneForm.LINE else 4)]

    def begin(self) -> list[str]:
        """Load the constant of all channels from the `mote_lanes_t` at r0: the shift of sums, or the zero point."""
        line = self.requantize.form is LaneForm.LINE
        if self.scaled:
            return [f"ldr {SCALE}, [r0]"]
        dup = ["ldr r2, [r0]", "clz r2, r2", "rsb r2, r2, #31", "vdup.32 q0, r2"]
        return [*(dup if line else ["ldr r2, [r0, #4]", "vdup.16 q0, r2"]), f"vstrw.32 q0, [sp, #{SAME}]"]

    def constants(self) -> list[str]:
        """Copy the constants of four channels from r9 to the stack."""
        places = (BIAS, MULT) if self.requantize.form is LaneForm.LINE else (BIAS, MULT, RIGHT)
        return [
            line for at in places for line in (f"vldrw.u32 {CONSTANT}, [r9], #16", f"vstrw.32 {CONSTANT}, [sp, #{at}]")
        ]

    def finish(self) -> list[Finish]:
        """Requantize the sums to bytes at r3, which advances."""
        if self.scaled:
            return [*_moves((CONSTANT, LANES[1])), *self._scaled(), *self._bytes()]
        return [
            *_moves(LANES),
            *(self._line() if self.requantize.form is LaneForm.LINE else self._twice()),
            *self._bytes(),
        ]

    def _both(self, text: str, reads: Sequence[str] = ()) -> list[Finish]:
        return [_rest(text.format(q=q), q, *reads) for q in LANES]

    def _scaled(self) -> list[Finish]:
        """Requantize sums in q5 and q7; the offsets are loaded into the accumulators of the scaled sums."""
        sums, (first, second) = (CONSTANT, LANES[1]), (LANES[0], CONSTANT)
        scale = [
            step
            for q, to in zip(sums, (first, second), strict=True)
            for step in (
                Finish(f"vldrw.u32 {to}, [sp, #{BIAS}]", "memory", (), to),
                Finish(f"vmla.s32 {to}, {q}, {SCALE}", "multiply", (q, to), to),
            )
        ]
        mult = LANES[1]
        return [
            *scale,
            Finish(f"vldrw.u32 {mult}, [sp, #{MULT}]", "memory", (), mult),
            *(Finish(f"vqrdmulh.s32 {q}, {q}, {mult}", "multiply", (q, mult), q) for q in (first, second)),
            *self._narrow((first, second)),
        ]

    def _narrow(self, both: Sequence[str]) -> list[Finish]:
        """Narrow the products of both pixels into the even and odd 16-bit halves of the first of `LANES`."""
        to, shift = LANES[0], self.requantize.shift
        return [_rest(f"vqrshrn{end}.s32 {to}, {q}, #{shift}", to, q) for end, q in zip("bt", both, strict=True)]

    def _line(self) -> list[Finish]:
        multiply = [Finish(f"vqrdmulh.s32 {q}, {q}, {CONSTANT}", "multiply", (q, CONSTANT), q) for q in LANES]
        return [
            _load(SAME),
            *self._both(f"vshl.s32 {{q}}, {{q}}, {CONSTANT}", (CONSTANT,)),
            _load(BIAS),
            *self._both(f"vadd.i32 {{q}}, {{q}}, {CONSTANT}", (CONSTANT,)),
            _load(MULT),
            *multiply,
            *self._narrow(LANES),
        ]

    def _twice(self) -> list[Finish]:
        products = [
            step
            for q in LANES
            for step in (
                _rest(f"vshr.s32 {SIGN}, {q}, #31", SIGN, q),
                Finish(f"vqrdmulh.s32 {q}, {q}, {CONSTANT}", "multiply", (q, CONSTANT), q),
                _rest(f"vadd.i32 {q}, {q}, {SIGN}", q, SIGN),
            )
        ]
        narrow = [_rest(f"vqmovn{end}.s32 {LANES[0]}, {q}", LANES[0], q) for end, q in zip("bt", LANES, strict=True)]
        return [
            _load(BIAS),
            *self._both(f"vadd.i32 {{q}}, {{q}}, {CONSTANT}", (CONSTANT,)),
            _load(MULT),
            *products,
            _load(RIGHT),
            *self._both(f"vrshl.s32 {{q}}, {{q}}, {CONSTANT}", (CONSTANT,)),
            _load(SAME),
            *narrow,
            _rest(f"vqadd.s16 {LANES[0]}, {LANES[0]}, {CONSTANT}", LANES[0], CONSTANT),
        ]

    def _bytes(self) -> list[Finish]:
        """Narrow the interleaved 16-bit halves of both pixels to bytes, and store them."""
        q, spare = LANES
        cut = [_rest(text, spare if text.startswith("vmov") else q, q) for text in self.requantize.cut(q, spare)]
        return [
            _rest(f"vqmovnb.s16 {q}, {q}", q, q),
            *cut,
            *self._store(q),
            _rest(f"vshr.u32 {q}, {q}, #16", q, q),
            *self._store(q),
        ]

    def _store(self, q: str) -> list[Finish]:
        if self.pixel <= 127:
            return [Finish(f"vstrb.32 {q}, [r3], #{self.pixel}", "memory", (q,))]
        return [
            Finish(f"vstrb.32 {q}, [r3]", "memory", (q,)),
            *(Finish(text, "rest") for text in advance("r3", self.pixel)),
        ]


def _moves(lanes: Sequence[str]) -> list[Finish]:
    """Move the sums of both pixels into the lanes of these vectors."""
    return [
        Finish(f"vmov {q}[{lane + 2}], {q}[{lane}], {sums[lane]}, {sums[lane + 2]}", "rest", (), q, sums[lane::2])
        for q, sums in zip(lanes, SUMS, strict=True)
        for lane in range(2)
    ]


def _rest(text: str, writes: str, *reads: str) -> Finish:
    return Finish(text, "rest", (*reads, writes), writes)


def _load(at: int) -> Finish:
    return Finish(f"vldrw.u32 {CONSTANT}, [sp, #{at}]", "memory", (), CONSTANT)


@dataclass(frozen=True)
class Pixels:
    """Memory layout of pixels with 1x1 windows: `steps` vectors of sixteen inputs each, `apart` bytes from one pixel to
    the next."""

    steps: int
    apart: int

    @property
    def fits(self) -> bool:
        return self.apart % 4 == 0 and 16 * (self.steps - 1) <= BACK + MOST_STEP

    @property
    def _origin(self) -> int:
        """Byte offset of the pixel pointers, so that immediate offsets reach the first and the last vector."""
        last = 16 * (self.steps - 1)
        return last if self._moves else min(last, BACK)

    @property
    def _moves(self) -> bool:
        """Whether the last load of a pixel updates its pointer."""
        return PAIR * self.apart <= MOST_STEP and 16 * (self.steps - 1) <= BACK

    @property
    def weights(self) -> int:
        """Vectors of weights of four channels."""
        return CHANNELS * self.steps

    def take(self) -> list[str]:
        """Save the addresses of the two pixels at r3 on the stack."""
        return [f"add r4, r3, #{self._origin}", f"addw r6, r4, #{self.apart}", f"strd r4, r6, [sp, #{ROWS}]"]

    def begin(self) -> list[str]:
        return [f"ldr {pointer}, [sp, #{ROWS + 4 * p}]" for p, pointer in enumerate(POINTERS)]

    def advance(self) -> list[str]:
        """Instructions that advance the pixel pointers after a pair."""
        return [] if self._moves else [text for p in POINTERS for text in advance(p, PAIR * self.apart)]

    def _load(self, k: int, p: int) -> Load:
        at = 16 * k - self._origin
        last = self._moves and k == self.steps - 1
        return Load(f"pixel{p}_{k}", f"[{POINTERS[p]}], #{PAIR * self.apart}" if last else f"[{POINTERS[p]}, #{at}]")

    def products(self, weights: Weights) -> list[Load | Product]:
        steps: list[Load | Product] = []
        for k in range(self.steps):
            op = "vmladav.s8" if k == 0 else "vmladava.s8"
            if weights.resident:
                for p in range(PAIR):
                    steps.append(self._load(k, p))
                    steps += [Product(op, SUMS[p][c], (f"pixel{p}_{k}", weights.name(k, c))) for c in range(CHANNELS)]
                continue
            steps += [self._load(k, p) for p in range(PAIR)]
            for c in range(CHANNELS):
                steps.append(weights.load(k, c))
                steps += [Product(op, SUMS[p][c], (f"pixel{p}_{k}", weights.name(k, c))) for p in range(PAIR)]
        return steps


@dataclass(frozen=True)
class Columns:
    """Windows of `rows` x `columns` pixels of `channels` bytes each, `stride` pixels apart."""

    rows: int
    columns: int
    stride: int
    channels: int
    apart: int
    """Bytes from one pixel to the next: more than `channels` where only some of the channels are read."""

    @property
    def span(self) -> int:
        """Columns that the windows of a pair of pixels span."""
        return (PAIR - 1) * self.stride + self.columns

    @property
    def fits(self) -> bool:
        return self.rows <= len(ROW_POINTERS) and self.channels % 16 == 0 and self.span * self.apart <= BACK + 16

    @property
    def order(self) -> list[int]:
        """Order of the window's columns in which most inputs are already loaded for the other pixel."""
        return [at for first in range(self.stride) for at in range(first, self.columns, self.stride)]

    @property
    def weights(self) -> int:
        """Vectors of weights of four channels."""
        return CHANNELS * self.rows * self.columns * self.channels // 16

    def take(self) -> list[str]:
        """Save the addresses of the rows at r0 on the stack, offset to the vector that is loaded last."""
        return [
            "vldrw.u32 q0, [r0]",
            f"mov r4, #{self._origin}",
            "vadd.i32 q0, q0, r4",
            f"vstrw.32 q0, [sp, #{ROWS}]",
        ]

    def begin(self) -> list[str]:
        return [f"ldr {pointer}, [sp, #{ROWS + 4 * k}]" for k, pointer in enumerate(ROW_POINTERS[: self.rows])]

    def advance(self) -> list[str]:
        """Instructions that advance the row pointers after a pair."""
        moved = self._step <= MOST_STEP
        return [] if moved else [text for p in ROW_POINTERS[: self.rows] for text in advance(p, self._step)]

    @property
    def _step(self) -> int:
        """Bytes from the columns of one pair to those of the next."""
        return PAIR * self.stride * self.apart

    @property
    def _origin(self) -> int:
        """Byte offset of the row pointers: of the vector that is loaded last."""
        columns = dict.fromkeys(self.stride * p + column for column in self.order for p in range(PAIR))
        return list(columns)[-1] * self.apart + self.channels - 16

    def _place(self, row: int, part: int, column: int) -> str:
        at = column * self.apart + 16 * part - self._origin
        if at == 0 and self._step <= MOST_STEP:
            return f"[{ROW_POINTERS[row]}], #{self._step}"
        return f"[{ROW_POINTERS[row]}, #{at}]"

    def products(self, weights: Weights) -> list[Load | Product]:
        steps: list[Load | Product] = []
        vector = 0
        for row in range(self.rows):
            for part in range(self.channels // 16):
                there: dict[int, str] = {}
                for column in self.order:
                    steps += self._column(row, part, column, there, weights, vector)
                    vector += 1
        return steps

    def _column(
        self, row: int, part: int, column: int, there: dict[int, str], weights: Weights, vector: int
    ) -> list[Load | Product]:
        """Products of one vector of inputs and four channels for both pixels; `there`: names of columns that are
        already loaded."""
        op = "vmladava.s8" if vector else "vmladav.s8"
        steps: list[Load | Product] = []
        under = [self.stride * p + column for p in range(PAIR)]
        for at in under:
            if at not in there:
                there[at] = f"column{at}_{row}_{part}"
                steps.append(Load(there[at], self._place(row, part, at)))
        for c in range(CHANNELS):
            steps.append(weights.load(vector, c))
            steps += [Product(op, SUMS[p][c], (there[at], weights.name(vector, c))) for p, at in enumerate(under)]
        return steps


@dataclass(frozen=True)
class Weights:
    """Addressing of `count` vectors of weights of four channels at r1: resident in registers, at immediate offsets, or
    with post-increment."""

    count: int
    registers: int
    """Vector registers for resident weights and the inputs of a pixel; 0: inputs of both pixels are in registers."""

    @property
    def resident(self) -> bool:
        return self.count < self.registers

    @property
    def _streams(self) -> bool:
        return 16 * self.count > REACH

    @property
    def origin(self) -> int:
        """Byte offset of the weight pointer."""
        return 0 if self._streams else min(16 * (self.count - 1), BACK)

    def begin(self) -> list[str]:
        names = range(self.count if self.resident else 0)
        return [f"vldrw.u32 q{i}, [r1, #{16 * i - self.origin}]" for i in names]

    def back(self) -> list[str]:
        """Instructions that reset the weight pointer after a pair."""
        return advance("r1", 16 * self.count, "subw") if self._streams else []

    def name(self, vector: int, channel: int) -> str:
        at = CHANNELS * vector + channel
        return f"q{at}" if self.resident else f"weights{at}"

    def load(self, vector: int, channel: int) -> Load:
        at = 16 * (CHANNELS * vector + channel) - self.origin
        return Load(self.name(vector, channel), "[r1], #16" if self._streams else f"[r1, #{at}]")


def code(pixels: Pixels | Columns, outputs: Outputs) -> list[str]:
    """The function; r0 points to a `mote_gemm4_call_t`. An unrolled loop is entered in the middle if the number of
    pairs is not a multiple of the unroll factor."""
    scaled = isinstance(pixels, Pixels) and pixels.steps <= MOST_SCALED and outputs.requantize.form is LaneForm.LINE
    outputs = replace(outputs, scaled=scaled)
    registers = outputs.registers
    weights = Weights(pixels.weights, len(registers) if isinstance(pixels, Pixels) else 0)
    finish = outputs.finish()
    free = registers[weights.count :] if weights.resident else registers
    pair = [*scheduled(pixels.products(weights), free, finish), *pixels.advance(), *weights.back()]
    unrolled = next((n for n, most in UNROLLED if len(pair) <= most), 1)
    return [
        *enter(FRAME, saved=SAVED_HELIUM),
        "ldm r0!, {r1, r3, r4, r5}",
        f"strd r5, r4, [sp, #{OUT}]",
        *pixels.take(),
        "ldm r1, {r2, r4, r6, r8}",
        f"addw r2, r2, #{weights.origin}",
        f"strd r2, r4, [sp, #{WEIGHTS}]",
        "mov r9, #0",
        f"strd r6, r9, [sp, #{LEFT}]",
        f"str r8, [sp, #{LAST}]",
        f"add r0, r1, #{LAYER_LANES}",
        *outputs.begin(),
        "mov r3, r5",
        "1:",
        f"ldr r1, [sp, #{WEIGHTS}]",
        *_add_to("r9", "r1", 16 * weights.count),
        f"str r9, [sp, #{WEIGHTS}]",
        *pixels.begin(),
        *weights.begin(),
        "mov r9, #0",
        f"str r9, [sp, #{BEGUN}]",
        "mov r9, #1",
        *([f"b.w {ENTRIES + unrolled - 1}f"] if unrolled > 1 else []),
        *(line for n in range(unrolled) for line in (f"{ENTRIES + n}:", *pair)),
        "subs r9, r9, #1",
        f"bne.w {ENTRIES}b",
        f"ldr r9, [sp, #{BEGUN}]",
        "cmp r9, #0",
        "bne 3f",
        f"ldr r9, [sp, #{CONSTANTS}]",
        *outputs.constants(),
        f"str r9, [sp, #{CONSTANTS}]",
        f"ldrd r9, r3, [sp, #{PLACE}]",
        "cmp r9, r3",
        "it gt",
        "movgt r9, r3",
        f"ldr r3, [sp, #{OUT}]",
        "add r3, r3, r9",
        "add r9, r9, #4",
        f"str r9, [sp, #{PLACE}]",
        f"str r3, [sp, #{BEGUN}]",
        f"ldr r9, [sp, #{PAIRS}]",
        "subs r9, r9, #1",
        *_loop(unrolled),
        "3:",
        f"ldr r9, [sp, #{LEFT}]",
        "subs r9, r9, #1",
        f"str r9, [sp, #{LEFT}]",
        "bne.w 1b",
        *scheduled((), (), finish),
        *leave(FRAME, saved=SAVED_HELIUM),
    ]


def _loop(unrolled: int) -> list[str]:
    """Jump into the unrolled loop so that exactly r9 more pairs are computed."""
    if unrolled == 1:
        return [f"bne.w {ENTRIES}b"]
    shifts = ["lsrs.w r9, r9, #1"]
    if unrolled == 2:
        return ["beq 3f", *shifts, f"bcc.w {ENTRIES}b", "add r9, r9, #1", f"b.w {ENTRIES + 1}b"]
    return [
        "beq 3f",
        *shifts,
        "bcs 2f",
        *shifts,
        f"bcc.w {ENTRIES}b",
        "add r9, r9, #1",
        f"b.w {ENTRIES + 2}b",
        "2:",
        *shifts,
        "add r9, r9, #1",
        f"bcs.w {ENTRIES + 1}b",
        f"b.w {ENTRIES + 3}b",
    ]


def _add_to(register: str, source: str, value: int) -> list[str]:
    first, *rest = advance(source, value)
    return [first.replace(f"addw {source},", f"addw {register},"), *(t.replace(source, register) for t in rest)]
