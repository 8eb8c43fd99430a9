"""The examples that listen: words, a wake word, and both in one firmware, on an emulated core, beside the reference."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.support import PUBLIC_DATA, PUBLIC_MODELS, emulated, needs_litert

EXAMPLES = Path(__file__).parents[2] / "examples"
KWS, WAKE = PUBLIC_MODELS / "kws_ref_model.tflite", PUBLIC_MODELS / "str_ww_ref_model.tflite"
CLIPS, LABELS = PUBLIC_DATA / "speech_commands_300.zip", PUBLIC_DATA / "keywords_mfcc.npz"
SOUND = PUBLIC_DATA / "wakeword_10s.wav"
pytestmark = needs_litert


def told(example: str, *arguments: str) -> tuple[int, str]:
    """The exit status of an example, and what it prints."""
    emulated("cortex-m4")
    program = EXAMPLES / example / f"{example}.py"
    done = subprocess.run([sys.executable, program, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def spoken(target: str, *more: str) -> tuple[int, str]:
    """The published keyword spotter on recorded clips."""
    for needed in (KWS, CLIPS, LABELS):
        if not needed.exists():
            pytest.skip(f"needs {needed.name}")
    given = ("--model", str(KWS), "--clips", str(CLIPS), "--labels", f"{LABELS}:labels", "--target", target)
    return told("keywords", *given, *more)


@pytest.mark.slow
def test_made_up_words_are_recognised() -> None:
    status, said = told("keywords")
    assert status == 0, said
    assert "8 of 8 words are right" in said and "bit for bit" in said


@pytest.mark.slow
def test_spoken_words_are_recognised() -> None:
    status, said = spoken("cortex-m4", "--most", "4")
    assert status == 0 and "4 of 4 words are right" in said, said


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cortex-m4", "cortex-m55"])
def test_all_spoken_words_are_recognised(target: str) -> None:
    """As many as with LiteRT's reference kernels on float features."""
    emulated(target)
    status, said = spoken(target)
    assert status == 0 and "293 of 300 words are right" in said, said


@pytest.mark.slow
def test_a_made_up_wake_word_is_heard() -> None:
    status, said = told("wake_word")
    assert status == 0, said
    assert "3 of 3 words were heard, 0 false alarms" in said


@pytest.mark.slow
def test_a_spoken_wake_word_is_heard() -> None:
    """Front end, network and detector within what docs/deploy/sensors.md states for a frame."""
    for needed in (WAKE, SOUND):
        if not needed.exists():
            pytest.skip(f"needs {needed.name}")
    events = SOUND.with_suffix(".json")
    status, said = told("wake_word", "--model", str(WAKE), "--sound", str(SOUND), "--events", str(events), "--costs")
    assert status == 0, said
    assert "3 of 3 words were heard, 0 false alarms" in said
    costs = re.search(r"([\d,]+) instructions a frame at most, ([\d,]+) bytes of RAM", said)
    assert costs
    instructions, ram = (int(number.replace(",", "")) for number in costs.groups())
    assert instructions <= 120_000 and ram <= 8_600


@pytest.mark.slow
def test_two_models_take_turns() -> None:
    status, said = told("two_models")
    assert status == 0, said
    assert re.findall(r"then heard: (\w+)", said) == ["fall", "part", "meet"]


@pytest.mark.slow
def test_two_spoken_models_and_their_power() -> None:
    for needed in (KWS, WAKE, CLIPS, LABELS, SOUND):
        if not needed.exists():
            pytest.skip(f"needs {needed.name}")
    models = ("--wake", str(WAKE), "--sound", str(SOUND), "--words", str(KWS))
    clips = ("--clips", str(CLIPS), "--labels", f"{LABELS}:labels")
    status, said = told("two_models", *models, *clips, "--part", "nrf52840", "--wakes", "10")
    assert status == 0 and said.count("then heard: ") == 3, said
    total = re.search(r"together ([\d.]+) µA: (\d+) days", said)
    parts = [float(number) for number in re.findall(r"MHz, ([\d.]+) µA", said)]
    assert total and len(parts) == 2 and abs(float(total[1]) - sum(parts)) < 0.2
