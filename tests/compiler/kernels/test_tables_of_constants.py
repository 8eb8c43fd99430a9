"""An operator with a constant scalar is a function of one int8 value: a table is among its kernels, and is exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.frontends import tflite
from tests.helpers.network import Net
from tests.helpers.offered import offered
from tests.helpers.support import check, exact_on, examples, needs_litert

KINDS = ("ADD", "SUB", "MUL", "SQUARED_DIFFERENCE", "MAXIMUM", "MINIMUM")


def layer(net: Net, kind: str, value: int, first: bool, size: int = 600) -> int:
    """An operator whose first or second operand is a constant scalar."""
    quant = net.quant()
    x = net.input(1, size, quant=quant)
    scale, zero = quant if kind in ("MAXIMUM", "MINIMUM") else (0.013, 7)
    c = net.writer.const("c", np.array([value], np.int8), scale, zero)
    out = quant if kind in ("MAXIMUM", "MINIMUM") else (0.03, -11)
    return net.op(kind, [c, x] if first else [x, c], (1, size), out)


@needs_litert
@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(-128, 127), st.booleans()), min_size=6, max_size=6))
@settings(max_examples=examples(3), deadline=None)
def test_tables_are_exact(layers: list[tuple[str, int, bool]]) -> None:
    net = Net(5)
    model = net.finish(*(layer(net, *each) for each in layers))
    compiled = check(model, kernels=[f"{n}=lut" for n in range(len(layers))])
    assert {step.kernel.name for step in compiled.plan.steps} == {"lut_s8"}


def test_tables_are_exact_on_a_core() -> None:
    net = Net(6)
    exact_on("cortex-m4", net.finish(*(layer(net, kind, 31, first) for kind in KINDS for first in (False, True))))


@pytest.mark.parametrize("constant", [False, True])
def test_other_operands_have_no_table(constant: bool) -> None:
    """Of two computed tensors, and of a constant for each channel."""
    net = Net()
    x = net.input(1, 4, 4)
    y = net.writer.const("y", np.arange(4, dtype=np.int8), 0.1, 0) if constant else net.input(1, 4, 4)
    graph = tflite.parse(net.finish(net.op("MUL", [x, y])), "model")
    assert "lut_s8" not in {k.name for k in offered(graph, graph.ops[0])}
