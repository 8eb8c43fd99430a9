"""A row of the table of compilation options (`mote.compiler.settings.TABLE`). It defines an option once, for settings,
Python keywords, the command line, project files, the documentation, and the uses that do not support it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from enum import StrEnum
from math import inf
from typing import Any, TypeVar, cast

from mote.base.errors import MoteError

T = TypeVar("T")
Why = str | tuple[str, str]
"""Reason for refusing an option, optionally with a remedy other than the usual one."""


class RestrictedUse(StrEnum):
    """A use of the compiler that does not support all options."""

    IMAGE = "image"
    """Packing a model as an image for the runtime."""
    SEVERAL = "several"
    """Compiling several models into one project."""
    TWO_CORES = "two_cores"
    """Splitting a model between two cores."""


REFUSALS = {
    RestrictedUse.IMAGE: ("is for generated C: {}", "omit {}, or make C of the model: `mote compile`"),
    RestrictedUse.SEVERAL: ("{}", "omit {}, or compile the models one by one"),
    RestrictedUse.TWO_CORES: ("two cores cannot share it: {}", "omit {} or --cores"),
}
"""By use: templates of the reason and of the usual remedy in errors about options that it does not support."""


@dataclass(frozen=True)
class Notation:
    """How users write the values of an option, if other than as the value of its setting."""

    type: str
    """Type of the Python keyword."""
    parse: Callable[[str, Any], Any]
    """Converts the name of the option and the written value to the value of the setting."""


@dataclass(frozen=True, kw_only=True)
class OptionRow:
    """A row of the table of options. `name`, `type`, `default` and `stage` are set by `rows`, from the field of the
    setting."""

    help: str
    """Help text of the option."""
    group: str
    """Heading of the option in the help of commands."""
    flag: str = ""
    """Name of the option in commands and project files, if it differs from the setting's."""
    metavar: str | None = None
    """Placeholder of the value in help texts."""
    choices: tuple[str, ...] = ()
    """The allowed values, if these are few."""
    least: int | None = None
    """Minimum of a number."""
    most: float = inf
    """Maximum of a number."""
    unit: str = ""
    """Unit of a number, for messages."""
    written: Notation | None = None
    """How users may write the value; None: as the value of the setting."""
    file: bool = False
    """Whether a value that is text is the path of a file."""
    empty: tuple[Any, ...] = ()
    """Values that are equivalent to the default."""
    only_python: bool = False
    """Whether commands and project files set it through another option."""
    needs: Mapping[str, Why] = field(default_factory=dict)
    """The options that this one requires, and why."""
    excludes: Mapping[str, Why] = field(default_factory=dict)
    """The options that this one conflicts with, and why."""
    without: Mapping[RestrictedUse, Why] = field(default_factory=dict)
    """The uses that do not support the option, and why."""
    lacks: Callable[[Any, Any], Why] | None = None
    """Given a target and a value: why the target does not support it; empty if it does."""
    name: str = ""
    type: str = ""
    default: Any = None
    stage: str = ""

    @property
    def key(self) -> str:
        """Name of the option in project files, and on the command line after two dashes."""
        return self.flag or self.name.replace("_", "-")

    @property
    def is_flag(self) -> bool:
        return self.type == "bool"

    @property
    def repeatable(self) -> bool:
        """Whether the option takes several values."""
        return self.type.startswith(("tuple", "Mapping"))

    @property
    def keyword(self) -> str:
        """Type of the option's keyword in Python."""
        return self.written.type if self.written else self.type

    def stated(self, value: Any) -> bool:
        """Whether a value means anything but the default."""
        return bool(value != self.default and value not in self.empty)

    def check(self, value: Any) -> None:
        """Refuses a value that is not one of the choices, or out of range."""
        if self.choices and value not in self.choices:
            raise self.refusal(f"'{value}' is not one of {', '.join(filter(None, self.choices))}")
        if value is not None and self.least is not None and not self.least <= value <= self.most:
            limits = f"{self.least} or more" if self.most == inf else f"{self.least} to {self.most:g}"
            raise self.refusal(f"{value:g} is out of range", f"give {limits} {self.unit}".rstrip())

    def words(self, value: Any) -> str:
        """The option on a command line, for remedies."""
        return f"--{self.key} {value}" if self.choices else f"--{self.key}"

    def refusal(self, why: Why, remedy: str = "", where: str = "") -> MoteError:
        """The error that refuses the option, with the remedy that comes with the reason, or else `remedy`."""
        reason, better = (why, remedy) if isinstance(why, str) else why
        return MoteError(reason, where=f"option {self.name}{where}", remedy=better)


def option(default: T, group: str, metavar: str | None = None, *, help: str, **row: Any) -> T:
    """A field of a settings class, with its row in the table of options. A keyword named like a `RestrictedUse` says
    why that use does not support the option."""
    without = {use: row.pop(use) for use in RestrictedUse if use in row}
    metadata = {OptionRow: OptionRow(help=help, group=group, metavar=metavar, without=without, **row)}
    if isinstance(default, dict):
        return cast(T, field(default_factory=dict, metadata=metadata))
    return field(default=default, metadata=metadata)


def rows(*stages: type) -> dict[str, OptionRow]:
    """The rows of the options of settings classes, by name. A field counts for the class that defines it, not for those
    that inherit it."""
    table: dict[str, OptionRow] = {}
    for stage in stages:
        for f in fields(stage):
            if f.name in stage.__annotations__ and OptionRow in f.metadata:
                of_field = {"name": f.name, "type": str(f.type), "default": default_of(f), "stage": stage.__name__}
                table[f.name] = replace(f.metadata[OptionRow], **of_field)
    return table


def default_of(setting: Field[Any]) -> Any:
    """The default of a field of a settings class; None if it is required."""
    if setting.default_factory is not MISSING:
        return setting.default_factory()
    return None if setting.default is MISSING else setting.default


def check(table: Mapping[str, OptionRow], settings: Any) -> None:
    """Refuses invalid values, conflicting options, and options that the target does not support."""
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
    """Refuses options that a use does not support."""
    reason, remedy = REFUSALS[use]
    for row in table.values():
        if use in row.without and row.stated(value := getattr(settings, row.name)):
            why = row.without[use]
            said, better = (why, remedy) if isinstance(why, str) else why
            raise row.refusal((reason.format(said), better.format(row.words(value))))
