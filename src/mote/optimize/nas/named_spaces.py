"""Spaces as users give them: by name, as a TOML file of either kind, or as an object."""

from __future__ import annotations

from pathlib import Path

from mote.base.text import printable
from mote.optimize.nas.classical.classical_space import CLASSICAL, KINDS, ClassicalSpace, classical_of
from mote.optimize.nas.spaces.space import SearchSpace
from mote.optimize.nas.spaces.space_file import builtin, builtin_names, space_of, space_table

GivenSpace = str | Path | SearchSpace | ClassicalSpace


def named_space(given: GivenSpace) -> SearchSpace | ClassicalSpace:
    """A space by the name of one that comes with Mote, or from a file. A file with a table for a kind of classical
    model describes such models, any other one networks."""
    if isinstance(given, SearchSpace | ClassicalSpace):
        return given
    if given == CLASSICAL:
        return ClassicalSpace()
    if str(given) in builtin_names() or not Path(given).exists():
        return builtin(str(given))
    table, file = space_table(given), printable(str(given))
    return classical_of(table, file) if KINDS.keys() & table.keys() else space_of(table, file)
