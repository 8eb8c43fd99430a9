"""Detection metrics of a stream: detected versus labelled events."""

from __future__ import annotations

import numpy as np

from mote.base.errors import MoteError
from mote.bench.metrics.arrays import Array, check_finite
from mote.bench.metrics.score import Score

HOUR = 3600
JOINED = 0.5
"""Maximum gap in seconds below the threshold within one detection."""
TOLERANCE = 0.5
"""Tolerance in seconds before and after an event within which a detection counts."""


def detections(times: Array, scores: Array, threshold: float, joined: float = JOINED) -> Array:
    """Detections [n, 2] as (start, end) times with scores above the threshold; gaps of at most `joined` seconds are
    bridged."""
    above = times[scores > threshold]
    if not len(above):
        return np.zeros((0, 2))
    breaks = np.flatnonzero(np.diff(above) > joined)
    return np.stack([above[np.append(0, breaks + 1)], above[np.append(breaks, len(above) - 1)]], 1)


def events(
    times: Array,
    scores: Array,
    wanted: Array,
    duration: float,
    *,
    threshold: float = 0.5,
    joined: float = JOINED,
    tolerance: float = TOLERANCE,
) -> Score:
    """Scores detections against labelled events: `wanted` is [events, 2] of (start, end) in the unit of `times`
    (seconds).

    A detection that begins within an event, or within `tolerance` of it, is a hit. Each detection hits at most one
    event, so a model that is always positive detects one. A second detection in an event is neither a hit nor a false
    alarm."""
    _check(times, scores, wanted, duration)
    detected = detections(times, scores, threshold, joined)
    hit: set[int] = set()
    false = 0
    for begin in detected[:, 0]:
        near = np.flatnonzero((wanted[:, 0] - tolerance <= begin) & (begin <= wanted[:, 1] + tolerance))
        new = [int(event) for event in near if int(event) not in hit]
        hit |= set(new[:1])
        false += not len(near)
    detail = {
        "hits": len(hit),
        "misses": len(wanted) - len(hit),
        "false_alarms": false,
        "false_alarms_an_hour": false * HOUR / duration,
        "detections": detected.tolist(),
    }
    return Score("events", len(hit) / len(wanted) if len(wanted) else float(not false), len(times), detail=detail)


def _check(times: Array, scores: Array, wanted: Array, duration: float) -> None:
    if times.ndim != 1 or times.shape != scores.shape or not len(times):
        raise MoteError(f"{scores.shape} scores cannot be those of {times.shape} moments")
    if wanted.ndim != 2 or wanted.shape[1] != 2 or (wanted[:, 0] > wanted[:, 1]).any():
        raise MoteError("events are no list of [from, to]", remedy="give two numbers of seconds for each event")
    if not duration > 0:
        raise MoteError(f"a recording of {duration:g} seconds has no false alarms an hour")
    check_finite(scores, "the answer to")
