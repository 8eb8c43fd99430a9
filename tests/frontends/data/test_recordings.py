"""A recording and the events in it."""

from __future__ import annotations

import json
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.frontends.data.dataset import dataset

EVENTS = [[0.25, 0.5], [1.0, 1.25]]


def recorded(folder: Path, seconds: float = 2.0, rate: int = 800) -> Path:
    path = folder / "x.wav"
    samples = np.random.default_rng(0).integers(-9999, 9999, int(seconds * rate))
    with wave.open(str(path), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(samples.astype("<i2").tobytes())
    return path


@pytest.mark.parametrize(
    "listed",
    [
        EVENTS,
        {"events": EVENTS},
        {"detection_windows": EVENTS, "other": 3},
        [{"detection_windows": EVENTS, "wav_file": "any.wav"}],
        [{"events": [], "wav_file": "y.wav"}, {"events": EVENTS, "wav_file": "x.wav"}],
    ],
    ids=range(5),
)
def test_events_beside_a_recording(listed: Any, tmp_path: Path) -> None:
    path = recorded(tmp_path)
    path.with_suffix(".json").write_text(json.dumps(listed))
    found = dataset(path, labelled=True)
    assert found.stream is not None and found.stream.events is not None
    assert found.stream.events.tolist() == EVENTS
    assert found.stream.duration == 2 and len(found) == 1600
    assert found.stream.first == found.stream.period == 1 / 800


def test_events_elsewhere_or_nowhere(tmp_path: Path) -> None:
    path = recorded(tmp_path)
    with pytest.raises(MoteError, match="has no labelled events"):
        dataset(path, labelled=True)
    unknown = dataset(path).stream
    assert unknown is not None and unknown.events is None
    (tmp_path / "marks.json").write_text("[]")
    none = dataset(path, labels=str(tmp_path / "marks.json"), labelled=True).stream
    assert none is not None and none.events is not None and none.events.shape == (0, 2)


def test_frames_know_when_they_end(tmp_path: Path) -> None:
    mel = "log-mel(frame=80,hop=40,low=0,high=400,filters=8)"
    found = dataset(recorded(tmp_path), preprocess=f"{mel},shape(1,8)")
    assert found.stream is not None
    assert found.inputs["arr_0"].shape == (39, 1, 8)
    assert (found.stream.first, found.stream.period) == pytest.approx((0.1, 0.05))
    mine = dataset(recorded(tmp_path), preprocess=lambda sound: sound.reshape(-1, 100)).stream
    assert mine is not None and (mine.first, mine.period) == pytest.approx((0.125, 0.125))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no list of events"),
        ("[1, 2", "no list of events"),
        ("3", "no list of events"),
        ('{"other": []}', "no list of events"),
        ('[{"events": []}, {"events": []}]', "no list of events"),
        ('[["a", "b"]]', "no list of events"),
        ("[[1, 2], [3]]", "no list of events"),
        ("[[1, 2, 3]]", "no pairs of seconds"),
        ("[1, 2]", "no pairs of seconds"),
        ("[[1, NaN]]", "no pairs of seconds"),
        ("[[1.5, 1]]", "from 1.5 to 1 s is not in the 2 s of x"),
        ("[[1, 2.5]]", "from 1 to 2.5 s is not in the 2 s of x"),
        ("[[-1, 1]]", "from -1 to 1 s is not in"),
        ("[" * 100_000, "nested too deeply"),
    ],
    ids=range(14),
)
def test_events_that_are_none(text: str, said: str, tmp_path: Path) -> None:
    path = recorded(tmp_path)
    path.with_suffix(".json").write_text(text)
    with pytest.raises(MoteError, match=said) as error:
        dataset(path)
    assert error.value.where.endswith("x.json") and error.value.remedy


def test_a_file_of_events_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(MoteError, match="cannot read the file"):
        dataset(recorded(tmp_path), labels=str(tmp_path / "absent.json"))
