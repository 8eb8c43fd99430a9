"""The C of a program is one value: tables, arrays of pointers and variables are those that its cases name."""

from __future__ import annotations

import re

import pytest

from mote.compiler.emit.c.c import Text
from mote.compiler.emit.c.model.arenas import places
from mote.compiler.emit.c.model.steps.printed import Printed, printed
from mote.compiler.emit.c.values import ConstantPool
from mote.compiler.line import compile
from mote.compiler.lower.program import program
from tests.compiler.emit.c.test_project import DIGITS


def parts(*, least_ram: bool, wide: bool = False) -> Printed:
    compiled = compile(DIGITS, least_ram=least_ram)
    options = compiled.project.options
    return printed(program(compiled.plan), options, places(compiled.plan), ConstantPool(options.name), wide=wide)


@pytest.mark.parametrize("least_ram", [False, True])
def test_tables_are_those_that_cases_name(least_ram: bool) -> None:
    steps = parts(least_ram=least_ram)
    named = set(
        re.findall(rf"\b{steps.prefix}_(?:rows|schedule|split|reads\w*|y_\d+)\b", repr((steps.cases, steps.turn)))
    )
    named |= {f"{steps.prefix}_rows"} if "ROW(" in repr(steps.cases) else set()
    assert named and named == set(steps.arrays)
    defined = [re.findall(r"\w+(?=\[\d+\])", d.text)[0] for d in steps.tables if isinstance(d, Text)]
    assert defined == list(steps.arrays)


def test_wide_offsets_take_twice_the_bytes() -> None:
    narrow, wide = (parts(least_ram=True, wide=wide) for wide in (False, True))
    rows = f"{narrow.prefix}_rows"
    assert (narrow.wide, wide.wide) == (False, True)
    assert wide.arrays[rows].nbytes == 2 * narrow.arrays[rows].nbytes
    assert wide.table_bytes - narrow.table_bytes == narrow.arrays[rows].nbytes
    assert wide.cases == narrow.cases
