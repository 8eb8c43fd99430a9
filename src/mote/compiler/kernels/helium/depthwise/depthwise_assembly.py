"""Assembly of `mote_depthwise_taps_s8.h` (depthwise convolutions with window taps in vector lanes), and the choice of
how windows are arranged in vectors.

Rows are interleaved four by four: a word holds four rows of one column of a channel, a *plane* all columns of four
rows. A gather loads four words, sixteen inputs: four columns of one plane, two columns of two planes, or one column of
four. So a vector holds several columns of `height` rows each. Weights are stored in the same order, with zeros between
and after them, so that the window of an output some rows further down or columns further right uses the same weights,
loaded from some bytes earlier. A *band* is the output rows computed from the same planes, a *tile* the output columns
computed from the same gathers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from mote.compiler.kernels.assembly import VECTORS, enter, leave, listed, plus
from mote.compiler.kernels.helium.gemm.schedule import Finish
from mote.compiler.kernels.helium.requantize import Requantize
from mote.compiler.kernels.pack.requantize.vector import LaneForm

VECTOR = 16
WORD = 4
SUMS = ("r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr")
"""Registers for sums: the instruction that adds up a vector's products writes to an even register."""
MOST_QUADS, MOST_PRODUCTS = 32, 128
"""Limits of a channel's unrolled code: groups of four outputs, and vector products."""
RESIDENT = ("q0", "q1", "q2", "q3")
"""Vector registers for weights, which hold them permanently or in turn."""
MOST_GATHERS, MOST_MORE = 6, 2
TILE = 8
"""Most outputs of a tile that are accumulated at once."""
UNROLLED = 6
"""Most columns that are interleaved without a loop."""
REACH, NEAR = 508, 127
"""Largest immediate offsets of vector loads and stores of words, and of bytes."""
LANES, SPARE, DATA, ADDRESSES = "q4", "q5", "q6", "q7"
CALL, CONSTANTS, LEFT, ZERO, FRAME = range(0, 20, 4)
"""Stack offsets of the call's parameters, the next constants, the remaining channels and the zero point; FRAME: total
bytes."""
HEIGHTS = (4, 8, 16)
GATHERED = 92
"""Estimated cycles of interleaving a column whose bytes are gathered one by one."""


@dataclass(frozen=True)
class Window:
    """A depthwise window with the shapes of input and output: (rows, columns) each. `channels`: those of the output;
    `multiplier`: how many of them each input channel has; `dilation`: rows and columns from one tap to the next."""

    taps: tuple[int, int]
    steps: tuple[int, int]
    inputs: tuple[int, int]
    outputs: tuple[int, int]
    before: tuple[int, int]
    channels: int
    multiplier: int = 1
    dilation: tuple[int, int] = (1, 1)

    @property
    def pixel(self) -> int:
        """Input channels."""
        return self.channels // self.multiplier

    @property
    def words(self) -> bool:
        """Whether pixels are loaded by words."""
        return self.multiplier == 1 and self.channels % WORD == 0

    @property
    def plain(self) -> bool:
        """Whether channels are loaded by words, as many as there are outputs, for windows without dilation."""
        return self.words and self.dilation == (1, 1)


def _starts(count: int, each: int, dilation: int) -> list[int]:
    """The first output of each part: `each` outputs, `dilation` apart, of all `count`."""
    span = each * dilation
    return [at + first for at in range(0, count, span) for first in range(min(dilation, count - at))]


