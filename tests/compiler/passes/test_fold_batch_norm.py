"""Per-channel arithmetic becomes a part of the float layer before it."""

from __future__ import annotations

import numpy as np
import pytest

from mote.compiler.passes.folding import fold_batch_norm
from tests.compiler.passes.before_after import graph, unchanged
from tests.helpers.network import Net


@pytest.mark.parametrize("kind", ["conv", "depthwise"])
def test_fold_batch_norm(kind: str) -> None:
    net = Net(dtype="float32")
    x = net.input(1, 5, 6, 2)
    if kind == "conv":
        y = net.conv(x, 4)
    else:
        weights, _ = net.constants(x, net.weights(1, 3, 3, 2), axis=3)
        y = net.op("DEPTHWISE_CONV_2D", [x, weights])
    gamma, beta = (
        net.writer.const("normal", net.rng.normal(size=net.shapes[y][3]).astype(np.float32)) for _ in range(2)
    )
    y = net.op("MUL", [y, gamma])
    before = graph(net, net.op("ADD", [beta, y], net.shapes[y], fused_activation_function="RELU6"))
    after = fold_batch_norm.run(before)
    assert len(after.ops) == 1 and after.ops[0].activation == "RELU6"
    unchanged(before, after, exact=False)
