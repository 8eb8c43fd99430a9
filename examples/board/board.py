"""A model on a board: outputs, every tensor and the cycles of each layer come from the device.

python examples/board/board.py [BOARD] [--model FILE]

BOARD is an address (serial:/dev/ttyACM0, tcp:HOST:PORT, qemu:TARGET) or a name of boards.toml, such as the one beside
this file (MOTE_BOARDS names it). Without one it is a Cortex-M4 that QEMU emulates: the agent's firmware is built with
the model in it and started behind a pseudo-terminal. For a board on your desk, `mote agent` writes the firmware.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import mote

EMULATED = "qemu:cortex-m4"
MODELLED = ("cycles", "instructions")
"""Counts that Mote has a model of; a timer that states no clock counts ticks."""
DIGITS = Path(__file__).parents[2] / "models" / "digits.tflite"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("board", nargs="?", default=EMULATED)
    parser.add_argument("--model", default=str(DIGITS))
    arguments = parser.parse_args()
    model, board = arguments.model, arguments.board

    ran = mote.run(model, board=board)
    print(f"{model} on {ran.board}")
    for name, value in ran.values.items():
        print(f"output {name}: {' '.join(map(str, value.flat))}")
    errors = modelled(model, board) if ran.unit in MODELLED else [""] * len(ran.layers)
    print(f"{'layer':24} {ran.unit or '':>14} {'error of the model':>20}")
    for layer, error in zip(ran.layers, errors, strict=True):
        print(f"{layer.name:24} {layer.instructions or 0:14,} {error:>20}")

    verified = mote.verify(model, inputs=2, board=board)
    print(f"every tensor {'equals' if verified.exact else 'differs from'} the reference's.")
    return 0 if verified.exact else 1


def modelled(model: str, board: str) -> list[str]:
    """How far Mote's own count of each layer is from the board's."""
    layers = mote.profile(model, board=board).layers
    return ["" if layer.error is None else f"{100 * layer.error:+.1f}%" for layer in layers]


if __name__ == "__main__":
    sys.exit(main())
