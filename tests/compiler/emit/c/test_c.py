"""C as data: what is printed, and what can be asked before."""

from __future__ import annotations

import pytest

from mote.compiler.emit.c.c import (
    BLANK,
    Accessor,
    Case,
    CFunction,
    Comment,
    Compound,
    Define,
    Definition,
    Expression,
    Include,
    Name,
    Noted,
    Switch,
    Template,
    Text,
    assign,
    call,
    guarded,
    index,
    loop,
    plus,
    printed,
    times,
    uses,
    when,
    written,
)

N, Y = Name("n"), Name("y")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (7, "7"),
        ("NULL", "NULL"),
        (Y, "y"),
        (call("f"), "f()"),
        (call("f", 1, Y, index("table", N)), "f(1, y, table[n])"),
        (plus(2, 3), "5"),
        (plus(0, Y), "y"),
        (plus(Y, 0), "y"),
        (plus(Y, 3), "y + 3"),
        (plus(Y, -3), "y - 3"),
        (plus("arena", times(Y, 4)), "arena + y * 4"),
        (times(2, 3), "6"),
        (times(Y, 0), "0"),
        (times(Y, 1), "y"),
        (times(plus(Y, 1), 4), "(y + 1) * 4"),
        (times(index("table", N), 4), "(table[n]) * 4"),
        (Template("{} < 0 ? NULL : {}", (Y, call("AT", Y))), "y < 0 ? NULL : AT(y)"),
    ],
)
def test_expressions(expression: Expression, text: str) -> None:
    assert written(expression) == text


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        (assign(Y, plus(N, 1)), "y = n + 1;\n"),
        ("return MOTE_OK", "return MOTE_OK;\n"),
        (Noted("uint8_t broken", "a red zone"), "uint8_t broken; /* a red zone */\n"),
        (Noted(Define("SIZE", 4), "elements"), "#define SIZE 4 /* elements */\n"),
        (Comment("one line"), "/* one line */\n"),
        (Comment("first\n\nlast"), "/* first\n *\n * last */\n"),
        (Include("mote_common.h"), '#include "mote_common.h"\n'),
        (when("x > 0", "x--"), "if (x > 0) {\n    x--;\n}\n"),
        (loop("int32_t", "k", 3, "f(k)"), "for (int32_t k = 0; k < 3; k++) {\n    f(k);\n}\n"),
        (Compound("do", ["f()"], " while (x);"), "do {\n    f();\n} while (x);\n"),
        (Accessor("int f(void)", "return 1"), "int f(void) { return 1; }\n"),
        (
            CFunction("void f(void)", [when("x", when("y", "g()"))]),
            """\
void f(void) {
    if (x) {
        if (y) {
            g();
        }
    }
}
""",
        ),
    ],
)
def test_statements(definition: Definition, text: str) -> None:
    assert printed([definition]) == text


def test_switch() -> None:
    switch = Switch("step", [Case(0, "ADD", [assign(Y, 1), call("add", Y)]), Case(1, "nothing", [])])
    assert (
        printed([switch])
        == """\
switch (step) {
case 0: /* ADD */
    y = 1;
    add(y);
    break;
case 1: /* nothing */
    break;
default:
    break;
}
"""
    )


def test_a_file() -> None:
    header = guarded("X_H", Include("a.h"), BLANK, Text("#if 1\n#endif\n"), Accessor("int f(void)", "return 1"))
    assert (
        printed([Comment("x.h"), *header])
        == """\
/* x.h */
#ifndef X_H
#define X_H

#include "a.h"

#if 1
#endif

int f(void) { return 1; }

#endif
"""
    )


def test_variables_that_are_used() -> None:
    """Wherever they are, but not where only the text looks like it."""
    nested = Switch("step", [Case(0, "n", [when("n > 0", loop("int32_t", "k", 2, call("f", plus(Y, 1))))])])
    assert uses(nested, Y)
    assert not uses(nested, N)
    assert uses([1, (N,)], N)
    assert not uses([], N)
