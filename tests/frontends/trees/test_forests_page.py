"""The table of docs/models/classical.md against emlearn: it has every forest on every core, and what is measured."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

import forests
import lock
from tests.helpers.support import emulated

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
UPDATE = "python benchmarks/forests.py --update"
SMALL = "cancer, random forest, 10 trees"
NOT_LESS = ("digits, one tree", "synthetic, 20 trees of 6 levels", "diabetes, regression, 20 trees of 5 levels")
"""A tree that is larger as code, and forests whose leaves are exact in Mote and rounded in emlearn: not all that they
take is less."""
EMLEARN_INLINE, CODE, EMLEARN_LOADABLE, TABLE = (slice(i, i + 2) for i in (2, 4, 6, 8))


def table() -> list[list[str]]:
    return [row.strip("| ").split(" | ") for row in forests.rows()]


def test_every_forest_is_there_on_every_core() -> None:
    assert [row[0] for row in table()] == [name for name in forests.FORESTS for _ in forests.CORES], UPDATE


def test_mote_takes_fewer_instructions_and_fewer_bytes() -> None:
    for row in table():
        if row[EMLEARN_INLINE] == ["-", "-"] or row[0] in NOT_LESS:
            continue
        for theirs, ours in ((EMLEARN_INLINE, CODE), (EMLEARN_LOADABLE, TABLE)):
            pairs = zip(row[ours], row[theirs], strict=True)
            assert all(_number(mine) < _number(other) for mine, other in pairs), row


def _number(cell: str) -> int:
    return int(cell.replace(",", ""))


@pytest.mark.frontends
def test_the_page_has_what_is_measured() -> None:
    """In a process of its own: emlearn has the processor take small numbers for zero, everywhere from then on."""
    if find_spec("emlearn") is None:
        pytest.skip("not installed: emlearn")
    for core in forests.CORES:
        emulated(core)
        known = lock.load()["compilers"][core]
        if lock.compiler(core) != known:
            pytest.skip(f"the numbers in the page are those of {known}, this is {lock.compiler(core)}")
    command = [sys.executable, forests.__file__, "--only", SMALL]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT).stdout.splitlines()
    assert set(said[2:]) <= set(forests.rows()), UPDATE
