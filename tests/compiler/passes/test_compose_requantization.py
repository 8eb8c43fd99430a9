"""A layer writes what the requantization after it would make of its results."""

from __future__ import annotations

import numpy as np
import pytest

from mote.compiler.passes.folding.compose_requantization import COMPOSED
from mote.compiler.passes.shrinking.report import Removal
from tests.compiler.passes.test_shrink import shrunk
from tests.helpers.network import SCALE, Net


@pytest.mark.parametrize(("scale", "zero", "composed"), [(SCALE, 9, True), (0.043, 9, False)])
def test_requantizations_that_compose(scale: float, zero: int, composed: bool) -> None:
    """Another zero point only moves results that do not saturate; another scale rounds them a second time."""
    net = Net()
    x = net.conv(net.input(1, 3, 3, 2), net.weights(4, 1, 1, 2) // np.int8(16), quant=(SCALE, 0))
    y = net.op("QUANTIZE", [x], quant=(scale, zero))
    _, removals = shrunk(net.finish(net.pool(y, 3)))
    assert removals == ([Removal(1, COMPOSED, 1)] if composed else [])
