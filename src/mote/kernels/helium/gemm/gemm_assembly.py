"""The assembly of `mote_gemm4_s8.h`: groups of four pixels times all channels, two channels at a time.

Sums are in the even core registers, r0, r2, .. r12 and lr, which is what VMLADAV wants: four pixels of one channel,
then four of the next. One STM writes both, so that a vector of four pixels can be loaded for each channel. Pointers and
counters are in odd registers: r1 the weights, r7 the sums in memory, r9 the count of channels, r11 the pixels, r5 and
r3 the same, further on.

Windows whose channels are whole vectors are not gathered: their rows stay where they are, in r1, r3 and r5, and their
columns pass by: each is loaded once for all pixels of the group that it is under. Weights are then in r11.

    [sp] the layer, where sums go, groups left, constants, fours of channels left and in this part, weights, r11;
    [sp, #32] four addresses, of the bytes before the next outputs; [sp, #48] the rows; [sp, #64] what stays while sums
    become bytes; [sp, #80] what is added to addresses behind a group
"""

from __future__ import annotations

from dataclasses import dataclass

from mote.kernels.helium.gemm.schedule import Load, Product, scheduled
from mote.kernels.helium.requantize import Requantize

SUMS = ("r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr")
STORE_SUMS = f"stm r7!, {{{', '.join(SUMS)}}}"
PIXELS = 4
LAYER, TO, GROUPS, CONSTANTS, LEFT, PART, WEIGHTS, KEPT = range(0, 32, 4)
ADDRESSES, ROWS, STAYS, ADVANCE, FRAME = 32, 48, 64, 80, 88
FORWARD, REACH = 508, 1020
"""How far before or behind a pointer a vector of words can be, and the step of pointers."""
POINTERS = ("r11", "r5", "r3")
ROW_POINTERS = ("r1", "r3", "r5")
LOADS = ("vldrw.u32 {q}, [r7], #16",) * 4
STORE_WORDS = "vstrw.32 q4, [q6, #4]!"
BYTES_END = ("sub r11, r11, #4", "vadd.i32 q6, q6, r11", f"ldr r11, [sp, #{KEPT}]")
FEW, FEW_PRODUCTS = 4, 144
"""Vectors of inputs, and inputs, with which the code has four channels one after another."""
LAYER_ADVANCE, LAYER_LANES = 16, 20
"""Where `mote_gemm4_t` has what is added to addresses behind a group, and how sums become bytes."""


def stored_between(pair: list[str], count: int) -> list[str]:
    """So many pairs of channels. Sums reach memory late, so that the next weights are loaded before they are stored."""
    return [*pair, *[line for _ in range(count - 1) for line in (pair[0], STORE_SUMS, *pair[1:])]]


