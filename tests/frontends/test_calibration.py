"""Degenerate scales: what is wrong is said by name, and that the network has to be calibrated."""

from __future__ import annotations

import numpy as np
import pytest

from mote import compile
from mote.base.errors import MoteError, UnsupportedError
from mote.frontends import tflite
from tests.helpers.network import Net, Quant
from tests.helpers.support import check, needs_litert

USUAL: Quant = (0.05, 3)
PAIRS = {"ADD", "MUL", "SUB"}


def model(kind: str, given: Quant, found: Quant) -> bytes:
    net = Net()
    x = net.input(1, 4, 4, 8, quant=given)
    if kind != "CONV_2D":
        return net.finish(net.op(kind, [x, x] if kind in PAIRS else [x], quant=found))
    weights = [net.writer.const("w", net.weights(8, 1, 1, 8), np.full(8, 0.01), axis=0)]
    window = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1, "padding": "SAME"}
    return net.finish(net.op(kind, [x, *weights], (1, 4, 4, 8), found, **window))


@pytest.mark.parametrize("scale", [0.0, 1e-42, 1e-30, 1e30, float("inf"), float("nan"), -1.0])
@pytest.mark.parametrize("kind", ["CONV_2D", "ADD", "MUL", "RELU", "LOGISTIC", "HARD_SWISH"])
def test_a_scale_that_means_nothing(kind: str, scale: float) -> None:
    """The tensor and its scale are named; nobody is told to remove the layer, or that the file is damaged."""
    for given, found, name in (((scale, 3), USUAL, "t0"), (USUAL, (scale, 3), "t1")):
        with pytest.raises(MoteError) as error:
            tflite.parse(model(kind, given, found), "model.tflite")
        said = str(error.value)
        assert f"'{name}'" in said and f"{np.float32(scale):.6g}" in said.replace("tensor 3", "")
        assert "representative dataset" in said and "remove" not in said and "damaged" not in said


@pytest.mark.parametrize("kind", ["ADD", "MUL", "HARD_SWISH"])
def test_scales_that_are_far_apart(kind: str) -> None:
    with pytest.raises(UnsupportedError, match=r"'t1' \(1e-09\) and 't0' \(1000\) are far apart(.|\n)*representative"):
        tflite.parse(model(kind, (1000.0, 3), (1e-9, 3)), "model.tflite")


def test_other_layers_keep_their_remedy() -> None:
    net = Net()
    x = net.op("ABS", [net.input(1, 4)], quant=(0.0, 0))
    with pytest.raises(UnsupportedError) as error:
        compile(net.finish(net.op("CUSTOM", [net.op("RELU", [x])], custom_code="MyOp")))
    assert "layer 2: define these operators" in error.value.remedy
    assert "layer 0, 1: quantize the trained network again" in error.value.remedy


@needs_litert
def test_odd_scales_that_can_be_computed_are() -> None:
    """A layer is not refused for scales that are far apart alone."""
    check(model("RELU", (1e-6, 3), (1.0, 3)))
