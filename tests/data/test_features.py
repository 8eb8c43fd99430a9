"""Features of sounds against those that published models were given, and by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from mote.data.dataset import Dataset, dataset
from mote.errors import MoteError
from mote.execute import reference
from mote.features import float_features as features
from mote.features.float_features import Bands, cepstrum, log_mel
from mote.frontends import tflite
from mote.metrics import events, measure
from mote.ops.elementwise.quantize import dequantized
from tests.helpers.support import PUBLIC_DATA, PUBLIC_MODELS, needs_litert

KEYWORDS = "peak,length=16000,mfcc"
WAKE_WORD = (
    "pre-emphasis=31/32,log-mel(frame=1024,hop=512,low=0,high=8000,window=hamming),offset=52,scale=1/64,clip(0,1)"
)
BANDS = Bands(16000, 480, 320, 512, 40, 20, 4000, "hann", "magnitude", "ln", 1e-6)


def public(name: str) -> Any:
    """A file of real data; the test is skipped where it is not."""
    if not (PUBLIC_DATA / name).exists():
        pytest.skip(f"there is no {name}")
    return PUBLIC_DATA / name


def answers(model: str, data: Dataset) -> Any:
    """What LiteRT's reference kernels give for each sample, as real numbers."""
    whole = (PUBLIC_MODELS / model).read_bytes() if (PUBLIC_MODELS / model).exists() else pytest.skip(f"no {model}")
    graph, run = tflite.parse(whole, model), reference.litert(whole)
    output = graph.tensors[graph.outputs[0]]
    found = []
    for case in data.cases(graph):
        values = run(case)
        assert values is not None
        found.append(values[output.id].copy())
    return dequantized(np.concatenate(found), output)


@needs_litert
def test_keywords_as_a_published_model_wants_them() -> None:
    """From the recordings, the numbers and the accuracy of the file of features that was made of them elsewhere."""
    npz = public("keywords_mfcc.npz")
    names = f"{npz}:labels"
    found = dataset(public("speech_commands_300.zip"), labels=names, preprocess=KEYWORDS, labelled=True)
    wanted = dataset(npz, labelled=True)
    assert found.names == wanted.names and found.classes == wanted.classes
    assert found.labels is not None and wanted.labels is not None
    np.testing.assert_array_equal(found.labels, wanted.labels)
    np.testing.assert_allclose(found.inputs["arr_0"], wanted.inputs["x"][..., 0], atol=2e-5)
    assert measure("top1", answers("kws_ref_model.tflite", found), found.labels).detail["correct"] == 293


@needs_litert
def test_a_wake_word_in_a_recording() -> None:
    """Three times, and nothing else; the windows of thirty frames are what the model takes."""
    data = dataset(public("wakeword_10s.wav"), preprocess=WAKE_WORD, labelled=True)
    stream, frames = data.stream, data.inputs["arr_0"]
    assert stream is not None and stream.events is not None
    assert (stream.first, stream.period, stream.duration) == pytest.approx((1024 / 16000, 512 / 16000, 10))
    assert stream.events.shape == (3, 2)
    windows = sliding_window_view(frames, 30, 0).transpose(0, 2, 1)
    scores = answers("str_ww_ref_model.tflite", dataset(windows.reshape(-1, 30, 1, 40)))[:, 0]
    times = stream.first + stream.period * (29 + np.arange(len(windows)))
    found = events(times, scores, stream.events, stream.duration).detail
    assert (found["hits"], found["misses"], found["false_alarms"]) == (3, 0, 0)
    begins = [begin for begin, _ in found["detections"]]
    np.testing.assert_allclose(begins, [1.216, 4.544, 7.36], atol=0.1)


@pytest.mark.parametrize("spectrum", ["magnitude", "power"])
def test_a_tone_is_in_its_band(spectrum: str) -> None:
    """The band whose middle is nearest, on the mel scale."""
    for frequency in (300, 1000, 3000):
        tone = np.sin(2 * np.pi * frequency / 16000 * np.arange(4800))
        energies = log_mel(tone, replace(BANDS, spectrum=spectrum)).mean(0)
        edges = np.linspace(1127 * np.log(1 + 20 / 700), 1127 * np.log(1 + 4000 / 700), 42)
        nearest = np.abs(edges[1:-1] - 1127 * np.log(1 + frequency / 700)).argmin()
        assert abs(int(energies.argmax()) - int(nearest)) <= 1


def test_frames_are_those_that_are_whole() -> None:
    rng = np.random.default_rng(0)
    sound = rng.normal(size=480 + 3 * 320 + 319)
    assert log_mel(sound, BANDS).shape == (4, 40)
    np.testing.assert_array_equal(log_mel(sound[320:], BANDS), log_mel(sound, BANDS)[1:])
    np.testing.assert_allclose(
        log_mel(10 * sound, replace(BANDS, floor=1e-30)) - np.log(10), log_mel(sound, BANDS), atol=1e-4
    )


def test_a_long_recording_is_cut_into_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = np.random.default_rng(1).normal(size=9000)
    whole = log_mel(sound, BANDS)
    monkeypatch.setattr(features, "AT_ONCE", 5)
    np.testing.assert_allclose(log_mel(sound, BANDS), whole, rtol=1e-12)


def test_the_cepstrum_is_a_cosine_transform() -> None:
    energies = np.random.default_rng(2).normal(size=(3, 12))
    want = [
        [np.sqrt(2 / 12) * sum(e * np.cos(np.pi / 12 * (n + 0.5) * k) for n, e in enumerate(row)) for k in range(12)]
        for row in energies
    ]
    np.testing.assert_allclose(cepstrum(energies, 12), want, atol=1e-12)
    np.testing.assert_allclose(np.square(cepstrum(energies, 12)[:, 1:]).sum(1), 12 * energies.var(1))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"frame": 1}, "frames of 1 samples"),
        ({"hop": 0}, "a hop of 0"),
        ({"fft": 256}, "a transform of 256 points of 480 samples"),
        ({"filters": 0}, "0 filters"),
        ({"low": 5000}, "bands from 5000 to 4000 Hz"),
        ({"high": 9000}, "bands from 20 to 9000 Hz at 16000 Hz"),
        ({"window": "flat"}, "the window 'flat'"),
        ({"spectrum": "x"}, "the spectrum 'x'"),
        ({"unit": "x"}, "the unit 'x'"),
        ({"floor": 0}, "a floor of 0"),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else "",
)
def test_parameters_that_cannot_be(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(MoteError, match=f"{said} .*cannot be|{said} cannot be"):
        log_mel(np.zeros(1000), replace(BANDS, **changed))


def test_sounds_that_are_too_short() -> None:
    with pytest.raises(MoteError, match="has 479 samples, and a frame takes 480"):
        log_mel(np.zeros(479), BANDS)
    with pytest.raises(MoteError, match="13 coefficients of 12 filters"):
        cepstrum(np.zeros((3, 12)), 13)
