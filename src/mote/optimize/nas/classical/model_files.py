"""Writes fitted estimators as model files: forests as ONNX, linear models and perceptrons as int8 `.tflite`, others as
float `.tflite`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mote.bench.evaluation.converter import convert
from mote.ir.graph.tensor import Array
from mote.optimize.compress.quantize.post_training import post_training
from mote.optimize.nas.classical.classical_space import FEATURES, KIND
from mote.optimize.nas.classical.estimators import Choice, Estimator
from mote.optimize.nas.classical.forest_file import forest_file
from mote.optimize.nas.family import MODEL

FOREST = "model.onnx"
INTEGER_KINDS = ("linear", "perceptron")
"""Kinds of models that are quantized to int8."""
FARTHEST = 8.0
"""Upper bound of the int8 feature range; larger values (of standardized features) saturate."""
LABEL = "label"


@dataclass(frozen=True)
class ModelFile:
    """A model file and the options to compile it with."""

    name: str
    data: bytes = field(repr=False)
    options: Mapping[str, Any] = field(default_factory=dict)


def feature_scale(choice: Choice, x: Array) -> float | None:
    """Quantization scale of a forest's int8 features; None for float32 features."""
    if choice.get("features") != FEATURES[0]:
        return None
    return float(np.float32(min(float(np.abs(x).max()), FARTHEST) or 1.0) / np.float32(127))


def stored_rows(x: Array, scale: float | None) -> Array:
    """Rows rounded to the int8 grid of `scale`; unchanged without one."""
    if scale is None:
        return x
    return (np.clip(np.round(x / scale), -128, 127) * scale).astype(np.float32)


def model_file(choice: Choice, estimator: Estimator, x: Array, classes: bool) -> ModelFile:
    """Model file of an estimator that was fitted to rows `x`."""
    outputs = {"outputs": LABEL} if classes else {}
    if "features" in choice:
        scale = feature_scale(choice, x)
        data = forest_file(estimator, choice.get("votes", "hard") == "hard", scale)
        return ModelFile(FOREST, data, {} if scale is None else {"io": "int8"})
    if choice[KIND] in INTEGER_KINDS:
        return ModelFile(MODEL, post_training(estimator, x.astype(np.float32)).data, outputs)
    return ModelFile(MODEL, convert(estimator, verify=False).data, outputs)
