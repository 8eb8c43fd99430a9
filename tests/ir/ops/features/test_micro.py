"""The micro front end against its C library bit for bit, and the C against its definition."""

from __future__ import annotations

import ctypes
import io
import platform
import sys
import wave
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.files import temporary_folder
from mote.bench.measure.runner import bench
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.ops.features import micro
from mote.ir.ops.features.micro import MicroFeatures, MicroSpectrum, bank, gain_table, log1p, window
from mote.ir.ops.signal.audio_stateless import ScaleBits
from tests.helpers.chains import Link, chain, compiled, evaluated, interpreter, noise
from tests.helpers.support import PUBLIC_MODELS, emulated, examples, varied

HOP, FRAME, CHANNELS = 160, 480, 40
STEP = 0.0390625
"""The wheel gives features times this."""
USUAL = {
    "smoothing_bits": 10,
    "smoothing": (0.025, 0.06),
    "remaining": 0.05,
    "pcan": (0.95, 80.0, 21),
    "log": 6,
}
DATA = PUBLIC_MODELS.parent / "data"


def front(rows: int, unit: int = HOP, channels: int = CHANNELS, waiting: int = 0, **changes: Any) -> Graph:
    """The front end over rows of `unit` samples; with the numbers of the wheel unless they are changed."""
    spectrum = {"rate": 16000, "frame": FRAME, "hop": HOP, "low": 125.0, "high": 7500.0, "channels": channels}
    spectrum |= {k: v for k, v in changes.items() if k in spectrum}
    rest = USUAL | {k: v for k, v in changes.items() if k in USUAL}
    length = 1 << (spectrum["frame"] - 1).bit_length()
    result = "int16" if rest["log"] is not None and rest["log"] <= micro.NARROW_LOG else "int32"
    return chain(
        (1, rows, unit, 1),
        Link(MicroSpectrum, spectrum, dtype="uint32"),
        Link(MicroFeatures, {"length": length, **rest}, _states(channels, waiting), result),
    )


def _states(channels: int, waiting: int) -> list[Array]:
    return [np.zeros(channels, np.uint32), np.array([waiting], np.int32)]


def features(samples: Array) -> Array:
    """As the definition has them, [frames, channels]."""
    rows = len(samples) // HOP
    graph = front(rows)
    (y,) = evaluated(graph, [samples[: rows * HOP].reshape(1, rows, HOP, 1)])
    return y.reshape(-1, CHANNELS)


