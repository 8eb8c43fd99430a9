"""IF and WHILE: the reference, and the C between bodies and the graph around them, against LiteRT."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.bench.evaluation.verify import verify
from mote.bench.execute import reference
from mote.bench.execute.stimuli import stimuli
from mote.bench.measure.run import with_longest_step
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from mote.compiler.plan.check import PlanError
from mote.compiler.plan.check import check as check_plan
from mote.compiler.plan.plan import ControlFlowKernel, Plan
from mote.frontends import tflite
from mote.frontends.tflite.writer import NO_TENSOR
from mote.ir.graph.tolerance import compare
from mote.ir.ops.control.control_flow import While, unbounded
from tests.helpers.flow import BOOL, INT, Body, Flow
from tests.helpers.streams import handle
from tests.helpers.support import check, check_numpy, exact_on, examples, needs_litert

pytestmark = needs_litert


def parts(flow: Flow, x: int) -> int:
    """Some layers with weights, from an image back to one like it."""
    channels = flow.shapes[x][3]
    y = flow.depthwise(flow.conv(x, 2 * channels, fused_activation_function="RELU6"))
    constants = flow.constants(y, flow.weights(channels, 1, 1, 2 * channels))
    return flow.op("CONV_2D", [y, *constants], flow.shapes[x], flow.quants[x], padding="SAME")


def total(flow: Flow, given: Sequence[int]) -> int:
    """A sum that is like its first term."""
    return flow.add(*given, quant=flow.quants[given[0]])


def wider(flow: Flow, x: int) -> int:
    return flow.moved("MAX_POOL_2D", [x], filter_width=3, filter_height=1, padding="SAME")


def keep(flow: Flow, given: Sequence[int]) -> Sequence[int]:
    return given


def twice_flat(flow: Flow, x: int) -> Sequence[int]:
    return [flow.flat(x), flow.flat(x)]


def branches(dtype: str, seed: int = 0) -> bytes:
    """Layers in one branch, others in the other, one inside of another; what is passed on, exchanged and constant."""
    f = Flow(seed, dtype)
    x, y = f.input(1, 6, 5, 3), f.input(1, 6, 5, 3, quant=f.quants[0])
    flags = [f.flag(), f.flag(1), f.flag()]
    one, two = f.like(x), [f.like(x), f.like(x), f.plain(BOOL, 2)]
    f.choose(flags[0], [x, y], lambda b, t: [parts(b, t[0])], lambda b, t: [total(b, t)], [one])

    def nested(b: Flow, t: Sequence[int]) -> Sequence[int]:
        inner = [b.like(t[1]), b.like(t[2])]
        b.choose(t[0], t[1:], lambda c, u: [parts(c, u[1]), u[0]], keep, inner)
        return [inner[1], inner[0], b.constant([True, False], BOOL)]

    f.choose(flags[1], [flags[2], one, x], nested, lambda b, t: [*t[1:], b.constant([False, True], BOOL)], two)
    flat = [f.result((1, 90), f.quants[x]), f.result((1, 90), f.quants[x])]
    f.choose(flags[2], [two[0]], lambda b, t: twice_flat(b, t[0]), lambda b, t: twice_flat(b, wider(b, t[0])), flat)
    return f.finish(one, *two[1:], *flat)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_branches(dtype: str) -> None:
    compiled = check(branches(dtype), 8)
    assert [op.kind for op, _ in compiled.plan.works] == ["IF"] * 3
    assert Plan.from_json(compiled.plan.to_json()) == compiled.plan


def first(flow: Flow, given: Sequence[int]) -> Sequence[int]:
    return given[:1]


def shifted(turns: int) -> Callable[[Flow, Sequence[int]], list[int]]:
    """The first inputs are flags, each of which says whether there is one more turn: they move up."""
    return lambda flow, given: [*given[1:turns], flow.constant(False, BOOL)]


def loops(dtype: str, seed: int = 0) -> bytes:
    """Layers in loops, loops in branches and in loops; what changes, stays, is exchanged, and counts."""
    f = Flow(seed, dtype)
    x, y = f.input(1, 6, 5, 3), f.input(1, 6, 5, 3, quant=f.quants[0])
    flags = [f.flag() for _ in range(4)]
    count, inner = shifted(4), shifted(2)
    a = f.repeat([*flags, x, y], first, lambda b, t: [*count(b, t), parts(b, t[4]), t[5]])
    swapped = f.repeat([*flags, a[4], y], first, lambda b, t: [*count(b, t), t[5], total(b, t[4:])])

    def again(b: Flow, t: Sequence[int]) -> Sequence[int]:
        found = b.repeat([*t[:2], t[4], t[5]], first, lambda c, u: [*inner(c, u), wider(c, u[2]), u[3]])
        return [*count(b, t), total(b, [found[2], t[5]]), t[5]]

    nested = f.repeat([*flags, swapped[4], swapped[5]], first, again)
    last = f.like(x)

    def looping(b: Flow, t: Sequence[int]) -> Sequence[int]:
        return [b.repeat(t, first, lambda c, u: [*inner(c, u), parts(c, u[2])])[2]]

    f.choose(flags[3], [flags[0], flags[1], nested[4]], looping, lambda b, t: [t[2]], [last])
    return f.finish(last, nested[1], swapped[4], a[4])


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_loops(dtype: str) -> None:
    compiled = check(loops(dtype), 8)
    assert [op.kind for op, _ in compiled.plan.works] == ["WHILE", "WHILE", "WHILE", "IF"]
    assert len(unbounded(compiled.plan.graph)) == 5
    assert Plan.from_json(compiled.plan.to_json()) == compiled.plan


def over_time(model: bytes, runs: int = 12, **options: object) -> Compiled:
    """NumPy and the C against LiteRT, one inference after another."""
    graph = tflite.parse(model, "model")
    oracle, mine, sizes = reference.litert(model), reference.numpy(graph), reference.magnitudes(graph)
    for case in stimuli(graph, runs, 1):
        want, got, size = oracle(case), mine(case), sizes(case)
        assert want is not None and got is not None
        for t in graph.outputs:
            diff, bad = compare(got[t], want[t].reshape(got[t].shape), size.get(t, 0.0))
            assert not bad, f"NumPy differs from LiteRT by {diff}"
    compiled = compile(model, **options)
    result = verify(compiled, runs, sanitize=True)
    assert result.passed, result.mismatches
    return compiled


def remembering(b: Flow, x: int) -> int:
    """A layer with a memory of its own, from a vector to one like it."""
    n = b.shapes[x][1]
    kernel = b.writer.const("k", (b.weights(n, n) / 300).astype(np.float32))
    time = b.writer.const("t", (b.weights(n, 3) / 200).astype(np.float32))
    state = b.writer.variable("s", (1, 3 * n), "float32")
    return b.op("SVDF", [x, kernel, time, NO_TENSOR, state], rank=1)


def memories() -> bytes:
    """Layers with memories in a branch, in both, in a loop, and in a branch inside of a loop."""
    f = Flow(3, "float32")
    x = f.input(1, 4)
    flags = [f.flag() for _ in range(3)]
    one, two = f.like(x), f.like(x)
    f.choose(flags[0], [x], lambda b, t: [remembering(b, t[0])], keep, [one])
    f.choose(flags[1], [one], lambda b, t: [remembering(b, t[0])], lambda b, t: [remembering(b, t[0])], [two])
    count = shifted(3)

    def turn(b: Flow, t: Sequence[int]) -> Sequence[int]:
        inner = b.like(t[3])
        b.choose(t[2], [t[3]], lambda c, u: [remembering(c, u[0])], keep, [inner])
        return [*count(b, t), remembering(b, inner)]

    found = f.repeat([*flags, two], first, turn)
    return f.finish(found[3], two, one)


def test_layers_with_memories_inside_of_control_flow() -> None:
    compiled = over_time(memories())
    assert len(compiled.plan.graph.states) == 5


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


def variable(flow: Flow, name: str = "v") -> int:
    return handle(flow.writer, name)


def counters() -> bytes:
    """A variable that a branch assigns, one that a loop adds to, one that is only read; handles are made inside, or are
    given to bodies."""
    f = Flow(5, "float32")
    x = f.input(1, 4)
    flags = [f.flag() for _ in range(2)]
    once = f.writer.subgraph("init")
    for name in ("v", "w", "only"):
        value = once.const("value", np.float32([[1, 2, 3, 4]]))
        once.op("ASSIGN_VARIABLE", [handle(once, name), value], [])
    f.writer.op("CALL_ONCE", [], [], init_subgraph_index=1)
    made = f.like(x)

    def assigning(b: Flow, t: Sequence[int]) -> Sequence[int]:
        v = variable(b)
        y = b.op("ADD", [b.op("READ_VARIABLE", [v], (1, 4)), t[0]])
        b.writer.op("ASSIGN_VARIABLE", [v, y], [])
        return [b.op("ADD", [b.op("READ_VARIABLE", [v], (1, 4)), t[0]])]

    f.choose(flags[0], [x], assigning, lambda b, t: [b.op("READ_VARIABLE", [variable(b, "only")], (1, 4))], [made])
    w = variable(f, "w")
    f.shapes[w], f.dtypes[w] = (), "resource"
    count = shifted(2)

    def adding(b: Flow, t: Sequence[int]) -> Sequence[int]:
        y = b.op("ADD", [b.op("READ_VARIABLE", [t[3]], (1, 4)), t[2]])
        b.writer.op("ASSIGN_VARIABLE", [t[3], y], [])
        return [*count(b, t), b.op("MUL", [t[2], b.op("READ_VARIABLE", [variable(b, "only")], (1, 4))]), t[3]]

    found = f.repeat([*flags, made, w], first, adding)
    last = f.op("ADD", [f.op("READ_VARIABLE", [found[3]], (1, 4)), f.op("READ_VARIABLE", [variable(f)], (1, 4))])
    return f.finish(f.op("ADD", [last, found[2]]))


def test_variables_inside_of_control_flow() -> None:
    compiled = over_time(counters())
    assert len(compiled.plan.graph.states) == 2


def less(flow: Flow, a: int, b: int) -> int:
    y = flow.plain(BOOL, *flow.shapes[a])
    flow.writer.op("LESS", [a, b], [y])
    return y


def one_more(flow: Flow, i: int) -> int:
    y = flow.like(i)
    flow.writer.op("ADD", [i, flow.constant(np.ones(flow.shapes[i]), INT)], [y])
    return y


def counting(turns: int, dtype: str = "int8") -> bytes:
    """A loop that counts to a constant, and one that counts to what an input says."""
    f = Flow(7, dtype)
    x, n = f.input(1, 6, 5, 3), f.writer.input("n", (), "int8", 1.0, 0)
    asked = f.plain(INT)
    f.writer.op("CAST", [n], [asked], in_data_type="int8", out_data_type="int32")
    begin, end = f.constant(0, INT), f.constant(turns, INT)
    y = f.repeat([begin, end, x], lambda b, t: [less(b, t[0], t[1])],
                 lambda b, t: [one_more(b, t[0]), t[1], parts(b, t[2])])[2]  # fmt: skip
    z = f.repeat([y, begin, asked], lambda b, t: [less(b, t[1], t[2])],
                 lambda b, t: [wider(b, total(b, [t[0], t[0]])), one_more(b, t[1]), t[2]])  # fmt: skip
    return f.finish(z[0], z[1])


def test_loops_that_count() -> None:
    compiled = check(counting(5), 4)
    known, asked = compiled.plan.graph.ops[-2:]
    assert isinstance(known, While) and known.trips == 5 and known.condition is None and len(known.given) == 1
    assert isinstance(asked, While) and asked.trips is None and len(asked.made) == 2
    assert "turn < 5" in compiled.project.files["model.c"]
    assert compiled.unbounded == [asked.name]
    assert compiled.macs == 5 * sum(op.macs(known.body) for op in known.body.ops) > 0


def test_inputs_are_such_that_loops_end() -> None:
    """A loop with as many turns as an input of 32 bits says: most inputs would keep LiteRT busy for hours."""
    f = Flow(7, "float32")
    x, n = f.input(1, 4), f.plain(INT, given=True)
    found = f.repeat([f.constant(0, INT), n, x], lambda b, t: [less(b, t[0], t[1])],
                     lambda b, t: [one_more(b, t[0]), t[1], b.op("TANH", [t[2]])])  # fmt: skip
    model = f.finish(found[2])
    cases = stimuli(tflite.parse(model, "model"), 2)
    assert len(cases) == 2 and all(-128 <= case[n] <= 127 or case[n] < 0 for case in cases)
    result = verify(compile(model), 2)
    assert result.passed and result.inputs == 2


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("turns", [0, 1, 2])
def test_short_loops_are_unrolled(turns: int) -> None:
    model = counting(turns)
    check_numpy(tflite.parse(model, "model"), model, 2)
    compiled = compile(model)
    assert verify(compiled, 2).exact
    assert [type(op) for op in compiled.plan.graph.ops].count(While) == 1
    assert sum(op.kind == "DEPTHWISE_CONV_2D" for op in compiled.plan.graph.ops) == turns


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


@pytest.mark.parametrize("flag", [True, [False]])
def test_constant_conditions_leave_one_branch(flag: object) -> None:
    compiled = check(known_branch(2, flag))
    kinds = [op.kind for op in compiled.plan.graph.ops]
    assert "IF" not in kinds and ("DEPTHWISE_CONV_2D" in kinds) == (flag is True)
    assert any("IF" in saving.detail for saving in compiled.savings)


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


@settings(max_examples=examples(4), deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(["int8", "float32"]))
def test_random_control_flow(seed: int, dtype: str) -> None:
    model = tangled(seed, dtype)
    graph = tflite.parse(model, "model")
    if not any(op.misjudged(graph) for op in graph.ops):
        check_numpy(graph, model, 8)
    result = verify(compile(model), 8, sanitize=True)
    assert result.passed, (result.mismatches, graph.text())


def tangled(seed: int, dtype: str) -> bytes:
    """Control flow of any kind inside of any other, between tensors of one type that change places."""
    f = Flow(seed, dtype)
    x = f.input(1, 4, 3, 2)
    given = [x, f.input(1, 4, 3, 2, quant=f.quants[x])]
    flags = [f.flag() for _ in range(3)]
    found = list(given)
    for _ in range(int(f.rng.integers(1, 4))):
        found = list(_tangle(f, flags, found, 0))
    outputs = [t for t in dict.fromkeys(found) if t not in given] or [total(f, found)]
    return f.finish(*outputs)


def _tangle(f: Flow, flags: Sequence[int], given: Sequence[int], depth: int) -> Sequence[int]:
    kind = f.rng.integers(0, 6 if depth < 3 else 4)
    if kind == 0:
        return [given[1], given[0]]
    if kind == 1:
        return [wider(f, given[0]), given[1]]
    if kind == 2:
        return [parts(f, given[1]), total(f, given)]
    if kind == 3:
        return [total(f, given), given[0]]

    def body(b: Flow, t: Sequence[int]) -> Sequence[int]:
        found: Sequence[int] = t[3:]
        for _ in range(int(b.rng.integers(0, 3))):
            found = _tangle(b, t[:3], found, depth + 1)
        return found

    order = [flags[i] for i in f.rng.permutation(3)]
    if kind == 4:
        made = [f.like(given[0]), f.like(given[0])]
        return f.choose(order[0], [*order, *given], _distinct(body), _distinct(body), made)
    count = shifted(3)
    return f.repeat([*order, *given], first, lambda b, t: [*count(b, t), *_distinct(body)(b, t)])[3:]


def _distinct(body: Callable[[Flow, Sequence[int]], Sequence[int]]) -> Callable[[Flow, Sequence[int]], Sequence[int]]:
    """Where a body gives a tensor twice, LiteRT gives it once: it is made anew."""

    def build(b: Flow, t: Sequence[int]) -> Sequence[int]:
        a, c = body(b, t)
        return [a, c if c != a else total(b, [a, a])]

    return build


def fibonacci(flip: bool) -> bytes:
    """Two numbers that change places while they are added up."""
    f = Flow(1, "float32")
    flags = [f.flag() for _ in range(4)]
    count = shifted(4)

    def turn(b: Flow, t: Sequence[int]) -> Sequence[int]:
        both = b.add(t[4], t[5])
        return [*count(b, t), *([both, t[4]] if flip else [t[5], both])]

    found = f.repeat([*flags, f.input(1, 2), f.input(1, 2)], first, turn)
    return f.finish(found[4], found[5])


def test_what_litert_copies_over_is_kept() -> None:
    """LiteRT loses an input that is given back in a later place; TFLite Micro does not."""
    for flip in (False, True):
        model = fibonacci(flip)
        graph = tflite.parse(model, "model")
        assert any(op.misjudged(graph) for op in graph.ops) == flip
        result = verify(compile(model), 8, sanitize=True)
        assert result.passed and ("LiteRT overwrites" in result.reference) == flip
        case = dict(
            zip(
                graph.inputs,
                [*map(np.array, (True, True, True, False)), *np.float32([[[1, 2]], [[2, 3]]])],
                strict=True,
            )
        )
        got = [graph.evaluate(case)[t].tolist() for t in graph.outputs]
        assert got == ([[[7.0, 12.0]], [[4.0, 7.0]]] if flip else [[[5.0, 8.0]], [[8.0, 13.0]]])


def looped(condition: Body, body: Body, *given: Callable[[Flow], int]) -> bytes:
    """One loop over an image and what else is given."""
    f = Flow(0)
    found = f.repeat([f.input(1, 6, 5, 3), *(make(f) for make in given)], condition, body)
    return f.finish(found[0])


def flag(flow: Flow) -> int:
    return flow.flag()


def second(flow: Flow, t: Sequence[int]) -> Sequence[int]:
    return t[1:2]


def assigning(flow: Flow, t: Sequence[int]) -> Sequence[int]:
    flow.writer.op("ASSIGN_VARIABLE", [variable(flow), t[0]], [])
    return t[1:2]


def itself(flow: Flow, t: Sequence[int]) -> Sequence[int]:
    made = [flow.like(i) for i in t]
    flow.writer.op("WHILE", t, made, cond_subgraph_index=1, body_subgraph_index=2)
    return made


def unknown(flow: Flow, t: Sequence[int]) -> Sequence[int]:
    return [flow.op("CUSTOM", t[:1], custom_code="Mystery"), t[1]]


def pooled(flow: Flow, t: Sequence[int]) -> Sequence[int]:
    return [flow.pool(t[0]), t[1]]


def listing(flow: Flow) -> int:
    return flow.plain("variant", given=True)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (looped(second, pooled, flag), "shapes that change while the model runs are not supported"),
        (looped(second, lambda b, t: t[:1], flag), "subgraph 'body' has 1 outputs, the operator 2"),
        (looped(lambda b, t: t[:1], keep), "the condition is int8 of 90 elements, not one bool"),
        (looped(keep, keep, flag), "its condition has 2 outputs"),
        (looped(lambda b, t: [b.constant([True, True], BOOL)], keep), "the condition is bool of 2 elements"),
        (looped(assigning, keep, flag), "its condition, assigns a variable"),
        (looped(second, itself, flag), "subgraph 2 calls itself: recursion needs unbounded memory"),
        (looped(second, unknown, flag), "subgraph 2: layer 0 CUSTOM(Mystery)"),
        (looped(second, keep, flag, listing), "is a list of tensors, which grows while the model runs"),
        (looped(lambda b, t: [b.constant(True, BOOL)], keep), "is still running after 4,096 iterations"),
    ],
)  # fmt: skip
def test_what_is_refused(model: bytes, reason: str) -> None:
    with pytest.raises(MoteError) as error:
        compile(model)
    assert reason in str(error.value)


def called(**indices: int) -> bytes:
    f = Flow(0)
    x, c = f.input(1, 2, 2, 1), f.flag()
    f.body([x], keep)
    f.body([x], lambda b, t: [b.add(t[0], t[0], quant=b.quants[t[0]])])
    y = f.like(x)
    f.writer.op("IF", [c, x], [y], **indices)
    return f.finish(y)


@pytest.mark.parametrize(
    ("indices", "reason"),
    [
        ({"then_subgraph_index": 1, "else_subgraph_index": 3}, "calls subgraph 3 of 3"),
        ({"then_subgraph_index": -1, "else_subgraph_index": 1}, "calls subgraph -1 of 3"),
        ({"then_subgraph_index": 0, "else_subgraph_index": 1}, "calls subgraph 0 of 3"),
    ],
)
def test_subgraphs_that_are_not_there(indices: dict[str, int], reason: str) -> None:
    with pytest.raises(MoteError, match=reason):
        compile(called(**indices))


def test_bodies_that_would_be_read_too_often() -> None:
    f = Flow(0)

    def twice(b: Flow, t: Sequence[int]) -> Sequence[int]:
        made = [b.like(i) for i in t]
        number = len(f.writer._others) + 1
        for out in made[:1]:
            b.writer.op("IF", [t[1], *t], [out, b.like(t[1])], then_subgraph_index=number, else_subgraph_index=number)
            b.writer.op(
                "IF", [t[1], *t], [b.like(out), made[1]], then_subgraph_index=number, else_subgraph_index=number
            )
        return made

    x, c = f.input(1, 2, 2, 1), f.flag()
    for _ in range(12):
        f.body([x, c], twice)
    f.body([x, c], keep)
    made = [f.like(x), f.like(c)]
    f.writer.op("IF", [c, x, c], made, then_subgraph_index=1, else_subgraph_index=1)
    with pytest.raises(MoteError, match="201 bodies of control flow are more than 200"):
        compile(f.finish(*made))


def test_a_state_belongs_to_one_call() -> None:
    f = Flow(0, "float32")
    x, c = f.input(1, 4), f.flag()
    number = f.body([x], lambda b, t: [remembering(b, t[0])])
    made = [f.like(x), f.like(x)]
    for y in made:
        f.writer.op("IF", [c, x], [y], then_subgraph_index=number, else_subgraph_index=number)
    with pytest.raises(MoteError, match="subgraph 1 keeps a state and is called by several operators"):
        compile(f.finish(*made))


def test_no_longest_step_is_stated() -> None:
    with pytest.raises(MoteError, match="takes as long as the inputs make it"):
        with_longest_step(compile(branches("int8"), target="cortex-m4", step="layer"))


def test_open_shapes_follow_from_what_bodies_are_given() -> None:
    f = Flow(0, "float32")
    x, c = f.input(1, 4), f.flag()
    number = len(f.writer._others) + 1
    inner = f.writer.subgraph("open")
    a, b = (inner.input("a", (), "float32"), inner.tensor("b", (1, 1), "float32", signature=(-1, -1)))
    inner.op("ADD", [a, a], [b])
    inner.output(b)
    y = f.writer.tensor("y", (1, 1), "float32", signature=(-1, -1))
    f.writer.op("IF", [c, x], [y], then_subgraph_index=number, else_subgraph_index=number)
    f.writer.output(y)
    compiled = check(f.writer.finish())
    assert compiled.plan.graph.tensors[y].shape == (1, 4)


def test_on_cortex_m4() -> None:
    exact_on("cortex-m4", loops("int8"), 6)


OPTIONS: tuple[tuple[Callable[[], bytes], dict[str, object]], ...] = (
    (memories, {"red_zones": True}),
    (partial(loops, "int8"), {"least_ram": True, "check_flash": True, "caller_arena": True}),
    (memories, {"step": "row", "single_file": True}),
)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("model", "options"), OPTIONS)
def test_options(model: Callable[[], bytes], options: dict[str, object]) -> None:
    result = verify(compile(model(), **options), 6, sanitize=True)
    assert result.passed, result.mismatches


def tall() -> bytes:
    """Bodies that take less memory by rows."""
    f = Flow(9)
    x, c = f.input(1, 24, 8, 2), f.flag()
    made = [f.like(x)]

    def deep(b: Flow, t: Sequence[int]) -> Sequence[int]:
        wide = b.conv(b.conv(t[0], 12), 12)
        constants = b.constants(wide, b.weights(2, 1, 1, 12))
        return [b.op("CONV_2D", [wide, *constants], b.shapes[t[0]], b.quants[t[0]], padding="SAME")]

    f.choose(c, [x], deep, keep, made)
    flags = [f.flag() for _ in range(2)]
    count = shifted(2)
    return f.finish(f.repeat([*flags, made[0]], first, lambda b, t: [*count(b, t), *deep(b, t[2:])])[2])


def test_bodies_by_rows() -> None:
    compiled = check(tall(), 6, least_ram=True)
    inner = compiled.plan.all[1:]
    assert sum(not plan.straight for plan in inner) == 2
    assert compiled.plan.arena < compile(tall(), optimize="speed").plan.arena


def corrupted() -> Iterator[tuple[str, Plan]]:
    """Plans of control flow, each with one thing wrong."""
    plan = compile(loops("int8")).plan
    step = plan.steps[1]
    kernel = step.kernel
    assert isinstance(kernel, ControlFlowKernel)
    copies = kernel.copies[-1]

    def changed(**fields: Any) -> Plan:
        steps = [replace(s, kernel=replace(kernel, **fields)) if s is step else s for s in plan.steps]
        return replace(plan, steps=tuple(steps))

    yield "a body needs", changed(needs=replace(kernel.needs, scratch=(kernel.needs.scratch or 0) - 4))
    yield "plans for", changed(plans=kernel.plans[:1], copies=kernel.copies[:1])
    yield "another body's", changed(plans=(kernel.plans[1], kernel.plans[1]))
    yield "does not get where it belongs", changed(copies=((), copies[1:]))
    yield "is copied twice", changed(copies=((), (*copies, copies[-1])))
    yield "still needed", changed(copies=((), tuple(replace(c, staging=None) for c in copies)))
    yield (
        "no place of its own",
        changed(copies=((), tuple(replace(c, staging=None if c.staging is None else 0) for c in copies))),
    )
    yield "writes over what it reads", changed(needs=replace(kernel.needs, in_place=()))


def test_the_checker_sees_what_is_wrong_with_bodies() -> None:
    for reason, plan in corrupted():
        with pytest.raises(PlanError, match=reason):
            check_plan(plan)


def recurrent(dtype: str, steps: int = 6) -> bytes:
    """A cell that a loop takes over a sequence, as frameworks write it where lengths are fixed: a row of the input is
    picked, and one of the output put in its place."""
    f = Flow(8, dtype)
    x = f.input(steps, 4)
    quant = f.quants[x]
    begin = f.writer.const("begin", np.zeros((1, 3), "float32" if dtype == "float32" else "int8"), *quant)
    empty = f.writer.const("empty", np.zeros((steps, 3), "float32" if dtype == "float32" else "int8"), *quant)
    for t, shape in ((begin, (1, 3)), (empty, (steps, 3))):
        f.shapes[t], f.quants[t] = shape, quant

    def turn(b: Flow, t: Sequence[int]) -> Sequence[int]:
        i, given, state, made = t
        place = b.plain(INT, 1)
        b.writer.op("RESHAPE", [i, b.ints(1)], [place])
        row = b.moved("GATHER", [given, place], (1, 4))
        both = b.concatenate(1, row, state)
        cell = b.fully_connected(both, 3, quant=b.quants[state])
        at = b.plain(INT, 2)
        b.writer.op("PACK", [i, b.constant(0, INT)], [at], values_count=2)
        return [one_more(b, i), given, cell, b.moved("DYNAMIC_UPDATE_SLICE", [made, cell, at])]

    counted = f.constant(0, INT)
    found = f.repeat([counted, x, begin, empty], lambda b, t: [less(b, t[0], b.constant(steps, INT))], turn)
    return f.finish(found[2], found[3])


def test_a_cell_over_a_sequence() -> None:
    compiled = check(recurrent("int8"), 4)
    (loop,) = (op for op in compiled.plan.graph.ops if isinstance(op, While))
    assert loop.trips == 6 and not compiled.unbounded


def composite(same: bool) -> bytes:
    """A sum as a composite operator, whose decomposition is quantized as the tensor outside of it or otherwise."""
    f = Flow(0)
    x = f.input(1, 4)
    f.body([x], lambda b, t: [b.add(t[0], t[0], quant=b.quants[t[0]] if same else (0.07, 3))])
    y = f.like(x)
    empty = bytes([0, 0, 1, 0, 0, 36, 1])  # a FlexBuffer map without keys, which LiteRT asks for
    options = {"name": "odml.twice", "decomposition_subgraph_index": 1, "composite_attributes": empty}
    f.writer.op("STABLEHLO_COMPOSITE", [x], [y], **options)
    return f.finish(y)


@needs_litert
def test_a_composite_operator_is_what_it_is_made_of() -> None:
    compiled = compile(composite(same=True))
    assert not any(op.bodies for op in compiled.plan.graph.ops)
    result = verify(compiled, 2)
    assert result.exact and result.reference == "LiteRT BUILTIN_REF"


def test_a_body_with_another_quantization_is_refused() -> None:
    """LiteRT takes the integers for those of the tensor outside of it, whatever they stood for."""
    with pytest.raises(MoteError, match=r"output 0 of subgraph 'body' is quantized as 0\.07"):
        compile(composite(same=False))
