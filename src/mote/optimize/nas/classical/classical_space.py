"""Search spaces of classical models: for each kind of model its options, and for each option the values to choose
from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from random import Random
from typing import Any

from mote.base.errors import MoteError
from mote.base.text import did_you_mean, printable
from mote.optimize.nas.spaces.space_file import located, shown_value

CLASSICAL = "classical"
"""Name of the space of all classical models."""
KIND = "kind"
"""Key of a choice that holds the kind of model; its other keys are options of that kind."""
OTHER_KIND = 0.15
"""Probability that a mutation changes the kind of model."""
FEATURES = ("int8", "float32")
"""Input types of tree models: float32, or int8 with one scale for all features."""
SHARE = ".share"
"""Suffix of option names whose values are fractions of at most 1."""
TEXTS = ("name", "about")
"""Top-level keys of a space file that are not kinds of models."""
Values = tuple[Any, ...]

KINDS: Mapping[str, Mapping[str, Values]] = {
    "tree": {
        "leaves": (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 64, 128),
        "smallest": (1, 2, 3, 5, 8),
        "pruning": (0.0, 0.001, 0.003, 0.01, 0.03),
        "features": FEATURES,
    },
    "forest": {
        "trees": (2, 3, 4, 5, 6, 7, 9, 11, 13, 15, 18, 22, 30, 45, 65, 100),
        "leaves": (2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 64, 128, 256),
        "smallest": (1, 2, 3, 5, 8),
        "share": (0.1, 0.2, 0.35, 0.5, 0.7, 1.0),
        "splits": ("best", "random"),
        "votes": ("hard", "shares"),
        "features": FEATURES,
    },
    "boosting": {
        "trees": (3, 5, 8, 12, 18, 25, 40, 60, 100),
        "leaves": (2, 3, 4, 6, 8, 12, 16, 31),
        "smallest": (2, 5, 10, 20),
        "rate": (0.05, 0.1, 0.2, 0.4, 0.7),
        "features": FEATURES,
    },
    "linear": {
        "loss": ("logistic", "hinge", "squared", "discriminant"),
        "inverse": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0),
    },
    "perceptron": {
        "units": (2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 64),
        "decay": (0.0001, 0.001, 0.01, 0.1, 1.0),
    },
    "bayes": {"smoothing": (1e-9, 1e-6, 1e-4, 1e-2, 1e-1)},
    "neighbours": {
        "prototypes": (1, 2, 3, 4, 6, 8, 12, 16),
        "neighbours": (1, 3),
    },
    "kernel": {
        "samples": (16, 32, 64, 128, 256, 512, 1024),
        "inverse": (0.3, 1.0, 3.0, 10.0, 30.0, 100.0),
        "width": (0.1, 0.3, 1.0, 3.0, 10.0),
    },
}
"""Kinds of models with the values of their options, small models first.

