"""A product with one constant matrix becomes a fully connected layer."""

from __future__ import annotations

import numpy as np
import pytest

from mote.compiler.passes.rewriting import products_to_layers
from tests.compiler.passes.before_after import becomes, graph, kinds
from tests.helpers.network import Net


def test_a_constant_matrix_becomes_weights() -> None:
    net = Net(dtype="float32")
    x = net.input(2, 3, 4)
    matrix = net.writer.const("matrix", np.arange(8, dtype=np.float32).reshape(1, 4, 2))
    before = graph(net, net.op("BATCH_MATMUL", [x, matrix], (2, 3, 2)))
    becomes(
        before,
        products_to_layers.run(before),
        "%2: float32[2x3x2] = FULLY_CONNECTED(%0, const float32[2x4])"
        " {activation=NONE, keep_dims=True, rounding=twice, product=False}",
    )


@pytest.mark.parametrize("several", [True, False])
def test_other_products_stay(several: bool) -> None:
    """Of a matrix for each index, and of two computed ones."""
    net = Net(dtype="float32")
    x = net.input(2, 3, 4)
    right = net.writer.const("matrices", np.ones((2, 4, 2), np.float32)) if several else net.input(1, 4, 2)
    before = graph(net, net.op("BATCH_MATMUL", [x, right], (2, 3, 2)))
    assert kinds(products_to_layers.run(before)) == ["BATCH_MATMUL"]
