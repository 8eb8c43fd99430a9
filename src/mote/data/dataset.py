"""The door of the room: whatever a user calls data becomes a `Dataset`, or an error that says why it cannot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mote.data.arrays import MOST, ONE, load_arrays
from mote.data.checks import NUMBERS, TEXTS, check
from mote.data.named import from_arrays, pair, stacked
from mote.data.samples import Dataset, Stream
from mote.errors import MoteError
from mote.graph.tensor import Array

__all__ = ["Dataset", "Stream", "dataset"]

OPTION = "option data"
"""What messages call data that is no file."""
MANY = 10_000_000
"""Samples that an iterable may give: more are taken for one that does not end."""


def dataset(
    data: Any,
    *,
    inputs: str = "",
    labels: str = "",
    labelled: bool = False,
    several: bool = True,
) -> Dataset:
    """Samples from a file or folder, an array, a pair of samples and labels, a mapping of arrays, or an iterable of
    samples or of pairs of a sample and its label.

    `inputs` and `labels` name arrays where there are several; `labelled` refuses data without labels, `several` data of
    one sample, or of samples that are all the same.
    """
    found = data if isinstance(data, Dataset) else _read(data, inputs, labels)
    check(found, labelled=labelled, several=several)
    return found


def _read(data: Any, inputs: str, labels: str) -> Dataset:
    if isinstance(data, str | Path):
        return from_arrays(load_arrays(data), str(data), inputs, labels)
    if isinstance(data, Mapping):
        return from_arrays(_arrays(data), OPTION, inputs, labels)
    if isinstance(data, tuple) and len(data) == 2:
        samples, marks = data
        return pair(_arrays(samples if isinstance(samples, Mapping) else {ONE: samples}), _array(marks), OPTION)
    if hasattr(data, "__array__"):
        return Dataset(OPTION, {ONE: _array(data)})
    if isinstance(data, Iterable):
        return _from_items(data)
    raise MoteError(
        f"is {type(data).__name__}, which is no data",
        where=OPTION,
        remedy="give a file, a folder, an array, a pair (samples, labels), a mapping of arrays or an iterable",
    )


def _from_items(items: Iterable[Any]) -> Dataset:
    """Samples, or pairs of a sample and its label; a sample is an array, or a mapping of arrays."""
    samples: list[dict[str, Array]] = []
    labels: list[Array] = []
    size = 0
    for item in items:
        marked = isinstance(item, tuple) and len(item) == 2
        sample, label = item if marked else (item, None)
        samples.append(_arrays(sample if isinstance(sample, Mapping) else {ONE: sample}))
        labels += [_array(label)] if marked else []
        size += sum(array.nbytes for array in samples[-1].values())
        if size > MOST or len(samples) > MANY:
            raise MoteError(
                f"does not end: {len(samples):,} samples take {size:,} bytes",
                where=OPTION,
                remedy="give fewer samples: itertools.islice ends an iterable",
            )
    if labels and len(labels) != len(samples):
        raise MoteError(
            f"{len(labels):,} of {len(samples):,} samples have a label", where=OPTION, remedy="label all of them"
        )
    names = list(samples[0]) if samples else []
    for number, sample in enumerate(samples):
        if list(sample) != names:
            reason = f"sample {number} has the arrays {', '.join(sample)}, sample 0 has {', '.join(names)}"
            raise MoteError(reason, where=OPTION, remedy="give the same arrays for every sample")
    arrays = {name: stacked([sample[name] for sample in samples], OPTION) for name in names}
    return pair(arrays, stacked(labels, OPTION, "label") if labels else None, OPTION)


def _arrays(arrays: Mapping[Any, Any]) -> dict[str, Array]:
    return {str(name): _array(value) for name, value in arrays.items()}


def _array(value: Any) -> Array:
    """What NumPy makes of a value, if that is one array."""
    try:
        found: Array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise MoteError(f"is no array ({error})", where=OPTION, remedy="give rows of the same length") from None
    if found.dtype.kind not in NUMBERS + TEXTS:
        raise MoteError(
            f"has {type(value).__name__} where an array of numbers is wanted", where=OPTION, remedy="give numbers"
        )
    return found
