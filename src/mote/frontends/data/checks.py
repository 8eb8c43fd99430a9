"""Sanity checks of data when it is read, before a model sees it: errors name the sample."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mote.base.errors import MoteError
from mote.frontends.data.dataset_type import Dataset
from mote.frontends.data.inputs import described
from mote.ir.graph.tensor import Array

TEXTS, NUMBERS = "SU", "biuf"
"""Kinds of NumPy's types."""
LARGEST = float(np.finfo(np.float32).max)


def check(data: Dataset, *, labelled: bool, several: bool) -> None:
    """Refuse data without samples, with numbers that are none or with labels that name no class; `labelled`: without
    labels; `several`: of a single sample, or where all are the same."""
    if not data.inputs:
        raise MoteError("has no arrays of numbers", where=data.where, remedy="save the samples as an array")
    check_counts(data.inputs, data.labels, data.where)
    for name, array in data.inputs.items():
        _check_numbers(data, name, array)
    if several:
        _check_several(data)
    if data.labels is not None:
        _check_labels(data, data.labels)
    elif labelled and data.stream is None:
        raise MoteError(
            "has no labels", where=data.where, remedy="say where they are: --labels NAME, or a pair (samples, labels)"
        )
    elif labelled and data.stream is not None and data.stream.events is None:
        raise MoteError(
            "has no labelled events",
            where=data.where,
            remedy="put a JSON file with a list of [from, to] in seconds beside it, or name one: --labels FILE",
        )


def check_counts(inputs: Mapping[str, Array], labels: Array | None, where: str) -> None:
    """As many rows of each, and at least one."""
    arrays = {**inputs, **({} if labels is None else {"labels": labels})}
    scalars = [name for name, array in arrays.items() if not array.ndim]
    if scalars:
        raise MoteError(f"'{scalars[0]}' is a single number", where=where, remedy="let the first axis count samples")
    counts = {name: len(array) for name, array in arrays.items()}
    if len(set(counts.values())) > 1:
        shown = ", ".join(f"{count:,} of '{name}'" for name, count in counts.items())
        raise MoteError(
            f"has not as many of each: {shown}", where=where, remedy="give each sample one row of every array"
        )
    if not all(array.size for array in arrays.values()):
        raise MoteError("is empty", where=where, remedy="give samples")


def _check_numbers(data: Dataset, name: str, array: Array) -> None:
    if array.dtype.kind not in NUMBERS:
        raise MoteError(
            f"'{name}' is {described(array)}, no numbers", where=data.where, remedy="name an array of numbers"
        )
    row = first_not_finite(array)
    if row is not None:
        value = array[row][~_is_finite(array[row])].reshape(-1)[0]
        raise MoteError(
            f"'{name}' has {value} in {data.name(row)}",
            where=data.where,
            remedy="leave such samples out, or find out where they come from",
        )


def first_not_finite(array: Array) -> int | None:
    """The first row with a number that is none, or none of float32."""
    if array.dtype.kind != "f" or (array.min() >= -LARGEST and array.max() <= LARGEST):
        return None
    return int((~_is_finite(array)).reshape(len(array), -1).any(1).argmax())


def _is_finite(array: Array) -> Array:
    """Which numbers are some of float32; NaN is not below anything."""
    finite: Array = np.abs(array) <= LARGEST
    return finite


def _check_several(data: Dataset) -> None:
    if len(data) == 1:
        raise MoteError(
            "is one sample only", where=data.where, remedy="give more of them: a hundred are few, the first axis counts"
        )
    if all((array == array[:1]).all() for array in data.inputs.values()):
        name, array = next(iter(data.inputs.items()))
        first = array.reshape(-1)[0]
        constant = (array == first).all()
        what = f"'{name}' is {first:g} everywhere" if constant else f"all {len(data):,} samples are the same"
        raise MoteError(f"{what}: nothing can be learned from that", where=data.where, remedy="give real samples")


def _check_labels(data: Dataset, labels: Array) -> None:
    if labels.dtype.kind not in NUMBERS:
        raise MoteError(f"labels are {described(labels)}, no numbers", where=data.where, remedy="give numbers")
    row = first_not_finite(labels)
    if row is not None:
        raise MoteError(
            f"the label of {data.name(row)} is {labels[row]}", where=data.where, remedy="leave such samples out"
        )
    if labels.dtype.kind == "f" or not data.classes:
        return
    wrong = (labels < 0) | (labels >= len(data.classes))
    if wrong.any():
        first = int(np.argwhere(wrong)[0][0])
        raise MoteError(
            f"the label of {data.name(first)} is {labels[wrong][0]}; there are {len(data.classes)} classes, 0 to"
            f" {len(data.classes) - 1}",
            where=data.where,
            remedy="number classes from 0, in the order of the model's output",
        )
