"""TFLite Micro is followed where it differs from LiteRT."""

from __future__ import annotations

import numpy as np

from mote.bench.execute.stimuli import stimuli
from mote.compiler.passes.rewriting import tflm_numerics
from tests.compiler.passes.before_after import graph
from tests.helpers.network import Net


def test_tflm_numerics() -> None:
    net = Net()
    before = graph(net, net.fully_connected(net.input(4, 64), 32))
    after = tflm_numerics.run(before)
    differing = 0
    for case in stimuli(before, 20):
        (out,) = before.outputs
        delta = np.abs(before.evaluate(case)[out].astype(int) - after.evaluate(case)[out])
        assert delta.max() <= 1
        differing += int(delta.sum())
    assert differing > 0
