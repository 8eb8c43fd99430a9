"""Python values as C: struct initializers, constant arrays, exact literals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from mote.compiler.emit.c.c import Text
from mote.compiler.kernels.contract import ALIGNMENT, Structs, Value
from mote.compiler.kernels.structs import Field, named
from mote.hardware.targets import Memory
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType


@dataclass(frozen=True)
class CType:
    """An element type in C: its name, and the suffix of kernels for it."""

    name: str
    suffix: str


CTYPES = {
    DType.INT8: CType("int8_t", "s8"),
    DType.UINT8: CType("uint8_t", "u8"),
    DType.INT16: CType("int16_t", "s16"),
    DType.INT32: CType("int32_t", "s32"),
    DType.INT64: CType("int64_t", "s64"),
    DType.UINT16: CType("uint16_t", "u16"),
    DType.UINT32: CType("uint32_t", "u32"),
    DType.UINT64: CType("uint64_t", "u64"),
    DType.FLOAT32: CType("float", "f32"),
    DType.COMPLEX64: CType("float", "f32"),
    DType.BOOL: CType("uint8_t", "u8"),
}
LINE_LENGTH = 116
ALIGN = Text("""\
/* More alignment than C99 can ask for; define it before this file is compiled for another compiler. */
#ifndef MOTE_ALIGN
#if defined(__GNUC__) || defined(__IAR_SYSTEMS_ICC__)
#define MOTE_ALIGN(bytes) __attribute__((aligned(bytes)))
#else
#error "define MOTE_ALIGN(bytes): what aligns a variable with this compiler"
#endif
#endif
""")
_LEAST = (-(1 << 31), -(1 << 63))
"""Integers without a C literal, as the literal after their minus sign would overflow."""


_MOST = (1 << 63) - 1
"""The largest integer literal without an unsigned suffix."""
_BYTES = {
    np.dtype(t): np.arange(256, dtype=np.int64).astype(np.uint8).view(t).astype(str).tolist()
    for t in (np.int8, np.uint8)
}
"""C literals of 8-bit integers, by byte value."""
_INFINITE = {"inf": "MOTE_INFINITY", "-inf": "-MOTE_INFINITY"}


def number(x: float | int | np.generic) -> str:
    """The C literal of exactly `x`."""
    if isinstance(x, float | np.floating):
        return floats(np.array([x], np.float32))[0]
    value = int(x)
    if value > _MOST:
        return f"{value}u"
    return f"({value + 1} - 1)" if value in _LEAST else str(value)


@dataclass
class ConstantArray:
    """A constant array of the model."""

    name: str
    value: Array | Structs
    reads: dict[str, int] = field(default_factory=dict)
    """Estimated bytes read per inference, by the name of each use."""
    memory: Memory | None = None
    """The memory that it is placed in; None: the linker decides."""
    alignment: int = ALIGNMENT
    sealed: bool = False
    """Whether the contents are encrypted."""
    mark: str = ""
    """The attribute of constants in flash; empty if none is needed."""

    @property
    def nbytes(self) -> int:
        return 4 * self.value.rows.size if isinstance(self.value, Structs) else self.value.nbytes

    @property
    def heat(self) -> float:
        """Average reads of each byte per inference."""
        return sum(self.reads.values()) / max(self.nbytes, 1)

    @property
    def definition(self) -> Text:
        aligned = "MOTE_ALIGNED" if self.alignment <= ALIGNMENT else f"MOTE_ALIGN({self.alignment})"
        attributes = f" {aligned}{self.mark}{section(self.memory)}"
        return table(_ctype(self.value), self.name, _items(self.value), attributes)


@dataclass
class ConstantPool:
    """The constant arrays of a model, deduplicated."""

    prefix: str
    tables: int = 0
    """Bytes of schedule and row tables."""
    mark: str = ""
    """The attribute of constants in flash with a space before it; empty if none is needed."""
    _by_contents: dict[tuple[str, bytes], ConstantArray] = field(default_factory=dict)

    @property
    def arrays(self) -> list[ConstantArray]:
        return list(self._by_contents.values())

    @property
    def definitions(self) -> list[Text]:
        wide = any(c.alignment > ALIGNMENT for c in self.arrays)
        return [*([ALIGN] if wide else []), *(c.definition for c in self.arrays)]

    @property
    def nbytes(self) -> int:
        return sum(c.nbytes for c in self.arrays) + self.tables

    def array(self, hint: str, value: Array | Structs, reads: int = 0, alignment: int = ALIGNMENT) -> str:
        """The name of the constant with this value, which is added at its first use."""
        data = value.rows if isinstance(value, Structs) else value
        constant = self._by_contents.setdefault(
            (_ctype(value), data.tobytes()), ConstantArray(f"{self.prefix}_{hint}", value, mark=self.mark)
        )
        constant.reads[hint] = reads
        constant.alignment = max(constant.alignment, alignment)
        return constant.name

    def sealed(self, hint: str, text: bytes, reads: int = 0) -> str:
        """The name of the constant with this ciphertext, which is added at its first use."""
        value = np.frombuffer(text, np.uint8)
        name = self.array(hint, value, reads)
        self._by_contents[_ctype(value), text].sealed = True
        return name

    def name(self, value: Array | Structs) -> str:
        """The name of the constant with this value, which must have been added."""
        data = value.rows if isinstance(value, Structs) else value
        return self._by_contents[_ctype(value), data.tobytes()].name

    def struct(self, hint: str, params: Mapping[str, Value], fields: Sequence[Field], reads: int = 0) -> str:
        """The initializer of a kernel's parameter struct: one field per line, nested structs on one line, all fields in
        declaration order, as C++ requires."""
        given = {path: self._value(f"{hint}_{path.replace('.', '_')}", v, reads) for path, v in named(params)}
        return "\n".join(["{", *(f"    {field}," for field in _initializers(fields, given)), "}"])

    def _value(self, hint: str, value: int | float | Array | Structs, reads: int) -> str:
        return self.array(hint, value, reads) if isinstance(value, np.ndarray | Structs) else number(value)


def _initializers(fields: Sequence[Field], given: Mapping[str, str], depth: int = 0) -> Iterator[str]:
    """The initializers of a struct's fields at a nesting depth; fields without a value are zero."""
    for name, group in groupby(fields, lambda field: field.path.split(".")[depth]):
        inner = list(group)
        if inner[0].path.count(".") > depth:
            yield f".{name} = {{{', '.join(_initializers(inner, given, depth + 1))}}}"
        else:
            yield f".{name} = {given.get(inner[0].path, 'NULL' if inner[0].pointer else '0')}"


