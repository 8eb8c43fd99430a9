"""Assembly that requantizes vectors of sums to bytes, four sums at once: what `mote_lanes.h` does in C.

With pixels in lanes, a vector has the sums of four pixels for one channel, whose constants are in scalar registers.
Four channels are narrowed so that each word of the result has four adjacent channels of one pixel.

Only rounding narrowing shifts are used, because GNU as 2.40 encodes the others as these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mote.compiler.kernels.pack.requantize.vector import COUNT, INT8_LIMITS, LaneForm, Lanes, Limits

LINE_SCALE = "q3"
"""Register with the factor 2^scale in all lanes, for the form `LINE`; it is preserved."""
LINE_REGISTERS = ("r0", "r1", "r2", "r3", "r4", "r5", "r8", "r9")
TWICE_REGISTERS = LINE_REGISTERS[:6]
TWICE_ZERO = "r10"
"""Register with the zero point, for the form `TWICE`; it is preserved."""


@dataclass(frozen=True)
class Requantize:
    """Requantization that is a constant part of generated code: form, shift and activation limits."""

    form: LaneForm
    shift: int
    limits: Limits = INT8_LIMITS

    @classmethod
    def of(cls, lanes: Lanes) -> Requantize:
        return cls(lanes.form, lanes.shift, lanes.limits)

    @property
    def name(self) -> str:
        """Part of function names that identifies the requantization."""
        form = f"line{self.shift}" if self.form is LaneForm.LINE else "twice"
        ends = "_".join(str(end).replace("-", "m") for end in self.limits)
        return form if self.limits == INT8_LIMITS else f"{form}_{ends}"

    @property
    def constants(self) -> int:
        """Bytes of the constants of a channel."""
        return 4 * COUNT[self.form]

    def begin(self, lanes: str, spare: str = "r0") -> list[str]:
        """Load the constants of all channels into registers; `lanes` points to a `mote_lanes_t`."""
        if self.form is LaneForm.LINE:
            return [f"ldr {spare}, [{lanes}]", f"vdup.32 {LINE_SCALE}, {spare}"]
        return [f"ldr {TWICE_ZERO}, [{lanes}, #4]"]

    def keep(self, place: str) -> list[str]:
        """Store the constants of all channels to `place`."""
        return [f"vstrw.32 {LINE_SCALE}, {place}" if self.form is LaneForm.LINE else f"str {TWICE_ZERO}, {place}"]

    def again(self, place: str) -> list[str]:
        """Load the constants of all channels from `place`."""
        return [f"vldrw.u32 {LINE_SCALE}, {place}" if self.form is LaneForm.LINE else f"ldr {TWICE_ZERO}, {place}"]

    @property
    def spends(self) -> tuple[str, ...]:
        """Core registers that `four_channels` clobbers."""
        return LINE_REGISTERS if self.form is LaneForm.LINE else TWICE_REGISTERS

    def four_channels(self, constants: str, loads: Sequence[str]) -> list[str]:
        """Requantize four channels of four pixels to q4, one pixel in each word. `loads`: instructions that load each
        channel's sums into {q}; `constants`: pointer to the constants, which advances. Clobbers q0, q1, q4, q5, r0-r5,
        r8 and r9; in the form `TWICE` also q2 and q3, but not r8 and r9."""
        each = COUNT[self.form]
        lines: list[str] = []
        if self.form is LaneForm.LINE:
            lines += [f"ldm {constants}!, {{{', '.join(LINE_REGISTERS)}}}"]
        for half, end in enumerate("bt"):
            if self.form is LaneForm.TWICE:
                lines += [f"ldm {constants}!, {{{', '.join(TWICE_REGISTERS)}}}"]
            at = 4 * half if self.form is LaneForm.LINE else 0
            chains = []
            for i in range(2):
                registers = LINE_REGISTERS[at + each * i : at + each * (i + 1)]
                load = loads[2 * half + i].format(q=f"q{i}")
                chains.append([load, *self._pixels(f"q{i}", f"q{2 + i}", registers, f"q{4 + i}", end)])
            lines += staggered(*chains)
        return [*lines, *self.bytes_("q4", "q5")]

    def _pixels(self, q: str, spare: str, constants: Sequence[str], to: str, end: str) -> list[str]:
        """Narrow the sums in `q` into the bottom or top halves of `to`."""
        if self.form is LaneForm.LINE:
            return [
                f"vmlas.s32 {q}, {LINE_SCALE}, {constants[0]}",
                f"vqrdmulh.s32 {q}, {q}, {constants[1]}",
                f"vqrshrn{end}.s32 {to}, {q}, #{self.shift}",
            ]
        return [
            f"vadd.i32 {q}, {q}, {constants[0]}",
            f"vshr.s32 {spare}, {q}, #31",
            f"vqrdmlah.s32 {spare}, {q}, {constants[1]}",
            f"vrshl.s32 {spare}, {constants[2]}",
            f"vqmovn{end}.s32 {to}, {spare}",
        ]

    def four_outputs(self, constants: str, sums: str, scale: str) -> list[str]:
        """Requantize four outputs of one pixel into the low bytes of the words of q4. `constants` and `sums`: pointers
        to vectors, which advance; `scale`: register with 2^scale. Clobbers q0-q2, q4 and q5."""
        return [f"vldrw.u32 q0, [{sums}], #16", *self._outputs(constants, scale, "b"), *self._low_bytes()]

    def _outputs(self, constants: str, scale: str, end: str) -> list[str]:
        """Narrow the sums of four outputs in q0 into the bottom or top halves of q4."""
        load = [f"vldrw.u32 {q}, [{constants}], #16" for q in ("q1", "q2", "q5")]
        if self.form is LaneForm.LINE:
            narrow = f"vqrshrn{end}.s32 q4, q1, #{self.shift}"
            return [load[0], f"vmla.s32 q1, q0, {scale}", load[1], "vqrdmulh.s32 q1, q1, q2", narrow]
        lines = [load[0], "vadd.i32 q0, q0, q1", "vshr.s32 q1, q0, #31", load[1], "vqrdmulh.s32 q0, q0, q2"]
        return [*lines, load[2], "vadd.i32 q0, q0, q1", "vrshl.s32 q0, q0, q5", f"vqmovn{end}.s32 q4, q0"]

    def _low_bytes(self) -> list[str]:
        """Narrow the 16-bit halves of q4 to their low bytes."""
        zero = [f"vqadd.s16 q4, q4, {TWICE_ZERO}"] if self.form is LaneForm.TWICE else []
        return [*zero, "vqmovnb.s16 q4, q4", *self.cut("q4", "q5")]

    def bytes_(self, even: str, odd: str) -> list[str]:
        """Narrow the 16-bit halves of both vectors to the even and odd bytes of the first."""
        zero = [f"vqadd.s16 {q}, {q}, {TWICE_ZERO}" for q in (even, odd)] if self.form is LaneForm.TWICE else []
        return [*zero, f"vqmovnb.s16 {even}, {even}", f"vqmovnt.s16 {even}, {odd}", *self.cut(even, odd)]

    def cut(self, q: str, spare: str) -> list[str]:
        """Clip the bytes of `q` to the activation limits."""
        low, high = self.limits
        lower = [f"vmov.i8 {spare}, #{low & 0xFF}", f"vmax.s8 {q}, {q}, {spare}"] if low > INT8_LIMITS[0] else []
        more = [f"vmov.i8 {spare}, #{high & 0xFF}", f"vmin.s8 {q}, {q}, {spare}"] if high < INT8_LIMITS[1] else []
        return [*lower, *more]


def staggered(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Interleave two dependency chains, the second one a step behind, to hide latency."""
    lines = [first[0]]
    for a, b in zip(first[1:], second[:-1], strict=True):
        lines += [a, b]
    return [*lines, second[-1]]
