"""The assembly of `mote_depthwise_two_s8.h`: 3x3 windows over planar rows, two rows of outputs at once.

Where strides are 1, a row of inputs that lies under both rows of outputs is loaded and unpacked once; every weight is
loaded once for all eight outputs of a block. How far it is from one row to the next is built into the code, or comes
from the stack where rows lie anywhere.

Registers: r0 the inputs, r1-r4 the sums of the first row of outputs and r5-r8 those of the second, r9 and r10 weights,
(w0, w1) and (w1, w2), then r11, r12 and lr for inputs. Instructions for different units follow one another where they
can, for cores that start two at once; no result is the next instruction's address.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from mote.compiler.kernels.armv7em.depthwise.depthwise_wide_assembly import Block, Product, add
from mote.compiler.kernels.armv7em.depthwise.records import Weights

OUT, LIMIT, RECORDS, CHANNEL, FRAME = 40, 44, 48, 52, 60
"""Where on the stack, behind the record of a channel, the next output lies, where a row's blocks of four end, the next
record, and the channel's first output with where that of the channel behind the last one would be; and the size of all
of that."""
SECOND, WAYS, SCATTERED = 60, 64, 88
"""For rows that lie anywhere: how far it is from the first row of outputs to the second, and from one row of inputs to
the one that is taken next; and the size of all."""
MASKS = 60, 76
"""For one row of outputs: what is left of the weights of the first row of the window, and of the last, in the place of
some of these."""
TABLE, BIASES = 0, 56
"""Where in `mote_planar_apart_t` the records and the biases are, if these lie apart."""
SAVED = 36
"""Bytes of registers that a function saves."""
MOST_OFFSET, MOST_PAIR = 4095, 1020
"""Of a load of one word, and of two."""
UNPACKED = 0xFF00FF00


@dataclass(frozen=True)
class Take:
    """A row of the window's inputs and what it is for: rows of the weights, each with the row of outputs whose sums
    it adds to."""

    row: int
    uses: tuple[tuple[int, int], ...]


ONE = (Take(0, ((0, 0),)), Take(1, ((1, 0),)), Take(2, ((2, 0),)))
"""For one row of outputs."""
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
"""For two, by the stride, in an order in which the weights of a row are loaded once."""


@dataclass(frozen=True)
class Inputs:
    """How the rows of inputs lie."""

    takes: tuple[Take, ...]
    line: int
    """Bytes of a channel's line."""
    row: int | None
    """Bytes from one row to the next; None: they lie anywhere."""

    @property
    def outs(self) -> int:
        """Rows of outputs."""
        return 1 if self.takes is ONE else 2

    @property
    def far(self) -> bool:
        """Whether rows are too far apart for the offsets of loads."""
        return self.row is not None and max(take.row for take in self.takes) * self.row + 8 > MOST_OFFSET


@dataclass(frozen=True)
class Outputs:
    """Where outputs go, and as what."""

    store: str
    pixel: int
    """Bytes from one output to the next."""
    block: int
    """And from one block of four to the next."""
    row: int | None
    """And from the first row to the second; None: that is on the stack."""
    channel: int
    """And from one channel to the next, a power of two."""


@dataclass(frozen=True)
class Shape:
    """A row of outputs: blocks of four, then perhaps a smaller one."""

    fours: int
    last: Block | None
    stride: int
    """From one output to the next."""

    @property
    def four(self) -> Block:
        return Block(3, self.stride, 4, 0, range(3 * self.stride + 3))

    @property
    def used(self) -> int:
        """Bytes of a line before the last block."""
        return 4 * self.stride * self.fours


def code(shape: Shape, inputs: Inputs, outputs: Outputs, weights: Weights, form: str, shift: int) -> list[str]:
    """A function of inputs, records (parameters, where biases lie apart), outputs and how many channels, and of ways
    and masks where rows lie anywhere. One row of outputs is always from rows that lie anywhere: the first and the last
    may have no weight."""
    frame = FRAME if inputs.row is not None else SCATTERED
    biases = frame if weights is Weights.B8 else None
    frame += 0 if biases is None else 4
    return [
        "push {r4-r11, lr}",
        f"sub sp, sp, #{frame}",
        *(_ways(inputs, frame) if inputs.row is None else []),
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
        *add("r9", "r9", outputs.channel),
        f"str r9, [sp, #{CHANNEL}]",
        "cmp r9, r10",
        "bne.w 1b",
        f"add sp, sp, #{frame}",
        "pop {r4-r11, pc}",
    ]


