"""Fields of the kernels' C parameter structs in order, parsed from the headers.

Model images store parameters as 32-bit words in that order, and generated code is checked against it. Macros with
arguments, token pasting and typedefs are expanded as a C compiler would, as far as the headers use them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from mote.base.errors import MoteError
from mote.compiler.kernels import library
from mote.compiler.kernels.contract import Packed, Structs, Value
from mote.compiler.kernels.files import SETS
from mote.ir.graph.tensor import Array

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_MACRO = re.compile(r"#define (MOTE_\w+)\(([^)]*)\)(.*)")
_CALL = re.compile(r"\b(MOTE_\w+)\(")
_ATTRIBUTES = re.compile(r"\b(?:MOTE_ALIGNED|MOTE_UNUSED|restrict)\b")
_STRUCT = re.compile(r"typedef\s+struct\b\s*\w*\s*\{(?P<fields>[^{}]*)\}\s*(?P<names>\w+(?:\s*,\s*\w+)*)\s*;")
_ALIAS = re.compile(r"typedef\s+(?P<type>\w+)\s+(?P<names>\w+(?:\s*,\s*\w+)*)\s*;")
INCLUDE = re.compile(r'^#include "(mote_\w+\.h)"', re.MULTILINE)
WORDS = ("int32_t", "uint32_t", "float")
"""C types of numeric parameters, four bytes each."""


@dataclass(frozen=True)
class Field:
    """A scalar or pointer field of a parameter struct, with its path through nested structs."""

    path: str
    ctype: str
    """C type, one of WORDS; empty for a pointer."""

    @property
    def pointer(self) -> bool:
        return not self.ctype

    def __str__(self) -> str:
        return f"{self.path}*" if self.pointer else self.path


def fields(files: tuple[str, ...], type_name: str, instances: Sequence[str] = ()) -> tuple[Field, ...]:
    """The fields of the struct `type_name`, defined in kernel headers or by the macro expansions `instances`."""
    added = library.added_texts()
    known = _typedefs(files, added)
    if instances:
        known = {**known, **_declared(expanded("\n".join(instances), _defining_macros(files, added)))}
    try:
        return tuple(_flat(known, type_name, ""))
    except KeyError as error:
        raise MoteError(
            f"{files[0]}: {type_name} has a field of the type {error.args[0]!r}, which is none of a kernel's "
            f"parameters: those are {', '.join(WORDS)}, pointers, and structs of these that the file defines"
        ) from None


def kernel_fields(kernel: Packed) -> tuple[Field, ...]:
    """The fields of a bound kernel's parameter struct."""
    return fields(kernel.files, f"mote_{kernel.name}_t", tuple(map(str, kernel.instances)))


Word = int | Array | Structs
"""A parameter as stored: the 32-bit word of a number, or the array of a pointer."""


def words(known: Sequence[Field], params: Mapping[str, Value]) -> list[Word]:
    """Parameter values in struct order, one for each field; missing ones are zero, as in C. A pointer is an array, or 0
    for NULL."""
    given = dict(named(params))
    values: list[Word] = []
    for field in known:
        value = given.pop(field.path, 0)
        if isinstance(value, np.ndarray | Structs):
            assert field.pointer, f"{field.path} is no pointer"
            values.append(value)
        elif field.ctype == "float":
            values.append(int(np.float32(value).view(np.uint32)))
        else:
            number = int(value)
            assert not field.pointer or number == 0, f"{field.path} is a pointer, not {number}"
            assert -(1 << 31) <= number < 1 << 32, f"{field.path} takes four bytes, which do not hold {number}"
            values.append(number & 0xFFFFFFFF)
    assert not given, f"no field of the struct is named {', '.join(given)}"
    return values


def named(params: Mapping[str, Value], path: str = "") -> Iterator[tuple[str, int | float | Array | Structs]]:
    """Parameters flattened to pairs of field path and value."""
    for name, value in params.items():
        if isinstance(value, Mapping):
            yield from named(value, f"{path}{name}.")
        else:
            yield path + name, value


def closure(files: Iterable[str], sets: Collection[str] = SETS) -> tuple[str, ...]:
    """C files and everything that they include on a core with the instruction sets `sets`, in dependency order."""
    ordered: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in ordered:
            for needed in INCLUDE.findall(library.header_for(name, sets)):
                visit(needed)
            ordered[name] = None

    for name in files:
        visit(name)
    return tuple(ordered)


