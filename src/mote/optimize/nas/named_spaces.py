"""Resolves search spaces that users pass as a name, a TOML file or an object."""

from __future__ import annotations

from pathlib import Path

from mote.base.text import printable
from mote.optimize.nas.classical.classical_space import CLASSICAL, KINDS, ClassicalSpace, classical_of
from mote.optimize.nas.spaces.space import SearchSpace
from mote.optimize.nas.spaces.space_file import builtin, builtin_names, space_of, space_table

GivenSpace = str | Path | SearchSpace | ClassicalSpace


def named_space(given: GivenSpace) -> SearchSpace | ClassicalSpace:
    """The search space of a built-in name or a TOML file; a file with a table for a kind of classical model is a
    classical space, any other a network space."""
    if isinstance(given, SearchSpace | ClassicalSpace):
        return given
    if given == CLASSICAL:
        return ClassicalSpace()
    if str(given) in builtin_names() or not Path(given).exists():
        return builtin(str(given))
    table, file = space_table(given), printable(str(given))
    return classical_of(table, file) if KINDS.keys() & table.keys() else space_of(table, file)