def _ways(inputs: Inputs, frame: int) -> list[str]:
    count = 1 + len(inputs.takes) + (inputs.outs == 1)
    registers = f"{{r4-r{3 + count}}}"
    return [
        f"ldr r12, [sp, #{SAVED + frame}]",
        f"ldm r12, {registers}",
        f"add r12, sp, #{SECOND}",
        f"stm r12, {registers}",
    ]


def _record(weights: Weights, form: str, biases: int | None, *, masked: bool) -> list[str]:
    """The record of a channel, with weights of 16 bits, on the stack; `biases`: where that has the pointer to the next
    one, if they lie apart."""
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
    """Weights of rows that are not there are zero: what is read instead does not count."""
    loads = [f"ldr r11, [sp, #{MASKS[0]}]", f"ldr r12, [sp, #{MASKS[1]}]"]
    return [*loads, "and r2, r2, r11", "and r3, r3, r11", "and r6, r6, r12", "and r7, r7, r12"]


def _fours(shape: Shape, inputs: Inputs, outputs: Outputs, form: str, shift: int) -> list[str]:
    """Blocks of four; more than one leave at OUT where the last block's outputs go."""
    step = 4 * shape.stride
    skip = add("r0", "r0", inputs.line - shape.used) if shape.last is None else []
    outs = inputs.outs
    four = [*_sums(shape.four, inputs, step), *_bytes(outs, 4, form, shift)]
    if shape.fours < 2:
        return [*four, f"ldr r9, [sp, #{CHANNEL}]", *_stores(outs, 4, 0, outputs), *skip] if shape.fours else []
    return [
        f"ldr r9, [sp, #{CHANNEL}]",
        *add("r10", "r9", shape.fours * outputs.block),
        f"strd r9, r10, [sp, #{OUT}]",
        "2:",
        *four,
        f"ldrd r9, r10, [sp, #{OUT}]",
        *_stores(outs, 4, 0, outputs),
        *add("r9", "r9", outputs.block),
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
        *([] if near else add("r9", "r9", at)),
        *_stores(inputs.outs, count, at if near else 0, outputs),
    ]


def _sums(block: Block, inputs: Inputs, step: int) -> list[str]:
    """All sums of a block, and the inputs' pointer `step` bytes further on. The next row is loaded before the last
    products of a row, for cores on which a load takes its time."""
    begun: set[str] = set()
    bias, weights = _sum(inputs.outs - 1, block.outputs - 1), 0
    takes = inputs.takes
    rows = [_loads(block, _offset(inputs, take, step) if n else 0, 0 if n else step) for n, take in enumerate(takes)]
    lines = [f"ldm sp, {{{bias}, r9, r10}}", *rows[0].words]
    for n, (take, loads) in enumerate(zip(takes, rows, strict=True)):
        for use, (k, out) in enumerate(take.uses):
            if k != weights:
                weights = k
                lines.append(f"ldrd r9, r10, [sp, #{4 + 8 * k}]")
            early, late = _multiplied(block, out, loads if use == 0 else None, begun, bias)
            if use + 1 < len(take.uses):
                lines += [*early, *late]
        after = takes[n + 1].row if n + 1 < len(takes) else 0
        way = _way(inputs, n, after - take.row)
        lines += [*early, *_mixed(late, way, rows[n + 1].words if n + 1 < len(rows) else [])]
    return lines


def _offset(inputs: Inputs, take: Take, step: int) -> int:
    """How far a row is from the pointer, which has been moved by `step`."""
    return -step if inputs.row is None or inputs.far else take.row * inputs.row - step


