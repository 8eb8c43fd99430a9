"""Spectral features in integers: against real arithmetic with stated tolerances, the C against them bit for bit."""

from __future__ import annotations

import wave
from functools import cache
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from mote.bench.measure.run import run
from mote.compiler.line import compile_graph
from mote.compiler.settings import Settings
from mote.hardware import targets
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.features.spectral import LOGS, DivideByPeak, RemoveGain, SpectralFeatures, binary_log, square_root
from tests.compiler.kernels.c_harness import Program
from tests.helpers.support import PUBLIC_DATA, batch, emulated, examples
from tests.ir.ops.alone import Case, alone, check_alone
from tests.ir.ops.features import ideal

MFCC: dict[str, Any] = {
    "rate": 16000, "frame": 480, "hop": 320, "fft": 512, "filters": 40, "low": 20.0, "high": 4000.0, "log": "ln",
    "floor": 1e-6, "coefficients": 10, "output_fraction": 7,
}  # fmt: skip
LOG_MEL: dict[str, Any] = {
    "rate": 16000, "frame": 1024, "hop": 512, "fft": 1024, "window": "hamming", "spectrum": "power", "filters": 40,
    "low": 0.0, "high": 8000.0, "log": "db", "floor": 1e-20, "output_fraction": 7,
}  # fmt: skip
LEVELS = ("noise", "quiet", "silence", "lowest", "square", "click", "ends")


