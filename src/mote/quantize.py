"""Quantization of float models: post-training, with calibration data, and quantization-aware training.

from mote import quantize

quantize.post_training("model.onnx", "calibration.npz").write("model.tflite")

prepared = quantize.prepare(module, example_inputs, data=samples)      # with fake quantization
quantize.train(prepared, (samples, labels))
quantize.convert(prepared).write("model.tflite")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mote.base.extras import require

_TRAINED = "mote.optimize.compress.quantize_aware.fine_tuner"
"""What needs PyTorch."""
_HOMES = {
    "Mixed": "mote.optimize.compress.mixed_precision.result",
    "Quantized": "mote.optimize.compress.quantize.post_training",
    "convert": _TRAINED,
    "mix": "mote.optimize.compress.mixed_precision.search",
    "post_training": "mote.optimize.compress.quantize.post_training",
    "prepare": _TRAINED,
    "train": _TRAINED,
}


def __getattr__(name: str) -> Any:
    """Load what is asked for, when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module 'mote.quantize' has no attribute '{name}'")
    if _HOMES[name] == _TRAINED:
        require("torch", extra="torch", what=f"mote.quantize.{name}")
    return getattr(import_module(_HOMES[name]), name)
