"""Assembly of `mote_fully_connected8_s8.h`: matrix-vector products, eight outputs at a time.

Sums are in the even core registers, one for each output. From there they move into vector lanes and are stored as
bytes, without passing through memory. r1 the weights, r3 the inputs, r5 the constants, r7 the outputs, r9 the number of
remaining outputs or iterations, r11 the factor of sums or the zero point.

[sp] the multiplier of all outputs in four lanes, input pointer, iterations, remaining outputs
"""

from __future__ import annotations

from functools import partial

from mote.compiler.kernels.assembly import SAVED_HELIUM, enter, leave
from mote.compiler.kernels.helium.ordering import ordered
from mote.compiler.kernels.helium.requantize import Requantize
from mote.compiler.kernels.helium.requantized_vectors import RequantizedVectors
from mote.compiler.kernels.pack.requantize.vector import LaneForm

SUMS = ("r0", "r2", "r4", "r6", "r8", "r10", "r12", "lr")
OUTPUTS = 8
MULT, IN, LOOPS, LEFT, FRAME = 0, 16, 20, 24, 32
LAYER_LOOPS, LAYER_SCALE, LAYER_ZERO, LAYER_MULT, LAYER_CHANNELS = 8, 12, 16, 32, 40
"""Field offsets of `mote_fc8_t`: iterations, requantization constants, number of outputs."""
MOST_RESIDENT = 5
"""Most input vectors that stay in registers: the other three are for weights and requantization."""


def fully_connected(steps: int, looped: bool, same: bool, requantize: Requantize, rest: int) -> list[str]:
    """The function, with `steps` input vectors in each iteration; `same`: one scale for all outputs; `rest`: outputs of
    the last, incomplete group of eight."""
    resident = 0 if looped else min(steps, MOST_RESIDENT)
    count = [f"ldr r9, [sp, #{LEFT}]"] if looped else []
    rounds = [f"ldrd r3, r9, [sp, #{IN}]", *(f"mov {r}, #0" for r in SUMS), "3:"] if looped else []
    return [
        *enter(FRAME, saved=SAVED_HELIUM),
        "ldm r0, {r1-r3}",
        "mov r7, r3",
        f"ldr r4, [r1, #{LAYER_LOOPS}]",
        f"strd r2, r4, [sp, #{IN}]",
        "mov r3, r2",
        f"ldr r11, [r1, #{LAYER_SCALE if requantize.form is LaneForm.LINE else LAYER_ZERO}]",
        f"ldr r0, [r1, #{LAYER_MULT}]",
        "vdup.32 q0, r0",
        f"vstrw.32 q0, [sp, #{MULT}]",
        f"ldr r9, [r1, #{LAYER_CHANNELS}]",
        *([f"str r9, [sp, #{LEFT}]"] if looped else []),
        "ldr r5, [r1, #4]",
        "ldr r1, [r1]",
        *(f"vldrb.u8 q{i}, [r3], #16" for i in range(resident)),
        "2:",
        *rounds,
        *_products(steps, resident, looped=looped),
        *(["subs r9, r9, #1", "bne.w 3b"] if looped else []),
        *count,
        *_bytes(same, requantize, rest, tuple(f"q{i}" for i in range(resident, 8))),
        f"add r5, r5, #{2 * (16 if same else 4 * requantize.constants)}",
        f"subs r9, r9, #{OUTPUTS}",
        *([f"str r9, [sp, #{LEFT}]"] if looped else []),
        "bgt.w 2b",
        *leave(FRAME, saved=SAVED_HELIUM),
    ]


def _products(steps: int, resident: int, *, looped: bool) -> list[str]:
    """Products of eight outputs; each vector of weights is loaded one product ahead of its use."""
    inputs = [f"q{i}" if i < resident else f"q{resident}" for i in range(steps)]
    free = [f"q{i}" for i in range(8) if f"q{i}" not in inputs]
    weights = [free[i % 2] for i in range(8 * steps)]
    lines: list[str] = []
    for i in range(8 * steps):
        if i % 8 == 0 and i // 8 >= resident:
            place = "[r3], #16" if looped else f"[r3, #{2 * i - 16 * resident}]"
            lines.append(f"vldrb.u8 {inputs[i // 8]}, {place}")
        wanted = [i + 1] if i else [0, 1]
        lines += [f"vldrw.u32 {weights[w]}, [r1], #16" for w in wanted if w < 8 * steps]
        op = "vmladava.s8" if looped or i >= 8 else "vmladav.s8"
        lines.append(f"{op} {SUMS[i % 8]}, {inputs[i // 8]}, {weights[i]}")
    return lines


def _bytes(same: bool, requantize: Requantize, rest: int, registers: tuple[str, ...]) -> list[str]:
    """Requantize the sums of eight outputs to bytes at r7, which advances."""
    lines = ordered(_Eight(same, requantize, rest).instructions, registers)
    return [part for line in lines for part in line.split("|")]


class _Eight(RequantizedVectors):
    """Requantization instructions of eight outputs, in the order 0, 2, 4, 6, 1, 3, 5, 7."""

    def __init__(self, same: bool, requantize: Requantize, rest: int) -> None:
        super().__init__(requantize)
        self.same = same
        name = self.narrowed(self.scaled(self._sums(half), partial(self._constant, half)) for half in range(2))
        store = "vctp.16 r9|vpst|vstrbt.16 {0}, [r7], #8" if rest else "vstrb.16 {0}, [r7], #8"
        self.emit(store, "memory", (name,), result=False)

    def _sums(self, half: int) -> str:
        a, b, c, d = SUMS[4 * half : 4 * half + 4]
        first = self.emit(f"vmov {{d}}[2], {{d}}[0], {a}, {c}", "rest")
        return self.emit(f"vmov {{d}}[3], {{d}}[1], {b}, {d}", "rest", (first,), adds=True)

    def _constant(self, half: int, number: int) -> str:
        """Load the constants of four outputs."""
        at = 16 * half if self.same else 4 * self.requantize.constants * half + 16 * number
        return self.load(f"sp, #{MULT}" if self.same and number else f"r5, #{at}")
