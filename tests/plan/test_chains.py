"""Kernels that compute several operators at once: planned, checked and executed like any other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from mote.emit.c.options import ProjectOptions
from mote.emit.c.project import Job, generate
from mote.execute.stimuli import stimuli
from mote.graph import Graph
from mote.graph.chain import Chain, Numbers, can_join, joined
from mote.graph.rows import OUTSIDE
from mote.kernels.contract import OTHER, Call, Layout, Packed
from mote.ops.common import Axis
from mote.ops.elementwise.activations import LeakyRelu
from mote.ops.elementwise.arithmetic import Add
from mote.plan.check import check
from mote.plan.goal import Goal
from mote.plan.plan import Plan
from mote.plan.planner import draft
from mote.plan.request import Lowering, Policy
from mote.plan.select import Offers
from mote.report.memory import MemoryMap
from tests.helpers.support import examples
from tests.plan.executor import execute
from tests.plan.graphs import GraphNet, graphs, pushable
from tests.plan.test_plan import LEAST, PUSHED, SMALL, check_cells, check_no_byte_to_spare

GOALS = {"whole": Goal(), "least": LEAST, "pushed": PUSHED, "small": SMALL}
SAME = Axis(3, 1, 1, 1, 1)


class Joining(Offers):
    """A kernel for each of some chains, made up, that costs less than its operators one by one."""

    def __init__(self, graph: Graph, chains: list[Numbers], scratch: int | None = None) -> None:
        super().__init__(graph)
        self.wanted, self.scratch = chains, scratch

    def chains(self, how: Lowering) -> list[Numbers]:
        return self.wanted

    def everything(self, ops: Numbers, how: Lowering) -> list[Packed]:
        if ops not in self.wanted:
            return super().everything(ops, how)
        operands = tuple(position for position, _ in self.op(ops).computed(self.graph))
        return [
            Packed(
                "conv2d_s8",
                {},
                Call.ROWS,
                0,
                operands,
                self.scratch,
                row="joined_row",
                header="conv2d_s8",
                family="joined",
                density=0.0,
                costs=OTHER,
            )
        ]

    def adding(self, ops: Numbers, how: Lowering) -> Packed | None:
        return None if ops in self.wanted else super().adding(ops, how)

    def preferred(self, ops: Numbers, how: Lowering) -> Layout | None:
        return None if ops in self.wanted else super().preferred(ops, how)

    def writes(self, ops: Numbers, how: Lowering, layout: Layout) -> bool:
        return ops not in self.wanted and super().writes(ops, how, layout)


def planned(known: Offers, goal: Goal, policy: Policy = Policy.BALANCED) -> Plan:
    """A plan that checker and executor accept."""
    found = draft(known, Lowering(optimize=policy), goal).plan
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
        if reader is not None and can_join(graph, (op, reader)):
            found.append((n, number[reader.outputs[0]]))
    return found


def block() -> Graph:
    """An inverted residual: wide inside, narrow outside."""
    net = GraphNet()
    x = net.conv(net.input(1, 9, 5, 3), 4, SAME, SAME)
    wide = net.op(LeakyRelu, net.conv(x, 16), alpha=0.3)
    return net.graph(net.op(Add, x, net.conv(net.depthwise(wide, SAME, SAME), 4)))


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("scratch", [None, 40])
@pytest.mark.parametrize("chains", [[(3, 4)], [(1, 2), (4, 5)], [(1, 2, 3, 4, 5)]], ids=str)
def test_a_block(chains: list[Numbers], scratch: int | None, goal: str) -> None:
    graph = block()
    found = planned(Joining(graph, chains, scratch), GOALS[goal])
    taken = [ops for ops in chains if ops in {step.ops for step in found.steps}]
    assert taken == chains or (scratch and goal in ("least", "pushed")), "more working memory may be too much"
    chains = taken
    inner = {t for ops in chains for n in ops[:-1] for t in graph.ops[n].outputs}
    assert not inner & set(found.place), "what is in between has no buffer"
    assert sum(op.macs(graph) for op, _ in found.works) == sum(op.macs(graph) for op in graph.ops)
    kinds = {"+".join(graph.ops[n].kind for n in ops) for ops in chains}
    assert kinds <= {label.split()[1] for label in found.labels()}
    assert MemoryMap(found).peak <= found.arena
    files = generate(Job(found, ProjectOptions("net"))).files
    assert all(f"/* {kind} " in files["net.c"] for kind in kinds)


def test_less_memory_without_what_is_in_between() -> None:
    graph = block()
    chains: list[list[Numbers]] = [[], [(1, 2, 3, 4, 5)]]
    apart, together = (planned(Joining(graph, c), Goal(), Policy.SPEED).ram for c in chains)
    assert together < apart / 3


@given(graphs(), st.data(), st.booleans())
@settings(max_examples=examples(20, 5), deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
def test_any_pairs_of_any_graph(graph: Graph, data: st.DataObject, pushed: bool) -> None:
    offered = pairs(graph)
    assume(offered)
    chains = data.draw(st.lists(st.sampled_from(offered), min_size=1, unique=True))
    scratch = data.draw(st.sampled_from([None, 24]))
    pushed = pushed and pushable(graph)
    for goal in (Goal(pushed=pushed), Goal(least=True, pushed=pushed), Goal(small_steps=True, pushed=pushed)):
        found = planned(Joining(graph, chains, scratch), goal)
        least = goal.least and scratch is not None
        assert pushed or least or {step.ops for step in found.steps} & set(chains)


def test_rows_through_a_chain() -> None:
    graph = block()
    x, wide, last = graph.ops[0], graph.ops[3], joined(graph.ops[1:6])
    assert isinstance(last, Chain)
    assert last.kind == "CONV_2D+LEAKY_RELU+DEPTHWISE_CONV_2D+CONV_2D+ADD"
    (first, a), (second, b) = last.computed(graph)
    assert a == b == x.outputs[0]
    assert [last.reads(graph, p, 0) for p in (first, second)] == [(OUTSIDE, 0, 1), (0,)]
    assert last.reads(graph, first, 4) == (3, 4, 5) == wide.reads(graph, 0, 4)
    two = joined((graph.ops[0], *graph.ops[1:4]))
    assert two.reads(graph, 0, 0) == (0, 1, 2) and two.reads(graph, 0, 4) == (2, 3, 4, 5, 6)


def test_what_others_see_is_not_joined() -> None:
    graph = block()
    assert not can_join(graph, graph.ops[:2]) and can_join(graph, graph.ops[1:6])
    assert not can_join(Graph("net", graph.tensors, graph.ops, graph.inputs, (graph.ops[3].outputs[0],)), graph.ops[3:])
