"""Features of sounds against those that published models were given, and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from mote.base.errors import MoteError
from mote.bench.execute import reference
from mote.bench.metrics import events, measure
from mote.frontends import tflite
from mote.frontends.data.dataset import Dataset, dataset
from mote.frontends.features.pipeline import preprocessing
from mote.frontends.features.sample import Sample
from mote.ir.graph.tensor import Array
from mote.ir.ops.elementwise.quantize import dequantized
from tests.helpers.support import PUBLIC_DATA, PUBLIC_MODELS, needs_litert

KEYWORDS = "peak,length=16000,mfcc"
WAKE_WORD = (
    "pre-emphasis=31/32,log-mel(frame=1024,hop=512,low=0,high=8000,window=hamming),offset=52,scale=1/64,clip(0,1)"
)


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


@pytest.mark.slow
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
    errors = found.inputs["arr_0"] - wanted.inputs["x"][..., 0]
    assert np.sqrt(np.mean(np.square(errors[..., 1:]))) < 0.02 and np.median(np.abs(errors)) < 0.01
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


def done(steps: str, sound: Array) -> Array:
    return preprocessing(steps)(Sample(sound, rate=16000, period=1 / 16000)).values


@pytest.mark.parametrize("spectrum", ["magnitude", "power"])
def test_a_tone_is_in_its_band(spectrum: str) -> None:
    """The band whose middle is nearest, on the mel scale."""
    for frequency in (300, 1000, 3000):
        tone = np.sin(2 * np.pi * frequency / 16000 * np.arange(4800))
        energies = done(f"log-mel(spectrum={spectrum})", tone).mean(0)
        edges = np.linspace(1127 * np.log(1 + 20 / 700), 1127 * np.log(1 + 4000 / 700), 42)
        nearest = np.abs(edges[1:-1] - 1127 * np.log(1 + frequency / 700)).argmin()
        assert abs(int(energies.argmax()) - int(nearest)) <= 1
        loudest = done(f"spectrogram(frame=512,hop=256,spectrum={spectrum})", tone).mean(0).argmax()
        assert abs(loudest - frequency * 512 / 16000) <= 1


def test_frames_are_those_that_are_whole() -> None:
    sound = np.random.default_rng(0).normal(0, 0.1, 480 + 3 * 320 + 319)
    assert done("log-mel", sound).shape == (4, 40)
    np.testing.assert_array_equal(done("log-mel", sound[320:]), done("log-mel", sound)[1:])
    np.testing.assert_array_equal(done("mfcc", sound[:1440]), done("mfcc", sound))


def test_a_gain_is_a_constant_that_peak_removes() -> None:
    sound = np.clip(np.random.default_rng(1).normal(0, 0.05, 4800), -0.25, 0.25)
    for step, octave in (("log-mel", 20 * np.log10(2)), ("log-mel(unit=ln,spectrum=magnitude)", np.log(2))):
        np.testing.assert_allclose(done(step, 2 * sound) - octave, done(step, sound), atol=0.03)
        np.testing.assert_allclose(done(f"peak,{step}", 2 * sound), done(f"peak,{step}", sound), atol=0.03)
        np.testing.assert_allclose(done(f"peak,{step}", sound), done(step, sound / sound.max()), atol=0.03)


def test_peak_of_samples_and_of_several_channels() -> None:
    sound = np.random.default_rng(2).normal(0, 0.01, (800, 2))
    mono = sound.mean(1)
    np.testing.assert_allclose(done("peak", sound), mono / mono.max(), atol=0.01)
    np.testing.assert_allclose(done("peak,scale=2,clip(-1,1)", sound), np.clip(2 * mono / mono.max(), -1, 1), atol=0.02)
    assert done("peak,mfcc", sound).shape == (2, 10)
    for steps, said in (
        ("peak,spectrogram", "without logarithms"),
        ("peak,motion-features", "does not keep the level"),
        ("scale=2,peak", "comes after scale"),
    ):
        with pytest.raises(MoteError, match=said):
            done(steps, sound)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("frame=1", "frames of 1 samples"),
        ("hop=0", "a hop of 0"),
        ("fft=256", "a transform of 256 points of 480 samples"),
        ("fft=511", "a transform of 511 points"),
        ("filters=0", "0 filters"),
        ("low=5000", "bands from 5000 to 4000 Hz"),
        ("high=9000", "bands from 20 to 9000 Hz at 16000 Hz"),
        ("window=flat", "the window 'flat'"),
        ("spectrum=x", "the spectrum 'x'"),
        ("unit=x", "the unit 'x'"),
        ("floor=0", "a floor of 0"),
    ],
)
def test_parameters_that_cannot_be(changed: str, said: str) -> None:
    with pytest.raises(MoteError, match=f"{said} cannot be|{said}.* cannot be"):
        done(f"log-mel({changed})", np.zeros(1000))


def test_sounds_that_are_too_short() -> None:
    with pytest.raises(MoteError, match="has 479 samples, and a frame takes 480"):
        done("log-mel", np.zeros(479))
    with pytest.raises(MoteError, match="13 coefficients of 12 filters"):
        done("mfcc(count=13,filters=12)", np.zeros(480))
    with pytest.raises(MoteError, match="0 coefficients cannot be"):
        done("mfcc(count=0)", np.zeros(480))
    with pytest.raises(MoteError, match="samples a second"):
        preprocessing("mfcc")(Sample(np.zeros(480)))
