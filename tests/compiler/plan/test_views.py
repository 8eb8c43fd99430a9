"""Plans of graphs with views whose rows are not those of the tensor under them."""

from __future__ import annotations

import numpy as np

from mote.frontends.build import Builder, elementwise, moves, windows
from mote.ir.graph.types import DType
from tests.helpers.built import compile_model


def test_rows_that_are_parts_of_rows_are_not_written_over() -> None:
    """Each line of the convolution's output is two rows of the product's operand, and as large as a row of its
    result: both rows are needed."""
    rng = np.random.default_rng(0)
    b = Builder("views")
    x = b.input("x", (1, 4, 4, 2), DType.FLOAT32, channels_last=True)
    with b.layer(0, "CONV", "conv"):
        y = windows.conv(
            b, x, rng.standard_normal((2, 4, 3, 3)).astype(np.float32), None, windows.window((3, 3), pads=[(1, 1)] * 2)
        )
    with b.layer(1, "MUL", "mul"):
        lines = moves.reshape(b, moves.transpose(b, y, (0, 2, 3, 1)), (8, 1, 2))
        z = elementwise.mul(b, lines, b.constant(rng.standard_normal((1, 2, 1)).astype(np.float32)))
    b.output(z, "y")
    compiled = compile_model(b.finish(), input="rows", step="row")
    assert [op.kind for op in compiled.plan.graph.ops].count("MUL") == 1
