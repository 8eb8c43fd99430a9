"""Metrics by name: one number with details from outputs and labels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.base.integers import bincount
from mote.base.results import Record
from mote.bench.metrics.arrays import Array
from mote.bench.metrics.classes import chosen, confusion, ranks_of_truth, scores_and_labels
from mote.bench.metrics.interval import wilson
from mote.bench.metrics.numbers import differences
from mote.bench.metrics.ranking import auc, scores_of_one, two_classes

METRICS = ("top1", "topK", "auc", "rmse", "mae", "events")
"""Metric names, with K for a number. `events` is for streams, see `mote.bench.metrics.events`."""
_TOP = re.compile(r"top([1-9][0-9]{0,5})")
MANY = 1024
"""Maximum number of classes for a confusion matrix."""
HIGHER, LOWER = "higher", "lower"


@dataclass(frozen=True)
class Score(Record):
    """Value of a metric over all samples."""

    metric: str
    """Name of the metric."""
    value: float
    """Value: a share from 0 to 1, or for rmse and mae a distance in the labels' unit."""
    samples: int
    """Number of samples."""
    better: str = HIGHER
    """Which values are better: "higher" or "lower"."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """Details of the score as JSON types."""
    interval: tuple[float, float] | None = None
    """95% confidence interval of an accuracy; None for other metrics, and for pixels, which are not independent."""
    largest_class: float | None = None
    """Share of the largest class (for topK of the K largest): the accuracy of always answering it."""

    @property
    def context(self) -> str:
        """Confidence interval and share of the largest class as text; empty for metrics other than accuracy."""
        ends = "" if self.interval is None else "95% interval {:.1%} to {:.1%}".format(*self.interval)
        share = "" if self.largest_class is None else f"{self._largest} {self.largest_class:.1%}"
        return ", ".join(filter(None, (ends, share)))

    @property
    def _largest(self) -> str:
        return "largest class" if self.metric == "top1" else f"largest {self.metric.removeprefix('top')} classes"

    def json(self) -> dict[str, Any]:
        context = {"interval": self.interval and list(self.interval), "largest_class": self.largest_class}
        return {"metric": self.metric, "value": self.value, "samples": self.samples, **context, **self.detail}


def check_metric(metric: str) -> None:
    """Raises an error for an unknown metric of labelled samples."""
    if not _TOP.fullmatch(metric) and metric not in ("auc", "rmse", "mae"):
        raise MoteError(
            f"'{metric}' is no metric of samples with labels",
            where="option metric",
            remedy=f"use one of {', '.join(METRICS[:-1])}, where K is a number",
        )


def measure(metric: str, outputs: Array, labels: Array, *, inputs: Array | None = None) -> Score:
    """Computes a metric from float outputs [samples, ...] and labels [samples, ...]. `inputs` are for the `auc` of
    autoencoders."""
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
    return accuracy("top1", correct, wanted, len(outputs), detail)


def accuracy(
    metric: str, correct: int, wanted: Array, samples: int, detail: Mapping[str, Any], count: int = 1
) -> Score:
    """Accuracy of `correct` predictions that each name `count` classes, with confidence interval and baseline."""
    sizes = np.sort(bincount(wanted))[::-1]
    interval = wilson(correct, samples) if len(wanted) == samples else None
    share = float(sizes[:count].sum() / len(wanted))
    return Score(metric, correct / len(wanted), samples, detail=detail, interval=interval, largest_class=share)


def _by_class(matrix: Array) -> dict[str, Any]:
    """Confusion matrix and accuracy per class; None for classes without samples."""
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
    correct = int((ranks_of_truth(scores, wanted) < count).sum())
    return accuracy(f"top{count}", correct, wanted, len(outputs), {"correct": correct}, count)


def _distance(metric: str, wrong: Array) -> Score:
    size = np.abs(wrong)
    value = float(np.sqrt(np.square(wrong).mean()) if metric == "rmse" else size.mean())
    detail = {"largest": float(size.max()), "mean": float(wrong.mean())}
    return Score(metric, value, len(wrong), LOWER, detail)
