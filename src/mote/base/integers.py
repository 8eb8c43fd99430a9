"""Functions of NumPy that take and give integers of the platform's size, for integers of 64 bits on every platform.

Where a pointer has 32 bits (and with NumPy 1 on Windows), NumPy counts in 32: `np.bincount` and `np.repeat` then refuse
counts of 64 bits, and what `np.arange` makes overflows without a word unless a type is named.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Number = TypeVar("Number", bound=np.generic)


def bincount(numbers: ArrayLike, least: int = 0) -> NDArray[np.int64]:
    """How often 0, 1, 2 ... occur: up to the largest number, and up to `least` - 1."""
    return np.bincount(np.asarray(numbers, np.intp), minlength=least).astype(np.int64)


def weighted(numbers: ArrayLike, weights: ArrayLike, least: int = 0) -> NDArray[np.float64]:
    """The sum of the weights of 0, 1, 2 ...: up to the largest number, and up to `least` - 1."""
    return np.bincount(np.asarray(numbers, np.intp), weights, least).astype(np.float64)


def repeat(values: NDArray[Number], counts: ArrayLike) -> NDArray[Number]:
    """Each value as often as its count says, one behind the other."""
    return np.repeat(values, np.asarray(counts, np.intp))
