"""`NAME_check`: a CRC-32 of everything constant that the model reads, so that a changed bit in flash is seen.

It covers weights and tables, the numbers in the kernels' parameters, and the tables that say what runs when. Not
covered are addresses, which only the linker knows, and the code.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mote.codegen.c import Comment, Define, Definition, Function, Statement, Text, assign, when
from mote.codegen.values import wrap
from mote.graph.tensor import Array
from mote.kernels.contract import Structs, Value


@dataclass(frozen=True)
class Span:
    """Constants that lie one after another in flash."""

    address: str
    values: Array
    """As the core holds them: as wide as in C."""

    @property
    def width(self) -> int:
        return self.values.itemsize


@dataclass(frozen=True)
class Checked:
    """Everything constant that a model reads."""

    spans: Sequence[Span]
    words: Mapping[str, int]
    """The numbers in the kernels' parameters, which take four bytes each, by their names in C."""


def words(path: str, value: Value) -> Iterator[tuple[str, int]]:
    """The numbers inside a struct, with a sign, without one, or real, as the words that hold them."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from words(f"{path}.{name}", part)
    elif isinstance(value, float):
        yield path, int(np.float32(value).view(np.uint32))
    elif isinstance(value, int):
        assert -(1 << 31) <= value < 1 << 32, f"{path} takes four bytes, which do not hold {value}"
        yield path, value & 0xFFFFFFFF


def array_span(name: str, value: Array | Structs) -> Span:
    values = (value.rows & 0xFFFFFFFF).astype(np.uint32) if isinstance(value, Structs) else value
    return Span(name, values.reshape(-1))


def check(name: str, checked: Checked) -> list[Definition]:
    """The function, and the lists of what it looks at: constants of one width after those of another, then words."""
    crc = 0
    tables: list[Definition] = []
    steps: list[Statement] = []
    for width in sorted({s.width for s in checked.spans}):
        spans = [s for s in checked.spans if s.width == width]
        table = f"{name}_checked_{8 * width}"
        tables.append(_table("mote_constant_t", table, [f"{{{s.address}, {s.values.nbytes}}}" for s in spans]))
        steps.append(assign("crc", f"mote_crc_constants(crc, {table}, {len(spans)}, {width})"))
        for s in spans:
            crc = zlib.crc32(s.values.astype(s.values.dtype.newbyteorder("<")).tobytes(), crc)
    if checked.words:
        table = f"{name}_checked_words"
        tables.append(_table("void *const", table, [f"&{word}" for word in checked.words]))
        steps.append(assign("crc", f"mote_crc_words(crc, {table}, {len(checked.words)})"))
        crc = zlib.crc32(np.array(list(checked.words.values()), "<u4").tobytes(), crc)
    if steps:
        expected = Define(f"{name.upper()}_CRC", f"0x{crc:08x}u")
        tables = [Comment("Every constant that the model reads, and its CRC-32."), expected, *tables]
        steps = ["uint32_t crc = 0", *steps, when(f"crc != {name.upper()}_CRC", "return MOTE_DAMAGED")]
    return [*tables, Function(f"mote_status {name}_check(void)", [*steps, "return MOTE_OK"])]


def _table(ctype: str, name: str, items: list[str]) -> Text:
    return Text(f"static const {ctype} {name}[{len(items)}] = {{\n{wrap(items)}\n}};\n")
