"""Assembly of `mote_depthwise_wide_s8.h`. The products of a block of outputs depend on the window, its stride and its
padding, so the code of one window row is generated for each shape that a model needs.

A line's values are packed two to a word, pairs (x0, x1), (x2, x3), .., and so are the weights. Output j of a block
multiplies input pair i with the weights from d on, d = 2 i - stride j + left, where `left` is the padding that is not
stored. Stride 1 needs weight words for even and odd d, (w0, w1), (w1, w2), ..; stride 2 only for even d. Pairs and
products of padding are omitted. 8-bit weights are unpacked on load, and the sums are scaled at the end. For long window
rows (`spares`) only words for even d are stored, as for stride 2: the others are assembled from the halves of two.

Registers: r0 the weights, r1 the block's offset in its line, sums from r4 on, the others for inputs and weights: either
all weights of a window row stay in registers and inputs are streamed, or the other way round, whichever is shorter.

Input rows are at any address, with pointers to them on the stack; or (`near`) contiguous: then r1 points into the
block's next row, and the distance to the one after is a constant in the code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from mote.compiler.kernels.armv7em.depthwise.records import MOST_STORED, Weights
from mote.compiler.kernels.armv7em.ordering.schedule import Order, ordered, rearranged
from mote.compiler.kernels.assembly import MOST_OFFSET, enter, leave, plus_parts, scaled

RECORD, ENTRY, STOP, WIDE, ROWS, FRAME = 8, 16, 24, 28, 40, 68
"""Stack offsets of fields of `mote_wide_frame_t`, and its size."""
MOST_OUTPUTS = 6
WITHOUT_SUM = {"smlad": "smuad", "smladx": "smuadx", "smlatb": "smultb", "smlabt": "smulbt", "smlabb": "smulbb"}


@dataclass(frozen=True)
class Product:
    """One multiply-accumulate of an output's sum, of two inputs or one; `word`: index of the weight word."""

    output: int
    pair: int
    word: int
    op: str