def _way(inputs: Inputs, number: int, rows: int) -> list[str]:
    """How the pointer comes to the next row."""
    if inputs.row is None:
        return [f"ldr r11, [sp, #{WAYS + 4 * number}]", "add r0, r0, r11"]
    return add("r0", "r0", rows * inputs.row) if inputs.far else []


def _mixed(products: list[str], way: list[str], loads: list[str]) -> list[str]:
    """Loads as early as they can be, together; but no address just before them, as far as there are products."""
    begun, rest = products[: len(way)], products[len(way) :]
    mixed = [text for pair in zip_longest(way, begun, fillvalue="") for text in pair if text]
    return [*mixed, *loads, *rest]


@dataclass(frozen=True)
class Loads:
    """The instructions for a row's share of a block: loads of words, what makes pairs 0 and 1 of them, pair 2, and
    pairs 2, 3 and 4 in the place of others."""

    words: list[str]
    first: list[str]
    second: list[str]
    more: list[str]


def _loads(block: Block, offset: int, step: int) -> Loads:
    """From so many bytes behind the pointer; `step`: how far that moves."""
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
"""Pairs of a row in the order of their products, by the stride: the last one leaves the registers of loads free."""


def _multiplied(block: Block, out: int, loads: Loads | None, begun: set[str], bias: str) -> tuple[list[str], list[str]]:
    """The products of a row, of which inputs are unpacked where they are not there yet, and those that are left when
    the next row can be loaded; `begun`: which sums are."""
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
        product = f"{_op(block, p)} {to}, {_place(block, p.pair)}, r{9 + p.word}, {to if to in begun else bias}"
        parts[late].append(product)
        begun.add(to)
        parts[0].extend(loads.second if loads and n == 0 else [])
    return parts


def _op(block: Block, product: Product) -> str:
    """Weights overlap for both strides: the third one is a word's second half."""
    return "smlabt" if block.stride == 2 and product.word == 1 else product.op


def _place(block: Block, pair: int) -> str:
    order = ("r11", "r12", "lr") if block.stride == 1 else ("r11", "r12", "r11", "r12", "lr")
    return order[pair]


def _sum(out: int, output: int) -> str:
    return f"r{1 + 4 * out + output}"


def _bytes(outs: int, count: int, form: str, shift: int) -> list[str]:
    """All sums as bytes; what two of them take is mixed."""
    sums = [_sum(out, j) for out in range(outs) for j in range(count)]
    scaled = [_scaled(register, form, ("lr", "r12")[i % 2]) for i, register in enumerate(sums)]
    cut = [[f"ssat {register}, #8, {register}, asr #{shift}"] for register in sums]
    both: Iterator[tuple[list[str], list[str]]] = zip_longest(scaled, [[], *cut], fillvalue=[])
    constants = ["ldrd r9, r10, [sp, #28]", *(["ldr r11, [sp, #36]"] if form == "linear" else [])]
    return [*constants, *(text for parts in both for part in parts for text in part)]


def _scaled(register: str, form: str, spare: str) -> list[str]:
    """A sum times r9, plus r10; linear: plus r11 too where the sum is not negative."""
    if form == "relu":
        return [f"smmla {register}, {register}, r9, r10"]
    return [
        f"bic {spare}, r11, {register}, asr #31",
        f"add {spare}, {spare}, r10",
        f"smmla {register}, {register}, r9, {spare}",
    ]


def _stores(outs: int, count: int, at: int, outputs: Outputs) -> list[str]:
    """From r9 on, and so many bytes."""
    places = [at + outputs.pixel * j for j in range(count)]
    first = [f"{outputs.store} {_sum(0, j)}, [r9, #{place}]" for j, place in enumerate(places)]
    if outs == 1:
        return first
    if outputs.row is not None and outputs.row + places[-1] <= MOST_OFFSET:
        base, far, way = "r9", outputs.row, []
    elif outputs.row is not None:
        base, far, way = "r11", 0, add("r11", "r9", outputs.row)
    else:
        base, far, way = "r11", 0, [f"ldr r11, [sp, #{SECOND}]", "add r11, r11, r9"]
    second = [f"{outputs.store} {_sum(1, j)}, [{base}, #{far + place}]" for j, place in enumerate(places)]
    return [*way, *first, *second]
