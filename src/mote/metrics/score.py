"""Metrics by name: outputs and labels in, one number and its details out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mote.errors import MoteError
from mote.metrics.arrays import Array
from mote.metrics.classes import chosen, confusion, places, scores_and_labels
from mote.metrics.numbers import differences
from mote.metrics.ranking import auc, scores_of_one, two_classes

METRICS = ("top1", "topK", "auc", "rmse", "mae", "events")
"""The names of all; K stands for a number. Events are those of a stream: `mote.metrics.events`."""
_TOP = re.compile(r"top([1-9][0-9]{0,5})")
MANY = 1024
"""The most classes that have a confusion matrix."""
HIGHER, LOWER = "higher", "lower"


@dataclass(frozen=True)
class Score:
    """How good the answers to all samples are."""

    metric: str
    """The name of the metric."""
    value: float
    """A share from 0 to 1, but of rmse and mae, which are in the unit of the labels."""
    samples: int
    """Samples that were scored."""
    better: str = HIGHER
    """Which values are better: "higher" or "lower"."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """The figures behind the score, in types that JSON has."""

    def json(self) -> dict[str, Any]:
        return {"metric": self.metric, "value": self.value, "samples": self.samples, **self.detail}


def check_metric(metric: str) -> None:
    """Refuse a metric that is none of samples with labels."""
    if not _TOP.fullmatch(metric) and metric not in ("auc", "rmse", "mae"):
        raise MoteError(
            f"'{metric}' is no metric of samples with labels",
            where="option metric",
            remedy=f"use one of {', '.join(METRICS[:-1])}, where K is a number",
        )


def measure(metric: str, outputs: Array, labels: Array, *, inputs: Array | None = None) -> Score:
    """Compare answers [samples, ...], as float, with labels [samples, ...]. `inputs` are for the `auc` of models that
    reconstruct their input."""
    check_metric(metric)
    if metric == "top1":
        return _top1(outputs, labels)
    if match := _TOP.fullmatch(metric):
        return _top(int(match[1]), outputs, labels)
    if metric == "auc":
        wanted = two_classes(labels)
        value = auc(scores_of_one(outputs, labels, inputs), wanted)
        return Score(metric, value, len(wanted), detail={"positive": int(wanted.sum())})
    return _distance(metric, differences(outputs, labels))


def _top1(outputs: Array, labels: Array) -> Score:
    scores, wanted = scores_and_labels(outputs, labels)
    answers = chosen(scores)
    if answers.min() < 0:
        raise MoteError(f"the model gives {answers.min()}, which is no class")
    correct = int((answers == wanted).sum())
    classes = int(max(scores.shape[1], wanted.max() + 1, answers.max() + 1))
    detail = {"correct": correct, **(_by_class(confusion(answers, wanted, classes)) if classes <= MANY else {})}
    return Score("top1", correct / len(wanted), len(outputs), detail=detail)


def _by_class(matrix: Array) -> dict[str, Any]:
    """The confusion matrix, and how many of each class are right; of one without samples that is not known."""
    shares = [int(r) / int(n) if n else None for r, n in zip(matrix.diagonal(), matrix.sum(1), strict=True)]
    return {"confusion": matrix.tolist(), "per_class": shares}


def _top(count: int, outputs: Array, labels: Array) -> Score:
    scores, wanted = scores_and_labels(outputs, labels)
    if count >= scores.shape[1]:
        raise MoteError(
            f"the right one of {scores.shape[1]} classes is always among the first {count}",
            where="option metric",
            remedy="measure top1, or fewer than there are classes",
        )
    correct = int((places(scores, wanted) < count).sum())
    return Score(f"top{count}", correct / len(wanted), len(outputs), detail={"correct": correct})


def _distance(metric: str, wrong: Array) -> Score:
    size = np.abs(wrong)
    value = float(np.sqrt(np.square(wrong).mean()) if metric == "rmse" else size.mean())
    detail = {"largest": float(size.max()), "mean": float(wrong.mean())}
    return Score(metric, value, len(wrong), LOWER, detail)
