"""Enumerations: element types, fused activations, rounding modes, roles of states. They print as their names."""

from __future__ import annotations

import math
from enum import StrEnum, auto

import numpy as np


class DType(StrEnum):
    """Element type of a tensor. Mote computes with the first group; constants of some types of the second group are
    converted when a file is read, all others are refused by name."""

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
        """Whether constants of this type are kept in the graph without conversion."""
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
        """Whether elements are float32 or complex64."""
        return self in (DType.FLOAT32, DType.COMPLEX64)

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest value of this integer type."""
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
    """The fused activation of a layer: results are clamped to a range before they are stored."""

    NONE = "NONE"
    RELU = "RELU"
    RELU_N1_TO_1 = "RELU_N1_TO_1"
    RELU6 = "RELU6"
    RELU_0_TO_1 = "RELU_0_TO_1"

    @property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest real value that the activation returns."""
        return _BOUNDS[self]


_BOUNDS = {
    Activation.NONE: (-math.inf, math.inf),
    Activation.RELU: (0.0, math.inf),
    Activation.RELU_N1_TO_1: (-1.0, 1.0),
    Activation.RELU6: (0.0, 6.0),
    Activation.RELU_0_TO_1: (0.0, 1.0),
}


class StateRole(StrEnum):
    """Role of a state in on-device training; NONE for a state that inference itself needs."""

    NONE = ""
    LABEL = auto()
    """Class label of the sample, int32 [1]: -1 if nothing is to be learned."""
    TARGET = auto()
    """Regression targets of the sample."""
    LEARNED = auto()
    """Weights, class means and the like: saved as the learned model."""
    OPTIMIZER = auto()
    """Optimizer moments, accumulated gradients and step counts: reset when a training session begins."""
    LOSS = auto()
    """Loss of the last training step, float32 [1]: reset when a training session begins."""
    RATE = auto()
    """The learning rate, float32 [1]."""
    COUNT = auto()
    """Number of samples that the learner has seen of the last sample's class, including it, int32 [1]; 0 if the last
    step learned nothing."""


class Rounding(StrEnum):
    """Rounding of a requantized accumulator. ONCE: after the shift only; TWICE: also after the multiplication; EVEN: in
    single precision, halves to even, as ONNX Runtime and PyTorch do."""

    ONCE = auto()
    TWICE = auto()
    EVEN = auto()