def sound(level: str, count: int, seed: int = 0) -> Array:
    """So many samples of some kind."""
    rng = np.random.default_rng(seed)
    values = {
        "noise": rng.normal(0, 8000, count),
        "quiet": rng.normal(0, 2, count),
        "silence": np.zeros(count),
        "lowest": np.full(count, -32768),
        "square": np.where(rng.random(count) < 0.5, -32768, 32767),
        "click": np.where(np.arange(count) == rng.integers(0, count), 1, 0),
        "ends": np.where(np.arange(count) < count // 2, rng.normal(0, 8000, count), 0),
    }[level]
    return np.clip(np.rint(values), -32768, 32767).astype(np.int16)


def operator(**fields: Any) -> SpectralFeatures:
    return SpectralFeatures(inputs=(0,), outputs=(1,), **fields)


def case(unit: int, rows: int, level: str = "noise", seed: int = 0, **fields: Any) -> Case:
    x = sound(level, unit * rows, seed).reshape(1, rows, unit, 1)
    return Case(alone(SpectralFeatures, [x], str(operator(**fields).dtype), **fields), [x])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Sounds of any level, in frames of any size, to features of any kind."""
    unit, taps, step = draw(st.integers(1, 40)), draw(st.integers(1, 6)), draw(st.integers(1, 6))
    unit += taps * unit < 2
    sizes = [n for n in (2**a * 3**b * 5**c for a in range(9) for b in range(3) for c in range(3)) if n >= taps * unit]
    fields: dict[str, Any] = {
        "rate": draw(st.sampled_from([8000, 16000, 44100])),
        "frame": taps * unit,
        "hop": step * unit,
        "fft": draw(st.sampled_from(sorted(sizes)[:12])),
        "window": draw(st.sampled_from(["hann", "hamming", "none"])),
        "spectrum": draw(st.sampled_from(["magnitude", "power"])),
        "filters": (filters := draw(st.integers(0, min(taps * unit, 24)))),
        "log": (log := draw(st.sampled_from(["none", "ln", "db"]))),
        "floor": draw(st.sampled_from([1e-20, 1e-6, 1e-3, 1.0])),
        "coefficients": draw(st.integers(0, filters)) if log != "none" else 0,
    }
    low = draw(st.floats(0, 0.4))
    high = draw(st.floats(low + 0.05, 0.5))
    if filters:
        fields |= {"low": low * fields["rate"], "high": high * fields["rate"]}
    fields["output_fraction"] = operator(**fields).widest()
    rows = taps + step * draw(st.integers(0, 3)) + draw(st.integers(0, step - 1))
    return case(unit, rows, draw(st.sampled_from(LEVELS)), draw(st.integers(0, 99)), **fields)


def every() -> list[Case]:
    """All kernels, in all of their ways."""
    cases_ = [case(160, 5, "ends", **MFCC), case(512, 2, **LOG_MEL)]
    for i, (window, spectrum, log) in enumerate(
        (w, s, k) for w in ("hann", "hamming", "none") for s in ("magnitude", "power") for k in ("none", "ln", "db")
    ):
        fft = (30, 45, 32, 60, 128, 75)[i % 6]
        common = {"rate": 8000, "frame": 30, "hop": 15, "fft": fft, "window": window, "spectrum": spectrum, "log": log}
        fields: dict[str, Any] = {**common, "filters": 6 * (i % 3), "low": 100.0, "high": 3000.0}
        if log != "none" and i % 3:
            fields["coefficients"] = i % 4
        fields["output_fraction"] = operator(**fields).widest()
        cases_.append(case(15 if i % 2 else 3, 3 if i % 2 else 15, LEVELS[i % len(LEVELS)], i, **fields))
    mfcc = operator(**{**MFCC, "output_fraction": 6})
    x = np.random.default_rng(1).integers(-9999, 9999, (1, 4, 10, 1)).astype(np.int16)
    x[0, 2, :, 0] = mfcc.silence
    for largest in (-5, 0, 1, 1000, 32767):
        peak = np.full((1, 1, 1, 1), largest, np.int16)
        gain = {"factors": mfcc.gains(), "silence": tuple(mfcc.silence.tolist())}
        cases_.append(Case(alone(RemoveGain, [x, peak], **gain), [x, peak]))
        cases_.append(Case(alone(DivideByPeak, [x, peak], "int32"), [x, peak]))
    return cases_


def few() -> list[Case]:
    """Small ones, that reach every function."""
    return [c for c in every() if getattr(c.op, "fft", 0) <= 128][-14:]


def test_kernels_are_the_definition() -> None:
    check_alone(every())


@pytest.mark.slow
def test_kernels_on_a_core() -> None:
    check_alone(every()[:12], Program(emulated("cortex-m4")))


@pytest.mark.slow
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m4", "cortex-m55", "rv32imc"])
def test_all_kernels_on_cores(core: str) -> None:
    check_alone(every(), Program(emulated(core)))


@given(batch(cases(), 40, 10))
@settings(max_examples=examples(1, 1), deadline=None)
def test_any_features_in_c(given_: list[Case]) -> None:
    check_alone(given_)


def noise_of(op: SpectralFeatures, frames: Array) -> Array:
    """[frames, bands]: how far energies may be off: bins by 60 dB less than all of a frame, and all by 0.1%."""
    energies, plain = ideal.energies(op, frames), op.with_(filters=0, spectrum="magnitude")
    each = 1e-3 * np.linalg.norm(ideal.energies(plain, frames), axis=1, keepdims=True)
    weights = ideal.filters(op).sum(0) if op.filters else np.ones(op.transform.bins)
    noise = each * weights
    if op.power:
        noise = (2 * np.sqrt(energies * op.frame * weights) * each + np.square(each) * weights) / op.frame
    return np.asarray(noise + 1e-3 * energies)


@given(cases())
@settings(max_examples=examples(60), deadline=None)
def test_features_are_those_of_real_numbers(given_: Case) -> None:
    """Logarithms and cepstra are off by what noise of energies makes of them, and 0.02 more."""
    op = given_.op
    assert isinstance(op, SpectralFeatures)
    frames = sliding_window_view(given_.inputs[0].reshape(-1), op.frame)[:: op.hop] / 32768
    want, have = (
        ideal.features(op, frames),
        np.ldexp(given_.expected()[0, ..., 0].astype(np.float64), -op.output_fraction),
    )
    allowed, energies = noise_of(op, frames), ideal.energies(op, frames) + op.floor
    if op.log != "none":
        allowed = (
            (np.log1p(allowed / np.maximum(energies - allowed, energies / 1e9)) + 0.02) * LOGS[op.log] / LOGS["ln"]
        )
    if op.coefficients:
        allowed = np.sqrt(2 / op.filters) * np.sum(allowed, axis=1, keepdims=True) + 0.02
    assert np.all(np.abs(have - want) <= allowed + 2.0**-op.output_fraction), (have, want, allowed)


def test_a_square_root_and_a_logarithm() -> None:
    x = np.concatenate([np.arange(1, 3000), np.geomspace(3000, 2**31 - 1, 3000)]).astype(np.int64)
    np.testing.assert_allclose(square_root(x) / 256, np.sqrt(x), rtol=1e-4, atol=1 / 256)
    assert square_root(np.zeros(1, np.int64))[0] == 0
    wide = np.concatenate([x, np.geomspace(2**31, 2**62, 3000).astype(np.int64)])
    np.testing.assert_allclose(binary_log(wide) / 65536, np.log2(wide), atol=6e-5)


def test_a_band_without_bins_and_silence_are_the_floor() -> None:
    fields = {**MFCC, "filters": 200, "coefficients": 0, "output_fraction": 8}
    op = operator(**fields)
    assert op.bands is not None and op.bands.empty.sum() > 5
    features = op.features(sound("noise", 480)[None].astype(np.int64))[0]
    floor = round(np.log(1e-6) * 256)
    np.testing.assert_array_equal(features[op.bands.empty], floor)
    assert np.all(features[~op.bands.empty] > floor + 1000)
    np.testing.assert_array_equal(op.silence, floor)
    np.testing.assert_array_equal(op.features(np.zeros((1, 480), np.int64))[0], floor)
    mfcc = operator(**MFCC)
    np.testing.assert_array_equal(mfcc.features(np.zeros((1, 480), np.int64))[0], mfcc.silence)


def test_a_gain_is_removed() -> None:
    """As if the samples had been divided, within what rounding samples does to them."""
    for fields in (MFCC, {**LOG_MEL, "frame": 480, "hop": 320}):
        op = operator(**fields)
        frames = sliding_window_view(sound("ends", 4800) // 8, 480)[::320]
        largest = np.array(frames.max()).reshape(1, 1, 1, 1)
        features = op.features(frames.astype(np.int64)).reshape(1, -1, op.columns, 1)
        gain = {"factors": op.gains(), "silence": tuple(op.silence.tolist())}
        have = Case(alone(RemoveGain, [features, largest], **gain), [features, largest]).expected()[0, ..., 0]
        want = ideal.features(op, frames / largest.item())
        unit = 1 if op.log == "ln" else 4.5
        np.testing.assert_allclose(have / 128, want, atol=0.1 * unit)


def public(name: str) -> Any:
    """A file of real data; the test is skipped where it is not."""
    if not (PUBLIC_DATA / name).exists():
        pytest.skip(f"there is no {name}")
    return PUBLIC_DATA / name


@cache
def clips(count: int) -> list[Array]:
    with ZipFile(public("speech_commands_300.zip")) as archive:
        names = sorted(n for n in archive.namelist() if n.endswith(".wav"))
        return [samples(archive.read(name)) for name in names[:: len(names) // count]]


def samples(data: bytes) -> Array:
    """A second of a WAV file."""
    with wave.open(BytesIO(data)) as file:
        values = np.frombuffer(file.readframes(file.getnframes()), "<i2")[:16000]
    return np.pad(values, (0, 16000 - len(values)))


def test_cepstra_of_spoken_words() -> None:
    """0.02 off on average: a twentieth of a step of the int8 input that keyword models take."""
    op, errors = operator(**MFCC), []
    for clip in clips(30):
        frames = sliding_window_view(clip, 480)[::320]
        errors.append(op.features(frames.astype(np.int64)) / 128 - ideal.features(op, frames / 32768))
    assert np.sqrt(np.mean(np.square(np.concatenate(errors)[:, 1:]))) < 0.02
    assert np.sqrt(np.mean(np.square(np.concatenate(errors)[:, 0]))) < 0.04


def measured(target: str, rows: int, unit: int, **fields: Any) -> Any:
    alone_ = case(unit, rows, **fields)
    compiled = compile_graph(alone_.graph, Settings(target=targets.load(target)))
    result = run(compiled, {"x0": alone_.inputs[0]}, layers=False)
    want = alone_.expected()
    np.testing.assert_array_equal(next(iter(result.values.values())).reshape(want.shape), want)
    return result


def test_what_a_frame_takes() -> None:
    """MLPerf Tiny's frame of an MFCC: fewer than 40,000 instructions, and 2 KB with its samples."""
    result = measured(emulated("cortex-m4"), 3, 160, **MFCC)
    assert result.instructions < 40_000
    assert result.ram.arena <= 2048


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"fft": 511}, "511 points"),
        ({"fft": 256}, "256 points of 480"),
        ({"window": "kaiser"}, "window"),
        ({"spectrum": "energy"}, "spectrum"),
        ({"log": "log3"}, "unit"),
        ({"log": "none"}, "cepstrum"),
        ({"coefficients": 41}, "41 coefficients"),
        ({"high": 9000.0}, "bands"),
        ({"floor": 0.0}, "floor"),
        ({"hop": 100}, "multiples"),
        ({"frame": 1600, "fft": 2048}, "less than a frame"),
        ({"hop": 0}, "cannot be"),
    ],
)
def test_what_is_refused(fields: dict[str, Any], why: str) -> None:
    said = operator(**{**MFCC, **fields}).refused((1, 4, 160, 1))
    assert said is not None and why in said
    assert operator(**MFCC).refused((1, 4, 160, 1)) is None
    assert "channel" in (operator(**MFCC).refused((1, 4, 160, 2)) or "")


def test_types_that_are_refused() -> None:
    op = operator(**MFCC)
    tensors = {0: Tensor(0, "x", (1, 3, 160, 1), DType.INT8), 1: Tensor(1, "y", (1, 1, 10, 1), DType.INT16)}
    assert "int8 input" in (op.unsupported(Graph("g", tensors, (op,), (0,), (1,))) or "")
