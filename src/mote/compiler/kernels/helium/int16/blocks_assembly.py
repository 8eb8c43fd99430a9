"""The assembly of `mote_conv4_s16.h` and `mote_depthwise4_s16.h`.

Convolutions: sums are in the even core registers, four pixels of one channel and then of the next, which is what
VMLADAV wants; r1 is the stream, r3, r5, r7 and r9 are the pixels' inputs, r11 counts or points to the rows. Eight
products of each of eight sums take 14 instructions, ordered so that no two loads come one after another. Depthwise:
eight channels in the lanes, the even ones and the odd ones of them in a vector of sums each; sixteen products take 11
instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from mote.compiler.kernels.helium.gemm.schedule import Load, Product, scheduled
from mote.compiler.kernels.pack.blocks_s16 import EdgeBlock

SUMS = ("r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr")
INPUTS = ("r3", "r5", "r7", "r9")
LANES = 8
STREAM, TO, WORK, ROWS = 0, 4, 8, 12
"""Where `mote_block_s16_t` has these."""
FROM, LEFT, TAP, FRAME = 0, 4, 8, 16
"""Where on the stack are: the pointers to rows, or the packed windows; pairs of channels left; the pointer to the next
row."""
MOST_STEPS = 16
"""Vectors of a sum that are written out; longer ones have loops."""
MOST_ADDED = 4095
REACH = 508
"""How far from a pointer a vector of words may be."""
LOWEST, HIGHEST = -32768, 32767
MOST_WRITTEN = 15
"""Elements of depthwise windows that are written out."""
BASES = ("r3", "r4", "r5")
WEIGHTS = "vldrb.s16 q4, [r0], #8"
PRODUCTS = ("q0", "q1", "q2", "q3", "q4", "q5")
"""Registers of inputs and weights."""


@dataclass(frozen=True)
class Outputs:
    """How sums become int16: the shift behind the multiplication, the limits, and the channels of a pixel."""

    shift: int
    low: int
    high: int
    channels: int

    def limits(self, vector: str, spare: str, number: str) -> list[str]:
        """The limits that saturation does not have, with the lower one in q7; `spare` and `number` are overwritten."""
        lines = [f"vmax.s16 {vector}, {vector}, q7"] if self.low > LOWEST else []
        if self.high < HIGHEST:
            lines += [
                f"movw {number}, #{self.high}",
                f"vdup.16 {spare}, {number}",
                f"vmin.s16 {vector}, {vector}, {spare}",
            ]
        return lines

    def lowest(self, number: str) -> list[str]:
        """The lower limit to q7; `number` is overwritten."""
        if self.low == 0:
            return ["vmov.i32 q7, #0"]
        return [f"movw {number}, #{self.low & 0xFFFF}", f"vdup.16 q7, {number}"] if self.low > LOWEST else []


@dataclass(frozen=True)
class Windows:
    """Rows of `line` inputs, `taps` of them; those of neighbouring pixels are `pixel` inputs apart. `packed`: windows
    are copied to lie behind one another first."""

    taps: int
    line: int
    pixel: int
    packed: bool
    padded: bool = False
    """There is memory behind rows up to the end of a vector."""

    @property
    def pitch(self) -> int:
        """Inputs from one packed window to the next: stores of vectors reach beyond the end."""
        return -(-self.taps * self.line // LANES) * LANES + LANES

    @property
    def multiplied(self) -> Windows:
        """As they are multiplied."""
        return Windows(1, self.taps * self.line, self.pitch, False, True) if self.packed else self

    @property
    def vectors(self) -> int:
        """Of a row of a window."""
        return -(-self.line // LANES)

    @property
    def short(self) -> bool:
        """Whether a row has no whole vector, and nothing behind it may be read."""
        return self.line < LANES and not self.padded

    @property
    def near(self) -> bool:
        return self.taps * self.vectors <= MOST_STEPS

    def start(self, vector: int) -> int:
        """The first input of a vector: the last one of a row ends with the row, and takes some inputs for the second
        time, with weights of zero."""
        return LANES * vector if self.padded or self.line < LANES else min(LANES * vector, self.line - LANES)


def worth_packing(taps: int, line: int) -> bool:
    """Whether windows whose rows lie behind one another have fewer vectors."""
    return 5 * -(-taps * line // LANES) < 4 * taps * -(-line // LANES)


@lru_cache(maxsize=256)
def conv(pixels: int, windows: Windows, out: Outputs) -> tuple[str, ...]:
    """A function that computes all channels of some pixels. Those that a block lacks have the address and the sums of
    its last one."""
    apart, flat = 2 * out.channels, windows.multiplied
    addresses = ["subs r2, r2, #4"]
    addresses += [f"addw r{3 + p}, r{2 + p}, #{apart if p + 1 < pixels else 0}" for p in range(len(INPUTS) - 1)]
    begin = (
        ["ldr r4, [r0, #8]", f"str r4, [sp, #{FROM}]", *_pack(pixels, windows)]
        if windows.packed
        else [f"add r3, r0, #{ROWS}", f"str r3, [sp, #{FROM}]"]
    )
    way = _Near(pixels, flat, windows.packed) if flat.near else _Far(pixels, flat, windows.packed)
    return (
        "push {r4-r11, lr}",
        "vpush {d8-d15}",
        f"sub sp, sp, #{FRAME}",
        "ldrd r1, r2, [r0]",
        *begin,
        *addresses,
        "vmov q6[2], q6[0], r2, r4",
        "vmov q6[3], q6[1], r3, r5",
        *out.lowest("r4"),
        *([f"mov r3, #{flat.line}", "vctp.16 r3"] if flat.short else []),
        *way.begin(out.channels // 2),
        "1:",
        *way.sums(),
        *_finish(pixels, out),
        *way.next(),
        "bne.w 1b",
        f"add sp, sp, #{FRAME}",
        "vpop {d8-d15}",
        "pop {r4-r11, pc}",
    )


def _pack(pixels: int, windows: Windows) -> list[str]:
    """Windows to r4, row by row; the last vector of a row has zeros where the row has no more."""
    whole, rest = divmod(windows.line, LANES)
    lines = [f"add r0, r0, #{ROWS}", *([f"movs r3, #{rest}", "vctp.16 r3"] if rest else [])]
    lines += [f"addw r{5 + p}, r{4 + p}, #{2 * windows.pitch}" for p in range(pixels - 1)]
    lines += [f"movs r9, #{windows.taps}", "6:", "ldr r3, [r0], #4"]
    for p in range(pixels):
        to = f"r{4 + p}"
        for i in range(whole):
            lines += [f"vldrh.u16 q0, [r3, #{16 * i}]", f"vstrh.16 q0, [{to}], #16"]
        if rest:
            lines += [
                "vpst",
                f"vldrht.u16 q0, [r3, #{16 * whole}]",
                f"vstrh.16 q0, [{to}]",
                f"adds {to}, {to}, #{2 * rest}",
            ]
        lines += [f"addw r3, r3, #{2 * windows.pixel}"] if p + 1 < pixels else []
    return [*lines, "subs r9, r9, #1", "bne.w 6b"]


@dataclass(frozen=True)
class _Way:
    """How the sums of a pair of channels are added up, over all of its rows."""

    pixels: int
    windows: Windows
    packed: bool

    @property
    def apart(self) -> list[str]:
        """The pixels' inputs, from those of the first one."""
        return [f"addw {b}, {a}, #{2 * self.windows.pixel}" for a, b in pairwise(INPUTS[: self.pixels])]

    def steps(self, places: list[str], *, first: bool) -> list[str]:
        """Vectors of inputs at some places behind the pointers, with those of both channels' weights; `first`: sums
        begin with them."""
        load = "vpst\nvldrht.u16" if self.windows.short else "vldrh.u16"
        steps: list[Load | Product] = []
        for i, place in enumerate(places):
            steps += [Load(f"{c}w{i}", "[r1], #8", "vldrb.s16") for c in range(2)]
            for p, register in enumerate(INPUTS[: self.pixels]):
                steps.append(Load(f"x{p}_{i}", place.format(register), load))
                steps += [
                    Product(f"vmladav{'' if first and i == 0 else 'a'}.s16", SUMS[4 * c + p], (f"x{p}_{i}", f"{c}w{i}"))
                    for c in range(2)
                ]
        return [text for line in scheduled(steps, PRODUCTS) for text in line.split("\n")]