def of_library(samples: Array) -> Array:
    """The same from the wheel, which takes a hop at a time."""
    library = pytest.importorskip("pymicro_features").MicroFrontend()
    hops = samples[: len(samples) // HOP * HOP].reshape(-1, HOP)
    made = [library.process_samples(hop.tobytes()).features for hop in hops]
    return np.round(np.array([m for m in made if m]) / STEP).astype(np.int64)


@pytest.fixture
def of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library's tables are made with the C library of the machine, whose logarithm may be a better one."""
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        pytest.skip("the wheel's tables depend on the C library, and only that of Linux is asked")
    libm = ctypes.CDLL("libm.so.6")
    libm.log1pf.restype, libm.log1pf.argtypes = ctypes.c_float, [ctypes.c_float]
    monkeypatch.setattr(micro, "log1p", lambda x: np.float32(libm.log1pf(x)))
    micro.bank.cache_clear()
    yield
    micro.bank.cache_clear()


def same(samples: Array) -> None:
    """Compilers for Arm may fuse products and sums of the library's tables, so that a weight is one off."""
    ours, theirs = features(samples), of_library(samples)
    if platform.machine() == "x86_64":
        np.testing.assert_array_equal(ours, theirs)
    else:
        assert np.abs(ours - theirs).max() <= 1
        assert (ours != theirs).mean() < 0.001


def chirp(n: int) -> Array:
    return 32767 * np.sin(np.arange(n) ** 2 * 1e-3)


SIGNALS = {
    "noise": lambda rng: rng.normal(0, 3000, 16000),
    "full scale": lambda rng: rng.integers(-32768, 32768, 8000),
    "extremes": lambda rng: rng.choice([-32768, 32767], 8000),
    "quiet": lambda rng: rng.integers(-2, 3, 8000),
    "silence": lambda rng: np.zeros(1600),
    "lowest": lambda rng: np.full(4000, -32768),
    "chirp": lambda rng: chirp(16000),
    "lowest peaks": lambda rng: np.where(np.arange(8000) % 777 == 0, -32768, rng.integers(-9, 9, 8000)),
    "steps": lambda rng: np.where(np.arange(16000) // 4000 % 2, rng.normal(0, 9000, 16000), 0),
}


@pytest.mark.usefixtures("of_this_machine")
@pytest.mark.parametrize("kind", SIGNALS)
def test_the_library_gives_the_same(kind: str) -> None:
    samples = SIGNALS[kind](np.random.default_rng(len(kind)))
    same(np.clip(samples, -32768, 32767).astype(np.int16))


def spoken(data: bytes) -> Array:
    with wave.open(io.BytesIO(data)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.int16)


@pytest.mark.usefixtures("of_this_machine")
def test_speech() -> None:
    archive = DATA / "speech_commands_300.zip"
    if not archive.exists():
        pytest.skip(f"{archive.name} is not there")
    with zipfile.ZipFile(archive) as z:
        names = sorted(name for name in z.namelist() if name.endswith(".wav"))
        same(np.concatenate([spoken(z.read(name)) for name in names[::20]]))


@pytest.mark.slow
@pytest.mark.usefixtures("of_this_machine")
def test_ten_seconds_of_speech() -> None:
    recording = DATA / "wakeword_10s.wav"
    if not recording.exists():
        pytest.skip(f"{recording.name} is not there")
    same(spoken(recording.read_bytes()))


def test_tables() -> None:
    """As the library makes them on a Cortex-M4 with newlib."""
    b = bank(16000, 512, 40, 125.0, 7500.0)
    assert (b.edges[0], b.edges[-1], len(b.edges)) == (5, 241, 42)
    assert (b.weights[149 - 5], b.weights[221 - 5]) == (2471, 1401), "one less with a logarithm that is rounded"
    assert (b.weights + b.rests == 4096).all()
    assert window(480).tolist()[:5] == window(480).tolist()[:-6:-1] == [0, 0, 1, 2, 4]
    assert gain_table(0.95, 80.0, 21, 7).tolist()[:5] == [32636, 32633, 32630, -6, 0]
    for x in np.float32([0.0, 0.01, 0.4, 0.42, 0.9, 1.0, 7.5, 11.0, 63.0]):
        assert abs(float(log1p(x)) - np.log1p(float(x))) <= 1e-7 * max(1.0, np.log1p(float(x)))


def test_signal_operators_forget_what_comes_before_the_lowest_sample() -> None:
    """Where the library's frames leave it out."""
    samples = np.zeros(FRAME, np.int16)
    samples[[200, FRAME // 2, 300]] = 20000, -32768, 5
    (bits,) = evaluated(chain((FRAME,), Link(ScaleBits, dtype="int32")), [samples])
    assert int(bits) == 15 - 3
    assert features(np.tile(samples, 3)).any(), "20000 takes 15 bits: a shift by 12 would wrap"


@st.composite
def fronts(draw: st.DrawFn) -> Graph:
    unit = 2 * draw(st.integers(8, 40))
    taps, step = draw(st.integers(-(-34 // unit), 5)), draw(st.integers(1, 4))
    rate = draw(st.sampled_from([8000, 16000, 22050]))
    low = draw(st.floats(0, rate / 8, width=32))
    high = draw(st.floats(rate / 5, 0.45 * rate, width=32))
    smoothing_bits = draw(st.integers(4, 14))
    gain = draw(st.floats(0, 1.5, width=32)), draw(st.floats(1, 200, width=32)), draw(st.integers(18, 24))
    return front(
        taps + step * draw(st.integers(0, 3)),
        unit,
        draw(st.integers(1, 24)),
        rate=rate,
        frame=taps * unit,
        hop=step * unit,
        low=low,
        high=high,
        smoothing_bits=smoothing_bits,
        smoothing=(draw(st.floats(0, 1, width=32)), draw(st.floats(0, 1, width=32))),
        remaining=draw(st.floats(0, 1, width=32)),
        pcan=draw(st.sampled_from([gain, None])),
        log=draw(st.sampled_from([None, 0, 6, 10, 11])),
        waiting=draw(st.sampled_from([0, 1, 5, -3])),
    )


def check_c(graph: Graph, folder: Path, signals: list[Array], target: str = "host", **options: Any) -> None:
    made = compiled(graph, target, **options)
    run = bench(made, folder, sanitize=target == "host").execute(Mode.DUMP, [[x.tobytes()] for x in signals])
    dtype = graph.tensors[graph.outputs[0]].dtype.numpy
    for (raw,), want in zip(run.outputs, evaluated(graph, signals), strict=True):
        np.testing.assert_array_equal(np.frombuffer(raw, dtype), want.reshape(-1))


@given(varied(fronts()), st.integers(0, 15))
@settings(max_examples=examples(12, 4), deadline=None)
def test_c(graph: Graph, quieter: int) -> None:
    signals = noise(graph.tensors[graph.inputs[0]].shape, 3, quieter)
    loud, quiet = signals[0], [x >> np.int16(quieter) for x in signals[1:]]
    with temporary_folder() as folder:
        check_c(graph, folder, [loud, *quiet])


def every() -> list[Graph]:
    """All kernels, with both kinds of first stages, and with windows that leave -32768 as it is and that do not."""
    return [
        front(4),
        front(3, 80, 5, frame=160, hop=80, high=6000.0),
        front(3, 32, 5, frame=64, hop=32, high=6000.0, pcan=None, log=None),
    ]


def test_c_on_a_core() -> None:
    """An FFT that begins with radix 4, one that begins with radix 2, and both types of features."""
    core = emulated("cortex-m4")
    for k, graph in enumerate(every()):
        signals = noise(graph.tensors[graph.inputs[0]].shape, 3, k)
        with temporary_folder() as folder:
            check_c(graph, folder, [*signals, signals[0] >> 7], core)


@pytest.mark.slow
def test_a_frame_on_a_core() -> None:
    """Within the 0.12 million instructions that a wake word may take with its model."""
    made = compiled(front(3), emulated("cortex-m4"))
    with temporary_folder() as folder:
        run = bench(made, folder).execute(Mode.MEASURE, [[chirp(FRAME).astype(np.int16).tobytes()]])
    assert run.instructions is not None
    assert run.instructions[0] < 28_500
    assert made.plan.arena <= 2 * FRAME + 2 * 512 + 4 * CHANNELS + 64


def test_rows_are_pushed_and_states_restored() -> None:
    graph, signals = front(6), noise((1, 6, HOP, 1), 4)
    wanted = evaluated(graph, signals)
    made = compiled(graph, input="rows")
    it = interpreter(made.plan)
    for k, signal in enumerate(signals):
        it.push_rows(signal)
        np.testing.assert_array_equal(it.get_tensor(1), wanted[k])
        if k == 1:
            kept = it.save()
    it.restore(kept)
    for signal in signals[2:]:
        it.push_rows(signal)
    np.testing.assert_array_equal(it.get_tensor(1), wanted[-1])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"unit": 150}, "do not divide frames of 480"),
        ({"unit": 15, "frame": 45, "hop": 15}, "by pairs"),
        ({"frame": 32, "unit": 32, "hop": 32}, "frames of 32 samples are not supported"),
        ({"rows": 2}, "less than a frame"),
        ({"high": 8000.0}, "reaches the last bin"),
        ({"low": 7600.0}, "does not lie in a spectrum"),
        ({"smoothing_bits": 2}, "2 smoothing bits"),
        ({"remaining": 1.5}, "between 0 and 1"),
        ({"pcan": (0.95, 80.0, 12)}, "12 gain bits"),
        ({"log": 12}, "shifted by 12 bits"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        front(**{"rows": 5, **changes})
