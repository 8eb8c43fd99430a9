"""Transforms of real signals in block floating point, against those in real numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.ir.graph.tensor import Array
from mote.ir.ops.features.real_fft import GROWTH, RealFft, radices, real_fft, spectrum_energy
from tests.helpers.support import examples

LENGTHS = sorted(n for a in range(12) for b in range(6) for c in range(5) if 2 <= (n := 2**a * 3**b * 5**c) <= 2048)


def signals(length: int, seed: int) -> dict[str, Array]:
    """Signals of many kinds, of 16 bits."""
    rng, t = np.random.default_rng(seed), np.arange(length)
    return {
        "noise": rng.integers(-32768, 32768, length),
        "quiet": rng.integers(-3, 4, length) + (t == 0),
        "tone": np.rint(30000 * np.sin(2 * np.pi * rng.uniform(0, 0.5) * t + rng.uniform(0, 6))),
        "square": np.where(rng.random(length) < 0.5, -32768, 32767),
        "lowest": np.full(length, -32768),
        "highest": np.full(length, 32767),
        "alternating": np.where(t % 2, -32768, 32767),
        "click": np.where(t == rng.integers(0, length), 32767, 0),
    }


@given(st.sampled_from(LENGTHS), st.integers(0, 999))
@settings(max_examples=examples(60), deadline=None)
def test_powers_are_those_of_real_numbers(length: int, seed: int) -> None:
    """Noise below the signal: 62 dB for noise and squares, and 54 dB for whatever is in a few bins only."""
    given_ = {name: np.asarray(x, np.int64) for name, x in signals(length, seed).items()}
    powers = real_fft(length).powers(np.stack(list(given_.values())) << 15, 30)
    assert powers.values.min() >= 0 and powers.values.max() < 1 << 31
    magnitudes = np.sqrt(spectrum_energy(powers))
    for (name, x), have in zip(given_.items(), magnitudes, strict=True):
        want = np.abs(np.fft.rfft(x / 32768))
        signal, noise = np.linalg.norm(want), np.linalg.norm(have - want)
        assert noise <= signal * 10 ** (-(62 if name in ("noise", "square") else 54) / 20), (name, signal / noise)


def test_silence_is_silent() -> None:
    powers = real_fft(480).powers(np.zeros((2, 400), np.int64), 30)
    assert not powers.values.any()
    assert not len(real_fft(480).powers(np.zeros((0, 400), np.int64), 30).values)


@given(st.sampled_from(LENGTHS), st.integers(1, 15))
@settings(max_examples=examples(30), deadline=None)
def test_the_level_is_an_exponent(length: int, less: int) -> None:
    """A signal that is twice as loud has the same powers, and one more in the exponent."""
    x = np.random.default_rng(length).integers(-(1 << 29), 1 << 29, (1, length)) | (1 << 16)
    loud, low = real_fft(length).powers(x << 0, 30), real_fft(length).powers(x << 1, 30 + less)
    np.testing.assert_array_equal(loud.values, low.values)
    np.testing.assert_array_equal(loud.exponent + 1 - less, low.exponent)


@pytest.mark.parametrize(("length", "decibels"), [(256, 70), (480, 68), (512, 71), (1024, 70), (2048, 68)])
def test_noise_is_far_above_that_of_rounding(length: int, decibels: float) -> None:
    x = np.random.default_rng(length).integers(-32768, 32768, (40, length))
    have, want = np.sqrt(spectrum_energy(real_fft(length).powers(x << 15, 30))), np.abs(np.fft.rfft(x / 32768))
    assert 20 * np.log10(np.linalg.norm(want) / np.linalg.norm(have - want)) > decibels


def test_one_tone_is_one_bin() -> None:
    t = np.arange(512)
    for k in (1, 17, 128, 255):
        x = np.rint(32767 * np.cos(2 * np.pi * k * t / 512)).astype(np.int64)[None]
        magnitudes = np.sqrt(spectrum_energy(real_fft(512).powers(x << 15, 30)))[0]
        assert magnitudes.argmax() == k
        assert magnitudes[k] == pytest.approx(256, rel=1e-4)
        assert np.delete(magnitudes, k).max() < 0.04, "76 dB below"


def test_lengths_of_a_transform() -> None:
    assert [n for n in range(2, 32) if not RealFft.fits(n)] == [7, 11, 13, 14, 17, 19, 21, 22, 23, 26, 28, 29, 31]
    assert not RealFft.fits(1) and not RealFft.fits(1 << 18)
    for length in LENGTHS:
        fft = RealFft(length)
        assert np.prod(fft.stages, dtype=int) == fft.points and set(fft.stages) <= set(GROWTH)
        assert sorted(fft.places.tolist()) == list(range(fft.points))
        np.testing.assert_array_equal(fft.order[fft.places], np.arange(fft.points))
    assert radices(7) == radices(1) == ()
