"""Tell movements of a wrist apart on an emulated Cortex-M4, from raw samples of an accelerometer.

python examples/gestures/gestures.py [TARGET]
"""

from __future__ import annotations

import sys
from pathlib import Path

import movements
import numpy as np

import mote

MODEL = Path(__file__).with_name("gestures.tflite")
"""The network, with the steps that make its input of raw samples."""
SHOWN = 10
UNSEEN = 7
"""The seed of movements that the network was not trained on."""


def main(target: str = "cortex-m4") -> int:
    """Print what the core says of movements that it has not seen; 0 only where all are right, and equal to Python."""
    samples, labels = movements.windows(SHOWN, UNSEEN)
    compiled = mote.compile(MODEL, target=target)
    (raw,) = (compiled.plan.graph.tensors[t] for t in compiled.plan.graph.inputs)
    result = mote.run(compiled, samples.reshape(SHOWN, *raw.shape[1:]))
    (on_core,) = (values.reshape(SHOWN, -1) for values in result.values.values())
    print(f"movement  {target}, {result.emulator}")
    for label, scores in zip(labels, on_core, strict=True):
        print(f"{movements.NAMES[label]:<10}{movements.NAMES[np.argmax(scores)]}")
    right, equal = (
        int((on_core.argmax(1) == labels).sum()),
        np.array_equal(on_core, in_python(samples, compiled.settings.preprocess)),
    )
    print(f"\n{right} of {SHOWN} movements are right, and the outputs {'equal' if equal else 'differ from'} Python's.")
    print(f"{result.instructions:,} instructions for {movements.WINDOW / movements.RATE:g} seconds of movement,")
    print(f"{result.ram.total:,} bytes of RAM.")
    return 0 if right == SHOWN and equal else 1


def in_python(samples: np.ndarray, steps: str) -> np.ndarray:
    """[windows, movements]: outputs of the network for features as `mote evaluate` computes them."""
    network = mote.load(MODEL)
    cases = mote.dataset(samples, preprocess=steps).cases(network)
    return np.concatenate([network.evaluate(case)[network.outputs[0]] for case in cases])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
