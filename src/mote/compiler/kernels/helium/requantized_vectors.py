"""Schedulable instructions that requantize vectors of sums, each with four sums of adjacent channels or outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mote.compiler.kernels.helium.ordering import Pipe, VectorInstruction
from mote.compiler.kernels.helium.requantize import Requantize
from mote.compiler.kernels.pack.requantize.vector import LaneForm

Constants = Callable[[int], str]
"""Loads a vector of constants: 0 offsets, 1 multipliers, 2 shifts."""


class RequantizedVectors:
    """Vector instructions in source order, with their dependencies; r11 has the factor of sums (form `LINE`) or the
    zero point."""

    def __init__(self, requantize: Requantize) -> None:
        self.requantize = requantize
        self.instructions: list[VectorInstruction] = []

    def emit(
        self,
        text: str,
        pipe: Pipe,
        reads: tuple[str, ...] = (),
        *,
        adds: bool = False,
        after: tuple[int, ...] = (),
        result: bool = True,
    ) -> str:
        """Append an instruction; the name of its result."""
        name = f"v{len(self.instructions)}" if result else ""
        self.instructions.append(VectorInstruction(text, pipe, reads, name, after, adds))
        return name

    def load(self, place: str) -> str:
        return self.emit(f"vldrw.u32 {{d}}, [{place}]", "memory")

    def narrowed(self, vectors: Iterable[str]) -> str:
        """Narrow two vectors of scaled sums to bytes: those of the first in even 16-bit lanes, of the second in odd
        ones."""
        line = self.requantize.form is LaneForm.LINE
        op, shift = ("vqrshrn", f", #{self.requantize.shift}") if line else ("vqmovn", "")
        names: tuple[str, ...] = ()
        for n, (end, vector) in enumerate(zip("bt", vectors, strict=True)):
            text = f"{op}{end}.s32 {{d}}, {{{n}}}{shift}"
            names = (self.emit(text, "rest", (*names, vector), adds=True),)
        if not line:
            names = (self.emit("vqadd.s16 {d}, {0}, r11", "rest", names),)
        name = self.emit("vqmovnb.s16 {d}, {0}", "rest", names, adds=True)
        cut = self.requantize.cut("{0}", "{1}")
        for limit, clip in zip(cut[::2], cut[1::2], strict=True):
            spare = self.emit(limit.replace("{1}", "{d}"), "rest")
            name = self.emit(clip.replace("{0}", "{d}", 1), "rest", (name, spare))
        return name

    def scaled(self, sums: str, constant: Constants) -> str:
        """Scale a vector of sums."""
        return self._line(sums, constant) if self.requantize.form is LaneForm.LINE else self._twice(sums, constant)

    def _line(self, sums: str, constant: Constants) -> str:
        offset = self.emit("vmla.s32 {d}, {1}, r11", "multiply", (constant(0), sums), adds=True)
        return self.emit("vqrdmulh.s32 {d}, {0}, {1}", "multiply", (offset, constant(1)))

    def _twice(self, sums: str, constant: Constants) -> str:
        added = self.emit("vadd.i32 {d}, {0}, {1}", "rest", (sums, constant(0)))
        sign = self.emit("vshr.s32 {d}, {0}, #31", "rest", (added,))
        high = self.emit("vqrdmulh.s32 {d}, {0}, {1}", "multiply", (added, constant(1)))
        less = self.emit("vadd.i32 {d}, {0}, {1}", "rest", (high, sign))
        return self.emit("vrshl.s32 {d}, {0}, {1}", "rest", (less, constant(2)))
