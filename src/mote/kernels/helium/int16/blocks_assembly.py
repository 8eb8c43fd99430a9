"""The assembly of `mote_conv4_s16.h` and `mote_depthwise4_s16.h`.

Convolutions: sums are in the even core registers, four pixels of one channel and then of the next, which is what
VMLADAV wants; r1 is the stream, r3, r5, r7 and r9 are the pixels' inputs, r11 counts. Eight products of each of eight
sums take 14 instructions. Depthwise: eight channels in the lanes, the even ones and the odd ones of them in a vector of
sums each; sixteen products take 11 instructions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from mote.kernels.pack.blocks_s16 import EdgeBlock

SUMS = ("r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr")
INPUTS = ("r3", "r5", "r7", "r9")
LANES = 8
STREAM, TO, WORK, ROWS = 0, 4, 8, 12
"""Where `mote_block_s16_t` has these."""
FROM, LEFT, TAP, KEPT, FRAME = 0, 4, 8, 16, 48
"""Where on the stack are: the pointers to rows, or the packed windows; pairs of channels left; the pointer to the next
row; the sums of a pair."""
MOST_STEPS = 16
"""Vectors of a sum that are written out; longer ones have loops."""
MOST_ADDED = 4095
REACH = 508
"""How far from a pointer a vector of words may be."""
LOWEST, HIGHEST = -32768, 32767
MOST_WRITTEN = 15
"""Elements of depthwise windows that are written out."""
BASES = ("r3", "r4", "r5")


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

    def lowest(self) -> list[str]:
        return [f"movw r4, #{self.low & 0xFFFF}", "vdup.16 q7, r4"] if self.low > LOWEST else []


@dataclass(frozen=True)
class Windows:
    """Rows of `line` inputs, `taps` of them; those of neighbouring pixels are `pixel` inputs apart. `packed`: windows
    are copied to lie behind one another first."""

    taps: int
    line: int
    pixel: int
    packed: bool

    @property
    def pitch(self) -> int:
        """Inputs from one packed window to the next: stores of vectors reach beyond the end."""
        return -(-self.taps * self.line // LANES) * LANES + LANES

    @property
    def multiplied(self) -> Windows:
        """As they are multiplied."""
        return Windows(1, self.taps * self.line, self.pitch, False) if self.packed else self

    @property
    def vectors(self) -> int:
        """Of a row of a window."""
        return -(-self.line // LANES)


def worth_packing(taps: int, line: int) -> bool:
    """Whether windows whose rows lie behind one another have fewer vectors."""
    return 5 * -(-taps * line // LANES) < 4 * taps * -(-line // LANES)


def _predicated(count: int) -> str:
    return "vpst" + "t" * (count - 1)


@lru_cache(maxsize=256)
def conv(pixels: int, windows: Windows, out: Outputs) -> tuple[str, ...]:
    """A function that computes all channels of some pixels."""
    apart = 2 * out.channels
    addresses = ["subs r2, r2, #4", f"addw r3, r2, #{apart}", f"addw r4, r3, #{apart}", f"addw r5, r4, #{apart}"]
    begin = (
        ["ldr r4, [r0, #8]", f"str r4, [sp, #{FROM}]", *_pack(pixels, windows)]
        if windows.packed
        else [f"add r3, r0, #{ROWS}", f"str r3, [sp, #{FROM}]"]
    )
    return (
        "push {r4-r11, lr}",
        "vpush {d8-d15}",
        f"sub sp, sp, #{FRAME}",
        "ldrd r1, r2, [r0]",
        *begin,
        f"movw r3, #{out.channels // 2}",
        f"str r3, [sp, #{LEFT}]",
        *addresses,
        "vmov q6[2], q6[0], r2, r4",
        "vmov q6[3], q6[1], r3, r5",
        *out.lowest(),
        "1:",
        *_sums(pixels, windows.multiplied, direct=not windows.packed),
        *_finish(pixels, out),
        f"ldr r3, [sp, #{LEFT}]",
        "subs r3, r3, #1",
        f"str r3, [sp, #{LEFT}]",
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


def _sums(pixels: int, windows: Windows, *, direct: bool) -> list[str]:
    """All products of a pair of channels."""
    taps, short = windows.taps, windows.taps * windows.vectors <= MOST_STEPS
    clear = [] if short else [f"mov {SUMS[4 * c + p]}, #0" for c in range(2) for p in range(pixels)]
    load = [f"ldr r3, [sp, #{FROM}]"]
    apart = [f"addw {b}, {a}, #{2 * windows.pixel}" for a, b in pairwise(INPUTS[:pixels])]
    if taps == 1 or short:
        lines = list(clear)
        for k in range(taps):
            place = [*load, *([f"ldr r3, [r3, #{4 * k}]"] if direct else [])]
            lines += [*place, *apart, *_line(pixels, windows, first=short and k == 0)]
        return lines
    return [
        *clear,
        *load,
        "2:",
        "ldr r5, [r3], #4",
        f"str r3, [sp, #{TAP}]",
        "mov r3, r5",
        *apart,
        *_line(pixels, windows, first=False),
        f"ldr r3, [sp, #{TAP}]",
        f"ldr r5, [sp, #{FROM}]",
        "subs r5, r3, r5",
        f"cmp r5, #{4 * taps}",
        "bne.w 2b",
    ]


def _line(pixels: int, windows: Windows, *, first: bool) -> list[str]:
    """A row of a window; `first`: sums begin with it."""
    whole, rest = divmod(windows.line, LANES)
    if whole > MOST_STEPS:
        each = min(range(4, 9), key=lambda n: 4 * (whole // n) + n + whole % n)
        lines = [f"movw r11, #{whole // each}", "3:", *(t for _ in range(each) for t in _step(pixels, 0, first=False))]
        lines += ["subs r11, r11, #1", "bne.w 3b"]
        whole %= each
    else:
        lines = []
    for i in range(whole):
        lines += _step(pixels, 0, first=first and i == 0)
    return [*lines, *(_step(pixels, rest, first=first and whole == 0) if rest else [])]


def _step(pixels: int, rest: int, *, first: bool) -> list[str]:
    """A vector of each input and of two channels' weights; `rest`: how many inputs there are, if not all."""
    weights = ["vldrb.s16 q4, [r1], #8", "vldrb.s16 q5, [r1], #8"]
    products = [
        f"vmladav{'' if first else 'a'}.s16 {SUMS[4 * c + p]}, q{p}, q{4 + c}" for p in range(pixels) for c in range(2)
    ]
    if rest:
        loads = [f"vldrht.u16 q{p}, [{r}], #16" for p, r in enumerate(INPUTS[:pixels])]
        return [f"mov r11, #{rest}", "vctp.16 r11", _predicated(pixels), *loads, *weights, *products]
    loads = [f"vldrh.u16 q{p}, [{r}], #16" for p, r in enumerate(INPUTS[:pixels])]
    lines = [weights[0], loads[0], weights[1]]
    for p in range(pixels):
        lines.append(products[2 * p])
        lines += loads[p + 1 : p + 2]
        lines.append(products[2 * p + 1])
    return lines


