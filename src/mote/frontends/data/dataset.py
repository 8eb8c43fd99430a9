"""The entry point: any supported form of data becomes a `Dataset`, or an error that says why it cannot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from mote.base.errors import MoteError, TooLargeError
from mote.frontends.data.checks import NUMBERS, TEXTS, check, check_counts
from mote.frontends.data.dataset_type import OPTION, Dataset, RecordingInfo
from mote.frontends.data.readers.arrays import MOST, ONE, ZIP, load_arrays
from mote.frontends.data.readers.folders import address
from mote.frontends.data.readers.labelled_files import read_folder, read_recording
from mote.frontends.data.readers.npz import from_arrays, pair, stacked
from mote.frontends.data.readers.sounds import RIFF
from mote.frontends.data.readers.tables import read_table
from mote.frontends.features.pipeline import Function, Preprocessing, preprocessing
from mote.frontends.features.sample import Sample
from mote.ir.graph.tensor import Array

__all__ = ["Dataset", "RecordingInfo", "dataset"]

NPY = b"\x93NUMPY"
TABLES = (".csv", ".tsv", ".txt")
ARRAYS = (".npy", ".npz")
KNOWN = (
    "a .npy, .npz, .csv or .wav file, a folder or .zip of images or WAV files, an array, a pair (samples, labels), a"
    " mapping of arrays or an iterable"
)
MANY = 10_000_000
"""Samples that an iterable may give: more are taken for one that does not end."""


def dataset(
    data: Any,
    *,
    inputs: str = "",
    labels: str = "",
    preprocess: str | Preprocessing | Function | None = None,
    labelled: bool = False,
    several: bool = True,
    name: str = "",
) -> Dataset:
    """Samples from a file or folder, an array, a pair of samples and labels, a mapping of arrays, or an iterable of
    samples or of pairs of a sample and its label.

    `inputs` and `labels` name arrays or columns where there are several; `preprocess` is what is done to each sample,
    in words or as a function; `labelled` refuses data without labels, `several` data of one sample, or of samples that
    are all the same; `name` is how results call it.
    """
    prepare = preprocessing(preprocess)
    samples = _read(data, inputs, labels, prepare)
    if name:
        samples = replace(samples, title=name)
    if prepare.steps:
        samples = replace(samples, preprocessing=Preprocessing((*samples.preprocessing.steps, *prepare.steps)))
    check(samples, labelled=labelled, several=several)
    return samples


def are_files(data: Any) -> bool:
    """Whether data is sounds or images: a folder or an archive of files, or one recording."""
    if not isinstance(data, str | Path):
        return False
    path, _ = address(str(data))
    if path.is_dir():
        return True
    head = _head(path) if path.is_file() else b""
    return head.startswith(RIFF) or (head.startswith(ZIP) and not _is_npz(path))


def _read(data: Any, inputs: str, labels: str, prepare: Preprocessing) -> Dataset:
    if isinstance(data, str | Path):
        return _from_path(str(data), inputs, labels, prepare)
    return prepared(_given(data, inputs, labels), prepare)


def _from_path(where: str, inputs: str, labels: str, prepare: Preprocessing) -> Dataset:
    """The type of a file is detected from its content; that of a table from its name."""
    path, inside = address(where)
    if path.is_dir():
        return read_folder(path, "", where, labels, prepare)
    head = _head(path)
    if head.startswith(ZIP) and not _is_npz(path):
        return read_folder(path, inside, where, labels, prepare)
    if inside:
        raise MoteError("is no archive of files", where=str(path), remedy=f"leave out '{inside}'")
    if head.startswith(RIFF):
        return read_recording(path, labels, prepare)
    if path.suffix.lower() in TABLES:
        return prepared(read_table(path, inputs, labels), prepare)
    if path.suffix.lower() in ARRAYS or head.startswith((NPY, ZIP)):
        return prepared(from_arrays(load_arrays(path), where, inputs, labels), prepare)
    raise MoteError("is no data that Mote knows", where=where, remedy=f"give {KNOWN}")


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(len(NPY))
    except OSError as error:
        raise MoteError(f"cannot be read ({error.strerror or error})", where=str(path), remedy="look at it") from None


def _is_npz(path: Path) -> bool:
    """Whether an archive holds arrays; one that is none is said to be none by who reads them."""
    try:
        with ZipFile(path) as archive:
            return all(name.endswith(".npy") for name in archive.namelist())
    except (OSError, BadZipFile, ValueError, NotImplementedError, UnicodeError):
        return path.suffix.lower() in ARRAYS


def _given(data: Any, inputs: str, labels: str) -> Dataset:
    if isinstance(data, Dataset):
        return data
    if isinstance(data, Mapping):
        return from_arrays(_arrays(data), OPTION, inputs, labels)
    if isinstance(data, tuple) and len(data) == 2:
        samples, marks = data
        return pair(_arrays(samples if isinstance(samples, Mapping) else {ONE: samples}), _array(marks), OPTION)
    if hasattr(data, "__array__"):
        return Dataset(OPTION, {ONE: _array(data)})
    if isinstance(data, Iterable):
        return _from_items(data)
    raise MoteError(f"is {type(data).__name__}, which is no data", where=OPTION, remedy=f"give {KNOWN}")


def prepared(data: Dataset, prepare: Preprocessing) -> Dataset:
    """Samples after preprocessing."""
    if not prepare.steps:
        return data
    check_counts(data.inputs, data.labels, data.where)
    stream = data.stream
    if stream is not None:
        ((name, rows),) = data.inputs.items()
        made = prepare(Sample(rows, data.where, first=stream.first, period=stream.period))
        times = replace(stream, first=made.first, period=made.period)
        return replace(data, inputs={name: made.values}, stream=times)
    inputs = {
        name: stacked([prepare(Sample(row, data.name(i))).values for i, row in enumerate(rows)], data.where)
        for name, rows in data.inputs.items()
    }
    return replace(data, inputs=inputs)


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
            raise TooLargeError(
                f"is too much, or does not end: {len(samples):,} samples take {size:,} bytes",
                where=OPTION,
                remedy="give fewer samples: itertools.islice(samples, 1000)",
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
    """A value as one NumPy array of numbers or texts; refuses others."""
    try:
        array: Array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:  # the last is PyTorch's, of tensors that are being trained
        raise MoteError(
            f"is no array ({error})", where=OPTION, remedy="give numbers, in rows of the same length"
        ) from None
    if array.dtype.kind not in NUMBERS + TEXTS:
        raise MoteError(
            f"has {type(value).__name__} where an array of numbers is wanted", where=OPTION, remedy="give numbers"
        )
    return array
