"""How windows of depthwise convolutions lie in vectors, and the assembly of `mote_depthwise_taps_s8.h`.

Rows are interleaved four by four: a word holds four rows of one column of a channel, a *plane* all columns of four
rows. A gather brings four words, sixteen inputs: four columns of one plane, two columns of two planes, or one column
of four. What a vector holds is so many columns, each of `height` rows below one another. Weights lie in the same
order with zeros between and behind them, so that the window some rows further down or some columns further right is
the same weights loaded from some bytes before. A *band* is what rows of outputs are made from the same planes, a
*tile* what columns of outputs are made from the same gathers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from mote.kernels.helium.requantize import Requantize

VECTOR = 16
WORD = 4
SUMS = ("r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr")
"""One instruction adds up products into an even register."""
MOST_QUADS = 10
"""Fours of outputs whose sums are kept for each channel: further ones are out of reach of an offset."""
MOST_WEIGHTS = 6
"""Vectors of weights that stay in registers."""
UNROLLED = 6
"""Columns that are interleaved without a loop."""
REACH = 508
"""The largest offset of a load or store of words."""
DATA, ADDRESSES = "q6", "q7"
HEIGHTS = (4, 8, 16)


@dataclass(frozen=True)
class Window:
    """A window and the images that it goes over, in rows and in columns."""

    taps: tuple[int, int]
    steps: tuple[int, int]
    inputs: tuple[int, int]
    outputs: tuple[int, int]
    before: tuple[int, int]
    channels: int


@dataclass(frozen=True)
class Taps:
    """One way to compute a layer: `bands` of rows at once, `wide` columns of outputs at once."""

    window: Window
    height: int
    """Rows in a column of a vector."""
    rows: int
    """Rows of outputs of a band."""
    bands: int
    group: int
    """Rows of outputs that are computed at once: those of all bands, the last of which may have fewer."""
    wide: int

    @cached_property
    def gathers(self) -> int:
        """Vectors under a tile."""
        return -(-self.window.taps[1] * self.height // VECTOR)

    @cached_property
    def columns_of_tile(self) -> int:
        """Columns of outputs of a tile."""
        room = self.gathers * VECTOR // self.height
        return (room - self.window.taps[1]) // self.window.steps[1] + 1

    @cached_property
    def single(self) -> bool:
        """Whether there is one output for each channel, and offsets reach all gathers under it: channels are then the
        lanes in which sums become bytes."""
        last = (self.gathers - 1) * VECTOR // self.height * WORD * VECTOR
        return self.window.outputs == (1, 1) and last + 8 * WORD <= REACH

    @property
    def block(self) -> int:
        """Channels that are interleaved at once: of all columns where there are few, all for a single output of rows of
        one pixel."""
        channels = self.window.channels
        return channels if self.single and self.window.inputs[1] == 1 else min(channels, VECTOR)

    @property
    def column(self) -> int:
        """Bytes of a column of a plane."""
        return WORD * self.block

    @cached_property
    def columns(self) -> int:
        """Columns of a plane, with the padding and what gathers take beside it."""
        last = self.window.outputs[1] - self.wide + (self.tiles - 1) * self.columns_of_tile
        gathered = last * self.window.steps[1] + self.gathers * VECTOR // self.height
        return max(gathered, self.window.before[1] + self.window.inputs[1])

    @property
    def plane(self) -> int:
        """Bytes of a plane."""
        return self.columns * self.column

    @property
    def tiles(self) -> int:
        return -(-self.wide // self.columns_of_tile)

    @property
    def shared(self) -> bool:
        """Whether bands have planes in common: they then begin where a plane does."""
        return self.rows * self.window.steps[0] % 4 == 0

    @cached_property
    def planes(self) -> list[int]:
        """The first row of each plane."""
        step, each = self.rows * self.window.steps[0], range(0, self.height, 4)
        if self.shared:
            return list(range(0, (self.bands - 1) * step + self.height, 4))
        return [band * step + i for band in range(self.bands) for i in each]

    @property
    def lanes(self) -> list[int]:
        """The offsets of a gather's words."""
        high = self.height // 4
        return [i // high * self.column + i % high * self.plane for i in range(4)]

    @property
    def band(self) -> int:
        """Bytes from a band's first plane to the next one's."""
        return self.plane * (self.rows * self.window.steps[0] if self.shared else self.height) // 4

    @property
    def weights(self) -> int:
        """Bytes of a channel's weights."""
        return self.gathers * VECTOR

    def shift(self, row: int, column: int) -> int:
        """How many bytes before are the weights for another output of a tile."""
        return row * self.window.steps[0] + column * self.window.steps[1] * self.height

    @property
    def largest_shift(self) -> int:
        return self.shift(self.rows - 1, self.columns_of_tile - 1)

    @cached_property
    def passes(self) -> list[list[tuple[int, int]]]:
        """Outputs of a tile whose weights are in registers at the same time."""
        each = max(1, MOST_WEIGHTS // self.gathers)
        columns, rows = min(self.columns_of_tile, self.wide), min(self.rows, self.group)
        outputs = [(i, j) for i in range(rows) for j in range(columns)]
        return [outputs[at : at + each] for at in range(0, len(outputs), each)]

    def tile_outputs(self, some: list[tuple[int, int]]) -> Iterator[tuple[int, int, list[tuple[int, int, int]]]]:
        """Bands, tiles, and what is computed there: which of these outputs it is, its row and its column."""
        for band in range(self.bands):
            for tile in range(self.tiles):
                outputs = []
                for n, (i, j) in enumerate(some):
                    row, column = band * self.rows + i, tile * self.columns_of_tile + j
                    if row < self.group and column < self.wide:
                        outputs.append((n, row, column))
                if outputs:
                    yield band, tile, outputs

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """The row and the column of each sum; the last one is repeated to a multiple of four."""
        places = [
            (row, column)
            for some in self.passes
            for *_, outputs in self.tile_outputs(some)
            for _, row, column in outputs
        ]
        return places + [places[-1]] * (-len(places) % 4)

    @property
    def quads(self) -> int:
        return -(-self.group * self.wide // 4)

    @property
    def scratch(self) -> int:
        """Working memory: sums, addresses, planes, and a row of zeros."""
        row = max(self.window.inputs[1], self.window.outputs[1]) * self.window.channels
        sums = WORD * (self.block + 4) if self.single else 4 * WORD * self.quads * (self.block + 1)
        return sums + len(self.planes) * self.plane + row

    def estimate(self, memory: float) -> float:
        """About how many instructions an output takes; each byte of working memory counts for a share of them."""
        return self._estimate(memory, len(sums_code(self)))

    def least_estimate(self, memory: float) -> float:
        """A lower bound of the estimate: weights are loaded and inputs gathered at least once, with one instruction."""
        outputs, weights = self.group * self.wide, min(self.rows, self.group) * min(self.columns_of_tile, self.wide)
        return self._estimate(memory, self.gathers * (outputs + weights + self.bands * self.tiles) + outputs // 8 + 6)

    def _estimate(self, memory: float, sums: int) -> float:
        w = self.window
        strips = -(-w.outputs[0] // self.group)
        parts = -(-w.outputs[1] // self.wide)
        channel = sums + self.quads * 21 / 4 + 3
        interleave = len(self.planes) * (w.inputs[1] * 8.5 + 12) / VECTOR
        total = strips * (parts * (channel + 90 / self.block) + interleave)
        return total / (w.outputs[0] * w.outputs[1]) * (1 + self.scratch * memory)


def ways(window: Window) -> Iterator[Taps]:
    """All of them that fit."""
    high, wide = window.outputs
    widths = sorted({-(-wide // parts) for parts in range(1, wide + 1)})
    for height in HEIGHTS:
        for rows in range(1, min((height - window.taps[0]) // window.steps[0] + 1, high) + 1):
            for group in range(1, min(high, 4 * MOST_QUADS) + 1):
                bands = -(-group // rows)
                whole = high % group == 0 or group % rows == 0
                few = {columns for columns in widths if group * columns <= 4 * MOST_QUADS}
                candidates = (Taps(window, height, rows, bands, group, columns) for columns in few if whole)
                yield from (taps for taps in candidates if taps.gathers <= MOST_WEIGHTS and taps.quads <= MOST_QUADS)


def columns_code(taps: Taps) -> list[str]:
    """Interleaves rows: r0 points to the rows of each plane, r1 to where the first one goes, r2 is the first channel,
    r3 how many planes there are."""
    w = taps.window
    pointers = ("r4", "r5", "r6", "r7")
    lines = ["push {r4-r8, lr}", "1:", "ldm r0!, {r4-r7}"]
    if w.channels > taps.block:
        lines += [f"add {p}, {p}, r2" for p in pointers]
        lines += _columns(w.inputs[1], w.channels, pointers)
        rest = taps.plane - w.inputs[1] * taps.column
    else:
        nbytes = w.inputs[1] * w.channels
        lines += _columns(nbytes // VECTOR, VECTOR, pointers)
        if left := -nbytes % VECTOR:
            lines += [
                f"sub r1, r1, #{WORD * left}",
                *(f"vldrw.u32 q{i}, [{p}, #-{left}]" for i, p in enumerate(pointers)),
            ]
            lines += _interleaved()
        rest = taps.plane - nbytes * WORD
    return [*lines, *_add("r1", rest), "subs r3, r3, #1", "bne 1b", "pop {r4-r8, pc}"]


def _columns(count: int, step: int, pointers: tuple[str, ...]) -> list[str]:
    """So many columns, whose sixteen bytes are `step` apart."""
    if step <= REACH:
        load = [f"vldrw.u32 q{i}, [{p}], #{step}" for i, p in enumerate(pointers)]
    else:
        load = [t for i, p in enumerate(pointers) for t in (f"vldrw.u32 q{i}, [{p}]", f"add {p}, {p}, #{step}")]
    one = [*load, *_interleaved()]
    again = 2 if count % 2 == 0 else 1
    if count <= UNROLLED:
        return one * count
    return [f"movw r8, #{count // again}", "dls lr, r8", "2:", *(one * again), "le lr, 2b"]


def _interleaved() -> list[str]:
    return [f"vst4{i}.8 {{q0, q1, q2, q3}}, [r1]{'!' if i == 3 else ''}" for i in range(4)]


def _add(register: str, amount: int) -> list[str]:
    if amount == 0:
        return []
    if abs(amount) > 4095:
        return [f"movw r8, #{abs(amount)}", f"{'add' if amount > 0 else 'sub'} {register}, {register}, r8"]
    return [f"{'add' if amount > 0 else 'sub'} {register}, {register}, #{abs(amount)}"]


def code(taps: Taps, requantize: Requantize) -> list[str]:
    """All outputs of some channels; r0 points to a `mote_taps_call_t`, which the stack keeps with its table."""
    return [
        "push {r4-r11, lr}",
        "vpush {d8-d15}",
        "ldr r1, [r0, #16]",
        "push {r0, r1}",
        "ldr r7, [r0]",
        "ldr r1, [r0, #4]",
        "ldr r3, [r0, #12]",
        "ldr r5, [r0, #24]",
        "ldr r9, [r0, #32]",
        f"vldrw.u32 {ADDRESSES}, [r9]",
        f"vadd.i32 {ADDRESSES}, {ADDRESSES}, r7",
        *(_single_sums(taps) if taps.single else sums_code(taps)),
        *(_single_bytes(requantize) if taps.single else _bytes(taps, requantize)),
        "add sp, sp, #8",
        "vpop {d8-d15}",
        "pop {r4-r11, pc}",
    ]


def sums_code(taps: Taps) -> list[str]:
    """The sums of each channel, one channel after another, to r3."""
    body: list[str] = []
    at = count = 0
    for some in taps.passes:
        body += [
            f"vldrb.u8 q{n * taps.gathers + k}, [r1, #{VECTOR * k - taps.shift(*output)}]"
            for n, output in enumerate(some)
            for k in range(taps.gathers)
        ]
        for band, tile, outputs in taps.tile_outputs(some):
            begin = band * taps.band + tile * taps.columns_of_tile * taps.window.steps[1] * taps.column
            for part in _in_eights(count, [variant for variant, *_ in outputs]):
                for k in range(taps.gathers):
                    to = begin + k * VECTOR // taps.height * taps.column
                    if taps.gathers > 1 or part[0] == outputs[0][0]:
                        body += _gather(to - at)
                        at = to
                    op = "vmladava.s8" if k else "vmladav.s8"
                    sums = [(SUMS[(count + n) % 8], variant * taps.gathers + k) for n, variant in enumerate(part)]
                    body += [f"{op} {register}, {DATA}, q{weights}" for register, weights in sums]
                body += _stored(count, len(part))
                count += len(part)
    while count % 4:
        body += [f"mov {SUMS[count % 8]}, {SUMS[count % 8 - 1]}", *_stored(count, 1)]
        count += 1
    if count % 8:
        body += ["stm r3!, {r0, r2, r4, r6}"]
    back = ["mov r7, #4"] if at == 0 else [f"movw r7, #{at - WORD & 0xFFFF}", f"movt r7, #{at - WORD >> 16}"]
    op = "vadd" if at == 0 else "vsub"
    ends = [f"{op}.i32 {ADDRESSES}, {ADDRESSES}, r7", f"add r1, r1, #{taps.weights}", "subs r5, r5, #1", "bne 1b"]
    return [*back, "1:", *body, *ends]


def _gather(ahead: int) -> list[str]:
    """Four words from so many bytes ahead of the last ones."""
    if ahead == 0:
        return [f"vldrw.u32 {DATA}, [{ADDRESSES}]"]
    if abs(ahead) <= REACH:
        return [f"vldrw.u32 {DATA}, [{ADDRESSES}, #{ahead}]!"]
    step = [f"movw r9, #{abs(ahead)}", f"{'vadd' if ahead > 0 else 'vsub'}.i32 {ADDRESSES}, {ADDRESSES}, r9"]
    return [*step, f"vldrw.u32 {DATA}, [{ADDRESSES}]"]


def _in_eights(count: int, outputs: list[int]) -> Iterator[list[int]]:
    """Outputs in parts, each of which fits the registers that are left of eight."""
    room = 8 - count % 8
    if outputs:
        yield outputs[:room]
        yield from _in_eights(count + room, outputs[room:])


def _stored(count: int, more: int) -> list[str]:
    """Eight sums go to memory as soon as they are there."""
    return [f"stm r3!, {{{', '.join(SUMS)}}}"] if count // 8 < (count + more) // 8 else []


def _bytes(taps: Taps, requantize: Requantize) -> list[str]:
    """Four channels at a time, four outputs each: r6 constants, r7 sums, r11 what is added to the addresses at r12."""
    line = requantize.form == "line"
    counter = "r10" if line else "r9"
    channel = WORD * 4 * taps.quads
    loads = ["vldrw.u32 {q}, [r7], #16", *(f"vldrw.u32 {{q}}, [r7, #{i * channel - 16}]" for i in (1, 2, 3))]
    store = ["vldrw.u32 q6, [r12], #16", "vstrw.32 q4, [r11, q6]"]
    four = requantize.four_channels("r6", loads)
    constants = 4 * requantize.constants
    back = [] if line else [f"sub r6, r6, #{constants}"]
    return [
        "ldr r9, [sp]",
        "ldr r6, [r9, #8]",
        "ldr r7, [r9, #12]",
        "ldr r11, [r9, #20]",
        "ldr r10, [r9, #28]",
        *requantize.begin("r10"),
        f"ldr {counter}, [r9, #24]",
        "3:",
        *(four[:1] if line else []),
        "ldr r12, [sp, #4]",
        f"mov lr, #{taps.quads}",
        "dls lr, lr",
        "4:",
        *(four[1:] if line else four),
        *store,
        *back,
        "le lr, 4b",
        *([] if line else [f"add r6, r6, #{constants}"]),
        f"add r7, r7, #{3 * channel}",
        "add r11, r11, #4",
        f"subs {counter}, {counter}, #4",
        "bne 3b",
    ]


def _single_sums(taps: Taps) -> list[str]:
    """The sum of each channel to r3, eight or four channels at a time."""
    some = 8 if taps.window.channels % 8 == 0 else 4
    body = []
    for c in range(some):
        for k in range(taps.gathers):
            place = WORD * c + k * VECTOR // taps.height * taps.column
            op = "vmladava.s8" if k else "vmladav.s8"
            body += [f"vldrb.u8 q{c % 4}, [r1], #{VECTOR}", f"vldrw.u32 {DATA}, [{ADDRESSES}, #{place}]"]
            body += [f"{op} {SUMS[c]}, {DATA}, q{c % 4}"]
    ends = [f"stm r3!, {{{', '.join(SUMS[:some])}}}", f"vadd.i32 {ADDRESSES}, {ADDRESSES}, r7"]
    return [f"mov r7, #{WORD * some}", "1:", *body, *ends, f"subs r5, r5, #{some}", "bne 1b"]


def _single_bytes(requantize: Requantize) -> list[str]:
    """Four channels at a time: r2 outputs, r6 constants, r7 sums."""
    scale = ["ldr r3, [r10]"] if requantize.form == "line" else requantize.begin("r10")
    return [
        "ldr r9, [sp]",
        "ldr r6, [r9, #8]",
        "ldr r7, [r9, #12]",
        "ldr r2, [r9, #20]",
        "ldr r12, [sp, #4]",
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
