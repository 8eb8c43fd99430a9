"""Functions that map each byte to itself cost nothing, and what reads them sees their scale."""

from __future__ import annotations

import numpy as np
import pytest

from mote.compiler.passes.folding import keep_bytes, remove_identities
from tests.compiler.passes.before_after import graph, kinds, unchanged
from tests.helpers.network import Net
from tests.helpers.support import check, needs_litert

FACTOR = 0.25


def scaled(net: Net, result: float) -> int:
    """A product with a constant, whose scale is `result` times that of its input, and its softmax."""
    x = net.input(1, 4, 32, quant=(0.1, -9))
    factor = net.writer.const("factor", np.int8(127), FACTOR / 127, 0)
    product = net.op("MUL", [x, factor], (1, 4, 32), (0.1 * result, -9))
    return net.op("SOFTMAX", [product], quant=(1 / 256, -128), beta=1.0)


@pytest.mark.parametrize(("result", "kind"), [(FACTOR, "RESHAPE"), (FACTOR * 1.1, "MUL")])
def test_a_product_by_its_own_scale(result: float, kind: str) -> None:
    net = Net()
    before = graph(net, scaled(net, result))
    after = keep_bytes.run(before)
    assert kinds(after) == [kind, "SOFTMAX"]
    unchanged(before, after)
    assert kinds(remove_identities.run(after)) == kinds(after)


@needs_litert
def test_softmax_of_scaled_scores() -> None:
    net = Net()
    compiled = check(net.finish(scaled(net, FACTOR)))
    (step,) = compiled.plan.steps
    assert step.kernel.family.startswith("softmax")
