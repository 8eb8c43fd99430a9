"""Assembly of `mote_depthwise_planes_s8.h` specialized to a layer: all windows of a channel, in 16-bit Thumb
instructions.

Two vertically adjacent windows are computed at once, each in both halves of the image, so that weights and
requantization constants are loaded once for four outputs. If the number of windows is odd, the last two pairs overlap.

Registers: r0 input words, r1 weights, r2-r4 the words of a group, r5-r7 its weights; r8 and r9 the sums T and H of the
first window, r10 and r11 those of the second (see `mote_lanes_s8.h`), r12 the constant 2^15, lr the first window's
words. Requantization uses r2-r6 for most, coarse, fine, add and drop. Everything else is on the stack.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from mote.compiler.kernels.assembly import RESTORE16, SAVE16

GROUP = 3
"""Words that are multiplied and accumulated before the upper half is extracted."""
NAMES = (
    *("start", "bias", "most", "coarse", "fine", "add", "drop", "turn", "fix", "weights", "spilled", "list", "end"),
    *("out", "column", "outputs", "left", "span", "across", "pixel", "twice", "lower", "both", "channels"),
)
SLOTS = {name: 4 * place for place, name in enumerate(NAMES)}
"""Stack offset of each local variable."""
FRAME = 4 * len(SLOTS)


@dataclass(frozen=True)
class Windows:
    """Shape of the windows of a channel."""

    rows: int
    columns: int
    """Rows and columns of a window."""
    down: int
    across: int
    """Strides, in rows and columns."""
    left: int
    """Vertical positions of windows in each half of the image, at least two."""
    width: int
    """Output columns."""
    height: int
    """Words of a column."""
    channels: int
    half: int
    """Output rows from the upper half of the image to the lower one."""

    @property
    def name(self) -> str:
        kind = f"{self.rows}x{self.columns}_{self.down}x{self.across}"
        return f"{kind}_{self.half}x{self.left}x{self.width}x{self.channels}_{self.height}"


@dataclass(frozen=True)
class Plane:
    """Input words of a channel: each packs a pixel of the upper half of the image with one of the lower half."""

    rows: int
    columns: int
    """Rows and columns of the input."""
    channels: int
    height: int
    """Words of a column."""
    before: int
    """Rows of padding above the image."""
    below: int
    """Rows from a pixel to the one that shares its word."""

    @property
    def name(self) -> str:
        return f"{self.rows}x{self.columns}x{self.channels}_{self.before}"

    @property
    def words(self) -> list[str]:
        """For each word of a column, which of its two pixels are inside the image: a key of PIXELS_OF."""
        inside = [(self._inside(k), self._inside(k + self.below)) for k in range(self.height)]
        return [WHICH[pair] for pair in inside]

    def _inside(self, row: int) -> bool:
        return self.before <= row < self.before + self.rows


WHICH = {(True, True): "both", (True, False): "upper", (False, True): "lower", (False, False): "none"}
PIXELS_OF = {
    "lower": ("ldrsb r5, [r1, r4]", "lsls r5, r5, #16", "add r5, r8", "stmia r2!, {r5}"),
    "both": ("ldrsb r5, [r0, r4]", "ldrsb r6, [r1, r4]", "lsls r6, r6, #16", "adds r5, r5, r6", "stmia r2!, {r5}"),
    "upper": ("ldrsb r5, [r0, r4]", "add r5, r9", "stmia r2!, {r5}"),
    "none": ("adds r2, r2, #4",),
}
"""Instructions that write an input word, by which of its pixels are inside the image; words are initialized with
padding."""
TURN = 4
"""Words that the loop is unrolled by."""


@lru_cache(maxsize=64)
def plane(shape: Plane) -> tuple[str, ...]:
    """The function that packs a channel's input words. Arguments: r0 its first pixel, r1 the destination of the first
    column inside the image, r2 the zero point. A word of two pixels takes 9 cycles.

    Registers: r0 and r1 the pixels of a column in the upper and lower half, r2 the destination, r3 bytes of an input
    row, r4 the offset of the current row; r8 and r9 the zero point in either half of a word, r10 bytes of a pixel, r11
    the end of the columns, r12 bytes from the last word of a column to the first of the next.
    """
    stride, words = shape.columns * shape.channels, shape.words
    used = [k for k, kind in enumerate(words) if kind != "none"]
    first, last = used[0], used[-1] + 1
    return (
        ".syntax unified",
        *SAVE16,
        "mov r8, r2",
        "lsls r2, r2, #16",
        "mov r9, r2",
        *_number("r3", shape.channels),
        "mov r10, r3",
        *_number("r3", 4 * (shape.height - (last - first))),
        "mov r12, r3",
        *_number("r3", stride),
        "adds r4, r3, r0",
        "mov r11, r4",
        "movs r2, r1",
        *_moved("r2", 4 * first),
        *_number("r1", shape.below * stride),
        "adds r1, r1, r0",
        "1:",
        *_number("r4", abs(first - shape.before) * stride),
        *(("rsbs r4, r4, #0",) if first < shape.before else ()),
        *(line for kind, run in groupby(words[first:last]) for line in _words(kind, len(list(run)))),
        "add r0, r10",
        "add r1, r10",
        "add r2, r12",
        "cmp r0, r11",
        "beq 9f",
        "b 1b",
        "9:",
        *RESTORE16,
    )


def _words(kind: str, count: int) -> Iterator[str]:
    """Write `count` consecutive words of a column of the same kind."""
    one = (*PIXELS_OF[kind], "adds r4, r4, r3")
    turns = count // TURN
    if 1 < turns < 256:
        yield from (f"movs r7, #{turns}", "2:", *(TURN * one), "subs r7, r7, #1", "bne 2b")
        count -= TURN * turns
    yield from count * one


@lru_cache(maxsize=64)
def windows(shape: Windows, *, halves: bool) -> tuple[str, ...]:
    """The function that computes all windows of a channel; `halves`: negative outputs are not clipped, and round
    differently from positive ones."""
    step, pixel = 4 * shape.down, shape.width * shape.channels
    known = {
        "left": shape.width,
        "span": (shape.left // 2 * 2) * step,
        "across": 4 * shape.across * shape.height,
        "pixel": pixel,
        "twice": 2 * pixel,
        "lower": shape.half * pixel,
        "both": (shape.half + 1) * pixel,
        "channels": shape.channels,
    }
    return (
        ".syntax unified",
        *SAVE16,
        f"sub sp, sp, #{FRAME}",
        *_begin(halves=halves),
        *(line for name, value in known.items() for line in (*_number("r1", value), _store("r1", name))),
        "1:",
        *_column(),
        "2:",
        *_sums(shape, step),
        _load("r3", "spilled"),
        "cmp r3, #0",
        "beq 4f",
        *_spilled(step),
        "4:",
        f"add r7, sp, #{SLOTS['start']}",
        "ldmia r7!, {r5, r6}",
        *_unpacked("r8", "r9"),
        *_unpacked("r10", "r11"),
        "ldmia r7!, {r2-r6}",
        *(
            line
            for place, register in (("", "r8"), ("lower", "r9"), ("pixel", "r10"), ("both", "r11"))
            for line in (*_byte(register, halves=halves), *_stored(place, known, halves=halves))
        ),
        *_next(shape, step, known),
        f"add sp, sp, #{FRAME}",
        *RESTORE16,
    )


def _load(register: str, name: str) -> str:
    return f"ldr {register}, [sp, #{SLOTS[name]}]"


def _store(register: str, name: str) -> str:
    return f"str {register}, [sp, #{SLOTS[name]}]"


def _number(register: str, value: int) -> Iterator[str]:
    """Load any 32-bit constant."""
    digits = value.to_bytes(4, "big").lstrip(b"\0") or b"\0"
    yield f"movs {register}, #{digits[0]}"
    for digit in digits[1:]:
        yield f"lsls {register}, {register}, #8"
        if digit:
            yield f"adds {register}, {register}, #{digit}"


def _moved(register: str, by: int) -> Iterator[str]:
    """Add a constant to a register."""
    op = "adds" if by > 0 else "subs"
    for part in (255,) * (abs(by) // 255) + (abs(by) % 255,):
        if part:
            yield f"{op} {register}, {register}, #{part}"


def _begin(*, halves: bool) -> Iterator[str]:
    """Copy the fields of the `mote_lanes_windows_t` at r0 to the stack."""
    for at, name in ((0, "column"), (4, "weights"), (8, "outputs"), (36, "bias")):
        yield from (f"ldr r1, [r0, #{at}]", _store("r1", name))
    yield from ("ldr r2, [r0, #32]", "lsls r1, r1, #16", "subs r2, r2, r1", _store("r2", "start"))
    yield from ("ldr r1, [r0, #44]", "movs r2, #0", "ldrsh r3, [r1, r2]", _store("r3", "spilled"))
    yield from ("adds r1, r1, #2", _store("r1", "list"), "ldr r1, [r0, #40]", "ldmia r1!, {r2-r6}")
    yield from (f"add r7, sp, #{SLOTS['most']}", "stmia r7!, {r2-r6}")
    if halves:
        yield from ("ldmia r1!, {r2, r3}", "stmia r7!, {r2, r3}")
    yield from ("movs r1, #128", "lsls r1, r1, #8", "mov r12, r1")


def _column() -> tuple[str, ...]:
    """Advance to the next output column."""
    return (
        _load("r0", "column"),
        "mov lr, r0",
        _load("r1", "span"),
        "adds r1, r1, r0",
        _store("r1", "end"),
        _load("r1", "across"),
        "adds r0, r0, r1",
        _store("r0", "column"),
        _load("r0", "outputs"),
        _store("r0", "out"),
        _load("r1", "channels"),
        "adds r0, r0, r1",
        _store("r0", "outputs"),
    )


def _sums(shape: Windows, step: int) -> Iterator[str]:
    """Sums T and H of two windows."""
    groups = -(-shape.rows // GROUP)
    yield from ("mov r0, lr", _load("r1", "weights"))
    for column in range(shape.columns):
        for group in range(groups):
            first = column + group == 0
            yield "ldmia r1!, {r5-r7}"
            yield from _group("r8", "r9", first=first)
            yield from _moved("r0", step - 4 * GROUP)
            yield from _group("r10", "r11", first=first)
            if group < groups - 1:
                yield from _moved("r0", -step)
            elif column < shape.columns - 1:
                yield from _moved("r0", 4 * shape.height - 4 * GROUP * groups - step)


def _group(low: str, high: str, *, first: bool) -> tuple[str, ...]:
    """Multiply-accumulate three words, in 13 cycles."""
    take = "mov" if first else "add"
    return (
        "ldmia r0!, {r2-r4}",
        "muls r2, r5, r2",
        "muls r3, r6, r3",
        "muls r4, r7, r4",
        "adds r2, r2, r3",
        "adds r2, r2, r4",
        "add r2, r12",
        f"{take} {low}, r2",
        "asrs r2, r2, #16",
        f"{take} {high}, r2",
    )


def _spilled(step: int) -> Iterator[str]:
    """Add the products of the r3 spilled weights, which are listed separately because a packed sum would overflow."""
    yield from (_load("r1", "list"), "movs r4, #0", "3:")
    yield from ("ldrsh r0, [r1, r4]", "adds r1, r1, #2", "ldrsh r6, [r1, r4]", "adds r1, r1, #2", "add r0, lr")
    for at, low, high in ((0, "r8", "r9"), (step, "r10", "r11")):
        yield from (f"ldr r2, [r0, #{at}]", "muls r2, r6, r2", f"add {low}, r2", "add r2, r12", "asrs r2, r2, #16")
        yield f"add {high}, r2"
    yield from ("subs r3, r3, #1", "bne 3b")


def _unpacked(low: str, high: str) -> tuple[str, ...]:
    """Convert T and H to the sums of the upper and the lower window, adding the initial values in r5 and r6."""
    return (
        f"mov r1, {high}",
        "lsls r2, r1, #16",
        f"mov r0, {low}",
        "subs r0, r0, r2",
        "adds r0, r0, r5",
        "adds r1, r1, r6",
        f"mov {low}, r0",
        f"mov {high}, r1",
    )


def _byte(register: str, *, halves: bool) -> Iterator[str]:
    """Requantize the sum in `register` to a byte in r0."""
    yield from (
        f"mov r0, {register}",
        "cmp r0, r2",
        "bls 5f",
        "asrs r1, r0, #31",
        "mov r0, r2",
        "bics r0, r0, r1",
        "5:",
    )
    yield from ("movs r1, r0", "muls r1, r4, r1", "lsrs r1, r1, r6")
    if halves:
        yield from (_load("r7", "turn"), "cmp r0, r7", "blo 6f", _load("r7", "fix"), "adds r1, r1, r7", "6:")
    yield from ("muls r0, r3, r0", "adds r0, r0, r1", "adds r0, r0, r5", "lsrs r0, r0, #24")


def _stored(place: str, known: dict[str, int], *, halves: bool) -> Iterator[str]:
    """Store the byte at its output, at offset `place` from the first one."""
    if halves or not place:
        yield _load("r7", "out")
    if place:
        yield f"movs r1, #{known[place]}" if known[place] < 256 else _load("r1", place)
    yield "strb r0, [r7, r1]" if place else "strb r0, [r7]"


def _next(shape: Windows, step: int, known: dict[str, int]) -> Iterator[str]:
    """Advance to the next two windows, or to the next column."""
    yield from (_load("r1", "twice"), "adds r7, r7, r1", _store("r7", "out"))
    yield from (f"movs r1, #{2 * step}", "add lr, r1", "mov r0, lr", _load("r1", "end"), "cmp r0, r1", "bhs 7f", "b 2b")
    yield "7:"
    if shape.left % 2:
        yield from ("bne 8f", f"subs r0, r0, #{step}", "mov lr, r0", _load("r1", "pixel"), "subs r7, r7, r1")
        yield from (_store("r7", "out"), "b 2b", "8:")
    yield from (_load("r1", "left"), "subs r1, r1, #1", _store("r1", "left"), "beq 9f", "b 1b", "9:")
