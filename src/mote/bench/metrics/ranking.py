"""Binary ranking metrics (ROC, AUC): how well scores separate two classes at any threshold."""

from __future__ import annotations

import numpy as np

from mote.base.errors import MoteError
from mote.bench.metrics.arrays import Array, check_rows, class_labels, flat
from mote.bench.metrics.numbers import reconstruction_error


def auc(scores: Array, labels: Array) -> float:
    """Area under the ROC curve: the probability that a sample of class 1 scores higher than one of class 0; ties count
    half."""
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - (count - 1) / 2
    ranks = middle[place.reshape(-1)]
    ones = int((labels == 1).sum())
    zeros = len(labels) - ones
    return float((ranks[labels == 1].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def two_classes(labels: Array) -> Array:
    """Labels validated to be 0 and 1, both present."""
    wanted = class_labels(labels).reshape(len(labels), -1)
    if wanted.shape[1] != 1 or set(np.unique(wanted)) != {0, 1}:
        raise MoteError(
            "auc compares samples of the classes 0 and 1, and labels are not both of these and nothing else",
            remedy="label what is usual 0 and what is not 1, or measure top1",
        )
    return wanted[:, 0]


def scores_of_one(outputs: Array, labels: Array, inputs: Array | None) -> Array:
    """Score of class 1 per sample: the single output, the second of two, or the reconstruction error of an
    autoencoder."""
    check_rows(outputs, labels)
    rows = flat(outputs)
    if rows.shape[1] == 1:
        return rows[:, 0]
    if rows.shape[1] == 2:
        return rows[:, 1].astype(np.float64) - rows[:, 0]
    if inputs is not None and flat(inputs).shape == rows.shape:
        return reconstruction_error(outputs, inputs)
    raise MoteError(
        f"the model gives {rows.shape[1]} numbers for a sample: neither one score, nor those of two classes, nor its"
        " input again",
        remedy="measure top1",
    )
