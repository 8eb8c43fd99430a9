"""Where a model comes from: the bytes of a file, or what an object was turned into, and how it is to be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from mote.graph.tensor import Shape

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
    folder: Path | None = None
    """Where files are that this one names."""
    beside: tuple[tuple[str, int, int], ...] = ()
    """Those files: their names, how large they are, and when they were written. A model whose weights were written anew
    is another one."""
    origin: object | None = field(default=None, compare=False, repr=False)
    """The object that it was made from, if it was: what `verify` asks."""

    @property
    def title(self) -> str:
        """What its format is called."""
        return TITLES[self.format]
