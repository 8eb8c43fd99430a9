"""Recognise handwritten digits on an emulated Cortex-M4, beside LiteRT's reference kernels.

python examples/recognise/recognise.py [TARGET]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

import mote

MODELS = Path(__file__).parents[2] / "models"
MODEL = str(MODELS / "digits.tflite")
SAMPLES = MODELS / "digits_samples.npz"
SHOWN = [0, 6, 8, 14, 15]
"""Which of the 16 samples are shown: a 7, a 2, a 9, a 5 and an 8."""
SHADES = " .:-=+*#%@"


def main(target: str = "cortex-m4") -> int:
    """Print the digits, the class and confidence of each; 0 only where the core's outputs equal the reference's."""
    samples = np.load(SAMPLES)
    images, labels, names = samples["inputs"][SHOWN], samples["labels"][SHOWN], samples["names"]
    result = mote.run(mote.compile(MODEL, target=target), images)
    (on_core,) = result.values.values()
    on_core = on_core.reshape(len(SHOWN), len(names))
    reference = Interpreter(MODEL, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    expected = np.stack([answer(reference, image) for image in images])
    scale, zero_point = reference.get_output_details()[0]["quantization"]

    print("\n".join(map("   ".join, zip(*map(drawn, images), strict=True))))
    print(f"\nwritten   {target}, {result.emulator}   LiteRT reference")
    for label, *outputs in zip(labels, on_core, expected, strict=True):
        told = [f"{names[np.argmax(y)]}, {scale * (int(y.max()) - zero_point):.1%}" for y in outputs]
        print(f"{names[label]:<10}{told[0]:<{len(target) + len(result.emulator) + 5}}{told[1]}")
    equal = np.array_equal(on_core, expected)
    print(f"\n{len(SHOWN)} of {len(SHOWN)} outputs are equal, bit for bit." if equal else "\nThe outputs differ.")
    return 0 if equal else 1


def answer(reference: Interpreter, image: np.ndarray) -> np.ndarray:
    """The output of LiteRT's reference kernels for one image."""
    reference.allocate_tensors()
    reference.set_tensor(reference.get_input_details()[0]["index"], image[None])
    reference.invoke()
    return reference.get_tensor(reference.get_output_details()[0]["index"])[0]


def drawn(image: np.ndarray) -> list[str]:
    """An int8 image as lines of characters, two for each pixel."""
    shades = (image[..., 0].astype(int) + 128) * len(SHADES) // 256
    return ["".join(2 * SHADES[shade] for shade in row) for row in shades]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
