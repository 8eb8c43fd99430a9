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

    @property
    def bytes(self) -> bytes:
        """With the lowest byte of each element first."""
        return self.values.astype(self.values.dtype.newbyteorder("<")).tobytes()


def parameter_spans(struct: str, params: Mapping[str, Value]) -> Iterator[Span]:
    """The numbers in a kernel's parameters: those that no address comes between are in one span. A kernel lists its
    parameters in the order of its struct, and each number takes four bytes."""
    run: list[int | float] = []
    begin = ""
    for path, value in _leaves(struct, params):
        if isinstance(value, int | float):
            begin = begin if run else path
            run.append(value)
        elif run:
            yield Span(f"&{begin}", _words(run))
            run = []
    if run:
        yield Span(f"&{begin}", _words(run))


def _leaves(path: str, value: Value) -> Iterator[tuple[str, Value | None]]:
    """The fields inside a value, and None where a struct with addresses in it begins or ends: before and after it a
    core may leave bytes out."""
    if not isinstance(value, Mapping):
        yield path, value if isinstance(value, int | float) else None
        return
    inner = [leaf for name, part in value.items() for leaf in _leaves(f"{path}.{name}", part)]
    aligned = any(part is None for _, part in inner)
    yield from [(path, None), *inner, (path, None)] if aligned else inner


def _words(numbers: Sequence[int | float]) -> Array:
    """Whole numbers, with a sign or without, and real numbers as the words that hold them."""
    words = [int(np.float32(x).view(np.uint32)) if isinstance(x, float) else int(x) & 0xFFFFFFFF for x in numbers]
    return np.array(words, np.uint32)


def array_span(name: str, value: Array | Structs) -> Span:
    values = (value.rows & 0xFFFFFFFF).astype(np.uint32) if isinstance(value, Structs) else value
    return Span(name, values.reshape(-1))


def check(name: str, spans: Sequence[Span]) -> list[Definition]:
    """The function, and the list of what it looks at: spans of one width after those of another."""
    crc = 0
    tables: list[Definition] = []
    steps: list[Statement] = ["uint32_t crc = 0"] if spans else []
    for width in sorted({s.width for s in spans}):
        chosen = [s for s in spans if s.width == width]
        table = f"{name}_checked_{8 * width}"
        items = [f"{{{s.address}, {s.values.nbytes}}}" for s in chosen]
        tables.append(Text(f"static const mote_constant_t {table}[{len(items)}] = {{\n{wrap(items)}\n}};\n"))
        steps.append(assign("crc", f"mote_crc_constants(crc, {table}, {len(items)}, {width})"))
        for span in chosen:
            crc = zlib.crc32(span.bytes, crc)
    if spans:
        steps.append(when(f"crc != {name.upper()}_CRC", "return MOTE_DAMAGED"))
        tables = [
            Comment("Every constant that the model reads, and its CRC-32."),
            Define(f"{name.upper()}_CRC", f"0x{crc:08x}u"),
            *tables,
        ]
    return [*tables, Function(f"mote_status {name}_check(void)", [*steps, "return MOTE_OK"])]
