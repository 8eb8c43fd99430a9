"""The worst samples of a model, and those on which two models differ most."""

from __future__ import annotations

from typing import Any

import numpy as np

from mote.bench.evaluation.result import SampleAnswer
from mote.bench.evaluation.score import by_class
from mote.bench.metrics.arrays import class_labels
from mote.bench.metrics.numbers import reconstruction_error
from mote.bench.metrics.ranking import scores_of_one
from mote.frontends.data.dataset_type import Dataset
from mote.ir.graph.tensor import Array

FEW = 16
"""Maximum number of output values that are shown."""


def worst(metric: str, answers: Array, data: Dataset, given: Array | None, count: int) -> list[SampleAnswer]:
    """The worst samples: misclassified ones by margin, scores by distance to the wrong side, values by error."""
    labels = data.labels
    assert labels is not None
    if metric.startswith("top"):
        return _mistaken(answers, class_labels(labels), data, count)
    if metric == "auc":
        scores = scores_of_one(answers, labels, given)
        wanted = class_labels(labels).reshape(-1)
        middle = (scores[wanted == 1].mean() + scores[wanted == 0].mean()) / 2
        wrong = np.where(wanted == 1, middle - scores, scores - middle)
        return [_answer(data, i, wanted[i], scores[i], wrong[i]) for i in _largest(wrong, count) if wrong[i] > 0]
    wrong = np.sqrt(reconstruction_error(answers, labels))
    return [_answer(data, i, labels[i], answers[i], wrong[i]) for i in _largest(wrong, count)]


def _mistaken(answers: Array, labels: Array, data: Dataset, count: int) -> list[SampleAnswer]:
    """Misclassified samples; for per-pixel labels, by the share of wrong pixels."""
    if labels.ndim > 1 and labels[0].size > 1:
        wrong = (answers.argmax(-1) != labels).reshape(len(labels), -1).mean(1)
        return [_answer(data, i, None, None, wrong[i]) for i in _largest(wrong, count) if wrong[i] > 0]
    labels, scores = labels.reshape(-1), answers.reshape(len(answers), -1)
    if scores.shape[1] == 1:
        missed = np.flatnonzero(scores[:, 0] != labels)[:count]
        return [_answer(data, i, labels[i], scores[i, 0], 1.0) for i in missed]
    best = scores.argmax(1)
    rows = np.arange(len(scores), dtype=np.int64)
    ahead = np.where(best == labels, -1.0, scores[rows, best].astype(np.float64) - scores[rows, labels])
    return [_answer(data, i, labels[i], best[i], ahead[i]) for i in _largest(ahead, count) if best[i] != labels[i]]


def agreement(metric: str, mine: Array, theirs: Array, data: Dataset) -> float | None:
    """Share of samples (or pixels) with the same class; None without classes."""
    if not metric.startswith("top"):
        return None
    return float(np.mean(_named(mine, data) == _named(theirs, data)))


def most_different(metric: str, mine: Array, theirs: Array, data: Dataset, count: int) -> list[SampleAnswer]:
    """The samples whose outputs differ most, those with different classes first."""
    one, other = (x.reshape(len(x), -1).astype(np.float64) for x in (mine, theirs))
    apart = np.abs(one - other).max(1)
    answers, order = (one, other), apart
    if metric.startswith("top"):
        answers = _named(mine, data), _named(theirs, data)
        order = apart + (answers[0] != answers[1]).reshape(len(one), -1).any(1) * (1 + apart.max(initial=0.0))
    labels = [None] * len(one) if data.labels is None else data.labels
    shown = [i for i in _largest(order, count) if apart[i] > 0]
    return [_answer(data, i, labels[i], answers[0][i], apart[i], answers[1][i]) for i in shown]


def _named(answers: Array, data: Dataset) -> Array:
    """Predicted class of each sample, or of each pixel for per-pixel labels."""
    assert data.labels is not None
    scores = by_class(answers, data.labels)
    rows = scores if class_labels(data.labels).shape == scores.shape[:-1] else scores.reshape(len(scores), -1)
    classes: Array = rows[..., 0].astype(np.int64) if rows.shape[-1] == 1 else rows.argmax(-1)
    return classes


def _largest(values: Array, count: int) -> list[int]:
    return [int(i) for i in np.argsort(-values, kind="stable")[:count]]


def _answer(data: Dataset, index: int, label: Any, predicted: Any, error: float, other: Any = None) -> SampleAnswer:
    plain = [None if value is None else _plain(value) for value in (label, predicted, other)]
    return SampleAnswer(int(index), data.name(int(index)), plain[0], plain[1], float(error), plain[2])


def _plain(value: Any) -> Any:
    """A scalar or a few values as JSON types; None for large outputs."""
    array = np.asarray(value)
    if array.size > FEW:
        return None
    return array.reshape(-1)[0].item() if array.size == 1 else array.reshape(-1).tolist()