@dataclass(frozen=True)
class Taps:
    """Arrangement of a layer's windows in vectors: `bands` of rows at once, `wide` output columns at once. Outputs of a
    band or a tile are as far apart as the taps of their windows."""

    window: Window
    height: int
    """Rows in a column of a vector."""
    rows: int
    """Output rows of a band."""
    bands: int
    group: int
    """Output rows that are computed at once: those of all bands, the last of which may have fewer."""
    wide: int
    more: int = 0
    """Vectors of a tile beyond those of one window."""

    @cached_property
    def needed(self) -> int:
        """Vectors that one window spans."""
        return -(-self.window.taps[1] * self.height // VECTOR)

    @property
    def gathers(self) -> int:
        """Vectors that a tile spans."""
        return self.needed + self.more

    def under(self, column: int, vector: int) -> bool:
        """Whether `vector` of a tile has inputs of the windows of that output column."""
        first = column * self.window.steps[1] * self.height
        last = first + (self.window.taps[1] - 1) * self.height
        return first < VECTOR * (vector + 1) and last >= VECTOR * vector

    @cached_property
    def columns_of_tile(self) -> int:
        """Output columns of a tile."""
        room = self.gathers * VECTOR // self.height
        return (room - self.window.taps[1]) // self.window.steps[1] + 1

    @cached_property
    def single(self) -> bool:
        """Whether each channel has only one output and immediate offsets reach all of its gathers; channels are then
        the lanes in which sums are requantized."""
        last = (self.gathers - 1) * VECTOR // self.height * WORD * VECTOR
        return self.window.outputs == (1, 1) and self.window.plain and last + 8 * WORD <= REACH

    @property
    def block(self) -> int:
        """Channels that are interleaved at once: all if the layer has one output and rows of one pixel, else at most
        sixteen."""
        channels = self.window.channels
        return channels if self.single and self.window.inputs[1] == 1 else min(channels, VECTOR)

    @property
    def column(self) -> int:
        """Bytes of a plane's column."""
        return WORD * self.block

    @cached_property
    def columns(self) -> int:
        """Columns of a plane, including padding and what gathers read past it."""
        last = self.window.outputs[1] - self.wide + self.tiles[-1]
        reach = (self.gathers * VECTOR // self.height - 1) * self.window.dilation[1]
        gathered = last * self.window.steps[1] + reach + 1
        return max(gathered, self.window.before[1] + self.window.inputs[1])

    @property
    def plane(self) -> int:
        """Bytes of a plane."""
        return self.columns * self.column

    @cached_property
    def tiles(self) -> list[int]:
        """The first column of each tile."""
        return _starts(self.wide, self.columns_of_tile, self.window.dilation[1])

    @property
    def shared(self) -> bool:
        """Whether bands share planes, because each starts at a plane's first row."""
        return self.rows * self.window.steps[0] % 4 == 0 and self.window.dilation[0] == 1

    @cached_property
    def planes(self) -> list[int]:
        """The first row of each plane."""
        step, dilation = self.window.steps[0], self.window.dilation[0]
        if self.shared:
            return list(range(0, (self.bands - 1) * self.rows * step + self.height, 4))
        bands = _starts(self.group, self.rows, dilation)
        return [first * step + i * dilation for first in bands for i in range(0, self.height, 4)]

    @property
    def lanes(self) -> list[int]:
        """Byte offsets of the four words of a gather."""
        high, column = self.height // 4, self.column * self.window.dilation[1]
        return [i // high * column + i % high * self.plane for i in range(4)]

    @property
    def ahead(self) -> int:
        """Bytes from one gather of a tile to the next."""
        return VECTOR // self.height * self.column * self.window.dilation[1]

    @property
    def band(self) -> int:
        """Bytes from one band's first plane to the next one's."""
        return self.plane * (self.rows * self.window.steps[0] if self.shared else self.height) // 4

    @property
    def weights(self) -> int:
        """Bytes of a channel's weights."""
        return self.gathers * VECTOR

    def shift(self, row: int, column: int) -> int:
        """Bytes by which the weight address moves back for another output of a tile."""
        return row * self.window.steps[0] + column * self.window.steps[1] * self.height

    @property
    def largest_shift(self) -> int:
        return self.shift(self.rows - 1, self.columns_of_tile - 1)

    @property
    def resident(self) -> bool:
        """Whether a tile's weights stay in registers across tiles."""
        return self.gathers == 1 and prod(self._most) <= len(RESIDENT)

    @property
    def _most(self) -> tuple[int, int]:
        """Rows and columns of outputs of a tile, at most."""
        down, across = self.window.dilation
        return min(self.rows, -(-self.group // down)), min(self.columns_of_tile, -(-self.wide // across))

    @cached_property
    def passes(self) -> list[list[tuple[int, int]]]:
        """Outputs of a tile, in groups that are accumulated at once."""
        each = TILE
        rows, columns = self._most
        outputs = [(i, j) for i in range(rows) for j in range(columns)]
        return [outputs[at : at + each] for at in range(0, len(outputs), each)]

    def tile_outputs(self, some: list[tuple[int, int]]) -> Iterator[tuple[int, int, list[tuple[int, int, int]]]]:
        """For each band, and the first column of each tile: indices in `some`, rows and columns of the outputs that
        exist there."""
        down, across = self.window.dilation
        for band, first in enumerate(_starts(self.group, self.rows, down)):
            for tile in self.tiles:
                outputs = []
                for n, (i, j) in enumerate(some):
                    row, column = first + i * down, tile + j * across
                    if row < self.group and column < self.wide:
                        outputs.append((n, row, column))
                if outputs:
                    yield band, tile, outputs

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """Row and column of each sum, padded to a multiple of four by repeating the last one."""
        places = [
            (row, column)
            for some in self.passes
            for *_, outputs in self.tile_outputs(some)
            for _, row, column in outputs
        ]
        return places + [places[-1]] * (-len(places) % 4)

    @property
    def fits(self) -> bool:
        products = self.group * self.wide * self.needed
        return self.gathers <= MOST_GATHERS and self.quads <= MOST_QUADS and products <= MOST_PRODUCTS

    @property
    def quads(self) -> int:
        return -(-self.group * self.wide // 4)

    @property
    def scratch(self) -> int:
        """Scratch bytes: sums, addresses, planes, and a row of zeros."""
        row = max(self.window.inputs[1], self.window.outputs[1]) * self.window.channels
        sums = WORD * (self.block + 4) if self.single else WORD * (self.quads * (self.block + 4) + VECTOR)
        return sums + len(self.planes) * self.plane + row

    def estimate(self, memory: float) -> float:
        """Estimated cycles of an output, increased by the fraction `memory` for each byte of scratch."""
        return self._estimate(memory, cycles(channel_code(self, Requantize(LaneForm.LINE, 16))))

    def least_estimate(self, memory: float) -> float:
        """Lower bound of `estimate`, quick to compute: each input vector is gathered once, and multiplied once for each
        output."""
        outputs = self.group * self.wide
        gathered = 4 * self.gathers * self.bands * len(self.tiles)
        return self._estimate(memory, 2 * self.needed * outputs + gathered + outputs // 2)

    def _estimate(self, memory: float, channel: int) -> float:
        w = self.window
        strips = -(-w.outputs[0] // self.group)
        parts = -(-w.outputs[1] // self.wide)
        stored = (self.quads * 28 + 90) / self.block
        column = 16 if w.multiplier == 1 else GATHERED
        interleave = len(self.planes) * (w.inputs[1] * column + 20) / VECTOR
        total = strips * (parts * (channel + stored) + interleave)
        return total / (w.outputs[0] * w.outputs[1]) * (1 + self.scratch * memory)


def arrangements(window: Window) -> Iterator[Taps]:
    """All arrangements of the windows that fit the limits."""
    high, wide = window.outputs
    widths = sorted({-(-wide // parts) for parts in range(1, wide + 1)})
    for height in HEIGHTS:
        for rows in range(1, min((height - window.taps[0]) // window.steps[0] + 1, high) + 1):
            for group in range(1, min(high, 4 * MOST_QUADS) + 1):
                bands = len(_starts(group, rows, window.dilation[0]))
                whole = high % group == 0 or group % (rows * window.dilation[0]) == 0
                few = {columns for columns in widths if group * columns <= 4 * MOST_QUADS}
                candidates = (
                    Taps(window, height, rows, bands, group, columns, more)
                    for columns in few
                    for more in range(MOST_MORE + 1)
                    if whole
                )
                yield from (taps for taps in candidates if taps.fits)


def columns_code(taps: Taps) -> list[str]:
    """A function that interleaves rows into planes. Arguments: r0 the row pointers of each plane, r1 the destination,
    r2 the first channel, r3 the number of planes."""
    w = taps.window
    pointers = ("r4", "r5", "r6", "r7")
    lines = ["push {r4-r8, lr}", *_lanes(w), "1:", "ldm r0!, {r4-r7}"]
    if w.channels > taps.block or w.multiplier > 1:
        lines += [f"add {p}, {p}, r2" for p in pointers]
        lines += _columns(w.inputs[1], w.pixel, pointers, _load(w), "q4" if w.multiplier > 1 else "")
        rest = taps.plane - w.inputs[1] * taps.column
    else:
        nbytes = w.inputs[1] * w.channels
        load = _load(w)
        lines += _columns(nbytes // VECTOR, VECTOR, pointers, load)
        if left := -nbytes % VECTOR:
            lines += [
                f"sub r1, r1, #{WORD * left}",
                *(f"{load} q{i}, [{p}, #-{left}]" for i, p in enumerate(pointers)),
            ]
            lines += _interleaved()
        rest = taps.plane - nbytes * WORD
    lines += [*(plus("r1", "r1", rest, "r8") if rest else []), "subs r3, r3, #1", "bne 1b"]
    return [*lines, *(["vpop {d8-d9}"] if w.multiplier > 1 else []), "pop {r4-r8, pc}"]


def _lanes(window: Window) -> list[str]:
    """With a multiplier: which input channel each of sixteen output channels has, from the first one's, which r2
    becomes."""
    if window.multiplier == 1:
        return []
    shift = window.multiplier.bit_length() - 1
    return [
        "vpush {d8-d9}",
        "mov r4, #0",
        "vidup.u8 q4, r4, #1",
        f"vshr.u8 q4, q4, #{shift}",
        f"lsr r2, r2, #{shift}",
    ]


def _load(window: Window) -> str:
    """The instruction that loads sixteen channels."""
    return "vldrw.u32" if window.words else "vldrb.u8"


def _columns(count: int, step: int, pointers: tuple[str, ...], load: str, lanes: str = "") -> list[str]:
    """Interleave `count` columns of sixteen bytes that are `step` bytes apart."""
    if lanes:
        loads = [t for i, p in enumerate(pointers) for t in (f"{load} q{i}, [{p}, {lanes}]", *plus(p, p, step, "r8"))]
    elif step <= (REACH if load == "vldrw.u32" else NEAR):
        loads = [f"{load} q{i}, [{p}], #{step}" for i, p in enumerate(pointers)]
    else:
        loads = [t for i, p in enumerate(pointers) for t in (f"{load} q{i}, [{p}]", f"add {p}, {p}, #{step}")]
    one = [*loads, *_interleaved()]
    again = 2 if count % 2 == 0 else 1
    if count <= UNROLLED:
        return one * count
    return [f"movw r8, #{count // again}", "dls lr, r8", "2:", *(one * again), "le lr, 2b"]


def _interleaved() -> list[str]:
    return [f"vst4{i}.8 {{q0, q1, q2, q3}}, [r1]{'!' if i == 3 else ''}" for i in range(4)]


def code(taps: Taps, requantize: Requantize) -> list[str]:
    """A function that computes all outputs of a block of channels; r0 points to a `mote_taps_call_t`, which is kept on
    the stack."""
    if taps.single:
        body = [*_single_sums(taps), *_single_bytes(requantize)]
        begin = ["ldr r3, [r0, #12]", "ldr r5, [r0, #24]"]
    else:
        body = [*_channels(taps, requantize), *_stores(taps)]
        begin = ["ldr r3, [r0, #8]", "ldr r5, [r0, #24]", f"strd r3, r5, [sp, #{CONSTANTS}]"]
    return [
        *enter(FRAME, vectors=VECTORS),
        f"str r0, [sp, #{CALL}]",
        "ldr r7, [r0]",
        "ldr r1, [r0, #4]",
        "ldr r9, [r0, #32]",
        f"vldrw.u32 {ADDRESSES}, [r9]",
        f"vadd.i32 {ADDRESSES}, {ADDRESSES}, r7",
        *begin,
        *body,
        *leave(FRAME, vectors=VECTORS),
    ]


def _channels(taps: Taps, requantize: Requantize) -> list[str]:
    """Compute all outputs of one channel after another, as bytes in scratch memory at r7: four outputs of all channels,
    then the next four. r1: weights; r3 and r5: constants of a channel; r9: the constant that all share in the form
    `LINE`."""
    line = requantize.form is LaneForm.LINE
    scale = ["ldr r9, [r9]", "clz r9, r9", "rsb r9, r9, #31"]
    zero = ["ldr r11, [r9, #4]", f"str r11, [sp, #{ZERO}]"]
    constants = [f"ldr r0, [sp, #{CONSTANTS}]", f"ldrd r3, r5, [r0], #{requantize.constants}"]
    return [
        "ldr r9, [r0, #28]",
        "ldr r7, [r0, #12]",
        *(scale if line else zero),
        "1:",
        *constants,
        *([] if line else ["ldr r9, [r0, #-4]"]),
        f"str r0, [sp, #{CONSTANTS}]",
        *channel_code(taps, requantize),
        f"ldr r0, [sp, #{LEFT}]",
        "subs r0, r0, #1",
        f"str r0, [sp, #{LEFT}]",
        "bne.w 1b",
    ]


def channel_code(taps: Taps, requantize: Requantize) -> list[str]:
    """Compute one channel; r1, r7 and the gather addresses advance to the next."""
    body = _Channel(taps, requantize)
    at = count = 0
    if taps.resident:
        body.weights = dict(zip(taps.passes[0], RESIDENT, strict=False))
        for output, q in body.weights.items():
            body.emit(f"vldrb.u8 {q}, [r1, #{-taps.shift(*output)}]", "memory")
    for some in taps.passes:
        for band, tile, outputs in taps.tile_outputs(some):
            begin = band * taps.band + tile * taps.window.steps[1] * taps.column
            variants = [some[variant] for variant, *_ in outputs]
            for part in _parts(variants, count):
                for k in range(taps.gathers):
                    to = begin + k * taps.ahead
                    if taps.gathers > 1 or part[0] == variants[0]:
                        body.gather(to - at)
                        at = to
                    for n, output in enumerate(part):
                        if taps.under(output[1], k):
                            body.product(count + n, output, k)
                count += len(part)
                body.finish(count)
    while count % 4:
        body.repeat(count)
        count += 1
    body.finish(count)
    body.rest()
    step = at - WORD
    back = [f"movw r0, #{abs(step) & 0xFFFF}", *([f"movt r0, #{abs(step) >> 16}"] if abs(step) >> 16 else [])]
    return [
        *body.lines,
        *back,
        f"{'vsub' if step > 0 else 'vadd'}.i32 {ADDRESSES}, {ADDRESSES}, r0",
        f"add r1, r1, #{taps.weights}",
        f"subw r7, r7, #{taps.quads * taps.column - WORD}",
    ]


def _parts(outputs: list[tuple[int, int]], count: int) -> Iterator[list[tuple[int, int]]]:
    """Split outputs into parts that fit the eight sum registers, given `count` earlier sums, of which complete groups
    of four are already freed."""
    room = 8 - count % 4
    if outputs:
        yield outputs[:room]
        yield from _parts(outputs[room:], count + room)


class _Channel:
    """Instruction emitter for a channel. Sums are requantized four at a time, interleaved with the products of the next
    ones."""

    def __init__(self, taps: Taps, requantize: Requantize) -> None:
        self.taps, self.requantize = taps, requantize
        self.lines: list[str] = []
        self.weights: dict[tuple[int, int], str] = {}
        self.queue: deque[Finish] = deque()
        self.pipe = ""
        self.loaded = self.finished = 0

    def emit(self, text: str, pipe: str) -> None:
        self.lines.append(text)
        self.pipe = pipe

    def gather(self, ahead: int) -> None:
        """Gather four words, `ahead` bytes after the last ones."""
        if ahead == 0:
            self.emit(f"vldrw.u32 {DATA}, [{ADDRESSES}]", "gather")
        elif abs(ahead) <= REACH:
            self.emit(f"vldrw.u32 {DATA}, [{ADDRESSES}, #{ahead}]!", "gather")
        else:
            op = "vadd" if ahead > 0 else "vsub"
            self.emit(f"movw r11, #{abs(ahead)}", "")
            self.emit(f"{op}.i32 {ADDRESSES}, {ADDRESSES}, r11", "rest")
            self.emit(f"vldrw.u32 {DATA}, [{ADDRESSES}]", "gather")
            if self.requantize.form is LaneForm.TWICE:
                self.emit(f"ldr r11, [sp, #{ZERO}]", "")

    def product(self, n: int, output: tuple[int, int], k: int) -> None:
        """Accumulate sum `n` with vector `k` of the weights for that output of a tile."""
        register = SUMS[n % 8]
        first = not k or not self.taps.under(output[1], k - 1)
        while first and any(register in step.sums for step in self.queue):
            self._step()
        weights = self.weights.get(output)
        if weights is None:
            weights = RESIDENT[self.loaded % len(RESIDENT)]
            self.loaded += 1
            self.emit(f"vldrb.u8 {weights}, [r1, #{VECTOR * k - self.taps.shift(*output)}]", "memory")
        self.emit(f"{'vmladav' if first else 'vmladava'}.s8 {register}, {DATA}, {weights}", "multiply")
        self._between()

    def repeat(self, n: int) -> None:
        """Duplicate the previous sum as sum `n`, as padding."""
        while any(SUMS[n % 8] in step.sums for step in self.queue):
            self._step()
        self.emit(f"mov {SUMS[n % 8]}, {SUMS[n % 8 - 1]}", "")

    def finish(self, count: int) -> None:
        """Enqueue the requantization of complete groups of four, now that `count` sums are computed."""
        while self.finished + 4 <= count:
            half = self.finished // 4 % 2
            self.queue.extend(_finish(self.requantize, SUMS[4 * half : 4 * half + 4], self.taps.column))
            self.finished += 4

    def rest(self) -> None:
        while self.queue:
            self._step()

    def _between(self) -> None:
        """After a product, emit queued requantization steps as long as they use another pipeline than the instruction
        before."""
        while self.queue and self.queue[0].pipe != self.pipe:
            self._step()

    def _step(self) -> None:
        step = self.queue.popleft()
        self.emit(step.text, step.pipe)


def _finish(requantize: Requantize, sums: Sequence[str], column: int) -> list[Finish]:
    """Requantization steps of four outputs of a channel, to bytes at r7, which advances."""
    q = LANES
    moves = [
        Finish(f"vmov {q}[{i + 2}], {q}[{i}], {sums[i]}, {sums[i + 2]}", "rest", sums=(sums[i], sums[i + 2]))
        for i in range(2)
    ]
    if requantize.form is LaneForm.LINE:
        steps = [
            Finish(f"vshl.s32 {q}, r9", "rest"),
            Finish(f"vadd.i32 {q}, {q}, r3", "rest"),
            Finish(f"vqrdmulh.s32 {q}, {q}, r5", "multiply"),
            Finish(f"vqrshrnb.s32 {q}, {q}, #{requantize.shift}", "rest"),
        ]
    else:
        steps = [
            Finish(f"vadd.i32 {q}, {q}, r3", "rest"),
            Finish(f"vshr.s32 {SPARE}, {q}, #31", "rest"),
            Finish(f"vqrdmlah.s32 {SPARE}, {q}, r5", "multiply"),
            Finish(f"vrshl.s32 {SPARE}, r9", "rest"),
            Finish(f"vqmovnb.s32 {q}, {SPARE}", "rest"),
            Finish(f"vqadd.s16 {q}, {q}, r11", "rest"),
        ]
    cut = [Finish(text, "rest") for text in requantize.cut(q, SPARE)]
    return [
        *moves,
        *steps,
        Finish(f"vqmovnb.s16 {q}, {q}", "rest"),
        *cut,
        Finish(f"vstrb.32 {q}, [r7], #{column}", "memory"),
    ]


def cycles(lines: Sequence[str]) -> int:
    """Estimated cycles on a core that overlaps consecutive vector instructions if they use different pipelines."""
    total, before = 0, ""
    for line in lines:
        pipe = _pipe(line)
        alone = {"": 1, "gather": 4}.get(pipe, 2)
        overlaps = pipe != before and pipe not in ("", "gather") and before not in ("", "gather")
        total, before = total + alone - overlaps, pipe
    return total


def _pipe(line: str) -> str:
    if not line.startswith("v"):
        return ""
    if line.startswith(("vldr", "vstr")):
        return "gather" if "[q" in line else "memory"
    return "multiply" if line.startswith(("vml", "vmul", "vqrdm")) else "rest"


def _stores(taps: Taps) -> list[str]:
    """Transpose bytes from scratch memory to the outputs; r7: the bytes; r11: added to the addresses at r12."""
    whole = taps.window.channels % VECTOR == 0
    stores = [f"vstrb{'' if whole else 't'}.8 q{i}, [r{i}]" for i in range(4)]
    return [
        f"ldr r9, [sp, #{CALL}]",
        "ldr r7, [r9, #12]",
        "ldr r12, [r9, #16]",
        "ldr r11, [r9, #20]",
        "ldr r5, [r9, #24]",
        *([] if whole else ["vctp.8 r5"]),
        f"mov lr, #{taps.quads}",
        "dls lr, lr",
        "3:",
        "ldm r12!, {r0, r1, r2, r3}",
        *(f"vld4{i}.8 {{q0, q1, q2, q3}}, [r7]" for i in range(4)),
        *(f"add r{i}, r{i}, r11" for i in range(4)),
        *([] if whole else ["vpstttt"]),
        *stores,
        f"add r7, r7, #{taps.column}",
        "le lr, 3b",
    ]


def _single_sums(taps: Taps) -> list[str]:
    """Sums of all channels, stored at r3, eight or four channels at a time."""
    some = 8 if taps.window.channels % 8 == 0 else 4
    body = []
    for c in range(some):
        for k in range(taps.gathers):
            place = WORD * c + k * VECTOR // taps.height * taps.column
            op = "vmladava.s8" if k else "vmladav.s8"
            body += [f"vldrb.u8 q{c % 4}, [r1], #{VECTOR}", f"vldrw.u32 {DATA}, [{ADDRESSES}, #{place}]"]
            body += [f"{op} {SUMS[c]}, {DATA}, q{c % 4}"]
    ends = [f"stm r3!, {listed(SUMS[:some])}", f"vadd.i32 {ADDRESSES}, {ADDRESSES}, r7"]
    return [f"mov r7, #{WORD * some}", "1:", *body, *ends, f"subs r5, r5, #{some}", "bne 1b"]


def _single_bytes(requantize: Requantize) -> list[str]:
    """Requantize four channels at a time; r2: outputs; r6: constants; r7: sums."""
    scale = ["ldr r3, [r10]"] if requantize.form is LaneForm.LINE else requantize.begin("r10")
    return [
        f"ldr r9, [sp, #{CALL}]",
        "ldr r6, [r9, #8]",
        "ldr r7, [r9, #12]",
        "ldr r2, [r9, #20]",
        "ldr r12, [r9, #16]",
        "ldr r12, [r12]",
        "add r2, r2, r12",
        "ldr r10, [r9, #28]",
        *scale,
        "ldr r9, [r9, #24]",
        "lsr r9, r9, #2",
        "dls lr, r9",
        "4:",
        *requantize.four_outputs("r6", "r7", "r3"),
        "vstrb.32 q4, [r2], #4",
        "le lr, 4b",
    ]
