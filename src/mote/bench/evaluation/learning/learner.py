"""Trains a model on the host sample by sample, and evaluates it before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from mote.base.progress import Say, counted
from mote.bench.evaluation.inferences import Posed, as_taken, posed
from mote.bench.evaluation.learning.program import TrainingProgram, TrainingRun
from mote.bench.evaluation.runners import How, rated_by
from mote.bench.evaluation.score import real, suiting
from mote.bench.metrics import Score
from mote.frontends.data.dataset_type import Dataset
from mote.ir.graph.tensor import Array

ONLINE = ("top", "rmse", "mae")
"""Prefixes of metrics that can be computed sample by sample."""


@dataclass(frozen=True, eq=False)
class Lessons:
    """Training samples and their order."""

    data: Dataset
    epochs: int | None
    """Number of shuffled epochs; None: each sample once, in order."""
    seed: int

    def orders(self) -> Iterator[Array]:
        """Sample indices in training order, per epoch."""
        if self.epochs is None:
            yield np.arange(len(self.data), dtype=np.int64)
            return
        rng = np.random.default_rng(self.seed)
        for _ in range(self.epochs):
            yield rng.permutation(len(self.data))

    @property
    def steps(self) -> int:
        return len(self.data) * (1 if self.epochs is None else self.epochs)

    @property
    def by_class(self) -> bool:
        """Whether the samples are sorted by class."""
        labels = self.data.labels
        if self.epochs is not None or labels is None or labels.ndim > 1 or labels.dtype.kind == "f":
            return False
        changes = int(np.count_nonzero(np.diff(labels)))
        return len(labels) > changes + 1 == len(np.unique(labels)) > 1


@dataclass(frozen=True, eq=False)
class Taught:
    """Outputs and losses of one training epoch."""

    questions: Posed
    """The samples in training order."""
    outputs: Sequence[Array]
    """All outputs, each computed before its sample was learned."""
    losses: Array
    """Loss of each sample; empty if the learner has no loss."""


@dataclass(frozen=True, eq=False)
class Exam:
    """Samples to score before and after training."""

    questions: Posed
    before: Score | None
    answers: Sequence[Array]
    """Outputs of the model after training."""

    @property
    def where(self) -> str:
        return self.questions.data.shown


@dataclass(frozen=True, eq=False)
class LearningModel:
    """A trainable model, trained and evaluated in a single program run on the host."""

    program: TrainingProgram
    run: TrainingRun
    how: How
    say: Say

    def asked(self, data: Dataset) -> Posed:
        """Inferences for samples that are only scored."""
        return posed(self.program.asked, as_taken(self.program.asked, data))

    def answers(self, questions: Posed) -> list[Array]:
        """Outputs without training."""
        cases = [{**case, **self.program.idle} for case in questions.cases]
        count = len(self.program.asked.outputs)
        return self.run.infer(cases, counted(self.say, questions.data.where))[:count]

    def score(self, questions: Posed, answers: Sequence[Array]) -> Score:
        """Score of the first output; NaN if any output is not finite."""
        graph = self.program.asked
        values = real(graph.tensors[graph.outputs[0]], answers[0])
        if np.isfinite(values).all():
            return rated_by(self.how, graph, answers[0], questions)
        assert questions.data.labels is not None
        return Score(self.how.metric or suiting(values, questions.data.labels, None), nan, len(values))

    def online(self, taught: Sequence[Taught]) -> list[float]:
        """Prequential score per epoch: of the outputs before each sample was learned."""
        if not self.how.metric.startswith(ONLINE):
            return []
        return [self.score(epoch.questions, epoch.outputs).value for epoch in taught]

    def learn(self, lessons: Lessons) -> list[Taught]:
        """Trains epoch by epoch."""
        cases, done = self.program.cases(lessons.data), counted(self.say, "training")
        epochs: list[Taught] = []
        for order in lessons.orders():
            questions = Posed([cases[i] for i in order], lessons.data.take(order), kept=True)
            outputs = self.run.infer(questions.cases, lambda n, of: done(len(epochs) * of + n, lessons.steps))
            epochs.append(Taught(questions, outputs, self.program.losses(outputs)))
        return epochs
