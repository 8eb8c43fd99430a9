"""Named arrays of a .npz file: which are samples, which are labels, and the names of classes and samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mote.base.errors import MoteError
from mote.base.text import did_you_mean
from mote.frontends.data.checks import NUMBERS, TEXTS
from mote.frontends.data.dataset_type import Dataset
from mote.frontends.data.inputs import described
from mote.ir.graph.tensor import Array

LABELS = ("y", "label", "labels", "target", "targets", "y_true", "y_test", "y_train")
"""The usual names of arrays of labels."""
CLASSES = ("labels", "classes", "class_names", "categories")
"""The usual names of arrays of class names."""


def from_arrays(arrays: Mapping[str, Array], where: str, inputs: str = "", labels: str = "") -> Dataset:
    """The samples that `inputs` names (several with commas between), else all that are as many; the labels that
    `labels` names, else those with a usual name."""
    numbers = {name: a for name, a in arrays.items() if a.dtype.kind in NUMBERS and a.ndim}
    texts = {name: a for name, a in arrays.items() if a.dtype.kind in TEXTS and a.ndim == 1}
    chosen = {name: _named(name, arrays, where, "inputs") for name in _split(inputs)}
    marks = _named(labels, arrays, where, "labels") if labels else _usual_labels(arrays, set(chosen), where)
    if not chosen:
        chosen = _samples({name: a for name, a in numbers.items() if a is not marks}, marks, where)
    count = len(next(iter(chosen.values()))) if chosen else 0
    texts = {name: a for name, a in texts.items() if a is not marks}
    classes = [a for name, a in texts.items() if len(a) != count or name.lower() in CLASSES]
    names = [a for name, a in texts.items() if len(a) == count and name.lower() not in CLASSES]
    return pair(
        chosen,
        marks,
        where,
        names=_texts(names[0]) if len(names) == 1 else (),
        classes=_texts(classes[0]) if len(classes) == 1 else (),
    )


def pair(
    inputs: Mapping[str, Array],
    labels: Array | None,
    where: str,
    *,
    names: Sequence[str] = (),
    classes: Sequence[str] = (),
) -> Dataset:
    """Samples and labels; labels that are texts become the numbers of `classes`, or, where none are known, of all texts
    in alphabetical order."""
    if labels is None:
        return Dataset(where, inputs, None, tuple(names), tuple(classes))
    if labels.dtype.kind in TEXTS:
        known = classes or sorted(set(_texts(labels.reshape(-1))))
        labels = np.array([_number(text, known, where) for text in _texts(labels.reshape(-1))], np.int64)
        classes = known
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.dtype.kind in "biu":
        labels = labels.astype(np.int64)
    return Dataset(where, inputs, labels, tuple(names), tuple(classes))


def stacked(arrays: Sequence[Array], where: str, what: str = "sample") -> Array:
    """One array of several of the same shape."""
    for number, array in enumerate(arrays):
        if array.shape != arrays[0].shape:
            raise MoteError(
                f"{what} {number} is {described(array)}, {what} 0 is {described(arrays[0])}",
                where=where,
                remedy=f"give every {what} the same shape",
            )
    return np.stack(arrays)


def _number(text: str, classes: Sequence[str], where: str) -> int:
    if text in classes:
        return list(classes).index(text)
    raise MoteError(
        f"the label '{text}' is none of the classes {', '.join(classes[:20])}",
        where=where,
        remedy=f"{did_you_mean(text, classes)}name classes as the labels are",
    )


def _samples(numbers: Mapping[str, Array], labels: Array | None, where: str) -> dict[str, Array]:
    """All arrays that are as many as the labels, or as each other."""
    counts = {len(array) for array in numbers.values()} if labels is None else {len(labels)} if labels.ndim else set()
    samples = {name: array for name, array in numbers.items() if len(array) in counts}
    if samples and len(counts) == 1:
        return samples
    if len(numbers) == 1 and labels is not None and labels.ndim:
        ((name, array),) = numbers.items()
        raise MoteError(
            f"'{name}' has {len(array):,} samples, and there are {len(labels):,} labels",
            where=where,
            remedy="give a label for each sample, or say which arrays they are: --inputs NAME --labels NAME",
        )
    why = "arrays of different lengths" if samples else "no array of samples"
    raise MoteError(
        f"has {why}; it has {_list(numbers)}"
        + ("" if labels is None else f", and {len(labels) if labels.ndim else 1:,} labels"),
        where=where,
        remedy="say which are the samples: --inputs NAME (inputs=NAME in Python)",
    )


def _usual_labels(arrays: Mapping[str, Array], taken: set[str], where: str) -> Array | None:
    """The only array with a name that labels usually have. Texts among them may be the names of the classes."""
    usual = {name: a for name, a in arrays.items() if name.lower() in LABELS and a.ndim and name not in taken}
    numbers = {name: a for name, a in usual.items() if a.dtype.kind in NUMBERS}
    candidates = numbers or usual
    if len(candidates) > 1:
        raise MoteError(
            f"has several arrays that may be labels: {_list(candidates)}",
            where=where,
            remedy="say which are the labels: --labels NAME (labels=NAME in Python)",
        )
    return next(iter(candidates.values()), None)


def _named(name: str, arrays: Mapping[str, Array], where: str, option: str) -> Array:
    if name in arrays:
        return arrays[name]
    raise MoteError(
        f"has no array '{name}'; it has {_list(arrays)}",
        where=where,
        remedy=f"{did_you_mean(name, arrays)}name one of them: --{option} NAME",
    )


def _list(arrays: Mapping[str, Array]) -> str:
    return ", ".join(f"{name} ({described(array)})" for name, array in arrays.items()) or "none"


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def _texts(array: Array) -> tuple[str, ...]:
    return tuple(text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text) for text in array.tolist())