@dataclass(frozen=True)
class _Near(_Way):
    """Sums that are written out, of vectors that pointers reach."""

    def begin(self, pairs: int) -> list[str]:
        count = [f"movw r11, #{pairs}"]
        if self.windows.taps > 1:
            return [*count, f"str r11, [sp, #{LEFT}]", f"ldr r11, [sp, #{FROM}]"]
        return [f"ldr r3, [sp, #{FROM}]", *([] if self.packed else ["ldr r3, [r3]"]), *self.apart, *count]

    def sums(self) -> list[str]:
        places = [f"[{{}}, #{2 * self.windows.start(v)}]" for v in range(self.windows.vectors)]
        if self.windows.taps == 1:
            return self.steps(places, first=True)
        lines = []
        for k in range(self.windows.taps):
            lines += [f"ldr r3, [r11, #{4 * k}]", *self.apart, *self.steps(places, first=k == 0)]
        return lines

    def next(self) -> list[str]:
        if self.windows.taps == 1:
            return ["subs r11, r11, #1"]
        return [f"ldr r3, [sp, #{LEFT}]", "subs r3, r3, #1", f"str r3, [sp, #{LEFT}]"]


@dataclass(frozen=True)
class _Far(_Way):
    """Sums with loops over rows and over their vectors, behind pointers that move."""

    def begin(self, pairs: int) -> list[str]:
        return [f"movw r3, #{pairs}", f"str r3, [sp, #{LEFT}]"]

    def sums(self) -> list[str]:
        load = f"ldr r3, [sp, #{FROM}]"
        clear = [f"mov {SUMS[4 * c + p]}, #0" for c in range(2) for p in range(self.pixels)]
        if self.windows.taps == 1:
            return [*clear, load, *([] if self.packed else ["ldr r3, [r3]"]), *self.apart, *self._line()]
        return [
            *clear,
            load,
            "2:",
            "ldr r5, [r3], #4",
            f"str r3, [sp, #{TAP}]",
            "mov r3, r5",
            *self.apart,
            *self._line(),
            f"ldr r3, [sp, #{TAP}]",
            f"ldr r5, [sp, #{FROM}]",
            "subs r5, r3, r5",
            f"cmp r5, #{4 * self.windows.taps}",
            "bne.w 2b",
        ]

    def _line(self) -> list[str]:
        whole, rest = divmod(self.windows.line, LANES)
        lines: list[str] = []
        if whole > MOST_STEPS:
            each = min(range(4, 9), key=lambda n: 4 * (whole // n) + n + whole % n)
            loop = self.steps(["[{}], #16"] * each, first=False)
            lines += [f"movw r11, #{whole // each}", "3:", *loop, "subs r11, r11, #1", "bne.w 3b"]
            whole %= each
        last = 0 if self.windows.short or self.packed else 2 * (LANES - rest)
        return lines + self.steps(["[{}], #16"] * whole + ([f"[{{}}, #-{last}]"] if rest else []), first=False)

    def next(self) -> list[str]:
        return [f"ldr r3, [sp, #{LEFT}]", "subs r3, r3, #1", f"str r3, [sp, #{LEFT}]"]


def _finish(pixels: int, out: Outputs) -> list[str]:
    """Sums to int16: a vector of the pixels of each channel, then both channels of a pixel in a word."""
    first, second = ([SUMS[4 * c + min(p, pixels - 1)] for p in range(len(INPUTS))] for c in range(2))
    return [
        f"vmov q0[2], q0[0], {first[0]}, {first[2]}",
        f"vmov q0[3], q0[1], {first[1]}, {first[3]}",
        "ldm r1!, {r0, r2, r4, r6}",
        "vadd.i32 q0, q0, r0",
        f"vmov q1[2], q1[0], {second[0]}, {second[2]}",
        "vqdmulh.s32 q0, q0, r4",
        f"vmov q1[3], q1[1], {second[1]}, {second[3]}",
        "vadd.i32 q1, q1, r2",
        "vqdmulh.s32 q1, q1, r6",
        f"vqrshrnb.s32 q2, q0, #{out.shift}",
        f"vqrshrnt.s32 q2, q1, #{out.shift}",
        *out.limits("q2", "q3", "r0"),
        "vstrw.32 q2, [q6, #4]!",
    ]


@lru_cache(maxsize=256)
def depthwise(edge: EdgeBlock, taps: int, columns: int, step: int, out: Outputs) -> tuple[str, ...]:
    """A function that computes all channels of some pixels, `step` columns apart, under windows of `taps` rows."""
    pixels = edge.pixels
    apart, frame = 2 * out.channels, 4 * taps + (4 * taps) % 8
    rows = [
        text
        for k in range(taps)
        for text in (f"ldr r2, [r3, #{4 * k}]", f"add r2, r2, #{REACH}", f"str r2, [sp, #{4 * k}]")
    ]
    groups: list[str] = []
    for first in range(0, pixels, 2):
        groups += _two(edge, range(first, min(first + 2, pixels)), taps, columns, step, out)
    return (
        "push {r4-r11, lr}",
        "vpush {d8-d15}",
        f"sub sp, sp, #{frame}",
        "ldrd r1, r6, [r0]",
        f"add r3, r0, #{ROWS}",
        *rows,
        *(f"addw r{7 + p}, r{6 + p}, #{apart}" for p in range(pixels - 1)),
        "movs r2, #0",
        f"movw r10, #{out.channels}",
        "dlstp.16 lr, r10",
        "1:",
        *groups,
        "add r1, r0, #32",
        "adds r2, r2, #16",
        "letp lr, 1b",
        f"add sp, sp, #{frame}",
        "vpop {d8-d15}",
        "pop {r4-r11, pc}",
    )


def _two(edge: EdgeBlock, pixels: range, taps: int, columns: int, step: int, out: Outputs) -> list[str]:
    """One pixel or two, eight channels. r0 is behind the weights then."""
    apart = 2 * out.channels
    sums = [(f"q{2 * i}", f"q{2 * i + 1}") for i in range(len(pixels))]
    lines = [text for even, odd in sums for text in (f"vldrw.u32 {even}, [r1]", f"vldrw.u32 {odd}, [r1, #16]")]
    last = (pixels[-1] * step + columns - 1) * apart
    more = [f"addw {b}, {a}, #{2 * REACH}" for a, b in pairwise(BASES[: last // (2 * REACH) + 1])]
    row: list[str | _Product] = []
    inside = range(edge.left, (edge.pixels - 1) * step + columns - edge.right)
    for t in range(columns):
        used = [(p * step + t - edge.left, own) for p, own in zip(pixels, sums, strict=True) if p * step + t in inside]
        row.append(WEIGHTS if used else "adds r0, r0, #8")
        for column, own in used:
            base, offset = divmod(column * apart, 2 * REACH)
            row.append(_Product(f"[{BASES[base]}, #{offset - REACH}]", *own))
    lines.append("add r0, r1, #32")
    if taps * columns <= MOST_WRITTEN:
        steps = [text for k in range(taps) for text in (f"ldr r3, [sp, #{4 * k}]", "add r3, r3, r2", *more, *row)]
        lines += _in_turns(steps)
    else:
        label = 2 + pixels[0]
        lines += ["mov r10, sp", f"add r12, sp, #{4 * taps}", f"{label}:", "ldr r3, [r10], #4", "add r3, r3, r2"]
        lines += [*more, *_in_turns(row), "cmp r10, r12", f"bne.w {label}b"]
    lines += ["vldrw.u32 q4, [r0]", "vldrw.u32 q5, [r0, #16]", *out.lowest("r10")]
    for p, (even, odd) in zip(pixels, sums, strict=True):
        lines += [
            f"vqdmulh.s32 {even}, {even}, q4",
            f"vqdmulh.s32 {odd}, {odd}, q5",
            f"vqrshrnb.s32 q6, {even}, #{out.shift}",
            f"vqrshrnt.s32 q6, {odd}, #{out.shift}",
            *out.limits("q6", even, "r10"),
            f"vstrh.16 q6, [r{6 + p}], #16",
        ]
    return lines


@dataclass(frozen=True)
class _Product:
    """Of eight inputs at a place and the weights in q4, added to the sums of the even and of the odd lanes."""

    place: str
    even: str
    odd: str


def _in_turns(steps: Sequence[str | _Product]) -> list[str]:
    """Products and what is between them, in an order in which loads, multiplications and additions take turns: sums of
    odd lanes are added behind the next multiplication."""
    lines: list[str] = []
    later: list[str] = []
    before: str | _Product = ""
    x, other = "q5", "q7"
    for step in steps:
        if isinstance(step, _Product):
            x, other = other, x
            even = f"vadd.i32 {step.even}, {step.even}, q6"
            lines += [f"vldrw.u32 {x}, {step.place}", f"vmullb.s16 q6, {x}, q4", *later]
            lines += [f"vmullt.s16 {x}, {x}, q4", even]
            later = [f"vadd.i32 {step.odd}, {step.odd}, {x}"]
        elif step == WEIGHTS and isinstance(before, _Product):
            lines.insert(-1, step)
        else:
            lines.append(step)
        before = step
    return [*lines, *later]
