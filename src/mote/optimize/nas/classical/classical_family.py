"""Search family of classical models for tables: scikit-learn fits them in moments, so each candidate is fitted before
it is costed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Self

import numpy as np

from mote.base.errors import MoteError
from mote.base.extras import installed
from mote.base.progress import Say
from mote.compiler.settings import Settings
from mote.frontends.data.dataset_type import Dataset
from mote.ir.graph.tensor import Array
from mote.optimize.nas.classical.classical_space import ClassicalSpace, described
from mote.optimize.nas.classical.estimators import FEW, Estimator, FoldScore, cross_validated, fit
from mote.optimize.nas.classical.model_files import ModelFile, feature_scale, model_file, stored_rows
from mote.optimize.nas.costs.compiled_costs import compiled_model, costs_of, limited
from mote.optimize.nas.costs.network_costs import CostLimits, DoesNotFit, NetworkCosts
from mote.optimize.nas.family import Choice, FinishedMember
from mote.optimize.nas.tasks import TABLE, LearningTask, agreement
from mote.optimize.search import digest


@dataclass(frozen=True, eq=False)
class ClassicalFamily:
    """Search family of classical models for tables; `epochs` is ignored, every fit is complete."""

    task: LearningTask
    settings: Settings
    limits: CostLimits = field(default_factory=CostLimits)
    space: ClassicalSpace = field(default_factory=ClassicalSpace)
    seed: int = 0

    def __post_init__(self) -> None:
        if not suits(self.task):
            raise MoteError(
                "classical models are for tables with one label or value for each row, and samples of every class",
                where=self.task.train.where,
                remedy="choose a space of networks; or pip install scikit-learn onnx",
            )

    @property
    def name(self) -> str:
        return self.space.name

    @property
    def shared(self) -> bool:
        return False

    @cached_property
    def key(self) -> str:
        data = [(part.inputs, part.labels) for part in (self.task.train, self.task.validation)]
        settings = (self.settings.target.name, self.settings.optimize)
        return digest(self.space.kinds, self.task.steps, data, settings, self.limits, self.seed)

    @cached_property
    def _choices(self) -> ClassicalSpace:
        return self.space.for_task(self.task.classes)

    def first(self) -> Sequence[Choice]:
        return self._choices.firsts()

    def random(self, rng: Random) -> Choice:
        return self._choices.random(rng)

    def mutated(self, choice: Choice, rng: Random) -> Choice:
        return self._choices.mutated(choice, rng)

    def crossed(self, one: Choice, other: Choice, rng: Random) -> Choice:
        return self._choices.crossed(one, other, rng)

    def described(self, choice: Choice) -> str:
        return described(choice)

    def costs(self, choice: Choice) -> NetworkCosts | DoesNotFit:
        return self.costed(self.file(choice, *self._fitted))

    def costed(self, file: ModelFile) -> NetworkCosts | DoesNotFit:
        """Costs of a model file on the target."""
        try:
            compiled = compiled_model(file.data, self.settings, file.options)
        except MoteError as error:
            return DoesNotFit(error.reason)
        return limited(costs_of(compiled), self.limits)

    def estimate(self, choice: Choice) -> None:
        return None

    def prepared(self, checkpoint: str, say: Say) -> Self:
        return self

    @cached_property
    def _all(self) -> tuple[Array, Array]:
        """Training and validation samples together."""
        parts = [_rows(part) for part in (self.task.train, self.task.validation)]
        features, y = (np.concatenate(pair) for pair in zip(*parts, strict=True))
        return features, y

    @property
    def _few(self) -> bool:
        """Whether the data is so small that models are compared by cross-validation instead of a held-out part."""
        return len(self.task.train) + len(self.task.validation) < FEW

    @property
    def _fitted(self) -> tuple[Array, Array]:
        """Samples that shipped models are fitted to: all but the test data if data is small, else the training part."""
        return self._all if self._few else _rows(self.task.train)

    def score(self, choice: Choice, epochs: int) -> float:
        """Cross-validated accuracy over training and validation samples."""
        return self.validated(choice, *self._all)

    def validated(self, choice: Choice, x: Array, y: Array) -> float:
        """Cross-validated accuracy of a choice on rows `x` with labels `y`."""
        return cross_validated(self._score(choice), x, y, self.task.classes, self.seed)

    def held_out(self, choice: Choice, x: Array, y: Array) -> float:
        """Accuracy on every third row after fitting to the others: a quick score for a first selection."""
        held = np.arange(len(y), dtype=np.int64) % 3 == 2
        return self._score(choice)(x[~held], y[~held], x[held], y[held])

    def _score(self, choice: Choice) -> FoldScore:
        """A fold score that fits the choice and scores the estimator."""

        def score(rows: Array, labels: Array, held: Array, wanted: Array) -> float:
            scale = feature_scale(choice, rows)
            estimator = fit(choice, stored_rows(rows, scale), labels, self.task.classes, self.seed)
            return _agreement(choice, estimator, stored_rows(held, scale), wanted, self.task.classes)

        return score

    def finish(self, choice: Choice, epochs: int) -> FinishedMember:
        file = self.file(choice, *self._fitted)
        if self._few:
            validation = cross_validated(self._file_score(choice), *self._all, self.task.classes, self.seed)
        else:
            validation = self.task.accuracy(file.data, self.task.validation)
        return FinishedMember({file.name: file.data}, validation, file.name, self.task.steps, file.options)

    def _file_score(self, choice: Choice) -> FoldScore:
        """A fold score that fits the choice, writes its model file and scores that file."""
        (name,) = self.task.validation.inputs

        def score(rows: Array, labels: Array, held: Array, wanted: Array) -> float:
            data = Dataset(self.task.validation.where, {name: held}, wanted)
            return self.task.accuracy(self.file(choice, rows, labels).data, data)

        return score

    def file(self, choice: Choice, x: Array, y: Array) -> ModelFile:
        """Model file of a choice, fitted to rows `x` with labels `y`."""
        stored = stored_rows(x, feature_scale(choice, x))
        return model_file(choice, fit(choice, stored, y, self.task.classes, self.seed), x, self.task.classes)


def suits(task: LearningTask) -> bool:
    """Whether classical models suit a task: a table with one label or value per row and samples of every class, and
    scikit-learn and onnx are installed."""
    labels = np.asarray(task.train.labels)
    complete = not task.classes or len(np.unique(labels)) == task.outputs
    return task.kind == TABLE and labels.ndim == 1 and complete and all(map(installed, ("sklearn", "onnx")))


def _rows(data: Dataset) -> tuple[Array, Array]:
    (values,) = data.inputs.values()
    return values.reshape(len(values), -1).astype(np.float32), np.asarray(data.labels)


def _agreement(choice: Choice, estimator: Estimator, x: Array, y: Array, classes: bool) -> float:
    """Accuracy of an estimator, with predictions computed the way its model file computes them."""
    if not classes:
        return agreement(np.asarray(estimator.predict(x)).reshape(len(x), -1), y, classes=False)
    if hasattr(estimator, "coefs_"):
        hidden = np.maximum(x @ estimator.coefs_[0] + estimator.intercepts_[0], 0)
        answers = (hidden @ estimator.coefs_[1] + estimator.intercepts_[1]).argmax(1)
    elif choice.get("votes") == "hard":
        votes = np.stack([tree.predict(x) for tree in estimator.estimators_])
        answers = np.stack([(votes == one).sum(0) for one in range(len(estimator.classes_))]).argmax(0)
    else:
        answers = np.asarray(estimator.predict(x))
    return float((answers == y).mean())
