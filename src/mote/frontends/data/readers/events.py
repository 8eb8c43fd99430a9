"""Labelled events of a recording in a JSON file: start and end in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mote.base.documents import read_json
from mote.base.errors import MoteError
from mote.ir.graph.tensor import Array

KEYS = ("events", "detection_windows")
"""The keys of lists of events in files."""
MOST = 1 << 24
"""Bytes of a file of events."""
WRITE = 'write {"events": [[from, to], ...]}, in seconds'


def read_events(path: Path, recording: str, duration: float) -> Array:
    """[events, 2] seconds. The file is a list of [from, to], or has one as `events` or `detection_windows`, also in a
    list of such for several recordings, of which the one with this `wav_file` is taken."""
    where = str(path)
    try:
        listed = _listed(read_json(path, reason="has no list of events", remedy=WRITE, most=MOST), recording)
        times = np.array(listed, np.float64).reshape(-1, 2) if listed == [] else np.array(listed, np.float64)
    except (ValueError, TypeError, KeyError, OverflowError):
        raise MoteError("has no list of events", where=where, remedy=WRITE) from None
    if times.ndim != 2 or times.shape[1] != 2 or not np.isfinite(times).all():
        raise MoteError("events are no pairs of seconds", where=where, remedy="write each as [from, to]")
    wrong = (times[:, 0] > times[:, 1]) | (times[:, 0] < 0) | (times[:, 1] > duration)
    if wrong.any():
        begin, end = times[wrong.argmax()]
        raise MoteError(
            f"an event from {begin:g} to {end:g} s is not in the {duration:g} s of {recording}",
            where=where,
            remedy="give seconds from the beginning of the recording",
        )
    return times


def _listed(value: Any, recording: str) -> Any:
    """The list of events in what a file holds."""
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        named = [entry for entry in value if entry.get("wav_file") == recording]
        (value,) = named or value
    if isinstance(value, dict):
        (key,) = (key for key in KEYS if key in value)
        value = value[key]
    if not isinstance(value, list):
        raise TypeError
    return value
