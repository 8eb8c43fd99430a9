"""Classification metrics: top-k accuracy and the confusion matrix."""

from __future__ import annotations

import numpy as np

from mote.base.errors import MoteError
from mote.base.integers import bincount
from mote.bench.metrics.arrays import Array, check_rows, class_labels


def scores_and_labels(outputs: Array, labels: Array) -> tuple[Array, Array]:
    """Scores [n, classes] and labels [n]; per-pixel labels (with the output's shape without its last axis) give one row
    per pixel."""
    check_rows(outputs, labels)
    wanted = class_labels(labels)
    pixels = wanted.ndim > 1 and wanted.shape == outputs.shape[:-1]
    scores = outputs.reshape(wanted.size, -1) if pixels else outputs.reshape(len(outputs), -1)
    wanted = wanted.reshape(-1)
    if len(wanted) != len(scores):
        raise MoteError(f"labels of the shape {labels.shape} do not fit answers of the shape {outputs.shape}")
    if scores.shape[1] == 1 and scores.dtype.kind in "iub":
        return scores, wanted
    if scores.shape[1] == 1:
        raise MoteError(
            "the model gives one float for each sample, not class scores",
            remedy="measure auc where labels are 0 and 1, rmse or mae where they are numbers",
        )
    if wanted.max() >= scores.shape[1]:
        at = int(wanted.argmax())
        raise MoteError(
            f"the label of sample {at * len(outputs) // len(wanted)} is {wanted.max()}; the model tells"
            f" {scores.shape[1]} classes apart, 0 to {scores.shape[1] - 1}",
            remedy="number classes from 0, in the order of the model's output",
        )
    return scores, wanted


def chosen(scores: Array) -> Array:
    """Predicted class of each row: the first one with the highest score, or the output itself if the model returns a
    class index."""
    return scores[:, 0].astype(np.int64) if scores.shape[1] == 1 else scores.argmax(1)


def ranks_of_truth(scores: Array, labels: Array) -> Array:
    """Rank of the true class by score (0 is best); ties are won by the lower class index."""
    right = scores[np.arange(len(scores), dtype=np.int64), labels][:, None]
    before = (np.arange(scores.shape[1], dtype=np.int64) < labels[:, None]) & (scores == right)
    ranks: Array = ((scores > right) | before).sum(1)
    return ranks


def confusion(answers: Array, labels: Array, classes: int) -> Array:
    """Confusion matrix [true class, predicted class] of sample counts."""
    return bincount(labels * classes + answers, classes**2).reshape(classes, classes)
