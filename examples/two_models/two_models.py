"""A wake word, then keywords, in one firmware with one arena on an emulated Cortex-M4, and its power budget.

python examples/two_models/two_models.py [--target CORE] [--part PART] [--wakes PER_HOUR]
python examples/two_models/two_models.py --wake str_ww_ref_model.tflite --sound wake.wav
    --words kws_ref_model.tflite --clips words.zip --labels NAMES

Without models the bundled one is both: "rise" wakes it, and the word that follows is recognised.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "keywords"))
sys.path.append(str(Path(__file__).parents[1] / "wake_word"))

import keywords
import wake_word
from emulated import BANDS, RATE, Sound, reference_stream, run_firmware, tones
from wake_word import WakeWord

import mote
from made_up_words import WORDS

BATTERY = 220
"""Milliampere-hours of a CR2032."""
SPOKEN = 3
"""Recorded words that are said."""


@dataclass(frozen=True)
class Scene:
    """Two models, sound with wake words and words, and the words that are to be answered, in order."""

    wake: WakeWord
    words: str
    preprocess: str
    sound: Sound
    block: int
    """Samples that the microphone gives at a time."""
    answers: list[str]
    names: Sequence[str]

    def spotter(self, target: str) -> mote.Compiled:
        """The model that hears the second after the wake word."""
        return mote.compile(
            self.words, target=target, preprocess=self.preprocess, name="words", caller_arena=True, single_file=True
        )


def made_up() -> Scene:
    """Words after the wake word are answered; words without it are not."""
    rng = np.random.default_rng(3)
    said = ["peak", "rise", "fall", "level", "silence", "rise", "part", "dip", "rise", "meet", "silence"]
    sound = np.concatenate([tones(WORDS[word], RATE, rng) for word in said])
    answers = [after for word, after in pairwise(said) if word == "rise"]
    return Scene(wake_word.bundled(), str(wake_word.BUNDLED), BANDS, sound, RATE // 50, answers, list(WORDS))


def spoken(wake: str, sound: str, words: str, clips: str, labels: str) -> Scene:
    """A recording up to where the wake word is heard, and then a word, some times."""
    word = wake_word.published(wake)
    recorded = wake_word.first_channel(sound)
    heard = np.arange(RATE // word.hop, len(recorded) // word.hop + 1) * word.hop
    scores = reference_stream(wake, word.preprocess, recorded, word.frame, word.hop, heard)[:, word.place]
    until = recorded[: heard[np.argmax(scores > 0)]]
    said = keywords.recorded(clips, labels)
    known = [at for at, label in enumerate(said.labels) if said.names[label] != "unknown"]
    chosen = [known[at] for at in np.linspace(0, len(known) - 1, SPOKEN).astype(int)]
    pause = np.zeros(-RATE % word.hop, np.int16)
    sounds = np.concatenate([part for at in chosen for part in (until, said.sounds[at], pause)])
    answers = [said.names[said.labels[at]] for at in chosen]
    return Scene(word, words, keywords.MFCC, sounds, word.hop, answers, said.names)


def power(wake: mote.Compiled, words: mote.Compiled, period: float, wakes: float) -> list[str]:
    """The current of both models on average: the part's while it computes, times the share of time that it does."""
    listening, recognising = mote.profile(wake), mote.profile(words)
    if listening.energy is None:
        return [listening.reason]
    shares = {
        f"the wake word, {1 / period:.1f} times a second": listening.cycles / period,
        f"keywords, {wakes:g} times an hour": recognising.cycles * wakes / 3600,
    }
    each = listening.energy.ua_per_mhz
    told = [f"on {listening.target} at {each:g} µA/MHz:"]
    told += [f"  {name}: {cycles / 1e6:.3f} MHz, {each * cycles / 1e6:.1f} µA" for name, cycles in shares.items()]
    total = each * sum(shares.values()) / 1e6
    days = BATTERY * 1000 / total / 24
    return [*told, f"  together {total:.1f} µA: {days:.0f} days of a CR2032, without the microphone and sleep"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints what was heard and the power budget; 0 only where each wake word was followed by the right word."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("wake", "sound", "words", "clips", "labels"):
        parser.add_argument(f"--{name}", default="", help="as for the examples wake_word and keywords")
    parser.add_argument("--target", "-t", default="cortex-m4")
    parser.add_argument("--part", default="", help="print the power budget on this part, nrf52840 for example")
    parser.add_argument("--wakes", type=float, default=10.0, help="wake words an hour (default: 10)")
    given = parser.parse_args(arguments)
    named = (given.wake, given.sound, given.words, given.clips, given.labels)
    scene = spoken(*named) if all(named) else made_up()
    wake, words = scene.wake.compiled(given.target, shared=True), scene.spotter(given.target)
    beside = {file: text for file, text in words.project.files.items() if file in ("words.c", "words.h")}
    program = Path(__file__).with_name("main.c")
    ran = run_firmware(wake.project, [wake.plan], wake.settings, program, scene.sound, scene.block, beside)
    wakes = [int(line.split()[0]) / RATE for line in ran.lines if line.endswith("wake")]
    answers = [scene.names[int(line.split()[2])] for line in ran.lines if "word" in line]
    for second, answer in zip(wakes, answers, strict=False):
        print(f"woken at {second:.2f} s, then heard: {answer}")
    arenas = [wake.plan.arena, words.plan.arena]
    print(f"one arena of {max(arenas):,} bytes instead of {sum(arenas):,}")
    if given.part:
        parts = scene.wake.compiled(given.part), scene.spotter(given.part)
        print("\n".join(power(*parts, scene.wake.period, given.wakes)))
    return 0 if answers == scene.answers and len(wakes) == len(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
