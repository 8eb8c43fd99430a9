"""The text form of on-device training: `last`, `biases,conv2:optimizer=adam,rate=0.001`, `auto:RAM=64K`,
`prototype:classes=3`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import inf, isfinite
from typing import Any

from mote.base.errors import MoteError
from mote.base.text import did_you_mean, printable
from mote.compiler.passes.training.loss import Loss
from mote.hardware.targets.values import parse_size

WHERE = "option train"
LAST, BIASES, AUTO = "last", "biases", "auto"
LEARNERS = ("prototype", "knn", "ridge", "logistic", "bayes", "one-class")
OPTIMIZERS = ("sgd", "adam")
POOLS = ("max", "mean", "none")
RATES = {"sgd": 0.01, "adam": 0.001}
"""Default learning rate of each optimizer."""
_SETTINGS = re.compile(r":\s*(?=[A-Za-z][A-Za-z_-]*\s*=)")
"""Matches the colon before settings, as names of layers may have colons, too."""
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
_MOST = {"accumulate": 1 << 30, "seed": (1 << 32) - 1, "cycles": 1 << 62, "classes": 1 << 15, "recompute": 1 << 15}
"""Maximum of each integer setting."""
_REAL = {
    "rate": (1e-37, 3e38, "above 0 that float32 has"),
    "momentum": (0.0, 1.0, "of 0 or more, below 1"),
    "decay": (0.0, 3e38, "of 0 or more that float32 has"),
}
"""Minimum and maximum of each float setting, and the range in words for errors."""


@dataclass(frozen=True, kw_only=True)
class StepSettings:
    """Settings of gradient steps."""

    optimizer: str = "sgd"
    rate: float = 0.0
    """The learning rate; 0: the optimizer's default."""
    momentum: float = 0.0
    decay: float = 0.0
    """Weight decay."""
    accumulate: int = 1
    """Number of samples per step, which uses their mean gradient."""
    loss: str = ""
    """The name of the loss; empty: cross entropy for classes, else mean squared error."""
    seed: int = 0
    """The seed of stochastic rounding."""
    recompute: int | None = None
    """Number of activations, largest first, that are recomputed for gradients instead of kept. None: not stated, as few
    as a RAM budget needs."""

    @property
    def changed(self) -> dict[str, Any]:
        """The settings of steps that differ from their defaults."""
        usual, names = StepSettings(), _names(StepSettings)
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(usual, name)}

    @property
    def learning_rate(self) -> float:
        return self.rate or RATES[self.optimizer]


@dataclass(frozen=True, kw_only=True)
class ChosenLayers(StepSettings):
    """Training by gradients of what `items` name: `last`, `biases`, and layers by name or number."""

    items: tuple[str, ...]

    def __str__(self) -> str:
        return _text(",".join(self.items), self.changed)


@dataclass(frozen=True, kw_only=True)
class Auto(StepSettings):
    """Training by gradients, with what learns chosen within budgets."""

    ram: int | None = None
    """RAM budget in bytes, in addition to the RAM of an inference."""
    flash: int | None = None
    """Budget for the bytes of a saved record of learned weights."""
    cycles: int | None = None
    """Cycle budget of a training step and its inference."""

    def __str__(self) -> str:
        budgets = {"RAM": self.ram, "FLASH": self.flash, "CYCLES": self.cycles}
        return _text(AUTO, {name: value for name, value in budgets.items() if value is not None} | self.changed)

    def chosen(self, items: Sequence[str]) -> ChosenLayers:
        """Training in which `items` learn, with the settings of steps unchanged."""
        return ChosenLayers(items=tuple(items), **self.changed)


@dataclass(frozen=True, kw_only=True)
class Learner:
    """Learning without gradients, over the features that the frozen model computes."""

    kind: str
    """One of `LEARNERS`."""
    classes: int = 0
    """Number of classes; 0: not stated."""
    features: str = ""
    """The layer whose output is the features; empty: not stated."""
    pool: str = ""
    """How features of several positions are pooled to one vector; empty: not stated."""
    options: Mapping[str, float | str] = field(default_factory=dict, hash=False)
    """Settings that only this kind of learner has."""

    def __str__(self) -> str:
        own = {"classes": self.classes, "features": self.features, "pool": self.pool}
        return _text(self.kind, {**{name: value for name, value in own.items() if value}, **self.options})


Spec = ChosenLayers | Auto | Learner


