"""The preprocessing step frame-level: mote compile MODEL --plugin examples/custom_step/plugin.py
--preprocess "audio,frame-level(256)"."""

from pathlib import Path

import numpy as np

import mote
from mote.frontends.features.signal import Signal


def reference(use, samples):
    """What the C computes, in NumPy: samples are [1, rows, samples of a row, 1]."""
    x = samples.astype(np.int64)[..., 0]
    level = np.minimum(np.abs(x).sum(-1) >> use.options["shift"], 32767)
    crossings = ((x[..., 1:] < 0) != (x[..., :-1] < 0)).sum(-1)
    return np.stack([level, crossings], -1)[..., None].astype(np.int16)


mote.register(
    "FrameLevel",
    header=Path(__file__).with_name("mote_frame_level.h"),
    shape=lambda use: (1, use.inputs[0].shape[1], 2, 1),
    reference=reference,
    parameters=lambda use: {"samples": use.inputs[0].shape[2], "shift": use.options["shift"]},
    by_rows=True,
)


def frame_level(signal: Signal, frame: int = 256) -> Signal:
    """Mean level and zero crossings of frames that follow one another."""
    samples = signal.integers("frame-level", "samples").mono()
    return samples.custom("FrameLevel", frame=frame, shift=frame.bit_length() - 1)


mote.register_step("frame-level", frame_level)
