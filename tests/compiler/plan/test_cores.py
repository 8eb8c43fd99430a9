"""Plans for two cores: what is split, why not, what it costs, and that the checker sees every way to do it wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.bench.execute.stimuli import stimuli
from mote.compiler.kernels import cost
from mote.compiler.kernels.contract import Call, Refusal
from mote.compiler.plan.check import PlanError, check
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.plan import Plan, SplitKernel
from mote.compiler.plan.planner import plan
from mote.compiler.plan.selection.cores import BARRIERS, alone, divided, split
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.hardware.targets import Reads
from mote.ir.graph import Graph
from mote.ir.ops.common import Axis
from mote.ir.ops.elementwise.arithmetic import Add
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.softmax import Softmax
from tests.compiler.lower.executor import execute
from tests.compiler.plan.graphs import GraphNet, graphs
from tests.helpers.offered import offered
from tests.helpers.support import examples

SAME = Axis(3, 1, 1, 1, 1)
TWO = Goal(cores=2)
DSP = Lowering(frozenset({"dsp"}))
SCALAR = Lowering(frozenset({"mul32", "rv32m"}), optimize=Policy.SPEED)
TWO_HARTS = Goal(cores=2, costs=cost.load("rv32imc"))
FAST = Lowering(optimize=Policy.SPEED)


def classifier() -> Graph:
    net = GraphNet()
    x = net.conv(net.input(1, 12, 8, 4), 8, SAME, SAME)
    x = net.op(Add, x, net.conv(x, 8))
    x = net.fully_connected(net.op(Mean, x, axes=(1, 2)), 24)
    return net.graph(net.op(Softmax, x, quant=(1 / 256, -128), beta=1.0))


def split_kernels(planned: Plan) -> dict[str, SplitKernel]:
    """The kernels that are split, by operator."""
    kernels = {planned.op(step).kind: step.kernel for step in planned.steps}
    return {kind: kernel for kind, kernel in kernels.items() if isinstance(kernel, SplitKernel)}


def shares(planned: Plan) -> dict[str, str]:
    return {op.kind: divided(planned, op, steps) for op, steps in planned.works}


def test_what_is_split_and_what_is_not() -> None:
    shown = shares(plan(classifier(), Lowering(), TWO))
    assert shown["CONV_2D"] == shown["ADD"] == "split: rows 0-5 and 6-11"
    assert shown["FULLY_CONNECTED"] == "split: channels 0-15 and 16-23"
    assert shown["SOFTMAX"] == "one core: its output has one row"
    assert shown["MEAN"].startswith("one core: ")


def test_a_layer_is_split_where_that_pays() -> None:
    graph = classifier()
    one, free = plan(graph, Lowering(), Goal()), plan(graph, Lowering(), TWO)
    costs = free.goal.costs
    assert estimate(costs, free) < 0.6 * estimate(costs, one)
    whole = {op.name: costs.of(free.graph, op, _single(s), s.whole) for op, (s, *_) in free.works}
    assert alone(free) == pytest.approx(sum(whole.values()))
    dear = plan(graph, FAST, replace(TWO, barrier=1e9))
    assert not split_kernels(dear) and "nothing to gain" in shares(dear)["CONV_2D"]
    middle = estimate(costs, plan(graph, Lowering(), replace(TWO, barrier=100.0)))
    assert middle == pytest.approx(estimate(costs, free) + 100 * BARRIERS * len(_all_split_kernels(free)))


def _single(step: Any) -> Any:
    return step.kernel.alone if isinstance(step.kernel, SplitKernel) else step.kernel


def _all_split_kernels(planned: Plan) -> list[SplitKernel]:
    return [step.kernel for step in planned.steps if isinstance(step.kernel, SplitKernel)]


def test_flash_serves_one_core_at_a_time() -> None:
    """A layer that mostly waits for its weights gains little."""
    slow = cost.load(cost.USUAL).on(Reads(wait_states=400, read_bytes=8))
    planned = plan(classifier(), FAST, replace(TWO, costs=slow))
    op, (step, *_) = next(work for work in planned.works if work[0].kind == "FULLY_CONNECTED")
    assert isinstance(step.kernel, SplitKernel)
    waits = slow.waiting(planned.graph, op, step.kernel.alone)
    assert waits > 0.5 * slow.of(planned.graph, op, step.kernel.alone, whole=True)
    assert slow.of(planned.graph, op, step.kernel, whole=True) == pytest.approx(waits)
    shown = shares(plan(classifier(), FAST, replace(TWO, costs=slow, barrier=waits)))["FULLY_CONNECTED"]
    assert "waiting for flash" in shown


def test_a_budget_decides() -> None:
    """Scratch for two cores is memory like any other."""
    graph = classifier()
    two, least = plan(graph, DSP, TWO), plan(graph, DSP, Goal(cores=2, least=True))
    tight = plan(graph, DSP, Goal(cores=2, ram=(two.ram + least.ram) // 2))
    assert least.ram <= tight.ram < two.ram
    assert estimate(two.goal.costs, two) <= estimate(two.goal.costs, tight) <= estimate(two.goal.costs, least)


def test_bodies_and_one_core_are_not_split() -> None:
    assert not split_kernels(plan(classifier(), Lowering(), Goal()))
    assert set(shares(plan(classifier(), Lowering(), Goal())).values()) == {""}


def test_plans_are_written_and_read() -> None:
    planned = plan(classifier(), Lowering(), TWO)
    assert Plan.from_json(planned.to_json()) == planned


def damaged(kind: str, **change: Any) -> Plan:
    """A plan of which the split kernel of an operator is changed."""
    planned = plan(classifier(), Lowering(), TWO)
    kernel = replace(split_kernels(planned)[kind], **change)
    same = [step for step in planned.steps if planned.op(step).kind == kind][-1]
    return replace(planned, steps=tuple(replace(s, kernel=kernel) if s is same else s for s in planned.steps))


@pytest.mark.parametrize(
    ("kind", "change", "why"),
    [
        ("CONV_2D", {"at": 0}, "no rows"),
        ("CONV_2D", {"at": 12}, "no rows"),
        ("FULLY_CONNECTED", {"at": 0}, "no channels"),
        ("FULLY_CONNECTED", {"at": 24}, "no channels"),
        ("FULLY_CONNECTED", {"at": 13}, "aligned"),
        ("FULLY_CONNECTED", {"parts": ()}, "no rows"),
    ],
)
def test_the_checker_refuses(kind: str, change: dict[str, Any], why: str) -> None:
    with pytest.raises(PlanError, match=why):
        check(damaged(kind, **change))


def test_the_checker_refuses_scratch_that_is_shared() -> None:
    planned = plan(classifier(), DSP, TWO)
    step = next(s for s in planned.steps if isinstance(s.kernel, SplitKernel) and s.kernel.needs.scratch)
    for second in (0, 2, 1 << 16):
        wrong = replace(step, kernel=replace(step.kernel, second=second))
        with pytest.raises(PlanError, match="scratch"):
            check(replace(planned, steps=tuple(wrong if s is step else s for s in planned.steps)))


def test_the_checker_refuses_a_core_that_writes_what_the_other_reads() -> None:
    """A kernel that claims to work in place though a row needs its neighbours."""
    net = GraphNet()
    x = net.depthwise(net.input(1, 12, 8, 4), SAME, SAME)
    planned = plan(net.graph(net.op(Softmax, x, quant=(1 / 256, -128), beta=1.0)), FAST, TWO)
    step = planned.steps[0]
    assert (
        isinstance(step.kernel, SplitKernel) and step.kernel.entry.call is Call.ROWS and not step.kernel.needs.scratch
    )
    with pytest.raises(PlanError, match="not for two cores"):
        check(replace(planned, goal=Goal()))
    given, made = (planned.place[t] for t in (planned.op(step).inputs[0], planned.op(step).outputs[0]))
    buffers = tuple(replace(made, offsets=given.offsets) if b is made else b for b in planned.buffers)
    in_place = replace(step.kernel, needs=replace(step.kernel.needs, in_place=(0,)))
    with pytest.raises(PlanError, match="writes over what it reads"):
        check(replace(planned, steps=(replace(step, kernel=in_place), *planned.steps[1:]), buffers=buffers))


def planes(channels: int = 12) -> Graph:
    """A depthwise layer that a core without SIMD computes fastest in whole images."""
    net = GraphNet()
    x = net.depthwise(net.input(1, 25, 5, channels), SAME, SAME)
    return net.graph(net.op(Softmax, x, quant=(1 / 256, -128), beta=1.0))


def test_kernels_of_whole_images_are_split_by_channels() -> None:
    for channels in (12, 13):
        planned = plan(planes(channels), SCALAR, TWO_HARTS)
        kernel = split_kernels(planned)["DEPTHWISE_CONV_2D"]
        first, scratch = channels - channels // 2, kernel.alone.needs.scratch or 0
        assert kernel.family == "depthwise_planes" and kernel.entry.call is Call.CHANNELS
        assert shares(planned)["DEPTHWISE_CONV_2D"] == f"split: channels 0-{first - 1} and {first}-{channels - 1}"
        assert kernel.second >= scratch > 0 and kernel.needs.scratch == kernel.second + scratch
        execute(planned, stimuli(planned.graph, 1)[0])


def test_a_single_channel_is_not_split() -> None:
    graph = planes(1)
    (kernel,) = [k for k in offered(graph, graph.ops[0], SCALAR.features) if k.family == "depthwise_planes"]
    refusal = split(graph, graph.ops[0], kernel, 1e6, SCALAR, TWO_HARTS)
    assert isinstance(refusal, Refusal) and refusal.why == "its output has one channel"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"at": 0}, "no channels"),
        ({"at": 12}, "no channels"),
        ({"second": 0}, "share scratch"),
    ],
)
def test_the_checker_refuses_channels(change: dict[str, Any], why: str) -> None:
    planned = plan(planes(), SCALAR, TWO_HARTS)
    step = planned.steps[0]
    assert isinstance(step.kernel, SplitKernel) and step.kernel.of_channels
    check(planned)
    with pytest.raises(PlanError, match=why):
        check(replace(planned, steps=(replace(step, kernel=replace(step.kernel, **change)), *planned.steps[1:])))


def test_the_checker_refuses_channels_over_inputs() -> None:
    """A kernel that claims to work in place overwrites channels that the other core still reads."""
    planned = plan(planes(), SCALAR, TWO_HARTS)
    step = planned.steps[0]
    assert isinstance(step.kernel, SplitKernel) and step.kernel.of_channels
    given, made = (planned.place[t] for t in (planned.op(step).inputs[0], planned.op(step).outputs[0]))
    both = replace(given, tensors=(*given.tensors, *made.tensors))
    buffers = tuple(both if b is given else b for b in planned.buffers if b is not made)
    needs = replace(step.kernel.needs, in_place=(0,), overlays=True)
    steps = (replace(step, kernel=replace(step.kernel, needs=needs)), *planned.steps[1:])
    with pytest.raises(PlanError, match="a core writes what the other reads"):
        check(replace(planned, steps=steps, buffers=buffers))


@settings(max_examples=examples(24), suppress_health_check=list(HealthCheck))
@given(graphs(most=5), st.sampled_from([DSP, SCALAR, Lowering()]), st.booleans())
def test_any_graph(graph: Graph, how: Lowering, least: bool) -> None:
    goal = TWO_HARTS if how is SCALAR else TWO
    planned = plan(graph, how, replace(goal, least=least))
    execute(planned, stimuli(graph, 1)[0])
    assert all(divided(planned, op, steps) for op, steps in planned.works)