def section(memory: Memory | None) -> str:
    """The attribute that places a definition in a memory's linker section."""
    return "" if memory is None else f' MOTE_SECTION("{memory.section}")'


def _ctype(value: Array | Structs) -> str:
    return value.ctype if isinstance(value, Structs) else CTYPES[DType(value.dtype.name)].name


def _items(value: Array | Structs) -> list[str]:
    """The elements of a constant array as C initializers."""
    if isinstance(value, Structs):
        fields = np.array(integers(value.rows), object).reshape(value.rows.shape)
        return ["{" + ", ".join(row) + "}" for row in fields.tolist()]
    return literals(value)


def table(ctype: str, name: str, items: Iterable[str], attributes: str = "") -> Text:
    """The definition of a constant array."""
    items = list(items)
    return Text(f"static const {ctype} {name}[{len(items)}]{attributes} = {{\n{wrap(items)}\n}};\n")


def literals(values: Array) -> list[str]:
    """C literals of all elements; floats of any width as float32 literals."""
    return floats(values.astype(np.float32)) if values.dtype.kind == "f" else integers(values)


def floats(values: Array) -> list[str]:
    """C literals of float32 values; infinity is a macro of `mote_common.h`, NaN is an error."""
    if np.isnan(values).any():
        raise ValueError("what is no number has no C literal")
    return [_INFINITE.get(text) or f"{text}f" for text in values.reshape(-1).astype(str).tolist()]


def integers(values: Array) -> list[str]:
    """C literals of integers."""
    if values.dtype in _BYTES:
        return list(map(_BYTES[values.dtype].__getitem__, values.tobytes()))
    plain = values.size == 0 or (values.min() > -(1 << 31) and values.max() <= _MOST)
    wide = np.uint64 if values.dtype == np.uint64 else np.int64
    return list(map(str if plain else number, values.reshape(-1).astype(wide).tolist()))


def wrap(items: list[str]) -> str:
    """Comma-separated items, wrapped to indented lines."""
    text = ",\n".join([*items, ""])
    lines: list[str] = []
    begin, most = 0, LINE_LENGTH - len("    ,")
    while begin < len(text):
        end = text.rfind(",\n", begin, begin + most + 2)
        end = end if end >= 0 else text.index(",\n", begin)
        lines.append(text[begin:end].replace("\n", " "))
        begin = end + 2
    return "\n".join(f"    {line}," for line in lines)


def quoted(text: str) -> str:
    """Escapes text for a C string literal: non-ASCII characters become UTF-8 bytes."""
    plain = (32 <= byte < 127 and chr(byte) not in '"\\?' for byte in text.encode())
    return "".join(chr(byte) if fine else f"\\{byte:03o}" for byte, fine in zip(text.encode(), plain, strict=True))


def brief(text: str) -> str:
    """Cuts a layer's name to 100 characters, for a comment."""
    return text[:100]


def integer_type(values: Sequence[int]) -> np.dtype[np.generic]:
    """The smallest integer type that holds all values."""
    kinds = (np.int8, np.int16, np.int32) if min(values) < 0 else (np.uint8, np.uint16, np.uint32)
    return next(np.dtype(k) for k in kinds if np.iinfo(k).min <= min(values) and max(values) <= np.iinfo(k).max)
