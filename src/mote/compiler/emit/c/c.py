"""A small AST of C: expressions and statements are built first, can be searched for variables, and are printed once.

An expression is a number, text, a `Name`, or a `Template` with other expressions in it. Every expression is a statement
too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass

INDENT = "    "
_TORN = re.compile(r"(?<=\*)(?=/)|(?<=/)(?=\*)|(?<=\?)(?=\?)")
"""Positions between two characters that form a comment delimiter or trigraph, special even in a comment."""


@dataclass(frozen=True)
class Name:
    """A variable that `uses` can search for. Names that need not be searched for are plain text."""

    text: str


@dataclass(frozen=True)
class Template:
    """A format string with a {} for each of its parts."""

    form: str
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Compound:
    """A block in braces after `head` (an if, a loop, a struct, a signature), followed by `tail`."""

    head: Expression
    body: Sequence[Statement]
    tail: str = ""


@dataclass(frozen=True)
class Case:
    """A case of a switch, with a comment."""

    value: int
    comment: str
    body: Sequence[Statement]


@dataclass(frozen=True)
class Switch:
    """A switch statement: each case ends with a break, and the default does nothing."""

    value: Expression
    cases: Sequence[Case]


@dataclass(frozen=True)
class Comment:
    """A comment on lines of its own."""

    text: str


@dataclass(frozen=True)
class Noted:
    """A statement or macro with a trailing comment."""

    what: Expression | Define
    comment: str


@dataclass(frozen=True)
class CFunction:
    """A function definition, followed by an empty line."""

    signature: str
    body: Sequence[Statement]


@dataclass(frozen=True)
class Accessor:
    """A one-line function definition."""

    signature: str
    statement: Expression


@dataclass(frozen=True)
class Include:
    """An include of a file of the project or of the kernel library."""

    file: str


@dataclass(frozen=True)
class Define:
    """A macro definition."""

    name: str
    value: Expression


@dataclass(frozen=True)
class Text:
    """Verbatim lines of C."""

    text: str


BLANK = Text("")
Expression = int | str | Name | Template
Statement = Expression | Compound | Switch | Comment | Noted
Definition = Statement | CFunction | Accessor | Include | Define | Text


def call(function: str, *arguments: Expression) -> Template:
    return Template(f"{function}({', '.join('{}' for _ in arguments)})", arguments)


def assign(target: Expression, value: Expression) -> Template:
    return Template("{} = {}", (target, value))


def index(array: Expression, at: Expression) -> Template:
    return Template("{}[{}]", (array, at))


def plus(a: Expression, b: Expression) -> Expression:
    """a + b, without a zero term."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if a == 0:
        return b
    if b == 0:
        return a
    return Template("{} - {}", (a, -b)) if isinstance(b, int) and b < 0 else Template("{} + {}", (a, b))


def times(a: Expression, factor: int) -> Expression:
    """a * factor, without a factor of 1."""
    if isinstance(a, int):
        return a * factor
    if factor in (0, 1):
        return a if factor else 0
    return Template("{} * {}" if isinstance(a, Name) else "({}) * {}", (a, factor))


def when(condition: Expression, *body: Statement) -> Compound:
    return Compound(Template("if ({})", (condition,)), body)


def loop(ctype: str, variable: Expression, count: Expression, *body: Statement) -> Compound:
    """A loop over 0 .. count - 1."""
    head = f"for ({ctype} {{}} = 0; {{}} < {{}}; {{}}++)"
    return Compound(Template(head, (variable, variable, count, variable)), body)


def guarded(guard: str, *definitions: Definition) -> list[Definition]:
    """Wraps a header's definitions in an include guard."""
    return [Text(f"#ifndef {guard}\n#define {guard}\n"), *definitions, Text("#endif")]


def uses(part: object, name: Name) -> bool:
    """Whether a variable occurs in expressions or statements."""
    if isinstance(part, list | tuple):
        return any(uses(p, name) for p in part)
    return part == name or (is_dataclass(part) and any(uses(getattr(part, f.name), name) for f in fields(part)))


def written(e: Expression) -> str:
    """Prints an expression."""
    if isinstance(e, Template):
        return e.form.format(*map(written, e.parts))
    return e.text if isinstance(e, Name) else str(e)


def printed(definitions: Iterable[Definition]) -> str:
    """Prints definitions as the text of a file."""
    return "\n".join(line for d in definitions for line in _lines(d)).rstrip("\n") + "\n"


def _lines(d: Definition) -> list[str]:
    match d:
        case Compound(head, body, tail):
            return [f"{written(head)} {{", *_indented(body), f"}}{tail}"]
        case Switch(value, cases):
            shown = [line for case in cases for line in _case(case)]
            return [f"switch ({written(value)}) {{", *shown, "default:", f"{INDENT}break;", "}"]
        case Comment(text):
            first, *rest = map(_remark, text.split("\n"))
            *lines, last = [f"/* {first}", *(f" * {line}".rstrip() for line in rest)]
            return [*lines, f"{last} */"]
        case Noted(what, comment):
            return [f"{line} /* {_remark(comment)} */" for line in _lines(what)]
        case CFunction(signature, body):
            return [*_lines(Compound(signature, body)), ""]
        case Accessor(signature, statement):
            return [f"{signature} {{ {written(statement)}; }}", ""]
        case Include(file):
            return [f'#include "{file}"']
        case Define(name, value):
            return [f"#define {name} {written(value)}"]
        case Text(text):
            return text.split("\n")
    return [f"{written(d)};"]


def _remark(text: str) -> str:
    """Escapes a line of a comment: ASCII only, no comment delimiters, trigraphs or line continuations. The text may be
    untrusted."""
    ascii = "".join(c if " " <= c <= "~" else "?" for c in text)
    return _TORN.sub(" ", ascii).rstrip("\\")


def _case(case: Case) -> list[str]:
    return [f"case {case.value}: /* {_remark(case.comment)} */", *_indented(case.body), f"{INDENT}break;"]


def _indented(body: Sequence[Statement]) -> list[str]:
    return [f"{INDENT}{line}" for s in body for line in _lines(s)]