def expanded(text: str, macros: Mapping[str, tuple[Sequence[str], str]]) -> str:
    """The text with macros expanded recursively."""
    begin = 0
    while (match := _CALL.search(text, begin)) is not None:
        name = match[1]
        if name not in macros:
            begin = match.end()
            continue
        arguments, end = _arguments(text, match.end())
        text = text[: match.start()] + _substituted(*macros[name], arguments) + text[end:]
        begin = match.start()
    return text


Macros = dict[str, tuple[tuple[str, ...], str]]


def macros(files: tuple[str, ...]) -> Macros:
    """All function-like macros in files and their includes, with parameters and bodies."""
    return _macros(files, library.added_texts())


@cache
def _macros(files: tuple[str, ...], added: object) -> Macros:
    definitions = {}
    for line in _lines(files):
        if match := _MACRO.match(line):
            definitions[match[1]] = tuple(p.strip() for p in match[2].split(",")), match[3]
    return definitions


@cache
def _defining_macros(files: tuple[str, ...], added: object) -> Macros:
    """The macros that expand to typedefs, directly or through other macros; only these need to be expanded."""
    definitions = _macros(files, added)
    defining = {name for name, (_, body) in definitions.items() if "typedef" in body}
    while more := {
        n for n, (_, body) in definitions.items() if n not in defining and set(_CALL.findall(body)) & defining
    }:
        defining |= more
    return {name: definitions[name] for name in defining}


@cache
def _typedefs(files: tuple[str, ...], added: object) -> dict[str, str]:
    """Types defined in files without further macro instances: field declarations of structs, or the aliased type."""
    text = "\n".join(line for line in _lines(files) if not line.startswith("#"))
    return _declared(expanded(text, _defining_macros(files, added)))


def _lines(files: tuple[str, ...]) -> list[str]:
    """All lines of files and their includes, without comments, continuation lines joined."""
    text = "\n".join(library.header(name) for name in closure(files))
    return _COMMENT.sub(" ", text).replace("\\\n", " ").splitlines()


def _declared(text: str) -> dict[str, str]:
    structs = [(m["names"], m["fields"]) for m in _STRUCT.finditer(text)]
    aliases = [(m["names"], m["type"]) for m in _ALIAS.finditer(text)]
    return {name.strip(): what for names, what in (*structs, *aliases) for name in names.split(",")}


def _flat(known: Mapping[str, str], type_name: str, path: str) -> Iterator[Field]:
    """The fields of a type, with nested structs flattened."""
    said = known[type_name]
    if ";" not in said:
        yield from _flat(known, said, path)
        return
    for declaration in filter(None, map(str.strip, said.split(";"))):
        ctype, names = _declaration(declaration)
        for name in names:
            if name.startswith("*"):
                yield Field(path + name.lstrip("*"), "")
            elif ctype in WORDS:
                yield Field(path + name, ctype)
            else:
                yield from _flat(known, ctype, f"{path}{name}.")


def _declaration(text: str) -> tuple[str, list[str]]:
    """Parses a field declaration: its C type and its names, pointers with a leading star."""
    words = _ATTRIBUTES.sub("", text).replace("const ", "").replace("*", " *")
    ctype, names = words.split(None, 1)
    return ctype, ["*" + n.strip("* ") if "*" in n else n.strip() for n in names.split(",")]


def _arguments(text: str, begin: int) -> tuple[list[str], int]:
    """Parses the arguments of a macro call that begin at `begin`; also returns the position after the closing
    parenthesis."""
    depth, start, arguments, quoted = 1, begin, list[str](), False
    for at in range(begin, len(text)):
        sign = text[at]
        if sign == '"' and text[at - 1] != "\\":
            quoted = not quoted
        if quoted:
            continue
        depth += (sign == "(") - (sign == ")")
        if depth == 0 or (depth == 1 and sign == ","):
            arguments.append(text[start:at].strip())
            start = at + 1
        if depth == 0:
            return arguments, at + 1
    raise ValueError("a macro's call does not end")


def _substituted(parameters: Sequence[str], body: str, arguments: Sequence[str]) -> str:
    """A macro's body with arguments substituted and tokens pasted (##)."""
    given = dict(zip(parameters, arguments, strict=False))
    if parameters and parameters[-1] == "...":
        given["__VA_ARGS__"] = ", ".join(arguments[len(parameters) - 1 :])
    named = re.sub(r"\b\w+\b", lambda m: given.get(m[0], m[0]), body)
    return re.sub(r"\s*##\s*", "", named)
