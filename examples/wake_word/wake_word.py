"""Hear a wake word in ten seconds of sound on an emulated Cortex-M4: front end, network and detector are one model.

python examples/wake_word/wake_word.py [--target CORE]
python examples/wake_word/wake_word.py --model str_ww_ref_model.tflite --sound words.wav --events words.json

Without a model and a recording, the bundled model waits for the made-up word "rise". Scores are compared, bit for bit,
with NumPy's features and LiteRT's reference kernels, and events with the times at which the word is said.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[2] / "models"))

from emulated import BANDS, RATE, Sound, reference_stream, run_firmware, tones

import mote
from made_up_words import WORDS
from mote.base.errors import MoteError
from mote.compiler.package.adapters.sources import read_recording

BUNDLED = Path(__file__).parents[2] / "models" / "keywords.tflite"
MLPERF = (
    "audio,pre-emphasis=31/32,log-mel(frame=1024,hop=512,low=0,high=8000,window=hamming),offset=52,scale=1/64,clip(0,1)"
)
"""The front end of MLPerf Tiny's streaming wake word."""
TOLERANCE = 0.5
"""Seconds between a word and the beginning of its event, at most, as MLPerf Tiny counts."""


@dataclass(frozen=True)
class WakeWord:
    """A model that listens: its file, how it is compiled, and the windows of its features."""

    model: str
    preprocess: str
    postprocess: str
    place: int
    """The class of the word."""
    frame: int
    hop: int
    frames: int = 1
    """New frames of each inference."""
    stream: int | None = None
    """The axis of the window that becomes a stream; None: the whole window is computed anew each time."""

    @property
    def period(self) -> float:
        """Seconds from one inference to the next."""
        return self.frames * self.hop / RATE

    def compiled(self, target: str, *, shared: bool = False) -> mote.Compiled:
        """Front end, network and detector; `shared`: in an arena that other models use as well."""
        return mote.compile(
            self.model,
            target=target,
            preprocess=self.preprocess,
            postprocess=self.postprocess,
            stream=self.stream,
            name="wake",
            optimize="speed",
            caller_arena=shared,
            single_file=shared,
        )


def bundled() -> WakeWord:
    """The bundled model, for which "rise" is the wake word: seven times a second it looks at the last second."""
    rise, frames = list(WORDS).index("rise"), 7
    steps = f"{BANDS},slide={frames}"
    return WakeWord(str(BUNDLED), steps, f"detect({rise},0.8,minimum=2,refractory=1s)", rise, 480, 320, frames)


def published(model: str) -> WakeWord:
    """MLPerf Tiny's streaming wake word."""
    return WakeWord(model, MLPERF, "detect(0,0.5,hold=0.5s)", 0, 1024, 512, stream=1)


def ten_seconds() -> tuple[Sound, list[tuple[float, float]]]:
    """Ten made-up words, three of which are the wake word, and the times of these."""
    rng = np.random.default_rng(2)
    said = ["fall", "rise", "silence", "level", "rise", "part", "peak", "silence", "rise", "meet"]
    sound = np.concatenate([tones(WORDS[word], RATE, rng) for word in said])
    return sound, [(second + 0.2, second + 0.8) for second, word in enumerate(said) if word == "rise"]


def first_channel(file: str) -> Sound:
    """The samples of a WAV file."""
    read = read_recording(file)
    if read.rate != RATE:
        raise MoteError(f"{file} has {read.rate} samples a second", remedy=f"the front end is for {RATE}")
    return read.values[:: read.channels]


def times(file: str) -> list[tuple[float, float]]:
    """Begin and end of each word in a JSON file."""
    told = json.loads(Path(file).read_text(encoding="utf-8"))
    told = told[0] if isinstance(told, list) and isinstance(told[0], dict) else told
    windows = told["detection_windows"] if isinstance(told, dict) else told
    return [(float(begin), float(end)) for begin, end in windows]


def matched(begins: Sequence[float], said: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """Words that were heard, and false alarms."""
    hits = [any(start - TOLERANCE <= t <= end + TOLERANCE for t in begins) for start, end in said]
    alarms = [t for t in begins if not any(start - TOLERANCE <= t <= end + TOLERANCE for start, end in said)]
    return sum(hits), len(alarms)


def costs(compiled: mote.Compiled, sound: Sound) -> tuple[int, int]:
    """The most instructions of an inference, and bytes of RAM with the stack."""
    shape = compiled.plan.graph.tensors[compiled.plan.graph.inputs[0]].shape
    new = int(np.prod(shape))
    result = mote.run(compiled, [part.reshape(shape) for part in sound[: len(sound) // new * new].reshape(-1, new)])
    return max(inference.instructions or 0 for inference in result.inferences), result.ram.total


def main(arguments: list[str] | None = None) -> int:
    """Prints events and costs; 0 only where all words and nothing else were heard, with the reference's scores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="", help="MLPerf Tiny's wake word (default: the bundled keyword spotter)")
    parser.add_argument("--sound", default="", help="a WAV file of 16 kHz")
    parser.add_argument("--events", default="", help="a JSON file with the seconds at which the word is said")
    parser.add_argument("--target", "-t", default="cortex-m4")
    parser.add_argument("--costs", action="store_true", help="count instructions of each frame, too")
    given = parser.parse_args(arguments)
    word = published(given.model) if given.model else bundled()
    sound, said = (first_channel(given.sound), times(given.events)) if given.sound else ten_seconds()
    compiled = word.compiled(given.target)
    program = Path(__file__).with_name("main.c")
    ran = run_firmware(compiled.project, [compiled.plan], compiled.settings, program, sound, word.hop)
    printed = np.array([line.split() for line in ran.lines], np.int64)
    heard, events, scores = printed[:, 0], printed[:, 1], printed[:, 2]
    begins = [float(t) for t in heard[events == 1] / RATE]
    for t in begins:
        print(f"heard at {t:.2f} s")
    hits, alarms = matched(begins, said)
    print(f"{hits} of {len(said)} words were heard, {alarms} false alarms in {len(sound) / RATE:g} s")
    expected = reference_stream(word.model, word.preprocess, sound, word.frame, word.hop, heard)
    equal = np.array_equal(scores, expected[:, word.place])
    told = f"All {len(scores)} scores are those of the reference, bit for bit."
    print(told if equal else "Scores differ from the reference.")
    if given.costs:
        instructions, ram = costs(compiled, sound)
        print(f"{instructions:,} instructions a frame at most, {ram:,} bytes of RAM")
    return 0 if equal and hits == len(said) and not alarms else 1


if __name__ == "__main__":
    sys.exit(main())
