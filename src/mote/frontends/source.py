"""The source of a model: the bytes of a file, or of a converted object, and the options for reading it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType

EDGES = ("channels-last", "model")
"""Layouts of images in the inputs and outputs of the generated code: channels last, as kernels take them, or as in the
model."""

FEATURES = ("float32", "int8", "uint8", "int16", "int32")
"""Feature types of forests in the generated code."""


class Format(StrEnum):
    TFLITE = "tflite"
    ONNX = "onnx"
    TORCH = "torch"
    KERAS = "keras"
    SKLEARN = "sklearn"
    XGBOOST = "xgboost"
    LIGHTGBM = "lightgbm"


TITLES = {
    Format.TFLITE: "TensorFlow Lite",
    Format.ONNX: "ONNX",
    Format.TORCH: "PyTorch",
    Format.KERAS: "Keras",
    Format.SKLEARN: "scikit-learn",
    Format.XGBOOST: "XGBoost",
    Format.LIGHTGBM: "LightGBM",
}
"""Format names in messages and documentation."""
SUFFIXES = {
    Format.TFLITE: ".tflite",
    Format.ONNX: ".onnx",
    Format.TORCH: ".pt2",
    Format.KERAS: ".keras",
    Format.XGBOOST: ".json",
    Format.LIGHTGBM: ".txt",
}
"""Usual file suffixes of the formats. scikit-learn has none: Mote takes its objects."""


@dataclass(frozen=True)
class FixedInput:
    """The constant value of an input: one number for all elements, or one for each."""

    name: str
    shape: Shape
    values: tuple[float, ...]

    @classmethod
    def of(cls, name: str, value: Any) -> FixedInput:
        array = np.asarray(value)
        return cls(name, array.shape, tuple(array.reshape(-1).tolist()))

    def array(self, shape: Shape, dtype: DType) -> Array:
        """The value as an array of that shape and type."""
        values = np.array(self.values).reshape(self.shape)
        target = np.dtype(dtype.numpy)
        if values.size != 1 and values.size != np.prod(shape, dtype=np.int64):
            shown = "x".join(map(str, shape)) or "one number"
            raise self._wrong(f"has {values.size} values; the input takes {shown}")
        if target.kind in "iu":
            least, most = dtype.limits
            if not all(float(v).is_integer() and least <= v <= most for v in self.values):
                raise self._wrong(f"holds a value that is out of range for {dtype}")
        elif target.kind == "b" and not set(self.values) <= {0, 1}:
            raise self._wrong("holds a value that is neither 0 nor 1")
        elif not np.all(np.isfinite(values)):
            raise self._wrong("holds a value that is not finite")
        typed = values.astype(target)
        return np.broadcast_to(typed.reshape(()), shape).copy() if values.size == 1 else typed.reshape(shape)

    def _wrong(self, why: str) -> MoteError:
        return MoteError(
            f"'{self.name}' {why}", where="option set", remedy="write it like sr=16000, h=0,0,0 or h=file.npy"
        )


def fixed_inputs(constants: Any) -> tuple[FixedInput, ...]:
    """The constant inputs, by name."""
    return tuple(FixedInput.of(name, value) for name, value in sorted((constants or {}).items()))


@dataclass(frozen=True)
class Source:
    """A model that was not read yet. Sources are equal where their names and contents are."""

    where: str
    """The model's name in messages: the path of the file, or the name of the object."""
    format: Format
    data: bytes = field(repr=False)
    """The file. For an object without a file format a dump, which is never loaded: it tells models apart."""
    shapes: tuple[tuple[str, Shape], ...] = ()
    """The shapes of inputs, by name, where the model leaves them dynamic or they are overridden."""
    edges: str = EDGES[0]
    features: str = FEATURES[0]
    """The feature type of a forest."""
    outputs: tuple[str, ...] = ()
    """The selected outputs, by name; empty for all."""
    signature: str = ""
    """The selected signature of a file with several."""
    constants: tuple[FixedInput, ...] = ()
    """The constant inputs."""
    folder: Path | None = None
    """The folder of external data files."""
    beside: tuple[tuple[str, str], ...] = ()
    """The external data files: names and digests of what is in them. A model whose weights were rewritten is another
    one."""
    origin: object | None = field(default=None, compare=False, repr=False)
    """The object that it was made from, if any: the reference of `verify`."""

    def check_constants(self, inputs: Iterable[str]) -> None:
        """Refuse constants for names that are not inputs."""
        names = list(inputs)
        if unknown := [fixed.name for fixed in self.constants if fixed.name not in names]:
            raise MoteError(
                f"there is no input '{unknown[0]}'", where="option set", remedy=f"the inputs are {', '.join(names)}"
            )

    @property
    def title(self) -> str:
        """The name of its format."""
        return TITLES[self.format]
