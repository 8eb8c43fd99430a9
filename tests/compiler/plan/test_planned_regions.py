"""Kernels that compute several operators at once: planned, checked and executed like any other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from mote.bench.execute.stimuli import stimuli
from mote.bench.pictures.memory import MemoryMap
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.emit.c.project import Job, generate
from mote.compiler.kernels.contract import OTHER, Call, Entry, Layout, Needs, Packed, Price
from mote.compiler.plan.check import PlanError, check
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.planner import plan_one_memory
from mote.compiler.plan.prepared import Memo
from mote.compiler.plan.selection.candidates import Candidates
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.ir.graph import Graph
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.region import Numbers, Region, can_fuse, in_order, joined, region_problem
from mote.ir.graph.rows import OUTSIDE
from mote.ir.ops.common import Axis
from mote.ir.ops.elementwise.activations import LeakyRelu, Logistic
from mote.ir.ops.elementwise.arithmetic import Add
from mote.ir.ops.moves.reshape import Reshape
from tests.compiler.lower.executor import CorruptError, execute
from tests.compiler.plan.graphs import GraphNet, graphs, pushable
from tests.compiler.plan.test_plan import LEAST, PUSHED, SMALL, check_cells, check_no_byte_to_spare
from tests.helpers.support import examples

GOALS = {"whole": Goal(), "least": LEAST, "pushed": PUSHED, "small": SMALL}
SAME = Axis(3, 1, 1, 1, 1)


class Joining(Candidates):
    """A kernel for each of some regions, made up, that costs less than its operators one by one."""

    def __init__(self, graph: Graph, regions: list[Numbers], scratch: int | None = None) -> None:
        super().__init__(graph)
        self.wanted, self.scratch = regions, scratch

    def regions(self, how: Lowering) -> list[Numbers]:
        return self.wanted

    def all_kernels(self, ops: Numbers, how: Lowering) -> list[Packed]:
        if ops not in self.wanted:
            return super().all_kernels(ops, how)
        op = self.op(ops)
        operands = tuple(position for position, _ in op.computed(self.graph))
        return [
            Packed(
                "conv2d_s8",
                {},
                Entry(
                    Call.ROWS if op.outputs == self.graph.ops[ops[-1]].outputs else Call.WHOLE,
                    0,
                    operands=operands,
                    row="joined_row",
                ),
                Needs(scratch=self.scratch),
                Price(density=0.0, costs=OTHER),
                headers=("conv2d_s8",),
                family="joined",
            )
        ]

    def accumulating(self, ops: Numbers, how: Lowering) -> Packed | None:
        return None if ops in self.wanted else super().accumulating(ops, how)

    def preferred(self, ops: Numbers, how: Lowering) -> Layout | None:
        return None if ops in self.wanted else super().preferred(ops, how)

    def writes(self, ops: Numbers, how: Lowering, layout: Layout) -> bool:
        return ops not in self.wanted and super().writes(ops, how, layout)


def planned(known: Candidates, goal: Goal, policy: Policy = Policy.BALANCED) -> Plan:
    """A plan that checker and executor accept."""
    found = plan_one_memory(Memo(known), Lowering(optimize=policy), goal).plan
    check(found)
    case = stimuli(known.graph, 1)[0]
    expected = known.graph.evaluate(case)
    for t, value in execute(found, case).items():
        assert np.array_equal(value, expected[t])
    check_cells(found)
    check_no_byte_to_spare(found)
    return found


def pairs(graph: Graph) -> list[Numbers]:
    """Operators with the one that alone reads them."""
    number = {op.outputs[0]: n for n, op in enumerate(graph.ops)}
    found = []
    for n, op in enumerate(graph.ops):
        reader = graph.only_consumer(op.outputs[0])
        if reader is not None and can_fuse(graph, (op, reader)):
            found.append((n, number[reader.outputs[0]]))
    return found


def block() -> Graph:
    """An inverted residual: wide inside, narrow outside."""
    net = GraphNet()
    x = net.conv(net.input(1, 9, 5, 3), 4, SAME, SAME)
    wide = net.op(LeakyRelu, net.conv(x, 16), alpha=0.3)
    return net.graph(net.op(Add, x, net.conv(net.depthwise(wide, SAME, SAME), 4)))


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("scratch", [None, 40])
@pytest.mark.parametrize("regions", [[(3, 4)], [(1, 2), (4, 5)], [(1, 2, 3, 4, 5)]], ids=str)
def test_a_block(regions: list[Numbers], scratch: int | None, goal: str) -> None:
    graph = block()
    found = planned(Joining(graph, regions, scratch), GOALS[goal])
    taken = [ops for ops in regions if ops in {step.ops for step in found.steps}]
    assert taken == regions or (scratch and goal in ("least", "pushed")), "more working memory may be too much"
    inner = {t for ops in taken for n in ops[:-1] for t in graph.ops[n].outputs}
    assert not inner & set(found.place), "what is in between has no buffer"
    assert sum(op.macs(graph) for op, _ in found.works) == sum(op.macs(graph) for op in graph.ops)
    kinds = {"+".join(graph.ops[n].kind for n in ops) for ops in taken}
    assert kinds <= {label.split()[1] for label in found.labels()}
    assert MemoryMap(found).peak <= found.arena
    files = generate(Job(found, ProjectOptions("net"))).files
    assert all(f"/* {kind} " in files["net.c"] for kind in kinds)


def test_less_memory_without_what_is_in_between() -> None:
    graph = block()
    regions: list[list[Numbers]] = [[], [(1, 2, 3, 4, 5)]]
    apart, together = (planned(Joining(graph, ops), Goal(), Policy.SPEED).ram for ops in regions)
    assert together < apart / 3


@pytest.mark.slow
@given(graphs(), st.data(), st.booleans())
@settings(max_examples=examples(20, 5), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
def test_any_pairs_of_any_graph(graph: Graph, data: st.DataObject, pushed: bool) -> None:
    offered = pairs(graph)
    assume(offered)
    regions = data.draw(st.lists(st.sampled_from(offered), min_size=1, unique=True))
    scratch = data.draw(st.sampled_from([None, 24]))
    pushed = pushed and pushable(graph)
    for goal in (Goal(pushed=pushed), Goal(least=True, pushed=pushed), Goal(small_steps=True, pushed=pushed)):
        found = planned(Joining(graph, regions, scratch), goal)
        assert pushed or goal.least or {step.ops for step in found.steps} & set(regions)


def test_rows_through_a_region() -> None:
    graph = block()
    x, wide, last = graph.ops[0], graph.ops[3], joined(graph, graph.ops[1:6])
    assert isinstance(last, Region)
    assert last.kind == "CONV_2D+LEAKY_RELU+DEPTHWISE_CONV_2D+CONV_2D+ADD"
    (first, a), (second, b) = last.computed(graph)
    assert a == b == x.outputs[0]
    assert [last.reads(graph, p, 0) for p in (first, second)] == [(OUTSIDE, 0, 1), (0,)]
    assert last.reads(graph, first, 4) == (3, 4, 5) == wide.reads(graph, 0, 4)
    several = joined(graph, graph.ops[:4])
    assert several.outputs == (x.outputs[0], wide.outputs[0]) and several.reads(graph, 0, 0) is None
    alone = graph.with_ops(graph.ops[:4])
    two = joined(replace(alone, outputs=wide.outputs), alone.ops)
    assert two.reads(graph, 0, 0) == (0, 1, 2) and two.reads(graph, 0, 4) == (2, 3, 4, 5, 6)


def test_what_others_see_is_not_fused() -> None:
    graph = block()
    assert not can_fuse(graph, graph.ops[:2]) and can_fuse(graph, graph.ops[1:6])
    assert not can_fuse(Graph("net", graph.tensors, graph.ops, graph.inputs, (graph.ops[3].outputs[0],)), graph.ops[3:])


def diamond() -> Graph:
    """A convolution whose result two operators read, and a third one both of those; two outputs of the middle are read
    behind it as well."""
    net = GraphNet()
    x = net.conv(net.input(1, 6, 4, 3), 4)
    left, right = net.op(LeakyRelu, x, alpha=0.3), net.op(Logistic, x)
    both = net.op(Add, left, right)
    return net.graph(net.op(Add, both, left), net.op(Add, right, left))


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize("goal", ["whole", "least", "small"])
@pytest.mark.parametrize(
    ("regions", "outputs"),
    [([(1, 2, 3)], 3), ([(0, 1, 2)], 2), ([(0, 1), (2, 3)], 2), ([(1, 2), (3, 4)], 2), ([(1, 2, 5)], 3)],
    ids=str,
)
def test_several_outputs(regions: list[Numbers], outputs: int, goal: str) -> None:
    graph = diamond()
    found = planned(Joining(graph, regions), GOALS[goal], Policy.SPEED)
    assert set(regions) <= {step.ops for step in found.steps} or goal == "least"
    region = joined(graph, [graph.ops[n] for n in regions[0]])
    assert len(region.outputs) == outputs
    values = graph.evaluate(stimuli(graph, 1)[0])
    given = [None if t == ABSENT else values.get(t, graph.tensors[t].data) for t in region.inputs]
    for t, shape, value in zip(region.outputs, region.shapes(graph), region.evaluate(graph, given), strict=True):
        assert shape == value.shape and np.array_equal(value, values[t])


def test_a_plan_that_loses_a_further_output_is_refused() -> None:
    found = planned(Joining(diamond(), [(1, 2, 3)]), Goal(), Policy.SPEED)
    (step,) = (step for step in found.steps if len(step.ops) > 1)
    first, second, _ = (found.place[t] for t in found.op(step).outputs)
    moved = tuple(replace(b, offsets=second.offsets) if b is first else b for b in found.buffers)
    broken = replace(found, buffers=moved)
    with pytest.raises(PlanError):
        check(broken)
    with pytest.raises(CorruptError):
        execute(broken, stimuli(found.graph, 1)[0])


def test_regions_that_need_one_another_are_not_both_taken() -> None:
    """Each of them is convex; together they are a circle."""
    net = GraphNet()
    x = net.input(1, 4, 4, 4)
    one, two = net.op(LeakyRelu, x, alpha=0.1), net.op(Logistic, x)
    three, four = net.op(Add, two, x), net.op(Add, one, x)
    graph = net.graph(net.op(Add, three, one), net.op(Add, four, two), one, two)
    assert not region_problem(graph, [graph.ops[n] for n in (0, 2)])
    assert not region_problem(graph, [graph.ops[n] for n in (1, 3)])
    assert in_order(graph, [(0, 2), (1, 3), (4,), (5,)]) is None
    found = planned(Joining(graph, [(0, 2), (1, 3)]), Goal(), Policy.SPEED)
    assert len({step.ops for step in found.steps if len(step.ops) > 1}) == 1


def test_what_is_no_region() -> None:
    graph = diamond()
    ops = graph.ops
    for chosen, why in [
        ([], "is empty"),
        ([ops[0], ops[3]], "is not connected"),
        ([ops[0], ops[1], ops[3]], "is not convex: a path leaves it and comes back through layer 2 LOGISTIC"),
        ([ops[1], ops[0]], "not in the order of the graph"),
        ([ops[0], diamond().ops[1]], "operators that the graph does not have"),
    ]:
        assert why in region_problem(graph, chosen), why
    assert not region_problem(graph, ops)
    net = GraphNet()
    x = net.op(LeakyRelu, net.input(1, 4, 4, 4), alpha=0.3)
    viewed = net.graph(net.op(Reshape, x, shape=(1, 64)))
    assert "ends in a reshape" in region_problem(viewed, viewed.ops)


@st.composite
def grown(draw: st.DrawFn, graph: Graph) -> Numbers:
    """A region of a graph, if what was grown at random is one."""
    chosen = {draw(st.integers(0, len(graph.ops) - 1))}
    for _ in range(draw(st.integers(1, 5))):
        near = {
            n
            for n, op in enumerate(graph.ops)
            for m in chosen
            if {*op.inputs, *op.outputs} & {*graph.ops[m].inputs, *graph.ops[m].outputs} - {ABSENT}
        } - chosen
        if near:
            chosen.add(draw(st.sampled_from(sorted(near))))
    found = tuple(sorted(chosen))
    assume(len(found) > 1 and not region_problem(graph, [graph.ops[n] for n in found]))
    return found


@pytest.mark.slow
@given(graphs(), st.data())
@settings(max_examples=examples(40, 8), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
def test_any_regions_of_any_graph(graph: Graph, data: st.DataObject) -> None:
    assume(len(graph.ops) > 2)
    regions = data.draw(st.lists(grown(graph), min_size=1, max_size=3, unique=True))
    for goal in (Goal(), Goal(least=True), Goal(small_steps=True)):
        found = planned(Joining(graph, regions), goal, Policy.SPEED)
        assert goal.least or {step.ops for step in found.steps} & set(regions)