def parsed(text: str) -> Spec:
    """Parses a text `ITEM[,ITEM...][:KEY=VALUE,...]`."""
    head, *rest = _SETTINGS.split(text, maxsplit=1)
    items = tuple(item.strip() for item in head.split(","))
    if not all(items):
        raise _wrong("an item is empty", f"write `{LAST}`, `{BIASES}`, layers, `{AUTO}` or a learner")
    settings = _settings(rest[0]) if rest else {}
    alone = next((item for item in items if item in (AUTO, *LEARNERS)), None)
    if alone is None:
        return ChosenLayers(items=items, **_values(settings, _names(StepSettings)))
    if len(items) > 1:
        raise _wrong(f"`{alone}` stands alone", "omit the other items; a layer with this name has a number, too")
    return _auto(settings) if alone == AUTO else _learner(alone, settings)


def _text(head: str, settings: Mapping[str, object]) -> str:
    """A training specification in the text form that `parsed` reads."""
    words = ",".join(f"{name}={str(value).removesuffix('.0')}" for name, value in settings.items())
    return f"{head}:{words}" if words else head


def _auto(settings: Mapping[str, str]) -> Auto:
    values = _values({key.lower(): value for key, value in settings.items()}, _names(Auto))
    if not {"ram", "flash", "cycles"} & values.keys():
        raise _wrong(f"`{AUTO}` has no budget", f"give one, or several: {AUTO}:RAM=64K,FLASH=16K,CYCLES=2000000")
    return Auto(**values)


def _learner(kind: str, settings: Mapping[str, str]) -> Learner:
    own = {key: value for key, value in settings.items() if key in ("classes", "features", "pool")}
    options = {key: _number_or_text(value) for key, value in settings.items() if key not in own}
    return Learner(kind=kind, options=options, **_values(own, tuple(own)))


def _names(kind: type[StepSettings]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))


def _settings(text: str) -> dict[str, str]:
    """Parses KEY=VALUE pairs with commas between."""
    settings: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (word.strip() for word in part.partition("="))
        if not equals or not key or not value:
            raise _wrong(f"'{printable(part)}' is not a setting", "write settings as KEY=VALUE, with commas between")
        if key in settings:
            raise _wrong(f"`{key}` is set twice", "omit one of them")
        settings[key] = value
    return settings


def _values(settings: Mapping[str, str], known: tuple[str, ...]) -> dict[str, Any]:
    """Settings converted to the values of dataclass fields; unknown ones are refused."""
    for key in settings:
        if key not in known:
            takes = f"gradient training takes {', '.join(known)}"
            raise _wrong(f"there is no setting '{printable(key)}'", f"{did_you_mean(key, known)}{takes}")
    return {key: _value(key, value) for key, value in settings.items()}


def _value(key: str, text: str) -> int | float | str:
    if key in _WORDS:
        if text not in _WORDS[key]:
            raise _wrong(f"there is no {key} '{printable(text)}'", f"one of {', '.join(_WORDS[key])}")
        return text
    if key in ("ram", "flash"):
        return _size(key, text)
    if key in _MOST:
        return _whole(key, text, least=key not in ("seed", "recompute"), most=_MOST[key])
    return text if key == "features" else _real(key, text)


def _size(key: str, text: str) -> int:
    try:
        return parse_size(text)
    except MoteError as error:
        raise _wrong(f"{key.upper()} is {error.reason}", error.remedy) from None


def _whole(key: str, text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and least <= int(text) <= most):
        raise _wrong(f"{key} is '{printable(text)}'", f"give a whole number from {int(least)} to {most}")
    return int(text)


def _real(key: str, text: str) -> float:
    """Parses a learning rate, momentum or weight decay."""
    value = _number_or_text(text)
    least, most, wanted = _REAL[key]
    if isinstance(value, str) or not least <= value < most:
        raise _wrong(f"{key} is '{printable(text)}'", f"give a number {wanted}")
    return value


def _number_or_text(text: str) -> float | str:
    number = float(text) if _NUMBER.fullmatch(text) else inf
    return number if isfinite(number) else text


def _wrong(reason: str, remedy: str) -> MoteError:
    return MoteError(reason, where=WHERE, remedy=remedy)


_WORDS: Mapping[str, tuple[str, ...]] = {"optimizer": OPTIMIZERS, "loss": tuple(Loss), "pool": POOLS}
