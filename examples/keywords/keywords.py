"""Recognise spoken words from raw sound on an emulated Cortex-M4: the front end and the network are one model in C.

python examples/keywords/keywords.py [--target CORE]
python examples/keywords/keywords.py --model kws_ref_model.tflite --clips words.zip --labels NAMES

Without a model and clips, the bundled model hears made-up words. All scores are compared, bit for bit, with NumPy's
features and LiteRT's reference kernels.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[2] / "models"))

from emulated import BANDS, RATE, Sound, reference, run_firmware, tones

import mote
from made_up_words import WORDS

BUNDLED = Path(__file__).parents[2] / "models" / "keywords.tflite"
MFCC = "audio,peak,length=16000,mfcc"
"""The front end of MLPerf Tiny's keyword spotter."""
MOST = 60
"""Clips in one firmware: emulated boards have 2 MB of flash or more."""
BLOCK = RATE // 50


@dataclass(frozen=True)
class Clips:
    """Sounds [clips, samples], the class of each, and the names of the classes."""

    sounds: Sound
    labels: NDArray[np.int64]
    names: tuple[str, ...]


def made_up() -> Clips:
    """Each word of the bundled model once."""
    rng = np.random.default_rng(1)
    sounds = [tones(tracks, 480 + 48 * 320, rng) for tracks in WORDS.values()]
    return Clips(np.stack(sounds), np.arange(len(WORDS)), tuple(WORDS))


def recorded(path: str, labels: str, most: int = 0) -> Clips:
    """Clips of a second in the folders of an archive; with `most`, so many, spread over all of them."""
    data = mote.dataset(path, labels=labels, preprocess=f"length={RATE}", labelled=True)
    assert data.labels is not None
    chosen = np.linspace(0, len(data) - 1, most or len(data)).astype(int)
    (sounds,) = data.inputs.values()
    return Clips(np.rint(sounds[chosen] * 2**15).astype(np.int16), data.labels[chosen], data.classes)


def heard(model: str, steps: str, sounds: Sound, target: str) -> NDArray[np.int8]:
    """The scores that the firmware prints for each clip."""
    compiled = mote.compile(model, target=target, preprocess=steps, name="words")
    lines: list[str] = []
    for at in range(0, len(sounds), MOST):
        given = sounds[at : at + MOST].reshape(-1)
        program = Path(__file__).with_name("main.c")
        lines += run_firmware(compiled.project, [compiled.plan], compiled.settings, program, given, BLOCK).lines
    return np.array([line.split() for line in lines], np.int8)


def main(arguments: list[str] | None = None) -> int:
    """Prints what was heard; 0 only where all scores equal the reference's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default=str(BUNDLED), help="a keyword spotter (default: the bundled one)")
    parser.add_argument("--preprocess", default="", help=f"its front end (default: that of the bundled one, or {MFCC})")
    parser.add_argument("--clips", default="", help="a folder or archive of WAV files, a folder for each word")
    parser.add_argument("--labels", default="", help="the model's classes in order, as for mote evaluate")
    parser.add_argument("--most", type=int, default=0, help="so many of the clips")
    parser.add_argument("--target", "-t", default="cortex-m4")
    given = parser.parse_args(arguments)
    clips = recorded(given.clips, given.labels, given.most) if given.clips else made_up()
    steps = given.preprocess or (MFCC if given.clips else BANDS)
    scores = heard(given.model, steps, clips.sounds, given.target)
    expected = reference(given.model, steps, clips.sounds)
    answers = scores.argmax(axis=1)
    if len(clips.sounds) <= len(WORDS):
        for label, answer, row in zip(clips.labels, answers, scores, strict=True):
            print(f"{clips.names[label]:10} heard as {clips.names[answer]:10} {int(row.max()) + 128} of 255")
    right = int((answers == clips.labels).sum())
    print(f"{right} of {len(answers)} words are right, on {given.target} from raw sound")
    equal = np.array_equal(scores, expected)
    print("All scores are those of the reference, bit for bit." if equal else "Scores differ from the reference.")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
