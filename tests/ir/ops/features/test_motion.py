"""Features of windows of samples: integers against formulas in float64, and C against NumPy bit for bit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from mote.ir.graph import Graph
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.ops.features.motion import (
    ONE,
    SILENCE,
    Statistic,
    Wavelet,
    WindowFeatures,
    WindowSpectrum,
    WindowStatistics,
    WindowWavelet,
    integer_root,
    log2,
)
from tests.compiler.kernels.c_harness import Program, call_row_by_row
from tests.helpers.offered import first
from tests.helpers.support import emulated, examples
from tests.ir.ops.alone import Case, alone, check_alone

Floats = NDArray[np.float64]
ALL = tuple(Statistic)
KINDS = ("noise", "loud", "square", "tone", "impulses", "step", "lowest", "drift")


def samples(kind: str, n: int, channels: int, seed: int) -> NDArray[np.int16]:
    """A signal of `n` moments with as many channels."""
    rng, t = np.random.default_rng(seed), np.arange(n)[:, None]
    size = 10.0 ** rng.uniform(0, 4.2, channels)
    signals = {
        "noise": rng.normal(size=(n, channels)) * size + rng.normal(size=channels) * 1000,
        "loud": rng.uniform(-32768, 32767, (n, channels)),
        "square": rng.choice([-32768, 32767], (n, channels)),
        "tone": np.sin(2 * np.pi * rng.uniform(0, 0.5, channels) * t) * size,
        "impulses": np.where(rng.uniform(size=(n, channels)) < 2 / n, size, 0) + rng.normal(size=(n, channels)),
        "step": np.where(t < n // 2, 7, 8) + np.zeros(channels),
        "lowest": np.full((n, channels), -32768),
        "drift": t * size / n + rng.normal(size=(n, channels)),
    }
    return np.clip(np.rint(signals[kind]), -32768, 32767).astype(np.int16)


def windows(op: type[WindowFeatures], x: NDArray[np.int16], unit: int, rows: int, step: int, **more: object) -> Graph:
    """A graph with one operator over windows of as many rows of `unit` moments."""
    streamed = x.reshape(1, -1, unit, x.shape[-1])
    return alone(op, [streamed], frame=rows * unit, hop=step * unit, **more)


def case(op: type[WindowFeatures], x: NDArray[np.int16], unit: int, rows: int, step: int, **more: object) -> Case:
    return Case(windows(op, x, unit, rows, step, **more), [x.reshape(1, -1, unit, x.shape[-1])])


def features(op: type[WindowFeatures], x: NDArray[np.int16], **more: object) -> Ints:
    """Of one window, [channels, features]."""
    graph = windows(op, x, x.shape[0], 1, 1, **more)
    (result,) = graph.ops[0].evaluate(graph, [x[None, None]])
    return result.astype(np.int64).reshape(x.shape[1], -1)


def ideal(statistic: Statistic, x: Floats) -> Floats:
    """What the statistic is in real numbers, [channels]."""
    centered, std = x - x.mean(axis=0), x.std(axis=0)
    safe = np.where(std > 0, std, 1)
    return {
        Statistic.MEAN: lambda: x.mean(axis=0),
        Statistic.RMS: lambda: np.sqrt(np.square(x).mean(axis=0)),
        Statistic.STD: lambda: std,
        Statistic.MIN: lambda: x.min(axis=0),
        Statistic.MAX: lambda: x.max(axis=0),
        Statistic.PEAK_TO_PEAK: lambda: np.ptp(x, axis=0) / 2,
        Statistic.SKEW: lambda: ONE * (centered**3).mean(axis=0) / safe**3,
        Statistic.KURTOSIS: lambda: ONE * np.where(std > 0, (centered**4).mean(axis=0) / safe**4 - 3, 0),
        Statistic.ZERO_CROSSINGS: lambda: np.abs(np.diff(x < 0, axis=0)).sum(axis=0),
        Statistic.MEAN_CROSSINGS: lambda: np.abs(np.diff(centered < -1e-9, axis=0)).sum(axis=0),
    }[statistic]()


@settings(max_examples=examples(150), deadline=None)
@given(st.sampled_from(KINDS), st.integers(1, 300), st.integers(1, 4), st.integers(0, 1 << 30))
def test_statistics_are_those_of_real_numbers(kind: str, n: int, channels: int, seed: int) -> None:
    x = samples(kind, n, channels, seed)
    got = features(WindowStatistics, x, statistics=ALL)
    for i, statistic in enumerate(ALL):
        want = np.clip(ideal(statistic, x.astype(np.float64)), -32768, 32767)
        near = 0.51 + 1 / n
        if statistic in (Statistic.SKEW, Statistic.KURTOSIS):
            near = 1 + 0.004 * np.abs(want) + (0.004 * 3 * ONE if statistic is Statistic.KURTOSIS else 0)
        np.testing.assert_array_less(np.abs(got[:, i] - want), near, err_msg=f"{statistic} of {kind}")


@pytest.mark.parametrize("value", [-32768, -1, 0, 1, 32767])
@pytest.mark.parametrize("n", [1, 2, 7, 128])
def test_a_signal_that_is_constant(value: int, n: int) -> None:
    got = features(WindowStatistics, np.full((n, 1), value, np.int16), statistics=ALL)[0]
    loud = min(abs(value), 32767)
    assert got.tolist() == [value, loud, 0, value, value, 0, 0, 0, 0, 0]


def test_the_longest_window_keeps_its_moments() -> None:
    """A single impulse in 16,384 samples: the kurtosis of n - 2, which saturates, and a skew of about sqrt(n)."""
    x = np.full((1 << 14, 2), -32768, np.int16)
    x[5, 0], x[::2, 1] = 32767, 32767
    got = features(WindowStatistics, x, statistics=ALL)
    moments = got[:, [ALL.index(Statistic.SKEW), ALL.index(Statistic.KURTOSIS)]]
    assert abs(moments[0, 0] - 128 * ONE) < ONE and moments[0, 1] == 32767
    assert moments[1].tolist() == [0, -2 * ONE]


@settings(max_examples=examples(80), deadline=None)
@given(st.sampled_from(KINDS), st.sampled_from(Wavelet), st.integers(1, 7), st.integers(1, 5), st.integers(0, 1 << 30))
def test_wavelets_are_those_of_real_numbers(kind: str, wavelet: Wavelet, levels: int, blocks: int, seed: int) -> None:
    n = blocks << levels
    x = samples(kind, n, 2, seed)
    graph = windows(WindowWavelet, x, n, 1, 1, wavelet=wavelet, levels=levels)
    op = graph.ops[0]
    assert isinstance(op, WindowWavelet)
    got = features(WindowWavelet, x, wavelet=wavelet, levels=levels)
    silence = 2.0 ** (op.offsets() / ONE)
    for channel in range(2):
        power = np.maximum(wavelet_power(x[:, channel].astype(np.float64), wavelet, levels), silence)
        rounded = 0 if wavelet is Wavelet.HAAR else ONE * np.log2(1.001 + 0.02 / np.sqrt(power))
        np.testing.assert_array_less(np.abs(got[channel] - ONE * np.log2(power)), 1.6 + rounded)


def wavelet_power(x: Floats, wavelet: Wavelet, levels: int) -> Floats:
    """The mean square of the details of each level of an orthonormal transform, with wrapped ends."""
    root = np.sqrt(3)
    low = np.array([1, 1]) / np.sqrt(2)
    if wavelet is Wavelet.DAUBECHIES4:
        low = np.array([1 + root, 3 + root, 3 - root, 1 - root]) / (4 * np.sqrt(2))
    high = low[::-1] * (-1) ** np.arange(low.size)
    rest, power = x, []
    for _ in range(levels):
        taps = np.stack([np.roll(rest, -k)[::2] for k in range(low.size)])
        power.append(np.square(high @ taps).sum() / x.size)
        rest = low @ taps
    return np.array(power)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.sampled_from(KINDS),
    st.sampled_from([2, 15, 16, 60, 125, 128, 250, 512]),
    st.booleans(),
    st.integers(0, 1 << 30),
)
def test_spectra_are_those_of_real_numbers(kind: str, n: int, hann: bool, seed: int) -> None:
    """The error of a bin is below that of 16 bits of the largest one."""
    x = samples(kind, n, 2, seed)
    edges = tuple(sorted({0, n // 8, n // 4, n // 2 + 1}))
    got = features(WindowSpectrum, x, edges=edges, dominant=True, hann=hann)
    real = x - np.floor(x.mean(axis=0) + 0.5)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n) if hann else np.ones(n)
    power = 2 * np.square(np.abs(np.fft.rfft(real.T * window))) / (n * np.square(window).sum())
    for channel in range(2):
        bands = np.array([power[channel, a:b].sum() for a, b in pairwise(edges)])
        error = bands.size * n * power[channel].max() * 2.0**-24 + 2.0**-15
        low, high = (np.log2(np.maximum(np.square(np.sqrt(bands) + s * np.sqrt(error)), 2.0**-16)) for s in (-1, 1))
        low = np.where(bands < error, -16, low)
        assert np.all(got[channel, :-1] >= ONE * low - 2) and np.all(got[channel, :-1] <= ONE * high + 2)
        strongest = power[channel, got[channel, -1]]
        assert np.sqrt(strongest) >= np.sqrt(power[channel, 1:].max()) - np.sqrt(error)


def test_the_strongest_frequency_is_that_of_a_tone() -> None:
    t = np.arange(128)
    x = np.rint(900 * np.sin(2 * np.pi * np.outer(t, [5, 17, 50]) / 128) + 4000).astype(np.int16)
    got = features(WindowSpectrum, x, edges=(0, 4, 8, 32, 65), dominant=True, hann=True)
    assert got[:, -1].tolist() == [5, 17, 50]
    assert got[:, :-1].argmax(axis=1).tolist() == [1, 2, 3]
    assert np.all(np.abs(got[:, :-1].max(axis=1) - ONE * np.log2(900**2 / 2)) < 4)


@pytest.mark.parametrize("hann", [False, True])
def test_the_spectrum_of_silence(hann: bool) -> None:
    got = features(WindowSpectrum, np.full((16, 1), -32768, np.int16), edges=(0, 3, 9), dominant=True, hann=hann)
    assert got.tolist() == [[SILENCE, SILENCE, 0]]


@given(st.integers(0, (1 << 62) - 1) | st.integers(0, 1 << 31).map(lambda r: max(r * r - 1, 0)))
def test_roots_are_rounded_down(x: int) -> None:
    (root,) = integer_root(np.array([x])).tolist()
    assert root * root <= x < (root + 1) ** 2


@given(st.integers(1, (1 << 63) - 1) | st.integers(0, 62).map(lambda k: 1 << k))
def test_logarithms_are_rounded_down(x: int) -> None:
    (found,) = log2(np.array([x])).tolist()
    assert -1e-3 < ONE * np.log2(x) - found < 1 + 1e-3
    assert x.bit_count() > 1 or found == ONE * (x.bit_length() - 1)


def test_windows_overlap_and_share_rows() -> None:
    x = samples("noise", 48, 3, 7)
    graph = windows(WindowStatistics, x, 4, 6, 2, statistics=(Statistic.MAX, Statistic.MEAN))
    op = graph.ops[0]
    (got,) = op.evaluate(graph, [x.reshape(1, 12, 4, 3)])
    assert got.shape == (1, 4, 6, 1)
    assert [op.reads(graph, 0, y) for y in range(4)] == [tuple(range(2 * y, 2 * y + 6)) for y in range(4)]
    for y in range(4):
        assert got[0, y, ::2, 0].tolist() == x[8 * y : 8 * y + 24].max(axis=0).tolist()


def test_what_is_refused() -> None:
    x = samples("noise", 48, 1, 1)
    with pytest.raises(AssertionError, match="no multiple of 32"):
        windows(WindowWavelet, x, 4, 12, 1, wavelet=Wavelet.HAAR, levels=5)
    with pytest.raises(AssertionError, match="more than 16384 samples"):
        windows(WindowStatistics, samples("noise", 1 << 15, 1, 1), 2, 1 << 14, 1, statistics=ALL)
    with pytest.raises(AssertionError, match="not made of whole rows of 5"):
        alone(WindowStatistics, [x[:45].reshape(1, 9, 5, 1)], frame=12, hop=5, statistics=ALL)
    with pytest.raises(AssertionError, match="spectra of 14 samples"):
        windows(WindowSpectrum, x, 2, 7, 1, edges=(0, 4), dominant=False, hann=True)
    with pytest.raises(AssertionError, match="bands of bins"):
        windows(WindowSpectrum, x, 2, 6, 1, edges=(0, 8), dominant=False, hann=True)
    with pytest.raises(AssertionError, match="only int16"):
        alone(WindowStatistics, [x.astype(np.int32)[None, None]], frame=48, hop=48, statistics=ALL)


def cases() -> list[Case]:
    """Every kernel, with signals of every kind; units of one moment, of several, and of all of a window."""
    kinds = [(kind, samples(kind, 96, 1 + i % 3, i)) for i, kind in enumerate(KINDS)]
    units = [(1, 32), (3, 5), (8, 3), (32, 1), (96, 1)]
    found = []
    for i, (_, x) in enumerate(kinds):
        unit, rows = units[i % len(units)]
        found.append(case(WindowStatistics, x, unit, rows, 1 + i % 2, statistics=ALL[i % 4 :] + ALL[: i % 4]))
    for i, (_, x) in enumerate(kinds):
        for wavelet in Wavelet:
            found.append(case(WindowWavelet, x, 8, 4, 2, wavelet=wavelet, levels=1 + i % 5))
    for i, (_, x) in enumerate(kinds):
        (unit, rows), dominant = ((8, 4), (5, 9), (1, 25), (2, 12))[i % 4], i % 3 > 0
        edges = (0, 1, unit * rows // 4, unit * rows // 2 + i % 2)[0 if dominant else 1 : 4 if i % 5 else 0]
        found.append(
            case(
                WindowSpectrum,
                x[:95] if unit == 5 else x,
                unit,
                rows,
                2,
                edges=edges,
                dominant=dominant or not edges,
                hann=i % 2 == 0,
            )
        )
    found.append(case(WindowStatistics, kinds[0][1], 4, 6, 3, statistics=(Statistic.RMS, Statistic.MEAN)))
    found.append(case(WindowStatistics, kinds[1][1][:1], 1, 1, 1, statistics=ALL))
    return found


def small() -> list[Case]:
    """A layer of each kernel whose sums intervals alone bound: no moments, and no spectra."""
    x = samples("noise", 32, 2, 1)
    plain = (*ALL[:6], Statistic.ZERO_CROSSINGS)
    return [
        case(WindowStatistics, x, 8, 2, 1, statistics=plain),
        *(case(WindowWavelet, x, 4, 4, 2, wavelet=wavelet, levels=2) for wavelet in Wavelet),
    ]


def unbounded() -> list[Case]:
    """Layers whose sums intervals do not bound: moments, a spectrum of an even and one of an odd length."""
    x = samples("noise", 45, 2, 1)
    spectra = {"edges": (0, 2, 7), "dominant": True}
    return [
        case(WindowStatistics, x, 9, 4, 1, statistics=ALL),
        case(WindowSpectrum, x, 9, 4, 1, hann=True, **spectra),
        case(WindowSpectrum, x, 5, 3, 1, hann=False, **spectra),
    ]


def test_c() -> None:
    check_alone(cases())


def test_c_by_rows() -> None:
    program, given = Program(), [cases()[i] for i in (0, 2, 10, 11, 24, 25)]
    for each in given:
        call_row_by_row(program, each.graph, each.op, first(each.graph), list(each.inputs))
    want = np.concatenate([each.expected().reshape(-1) for each in given])
    assert np.array_equal(np.frombuffer(program.run(), np.int16), want)


@pytest.mark.slow
def test_on_a_core() -> None:
    check_alone([cases()[i] for i in (0, 3, 8, 9, 24, 25)], Program(emulated("cortex-m4")))
