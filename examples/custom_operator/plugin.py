"""The custom operator FrameEnergy: mote compile MODEL --plugin examples/custom_operator/plugin.py"""

from pathlib import Path

import numpy as np

import mote


def reference(use, samples):
    """What the C computes, in NumPy: `mote verify` compares the two, every tensor of the model."""
    x = samples.astype(np.int32) - use.inputs[0].zero_point
    return (x * x >> use.options["shift"]).sum(axis=-1, dtype=np.int32)


def parameters(use):
    """The fields of `mote_frame_energy_t`, from the shapes, quantization and options of one use."""
    *outer, samples = use.inputs[0].shape
    return {
        "frames": int(np.prod(outer)),
        "samples": samples,
        "zero": use.inputs[0].zero_point,
        "shift": use.options["shift"],
    }


mote.register(
    "FrameEnergy",
    header=Path(__file__).with_name("mote_frame_energy.h"),
    shape=lambda use: use.inputs[0].shape[:-1],
    reference=reference,
    parameters=parameters,
    refuses=lambda use: None if use.inputs[0].dtype == "int8" else "FrameEnergy takes int8 samples",
)
