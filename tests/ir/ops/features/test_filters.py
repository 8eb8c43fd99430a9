"""Filters of signals against their definitions in float64, and their kernels against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.bench.measure.runner import bench
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph, State
from mote.ir.graph.region import region_problem
from mote.ir.graph.tensor import Array
from mote.ir.ops.features.filters import Biquads, Fir, FirStream, PreEmphasis, PreEmphasisStream, RemoveDc
from mote.ir.ops.features.normalizing import NormalizeWindow, RunningNormalize
from tests.helpers.chains import Link, chain, compiled, evaluated, noise
from tests.helpers.support import emulated, examples

SECTIONS = tuple(
    tuple(round(c * 2**30) for c in section)
    for section in ((0.2, 0.3, 0.1, -1.2, 0.5), (0.9, -1.7, 0.9, -1.8, 0.85), (0.3, 0.3, 0.0, -0.4, 0.0))
)
"""Second order twice, then first order."""
WIDTHS = st.sampled_from([(1, 24, 1), (2, 12, 1), (24, 1, 2), (6, 4, 3), (3, 8, 2)])
"""Rows, samples of a row, channels."""


def signal(seed: int, samples: int, channels: int) -> Array:
    """Noise, or a square wave of full scale, or one that rests at an end."""
    rng = np.random.default_rng(seed)
    kinds = [
        rng.integers(-32768, 32768, (samples, channels)),
        np.where(np.arange(samples)[:, None] // (1 + seed % 5) % 2, 32767, -32768) * np.ones((1, channels), int),
        np.full((samples, channels), (-32768, 32767)[seed % 2]),
        rng.integers(-3, 4, (samples, channels)),
    ]
    return kinds[seed % len(kinds)].astype(np.int16)


def zeros(count: int) -> list[Array]:
    return [np.zeros(count, np.int32)]


def lines(y: Array) -> Array:
    return y.reshape(-1, y.shape[-1]).astype(np.float64)


def filtered(link: Link, x: Array, rows: int, unit: int) -> Array:
    """The samples of a signal after an operator."""
    (y,) = evaluated(chain((1, rows, unit, x.shape[1]), link), [x.reshape(1, rows, unit, x.shape[1])])
    return lines(y)


def clipped(y: Array) -> Array:
    return np.clip(y, -32768, 32767)


@given(WIDTHS, st.integers(0, 99), st.floats(0, 1))
@settings(max_examples=examples(60))
def test_pre_emphasis_is_within_a_step_of_its_definition(shape: tuple[int, int, int], seed: int, factor: float) -> None:
    rows, unit, channels = shape
    x = signal(seed, rows * unit, channels)
    y = filtered(Link(PreEmphasis, {"factor": round(factor * 65536)}), x, rows, unit)
    wanted = x - factor * np.concatenate([np.zeros((1, channels)), x[:-1]])
    assert np.abs(y - clipped(wanted)).max() <= 0.75


@given(WIDTHS, st.integers(0, 99), st.integers(1, 40), st.sampled_from([1, 2, 4, 8, 12]))
@settings(max_examples=examples(100))
def test_fir_is_the_rounded_convolution(shape: tuple[int, int, int], seed: int, count: int, step: int) -> None:
    rows, unit, channels = shape
    if (unit % step and step % unit) or rows % max(1, step // unit):
        step = 1
    rng = np.random.default_rng(seed)
    taps = rng.integers(-65534 // count, 65534 // count + 1, count).clip(-32768, 32767)
    x = signal(seed, rows * unit, channels)
    fields = {"taps": tuple(taps.tolist()), "tap_bits": int(rng.integers(12, 16)), "decimation": step}
    y = filtered(Link(Fir, fields), x, rows, unit)
    wanted = [
        np.convolve(x[:, c].astype(float), taps / 2.0 ** fields["tap_bits"])[: len(x) : step] for c in range(channels)
    ]
    np.testing.assert_allclose(y, clipped(np.stack(wanted, 1)), atol=0.5)


def test_filters_that_look_back_find_rows_of_history() -> None:
    x = signal(0, 32, 2)
    for kind, fields, past in (
        (PreEmphasis, {"factor": 60000}, 1),
        (Fir, {"taps": (9, -5, 7, 1, 3), "tap_bits": 3}, 1),
    ):
        whole = filtered(Link(kind, fields), x, 8, 4)
        (y,) = evaluated(
            chain((1, 4 + past, 4, 2), Link(kind, {**fields, "history": past})), [x[12:].reshape(1, 5, 4, 2)]
        )
        np.testing.assert_array_equal(lines(y), whole[16:])


@given(WIDTHS, st.integers(0, 99), st.integers(2, 20), st.sampled_from([1, 2, 4]))
@settings(max_examples=examples(30))
def test_streams_in_pieces_are_filtered_as_a_whole(
    shape: tuple[int, int, int], seed: int, count: int, step: int
) -> None:
    rows, unit, channels = shape
    step = 1 if unit % step else step
    x, rng = signal(seed, 3 * rows * unit, channels), np.random.default_rng(seed)
    taps = tuple(rng.integers(-65534 // count, 65534 // count + 1, count).clip(-32768, 32767).tolist())
    both = {"taps": taps, "tap_bits": 14, "decimation": step}
    for whole, stream, fields, past in (
        (Fir, FirStream, both, count - 1),
        (PreEmphasis, PreEmphasisStream, {"factor": 60000}, 1),
    ):
        link = Link(stream, fields, [np.zeros(past * channels, np.int16)])
        pieces = evaluated(chain((1, rows, unit, channels), link), list(x.reshape(3, 1, rows, unit, channels)))
        np.testing.assert_array_equal(
            np.concatenate([lines(y) for y in pieces]), filtered(Link(whole, fields), x, 3 * rows, unit)
        )


def exact(x: Array, sections: tuple[tuple[int, ...], ...]) -> Array:
    """The cascade in float64."""
    y = x.astype(np.float64)
    for section in sections:
        b0, b1, b2, a1, a2 = (c / 2.0**30 for c in section)
        given, y = np.concatenate([np.zeros((2, y.shape[1])), y]), np.zeros((len(y) + 2, y.shape[1]))
        for n in range(2, len(y)):
            y[n] = b0 * given[n] + b1 * given[n - 1] + b2 * given[n - 2] - a1 * y[n - 1] - a2 * y[n - 2]
        y = y[2:]
    return y


@given(WIDTHS, st.integers(0, 99), st.integers(1, 3))
@settings(max_examples=examples(40))
def test_biquads_are_half_a_step_from_exact_ones(shape: tuple[int, int, int], seed: int, count: int) -> None:
    rows, unit, channels = shape
    x = signal(seed, rows * unit, channels)
    link = Link(Biquads, {"sections": SECTIONS[:count]}, zeros(channels * (2 + 4 * count)))
    np.testing.assert_allclose(filtered(link, x, rows, unit), clipped(exact(x, SECTIONS[:count])), atol=0.502)


def test_biquads_with_low_cut_offs_do_not_drift() -> None:
    """A low-pass at a thousandth of the rate, fed with a constant: 1 + a1 + a2 is four millionths, and errors of sums
    are not amplified by its inverse."""
    section = (10582, 21166, 10582, -2138016650, 1064317156)
    assert sum(section[:3]) == 2**30 + section[3] + section[4]
    x = np.full((4000, 1), 12345, np.int16)
    y = filtered(Link(Biquads, {"sections": (section,)}, zeros(6)), x, 1, 4000)
    np.testing.assert_allclose(y, exact(x, (section,)), atol=0.52)
    assert (y[-100:] == 12345).all()


def test_biquads_saturate_between_sections() -> None:
    """A resonance far above full scale goes to the ends of 16 bits, and comes back."""
    section = (2**30, 0, 0, -round(1.99 * 2**30), round(0.995 * 2**30))
    x = np.concatenate([np.tile([[32767], [-32768]], (1, 30)).reshape(-1, 1), np.zeros((6000, 1))]).astype(np.int16)
    y = filtered(Link(Biquads, {"sections": (section,)}, zeros(6)), x, 1, len(x))
    assert y.max() == 32767 and y.min() == -32768
    assert np.abs(y[-10:]).max() <= 1


@given(WIDTHS, st.integers(0, 99), st.integers(1, 15))
@settings(max_examples=examples(60))
def test_dc_is_removed_as_by_a_one_pole_filter(shape: tuple[int, int, int], seed: int, shift: int) -> None:
    rows, unit, channels = shape
    x = signal(seed, rows * unit, channels)
    y = filtered(Link(RemoveDc, {"shift": shift}, zeros(channels)), x, rows, unit)
    mean, wanted = np.zeros(channels), []
    for sample in x.astype(float):
        mean = mean + (sample - mean) / 2**shift
        wanted.append(sample - mean)
    np.testing.assert_allclose(y, clipped(np.array(wanted)), atol=1.01)


def averaged(x: Array, shift: int, center: bool, floor: int, std: float) -> Array:
    """[samples, lanes] in units of running deviations, in float64."""
    mean, variance, y = np.zeros(x.shape[1]), np.full(x.shape[1], std**2), []
    for sample in x.astype(float):
        mean = mean + (sample - mean) / 2**shift if center else mean
        variance = variance + ((sample - mean) ** 2 - variance) / 2**shift
        y.append((sample - mean) / np.sqrt(np.maximum(variance, floor**2)))
    return np.array(y)


@given(WIDTHS, st.integers(0, 99), st.integers(1, 10), st.booleans(), st.booleans(), st.sampled_from([1, 20]))
@settings(max_examples=examples(60))
def test_running_statistics_are_exponential_averages(
    shape: tuple[int, int, int], seed: int, shift: int, center: bool, features: bool, floor: int
) -> None:
    rows, unit, channels = shape
    x, lanes = signal(seed, rows * unit, channels), unit * channels if features else channels
    fields = {"shift": shift, "bits": 10, "center": center, "features": features, "floor": floor}
    states = [np.zeros(lanes, np.int32), np.full(lanes, 30**2 << 22, np.int64)]
    y = filtered(Link(RunningNormalize, fields, states), x, rows, unit).reshape(-1, lanes) / 2**10
    wanted = averaged(x.reshape(-1, lanes), shift, center, floor, 30)
    np.testing.assert_allclose(y, np.clip(wanted, -32, 32767 / 1024), rtol=2e-3, atol=0.07)


@given(WIDTHS, st.integers(0, 99), st.booleans(), st.booleans())
@settings(max_examples=examples(60))
def test_windows_are_normalized_by_their_own_statistics(
    shape: tuple[int, int, int], seed: int, deviation: bool, features: bool
) -> None:
    rows, unit, channels = shape
    x, lanes = signal(seed, rows * unit, channels), unit * channels if features else channels
    fields = {"bits": 12 if deviation else 0, "deviation": deviation, "features": features}
    y = filtered(Link(NormalizeWindow, fields), x, rows, unit).reshape(-1, lanes)
    values = x.reshape(-1, lanes).astype(float)
    wanted = values - values.mean(0)
    if deviation:
        wanted = np.clip(wanted / np.maximum(values.std(0), 1) * 4096, -32768, 32767)
    np.testing.assert_allclose(y, clipped(wanted), rtol=1e-3, atol=1 if deviation else 0.501)


def everything() -> Graph:
    """All filters one after another, of two channels."""
    rng = np.random.default_rng(7)
    states = [np.zeros(2, np.int32), np.full(2, 100 << 22, np.int64)]
    return chain(
        (1, 12, 8, 2),
        Link(PreEmphasis, {"factor": 63000}),
        Link(RemoveDc, {"shift": 4}, zeros(2)),
        Link(Fir, {"taps": tuple(rng.integers(-3000, 3000, 11).tolist()), "tap_bits": 14, "decimation": 2}),
        Link(Biquads, {"sections": SECTIONS}, zeros(2 * 14)),
        Link(Fir, {"taps": tuple(rng.integers(-3000, 3000, 9).tolist()), "tap_bits": 14, "decimation": 8}),
        Link(RunningNormalize, {"shift": 4, "bits": 12}, states),
        Link(NormalizeWindow, {"bits": 12}),
    )


def streamed() -> Graph:
    """Filters that keep samples of a stream, of two channels."""
    rng = np.random.default_rng(8)
    taps = tuple(rng.integers(-3000, 3000, 11).tolist())
    return chain(
        (1, 6, 8, 2),
        Link(PreEmphasisStream, {"factor": 63000}, [np.array([9, -32768], np.int16)]),
        Link(FirStream, {"taps": taps, "tap_bits": 14, "decimation": 2}, [np.arange(20, dtype=np.int16)]),
        Link(FirStream, {"taps": (20000, -20000), "tap_bits": 15}, [np.zeros(2, np.int16)]),
    )


def features() -> Graph:
    """Filters of features: rows of ten values, each with statistics of its own."""
    return chain(
        (1, 9, 10, 1),
        Link(RemoveDc, {"shift": 3, "features": True}, zeros(10)),
        Link(
            RunningNormalize,
            {"shift": 2, "bits": 11, "floor": 7, "center": False, "features": True},
            [np.zeros(10, np.int32), np.zeros(10, np.int64)],
        ),
        Link(NormalizeWindow, {"bits": 5, "deviation": False, "features": True}),
    )


def restored() -> Graph:
    """All filters with states that none of them leaves, but a caller may restore."""
    graph, rng = everything(), np.random.default_rng(3)
    limits = [np.iinfo(s.initial.dtype) for s in graph.states]
    wild = [rng.integers(x.min, x.max, s.initial.shape, x.dtype) for x, s in zip(limits, graph.states, strict=True)]
    return replace(graph, states=tuple(State(s.before, s.after, w) for s, w in zip(graph.states, wild, strict=True)))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("build", "core"),
    [(everything, "host"), (everything, "cortex-m4"), (features, "host"), (restored, "host"), (streamed, "host")],
)
def test_c_computes_what_numpy_does(build: Callable[[], Graph], core: str, tmp_path: Path) -> None:
    made = build()
    inputs = noise(made.tensors[0].shape, 3)
    inputs.append(np.full_like(inputs[0], -32768))
    inputs.append((inputs[0] >> 12).astype(np.int16))
    wanted = evaluated(made, inputs)
    pushed = compiled(made, emulated(core) if core != "host" else core, input="rows")
    run = bench(pushed, tmp_path, sanitize=core == "host").execute(Mode.DUMP, [[x.tobytes()] for x in inputs])
    for raw, want in zip(run.outputs, wanted, strict=True):
        np.testing.assert_array_equal(np.frombuffer(raw[0], np.int16), want.reshape(-1))


@pytest.mark.parametrize(
    ("link", "reason"),
    [
        (Link(Fir, {"taps": (1,), "tap_bits": 0, "decimation": 3}), "does not fit rows of 8"),
        (Link(Fir, {"taps": (30000,) * 3, "tap_bits": 15}), "may leave 32 bits"),
        (Link(PreEmphasis, {"factor": 70000}), "0 to 1"),
        (Link(Biquads, {"sections": ((2**30, 0, 0, -(2**31) + 4, 2**30 - 6),)}, zeros(12)), "not stable"),
        (Link(Biquads, {"sections": SECTIONS}, zeros(12)), "a state of int32"),
        (Link(RemoveDc, {"shift": 16}, zeros(2)), "a shift of 16"),
    ],
)
def test_others_are_refused(link: Link, reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        chain((1, 12, 8, 2), link)


def test_filters_with_feedback_are_fused_with_nothing() -> None:
    graph = chain((1, 12, 8, 2), Link(PreEmphasis, {"factor": 63000}), Link(RemoveDc, {"shift": 4}, zeros(2)))
    assert "with each row" in region_problem(graph, graph.ops)
