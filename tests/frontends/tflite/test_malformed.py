"""Damaged files: a clear error, never a crash, a hang or a traceback."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote import frontends
from mote.base.errors import MoteError
from mote.compiler.line import compile
from mote.frontends import Format, Source, tflite
from tests.helpers.streams import sliding
from tests.helpers.support import examples

MODELS = Path(__file__).parents[3] / "models"
DIGITS = (MODELS / "digits.tflite").read_bytes()

SEEDS = range(16)
FLIPPED, RESTRUCTURED, COMPILED, NOISE = examples(300), 100, 15, examples(300)
"""How many files each test tries, for each of its models or seeds."""


def survives(data: bytes) -> None:
    """A model or a MoteError, nothing else; and a message that names the file."""
    try:
        tflite.read(Source("fuzzed.tflite", Format.TFLITE, data))
        tflite.parse(data, "fuzzed.tflite")
    except MoteError as error:
        assert "fuzzed.tflite" in str(error)


@pytest.mark.parametrize("length", [0, 1, 4, 7, 8, 9, 20, 64, 200, 1000, len(DIGITS) // 2, len(DIGITS) - 1])
def test_truncated(length: int) -> None:
    with pytest.raises(MoteError, match=r"fuzzed\.tflite"):
        tflite.parse(DIGITS[:length], "fuzzed.tflite")


@pytest.mark.parametrize("model", [DIGITS, sliding(1, 2, 3, 4)], ids=["digits", "variables"])
@given(st.data())
@settings(max_examples=FLIPPED, deadline=None)
def test_flipped_bytes(model: bytes, data: st.DataObject) -> None:
    damaged = bytearray(model)
    for _ in range(data.draw(st.integers(1, 8))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    survives(bytes(damaged))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_structure(seed: int) -> None:
    """Random damage where the structure is: the tables at the file's end and start, in 32-bit words."""
    rng = random.Random(seed)
    words = [0, 1, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFC, len(DIGITS), len(DIGITS) - 4]
    for _ in range(RESTRUCTURED):
        damaged = bytearray(DIGITS)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(0, len(damaged) - 4)
            damaged[at : at + 4] = rng.choice(words).to_bytes(4, "little")
        survives(bytes(damaged))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_can_be_read_compiles_or_says_why(seed: int) -> None:
    rng = random.Random(seed)
    compiled = 0
    for _ in range(COMPILED):
        damaged = bytearray(DIGITS)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            compiled += bool(compile(bytes(damaged), target="cortex-m4").project.files)
        except MoteError as error:
            assert "model.tflite" in str(error)
    assert compiled


@given(st.binary(max_size=300))
@settings(max_examples=NOISE, deadline=None)
def test_random_bytes(noise: bytes) -> None:
    survives(noise)
    survives(noise[:4] + b"TFL3" + noise[4:])


def test_not_a_model(tmp_path: Path) -> None:
    with pytest.raises(MoteError, match="cannot read the file"):
        frontends.load(tmp_path / "absent.tflite")
    (tmp_path / "text.tflite").write_text("hello, this is no model")
    with pytest.raises(MoteError, match="no TFL3 identifier"):
        frontends.load(tmp_path / "text.tflite")
