"""Plans of whole graphs: whatever is asked for, the plan computes what the graph computes, in the bytes it says."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import mlperf_tiny
from mote import frontends
from mote.bench.execute.stimuli import stimuli
from mote.compiler.kernels.contract import Packed
from mote.compiler.passes.pipeline import optimize
from mote.compiler.passes.rewriting import strip_io
from mote.compiler.plan.check import PlanError, check
from mote.compiler.plan.goal import DoesNotFitError, Goal
from mote.compiler.plan.json_codec import same
from mote.compiler.plan.knee import WORTH
from mote.compiler.plan.plan import Cell, Plan
from mote.compiler.plan.planner import plan
from mote.compiler.plan.scheduling.op_order import order
from mote.compiler.plan.scheduling.rows import PushedInput
from mote.compiler.plan.selection.candidates import candidates_of
from mote.compiler.plan.selection.config import ROOMY
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.compiler.plan.selection.select import Selection
from mote.frontends import tflite
from mote.hardware.targets import Memory
from mote.ir.graph import Graph, Op
from mote.ir.ops.common import Axis
from mote.ir.ops.elementwise.activations import LeakyRelu, Logistic
from mote.ir.ops.elementwise.arithmetic import Add, Mul
from mote.ir.ops.reductions.mean import Mean
from tests.compiler.lower.executor import CorruptError, execute
from tests.compiler.plan.graphs import GraphNet, graphs, pushable
from tests.helpers.support import examples, soaked

MODELS = Path(__file__).parents[3] / "models"
OPTIMIZE = ("speed", "balanced", "size")
PLAIN: frozenset[str] = frozenset()
DSP = frozenset({"dsp"})
PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
"""Making a failing graph smaller would take minutes."""
LEAST, PUSHED, SMALL = Goal(least=True), Goal(pushed=True), Goal(small_steps=True)


@cache
def model(name: str) -> Graph:
    path = MODELS / f"{name}.tflite"
    return optimize(frontends.load(path) if path.exists() else tflite.parse(mlperf_tiny.build(name), name))[0]


def planned(graph: Graph, how: Lowering, goal: Goal) -> Plan:
    """The plan that is wanted, which the checker has accepted, executed."""
    found = plan(graph, how, goal)
    verify(graph, found)
    assert goal.ram is None or found.ram <= goal.ram
    assert found.pushed == goal.pushed
    return found


def verify(graph: Graph, found: Plan) -> None:
    case = stimuli(graph, 1)[0]
    expected = graph.evaluate(case)
    for t, value in execute(found, case).items():
        assert np.array_equal(value, expected[t])
    check_cells(found)
    check_no_byte_to_spare(found)


def check_cells(found: Plan) -> None:
    """Cells are where the steps say, and share bytes only where one is written over another that dies."""
    for step in found.steps:
        for offset, memory, role in (
            (step.scratch, step.scratch_memory, "scratch"),
            (step.sums, step.sums_memory, "sums"),
        ):
            assert offset is None or any((c.offset, c.memory, c.role) == (offset, memory, role) for c in found.cells)
    rows = {(c.tensors, c.row): c for c in found.cells if c.role == "row"}
    for buffer in filter(lambda b: b.tensors, found.buffers):
        for y, offset in enumerate(buffer.offsets):
            cell = rows.get((buffer.tensors, y))
            assert offset == (None if cell is None else cell.offset)
    cells = sorted(found.cells, key=lambda c: (c.memory, c.offset))
    for i, a in enumerate(cells):
        for b in cells[i + 1 :]:
            if b.memory != a.memory or b.offset >= a.end:
                break
            assert a.last <= b.first or b.last <= a.first, (a, b)


def check_no_byte_to_spare(found: Plan) -> None:
    """An arena that is a byte smaller is too small."""
    if found.arena:
        with pytest.raises(CorruptError):
            execute(found, stimuli(found.graph, 1)[0], missing=1)
        with pytest.raises(PlanError):
            check(one_byte_less(found))


def one_byte_less(found: Plan) -> Plan:
    def lowered(cell: Cell) -> Cell:
        top = cell.memory == len(found.arenas) - 1 and cell.end == found.arenas[-1]
        return replace(cell, offset=cell.offset - 1) if top else cell

    return replace(found, cells=tuple(map(lowered, found.cells)))


@given(graphs(), st.sampled_from(OPTIMIZE), st.booleans(), st.booleans())
@settings(max_examples=examples(12, 2), deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
def test_any_graph(graph: Graph, optimize: str, dsp: bool, pushed: bool) -> None:
    how = Lowering(DSP if dsp else PLAIN, Policy(optimize))
    pushed = pushed and pushable(graph)
    whole = planned(graph, how, Goal(pushed=pushed))
    least = planned(graph, how, Goal(least=True, pushed=pushed))
    assert least.ram <= whole.ram
    planned(graph, how, Goal(small_steps=True, pushed=pushed))
    for ram in {least.ram, (least.ram + whole.ram) // 2}:
        planned(graph, how, Goal(ram, pushed=pushed))
    with pytest.raises(DoesNotFitError) as refused:
        plan(graph, how, Goal(ram=1, pushed=pushed))
    assert plan(graph, how, Goal(refused.value.least, pushed=pushed)).ram <= refused.value.least


@given(graphs(most=4), st.sampled_from((5.0, 50.0)), st.booleans())
@settings(max_examples=examples(8, 4), deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
def test_work_done_twice_gives_the_same(graph: Graph, percent: float, pushed: bool) -> None:
    pushed = pushed and pushable(graph)
    least = plan(graph, Lowering(), Goal(least=True, pushed=pushed))
    assert planned(graph, Lowering(), Goal(least=True, pushed=pushed, recompute=percent)).ram <= least.ram


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("optimize", OPTIMIZE)
@pytest.mark.parametrize("features", [PLAIN, DSP], ids=["plain", "dsp"])
def test_every_way_of_a_bundled_model(features: frozenset[str], optimize: str) -> None:
    graph, how = model("digits"), Lowering(features, Policy(optimize))
    whole = planned(graph, how, Goal())
    least = planned(graph, how, LEAST)
    assert least.ram < whole.ram or (optimize == "balanced" and least.ram == whole.ram)
    planned(graph, how, PUSHED)
    planned(graph, how, SMALL)
    planned(graph, how, Goal((least.ram + whole.ram) // 2))


REAL = {
    "keywords": ("keywords", DSP, "balanced", Goal()),
    "keywords least": ("keywords", PLAIN, "balanced", LEAST),
    "keywords pushed": ("keywords", DSP, "speed", PUSHED),
    "kws least": ("kws", DSP, "balanced", LEAST),
    "kws within 12000": ("kws", DSP, "speed", Goal(12_000)),
    "kws pushed": ("kws", PLAIN, "size", PUSHED),
    "sww pushed": ("sww", DSP, "balanced", PUSHED),
    "ic least": ("ic", PLAIN, "size", LEAST),
    "ic within 24000": ("ic", DSP, "speed", Goal(24_000)),
    "ic in small steps": ("ic", DSP, "balanced", SMALL),
    "vww pushed": ("vww", DSP, "balanced", PUSHED),
    "vww within 40000": ("vww", DSP, "speed", Goal(40_000)),
    "mcunet pushed": ("mcunet", DSP, "balanced", PUSHED),
    "mcunet least": ("mcunet", PLAIN, "balanced", LEAST),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", REAL)
def test_real_shapes(case: str) -> None:
    name, features, optimize, goal = REAL[case]
    found = planned(model(name), Lowering(features, Policy(optimize)), goal)
    assert not found.layered
    assert any(isinstance(op, PushedInput) for op, _ in found.works) == goal.pushed


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("goal", [LEAST, PUSHED, Goal()], ids=["least", "pushed", "whole"])
def test_several_memories(goal: Goal) -> None:
    memories = [Memory("fast", "ram", 2_000), Memory("middle", "ram", 5_000), Memory("slow", "ram", 50_000)]
    found = plan(model("kws"), Lowering(), goal, memories)
    assert len(found.arenas) > 1
    assert all(n <= memory.size for n, memory in zip(found.arenas, found.memories, strict=True))
    verify(model("kws"), found)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("name", "bytes_"),
    soaked(
        [("ad", 768), ("kws", 16_000), ("ic", 49_440), ("vww", 55_296), ("sww", 6_656)], [("ad", 768), ("ic", 49_440)]
    ),
)
def test_layer_by_layer(name: str, bytes_: int) -> None:
    """What layer by layer takes, and a little for kernels: these numbers only go down."""
    graph = model(name)
    assert plan(graph, Lowering(DSP, Policy.SIZE)).arena <= bytes_ + LITTLE
    for wish in ("balanced", "speed"):
        assert plan(graph, Lowering(DSP, Policy(wish)), Goal(bytes_ + 2)).ram <= bytes_ + 2


LITTLE = 1_280
"""Bytes of working memory of kernels."""
KNEES = {"ad": 780, "kws": 12_000, "ic": 21_700, "vww": 28_400, "sww": 4_700, "mcunet": 22_600}
"""Bytes of RAM, with int8 at the edges."""


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", soaked(KNEES, ["ad", "kws", "sww"]))
def test_the_least_ram_that_hardly_costs_anything(name: str) -> None:
    """These numbers only go down; on a part with room for it the plan is the same."""
    graph, how = strip_io.run(model(name)), Lowering(DSP, Policy.BALANCED)
    found = plan(graph, how)
    selection = Selection(candidates_of(found.graph), how, Goal(), ROOMY)
    fastest = sum(worth(selection, op, selection.best(ops, True), True) for ops, op in selection.ops.items())
    taken = sum(worth(selection, op, steps[0].kernel, steps[0].whole) for op, steps in found.works)
    assert found.ram <= KNEES[name] and taken <= WORTH * fastest
    assert same(plan(graph, how, Goal(ram=1 << 20, spend=False)).steps, found.steps)
    tight = Goal(ram=found.ram - 1, spend=False)
    if name == "ad":
        with pytest.raises(DoesNotFitError, match=f"the least that was found is {found.ram} bytes"):
            plan(graph, how, tight)
    else:
        assert plan(graph, how, tight).ram < found.ram


def worth(selection: Selection, op: Op, kernel: Packed, whole: bool) -> float:
    return selection.costs.of(selection.graph, op, kernel, whole) + selection.rate * kernel.constants


def test_in_place_takes_no_memory() -> None:
    net = GraphNet()
    x = net.input(1, 6, 5, 4)
    branch = net.op(LeakyRelu, net.op(LeakyRelu, x, alpha=0.1), alpha=0.2)
    assert planned(net.graph(net.op(Add, x, branch)), Lowering(), Goal()).arena == 2 * 120


def test_nothing_is_written_over_half_a_row() -> None:
    """Rows of a view that are half of those that are stored, which are as large as what is made of them."""
    net = GraphNet()
    halves = net.reshape(net.conv(net.input(1, 4, 2, 4), 2), 8, 1, 2)
    graph = net.graph(net.op(Mul, halves, net.constant(1, 2, 1)))
    for goal in (Goal(), LEAST, PUSHED, replace(PUSHED, small_steps=True)):
        planned(graph, Lowering(), goal)


def test_the_order_of_branches() -> None:
    """The branch that leaves less behind runs first."""
    net = GraphNet()
    x = net.input(1, 4, 4, 4)
    wide, narrow = net.conv(x, 16), net.conv(x, 1)
    graph = net.graph(net.op(Add, net.conv(wide, 1), narrow))
    ordered = graph.with_ops(order(graph)).verify()
    assert {op.outputs for op in ordered.ops} == {op.outputs for op in graph.ops}
    planned(graph, Lowering(), Goal())


def test_rows_are_not_written_over_what_other_rows_need() -> None:
    """One column, so that a row of the product is as large as the gate that all rows read."""
    net = GraphNet()
    x = net.input(1, 4, 1, 4)
    gate = net.op(Logistic, net.conv(net.op(Mean, x, axes=(1, 2), keep_dims=True), 4), quant=(1 / 256, -128))
    scaled = net.op(Mul, gate, x)
    for stride in (1, 2):
        graph = net.graph(net.conv(scaled, 3, Axis(2, stride)))
        for goal in (Goal(), LEAST, PUSHED, SMALL):
            planned(graph, Lowering(), goal)


def test_rows_that_nobody_needs() -> None:
    """They are neither computed nor stored, and nothing lies where they would."""
    net = GraphNet()
    x = net.op(LeakyRelu, net.input(1, 8, 4, 4), alpha=0.3)
    graph = net.graph(net.conv(x, 4, Axis(2, 3), Axis(2, 2)))
    for goal in (Goal(), LEAST, PUSHED, SMALL):
        found = planned(graph, Lowering(), goal)
        computed = {y for s in found.steps if found.op(s) is graph.ops[0] for y in range(s.rows.lo, s.rows.hi)}
        assert computed == {0, 1, 3, 4, 6, 7}


def test_a_model_without_work() -> None:
    net = GraphNet()
    x = net.input(1, 4, 4, 2)
    for goal in (Goal(), LEAST):
        assert planned(net.graph(net.reshape(x, 1, 32)), Lowering(), goal).arena == 32
