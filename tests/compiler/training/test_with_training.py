"""The samples that a device's training is measured on and shown."""

from __future__ import annotations

import numpy as np
import pytest

from mote import frontends
from mote.base.errors import MoteError
from mote.compiler.passes.training.spec import parsed
from mote.compiler.training.with_training import samples
from mote.frontends.data.dataset import dataset
from mote.ir.graph import Graph
from tests.helpers.onnx_models import Net

SCALE, ZERO_POINT = 0.5, 5
PICTURES = np.random.default_rng(0).normal(size=(3, 3, 4, 5)).astype(np.float32)
NUMBERS = parsed("last:loss=mean_squared_error")


def images(quantized: bool) -> Graph:
    """A convolution of an ONNX model, whose images are channels-first."""
    net, shape = Net(), (2, 3, 1, 1)
    x = net.input(1, 3, 4, 5)
    if quantized:
        y = net.op("Conv", net.fake(x, 0.1, 0, "int8"), net.weights(shape, 0.01), net.const(np.zeros(2, np.float32)))
        y = net.fake(y, SCALE, ZERO_POINT, "int8")
    else:
        y = net.op("Conv", x, net.const(np.ones(shape, np.float32)))
    net.output(y)
    return frontends.load(net.model())


@pytest.mark.parametrize("quantized", [False, True])
def test_targets_are_as_the_code_has_the_output(quantized: bool) -> None:
    """Channels-last, and codes where the model's output was int8 before it was made floats."""
    right = np.arange(3 * 2 * 4 * 5, dtype=np.float32).reshape(3, 2, 4, 5) / 2
    made = samples(images(quantized), NUMBERS, dataset((PICTURES, right), labelled=True))
    wanted = np.moveaxis(right, 1, -1)[:, None]
    codes = np.clip(wanted / SCALE + ZERO_POINT, -128, 127).astype(np.int8)
    np.testing.assert_array_equal(made.labels, codes if quantized else wanted)


def test_labels_that_are_no_classes() -> None:
    """Also numbers of which 32 bits would be a class."""
    given = dataset((PICTURES, np.array([2**32, 0, 1])), labelled=True)
    with pytest.raises(MoteError) as error:
        samples(images(False), parsed("last:loss=softmax_cross_entropy"), given)
    assert "label 4294967296 is no class" in error.value.reason and error.value.remedy


def test_labels_that_are_no_targets() -> None:
    given = dataset((PICTURES, np.zeros((3, 7), np.float32)), labelled=True)
    with pytest.raises(MoteError) as error:
        samples(images(False), NUMBERS, given)
    assert "7 values" in error.value.reason and "40" in error.value.reason and error.value.remedy
