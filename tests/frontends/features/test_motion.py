"""The step for motion data: which operators it becomes, what they give, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.frontends.features.pipeline import preprocessing
from mote.frontends.features.sample import Sample
from mote.ir.graph.tensor import Array

RATE = 100


def moved(samples: int = 320, channels: int = 3) -> Array:
    """Samples of an accelerometer: a tone of 12.5 Hz in each channel, over gravity in the last one."""
    t = np.arange(samples)[:, None] / RATE
    tone = np.sin(2 * np.pi * 12.5 * t) * np.arange(1, channels + 1) * 800
    return np.rint(tone + 4096 * (np.arange(channels) == channels - 1)).astype(np.int16)


def done(steps: str, values: Array) -> Array:
    return preprocessing(f"motion(rate={RATE},channels={values.shape[-1]}),{steps}")(Sample(values)).values


def test_statistics_of_channels_follow_one_another() -> None:
    x = moved()
    found = done("motion-features(frame=64,hop=32,features=max+rms+mean)", x)
    assert found.shape == (9, 9)
    for w in range(9):
        window = x[32 * w : 32 * w + 64].astype(np.float64)
        assert np.array_equal(found[w, 0::3] * 256, window.max(axis=0))
        np.testing.assert_allclose(found[w, 1::3] * 256, np.sqrt(np.square(window).mean(axis=0)), atol=0.6)
        np.testing.assert_allclose(found[w, 2::3] * 256, window.mean(axis=0), atol=0.6)


def test_statistics_then_spectra_then_wavelets() -> None:
    x = moved()
    steps = "motion-features(frame=128,hop=64,features=std+dominant-frequency,bands=1-10-15-50,wavelet=haar,levels=2)"
    found = done(steps, x)
    assert found.shape == (4, 3 * (1 + 4 + 2))
    std, spectra, details = np.split(found, [3, 15], axis=1)
    np.testing.assert_allclose(std * 256, np.tile(np.arange(1, 4) * 800 / np.sqrt(2), (4, 1)), rtol=1e-3)
    bands = spectra.reshape(4, 3, 4)
    assert np.all(bands[..., 3] * 256 == 16) and np.all(bands[..., :3].argmax(axis=-1) == 1)
    np.testing.assert_allclose(bands[0, :, 1], np.log2(np.square(np.arange(1, 4) * 800) / 2), atol=0.02)
    pairs = x[:128].astype(np.float64).reshape(64, 2, 3)
    np.testing.assert_allclose(details[0, ::2], np.log2(np.square(pairs[:, 0] - pairs[:, 1]).sum(0) / 256), atol=0.01)


def test_steps_behind_it_take_a_number_for_each_feature() -> None:
    plain, scaled = (
        done(f"motion-features(features=mean+std){more}", moved(channels=1)) for more in ("", ",mean(1,2),std(4,8)")
    )
    np.testing.assert_allclose(scaled, (plain - [1, 2]) / [4, 8], rtol=1e-5, atol=1e-6)


def test_the_times_of_windows() -> None:
    sound = Sample(moved(channels=1).astype(np.float32) / 32768, rate=RATE, first=1 / RATE, period=1 / RATE)
    found = preprocessing("motion-features(frame=50,hop=25,features=rms)")(sound)
    assert (len(found.values), round(found.first, 9), round(found.period, 9)) == (11, 0.5, 0.25)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ("motion-features(features=rsm)", "'rsm' is no feature.*did you mean: rms"),
        ("motion-features(features=)", "has no features"),
        ("motion-features(frame=0)", "windows of 0 samples"),
        ("motion-features(frame=20000,hop=5)", "20000 samples are too long"),
        ("motion-features(frame=400)", "a frame takes 400"),
        ("motion-features(bands=1-1.1)", "each must hold a multiple of 0.78125 Hz"),
        ("motion-features(bands=1-5-4)", "each must hold a multiple"),
        ("motion-features(bands=low)", "'low' are no bands"),
        ("motion-features(frame=70,bands=1-40)", "no spectrum of 70 samples"),
        ("motion-features(bands=1-40,window=flat)", "'flat' is no window"),
        ("motion-features(wavelet=haar,levels=8)", "8 levels of a wavelet"),
        ("motion-features(wavelet=db5)", "'db5' is no wavelet"),
        ("scale=2,motion-features", "comes after scale"),
    ],
)
def test_what_is_refused(steps: str, reason: str) -> None:
    with pytest.raises(MoteError, match=f"(?s){reason}"):
        done(steps, moved())


def test_bands_need_a_rate() -> None:
    with pytest.raises(MoteError, match="need the rate of samples"):
        preprocessing("motion-features(bands=1-5)")(Sample(moved()))
