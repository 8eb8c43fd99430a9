"""The samples that learners take: a vector of features and a label."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType

LONGEST = 32768
"""The most features of a vector: squared distances of int8 vectors fit 31 bits."""
NONE = -(1 << 31)
"""The score of a class that nothing was learned of: less than any other."""

LARGEST = float(1 << 50)
"""The largest float32 feature that is learned: larger ones, infinite ones and those that are no numbers would leave a
learner of no use."""

Wanted = tuple[int, DType, Shape]
"""The position of an input of an operator, its type and its shape."""


def inputs_problem(g: Graph, op: Op, features: DType, wanted: Sequence[Wanted]) -> str | None:
    """Why an operator cannot take its features (input 0) and what else it reads; or None."""
    x = op.input(g)
    if x.dtype != features or not 1 <= x.size <= LONGEST:
        return f"{x.size} {x.dtype} features are not supported (1 to {LONGEST}, {features})"
    for position, dtype, shape in wanted:
        t = op.input(g, position)
        if (t.dtype, t.shape) != (dtype, shape):
            return f"input {position} is {t.dtype} {t.shape}, not {dtype} {shape}"
    return None


def output_problem(g: Graph, op: Op, dtype: DType) -> str | None:
    """Why an operator cannot give its result in the type that it has; or None."""
    y = op.output(g)
    return None if y.dtype == dtype else f"{y.dtype} results are not supported ({dtype})"


def learnable(features: Array) -> bool:
    """Whether float32 features can be learned: none is too large, or no number."""
    return bool((np.abs(features) <= LARGEST).all())


def added(first: np.float32, terms: Array) -> np.float32:
    """Float32 terms added to a number one after another, each sum rounded: as C adds them up."""
    return np.float32(np.add.accumulate(np.concatenate([[first], terms]), dtype=np.float32)[-1])