@dataclass(frozen=True)
class Block:
    """A block of adjacent outputs; `pixels`: the positions in the line, relative to the block's first, that hold
    pixels."""

    kernel: int
    stride: int
    outputs: int
    left: int
    pixels: range
    weights: Weights = Weights.W16
    near: int = 0
    """Bytes from one row to the next if rows are contiguous; 0: rows at any address."""

    @cached_property
    def products(self) -> list[Product]:
        pairs = range(self.pixels.start // 2, -(-self.pixels.stop // 2))
        products = [self._product(j, i) for i in pairs for j in range(self.outputs)]
        return [product for product in products if product]

    @property
    def spares(self) -> bool:
        """Whether weight words for odd d are not stored but assembled in registers."""
        return self.stride == 1 and self.weights is Weights.W8 and self.kernel > MOST_STORED

    def _product(self, output: int, pair: int) -> Product | None:
        d = 2 * pair - self.stride * output + self.left
        if self.spares and 0 <= d < self.kernel and (d % 2 or d == self.kernel - 1):
            word, kind = (d, "smlad") if d % 2 == 0 else (d - 1, "smlabt") if d == self.kernel - 1 else (d, "smladx")
            return Product(output, pair, word, kind) if d < self.kernel - 1 or 2 * pair in self.pixels else None
        if self.stride == 2:
            return Product(output, pair, d // 2, "smlad") if 0 <= d < self.kernel else None
        if d == -1:
            return Product(output, pair, 0, "smlatb") if 2 * pair + 1 in self.pixels else None
        if d == self.kernel - 1:
            op = ("smlabt", d - 1) if d else ("smlabb", 0)
            return Product(output, pair, op[1], op[0]) if 2 * pair in self.pixels else None
        return Product(output, pair, d, "smlad") if 0 <= d < self.kernel else None

    @property
    def weight_words(self) -> int:
        """Weight words of a window row, once unpacked."""
        words = (self.kernel + 1) // 2 if self.stride == 2 else max(self.kernel - 1, 1)
        return words if self.weights is Weights.W16 else words + words % 2

    @cached_property
    def words(self) -> range:
        """Indices of the line's words that are read."""
        return range(self.products[0].pair // 2, self.products[-1].pair // 2 + 1)

    @property
    def free(self) -> list[str]:
        """Registers that are available for inputs and weights, in order of use."""
        return ["r2", "r3", *(f"r{i}" for i in range(4 + self.outputs, 13)), "lr"]

    @cached_property
    def row(self) -> Row | None:
        """The code for a window row; None: too few registers."""
        if self.outputs > MOST_OUTPUTS or not self.products:
            return None
        tried = (self._weights_assembled(),) if self.spares else (self._pairs_stay(), self._weights_stay())
        rows = [row for row in tried if row]
        return min(rows, key=lambda row: len(row.lines("0", first=False)), default=None)

    def _inputs(self, row: Row) -> tuple[dict[int, str], list[str]] | None:
        """Load and unpack all inputs: registers of the input pairs, and registers that remain; None: too few."""
        free = self.free
        words = dict(zip(self.words, free, strict=False))
        row.load_line(self.words, free)
        free = free[len(words) :]
        pairs: dict[int, str] = {}
        needed = {p.pair for p in self.products}
        for word, register in words.items():
            if {2 * word, 2 * word + 1} <= needed and not free:
                return None
            row.unpack(word, needed, register, free, pairs)
        return pairs, free

    def _weights_assembled(self) -> Row | None:
        """Unpack all inputs first, then stream the weights; words for odd d are assembled in place of the previous
        word."""
        row = Row(self.outputs, self.near)
        inputs = self._inputs(row)
        if inputs is None or len(inputs[1]) < 3:
            return None
        pairs, (now, behind, spare, *_) = inputs
        row.load_weights([now, behind], self.weights)
        for word in range(0, self.kernel, 2):
            row.multiply_all([p for p in self.products if p.word == word], pairs, now)
            after = ""
            if word % 4 == 2 and word + 2 < self.kernel:
                behind, after = spare, next(r for r in (*inputs[1][:3],) if r not in (now, spare))
                row.load_weights([behind, after], self.weights)
            if odd := [p for p in self.products if p.word == word + 1]:
                row.assemble(now, behind)
                row.multiply_all(odd, pairs, now)
            now, behind, spare = behind, after or behind, now
        return row

    def _pairs_stay(self) -> Row | None:
        """Unpack all inputs first, then stream the weights, as many at a time as registers remain."""
        row = Row(self.outputs, self.near)
        inputs = self._inputs(row)
        if inputs is None:
            return None
        pairs, free = inputs
        free = free[: len(free) if self.weights is Weights.W16 else len(free) // 2 * 2]
        if not free:
            return None
        for at in range(0, self.weight_words, len(free)):
            loaded = range(at, min(at + len(free), self.weight_words))
            row.load_weights(free[: len(loaded)], self.weights)
            for p in sorted(self.products, key=lambda p: p.word):
                if p.word in loaded:
                    row.multiply(p, pairs[p.pair], free[p.word - at])
        return row

    def _weights_stay(self) -> Row | None:
        """Load all weights first, then stream the inputs, as many words at a time as registers remain."""
        row, free = Row(self.outputs, self.near), self.free
        weights, free = free[len(free) - self.weight_words :], free[: len(free) - self.weight_words]
        if len(free) < 3 or len(weights) < self.weight_words:
            return None
        row.load_weights(weights, self.weights)
        rest = list(self.words)
        pointer = "" if self.near else free[0]
        while rest:
            room = len(free) - 1 if self.near or len(rest) < len(free) else len(free) - 2
            now, rest = rest[:room], rest[room:]
            registers = free[: len(now)] if self.near or not rest else free[1 : 1 + len(now)]
            if self.near:
                row.load_near([word - self.words[0] for word in now], registers, more=bool(rest))
            elif now[0] == self.words[0]:
                row.load_line(now, registers, pointer, more=bool(rest))
            else:
                row.load(now, registers, pointer, more=bool(rest))
            for word, register in zip(now, registers, strict=True):
                spare = [r for r in free if r not in registers and (r != pointer or not rest)]
                pairs: dict[int, str] = {}
                row.unpack(word, {p.pair for p in self.products}, register, spare, pairs)
                for p in self.products:
                    if p.pair in pairs:
                        row.multiply(p, pairs[p.pair], weights[p.word])
        return row


class Row:
    """Instructions with which one window row contributes to a block of outputs."""

    def __init__(self, outputs: int, near: int) -> None:
        self.outputs, self.near = outputs, near
        self._steps: list[str | tuple[Product, str, str]] = []

    def multiply(self, product: Product, pair: str, weights: str) -> None:
        self._steps.append((product, pair, weights))

    def multiply_all(self, products: Sequence[Product], pairs: dict[int, str], weights: str) -> None:
        for product in products:
            self.multiply(product, pairs[product.pair], weights)

    def assemble(self, word: str, behind: str) -> None:
        """Assemble the weight word between two stored ones, in the register of the first, with its halves swapped."""
        self._steps.append(f"pkhbt {word}, {behind}, {word}")

    def load_line(
        self, words: Sequence[int], registers: Sequence[str], pointer: str = "", *, more: bool = False
    ) -> None:
        """Load the first words of the line through the row's pointer, in stack slot SLOT."""
        if self.near:
            self.load_near([word - words[0] for word in words], registers, more=more)
            return
        pointer = pointer or registers[0]
        self._steps.append(f"ldr.w {pointer}, [sp, #SLOT]")
        if len(words) == 1 and not more:
            self._steps.append(f"ldr.w {registers[0]}, [{pointer}, r1]")
        else:
            self._steps.append(f"add.w {pointer}, {pointer}, r1")
            self.load(words, registers, pointer, more=more)

    def load_near(self, words: Sequence[int], registers: Sequence[str], *, more: bool) -> None:
        """Load words of the line at r1, two at a time; unless `more` follow, r1 advances to the next row's line."""
        loads = list(zip(words, registers, strict=False))
        for pair in (loads[i : i + 2] for i in range(0, len(loads), 2)):
            op = "ldrd" if len(pair) == 2 else "ldr.w"
            self._steps.append(f"{op} {', '.join(register for _, register in pair)}, [r1, #{4 * pair[0][0]}]")
        self._steps += [] if more else [_four_bytes(text) for text in plus_parts("r1", "r1", self.near)]

    def load(self, words: Sequence[int], registers: Sequence[str], pointer: str, *, more: bool) -> None:
        """Load the next words; `more`: advance the pointer, because others follow."""
        self._steps.append(_load(pointer, registers[: len(words)], more))

    def load_weights(self, registers: Sequence[str], weights: Weights) -> None:
        """Load the next weight words; of 8-bit weights, two words come in one and are unpacked."""
        self._steps.append(_load("r0", registers if weights is Weights.W16 else registers[::2], True))
        for first, second in zip(registers[::2], registers[1::2], strict=True) if weights is Weights.W8 else ():
            self._steps += [f"sxtb16 {second}, {first}, ror #8", f"sxtb16 {first}, {first}"]

    def unpack(self, word: int, needed: set[int], register: str, free: list[str], pairs: dict[int, str]) -> None:
        """Unpack the needed pairs of a word; if both are needed, the second takes a free register."""
        low, high = (2 * word + half in needed for half in (0, 1))
        if high:
            pairs[2 * word + 1] = free.pop(0) if low else register
            self._steps.append(f"uxtb16 {pairs[2 * word + 1]}, {register}, ror #8")
        if low:
            pairs[2 * word] = register
            self._steps.append(f"uxtb16 {register}, {register}")

    @property
    def bias(self) -> str:
        """Register that holds the bias before the first window row: that of the sum that starts last."""
        started = dict.fromkeys(step[0].output for step in self._steps if isinstance(step, tuple))
        return _sum(list(started)[-1])

    def lines(self, slot: str, *, first: bool, bias: str = "") -> list[str]:
        """The instructions as text. `first`: this is the first window row, whose sums start from `bias`, or from zero
        if empty."""
        starting = {_sum(step[0].output) for step in self._steps if isinstance(step, tuple)} if first else set()
        without = [_sum(j) for j in range(self.outputs) if first and _sum(j) not in starting]
        lines = [f"mov.w {register}, {bias or '#0'}" for register in without]
        for step in self._steps:
            if isinstance(step, str):
                lines.append(step.replace("SLOT", slot))
                continue
            product, pair, weights = step
            to = _sum(product.output)
            if to in starting and not bias:
                lines.append(f"{WITHOUT_SUM[product.op]} {to}, {pair}, {weights}")
            else:
                lines.append(f"{product.op} {to}, {pair}, {weights}, {bias if to in starting else to}")
            starting.discard(to)
        return lines


def _four_bytes(addition: str) -> str:
    """Force the 4-byte encoding: the code of all window rows must have equal size."""
    number = int(addition.split("#")[1])
    return addition.replace("add", "addw" if number <= MOST_OFFSET else "add.w")


def _sum(output: int) -> str:
    return f"r{4 + output}"


def _load(pointer: str, registers: Sequence[str], update: bool) -> str:
    if len(registers) == 1:
        return f"ldr.w {registers[0]}, [{pointer}]" + (", #4" if update else "")
    if len(registers) == 2 and pointer != "r0":
        return f"ldrd {registers[0]}, {registers[1]}, [{pointer}]" + (", #8" if update else "")
    return f"ldm.w {pointer}{'!' if update else ''}, {{{', '.join(registers)}}}"


def code(
    block: Block,
    rows: int,
    channels: int,
    form: str,
    shift: int,
    record: int,
    line: int = 0,
    order: Order = Order.WRITTEN,
) -> tuple[str, ...]:
    """A function that computes all channels of an output row: one block of each, in lines of `line` bytes, or, if
    `line` is 0, several consecutive blocks of each. `rows`: the most window rows inside the image; `record`: bytes of a
    channel's record; `order`: instruction schedule."""
    return ordered(tuple(_code(block, rows, channels, form, shift, record, line, order)), order, _between(block))


def _between(block: Block) -> frozenset[str]:
    """Registers that are live from one window row to the next."""
    return frozenset({"r0", "r1", *(_sum(j) for j in range(block.outputs))})


def _next_row(block: Block, slot: int, order: Order) -> list[str]:
    """Code of a window row after the first, of constant size because it is a jump target."""
    assert block.row is not None
    lines = block.row.lines(str(slot), first=False)
    return [_wide(text) for text in rearranged(lines, _between(block), frozenset(), order)] if order else lines


def _wide(text: str) -> str:
    """Force the 4-byte encoding of an instruction."""
    name, _, rest = text.partition(" ")
    if name in ("add", "sub") and "#" in rest:
        return _four_bytes(text) if name == "add" else f"subw {rest}"
    return f"{name}.w {rest}" if name in ("ldr", "add", "sub", "mov") else text


def _code(
    block: Block, rows: int, channels: int, form: str, shift: int, record: int, line: int, order: Order
) -> list[str]:
    row = block.row
    assert row is not None
    sums = [_sum(j) for j in range(block.outputs)]
    bias = row.bias if block.weights is Weights.W16 else ""
    chain = [text for i in range(1, rows) for text in _next_row(block, ROWS + 4 * i, order)]
    back = [f"ldr r3, [sp, #{ROWS}]", "sub r1, r1, r3"] if block.near else []
    return [
        *enter(FRAME),
        "mov r11, sp",
        "ldm r0!, {r1-r10}",
        "stm r11!, {r1-r10}",
        "ldm r0, {r1-r7}",
        "stm r11, {r1-r7}",
        f"ldrd r5, r1, [sp, #{ENTRY}]",
        "adr.w r4, 2f",
        "sub r4, r4, r5",
        "orr r4, r4, #1",
        f"str r4, [sp, #{ENTRY}]",
        "1:",
        f"ldrd r0, r3, [sp, #{RECORD}]",
        *([f"ldr {row.bias}, [r0]"] if bias else []),
        "add r0, r0, r3",
        *row.lines(str(ROWS), first=True, bias=bias),
        f"ldr pc, [sp, #{ENTRY}]",
        *chain,
        "2:",
        f"ldr r0, [sp, #{RECORD}]",
        *([] if bias else ["ldr r3, [r0]", *(f"add {register}, r3, {register}, lsl #8" for register in sums)]),
        "ldrd r10, r11, [r0, #4]",
        *(["ldr r12, [r0, #12]"] if form == "linear" else []),
        *(text for register in sums for text in scale(register, form)),
        *back,
        *(f"ssat {register}, #8, {register}, asr #{shift}" for register in sums),
        "ldrd r10, lr, [sp]",
        *(f"strb {register}, [r10, #{channels * j}]" for j, register in enumerate(sums) if j),
        *(_next_channel(record, line) if line else _next_block(block, channels, record)),
        *leave(FRAME),
    ]


def row_bytes(block: Block, order: Order = Order.WRITTEN) -> int:
    """Code size of a window row in bytes."""
    return 4 * len(_next_row(block, ROWS, order))


def scale(register: str, form: str) -> list[str]:
    """Requantize a sum: times r10, plus r11; `linear`: also plus r12 unless the sum is negative."""
    return scaled(register, "r10", "r11", "r12" if form == "linear" else "", "lr")


def _next_channel(record: int, line: int) -> list[str]:
    return [
        "strb r4, [r10], #1",
        "cmp r10, lr",
        "str r10, [sp]",
        f"add r0, r0, #{record}",
        f"str r0, [sp, #{RECORD}]",
        f"add r1, r1, #{line}",
        "bne 1b",
    ]


def _next_block(block: Block, channels: int, record: int) -> list[str]:
    return [
        f"ldr r3, [sp, #{STOP}]",
        "strb r4, [r10]",
        f"add r1, r1, #{4 * block.stride}",
        *plus_parts("r10", "r10", 4 * channels),
        "cmp r1, r3",
        "str r10, [sp]",
        "bne 1b",
        f"add r2, sp, #{WIDE}",
        "ldm r2, {r2, r5, r6}",
        "sub r10, r10, r2",
        "add r1, r1, r5",
        "add r3, r3, r6",
        "cmp r10, lr",
        "str r10, [sp]",
        f"str r3, [sp, #{STOP}]",
        f"add r0, r0, #{record}",
        f"str r0, [sp, #{RECORD}]",
        "bne 1b",
    ]
