"""The step `micro-frontend`: what the wheel gives, from data, and before a wake word over a stream."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.bench.measure.runner import bench
from mote.compiler.line import compile
from mote.frontends.features.pipeline import preprocessing
from mote.frontends.features.sample import Sample
from mote.hardware.toolchain import Mode
from mote.ir.graph.tensor import Array
from tests.helpers.support import emulated
from tests.ir.ops.control.test_state import wake_word
from tests.ir.ops.features.test_micro import HOP, STEP, chirp, of_library, of_this_machine  # noqa: F401

WHEEL = "micro-frontend,scale=10/256"


def speechlike(n: int) -> Array:
    """Tones that come and go over noise."""
    rng, t = np.random.default_rng(3), np.arange(n)
    loud = np.abs(np.sin(t / 2500)) ** 3
    return np.clip(chirp(n) * loud * 0.4 + rng.normal(0, 200, n), -32768, 32767).astype(np.int16)


def features(samples: Array, steps: str = WHEEL, rate: int = 16000) -> Array:
    return preprocessing(steps)(Sample(samples, "clip", rate=rate)).values


@pytest.mark.usefixtures("of_this_machine")
def test_features_of_a_clip() -> None:
    samples = speechlike(16000)
    want = of_library(samples) * STEP
    np.testing.assert_allclose(features(samples), want, atol=0 if platform.machine() == "x86_64" else STEP)
    np.testing.assert_array_equal(features(np.stack([samples, samples], axis=1)), features(samples))


def test_other_numbers() -> None:
    samples = speechlike(8000)
    every = features(samples, "micro-frontend(hop=320,channels=32,pcan=off)")
    assert every.shape == ((8000 - 480) // 320 + 1, 32)
    assert features(samples, "micro-frontend(log=off)").max() > features(samples, "micro-frontend").max()
    slow = features(samples, "micro-frontend(frame=240,hop=80,high=3500)", 8000)
    assert slow.shape == ((8000 - 240) // 80 + 1, 40)


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ("micro-frontend(frame=20)", "frames of 20 samples"),
        ("micro-frontend(frame=481,hop=161)", "odd parts"),
        ("micro-frontend(high=8000)", "reaches the last bin"),
        ("micro-frontend(low=8000,high=9000)", "does not lie in a spectrum"),
        ("micro-frontend(channels=0)", "0 channels"),
        ("micro-frontend(pcan=maybe)", "pcan=maybe"),
        ("micro-frontend(gain_bits=9)", "9 gain bits"),
        ("micro-frontend(rate=8000)", "is not that of the samples"),
        ("scale=2,micro-frontend", "belong behind all other steps"),
        ("micro-frontend,micro-frontend", "takes samples, and gets features"),
    ],
)
def test_what_is_refused(steps: str, why: str) -> None:
    with pytest.raises(MoteError, match=why):
        features(speechlike(1600), steps)


def test_a_rate_is_needed() -> None:
    with pytest.raises(MoteError, match="samples a second"):
        features(speechlike(1600), "micro-frontend", 0)
    assert features(speechlike(1600), "micro-frontend(rate=16000)", 0).shape == (8, 40)


@pytest.mark.slow
def test_a_wake_word_over_a_stream(tmp_path: Path) -> None:
    """From raw samples, three hops an inference: the features of a stream are those of a clip, but for the frames that
    begin before it. In less than 0.12 million instructions a frame and 8 KB of RAM."""
    made = compile(wake_word("hey_jarvis"), target=emulated("cortex-m4"), preprocess=WHEEL)
    graph = made.plan.graph
    raw = graph.tensors[graph.inputs[0]]
    assert raw.shape == (1, 3, HOP, 1)
    samples = speechlike(8 * raw.size)
    run = bench(made, tmp_path).execute(Mode.DUMP, [[part.tobytes()] for part in samples.reshape(8, -1)])
    at = next(i for i, (op, _) in enumerate(made.plan.works) if op.kind == "MicroFeatures")
    stream = np.concatenate([np.frombuffer(dump[at], np.int16).reshape(-1, 40) for dump in run.dumps])
    assert not stream[:2].any()
    np.testing.assert_array_equal(stream[2:], features(samples, "micro-frontend"))
    counted = bench(made, tmp_path).execute(Mode.MEASURE, [[samples[: raw.size].tobytes()]] * 2)
    assert counted.instructions is not None
    assert counted.instructions[1] < 3 * 45_000
