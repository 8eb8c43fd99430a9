"""Assembly of `mote_depthwise_two_s8.h`: 3x3 windows over planar rows, two output rows at once.

With stride 1, an input row that both output rows need is loaded and unpacked once; each weight is loaded once for all
eight outputs of a block. The distance between rows is a constant in the code, or is read from the stack for rows at any
address.

Registers: r0 the inputs, r1-r4 the sums of the first output row and r5-r8 of the second, r9 and r10 weights (w0, w1)
and (w1, w2), then r11, r12 and lr for inputs. Instructions for different execution units alternate where possible, for
dual-issue cores; no instruction computes the address that the next one uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from mote.compiler.kernels.armv7em.depthwise.depthwise_wide_assembly import Block, Product
from mote.compiler.kernels.armv7em.depthwise.records import Weights
from mote.compiler.kernels.assembly import MOST_OFFSET, enter, leave, plus_parts, scaled

OUT, LIMIT, RECORDS, CHANNEL, FRAME = 40, 44, 48, 52, 60
"""Stack offsets after the channel's record. OUT: next output; LIMIT: end of a row's blocks of four; RECORDS: next
record; CHANNEL: the channel's first output, followed by the end address past the last channel. FRAME: total bytes."""
SECOND, WAYS, SCATTERED = 60, 64, 88
"""Stack offsets for rows at any address. SECOND: distance from the first output row to the second; WAYS: distance from
each input row to the one that is read next. SCATTERED: total bytes."""
MASKS = 60, 76
"""Stack offsets of the bit masks for the weights of the window's first and last row, with one output row at a time;
they overlap the offsets above."""
TABLE, BIASES = 0, 56
"""Offsets in `mote_planar_apart_t` (biases separate from the records) of the records and of the biases."""
SAVED = 36
"""Bytes of callee-saved registers that the function prologue pushes."""
MOST_PAIR = 1020
"""Largest immediate offset of a load of two words."""
UNPACKED = 0xFF00FF00


@dataclass(frozen=True)
class Take:
    """One input row of the window and its uses: pairs of a weight row and the output row that it accumulates into."""

    row: int
    uses: tuple[tuple[int, int], ...]


ONE = (Take(0, ((0, 0),)), Take(1, ((1, 0),)), Take(2, ((2, 0),)))
"""Input rows and their uses for one output row."""
TWO = {
    1: (Take(0, ((0, 0),)), Take(1, ((0, 1), (1, 0))), Take(2, ((1, 1), (2, 0))), Take(3, ((2, 1),))),
    2: (
        Take(0, ((0, 0),)),
        Take(2, ((0, 1),)),
        Take(1, ((1, 0),)),
        Take(3, ((1, 1),)),
        Take(2, ((2, 0),)),
        Take(4, ((2, 1),)),
    ),
}
"""Input rows and their uses for two output rows, by stride, in an order that loads each weight row once."""


@dataclass(frozen=True)
class Inputs:
    """Which input rows are read, and the layout of their lines and rows in memory."""

    takes: tuple[Take, ...]
    line: int
    """Bytes of a channel's line."""
    row: int | None
    """Bytes from one row to the next; None: rows at any address."""

    @property
    def outs(self) -> int:
        """Output rows that are computed at once."""
        return 1 if self.takes is ONE else 2

    @property
    def far(self) -> bool:
        """Whether rows are farther apart than the immediate offsets of loads."""
        return self.row is not None and max(take.row for take in self.takes) * self.row + 8 > MOST_OFFSET


@dataclass(frozen=True)
class Outputs:
    """Store instruction and strides, in bytes, of the outputs."""

    store: str
    pixel: int
    """Bytes from one output to the next."""
    block: int
    """Bytes from one block of four outputs to the next."""
    row: int | None
    """Bytes from the first output row to the second; None: read from the stack."""
    channel: int
    """Bytes from one channel to the next, a power of two."""


@dataclass(frozen=True)
class Shape:
    """Decomposition of an output row: blocks of four, then at most one smaller one."""

    fours: int
    last: Block | None
    stride: int
    """Input columns from one output to the next."""

    @property
    def four(self) -> Block:
        return Block(3, self.stride, 4, 0, range(3 * self.stride + 3))

    @property
    def used(self) -> int:
        """Bytes of a line before the last block."""
        return 4 * self.stride * self.fours


