"""Passes that look at parts of a graph behind one tensor leave layers with absent inputs alone."""

from __future__ import annotations

import numpy as np
import pytest

from mote.frontends.tflite.writer import NO_TENSOR
from tests.helpers.network import FLOAT, Net
from tests.helpers.support import check, needs_litert

FUNCTIONS = {
    "float32": {**dict.fromkeys(("TANH", "ABS", "EXP", "LOGISTIC", "HARD_SWISH", "NEG", "SQUARE", "RELU"), FLOAT)},
    "int8": {"TANH": (1 / 128, 0), "LOGISTIC": (1 / 256, -128), "ABS": None, "HARD_SWISH": None, "RELU": None},
}
"""Element-wise functions of each type, and the quantization that LiteRT wants of their results."""


@needs_litert
@pytest.mark.parametrize("dtype", FUNCTIONS)
@pytest.mark.parametrize("length", [15, 16])
def test_functions_before_layers_without_a_bias(dtype: str, length: int) -> None:
    """Shorter lines than 16 values are not looked at for normalizations."""
    net = Net(dtype=dtype)
    made = []
    for kind, quant in FUNCTIONS[dtype].items():
        x = net.input(2, length)
        y = net.op(kind, [net.add(x, x)], quant=quant) if quant else net.moved(kind, [net.add(x, x)])
        weights = net.constants(y, net.weights(3, length), np.zeros(3, np.int64), None)[0]
        made.append(net.op("FULLY_CONNECTED", [y, weights, NO_TENSOR], (2, 3)))
    check(net.finish(*made))
