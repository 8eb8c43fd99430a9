"""Where a model comes from: the bytes of a file, or what an object was turned into, and how it is to be read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from mote.errors import MoteError
from mote.graph.tensor import Array, Shape
from mote.graph.types import DType

EDGES = ("channels-last", "model")
"""How images lie in the inputs and outputs of the generated code: with their channels last, as kernels take them, or as
the model has them."""

FEATURES = ("float32", "int8", "uint8", "int16", "int32")
"""Types that the features of a forest may have in the generated code."""


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
"""What messages and pages call the formats."""
SUFFIXES = {
    Format.TFLITE: ".tflite",
    Format.ONNX: ".onnx",
    Format.TORCH: ".pt2",
    Format.KERAS: ".keras",
    Format.XGBOOST: ".json",
    Format.LIGHTGBM: ".txt",
}
"""What files of the formats are usually called. There are none of scikit-learn: Mote takes its objects."""


@dataclass(frozen=True)
class FixedInput:
    """The value that an input always has: one number for all of its elements, or as many as it has."""

    name: str
    shape: Shape
    values: tuple[float, ...]

    @classmethod
    def of(cls, name: str, value: Any) -> FixedInput:
        array = np.asarray(value)
        return cls(name, array.shape, tuple(array.reshape(-1).tolist()))

    def array(self, shape: Shape, dtype: DType) -> Array:
        """The value as an input of that shape and type."""
        values = np.array(self.values).reshape(self.shape)
        target = np.dtype(dtype.numpy)
        if values.size != 1 and values.size != np.prod(shape, dtype=np.int64):
            shown = "x".join(map(str, shape)) or "one number"
            raise self._wrong(f"has {values.size} values; the input takes {shown}")
        if target.kind in "iu":
            least, most = dtype.limits
            if not all(float(v).is_integer() and least <= v <= most for v in self.values):
                raise self._wrong(f"holds a value that {dtype} cannot hold")
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
    """The inputs that are constants, by name."""
    return tuple(FixedInput.of(name, value) for name, value in sorted((constants or {}).items()))


@dataclass(frozen=True)
class Source:
    """A model that was not read yet. Two are the same that are called the same and have the same content."""

    where: str
    """How messages call it: the path of the file, or the name of the object."""
    format: Format
    data: bytes = field(repr=False)
    """The file. Of an object that has no file of its own a dump, which nobody loads: it tells models apart."""
    shapes: tuple[tuple[str, Shape], ...] = ()
    """The shapes of inputs, by name, where the model leaves them open or other ones are wanted."""
    edges: str = EDGES[0]
    features: str = FEATURES[0]
    """The type of the features that a forest is given."""
    outputs: tuple[str, ...] = ()
    """The only outputs that are wanted, by name, where not all are."""
    signature: str = ""
    """The signature that is wanted of a file that has several."""
    constants: tuple[FixedInput, ...] = ()
    """The inputs that are constants."""
    folder: Path | None = None
    """Where files are that this one names."""
    beside: tuple[tuple[str, int, int], ...] = ()
    """Those files: their names, how large they are, and when they were written. A model whose weights were written anew
    is another one."""
    origin: object | None = field(default=None, compare=False, repr=False)
    """The object that it was made from, if it was: what `verify` asks."""

    def check_constants(self, inputs: Iterable[str]) -> None:
        """Refuse a constant for what is no input."""
        names = list(inputs)
        if unknown := [fixed.name for fixed in self.constants if fixed.name not in names]:
            raise MoteError(
                f"there is no input '{unknown[0]}'", where="option set", remedy=f"the inputs are {', '.join(names)}"
            )

    @property
    def title(self) -> str:
        """What its format is called."""
        return TITLES[self.format]
