"""What is noticed in a stream, by a twin that walks it moment by moment, and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.bench.metrics import events
from mote.bench.metrics.events import detections

TIMES = np.arange(1, 101) / 10
EVENTS = np.array([[1.0, 1.5], [4.0, 5.0], [8.0, 8.2]])


def heard(*spans: tuple[float, float]) -> Any:
    """Scores that are high in these seconds."""
    return np.array([float(any(a <= t <= b for a, b in spans)) for t in TIMES])


@pytest.mark.parametrize(
    ("spans", "hits", "false"),
    [
        ([(1.2, 1.9), (4.8, 5.5), (8.3, 8.6)], 3, 0),
        ([], 0, 0),
        ([(0.1, 10)], 0, 1),
        ([(0.6, 10)], 1, 0),
        ([(1.2, 1.3), (1.5, 1.6)], 1, 0),
        ([(4.0, 4.1), (4.9, 5.0)], 1, 0),
        ([(2.5, 2.6), (6.5, 6.6), (8.1, 8.1)], 1, 2),
        ([(0.1, 0.2), (8.7, 8.8)], 1, 1),
    ],
    ids=range(8),
)
def test_hits_misses_and_false_alarms(spans: list[tuple[float, float]], hits: int, false: int) -> None:
    found = events(TIMES, heard(*spans), EVENTS, 10.0)
    assert (found.detail["hits"], found.detail["misses"], found.detail["false_alarms"]) == (hits, 3 - hits, false)
    assert found.value == hits / 3
    assert found.detail["false_alarms_an_hour"] == pytest.approx(false * 360)


def test_where_nothing_is_to_be_noticed() -> None:
    nothing = np.zeros((0, 2))
    assert events(TIMES, heard(), nothing, 10.0).value == 1
    assert events(TIMES, heard((3, 4)), nothing, 10.0).value == 0


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 6))
def test_detections_moment_by_moment(above: list[bool], joined: int) -> None:
    """One begins where the last moment above the threshold is too long ago."""
    want: list[list[float]] = []
    for moment, yes in enumerate(above):
        if yes and want and moment - want[-1][1] <= joined:
            want[-1][1] = moment
        elif yes:
            want.append([moment, moment])
    found = detections(np.arange(len(above)), np.array(above, float), 0.5, joined)
    assert found.tolist() == want


@pytest.mark.parametrize(
    ("scores", "wanted", "duration", "said"),
    [
        (np.zeros(3), EVENTS, 10, "cannot be those of"),
        (np.zeros((100, 2)), EVENTS, 10, "cannot be those of"),
        (np.zeros(100), EVENTS[:, ::-1], 10, "no list of"),
        (np.zeros(100), EVENTS[0], 10, "no list of"),
        (np.zeros(100), EVENTS, 0, "no false alarms an hour"),
        (np.full(100, np.nan), EVENTS, 10, "the answer to sample 0 is no number"),
    ],
    ids=range(6),
)
def test_what_cannot_be_compared(scores: Any, wanted: Any, duration: float, said: str) -> None:
    with pytest.raises(MoteError, match=said):
        events(TIMES, scores, wanted, duration)
