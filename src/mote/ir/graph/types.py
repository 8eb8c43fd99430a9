"""Enumerations of tensors and operators: element types, activations, roundings. They print as their names."""

from __future__ import annotations

import math
from enum import StrEnum, auto

import numpy as np


class DType(StrEnum):
    """The type of a tensor's elements. Mote computes with the first ones; constants of some others become one of these
    while a file is read, and everything else is refused by name."""

    INT8 = auto()
    UINT8 = auto()
    INT16 = auto()
    INT32 = auto()
    INT64 = auto()
    UINT16 = auto()
    UINT32 = auto()
    UINT64 = auto()
    FLOAT32 = auto()
    COMPLEX64 = auto()
    BOOL = auto()

    INT2 = auto()
    INT4 = auto()
    UINT4 = auto()
    FLOAT16 = auto()
    BFLOAT16 = auto()
    FLOAT64 = auto()
    COMPLEX128 = auto()
    STRING = auto()
    RESOURCE = auto()
    VARIANT = auto()
    UNKNOWN = auto()

    @property
    def computable(self) -> bool:
        return self in _COMPUTED

    @property
    def stored(self) -> bool:
        """Whether constants of this type can be held as they are."""
        return self in _NUMPY

    @property
    def numpy(self) -> np.dtype[np.generic]:
        return _NUMPY[self]

    @property
    def itemsize(self) -> int:
        return self.numpy.itemsize

    @property
    def integer(self) -> bool:
        return np.issubdtype(self.numpy, np.integer)

    @property
    def real(self) -> bool:
        """Whether elements are float or complex."""
        return self in (DType.FLOAT32, DType.COMPLEX64)

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the largest value of an integer type."""
        info = np.iinfo(self.value)
        return int(info.min), int(info.max)


_COMPUTED = frozenset(
    {
        DType.INT8,
        DType.UINT8,
        DType.INT16,
        DType.INT32,
        DType.UINT16,
        DType.UINT32,
        DType.INT64,
        DType.UINT64,
        DType.FLOAT32,
        DType.COMPLEX64,
        DType.BOOL,
    },
)
_NUMPY: dict[DType, np.dtype[np.generic]] = {t: np.dtype(t.value) for t in (*_COMPUTED, DType.FLOAT16)}


class Activation(StrEnum):
    """The fused activation of a layer: its results are clamped to a range before they are stored."""

    NONE = "NONE"
    RELU = "RELU"
    RELU_N1_TO_1 = "RELU_N1_TO_1"
    RELU6 = "RELU6"
    RELU_0_TO_1 = "RELU_0_TO_1"

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest real result."""
        return _BOUNDS[self]


_BOUNDS = {
    Activation.NONE: (-math.inf, math.inf),
    Activation.RELU: (0.0, math.inf),
    Activation.RELU_N1_TO_1: (-1.0, 1.0),
    Activation.RELU6: (0.0, 6.0),
    Activation.RELU_0_TO_1: (0.0, 1.0),
}


class StateRole(StrEnum):
    """The part of a state in training on the device; NONE for a state that an inference needs for itself."""

    NONE = ""
    LABEL = auto()
    """The class of the sample, int32 [1]: -1 where nothing is to be learned."""
    TARGET = auto()
    """The values that a regression should give for the sample."""
    LEARNED = auto()
    """Weights, class means and the like: saved as what the device has learned."""
    OPTIMIZER = auto()
    """Moments, accumulated gradients and counts of steps: begun anew with each session of training."""
    LOSS = auto()
    """The loss of the last step, float32 [1]: begun anew as well."""
    RATE = auto()
    """The learning rate, float32 [1]."""
    COUNT = auto()
    """How many samples of its class a learner has, with that of the last step, int32 [1]: 0 where that step learned
    nothing."""


class Rounding(StrEnum):
    """How a rescaled sum is rounded: after the shift alone, after the multiplication as well, or as ONNX Runtime and
    PyTorch do, in single precision and halves to even."""

    ONCE = auto()
    TWICE = auto()
    EVEN = auto()
