"""`mote evaluate --train`: scores a model, trains it as a device does, and scores it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mote.base.errors import MoteError
from mote.base.integers import bincount
from mote.base.progress import Say
from mote.base.text import printable
from mote.bench.evaluation.inferences import as_taken
from mote.bench.evaluation.learning.learner import Exam, LearningModel, Lessons, Taught
from mote.bench.evaluation.learning.program import Case, TrainingProgram
from mote.bench.evaluation.learning.result import BeforeAndAfter, Learning
from mote.bench.evaluation.on_core import on_core
from mote.bench.evaluation.result import ByReference, Evaluation, OnCore
from mote.bench.evaluation.runners import How, agreement, worst_of
from mote.bench.execute import batch
from mote.bench.execute.host_library import as_in_model
from mote.bench.metrics.arrays import class_labels
from mote.compiler.compiled import Compiled
from mote.compiler.passes.training.labelled import frozen
from mote.frontends.data.dataset_type import Dataset
from mote.frontends.data.scale import scale_warnings
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import largest

CHECKED = 8
"""Number of training steps that are verified against NumPy."""
DRIFT = 1e-4
"""Relative tolerance of floats in verified steps, as rounding errors accumulate."""
POINTS = 100
"""Maximum number of points of a loss curve."""
REFERENCE = "NumPy, with what was learned"
SORTED = "training samples come class by class, so that the last class is learned best: shuffle them with --epochs"
DIVERGED = "what was learned is not finite: choose a smaller learning rate"


@dataclass(frozen=True)
class Tools:
    """Tools and number of steps to run on the target's emulated core."""

    compiler: str | None
    emulator: str | None
    samples: int | None
    """Number of steps; None for a few."""


def evaluate_learning(
    compiled: Compiled, lessons: Lessons, test: Dataset, keep: Dataset | None, how: How, tools: Tools, say: Say
) -> Evaluation:
    """Scores a trainable model before and after training."""
    program = TrainingProgram.of(compiled)
    lessons = replace(lessons, data=numbered_as(test, as_taken(program.asked, lessons.data)))
    say("compiling the model for this computer")
    learner = LearningModel(program, program.on_host(), _measured(how, program), say)
    asked = [learner.asked(data) for data in (test, *([] if keep is None else [numbered_as(test, keep)]))]
    before = [learner.score(questions, learner.answers(questions)) if program.knows else None for questions in asked]
    taught = learner.learn(lessons)
    exams = [Exam(questions, was, learner.answers(questions)) for questions, was in zip(asked, before, strict=True)]
    scores = [BeforeAndAfter(x.where, x.before, learner.score(x.questions, x.answers)) for x in exams]
    learner = replace(learner, how=replace(how, metric=scores[0].after.metric))
    learning = _learning(learner, lessons, taught, scores)
    exam, graph, finite = exams[0], program.asked, learning.finite
    return Evaluation(
        compiled.path,
        compiled.settings.target.name,
        exam.where,
        scores[0].after,
        None,
        _by_numpy(learner, exam),
        _on_core(compiled, learner, taught[0], tools),
        None,
        test.classes or lessons.data.classes or graph.tensors[graph.outputs[0]].labels,
        worst_of(learner.how, graph, exam.answers[0], exam.questions) if finite else [],
        (
            *([SORTED] if program.knows and lessons.by_class else []),
            *([] if finite else [DIVERGED]),
            *scale_warnings(compiled.source, exam.questions.data),
        ),
        learning,
    )


def numbered_as(other: Dataset, data: Dataset) -> Dataset:
    """The samples with class numbers translated to those of another dataset, if both name their classes."""
    if not other.classes or not data.classes or other.classes == data.classes or data.labels is None:
        return data
    missing = [name for name in data.classes if name not in other.classes]
    if missing:
        raise MoteError(
            f"has the class '{printable(missing[0])}', which {other.where} has not",
            where=data.where,
            remedy="name all classes in the order of the model's output: --labels one,two,three",
        )
    numbers = np.array([other.classes.index(name) for name in data.classes])
    return replace(data, labels=numbers[data.labels], classes=other.classes)


def _learning(
    learner: LearningModel, lessons: Lessons, taught: Sequence[Taught], scores: Sequence[BeforeAndAfter]
) -> Learning:
    program, data = learner.program, lessons.data
    learned = learner.program.learned(learner.run).values()
    losses = np.concatenate([epoch.losses for epoch in taught])
    every = max(-(-len(losses) // POINTS), 1)
    checked = taught[0].questions.cases[:CHECKED]
    return Learning(
        train=str(program.train),
        data=data.shown,
        samples=len(data),
        epochs=lessons.epochs,
        seed=lessons.seed,
        steps=lessons.steps,
        losses=[float(losses[i : i + every].mean()) for i in range(0, len(losses), every)],
        every=every,
        online=learner.online(taught),
        test=scores[0],
        kept=scores[1] if len(scores) > 1 else None,
        trained=_counts(program, data),
        weights=sum(values.nbytes for values in learned),
        finite=all(bool(np.isfinite(values).all()) for values in learned),
        checked=len(checked),
        equal=_equal_steps(program, checked, taught[0].outputs),
    )


def _measured(how: How, program: TrainingProgram) -> How:
    """Default metric: AUC for a model with a single score and no target, such as a novelty score."""
    one = program.classes == 1 and not program.has_target
    return replace(how, metric=how.metric or ("auc" if one else ""))


def _counts(program: TrainingProgram, data: Dataset) -> list[int]:
    """Training samples of each class."""
    if not program.has_classes:
        return []
    assert data.labels is not None
    counts: list[int] = bincount(class_labels(data.labels).reshape(-1), program.classes).tolist()
    return counts


def _equal_steps(program: TrainingProgram, cases: Sequence[Case], outputs: Sequence[Array]) -> int:
    """Number of steps in which the NumPy reference gives the same outputs; float results drift apart with each step."""
    theirs = program.in_numpy().infer(cases)
    pairs = zip((values[: len(cases)] for values in outputs), theirs, strict=True)
    same = [
        np.isclose(a, b, rtol=DRIFT, atol=DRIFT * largest(b), equal_nan=True) if b.dtype.kind == "f" else a == b
        for a, b in pairs
    ]
    return int(np.all([x.reshape(len(cases), -1).all(1) for x in same], axis=0).sum())


def _by_numpy(learner: LearningModel, exam: Exam) -> ByReference:
    """Scores of the inference alone in NumPy, with the parameters learned by the C code."""
    learner.say("running the reference")
    graph, cases = frozen(learner.program.asked), exam.questions.cases
    known = {t: value for t, value in learner.program.learned(learner.run).items() if t in graph.tensors}
    rows = list(batch.evaluate(graph, cases, graph.outputs, known))
    stacked = {t: np.concatenate([values[t] for values in rows]) for t in graph.outputs}
    tensors = [graph.tensors[t] for t in graph.outputs]
    theirs = [as_in_model(t, stacked[t.id].reshape(len(cases), *t.shape)) for t in tensors]
    return ByReference(REFERENCE, learner.score(exam.questions, theirs), *agreement(exam.answers, theirs))


def _on_core(compiled: Compiled, learner: LearningModel, taught: Taught, tools: Tools) -> OnCore | None:
    """Runs the first training steps on the emulated core and compares them with the host."""
    target = compiled.settings.target
    if target.is_host:
        return None
    there = TrainingProgram.of(compiled, target).compiled
    return on_core(
        there, taught.questions, taught.outputs, learner.how, tools.samples, learner.say, tools.compiler, tools.emulator
    )
