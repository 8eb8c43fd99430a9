"""float32 weights that float16 represents exactly: stored as two bytes in flash and converted when read."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import Refusal, View
from mote.ir.graph.tensor import Array

WIDER = Refusal("float16 does not represent its weights exactly")


def in_halves(weights: Array) -> NDArray[np.uint16]:
    """Weights as float16 bit patterns."""
    with np.errstate(over="ignore"):
        return weights.astype(np.float16).view(np.uint16)


def are_halves(view: View) -> bool:
    """Whether float16 represents all weights of the layer exactly; all must be finite."""
    return view.once(_are_halves)


def _are_halves(view: View) -> bool:
    weights = view.constant(1)
    if weights.dtype != np.float32 or not np.isfinite(weights).all():
        return False
    return np.array_equal(
        in_halves(weights).view(np.float16).astype(np.float32).view(np.uint32), weights.view(np.uint32)
    )
