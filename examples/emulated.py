"""Firmware of the examples that listen: a recording is their microphone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from in_emulator import Ran, run_program
from numpy.typing import NDArray

import mote
from mote.compiler.emit.c.project import Project
from mote.compiler.package.adapters.sources import Recording, recording_files, source_files
from mote.compiler.plan.plan import Plan
from mote.compiler.settings import Settings

RATE = 16000
Sound = NDArray[np.int16]


def run_firmware(
    project: Project,
    plans: Sequence[Plan],
    settings: Settings,
    main: Path,
    sound: Sound,
    block: int,
    beside: Mapping[str, str] | None = None,
) -> Ran:
    """Builds a model, a recording as its microphone, a program and files beside it, and runs the program to its end."""
    recording = recording_files(Recording(sound, block, RATE))
    program = {**source_files(["memory"]), **recording, **(beside or {}), "main.c": main.read_text(encoding="utf-8")}
    return run_program(project, plans, settings, program)


def reference(model: str, steps: str, sounds: Sound) -> NDArray[np.int8]:
    """The scores of clips by NumPy's features and LiteRT's reference kernels."""
    (features,) = mote.dataset(sounds / 2.0**15, preprocess=steps, several=False).inputs.values()
    return _scores(model, features)


def reference_stream(
    model: str, steps: str, sound: Sound, frame: int, hop: int, heard: NDArray[np.int64]
) -> NDArray[np.int8]:
    """The scores of windows of features, of frames of `frame` samples every `hop`, at times counted in samples: each is
    of all whole hops until then. What was before the first sample is silence."""
    given = np.concatenate([np.zeros(frame - hop, np.int16), sound]) / 2.0**15
    (frames,) = mote.dataset(given[None], preprocess=steps, several=False).inputs.values()
    rows = _interpreter(model).get_input_details()[0]["shape"][1]
    return _scores(model, np.stack([frames[0, at - rows : at] for at in heard // hop]))


def _interpreter(model: str) -> Interpreter:
    made = Interpreter(model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    made.allocate_tensors()
    return made


def _scores(model: str, features: NDArray[np.float32]) -> NDArray[np.int8]:
    interpreter = _interpreter(model)
    (given,), (made,) = interpreter.get_input_details(), interpreter.get_output_details()
    scale, zero = given["quantization"]
    codes = np.clip(np.rint(features.astype(np.float64) / scale + zero), -128, 127).astype(np.int8)
    scores = []
    for sample in codes:
        interpreter.set_tensor(given["index"], sample.reshape(given["shape"]))
        interpreter.invoke()
        scores.append(interpreter.get_tensor(made["index"]).reshape(-1))
    return np.stack(scores)


def tones(tracks: Sequence[Sequence[float]], samples: int, rng: np.random.Generator) -> Sound:
    """A made-up word: a tone for each track, which passes the centres of ten mel bands, in noise.

    The bundled model is trained on such words, made of features instead of sound (`models/made_up_words.py`)."""
    mel = np.linspace(*(1127 * np.log1p(f / 700) for f in (20, 4000)), 12)
    time = np.linspace(-1 / 3, 4 / 3, samples)
    inside = np.clip(np.minimum(time, 1 - time) * 8, 0, 1)
    sound = 0.004 * rng.standard_normal(samples)
    for track in tracks:
        band = np.interp(time, np.linspace(0, 1, len(track)), track) + 1
        frequency = 700 * np.expm1(np.interp(band, np.arange(12), mel) / 1127)
        sound += 0.05 * inside * np.sin(2 * np.pi * np.cumsum(frequency) / RATE)
    return np.rint(sound * 2**15).astype(np.int16)


BANDS = "audio,log-mel(filters=10,unit=ln,floor=1e-9),offset=10,scale=0.3"
"""The features of the bundled model, made of sound."""
