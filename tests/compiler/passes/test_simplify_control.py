"""Branches that are always taken become a part of the graph around them (loops: tests/ir/ops/control)."""

from __future__ import annotations

from mote.compiler.passes.folding import simplify_control
from tests.compiler.passes.before_after import becomes, graph
from tests.helpers.flow import BOOL, Flow


def test_a_branch_that_is_always_taken() -> None:
    flow = Flow(dtype="float32")
    x = flow.input(1, 4)
    made = [flow.like(x)]
    flow.choose(
        flow.constant(True, BOOL),
        [x],
        lambda body, given: [body.op("TANH", [given[0]])],
        lambda body, given: [body.op("LOGISTIC", [given[0]])],
        made,
    )
    before = graph(flow, *made)
    assert [op.kind for op in before.ops] == ["IF"]
    becomes(before, simplify_control.run(before), "%1: float32[1x4] = TANH(%0)")
