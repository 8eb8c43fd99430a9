"""NumPy functions that count in pointer-sized integers, wrapped to use int64 on every platform.

Where a pointer has 32 bits (and with NumPy 1 on Windows), the default integer of NumPy has 32 bits: `np.bincount` and
`np.repeat` then refuse int64 counts, and `np.arange` without a dtype overflows silently.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Number = TypeVar("Number", bound=np.generic)


def bincount(numbers: ArrayLike, least: int = 0) -> NDArray[np.int64]:
    """Number of occurrences of 0, 1, 2, ... up to the largest number, and at least up to `least` - 1."""
    return np.bincount(np.asarray(numbers, np.intp), minlength=least).astype(np.int64)


def weighted(numbers: ArrayLike, weights: ArrayLike, least: int = 0) -> NDArray[np.float64]:
    """Sum of the weights of 0, 1, 2, ... up to the largest number, and at least up to `least` - 1."""
    return np.bincount(np.asarray(numbers, np.intp), weights, least).astype(np.float64)


def repeat(values: NDArray[Number], counts: ArrayLike) -> NDArray[Number]:
    """Repeats each value as often as its count says, as `np.repeat`."""
    return np.repeat(values, np.asarray(counts, np.intp))
