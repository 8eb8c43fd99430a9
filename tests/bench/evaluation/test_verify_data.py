"""`verify` on inputs that a user has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.bench.evaluation import verify as verifier
from mote.bench.evaluation.images import load_image, verify_image
from mote.bench.evaluation.verify import verify
from mote.compiler.line import compile
from mote.compiler.packer import pack
from mote.frontends.data.dataset_type import Dataset, RecordingInfo
from tests.helpers.network import Net

MODELS = Path(__file__).parents[3] / "models"
DIGITS, SAMPLES = MODELS / "digits.tflite", MODELS / "digits_samples.npz"


def test_all_of_them_or_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier, "MOST_SHOWN", 20_000)
    compiled = compile(DIGITS)
    every = verify(compiled, data=SAMPLES)
    assert every.exact and every.inputs == 16 and every.tensors > 5
    assert verify(compiled, 3, data=np.load(SAMPLES)["inputs"]).inputs == 3


def test_a_difference_is_named_with_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compile(DIGITS)
    answers = verifier.oracle(verifier.judged(compiled))
    given = np.load(SAMPLES)["inputs"]
    other = given.copy()
    other[5] = np.roll(other[5], 1, 0)

    def wrong_at_five(judged: verifier.Judged) -> tuple[object, str, verifier.Wanted]:
        calls = iter(other)
        return lambda inputs: answers[0]({t: next(calls)[None] for t in inputs}), *answers[1:]

    monkeypatch.setattr(verifier, "oracle", wrong_at_five)
    found = verify(compiled, data=given)
    assert not found.passed and {m.input for m in found.mismatches} == {5}


@pytest.mark.slow
def test_images_are_verified_on_them_too(tmp_path: Path) -> None:
    pack(DIGITS).write(tmp_path / "digits.mote")
    loaded = load_image(tmp_path / "digits.mote")
    found = verify_image(loaded, data=SAMPLES, source=DIGITS)
    assert found.exact and found.inputs == 16
    assert verify_image(loaded, 2, data=SAMPLES).inputs == 2


def test_data_of_another_model_is_refused() -> None:
    with pytest.raises(MoteError, match="8x8x1"):
        verify(compile(DIGITS), data=MODELS / "keywords_samples.npz")


def test_too_little_of_a_stream_is_refused() -> None:
    compiled = compile(MODELS / "keywords.tflite", stream=1, causal=True)
    frame = compiled.plan.graph.tensors[compiled.plan.graph.inputs[0]].shape
    with pytest.raises(MoteError, match="no whole window of the stream"):
        verify(compiled, data=np.zeros((1, *frame[1:]), np.int8))


def test_a_recording_is_verified_as_it_is_listened_to() -> None:
    """In windows, or frame by frame; each step is compared with LiteRT on the whole window."""
    net = Net(seed=4)
    model = net.finish(net.conv(net.input(1, 9, 1, 3), 4, (5, 1), padding="VALID"))
    frames = np.random.default_rng(3).integers(-128, 128, (12, 3)).astype(np.int8)
    recording = Dataset("recording", {"frames": frames}, stream=RecordingInfo(0.1, 0.05, 2.0))
    for options in ({}, {"stream": 1}):
        found = verify(compile(model, **options), data=recording)
        assert found.exact and found.inputs == 4
