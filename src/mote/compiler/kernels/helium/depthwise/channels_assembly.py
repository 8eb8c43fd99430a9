"""Assembly of `mote_depthwise_channels_s8.h`: depthwise convolutions, sixteen channels of a pixel at a time.

A vector holds sixteen channels of an input, or of the weights of a window tap. Products have 16 bits, those of even
channels in one vector and those of odd ones in another. Taps are grouped so that the sums of a group fit 16 bits for
any inputs. These partial sums go through the stack, which widens them to 32 bits, four channels to a vector; then they
are added up and requantized. Of eight channels the even ones become the lower halves and the odd ones the upper halves
of words, which restores their order.

r0 outputs, r1 sums, r2 constants, r3 weights, r4-r10 window rows, r11 a constant of all channels
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from mote.compiler.kernels.assembly import VECTORS, advance, enter, leave
from mote.compiler.kernels.helium.ordering import ordered
from mote.compiler.kernels.helium.requantize import Requantize
from mote.compiler.kernels.helium.requantized_vectors import Constants, RequantizedVectors
from mote.compiler.kernels.pack.requantize.vector import LaneForm

BLOCK = 16
REACH = 508
"""Largest immediate offset of a vector load of words."""
ROW_POINTERS = ("r4", "r5", "r6", "r7", "r8", "r9", "r10")
SUMS, NEAR = 128, 254
"""SUMS: stack offset that the pointer to sums has; NEAR: largest immediate offset of widening loads, which have a
shorter range."""
REGISTERS = tuple(f"q{i}" for i in range(8))
WEIGHTS, CONSTANTS, OUT, PIXELS, BLOCKS, LAST, LANES, ROWS = range(0, 32, 4)
"""Field offsets of `mote_channels_call_t`."""

Tap = tuple[int, int]
"""Row and column of a window element."""


@dataclass(frozen=True)
class Channels:
    """Depthwise window over pixels of `channels` channels. `taps`: rows and columns; `groups`: taps whose products are
    accumulated in 16 bits together; `stride`: columns from one window to the next."""

    taps: tuple[int, int]
    stride: int
    channels: int
    groups: tuple[tuple[Tap, ...], ...]

    @property
    def origin(self) -> int:
        """Byte offset of the row pointers, in the middle of the window so that immediate offsets reach all columns."""
        return (self.taps[1] - 1) // 2 * self.channels

    @property
    def weights_origin(self) -> int:
        """Byte offset of the weight pointer, so that immediate offsets reach all taps."""
        return min(BLOCK * (self.taps[0] * self.taps[1] - 1), REACH // BLOCK * BLOCK)

    @property
    def frame(self) -> int:
        """Bytes of partial sums on the stack; after them are the call's parameters, the number of remaining blocks, and
        their first channel."""
        return 2 * BLOCK * len(self.groups)

    @property
    def fits(self) -> bool:
        high, wide = self.taps
        last = (wide - 1) * self.channels - self.origin
        weights = BLOCK * (high * wide - 1) - self.weights_origin
        return (
            high <= len(ROW_POINTERS)
            and max(last, self.origin, weights) <= REACH
            and self.frame - 8 - SUMS <= NEAR
            and self.channels >= BLOCK
        )

    def lines(self, requantize: Requantize) -> list[str]:
        """Scheduled instructions for sixteen channels of a pixel."""
        return list(_lines(self, requantize))

    def cycles(self, requantize: Requantize) -> int:
        """Estimated cycles for sixteen channels of a pixel."""
        (high, wide), groups = self.taps, len(self.groups)
        finish = 30 if requantize.form is LaneForm.LINE else 48
        return 6 * high * wide + 8 * groups + high + finish


@lru_cache(maxsize=128)
def _lines(channels: Channels, requantize: Requantize) -> tuple[str, ...]:
    return tuple(ordered(_Body(channels, requantize).instructions, REGISTERS))


class _Body(RequantizedVectors):
    """All instructions for sixteen channels of a pixel, with their dependencies."""

    def __init__(self, channels: Channels, requantize: Requantize) -> None:
        super().__init__(requantize)
        self.channels = channels
        self.stores: dict[tuple[int, int], int] = {}
        for g, group in enumerate(channels.groups):
            self._group(g, group)
        for half in range(2):
            name = self.narrowed(self.scaled(self._sum(half, odd), self._constants(half, odd)) for odd in range(2))
            self.emit(f"vstrb.16 {{0}}, [r0, #{8 * half}]", "memory", (name,), result=False)

    def _group(self, g: int, group: Sequence[Tap]) -> None:
        """Accumulate a group's products in 16 bits, for even and odd channels, and store the partial sums on the
        stack."""
        c = self.channels
        sums = ["", ""]
        for n, (row, column) in enumerate(group):
            w = self.load(f"r3, #{BLOCK * (row * c.taps[1] + column) - c.weights_origin}")
            x = self.load(f"{ROW_POINTERS[row]}, #{column * c.channels - c.origin}")
            for odd, end in enumerate("bt"):
                product = self.emit(f"vmull{end}.s8 {{d}}, {{0}}, {{1}}", "multiply", (x, w))
                sums[odd] = self.emit("vadd.i16 {d}, {0}, {1}", "rest", (sums[odd], product)) if n else product
        for odd, name in enumerate(sums):
            self.stores[g, odd] = len(self.instructions)
            self.emit(f"vstrw.32 {{0}}, [sp, #{BLOCK * (2 * g + odd)}]", "memory", (name,), result=False)

    def _sum(self, half: int, odd: int) -> str:
        """Sum of all groups for four channels, in 32 bits."""
        total = ""
        for g in range(len(self.channels.groups)):
            text = f"vldrh.s32 {{d}}, [r1, #{BLOCK * (2 * g + odd) + 8 * half - SUMS}]"
            part = self.emit(text, "memory", after=(self.stores[g, odd],))
            total = self.emit("vadd.i32 {d}, {0}, {1}", "rest", (total, part)) if total else part
        return total

    def _constants(self, half: int, odd: int) -> Constants:
        """The constants of four channels: in the form `TWICE` all are loaded first, otherwise each before its use."""
        at = self.requantize.constants * 4 * (2 * half + odd)
        places = [f"r2, #{at + 16 * n}" for n in range(3)]
        if self.requantize.form is LaneForm.LINE:
            return lambda number: self.load(places[number])
        return [self.load(place) for place in places].__getitem__


def code(channels: Channels, requantize: Requantize) -> list[str]:
    """A function that computes all pixels of a row, sixteen channels at a time; r0 points to a
    `mote_channels_call_t`."""
    rows = ROW_POINTERS[: channels.taps[0]]
    call, first = channels.frame, channels.frame + 8
    return [
        *enter(channels.frame + 16, vectors=VECTORS),
        f"ldr r12, [r0, #{BLOCKS}]",
        f"strd r0, r12, [sp, #{call}]",
        f"add r1, sp, #{SUMS}",
        f"ldr r11, [r0, #{LANES}]",
        f"ldr r11, [r11, #{0 if requantize.form is LaneForm.LINE else 4}]",
        f"ldrd r3, r2, [r0, #{WEIGHTS}]",
        *advance("r3", channels.weights_origin),
        "mov r12, #0",
        "1:",
        f"str r12, [sp, #{first}]",
        f"ldr lr, [sp, #{call}]",
        *(f"ldr {row}, [lr, #{ROWS + 4 * k}]" for k, row in enumerate(rows)),
        *(f"add {row}, {row}, r12" for row in rows),
        *(line for row in rows for line in advance(row, channels.origin)),
        f"ldrd r0, lr, [lr, #{OUT}]",
        "add r0, r0, r12",
        "dls lr, lr",
        "2:",
        *channels.lines(requantize),
        *(line for row in rows for line in advance(row, channels.stride * channels.channels)),
        *advance("r0", channels.channels),
        "le lr, 2b",
        *advance("r3", BLOCK * channels.taps[0] * channels.taps[1]),
        *advance("r2", BLOCK * requantize.constants),
        f"ldrd r0, lr, [sp, #{call}]",
        f"ldr r12, [sp, #{first}]",
        f"ldr r0, [r0, #{LAST}]",
        f"add r12, r12, #{BLOCK}",
        "cmp r12, r0",
        "it gt",
        "movgt r12, r0",
        "subs lr, lr, #1",
        f"str lr, [sp, #{call + 4}]",
        "bne.w 1b",
        *leave(channels.frame + 16, vectors=VECTORS),
    ]
