"""`mote.ops`, `mote.targets` and `mote.cmake`: the operators, the targets and the folder of CMake files that there
are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import mote.compiler.package
import mote.hardware.targets as known_targets
from mote.base.errors import MoteError
from mote.base.results import Record
from mote.base.text import did_you_mean
from mote.frontends import Format
from mote.hardware.targets import Target
from mote.hardware.targets.flags import only_gcc, optimization
from mote.ui.api.formats import known
from mote.ui.api.operators import Operator, operators

FOLDER = Path(mote.compiler.package.__file__).with_name("buildtime")
"""The folder of `find_package(Mote)`."""


def ops(*names: str, format: str = Format.TFLITE) -> list[Operator] | list[str]:
    """List the operators that Mote compiles: of TensorFlow Lite with their types, kernels and ways to run, of another
    `format` by its own names. With `names` only these; an unknown one is an error."""
    if format not in tuple(Format):
        guess = did_you_mean(format, list(Format))
        raise MoteError(f"'{format}' is no format", where="option format", remedy=f"{guess}use {', '.join(Format)}")
    listing = "`mote ops`" if format == Format.TFLITE else f"`mote ops --format {format}`"
    if format != Format.TFLITE:
        listed = known(Format(format))
        _check(names, listed, listing)
        return list(names) or listed
    by_name = {operator.name: operator for operator in operators()}
    _check(names, list(by_name), listing)
    return [by_name[name] for name in names or by_name]


def _check(names: Sequence[str], listed: Sequence[str], listing: str) -> None:
    for name in names:
        if name not in listed:
            guess = did_you_mean(name, list(listed))
            raise MoteError(f"there is no operator '{name}'", remedy=f"{guess}{listing} lists all")


def targets() -> list[Target]:
    """List the cores and parts that Mote knows: cores first, then parts, which name memories."""
    return [known_targets.load(name) for name in known_targets.names()]


@dataclass(frozen=True)
class CMakeFiles(Record):
    """The folder and the flags of a CMake project for `find_package(Mote)`."""

    folder: Path
    """The folder for CMAKE_PREFIX_PATH or Mote_DIR."""
    level: str
    """The optimization level of the compiler for the target."""
    gcc_flags: tuple[str, ...]
    """Flags for gcc alone."""


def cmake(target: str = "host", *, trust_target: bool = False, optimize: str = "balanced") -> CMakeFiles:
    """Find the folder of CMake's `find_package(Mote)`, and the compiler flags of models for a target."""
    part = known_targets.load(target, trusted=trust_target)
    how = optimization(optimize, part.cpu)
    return CMakeFiles(FOLDER, how.level, only_gcc(part.gcc_flags, how))
