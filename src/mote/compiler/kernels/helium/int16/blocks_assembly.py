"""Assembly of `mote_conv4_s16.h` and `mote_depthwise4_s16.h`.

Convolutions: sums are in the even core registers, as VMLADAV requires, four pixels of one channel and then of the next;
r1 is the stream of weights and constants, r3, r5, r7 and r9 the pixels' inputs, r11 a counter or the row pointers.
Eight products of each of eight sums take 14 instructions, ordered so that no two loads are adjacent.

Depthwise: eight channels in the lanes, with one vector of sums for even channels and one for odd ones; sixteen products
take 11 instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from mote.compiler.kernels.assembly import VECTORS, enter, leave
from mote.compiler.kernels.helium.gemm.schedule import Load, Product, scheduled
from mote.compiler.kernels.pack.blocks_s16 import EdgeBlock

SUMS = ("r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr")
INPUTS = ("r3", "r5", "r7", "r9")
LANES = 8
STREAM, TO, WORK, ROWS = 0, 4, 8, 12
"""Offsets of the fields of `mote_block_s16_t`."""
FROM, LEFT, TAP, FRAME = 0, 4, 8, 16
"""Stack offsets. FROM: pointers to rows, or the packed windows; LEFT: remaining pairs of channels; TAP: pointer to the
next row. FRAME: total bytes."""
MOST_STEPS = 16
"""Most vectors of a sum that are unrolled; longer sums use loops."""
MOST_ADDED = 4095
REACH = 508
"""Largest immediate offset of a vector load of words."""
LOWEST, HIGHEST = -32768, 32767
MOST_WRITTEN = 15
"""Most elements of depthwise windows that are unrolled."""
BASES = ("r3", "r4", "r5")
WEIGHTS = "vldrb.s16 q4, [r0], #8"
PRODUCTS = ("q0", "q1", "q2", "q3", "q4", "q5")
"""Vector registers for inputs and weights."""


@dataclass(frozen=True)
class Outputs:
    """Requantization of sums to int16: shift after the multiplication, activation limits, and the pixel's number of
    channels."""

    shift: int
    low: int
    high: int
    channels: int

    def limits(self, vector: str, spare: str, number: str) -> list[str]:
        """Clip to activation limits inside the int16 range; the lower one is in q7. `spare` and `number` are
        clobbered."""
        lines = [f"vmax.s16 {vector}, {vector}, q7"] if self.low > LOWEST else []
        if self.high < HIGHEST:
            lines += [
                f"movw {number}, #{self.high}",
                f"vdup.16 {spare}, {number}",
                f"vmin.s16 {vector}, {vector}, {spare}",
            ]
        return lines

    def lowest(self, number: str) -> list[str]:
        """Load the lower limit into q7; `number` is clobbered."""
        if self.low == 0:
            return ["vmov.i32 q7, #0"]
        return [f"movw {number}, #{self.low & 0xFFFF}", f"vdup.16 q7, {number}"] if self.low > LOWEST else []


@dataclass(frozen=True)
class Windows:
    """Windows of `taps` rows of `line` inputs; adjacent windows are `pixel` inputs apart. `packed`: windows are copied
    to contiguous memory first (im2col)."""

    taps: int
    line: int
    pixel: int
    packed: bool
    padded: bool = False
    """Whether rows may be read past their end, up to a whole vector."""

    @property
    def pitch(self) -> int:
        """Inputs from one packed window to the next, with room for vector stores past the end."""
        return -(-self.taps * self.line // LANES) * LANES + LANES

    @property
    def multiplied(self) -> Windows:
        """The windows in the form in which they are multiplied: packed windows have one row."""
        return Windows(1, self.taps * self.line, self.pitch, False, True) if self.packed else self

    @property
    def vectors(self) -> int:
        """Vectors of a window row."""
        return -(-self.line // LANES)

    @property
    def short(self) -> bool:
        """Whether a row is shorter than a vector and must not be read past its end."""
        return self.line < LANES and not self.padded

    @property
    def near(self) -> bool:
        return self.taps * self.vectors <= MOST_STEPS

    def start(self, vector: int) -> int:
        """First input of a vector. A row's last vector ends where the row ends, and so repeats some inputs, with zero
        weights."""
        return LANES * vector if self.padded or self.line < LANES else min(LANES * vector, self.line - LANES)


def worth_packing(taps: int, line: int) -> bool:
    """Whether packed windows need sufficiently fewer vectors than rows one by one."""
    return 5 * -(-taps * line // LANES) < 4 * taps * -(-line // LANES)


@lru_cache(maxsize=256)
def conv(pixels: int, windows: Windows, out: Outputs) -> tuple[str, ...]:
    """A function that computes all channels of `pixels` pixels; sums and addresses of missing pixels of the block
    repeat the last one's."""
    apart, flat = 2 * out.channels, windows.multiplied
    addresses = ["subs r2, r2, #4"]
    addresses += [f"addw r{3 + p}, r{2 + p}, #{apart if p + 1 < pixels else 0}" for p in range(len(INPUTS) - 1)]
    begin = (
        ["ldr r4, [r0, #8]", f"str r4, [sp, #{FROM}]", *_pack(pixels, windows)]
        if windows.packed
        else [f"add r3, r0, #{ROWS}", f"str r3, [sp, #{FROM}]"]
    )
    accumulation = _Unrolled(pixels, flat, windows.packed) if flat.near else _Looped(pixels, flat, windows.packed)
    return (
        *enter(FRAME, vectors=VECTORS),
        "ldrd r1, r2, [r0]",
        *begin,
        *addresses,
        "vmov q6[2], q6[0], r2, r4",
        "vmov q6[3], q6[1], r3, r5",
        *out.lowest("r4"),
        *([f"mov r3, #{flat.line}", "vctp.16 r3"] if flat.short else []),
        *accumulation.begin(out.channels // 2),
        "1:",
        *accumulation.sums(),
        *_finish(pixels, out),
        *accumulation.next(),
        "bne.w 1b",
        *leave(FRAME, vectors=VECTORS),
    )


def _pack(pixels: int, windows: Windows) -> list[str]:
    """Pack windows to r4, row by row; a row's last vector is filled with zeros."""
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
class _Accumulation:
    """Code generator that accumulates the sums of a pair of channels over all window rows (base class)."""

    pixels: int
    windows: Windows
    packed: bool

    @property
    def apart(self) -> list[str]:
        """Compute the pixels' input pointers from the first one."""
        return [f"addw {b}, {a}, #{2 * self.windows.pixel}" for a, b in pairwise(INPUTS[: self.pixels])]

    def steps(self, places: list[str], *, first: bool) -> list[str]:
        """Products of the input vectors at `places` (addresses relative to the pointers) with the weights of both
        channels; `first`: they start the sums."""
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
class _Unrolled(_Accumulation):
    """Fully unrolled sums, with all vectors at immediate offsets."""

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
class _Looped(_Accumulation):
    """Sums with loops over rows and their vectors, with post-incremented pointers."""

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
    """Requantize the sums to int16: a vector of four pixels for each channel, then both channels of a pixel in a
    word."""
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
    """A function that computes all channels of a block of pixels, `step` columns apart, with windows of `taps` rows."""
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
        *enter(frame, vectors=VECTORS),
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
        *leave(frame, vectors=VECTORS),
    )


def _two(edge: EdgeBlock, pixels: range, taps: int, columns: int, step: int, out: Outputs) -> list[str]:
    """Compute eight channels of one or two pixels; r0 ends up after the weights."""
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
        lines += _interleaved(steps)
    else:
        label = 2 + pixels[0]
        lines += ["mov r10, sp", f"add r12, sp, #{4 * taps}", f"{label}:", "ldr r3, [r10], #4", "add r3, r3, r2"]
        lines += [*more, *_interleaved(row), "cmp r10, r12", f"bne.w {label}b"]
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
    """Product of eight inputs at `place` with the weights in q4, accumulated in vectors of even and odd lanes."""

    place: str
    even: str
    odd: str


def _interleaved(steps: Sequence[str | _Product]) -> list[str]:
    """Interleave products and other instructions so that loads, multiplications and additions alternate: sums of odd
    lanes are accumulated after the next multiplication."""
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
