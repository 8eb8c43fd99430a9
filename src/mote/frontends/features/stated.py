"""Steps as a user states them: names with parameters, as text.

`scale=1/255,mean(0.5,0.4,0.3),channels-first` is three steps; `name=value` is short for `name(value)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any, get_type_hints

import numpy as np

from mote.base.errors import MoteError
from mote.base.text import did_you_mean

Argument = float | str
_STEP = re.compile(r"(?P<name>[A-Za-z][\w-]*)(?:=(?P<value>[^()=]+)|\((?P<list>[^()]*)\))?")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?(/\d+\.?\d*)?", re.IGNORECASE)


@dataclass(frozen=True)
class StatedStep:
    """The function of a step, and the parameters behind its first one, in the types that it takes."""

    text: str
    function: Callable[..., Any]
    values: tuple[Argument, ...] = ()
    options: Mapping[str, Argument] = field(default_factory=dict)

    def __call__(self, given: Any) -> Any:
        return self.function(given, *self.values, **self.options)


def parts(text: str, where: str, example: str) -> list[str]:
    """The parts between the commas outside of parentheses."""
    between = re.findall(r"(?:[^,()]|\([^()]*\))+", text)
    if ",".join(between) != text.strip().removesuffix(",") and text.strip():
        raise MoteError(f"'{text}' cannot be read", where=where, remedy=f"write steps with commas between: {example}")
    return [part.strip() for part in between]


def stated(text: str, steps: Mapping[str, Callable[..., Any]], where: str, others: str = "") -> StatedStep:
    """The step that a text states, of those that there are; `others` are what else there is, in words."""
    match = _STEP.fullmatch(text)
    if match is None:
        raise MoteError(f"'{text}' is no step", where=where, remedy="write a step as name, name=value or name(a,b=c)")
    name = match["name"]
    if name not in steps:
        remedy = f"{did_you_mean(name, steps)}use one of {', '.join(steps)}{others}"
        raise MoteError(f"'{name}' is no step", where=where, remedy=remedy)
    given = [match["value"]] if match["value"] else [part for part in (match["list"] or "").split(",") if part.strip()]
    values = [_argument(part.strip(), where) for part in given if "=" not in part]
    options = {
        key.strip(): _argument(value.strip(), where) for key, _, value in (p.partition("=") for p in given if "=" in p)
    }
    return _bound(StatedStep(text, steps[name], tuple(values), options), where)


def _argument(text: str, where: str) -> Argument:
    """A number, also as a fraction, or a word."""
    if _NUMBER.fullmatch(text):
        above, _, below = text.partition("/")
        if below and not float(below):
            raise MoteError(f"'{text}' divides by zero", where=where, remedy="give another number")
        return float(above) / float(below or 1)
    return text


def _bound(step: StatedStep, where: str) -> StatedStep:
    """The step, if its function has parameters of these names and types."""
    text, function = step.text, step.function
    known = list(signature(function).parameters.values())[1:]
    types = get_type_hints(function)
    try:
        signature(function).bind(None, *step.values, **step.options)
    except TypeError as error:
        listed = ", ".join(p.name if p.default is Parameter.empty else f"{p.name}={p.default}" for p in known)
        raise MoteError(
            f"'{text}': {error}", where=where, remedy=f"it takes {listed}" if listed else "it takes no parameters"
        ) from None
    positional = [known[min(i, len(known) - 1)].name for i in range(len(step.values))]
    made = [_typed(text, name, value, types[name], where) for name, value in zip(positional, step.values, strict=True)]
    given = {key: _typed(text, key, value, types[key], where) for key, value in step.options.items()}
    return StatedStep(text, function, tuple(made), given)


def _typed(text: str, name: str, value: Argument, wanted: type, where: str) -> Argument:
    if wanted is str:
        return value if isinstance(value, str) else f"{value:g}"
    if isinstance(value, str) or not np.isfinite(value) or (wanted is int and value != int(value)):
        kind = "a whole number" if wanted is int else "a number"
        raise MoteError(f"'{text}': {name} is '{value}', not {kind}", where=where, remedy=f"give {kind}")
    return int(value) if wanted is int else value