def code(shape: Shape, inputs: Inputs, outputs: Outputs, weights: Weights, form: str, shift: int) -> list[str]:
    """A function with four arguments: inputs, records (or the parameters, if biases are separate), outputs, number of
    channels; and for rows at any address, row distances and masks. One output row is always computed from rows at any
    address: masks zero the weights of rows outside the image."""
    frame = FRAME if inputs.row is not None else SCATTERED
    biases = frame if weights is Weights.B8 else None
    frame += 0 if biases is None else 4
    return [
        *enter(frame),
        *(_row_distances(inputs, frame) if inputs.row is None else []),
        *(
            []
            if biases is None
            else [f"ldr r12, [r1, #{BIASES}]", f"ldr r1, [r1, #{TABLE}]", f"str r12, [sp, #{biases}]"]
        ),
        f"str r1, [sp, #{RECORDS}]",
        f"add r3, r2, r3, lsl #{outputs.channel.bit_length() - 1}",
        f"strd r2, r3, [sp, #{CHANNEL}]",
        "1:",
        *_record(weights, form, biases, masked=inputs.outs == 1),
        *_fours(shape, inputs, outputs, form, shift),
        *_last(shape, inputs, outputs, form, shift),
        f"ldrd r9, r10, [sp, #{CHANNEL}]",
        *plus_parts("r9", "r9", outputs.channel),
        f"str r9, [sp, #{CHANNEL}]",
        "cmp r9, r10",
        "bne.w 1b",
        *leave(frame),
    ]


def _row_distances(inputs: Inputs, frame: int) -> list[str]:
    count = 1 + len(inputs.takes) + (inputs.outs == 1)
    registers = f"{{r4-r{3 + count}}}"
    return [
        f"ldr r12, [sp, #{SAVED + frame}]",
        f"ldm r12, {registers}",
        f"add r12, sp, #{SECOND}",
        f"stm r12, {registers}",
    ]


def _record(weights: Weights, form: str, biases: int | None, *, masked: bool) -> list[str]:
    """Load a channel's record, unpack its weights to 16 bits, and store it on the stack. `biases`: stack offset of the
    pointer to the next bias, if biases are separate."""
    last = "r10" if form == "linear" else "r9"
    load = [f"ldr r12, [sp, #{RECORDS}]"]
    store = [f"str r12, [sp, #{RECORDS}]", *(_masked() if masked else []), f"stm sp, {{r1-{last}}}"]
    if weights is Weights.W16:
        return [*load, f"ldm r12!, {{r1-{last}}}", *store]
    words = [text for k in (3, 5, 7) for text in (f"and r{k - 1}, lr, r{k}, lsl #8", f"and r{k}, lr, r{k}")]
    at = f"[sp, #{biases}]"
    bias = [] if biases is None else [f"ldr lr, {at}", "ldr r1, [lr], #4", f"str lr, {at}"]
    return [*load, f"mov lr, #{UNPACKED:#x}", f"ldm r12!, {{r1, r3, r5, r7-{last}}}", *words, *bias, *store]


def _masked() -> list[str]:
    """Zero the weights of window rows outside the image, so that whatever is read for these rows does not count."""
    loads = [f"ldr r11, [sp, #{MASKS[0]}]", f"ldr r12, [sp, #{MASKS[1]}]"]
    return [*loads, "and r2, r2, r11", "and r3, r3, r11", "and r6, r6, r12", "and r7, r7, r12"]


def _fours(shape: Shape, inputs: Inputs, outputs: Outputs, form: str, shift: int) -> list[str]:
    """Code for the blocks of four; after more than one, the stack slot OUT has the address of the last block's
    outputs."""
    step = 4 * shape.stride
    skip = plus_parts("r0", "r0", inputs.line - shape.used) if shape.last is None else []
    outs = inputs.outs
    four = [*_sums(shape.four, inputs, step), *_bytes(outs, 4, form, shift)]
    if shape.fours < 2:
        return [*four, f"ldr r9, [sp, #{CHANNEL}]", *_stores(outs, 4, 0, outputs), *skip] if shape.fours else []
    return [
        f"ldr r9, [sp, #{CHANNEL}]",
        *plus_parts("r10", "r9", shape.fours * outputs.block),
        f"strd r9, r10, [sp, #{OUT}]",
        "2:",
        *four,
        f"ldrd r9, r10, [sp, #{OUT}]",
        *_stores(outs, 4, 0, outputs),
        *plus_parts("r9", "r9", outputs.block),
        f"str r9, [sp, #{OUT}]",
        "cmp r9, r10",
        "bne.w 2b",
        *skip,
    ]


