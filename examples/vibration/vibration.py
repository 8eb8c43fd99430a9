"""Find faults of a machine on an emulated Cortex-M4, from raw samples of its vibration.

python examples/vibration/vibration.py [TARGET]

The autoencoder knows the machine only as it runs well. How far its output may be from its input is learned from other
windows of that machine, and becomes part of the C.
"""

from __future__ import annotations

import sys
from pathlib import Path

import machine
import numpy as np

import mote
from mote.compiler.subject import model_steps

MODEL = Path(__file__).with_name("vibration.tflite")
"""The network, with the steps that make its input of raw samples."""
LEARNED, SHOWN = 200, 4
"""Windows that the threshold is learned from, and windows of each state of the machine that the core is given."""
STATES = ("", *machine.FAULTS)


def main(target: str = "cortex-m4") -> int:
    """Print the core's score of each window; 0 only where faults alone are above the threshold, equal to Python."""
    normal = mote.dataset(machine.windows(LEARNED, seed=2), preprocess=model_steps(MODEL))
    fit = mote.fit_threshold(MODEL, normal, percentile=99.5, margin=10)
    compiled = mote.compile(MODEL, target=target, postprocess=fit.postprocess)
    graph = compiled.plan.graph
    (raw,), (answer,) = graph.inputs, graph.outputs
    windows = np.concatenate([machine.windows(SHOWN, state, seed=3) for state in STATES])
    windows = windows.reshape(len(windows), *graph.tensors[raw].shape)
    result = mote.run(compiled, windows[:, 0])
    (on_core,) = (values.reshape(len(windows), 2) for values in result.values.values())
    in_python = np.concatenate([graph.evaluate({raw: window})[answer] for window in windows])
    print(f"state       anomalies and scores, {target}, {result.emulator}; steps behind the model: {fit.postprocess}")
    for state, answers in zip(STATES, on_core.reshape(len(STATES), SHOWN, 2), strict=True):
        scores = "  ".join(f"{'yes' if anomaly else 'no':<3} {score:>10,}" for anomaly, score in answers)
        print(f"{state or 'runs well':<12}{scores}")
    right = int((on_core[:, 0] == np.repeat([state != "" for state in STATES], SHOWN)).sum())
    equal = np.array_equal(on_core, in_python)
    told = "equal" if equal else "differ from"
    print(f"\n{right} of {len(windows)} windows are right, and the outputs {told} Python's.")
    print(f"{result.instructions:,} instructions for {1000 * machine.WINDOW // machine.RATE} ms of vibration,")
    print(f"{result.ram.total:,} bytes of RAM.")
    return 0 if right == len(windows) and equal else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