`smallest` is the least number of samples of a leaf, `pruning` the alpha of cost-complexity pruning, `share` the part of
the features that a split looks at, `inverse` the inverse of the regularization (`discriminant` is linear discriminant
analysis, whose covariance shrinks by it), `width` that of a radial basis function
over 1 / features, and `samples` bounds the support vectors."""
REGRESSION = ("tree", "forest", "boosting", "linear", "perceptron", "neighbours", "kernel")
"""Kinds that can also do regression."""


@dataclass(frozen=True)
class ClassicalSpace:
    """A search space of classical models: `kinds` maps each kind to its options, and each option to its values."""

    name: str = CLASSICAL
    kinds: Mapping[str, Mapping[str, Values]] = field(default_factory=lambda: KINDS)

    def __post_init__(self) -> None:
        if not self.kinds:
            raise MoteError("has no kind of model", where=self.name, remedy=f"name some of {', '.join(KINDS)}")
        for kind, options in self.kinds.items():
            if kind not in KINDS:
                near = did_you_mean(kind, KINDS)
                raise MoteError(f"there is no kind '{printable(kind)}'", remedy=f"{near}use {', '.join(KINDS)}")
            for name in (*options, *KINDS[kind]):
                if name not in KINDS[kind] or name not in options:
                    near = did_you_mean(name, KINDS[kind])
                    remedy = f"{near}the options of '{kind}' are {', '.join(KINDS[kind])}"
                    raise MoteError(
                        f"there is no option '{printable(name)}'" if name in options else f"'{name}' is missing",
                        where=kind,
                        remedy=remedy,
                    )
                _check(options[name], KINDS[kind][name], f"{kind}.{name}")

    def for_task(self, classes: bool) -> ClassicalSpace:
        """The space for classification (`classes`) or regression, without kinds that cannot do regression."""
        kept = {kind: options for kind, options in self.kinds.items() if classes or kind in REGRESSION}
        return ClassicalSpace(self.name, kept)

    def random(self, rng: Random) -> dict[str, Any]:
        """A random choice; all kinds are equally likely."""
        return self._of(rng.choice(list(self.kinds)), rng)

    def mutated(self, choice: Mapping[str, Any], rng: Random) -> dict[str, Any]:
        """A choice with one option moved by one or two values, or of another kind."""
        if rng.random() < OTHER_KIND and len(self.kinds) > 1:
            return self._of(rng.choice([kind for kind in self.kinds if kind != choice[KIND]]), rng)
        options = {name: values for name, values in self.kinds[choice[KIND]].items() if len(values) > 1}
        if not options:
            return dict(choice)
        name = rng.choice(list(options))
        at = options[name].index(choice[name])
        near = [i for i in range(at - 2, at + 3) if i != at and 0 <= i < len(options[name])]
        return {**choice, name: options[name][rng.choice(near)]}

    def crossed(self, one: Mapping[str, Any], other: Mapping[str, Any], rng: Random) -> dict[str, Any]:
        """Uniform crossover of two choices of one kind; of different kinds, one of the two."""
        if one[KIND] != other[KIND]:
            return dict(rng.choice([one, other]))
        return {name: rng.choice([one, other])[name] for name in one}

    def firsts(self) -> list[dict[str, Any]]:
        """Initial choices: for each kind, the middle value of every option."""
        return [
            {KIND: kind, **{name: values[len(values) // 2] for name, values in options.items()}}
            for kind, options in self.kinds.items()
        ]

    def _of(self, kind: str, rng: Random) -> dict[str, Any]:
        return {KIND: kind, **{name: rng.choice(values) for name, values in self.kinds[kind].items()}}


def described(choice: Mapping[str, Any]) -> str:
    """One-line summary of a choice."""
    return f"{choice[KIND]}: " + ", ".join(f"{name} {value}" for name, value in choice.items() if name != KIND)


def classical_of(table: Mapping[str, Any], where: str) -> ClassicalSpace:
    """A search space from a parsed TOML file with a table per kind, and in it a value or list of values per option;
    unnamed options keep their default values. `where` is the file name for error messages."""
    kinds: dict[str, dict[str, Values]] = {}
    with located(where):
        for kind, options in table.items():
            if kind in TEXTS:
                if not isinstance(options, str):
                    raise MoteError(f"{kind} is {shown_value(options)}", remedy="it takes a text")
                continue
            if kind in KINDS and not isinstance(options, Mapping):
                raise MoteError(f"{kind} is {shown_value(options)}", remedy=f"write [{kind}], and its options below it")
            given = options.items() if kind in KINDS else ()
            named = {name: tuple(value) if isinstance(value, list) else (value,) for name, value in given}
            kinds[kind] = {**KINDS.get(kind, {}), **named}
        return ClassicalSpace(table.get("name", Path(where).stem), kinds)


def _check(values: Values, known: Values, where: str) -> None:
    """Raises an error for option values of another type or range than the built-in ones."""
    if not values:
        raise MoteError("is an empty list", where=where, remedy="give a value, or a list of values to choose from")
    for value in values:
        least = min(known)
        if isinstance(least, str):
            fits, takes = value in known, f"one of {', '.join(known)}"
        elif isinstance(least, int):
            fits, takes = type(value) is int and value >= least, f"a whole number of at least {least}"
        else:
            most = 1.0 if where.endswith(SHARE) else inf
            number = isinstance(value, int | float) and not isinstance(value, bool)
            fits = number and (0 < value <= most or value == least)
            takes = f"a number above 0{', at most 1' if most == 1 else ''}"
        if not fits:
            raise MoteError(f"is {shown_value(value)}", where=where, remedy=f"give {takes}, or a list of such")
