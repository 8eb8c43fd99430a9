"""C as data: expressions and statements are built first, can be asked which variables they use, and are printed once.

An expression is a number, text, a `Name`, or a `Formula` over other expressions. An expression is a statement too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass

INDENT = "    "
_TORN = re.compile(r"(?<=\*)(?=/)|(?<=/)(?=\*)|(?<=\?)(?=\?)")
"""Between characters that mean something together, even in a comment."""


@dataclass(frozen=True)
class Name:
    """A variable that `uses` can ask for. Names that nobody asks for are text."""

    text: str


@dataclass(frozen=True)
class Formula:
    """Text with a {} for each of its parts."""

    form: str
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Compound:
    """Statements in braces behind `head` (an if, a loop, a struct, a signature), and what follows the braces."""

    head: Expression
    body: Sequence[Statement]
    tail: str = ""


@dataclass(frozen=True)
class Case:
    """What a switch does for a value; the comment says what the value stands for."""

    value: int
    comment: str
    body: Sequence[Statement]


@dataclass(frozen=True)
class Switch:
    """Cases that each end with a break. Other values do nothing."""

    value: Expression
    cases: Sequence[Case]


@dataclass(frozen=True)
class Comment:
    """A comment on lines of its own."""

    text: str


@dataclass(frozen=True)
class Noted:
    """A simple statement or a macro with a comment behind it."""

    what: Expression | Define
    comment: str


@dataclass(frozen=True)
class Function:
    """The definition of a function, with an empty line behind it."""

    signature: str
    body: Sequence[Statement]


@dataclass(frozen=True)
class Accessor:
    """The definition of a function that is a single statement, on one line."""

    signature: str
    statement: Expression


@dataclass(frozen=True)
class Include:
    """A file of the project or of the kernel library."""

    file: str


@dataclass(frozen=True)
class Define:
    """A macro."""

    name: str
    value: Expression


@dataclass(frozen=True)
class Text:
    """Lines of C that are ready to print."""

    text: str


BLANK = Text("")
Expression = int | str | Name | Formula
Statement = Expression | Compound | Switch | Comment | Noted
Definition = Statement | Function | Accessor | Include | Define | Text


def call(function: str, *arguments: Expression) -> Formula:
    return Formula(f"{function}({', '.join('{}' for _ in arguments)})", arguments)


def assign(target: Expression, value: Expression) -> Formula:
    return Formula("{} = {}", (target, value))


def index(array: Expression, at: Expression) -> Formula:
    return Formula("{}[{}]", (array, at))


def plus(a: Expression, b: Expression) -> Expression:
    """a + b, without a term that is 0."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if a == 0:
        return b
    if b == 0:
        return a
    return Formula("{} - {}", (a, -b)) if isinstance(b, int) and b < 0 else Formula("{} + {}", (a, b))


def times(a: Expression, factor: int) -> Expression:
    """a * factor, without a factor that is 1."""
    if isinstance(a, int):
        return a * factor
    if factor in (0, 1):
        return a if factor else 0
    return Formula("{} * {}" if isinstance(a, Name) else "({}) * {}", (a, factor))


def when(condition: Expression, *body: Statement) -> Compound:
    return Compound(Formula("if ({})", (condition,)), body)


def loop(ctype: str, variable: Expression, count: Expression, *body: Statement) -> Compound:
    """`body` with a new variable for each of 0, 1, ... count - 1."""
    head = f"for ({ctype} {{}} = 0; {{}} < {{}}; {{}}++)"
    return Compound(Formula(head, (variable, variable, count, variable)), body)


def guarded(guard: str, *definitions: Definition) -> list[Definition]:
    """What a header defines, once for each file that includes it."""
    return [Text(f"#ifndef {guard}\n#define {guard}\n"), *definitions, Text("#endif")]


def uses(part: object, name: Name) -> bool:
    """Whether a variable occurs in an expression or a statement, or in any of several."""
    if isinstance(part, list | tuple):
        return any(uses(p, name) for p in part)
    return part == name or (is_dataclass(part) and any(uses(getattr(part, f.name), name) for f in fields(part)))


def written(e: Expression) -> str:
    """An expression as text."""
    if isinstance(e, Formula):
        return e.form.format(*map(written, e.parts))
    return e.text if isinstance(e, Name) else str(e)


def printed(definitions: Iterable[Definition]) -> str:
    """Definitions as the text of a file, which ends with a line that is not empty."""
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
        case Function(signature, body):
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
    """A line of a comment: in ASCII, with nothing that ends the comment, opens another one, is a trigraph, or joins the
    line with the next. What it says may come from anywhere."""
    ascii = "".join(c if " " <= c <= "~" else "?" for c in text)
    return _TORN.sub(" ", ascii).rstrip("\\")


def _case(case: Case) -> list[str]:
    return [f"case {case.value}: /* {_remark(case.comment)} */", *_indented(case.body), f"{INDENT}break;"]


def _indented(body: Sequence[Statement]) -> list[str]:
    return [f"{INDENT}{line}" for s in body for line in _lines(s)]