def _last(shape: Shape, inputs: Inputs, outputs: Outputs, form: str, shift: int) -> list[str]:
    if shape.last is None:
        return []
    count, several = shape.last.outputs, shape.fours > 1
    at = 0 if several else shape.fours * outputs.block
    near = at + outputs.pixel * (count - 1) <= MOST_OFFSET
    return [
        *_sums(shape.last, inputs, inputs.line - shape.used),
        *_bytes(inputs.outs, count, form, shift),
        f"ldr r9, [sp, #{OUT if several else CHANNEL}]",
        *([] if near else plus_parts("r9", "r9", at)),
        *_stores(inputs.outs, count, at if near else 0, outputs),
    ]


def _sums(block: Block, inputs: Inputs, step: int) -> list[str]:
    """All sums of a block; the input pointer advances by `step` bytes. The next input row is loaded before the last
    products of a row, for cores with load latency."""
    started: set[str] = set()
    bias, weights = _sum(inputs.outs - 1, block.outputs - 1), 0
    takes = inputs.takes
    rows = [_loads(block, _offset(inputs, take, step) if n else 0, 0 if n else step) for n, take in enumerate(takes)]
    lines = [f"ldm sp, {{{bias}, r9, r10}}", *rows[0].words]
    for n, (take, loads) in enumerate(zip(takes, rows, strict=True)):
        for use, (k, out) in enumerate(take.uses):
            if k != weights:
                weights = k
                lines.append(f"ldrd r9, r10, [sp, #{4 + 8 * k}]")
            early, late = _multiplied(block, out, loads if use == 0 else None, started, bias)
            if use + 1 < len(take.uses):
                lines += [*early, *late]
        after = takes[n + 1].row if n + 1 < len(takes) else 0
        way = _to_next_row(inputs, n, after - take.row)
        lines += [*early, *_interleaved(late, way, rows[n + 1].words if n + 1 < len(rows) else [])]
    return lines


def _offset(inputs: Inputs, take: Take, step: int) -> int:
    """Offset of an input row from the pointer, which has already advanced by `step`."""
    return -step if inputs.row is None or inputs.far else take.row * inputs.row - step


def _to_next_row(inputs: Inputs, number: int, rows: int) -> list[str]:
    """Instructions that move the input pointer to the next row."""
    if inputs.row is None:
        return [f"ldr r11, [sp, #{WAYS + 4 * number}]", "add r0, r0, r11"]
    return plus_parts("r0", "r0", rows * inputs.row) if inputs.far else []


def _interleaved(products: list[str], way: list[str], loads: list[str]) -> list[str]:
    """Interleave: loads as early as possible and together, after products that separate them from the address
    computation."""
    beginning, rest = products[: len(way)], products[len(way) :]
    mixed = [text for pair in zip_longest(way, beginning, fillvalue="") for text in pair if text]
    return [*mixed, *loads, *rest]


@dataclass(frozen=True)
class Loads:
    """Instructions that provide one input row of a block: loads of words (`words`), unpacking of pairs 0 and 1
    (`first`) and of pair 2 (`second`), or of pairs 2, 3 and 4 into registers of earlier ones (`more`)."""

    words: list[str]
    first: list[str]
    second: list[str]
    more: list[str]


