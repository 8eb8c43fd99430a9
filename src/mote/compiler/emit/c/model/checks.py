"""`NAME_check`: a CRC-32 over all constants of the model, to detect corrupted flash.

It covers weights and tables, the parameters of kernels, and the tables of the schedule. Addresses in parameters, which
only the linker knows, are compared with the expected ones. The tables of the check itself state the end of each entry
twice, so that no corrupted address is followed. Code is not covered, nor the tables inside of kernel functions, which
`function_tables` lists for the header.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from mote.compiler.emit.c.c import CFunction, Comment, Define, Definition, Statement, Text, when
from mote.compiler.emit.c.values import wrap
from mote.compiler.kernels.contract import Structs, Value
from mote.compiler.kernels.structs import Field, words
from mote.ir.graph.tensor import Array

_TABLES = re.compile(r"^[ \t]+static const \w+ ([^*;][^;]*);", re.MULTILINE)
"""Matches declarations of constants inside of functions."""
_BRACES = re.compile(r"\{[^{}]*\}")
_NAME = re.compile(r"[\s\\]*(\w+)")


@dataclass(frozen=True)
class ConstantSpan:
    """Contiguous constants in flash."""

    address: str
    end: str
    values: Array
    """The values, in a NumPy type as wide as the C type."""

    @property
    def width(self) -> int:
        return self.values.itemsize


@dataclass(frozen=True)
class Checked:
    """Constants that `NAME_check` covers: spans for the CRC, and addresses to compare."""

    spans: Sequence[ConstantSpan]
    addresses: Mapping[str, str]
    """Pointers in the parameters of kernels, and the addresses that they must hold."""


def struct(
    name: str, fields: Sequence[Field], params: Mapping[str, Value], named: Callable[[Array | Structs], str]
) -> Checked:
    """The numbers and pointers in the parameter struct of a kernel. `named`: gives the C name of a constant.

    A span of numbers ends at the next pointer and at the edges of nested structs with pointers, where a 64-bit host may
    have padding.
    """
    spans: list[ConstantSpan] = []
    addresses: dict[str, str] = {}
    holders = {parent for field in fields if field.pointer for parent in _parents(field)}
    pairs = zip(fields, words(fields, params), strict=True)
    for (pointers, _), group in groupby(pairs, lambda pair: (pair[0].pointer, holders & _parents(pair[0]))):
        by_path = {f"{name}.{field.path}": value for field, value in group}
        if pointers:
            addresses |= {at: "NULL" if isinstance(value, int) else named(value) for at, value in by_path.items()}
        else:
            first, *_, last = (*by_path, *by_path)
            spans.append(ConstantSpan(f"&{first}", f"&{last} + 1", np.array(list(by_path.values()), np.uint32)))
    return Checked(spans, addresses)


def _parents(field: Field) -> frozenset[str]:
    """The paths of the nested structs that contain a field."""
    parts = field.path.split(".")
    return frozenset(".".join(parts[:i]) for i in range(1, len(parts)))


def array_span(name: str, value: Array | Structs) -> ConstantSpan:
    """The span of a constant array."""
    if isinstance(value, Structs):
        return ConstantSpan(
            name, f"{name} + {len(value.rows)}", (value.rows & 0xFFFFFFFF).astype(np.uint32).reshape(-1)
        )
    flat = value.reshape(-1)
    values = flat.view(np.float32) if flat.dtype == np.complex64 else flat
    return ConstantSpan(name, f"{name} + {values.size}", values)


def check(name: str, parts: Sequence[Checked], mark: str = "") -> list[Definition]:
    """The check function and its tables: constants by width, then addresses. `mark`: the attribute of constants in
    flash."""
    crc = 0
    tables: list[Definition] = []
    comparisons: list[str] = []
    every = [span for part in parts for span in part.spans]
    for width in sorted({s.width for s in every}):
        spans = [s for s in every if s.width == width]
        table = f"{name}_checked_{8 * width}"
        items = [f"{{{s.address}, {s.end}, {s.values.nbytes}}}" for s in spans]
        tables.append(_table("mote_constant_t", table, items, mark))
        comparisons.append(f"mote_crc_constants(&crc, {table}, {len(spans)}, {width})")
        for s in spans:
            crc = zlib.crc32(s.values.astype(s.values.dtype.newbyteorder("<")).tobytes(), crc)
    if addresses := {at: value for part in parts for at, value in part.addresses.items()}:
        table = f"{name}_checked_addresses"
        items = [f"{{&{at}, &{at} + 1, {v}}}" for at, v in addresses.items()]
        tables.append(_table("mote_address_t", table, items, mark))
        comparisons.append(f"mote_addresses_hold({table}, {len(addresses)})")
    steps: list[Statement] = []
    if comparisons:
        expected = Define(f"{name.upper()}_CRC", f"0x{crc:08x}u")
        tables = [Comment("Every constant that the model reads, and its CRC-32."), expected, *tables]
        steps = ["uint32_t crc = 0", *(when(f"!{each}", "return MOTE_DAMAGED") for each in comparisons)]
        steps.append(when(f"crc != {name.upper()}_CRC", "return MOTE_DAMAGED"))
    return [*tables, CFunction(f"mote_status {name}_check(void)", [*steps, "return MOTE_OK"])]


def _table(ctype: str, name: str, items: list[str], mark: str) -> Text:
    return Text(f"static const {ctype} {name}[{len(items)}]{mark} = {{\n{wrap(items)}\n}};\n")


def function_tables(texts: Mapping[str, str]) -> tuple[str, ...]:
    """The constants inside of functions in C files, as "NAME in FILE": no other code can reach them."""
    return tuple(f"{table} in {file}" for file, text in texts.items() for table in _function_tables(text))


def _function_tables(text: str) -> Iterator[str]:
    for declaration in _TABLES.findall(text):
        while declaration != (declaration := _BRACES.sub("", declaration)):
            pass
        yield from (_NAME.match(declared)[1] for declared in declaration.split(","))  # type: ignore[index]
