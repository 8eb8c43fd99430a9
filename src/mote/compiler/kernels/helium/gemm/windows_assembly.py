"""Assembly that packs windows of adjacent pixels contiguously (im2col) for `mote_gemm4_s8.h`.

r0 is the destination, lr counts pixels, and the other registers point to the window rows. Each row is loaded in
vectors, the last of which is predicated so that nothing past the window is read, and stored in whole vectors: the
excess is overwritten by the next row. Rows of four bytes are copied as words.
"""

from __future__ import annotations

from dataclasses import dataclass

from mote.compiler.kernels.assembly import SAVED_HELIUM, enter, leave

VECTOR = 16
WORD = 4
POINTERS = ("r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r12", "r7", "r11")
"""Registers for row pointers; the last two are callee-saved."""
VECTORS = 8
STEP = 127
"""Largest immediate with which a load of bytes can update its pointer."""


@dataclass(frozen=True)
class Windows:
    """Windows of `rows` rows of `line` bytes, with inputs `step` bytes from one pixel to the next, packed `apart` bytes
    apart."""

    rows: int
    line: int
    step: int
    apart: int

    @property
    def words(self) -> bool:
        return self.line == WORD

    @property
    def fits(self) -> bool:
        pointers = len(POINTERS) - 2 if self.words else len(POINTERS)
        return self.rows <= pointers and self.step <= STEP and self.line <= STEP

    def code(self) -> list[str]:
        """The function that packs the windows."""
        return [
            *enter(saved=SAVED_HELIUM),
            *([] if self.words or not self.line % VECTOR else [f"mov r1, #{self.line % VECTOR}", "vctp.8 r1"]),
            "ldr lr, [r0, #4]",
            *(f"ldr {POINTERS[k]}, [r0, #{8 + 4 * k}]" for k in range(self.rows)),
            "ldr r0, [r0]",
            "dls lr, lr",
            "1:",
            *(self._words() if self.words else self._vectors()),
            "le lr, 1b",
            *leave(saved=SAVED_HELIUM),
        ]

    def _words(self) -> list[str]:
        lines: list[str] = []
        behind = self.apart - WORD * self.rows
        for k in range(0, self.rows, 2):
            both = k + 1 < self.rows
            more = behind if k + 2 >= self.rows else 0
            lines.append(f"ldr r7, [{POINTERS[k]}], #{self.step}")
            if both:
                lines += [f"ldr r11, [{POINTERS[k + 1]}], #{self.step}", f"strd r7, r11, [r0], #{8 + more}"]
            else:
                lines.append(f"str r7, [r0], #{4 + more}")
        return lines

    def _vectors(self) -> list[str]:
        count = -(-self.line // VECTOR)
        pieces = [(k, v) for k in range(self.rows) for v in range(count)]
        places = [self.line * k + VECTOR * v for k, v in pieces]
        moves = [b - a for a, b in zip(places, [*places[1:], self.apart], strict=True)]
        lines: list[str] = []
        at_once = max(VECTORS // count, 1)
        for first in range(0, self.rows, at_once):
            rows = range(first, min(first + at_once, self.rows))
            registers = {(k, v): f"q{i}" for i, (k, v) in enumerate((k, v) for k in rows for v in range(count))}
            lines += self._loads(registers, count)
            for k, v in registers:
                lines.append(f"vstrb.8 {registers[k, v]}, [r0], #{moves[pieces.index((k, v))]}")
        return lines

    def _loads(self, registers: dict[tuple[int, int], str], count: int) -> list[str]:
        """Load a row's first vector last, because it updates the row pointer. Predicated loads share VPST blocks of up
        to four."""
        cut = {at: q for at, q in registers.items() if at[1] == count - 1 and self.line % VECTOR}
        lines: list[str] = []
        for i, (at, q) in enumerate(cut.items()):
            if i % 4 == 0:
                lines.append(f"vpst{'t' * (min(len(cut) - i, 4) - 1)}")
            lines.append(f"vldrbt.u8 {q}, {self._place(*at)}")
        whole = sorted(registers.keys() - cut.keys(), key=lambda at: -at[1])
        return [*lines, *(f"vldrb.u8 {registers[at]}, {self._place(*at)}" for at in whole)]

    def _place(self, row: int, vector: int) -> str:
        return f"[{POINTERS[row]}, #{VECTOR * vector}]" if vector else f"[{POINTERS[row]}], #{self.step}"