def _loads(block: Block, offset: int, step: int) -> Loads:
    """Loads `offset` bytes from the input pointer; `step`: post-increment of the pointer."""
    pairs = {p.pair for p in block.products}
    single = max(pairs) < 2
    if single:
        words = [f"ldr r11, [r0], #{step}" if step else f"ldr r11, [r0, #{offset}]"]
    elif step:
        words = [f"ldrd r11, lr, [r0], #{step}"]
    elif abs(offset) <= MOST_PAIR:
        words = [f"ldrd r11, lr, [r0, #{offset}]"]
    else:
        words = [f"ldr r11, [r0, #{offset}]", f"ldr lr, [r0, #{offset + 4}]"]
    first = (["uxtb16 r12, r11, ror #8"] if 1 in pairs else []) + ["uxtb16 r11, r11"]
    if block.stride == 1:
        return Loads(words, first, [] if single else ["uxtb16 lr, lr"], [])
    more = [] if single else ["uxtb16 r11, lr"]
    more += ["uxtb16 r12, lr, ror #8"] if 3 in pairs else []
    more += [f"ldrb lr, [r0, #{offset + 8 - step}]"] if 4 in pairs else []
    return Loads(words, first, [], more)


ORDER = {1: (0, 2, 1), 2: (0, 1, 2, 4, 3)}
"""Order in which the pairs of an input row are multiplied, by stride: the last one leaves the registers of loads
free."""


def _multiplied(
    block: Block, out: int, loads: Loads | None, started: set[str], bias: str
) -> tuple[list[str], list[str]]:
    """Products of an input row, unpacking its inputs on first use, split into those before and after the next row's
    loads can start; `started`: sums that already have a product."""
    order = ORDER[block.stride]
    products = sorted(block.products, key=lambda p: order.index(p.pair))
    parts: tuple[list[str], list[str]] = (list(loads.first) if loads else [], [])
    last, more = products[-1].pair, loads.more if loads else []
    for n, p in enumerate(products):
        late = p.pair == last and _place(block, last) == "r12"
        if p.pair >= 2 and more:
            parts[0].extend(more)
            more = []
        to = _sum(out, p.output)
        product = f"{_op(block, p)} {to}, {_place(block, p.pair)}, r{9 + p.word}, {to if to in started else bias}"
        parts[late].append(product)
        started.add(to)
        parts[0].extend(loads.second if loads and n == 0 else [])
    return parts


def _op(block: Block, product: Product) -> str:
    """The instruction of a product. Words of weights overlap for both strides: the third weight is the upper half of
    the second word."""
    return "smlabt" if block.stride == 2 and product.word == 1 else product.op


def _place(block: Block, pair: int) -> str:
    order = ("r11", "r12", "lr") if block.stride == 1 else ("r11", "r12", "r11", "r12", "lr")
    return order[pair]


def _sum(out: int, output: int) -> str:
    return f"r{1 + 4 * out + output}"


def _bytes(outs: int, count: int, form: str, shift: int) -> list[str]:
    """Requantize all sums to bytes; the instructions of adjacent sums are interleaved."""
    sums = [_sum(out, j) for out in range(outs) for j in range(count)]
    fix = "r11" if form == "linear" else ""
    steps = [scaled(register, "r9", "r10", fix, ("lr", "r12")[i % 2]) for i, register in enumerate(sums)]
    cut = [[f"ssat {register}, #8, {register}, asr #{shift}"] for register in sums]
    both: Iterator[tuple[list[str], list[str]]] = zip_longest(steps, [[], *cut], fillvalue=[])
    constants = ["ldrd r9, r10, [sp, #28]", *(["ldr r11, [sp, #36]"] if form == "linear" else [])]
    return [*constants, *(text for parts in both for part in parts for text in part)]


def _stores(outs: int, count: int, at: int, outputs: Outputs) -> list[str]:
    """Store the outputs, `at` bytes after r9."""
    places = [at + outputs.pixel * j for j in range(count)]
    first = [f"{outputs.store} {_sum(0, j)}, [r9, #{place}]" for j, place in enumerate(places)]
    if outs == 1:
        return first
    if outputs.row is not None and outputs.row + places[-1] <= MOST_OFFSET:
        base, far, way = "r9", outputs.row, []
    elif outputs.row is not None:
        base, far, way = "r11", 0, plus_parts("r11", "r9", outputs.row)
    else:
        base, far, way = "r11", 0, [f"ldr r11, [sp, #{SECOND}]", "add r11, r11, r9"]
    second = [f"{outputs.store} {_sum(1, j)}, [{base}, #{far + place}]" for j, place in enumerate(places)]
    return [*way, *first, *second]
