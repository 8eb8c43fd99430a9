"""Schedules against the best there is, which small graphs allow to find by trying everything."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from mote.compiler.kernels import cost
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.memory.bound import lower_bound
from mote.compiler.plan.scheduling.directed_plans import rows_of as rows_of_selection
from mote.compiler.plan.scheduling.rows import RowGraph
from mote.compiler.plan.scheduling.schedule import Interleaving, Scheduler, Segment
from mote.compiler.plan.scheduling.search import Effort
from mote.compiler.plan.selection.candidates import Candidates, ordered
from mote.compiler.plan.selection.config import ROOMY
from mote.compiler.plan.selection.request import Lowering
from mote.compiler.plan.selection.select import Selection
from mote.ir.graph import Graph
from mote.ir.ops.common import Axis
from mote.ir.ops.elementwise.arithmetic import Add
from tests.compiler.plan import brute
from tests.compiler.plan.graphs import AddingDepthwise, GraphNet, graphs, pushable

MOST_STATES = 2_000
EFFORT = 100_000


def rows_of(graph: Graph, pushed: bool = False, bottom_up: bool = False) -> RowGraph:
    selection = Selection(Candidates(ordered(graph)), Lowering(), Goal(pushed=pushed), ROOMY)
    return rows_of_selection(selection, bottom_up)


def simulated(rows: RowGraph, scheduler: Scheduler, limit: int) -> None:
    """The schedule within a limit keeps it, by the rules of the brute force."""
    schedule = scheduler.cheapest(limit)
    assert schedule is not None
    done = [0] * len(rows.works)
    for run in schedule.runs:
        after = done.copy()
        after[run.node.op] = len(rows.works[run.node.op].by_rows) if run.whole else done[run.node.op] + 1
        assert brute.during(rows, tuple(done), tuple(after), run.node) <= limit
        done = after
    assert done == [len(work.by_rows) for work in rows.works]


@pytest.mark.slow
def test_schedules_are_the_best_there_are() -> None:
    found: Counter[str] = Counter()

    @given(graphs(most=3), st.booleans(), st.booleans())
    @settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    def compare(graph: Graph, pushed: bool, bottom_up: bool) -> None:
        pushed = pushed and pushable(graph)
        rows = rows_of(graph, pushed, bottom_up and not pushed)
        assume(rows.works and brute.state_count(rows) <= MOST_STATES)
        least = brute.least_peak(rows)
        scheduler = Scheduler(rows, cost.load(cost.USUAL))
        segments = scheduler.least_peak()
        searched = scheduler.improve(Effort(EFFORT))
        assert least <= searched <= segments
        simulated(rows, scheduler, searched)
        assert lower_bound(rows) <= least and scheduler.bound <= least
        found.update(all=1, segments=segments == least, searched=searched == least)

    compare()
    assert found["all"] >= 80
    assert found["segments"] >= 0.9 * found["all"], found
    assert found["searched"] >= 0.99 * found["all"], found


def test_an_eager_order_is_omitted_only_where_it_is_the_lazy_one() -> None:
    found: Counter[bool] = Counter()

    @given(graphs(most=5), st.booleans(), st.booleans())
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    def compare(graph: Graph, pushed: bool, bottom_up: bool) -> None:
        pushed = pushed and pushable(graph)
        scheduler = Scheduler(rows_of(graph, pushed, bottom_up and not pushed), cost.load(cost.USUAL))
        segments = set(scheduler.segments())
        for lo, hi, interleaving in segments:
            if interleaving is Interleaving.LAZY and hi - lo > 1:
                lazy, eager = (
                    list(scheduler.nodes(Segment(lo, hi, p))) for p in (Interleaving.LAZY, Interleaving.EAGER)
                )
                omitted = Segment(lo, hi, Interleaving.EAGER) not in segments
                assert lazy == eager or not omitted
                found[omitted] += 1

    compare()
    assert min(found[True], found[False]) >= 20, found


def test_a_strided_shortcut() -> None:
    """Rows of both branches interleave; segments alone do not see how."""
    net = GraphNet()
    x = net.input(1, 8, 8, 4)
    y = net.conv(x, 4, Axis(3, 2, 1, 0, 1), Axis(3, 2, 1, 0, 1))
    rows = rows_of(net.graph(net.op(Add, net.conv(x, 4, Axis(1, 2), Axis(1, 2)), y)), pushed=True)
    scheduler = Scheduler(rows, cost.load(cost.USUAL))
    assert lower_bound(rows) <= brute.least_peak(rows) == scheduler.improve(Effort(EFFORT))


def test_sums_are_not_counted_where_they_begin() -> None:
    """An operator that runs whole has no sums, and no row in their place before it has read one."""
    net = GraphNet()
    rows = rows_of(net.graph(net.depthwise(net.input(1, 6, 26, 1), Axis(6), Axis(4), AddingDepthwise)))
    assert lower_bound(rows) <= brute.least_peak(rows)
