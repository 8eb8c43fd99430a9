"""An option of a compilation: what its row in the table says (`mote.compiler.settings.TABLE`), once for the settings,
the keywords of Python, the command line, project files, the documentation and all that does not have it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from enum import StrEnum
from math import inf
from typing import Any, TypeVar, cast

from mote.base.errors import MoteError

T = TypeVar("T")
Why = str | tuple[str, str]
"""The reason for a refusal; with its remedy, where the usual one is not it."""


class RestrictedUse(StrEnum):
    """A use of options that does not have all of them."""

    IMAGE = "image"
    """An image for the runtime."""
    SEVERAL = "several"
    """Several models in one project."""
    TWO_CORES = "two_cores"
    """A model that two cores compute."""


REFUSALS = {
    RestrictedUse.IMAGE: ("is for generated C: {}", "omit {}, or make C of the model: `mote compile`"),
    RestrictedUse.SEVERAL: ("{}", "omit {}, or compile the models one by one"),
    RestrictedUse.TWO_CORES: ("two cores cannot share it: {}", "omit {} or --cores"),
}
"""The reasons of refusals by use, and their usual remedies."""


@dataclass(frozen=True)
class Notation:
    """How users write the values of an option, where that is not only as in its setting."""

    type: str
    """The type of the keyword in Python."""
    parse: Callable[[str, Any], Any]
    """The value of the setting, from the name of the option and what was written."""


@dataclass(frozen=True, kw_only=True)
class OptionRow:
    """A row of the table. What is said by its field is empty until `rows` reads it: name, type, default and stage."""

    help: str
    """Its line of help."""
    group: str
    """The group of options in the help of commands."""
    flag: str = ""
    """Its name in commands and project files, where it is another one there."""
    metavar: str | None = None
    """The word for its value in help."""
    choices: tuple[str, ...] = ()
    """The values to choose from, if these are few."""
    least: int | None = None
    """The least number that it may be."""
    most: float = inf
    """The greatest number that it may be."""
    unit: str = ""
    """The unit of a number."""
    written: Notation | None = None
    """How it may be written."""
    file: bool = False
    """Whether its text is the path of a file."""
    empty: tuple[Any, ...] = ()
    """Values that ask for no more than the default does."""
    only_python: bool = False
    """Whether commands and project files say it by another option."""
    needs: Mapping[str, Why] = field(default_factory=dict)
    """Options without which it means nothing."""
    excludes: Mapping[str, Why] = field(default_factory=dict)
    """Options that it cannot be combined with."""
    without: Mapping[RestrictedUse, Why] = field(default_factory=dict)
    """Uses that do not have it."""
    lacks: Callable[[Any, Any], Why] | None = None
    """Why a target does not have it with a value; empty: it does."""
    name: str = ""
    type: str = ""
    default: Any = None
    stage: str = ""

    @property
    def key(self) -> str:
        """Its name in project files, and on the command line behind two dashes."""
        return self.flag or self.name.replace("_", "-")

    @property
    def is_flag(self) -> bool:
        return self.type == "bool"

    @property
    def repeatable(self) -> bool:
        """Whether it has several values."""
        return self.type.startswith(("tuple", "Mapping"))

    @property
    def keyword(self) -> str:
        """The type of its keyword in Python."""
        return self.written.type if self.written else self.type

    def stated(self, value: Any) -> bool:
        """Whether a value asks for something."""
        return bool(value != self.default and value not in self.empty)

    def check(self, value: Any) -> None:
        """Refuses a value that is none of its choices, or out of its range."""
        if self.choices and value not in self.choices:
            raise self.refusal(f"'{value}' is not one of {', '.join(filter(None, self.choices))}")
        if value is not None and self.least is not None and not self.least <= value <= self.most:
            limits = f"{self.least} or more" if self.most == inf else f"{self.least} to {self.most:g}"
            raise self.refusal(f"{value:g} is out of range", f"give {limits} {self.unit}".rstrip())

    def words(self, value: Any) -> str:
        """How a command line states a value, for remedies."""
        return f"--{self.key} {value}" if self.choices else f"--{self.key}"

    def refusal(self, why: Why, remedy: str = "", where: str = "") -> MoteError:
        """The error for a reason, with its own remedy or the usual one."""
        reason, better = (why, remedy) if isinstance(why, str) else why
        return MoteError(reason, where=f"option {self.name}{where}", remedy=better)


def option(default: T, group: str, metavar: str | None = None, *, help: str, **row: Any) -> T:
    """The field of a setting with its row, which says by the names of uses why they do not have it; empty mappings are
    new ones for each of the settings."""
    without = {use: row.pop(use) for use in RestrictedUse if use in row}
    metadata = {OptionRow: OptionRow(help=help, group=group, metavar=metavar, without=without, **row)}
    if isinstance(default, dict):
        return cast(T, field(default_factory=dict, metadata=metadata))
    return field(default=default, metadata=metadata)


def rows(*stages: type) -> dict[str, OptionRow]:
    """The options of classes of settings by their names, each class with its own ones."""
    table: dict[str, OptionRow] = {}
    for stage in stages:
        for f in fields(stage):
            if f.name in stage.__annotations__ and OptionRow in f.metadata:
                said = {"name": f.name, "type": str(f.type), "default": default_of(f), "stage": stage.__name__}
                table[f.name] = replace(f.metadata[OptionRow], **said)
    return table


def default_of(setting: Field[Any]) -> Any:
    """The value of a setting that is not stated; None where it has to be."""
    if setting.default_factory is not MISSING:
        return setting.default_factory()
    return None if setting.default is MISSING else setting.default


def check(table: Mapping[str, OptionRow], settings: Any) -> None:
    """Refuses values that an option cannot have, options that do not go together, and what the target lacks."""
    values = {name: getattr(settings, name) for name in table if hasattr(settings, name)}
    for name, value in values.items():
        table[name].check(value)
    for row in (table[name] for name, value in values.items() if table[name].stated(value)):
        omit = f"omit {row.words(values[row.name])}"
        for other, why in row.needs.items():
            if not table[other].stated(values[other]):
                raise row.refusal(why, f"say --{table[other].key}, too")
        for other, why in row.excludes.items():
            if table[other].stated(values[other]):
                raise row.refusal(why, f"{omit} or {table[other].words(values[other])}")
        if row.lacks and (why := row.lacks(settings.target, values[row.name])):
            raise row.refusal(why, omit, f" on {settings.target.name}")


def check_use(table: Mapping[str, OptionRow], settings: Any, use: RestrictedUse) -> None:
    """Refuses settings that a use does not have."""
    reason, remedy = REFUSALS[use]
    for row in table.values():
        if use in row.without and row.stated(value := getattr(settings, row.name)):
            why = row.without[use]
            said, better = (why, remedy) if isinstance(why, str) else why
            raise row.refusal((reason.format(said), better.format(row.words(value))))
