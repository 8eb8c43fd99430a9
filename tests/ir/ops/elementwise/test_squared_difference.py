"""SQUARED_DIFFERENCE in the types that TFLite Micro alone has."""

from __future__ import annotations

from tests.helpers.support import micro_agrees
from tests.ir.ops.elementwise.pair_models import Config, exact_in_numpy, model


def test_squares_that_tensorflow_lite_micro_alone_has() -> None:
    """Of int16, and of int8 with an output of a small scale."""
    layers = [
        Config("SQUARED_DIFFERENCE", "int16", ((300,), (300,)), scales=(0.001, 0.0007, 0.03)),
        Config("SQUARED_DIFFERENCE", "int16", ((300,), (1,)), scales=(0.5, 0.5, 0.001)),
        Config("SQUARED_DIFFERENCE", "int8", ((256,), (256,)), scales=(0.5, 0.4, 1e-5), zeros=(3, -7, 11)),
    ]
    for layer in layers:
        micro_agrees(model(layer))
    exact_in_numpy(model(*layers))
