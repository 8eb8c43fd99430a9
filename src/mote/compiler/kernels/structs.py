"""The fields of the kernels' structs in the order of C, read from the kernels' files.

An image holds parameters as words in that order, and generated code checks them so. What the files say with macros is
expanded as a C compiler does it, as far as they go: macros with arguments, pasting of names, typedefs.
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
"""The C types of numbers in parameters, of four bytes each."""


@dataclass(frozen=True)
class Field:
    """A number or a pointer in a struct of parameters, with the path to it through nested structs."""

    path: str
    ctype: str
    """One of WORDS, or empty where it is a pointer."""

    @property
    def pointer(self) -> bool:
        return not self.ctype

    def __str__(self) -> str:
        return f"{self.path}*" if self.pointer else self.path


def fields(files: tuple[str, ...], type_name: str, instances: Sequence[str] = ()) -> tuple[Field, ...]:
    """The fields of a struct that files of the kernels define, or one of the instances of their macros."""
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
    """The fields of a kernel's parameters."""
    return fields(kernel.files, f"mote_{kernel.name}_t", tuple(map(str, kernel.instances)))


Word = int | Array | Structs
"""A parameter: a number as the word that holds it, or what a pointer points to."""


def words(known: Sequence[Field], params: Mapping[str, Value]) -> list[Word]:
    """The parameters in the order of the struct, one for each field; what is not named is zero, as in C. A pointer is
    an array, or 0 where it is NULL."""
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
    """The parameters by the paths of their fields."""
    for name, value in params.items():
        if isinstance(value, Mapping):
            yield from named(value, f"{path}{name}.")
        else:
            yield path + name, value


def closure(files: Iterable[str], sets: Collection[str] = SETS) -> tuple[str, ...]:
    """Files of the kernels and all that they include on a core with these instruction sets, each after those that it
    includes."""
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
    """The text with macros replaced by what they stand for, those that come of it too."""
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
    """The macros with arguments of files and those that they include: their parameters and bodies."""
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
    """The macros that define types, or use ones that do: the others are left as they stand."""
    definitions = _macros(files, added)
    defining = {name for name, (_, body) in definitions.items() if "typedef" in body}
    while more := {
        n for n, (_, body) in definitions.items() if n not in defining and set(_CALL.findall(body)) & defining
    }:
        defining |= more
    return {name: definitions[name] for name in defining}


@cache
def _typedefs(files: tuple[str, ...], added: object) -> dict[str, str]:
    """The types that files know by themselves: the fields of structs, or the name of another type."""
    text = "\n".join(line for line in _lines(files) if not line.startswith("#"))
    return _declared(expanded(text, _defining_macros(files, added)))


def _lines(files: tuple[str, ...]) -> list[str]:
    """All lines of files and those that they include, without comments, continued ones as one."""
    text = "\n".join(library.header(name) for name in closure(files))
    return _COMMENT.sub(" ", text).replace("\\\n", " ").splitlines()


def _declared(text: str) -> dict[str, str]:
    structs = [(m["names"], m["fields"]) for m in _STRUCT.finditer(text)]
    aliases = [(m["names"], m["type"]) for m in _ALIAS.finditer(text)]
    return {name.strip(): what for names, what in (*structs, *aliases) for name in names.split(",")}


def _flat(known: Mapping[str, str], type_name: str, path: str) -> Iterator[Field]:
    """The fields of a type, those of nested structs in place."""
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
    """The type of a declaration of fields, and their names, of pointers with a star before them."""
    words = _ATTRIBUTES.sub("", text).replace("const ", "").replace("*", " *")
    ctype, names = words.split(None, 1)
    return ctype, ["*" + n.strip("* ") if "*" in n else n.strip() for n in names.split(",")]


def _arguments(text: str, begin: int) -> tuple[list[str], int]:
    """The arguments of a macro's call that open before `begin`, and where the call ends."""
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
    """The body of a macro with its arguments, and pasted names as one."""
    given = dict(zip(parameters, arguments, strict=False))
    if parameters and parameters[-1] == "...":
        given["__VA_ARGS__"] = ", ".join(arguments[len(parameters) - 1 :])
    named = re.sub(r"\b\w+\b", lambda m: given.get(m[0], m[0]), body)
    return re.sub(r"\s*##\s*", "", named)