@dataclass(frozen=True)
class Pixels:
    """How pixels lie: `steps` vectors of sixteen inputs each, `apart` bytes from one pixel to the next."""

    steps: int
    apart: int
    count: int = PIXELS
    """Of a group: three, or four. The fourth of three is the third again."""

    @property
    def last(self) -> int:
        """Where the last vector of a group is."""
        return (self.count - 1) * self.apart + 16 * (self.steps - 1)

    @property
    def fits(self) -> bool:
        return self.apart % 4 == 0 and self.last < REACH * len(POINTERS)

    @property
    def origin(self) -> int:
        """Where the first pointer is: further on it reaches backwards too."""
        return 0 if self.last <= FORWARD else FORWARD

    @property
    def resident(self) -> dict[tuple[int, int], str]:
        """The vectors, by step and pixel, that stay in registers for all channels."""
        order = [(k, p) for k in range(self.steps) for p in range(self.count)]
        count = len(order) if len(order) <= 6 else 5
        return {at: f"q{i}" for i, at in enumerate(order[:count])}

    def _place(self, k: int, p: int) -> str:
        base, offset = divmod(p * self.apart + 16 * k, REACH)
        return f"[{POINTERS[base]}, #{offset - self.origin}]"

    def begin(self) -> list[str]:
        """The pointers that are needed, and what stays."""
        more = [f"addw {POINTERS[i]}, r11, #{REACH * i}" for i in range(1, self.last // REACH + 1)]
        return [*more, *(f"vldrw.u32 {q}, {self._place(*at)}" for at, q in self.resident.items())]

    def pairs(self, count: int) -> list[str]:
        """All products of so many pairs of channels, whose last sums are left to be stored."""
        resident = self.resident
        free = [f"q{i}" for i in range(8) if f"q{i}" not in resident.values()]
        steps: list[Load | Product] = []
        for k in range(self.steps):
            op = "vmladav.s8" if k == 0 else "vmladava.s8"
            weights = [f"weights{c}_{k}" for c in range(2)]
            steps += [Load(name, "[r1], #16") for name in weights]
            for p in range(self.count):
                pixel = resident.get((k, p), f"pixel{p}_{k}")
                steps += [] if (k, p) in resident else [Load(pixel, self._place(k, p))]
                steps += [Product(op, SUMS[4 * c + p], (pixel, weights[c])) for c in range(2)]
        again = [f"mov {SUMS[i]}, {SUMS[i - 1]}" for i in (3, 7)] if self.count < PIXELS else []
        return stored_between([*scheduled(steps, free), *again], count)


@dataclass(frozen=True)
class Columns:
    """Windows of so many rows and columns, `stride` pixels apart, over pixels of `channels` bytes."""

    rows: int
    columns: int
    stride: int
    channels: int

    @property
    def span(self) -> int:
        """Columns under a group of pixels."""
        return (PIXELS - 1) * self.stride + self.columns

    @property
    def fits(self) -> bool:
        return self.rows <= len(ROW_POINTERS) and self.channels % 16 == 0 and self.span * self.channels <= FORWARD + 16

    @property
    def order(self) -> list[int]:
        """Columns of the window in the order in which most of what is under them is there already."""
        return [at for first in range(self.stride) for at in range(first, self.columns, self.stride)]

    def _place(self, row: int, part: int, column: int) -> str:
        return f"[{ROW_POINTERS[row]}, #{column * self.channels + 16 * part}]"

    @property
    def resident(self) -> dict[int, str]:
        """Columns of the first vector of the first row that stay in registers for all channels."""
        return {0: "q6", self.stride: "q7"}

    def begin(self) -> list[str]:
        """The rows, and what stays."""
        rows = [f"ldrd r1, r3, [sp, #{ROWS}]", f"ldr r5, [sp, #{ROWS + 8}]"]
        return [*rows, *(f"vldrw.u32 {q}, {self._place(0, 0, column)}" for column, q in self.resident.items())]

    def pairs(self, count: int) -> list[str]:
        """All products of so many pairs of channels, whose last sums are left to be stored."""
        steps: list[Load | Product] = []
        for row in range(self.rows):
            for part in range(self.channels // 16):
                there = dict(self.resident) if (row, part) == (0, 0) else {}
                for column in self.order:
                    steps += self._column(row, part, column, there, first=not steps)
        return stored_between(scheduled(steps, [f"q{i}" for i in range(6)]), count)

    def _column(self, row: int, part: int, column: int, there: dict[int, str], *, first: bool) -> list[Load | Product]:
        """The products of one vector of two channels with four pixels; `there`: columns that were loaded before."""
        op = "vmladav.s8" if first else "vmladava.s8"
        weights = [f"weights{c}_{row}_{part}_{column}" for c in range(2)]
        steps: list[Load | Product] = [Load(name, "[r11], #16") for name in weights]
        for p in range(PIXELS):
            at = self.stride * p + column
            if at not in there:
                there[at] = f"column{at}_{row}_{part}"
                steps.append(Load(there[at], self._place(row, part, at)))
            steps += [Product(op, SUMS[PIXELS * c + p], (there[at], w)) for c, w in enumerate(weights)]
        return steps


@dataclass(frozen=True)
class Groups:
    """The instructions of a group of pixels."""

    take: list[str]
    """With the inputs that are given."""
    weights: str
    """The register that points to them."""
    begin: list[str]
    """For each part of the channels."""
    channels: list[str]
    """The products of so many `pairs` of channels, whose last sums are not stored."""
    pairs: int
    advance: list[str]
    """To the next group."""


def gemm(pixels: Pixels) -> Groups:
    """Pixels that lie behind one another."""
    pairs = 2 if pixels.steps <= FEW else 1
    advance = add_to("r11", pixels.count * pixels.apart)
    return Groups([f"add r11, r3, #{pixels.origin}"], "r1", pixels.begin(), pixels.pairs(pairs), pairs, advance)


def slide(columns: Columns) -> Groups:
    """Windows whose rows stay where they are."""
    take = ["vldrw.u32 q5, [r0, #16]", f"vstrw.32 q5, [sp, #{ROWS}]"]
    advance = [
        f"vldrw.u32 q0, [sp, #{ROWS}]",
        f"movw r0, #{PIXELS * columns.stride * columns.channels}",
        "vadd.i32 q0, q0, r0",
        f"vstrw.32 q0, [sp, #{ROWS}]",
    ]
    pairs = 2 if columns.rows * columns.columns * columns.channels <= FEW_PRODUCTS else 1
    return Groups(take, "r11", columns.begin(), columns.pairs(pairs), pairs, advance)


def code(groups: Groups, requantize: Requantize, rest: int, *, parts: bool) -> list[str]:
    """The function; `rest`: the channels that are left of the last four; `parts`: the sums of some channels are kept at
    once, else those of all."""
    return [
        "push {r7, r11}",
        f"sub sp, sp, #{FRAME}",
        "ldm r0!, {r1, r3, r4, r5}",
        "vldrw.u32 q6, [r0]",
        f"strd r1, r5, [sp, #{LAYER}]",
        f"str r4, [sp, #{GROUPS}]",
        *groups.take,
        f"vstrw.32 q6, [sp, #{ADDRESSES}]",
        *(_in_parts(groups, requantize, rest) if parts else _at_once(groups, requantize, rest)),
        "vadd.i32 q6, q6, r2",
        f"vstrw.32 q6, [sp, #{ADDRESSES}]",
        *groups.advance,
        f"ldr r0, [sp, #{GROUPS}]",
        "subs r0, r0, #1",
        f"str r0, [sp, #{GROUPS}]",
        "bne.w 1b",
        f"add sp, sp, #{FRAME}",
        "pop {r7, r11}",
    ]


def _products(groups: Groups) -> list[str]:
    """Of the fours of channels that r2 counts."""
    return [
        *groups.begin,
        "mov r9, r2" if groups.pairs == 2 else "lsl r9, r2, #1",
        "4:",
        *groups.channels,
        "subs r9, r9, #1",
        STORE_SUMS,
        "bne.w 4b",
    ]


def _at_once(groups: Groups, requantize: Requantize, rest: int) -> list[str]:
    """A group, and r2: what is added to its addresses."""
    four = requantize.four_channels("r6", LOADS)
    return [
        "ldm r1, {r2, r3, r4}",
        f"strd r3, r4, [sp, #{CONSTANTS}]",
        f"str r2, [sp, #{WEIGHTS}]",
        f"ldr r2, [r1, #{LAYER_ADVANCE}]",
        f"str r2, [sp, #{ADVANCE}]",
        f"add r1, r1, #{LAYER_LANES}",
        *requantize.begin("r1", "r2"),
        *requantize.keep(f"[sp, #{STAYS}]"),
        "1:",
        f"ldr r7, [sp, #{TO}]",
        f"ldr r2, [sp, #{LEFT}]",
        f"ldr {groups.weights}, [sp, #{WEIGHTS}]",
        *_products(groups),
        f"ldrd r6, r2, [sp, #{CONSTANTS}]",
        f"ldr r7, [sp, #{TO}]",
        f"vldrw.u32 q6, [sp, #{ADDRESSES}]",
        *requantize.again(f"[sp, #{STAYS}]"),
        *(_some_bytes(four, rest) if rest else ["dls lr, r2", "5:", *four, STORE_WORDS, "le lr, 5b"]),
        f"ldr r2, [sp, #{ADVANCE}]",
    ]


def _some_bytes(four: list[str], rest: int) -> list[str]:
    """The fours of channels that r2 counts, of the last of which a rest is left."""
    return [
        f"str r11, [sp, #{KEPT}]",
        "mov r11, #4",
        "subs r2, r2, #1",
        "wls lr, r2, 6f",
        "5:",
        *four,
        *_scatter_bytes(4),
        "le lr, 5b",
        "6:",
        *four,
        *_scatter_bytes(rest),
        *BYTES_END,
    ]


def _in_parts(groups: Groups, requantize: Requantize, rest: int) -> list[str]:
    """A group, and r2: what is added to its addresses."""
    saves = groups.weights in requantize.spends
    return [
        "1:",
        f"ldr r0, [sp, #{LAYER}]",
        "ldm r0, {r2, r3, r4, r5}",
        f"mov {groups.weights}, r2",
        "b 3f",
        "2:",
        f"ldr r0, [sp, #{LAYER}]",
        "ldr r5, [r0, #12]",
        "3:",
        "cmp r4, r5",
        "ite lt",
        "movlt r2, r4",
        "movge r2, r5",
        "subs r4, r4, r2",
        f"strd r3, r4, [sp, #{CONSTANTS}]",
        f"str r2, [sp, #{PART}]",
        f"ldr r7, [sp, #{TO}]",
        *_products(groups),
        *([f"str {groups.weights}, [sp, #{WEIGHTS}]"] if saves else []),
        *_finish_part(requantize, rest),
        *([f"ldr {groups.weights}, [sp, #{WEIGHTS}]"] if saves else []),
        f"ldrd r3, r4, [sp, #{CONSTANTS}]",
        "cmp r4, #0",
        "bne.w 2b",
        f"ldr r0, [sp, #{LAYER}]",
        f"ldr r2, [r0, #{LAYER_ADVANCE}]",
    ]


def _finish_part(requantize: Requantize, rest: int) -> list[str]:
    """The sums of a part of the channels -> bytes at the addresses, which move on, as do constants."""
    begin = [
        f"ldr r0, [sp, #{LAYER}]",
        f"add r0, r0, #{LAYER_LANES}",
        *requantize.begin("r0", "r1"),
        f"ldr r6, [sp, #{CONSTANTS}]",
        f"ldr r7, [sp, #{TO}]",
        f"ldr r2, [sp, #{PART}]",
        f"vldrw.u32 q6, [sp, #{ADDRESSES}]",
    ]
    four = requantize.four_channels("r6", LOADS)
    end = [f"vstrw.32 q6, [sp, #{ADDRESSES}]", f"str r6, [sp, #{CONSTANTS}]"]
    if not rest:
        return [*begin, "dls lr, r2", "5:", *four, STORE_WORDS, "le lr, 5b", *end]
    return [
        *begin,
        f"str r11, [sp, #{KEPT}]",
        "mov r11, #4",
        f"ldr r0, [sp, #{LEFT}]",
        "cmp r0, #0",
        "it eq",
        "subeq r2, r2, #1",
        "wls lr, r2, 6f",
        "5:",
        *four,
        *_scatter_bytes(4),
        "le lr, 5b",
        "6:",
        f"ldr r0, [sp, #{LEFT}]",
        "cmp r0, #0",
        "bne.w 7f",
        *four,
        *_scatter_bytes(rest),
        "7:",
        *BYTES_END,
        *end,
    ]


def _scatter_bytes(count: int) -> list[str]:
    """The first bytes of each word of q4 to four addresses that need not be aligned."""
    one = ["vstrb.32 q4, [r11, q6]", "add r11, r11, #1", "vshr.u32 q4, q4, #8"]
    return (one * count)[:-1]


def add_to(register: str, value: int, spare: str = "r0") -> list[str]:
    if value < 4096:
        return [f"addw {register}, {register}, #{value}"]
    return [f"movw {spare}, #{value}", f"add {register}, {register}, {spare}"]
