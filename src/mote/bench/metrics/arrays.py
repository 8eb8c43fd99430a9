"""Validation of outputs and labels as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError

Array = NDArray[Any]


def check_rows(outputs: Array, labels: Array) -> None:
    """Raises an error unless there are as many outputs as labels, at least one, and all are finite numbers."""
    if not outputs.ndim or not labels.ndim or len(outputs) != len(labels):
        raise MoteError(f"{_rows(outputs)} answers cannot be compared with {_rows(labels)} labels")
    if not outputs.size or not labels.size:
        raise MoteError("there is nothing to compare", remedy="give at least one sample")
    check_finite(outputs, "the answer to")
    check_finite(labels, "the label of")


def check_finite(values: Array, what: str) -> None:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0][0])
        raise MoteError(
            f"{what} sample {row} is no number", remedy="look for NaN or infinity in the data and the model"
        )


def _rows(array: Array) -> str:
    return f"{len(array):,}" if array.ndim else "no"


def flat(array: Array) -> Array:
    """Flattens each sample to a row."""
    return array.reshape(len(array), -1)


def class_labels(labels: Array) -> Array:
    """Labels as class indices, from integers of any type or one-hot rows."""
    if labels.ndim > 1 and labels.shape[-1] > 1 and np.isin(labels, (0, 1)).all() and (labels.sum(-1) == 1).all():
        places: Array = labels.argmax(-1)
        return places
    if (labels != np.floor(labels)).any():
        raise MoteError("labels are floats, not class indices", remedy="measure rmse or mae, or give whole numbers")
    if (labels < 0).any():
        raise MoteError(f"the label {int(labels.min())} is below 0", remedy="number classes from 0")
    return labels.astype(np.int64)
