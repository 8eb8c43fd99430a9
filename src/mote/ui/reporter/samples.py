"""Samples of data as a page shows them: pictures of inputs, and the sounds that they were made from."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any
from zipfile import is_zipfile

import numpy as np

from mote.base.errors import MoteError
from mote.frontends.data.dataset import Dataset
from mote.frontends.data.readers.folders import address, opened
from mote.ir.graph.tensor import Array

MOST_PIXELS = 128 * 128
"""The largest picture, in pixels: larger ones are thinned out."""
MOST_SOUND = 100_000
"""Bytes of the longest sound."""


def shown_samples(data: Dataset, indices: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Pictures and sounds of some samples by index: `picture` of the first input, if it has two axes and
    at most three channels, and `sound`, the WAV file of the sample."""
    wanted = list(dict.fromkeys(indices))
    sounds = _sounds(data, wanted)
    first = next(iter(data.inputs.values()))
    shown: dict[int, dict[str, Any]] = {}
    for index in wanted:
        parts = {"picture": picture(first[index]) if data.stream is None else None, "sound": sounds.get(index)}
        shown[index] = {kind: part for kind, part in parts.items() if part is not None}
    return shown


def picture(sample: Array) -> dict[str, Any] | None:
    """A sample as pixels of 8 bits, from its least value as black to its largest as white; None if it has not the shape
    of a picture."""
    image = sample.reshape(sample.shape[1:]) if sample.ndim == 4 and sample.shape[0] == 1 else sample
    image = image[..., np.newaxis] if image.ndim == 2 else image
    if image.ndim == 3 and image.shape[0] in (1, 3) and image.shape[2] not in (1, 3):
        image = np.moveaxis(image, 0, 2)
    if image.ndim != 3 or image.shape[2] not in (1, 3) or min(image.shape[:2]) < 2:
        return None
    step = int(np.ceil(np.sqrt(image.shape[0] * image.shape[1] / MOST_PIXELS)))
    values = image[::step, ::step].astype(np.float64)
    low, high = float(values.min()), float(values.max())
    pixels = np.round((values - low) * (255 / (high - low) if high > low else 0)).astype(np.uint8)
    return {
        "height": pixels.shape[0],
        "width": pixels.shape[1],
        "channels": pixels.shape[2],
        "pixels": b64encode(pixels.tobytes()).decode(),
    }


def _sounds(data: Dataset, indices: Sequence[int]) -> dict[int, str]:
    """WAV files of samples as base64, by index: those that are files of a folder or an archive."""
    names = {data.names[i]: i for i in indices if data.names and PurePosixPath(data.names[i]).suffix.lower() == ".wav"}
    try:
        path, inside = address(data.where)
    except MoteError:
        return {}
    if not names or not (path.is_dir() or is_zipfile(path)):
        return {}
    with opened(path, inside, data.where) as files:
        read = {names[str(file.name)]: file.read() for file in files if str(file.name) in names}
    return {index: b64encode(sound).decode() for index, sound in read.items() if len(sound) <= MOST_SOUND}