def _finish(pixels: int, out: Outputs) -> list[str]:
    """Sums to int16: a vector of the pixels of each channel, then both channels of a pixel in a word."""
    store = ["vstrw.32 q2, [q6, #4]!"]
    if pixels < len(INPUTS):
        store = [f"mov r0, #{pixels}", "vctp.32 r0", "vpst", "vstrwt.32 q2, [q6, #4]!"]
    return [
        f"add r3, sp, #{KEPT}",
        f"stm r3, {{{', '.join(SUMS)}}}",
        "ldm r1!, {r0, r2, r4, r6}",
        f"vldrw.u32 q0, [sp, #{KEPT}]",
        "vadd.i32 q0, q0, r0",
        f"vldrw.u32 q1, [sp, #{KEPT + 16}]",
        "vqdmulh.s32 q0, q0, r4",
        "vadd.i32 q1, q1, r2",
        f"vqrshrnb.s32 q2, q0, #{out.shift}",
        "vqdmulh.s32 q1, q1, r6",
        f"vqrshrnt.s32 q2, q1, #{out.shift}",
        *out.limits("q2", "q3", "r0"),
        *store,
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
        *out.lowest(),
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
    row: list[str] = []
    inside = range(edge.left, (edge.pixels - 1) * step + columns - edge.right)
    for t in range(columns):
        used = [(p * step + t - edge.left, own) for p, own in zip(pixels, sums, strict=True) if p * step + t in inside]
        row.append("vldrb.s16 q4, [r0], #8" if used else "adds r0, r0, #8")
        for column, (even, odd) in used:
            base, offset = divmod(column * apart, 2 * REACH)
            row += [
                f"vldrw.u32 q5, [{BASES[base]}, #{offset - REACH}]",
                "vmullb.s16 q6, q5, q4",
                "vmullt.s16 q5, q5, q4",
                f"vadd.i32 {even}, {even}, q6",
                f"vadd.i32 {odd}, {odd}, q5",
            ]
    lines.append("add r0, r1, #32")
    if taps * columns <= MOST_WRITTEN:
        for k in range(taps):
            lines += [f"ldr r3, [sp, #{4 * k}]", "add r3, r3, r2", *more, *row]
    else:
        label = 2 + pixels[0]
        lines += ["mov r10, sp", f"add r12, sp, #{4 * taps}", f"{label}:", "ldr r3, [r10], #4", "add r3, r3, r2"]
        lines += [*more, *row, "cmp r10, r12", f"bne.w {label}b"]
    lines += ["vldrw.u32 q4, [r0]", "vldrw.u32 q5, [r0, #16]"]
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
