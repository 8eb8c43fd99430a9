"""From real numbers to integers: graphs that are quantized, with the data that says how, and what is lost by it.

from mote import quantize

quantize.post_training("model.onnx", "calibration.npz").write("model.tflite")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "Quantized": "mote.api.quantizer",
    "post_training": "mote.api.quantizer",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for, when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mote.quantize' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)
