"""Training samples of on-device learners: checks of features and labels, and sums rounded as in C."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType

LONGEST = 32768
"""Maximum number of features: squared distances of int8 vectors fit 31 bits."""
NONE = -(1 << 31)
"""The score of a class without samples: less than any other."""

LARGEST = float(1 << 50)
"""Maximum magnitude of a float32 feature that is learned: larger values, infinities and NaN would make a learner
useless."""

Wanted = tuple[int, DType, Shape]
"""Position of an operator's input, and its required type and shape."""


def inputs_problem(g: Graph, op: Op, features: DType, wanted: Sequence[Wanted]) -> str | None:
    """Why an operator's features (input 0) or other inputs do not have the required types and shapes, or None."""
    x = op.input(g)
    if x.dtype != features or not 1 <= x.size <= LONGEST:
        return f"{x.size} {x.dtype} features are not supported (1 to {LONGEST}, {features})"
    for position, dtype, shape in wanted:
        t = op.input(g, position)
        if (t.dtype, t.shape) != (dtype, shape):
            return f"input {position} is {t.dtype} {t.shape}, not {dtype} {shape}"
    return None


def output_problem(g: Graph, op: Op, dtype: DType) -> str | None:
    """Why an operator's output type is not supported, or None."""
    y = op.output(g)
    return None if y.dtype == dtype else f"{y.dtype} results are not supported ({dtype})"


def learnable(features: Array) -> bool:
    """Whether float32 features can be learned: none is NaN or too large."""
    return bool((np.abs(features) <= LARGEST).all())


def added(first: np.float32, terms: Array) -> np.float32:
    """Sequential sum of float32 terms, each partial sum rounded, as in C."""
    return np.float32(np.add.accumulate(np.concatenate([[first], terms]), dtype=np.float32)[-1])
