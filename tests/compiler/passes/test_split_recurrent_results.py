"""The last output of a recurrent layer is taken from the outputs of all steps."""

from __future__ import annotations

import numpy as np
import pytest

from mote.compiler.passes.rewriting import split_recurrent_results
from mote.frontends.build import Builder, recurrent
from mote.ir.graph.types import DType
from mote.ir.ops.recurrent.sequences import RecurrentOutput
from tests.compiler.passes.before_after import unchanged


@pytest.mark.parametrize("backward", [False, True])
def test_outputs_and_the_last_one(backward: bool) -> None:
    rng = np.random.default_rng(0)
    b = Builder("rnn")
    x = b.input("x", (5, 1, 3), DType.FLOAT32)
    weights, states = (rng.uniform(-1, 1, (6, n)).astype(np.float32) for n in (3, 2))
    with b.layer(0, "GRU", "gru"):
        side = recurrent.RecurrentDirection(weights, states, backward=backward)
        made = recurrent.layer(b, "GRU", x, [side], wanted=(RecurrentOutput.SEQUENCE, RecurrentOutput.HIDDEN))
    for name, value in made.items():
        b.output(value, str(name))
    before = b.finish().graph()
    after = split_recurrent_results.run(before)
    assert [op.kind for op in before.ops].count("PART") == 2
    kinds = [op.kind for op in after.ops]
    assert kinds.count("PART") == 0 and kinds.count("GRU_SEQUENCE") == 1 and "SLICE" in kinds
    unchanged(before, after)
