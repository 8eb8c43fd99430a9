"""Control flow that is known when the model is compiled becomes a part of the graph around it."""

from __future__ import annotations

import pytest

from mote.bench.evaluation.verify import verify
from mote.compiler.line import compile
from mote.compiler.passes.folding import simplify_control
from mote.frontends import tflite
from mote.ir.ops.control.control_flow import While
from tests.compiler.passes.before_after import becomes, graph
from tests.helpers.flow import BOOL, INT, Flow
from tests.helpers.support import check, check_numpy, needs_litert
from tests.ir.ops.control.flows import counting, less, one_more, over_time, parts, remembering, wider


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


@needs_litert
@pytest.mark.parametrize("turns", [1, 4])
def test_memories_in_control_flow_that_is_known(turns: int) -> None:
    f = Flow(6, "float32")
    x = f.input(1, 4)
    made = [f.like(x)]
    branch = f.constant(True, BOOL)
    f.choose(branch, [x], lambda b, t: [remembering(b, t[0])], lambda b, t: [remembering(b, t[0])], made)
    found = f.repeat([f.constant(0, INT), made[0]], lambda b, t: [less(b, t[0], b.constant(turns, INT))],
                     lambda b, t: [one_more(b, t[0]), remembering(b, t[1])])  # fmt: skip
    compiled = over_time(f.finish(found[1]), 6)
    assert len(compiled.plan.graph.states) == 2
    assert sum(bool(op.bodies) for op in compiled.plan.graph.ops) == (turns > 1)


@needs_litert
def test_loops_that_count() -> None:
    compiled = check(counting(5), 4)
    known, asked = compiled.plan.graph.ops[-2:]
    assert isinstance(known, While) and known.trips == 5 and known.condition is None and len(known.given) == 1
    assert isinstance(asked, While) and asked.trips is None and len(asked.made) == 2
    assert "turn < 5" in compiled.project.files["model.c"]
    assert compiled.unbounded == [asked.name]
    assert compiled.macs == 5 * sum(op.macs(known.body) for op in known.body.ops) > 0


@needs_litert
@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("turns", [0, 1, 2])
def test_short_loops_are_unrolled(turns: int) -> None:
    model = counting(turns)
    check_numpy(tflite.parse(model, "model"), model, 2)
    compiled = compile(model)
    assert verify(compiled, 2).exact
    assert [type(op) for op in compiled.plan.graph.ops].count(While) == 1
    assert sum(op.kind == "DEPTHWISE_CONV_2D" for op in compiled.plan.graph.ops) == turns


@needs_litert
def test_loops_over_constants_are_computed() -> None:
    f = Flow(1, "float32")
    x = f.input(1, 4)
    given = [f.constant(0, INT), f.constant([[1, 2, 3, 4]], "float32")]
    found = f.repeat(given, lambda b, t: [less(b, t[0], b.constant(100, INT))],
                     lambda b, t: [one_more(b, t[0]), b.add(t[1], t[1])])  # fmt: skip
    f.dtypes.pop(found[1])
    compiled = check(f.finish(f.op("MUL", [x, found[1]])))
    assert [op.kind for op in compiled.plan.graph.ops] == ["MUL"]


def known_branch(seed: int, flag: object) -> bytes:
    f = Flow(seed)
    x = f.input(1, 6, 5, 3)
    made = [f.like(x), f.like(x)]
    f.choose(
        f.constant(flag, BOOL), [x], lambda b, t: [parts(b, t[0]), t[0]], lambda b, t: [t[0], wider(b, t[0])], made
    )
    return f.finish(*made)


@needs_litert
@pytest.mark.parametrize("flag", [True, [False]])
def test_constant_conditions_leave_one_branch(flag: object) -> None:
    compiled = check(known_branch(2, flag))
    kinds = [op.kind for op in compiled.plan.graph.ops]
    assert "IF" not in kinds and ("DEPTHWISE_CONV_2D" in kinds) == (flag is True)
    assert any("IF" in saving.detail for saving in compiled.savings)


@needs_litert
def test_a_call_is_put_in_place() -> None:
    """LiteRT knows no CALL: held against a branch that is always taken."""
    results = []
    for kind in ("CALL", "IF"):
        f = Flow(4)
        x = f.input(1, 6, 5, 3)
        y, number = f.like(x), f.body([x], lambda b, t: [parts(b, t[0])])
        if kind == "CALL":
            f.writer.op("CALL", [x], [y], subgraph=number)
        else:
            f.writer.op("IF", [f.constant(True, BOOL), x], [y], then_subgraph_index=number, else_subgraph_index=number)
        results.append(compile(f.finish(y)).project.files["model.c"])
    assert results[0] == results[1] and "mote_depthwise" in results[0]
