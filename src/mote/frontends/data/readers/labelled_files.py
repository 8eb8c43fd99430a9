"""Samples that are files, images or sounds: decoded, prepared one by one, and labelled by the folders they lie in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from mote.base.errors import MoteError, TooLargeError
from mote.base.text import did_you_mean, printable
from mote.frontends.data.dataset_type import Dataset, RecordingInfo
from mote.frontends.data.inputs import described
from mote.frontends.data.readers.arrays import MOST, ONE, load_arrays
from mote.frontends.data.readers.events import read_events
from mote.frontends.data.readers.folders import File, opened, read_whole
from mote.frontends.data.readers.pictures import FORMATS, picture
from mote.frontends.data.readers.sounds import sound
from mote.frontends.features.pipeline import Preprocessing
from mote.frontends.features.sample import Sample
from mote.ir.graph.tensor import Array

DECODERS: dict[str, Callable[[bytes, str], Sample]] = {**dict.fromkeys(FORMATS, picture), ".wav": sound}
"""The readers of files, by file name extension."""
OTHERS = ("unknown", "_unknown_")
"""The class of all folders that have none of their own, where there is one of such a name."""
LONGEST = 1 << 20
"""Bytes of a file with the names of classes."""


def read_folder(path: Path, inside: str, where: str, labels: str, prepare: Preprocessing) -> Dataset:
    """The images or the sounds of a folder or an archive. Their classes are the folders that they lie in, in
    alphabetical order, or in the order of `labels`: names with commas between, or a file of them."""
    with opened(path, inside, where) as files:
        known = [file for file in files if file.name.suffix.lower() in DECODERS]
        _check_kinds(known, where)
        folders = _folders(known, where)
        classes = _classes(labels) if labels else tuple(sorted(set(folders)))
        numbers = [_number(folder, classes, where) for folder in folders]
        samples = _decoded(known, where, prepare)
    return Dataset(
        where,
        {ONE: _stacked(samples)},
        np.array(numbers, np.int64) if folders else None,
        tuple(str(file.name) for file in known),
        classes if folders else (),
    )


def read_recording(path: Path, labels: str, prepare: Preprocessing) -> Dataset:
    """One WAV file as a stream: rows of what preparation makes of it, with the times at which they end. Events are in
    the JSON file that `labels` names, or in the one of the same name."""
    whole = sound(read_whole(path), str(path))
    duration = len(whole.values) / whole.rate
    rows = prepare(whole)
    listed = Path(labels) if labels else path.with_suffix(".json")
    events = read_events(listed, path.name, duration) if labels or listed.is_file() else None
    return Dataset(str(path), {ONE: rows.values}, stream=RecordingInfo(rows.first, rows.period, duration, events))


def _check_kinds(files: Sequence[File], where: str) -> None:
    kinds = {DECODERS[file.name.suffix.lower()] for file in files}
    if len(kinds) == 1:
        return
    what = "images as well as sounds" if kinds else "no images and no WAV files"
    raise MoteError(f"has {what}", where=where, remedy=f"name a folder of files of one kind: {', '.join(DECODERS)}")


def _folders(files: Sequence[File], where: str) -> list[str]:
    """The folder of each file; none where all lie in none."""
    deep = sorted({file.name.parts[0] for file in files if len(file.name.parts) > 2})
    if deep:
        raise MoteError(
            f"has folders in folders: {', '.join(map(printable, deep[:10]))}",
            where=where,
            remedy=f"name the one whose folders are the classes: {where}/{printable(deep[0])}",
        )
    folders = [file.folder for file in files]
    if any(folders) and not all(folders):
        beside = files[folders.index("")].name
        raise MoteError(
            f"has '{printable(str(beside))}' beside its folders, which are the classes",
            where=where,
            remedy="move it into one, or away",
        )
    return folders if any(folders) else []


def _classes(labels: str) -> tuple[str, ...]:
    """Names with commas between; a file with one in each line; or `file.npz:array`."""
    file, colon, array = labels.rpartition(":")
    if colon and Path(file).is_file():
        arrays = load_arrays(file)
        if array not in arrays or arrays[array].dtype.kind not in "SU":
            raise MoteError(f"has no array '{array}' of texts", where=file, remedy=did_you_mean(array, arrays))
        return tuple(map(str, arrays[array].reshape(-1)))
    if not Path(labels).is_file():
        return tuple(name.strip() for name in labels.split(",") if name.strip())
    try:
        text = Path(labels).read_bytes()[:LONGEST].decode("utf-8-sig")
    except (OSError, UnicodeError):
        raise MoteError("cannot be read as text", where=labels, remedy="write one name in each line") from None
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _number(folder: str, classes: Sequence[str], where: str) -> int:
    """The number of the class of a folder."""
    for name in (folder, *OTHERS):
        if name in classes:
            return list(classes).index(name)
    raise MoteError(
        f"the folder '{printable(folder)}' is none of the classes {', '.join(map(printable, classes[:20]))}",
        where=where,
        remedy=f"{did_you_mean(folder, classes)}add it to --labels, or a class called {OTHERS[0]} for all others",
    )


def _decoded(files: Sequence[File], where: str, prepare: Preprocessing) -> list[Sample]:
    samples: list[Sample] = []
    size = 0
    for file in files:
        whole = DECODERS[file.name.suffix.lower()](file.read(), f"{where}: {printable(str(file.name))}")
        samples.append(prepare(whole))
        size += samples[-1].values.nbytes
        if size > MOST:
            raise TooLargeError(
                f"the first {len(samples):,} of {len(files):,} files take {size:,} bytes",
                where=where,
                remedy="name a folder with fewer files, or make them smaller: --preprocess resize=96x96",
            )
        if whole.rate != samples[0].rate:
            raise MoteError(
                f"has {whole.rate} samples a second, {samples[0].name} has {samples[0].rate}",
                where=whole.name,
                remedy="give sounds of one rate",
            )
    return samples


def _stacked(samples: Sequence[Sample]) -> Array:
    """One array of all."""
    first = samples[0].values
    for sample in samples:
        if sample.values.shape != first.shape:
            step = "length=SAMPLES" if sample.rate else "resize=WIDTHxHEIGHT"
            raise MoteError(
                f"is {described(sample.values)}, another is {described(first)}",
                where=sample.name,
                remedy=f"make all the same: --preprocess {step}",
            )
    return np.stack([sample.values for sample in samples])
