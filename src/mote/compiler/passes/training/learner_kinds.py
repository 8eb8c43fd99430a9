"""Kinds of learners without gradients: their settings, operators and states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.base.text import did_you_mean, printable
from mote.compiler.passes.training.spec import WHERE
from mote.ir.graph import Op, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.learning.gaussian import LEAST_SMOOTHING, GaussianScores, GaussianUpdate
from mote.ir.ops.learning.linear import LinearScores, LogisticUpdate
from mote.ir.ops.learning.neighbors import MOST_KEPT, MOST_VOTES, KnnScores, KnnUpdate
from mote.ir.ops.learning.one_class import LONGEST_WINDOW, OneClassScore, OneClassUpdate
from mote.ir.ops.learning.prototypes import PrototypeCosines, PrototypeScores, PrototypeUpdate
from mote.ir.ops.learning.ridge import MOST_FEATURES, RidgeUpdate, first_inverse
from mote.ir.ops.learning.samples import LONGEST

SAMPLES = 5
"""Default number of samples per class that a k-nearest-neighbours learner stores."""
MOST_NUMBERS = 1 << 22
"""Maximum number of elements of a state."""
Setting = float | str


@dataclass(frozen=True)
class Number:
    """A numeric setting: its default, which is an int if all values must be integers, and its range."""

    usual: int | float
    least: float
    most: float


@dataclass(frozen=True)
class LearnerMethod:
    """The operators of a learner, and the initial values of its states by name. Scores read the states in `read`; the
    update reads and writes all."""

    update: type[Op]
    scores: type[Op]
    states: Mapping[str, Array]
    read: Sequence[str]
    result: DType = DType.INT32
    """The element type of scores."""
    taught: Mapping[str, Any] = field(default_factory=dict)
    """Attributes of the update operator."""
    judged: Mapping[str, Any] = field(default_factory=dict)
    """Attributes of the scores operator."""


@dataclass(frozen=True)
class LearnerKind:
    """A kind of learner: `make` creates its method from features, number of classes and settings. A text setting has a
    tuple of its values, the default first."""

    make: Callable[[Tensor, int, Mapping[str, Any]], LearnerMethod]
    settings: Mapping[str, Number | tuple[str, ...]]
    takes: DType = DType.INT8
    """The element type of features."""
    longest: int = LONGEST
    """Maximum number of features."""


def all_settings(kind: str, given: Mapping[str, Setting]) -> dict[str, Any]:
    """All settings of a kind of learner: the stated ones, and defaults."""
    known = KINDS[kind].settings
    for key in given:
        if key not in known:
            others = ", ".join(("classes", "features", "pool", *known))
            raise _wrong(f"{kind} has no setting '{printable(key)}'", f"{did_you_mean(key, known)}it takes {others}")
    usual = {key: value.usual if isinstance(value, Number) else value[0] for key, value in known.items()}
    return usual | {key: _checked(key, known[key], value) for key, value in given.items()}


def _checked(key: str, known: Number | tuple[str, ...], value: Setting) -> Setting:
    """A stated setting, checked and converted to its type."""
    if not isinstance(known, Number):
        if value not in known:
            raise _wrong(f"there is no {key} '{printable(str(value))}'", f"one of {', '.join(known)}")
        return value
    whole = isinstance(known.usual, int)
    if isinstance(value, str) or not known.least <= value <= known.most or (whole and value != int(value)):
        kind = "whole number" if whole else "number"
        wanted = f"give a {kind} from {known.least:g} to {known.most:g}"
        raise _wrong(f"{key} is '{printable(value) if isinstance(value, str) else f'{value:g}'}'", wanted)
    return int(value) if whole else value


def _wrong(reason: str, remedy: str) -> MoteError:
    return MoteError(reason, where=WHERE, remedy=remedy)


def _state(shape: tuple[int, ...], dtype: DType, value: int = 0) -> Array:
    if prod(shape) > MOST_NUMBERS:
        remedy = "choose fewer classes, or a layer with fewer features"
        raise _wrong(f"a state of {prod(shape):,} numbers is too large to be learned", remedy)
    return np.full(shape, value, dtype.numpy)


def _prototype(x: Tensor, classes: int, settings: Mapping[str, Any]) -> LearnerMethod:
    states = {"sums": _state((classes, x.size), DType.INT32), "counts": _state((classes,), DType.INT32)}
    if settings["metric"] == "euclidean":
        return LearnerMethod(PrototypeUpdate, PrototypeScores, states, tuple(states))
    return LearnerMethod(PrototypeUpdate, PrototypeCosines, states, tuple(states), judged={"zero": x.zero_point})


def _knn(x: Tensor, classes: int, settings: Mapping[str, Any]) -> LearnerMethod:
    capacity = settings["capacity"] or min(SAMPLES * classes, MOST_KEPT)
    states = {
        "samples": _state((capacity, x.size), DType.INT8),
        "labels": _state((capacity,), DType.INT8, -1),
        "place": _state((1,), DType.INT32),
    }
    voting = {"classes": classes, "neighbors": settings["neighbors"]}
    return LearnerMethod(
        KnnUpdate, KnnScores, states, ("samples", "labels"), taught={"classes": classes}, judged=voting
    )


def _ridge(x: Tensor, classes: int, settings: Mapping[str, Any]) -> LearnerMethod:
    weights = _state((classes, x.size + 1), DType.FLOAT32)
    states = {"weights": weights, "inverse": first_inverse(x.size, settings["ridge"])}
    return LearnerMethod(RidgeUpdate, LinearScores, states, ("weights",), DType.FLOAT32, taught=settings)


def _logistic(x: Tensor, classes: int, settings: Mapping[str, Any]) -> LearnerMethod:
    states = {"weights": _state((classes, x.size + 1), DType.FLOAT32)}
    return LearnerMethod(LogisticUpdate, LinearScores, states, ("weights",), DType.FLOAT32, taught=settings)


def _bayes(x: Tensor, classes: int, settings: Mapping[str, Any]) -> LearnerMethod:
    states = {
        "means": _state((classes, x.size), DType.FLOAT32),
        "squares": _state((classes, x.size), DType.FLOAT32),
        "logarithms": _state((classes,), DType.FLOAT32),
        "counts": _state((classes,), DType.INT32),
    }
    return LearnerMethod(GaussianUpdate, GaussianScores, states, tuple(states), DType.FLOAT32, settings, settings)


def _one_class(x: Tensor, classes: int, settings: Mapping[str, Any]) -> LearnerMethod:
    states = {"statistics": _state((2,), DType.INT64), "count": _state((1,), DType.INT32)}
    taught, judged = ({key: settings[key]} for key in ("window", "floor"))
    return LearnerMethod(OneClassUpdate, OneClassScore, states, tuple(states), taught=taught, judged=judged)


KINDS: Mapping[str, LearnerKind] = {
    "prototype": LearnerKind(_prototype, {"metric": ("cosine", "euclidean")}),
    "knn": LearnerKind(_knn, {"neighbors": Number(1, 1, MOST_VOTES), "capacity": Number(0, 1, MOST_KEPT)}),
    "ridge": LearnerKind(
        _ridge, {"ridge": Number(10.0, 1e-6, 1e6), "forgetting": Number(1.0, 0.5, 1)}, DType.FLOAT32, MOST_FEATURES
    ),
    "logistic": LearnerKind(_logistic, {"rate": Number(0.01, 1e-9, 1), "decay": Number(0.0, 0, 1)}, DType.FLOAT32),
    "bayes": LearnerKind(_bayes, {"smoothing": Number(0.5, LEAST_SMOOTHING, 1)}, DType.FLOAT32),
    "one-class": LearnerKind(_one_class, {"window": Number(64, 1, LONGEST_WINDOW), "floor": Number(1, 1, 1 << 30)}),
}
