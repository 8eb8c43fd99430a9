"""External generators against the kernels of the core: the best disjoint regions are taken, within any budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.bench.execute.stimuli import stimuli
from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload.contract import SCRATCH, Artifact, Blob, Generator, Invocation, Offload, Pointer
from mote.compiler.plan.goal import DoesNotFitError, Goal
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.planner import plan
from mote.compiler.plan.selection import cover as covers
from mote.compiler.plan.selection.cover import cover, partition
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.hardware import targets
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op
from mote.ir.graph.region import Numbers, halves, in_order, joined, region_problem
from mote.ir.ops.elementwise.activations import LeakyRelu
from mote.ir.ops.elementwise.arithmetic import Add
from tests.compiler.lower.executor import execute
from tests.compiler.plan.graphs import GraphNet, graphs
from tests.compiler.plan.test_planned_regions import grown
from tests.helpers.support import examples

HOST = targets.load("host")
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "phases": [Phase.generate]}


@dataclass(frozen=True)
class Claim:
    """What a made-up generator asks for a region."""

    share: float
    """Of what the core takes for it."""
    scratch: int = 0
    alignment: int = 4
    constants: int = 0
    memories: tuple[str, ...] = ()


class Claiming(Generator):
    """Claims regions that are made up."""

    def __init__(self, name: str, claims: Mapping[Numbers, Claim]) -> None:
        self.name, self.wanted = name, claims

    def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
        return [joined(graph, [graph.ops[n] for n in ops]) for ops in self.wanted]

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal:
        ops = tuple(graph.places[id(op)] for op in getattr(region, "ops", (region,)))
        claim = self.wanted[ops]
        tensors = [*dict.fromkeys(t for _, t in region.computed(graph)), *region.outputs]
        blobs = (Blob("weights", np.zeros(claim.constants, np.int8)),) if claim.constants else ()
        names = [*tensors, *(blob.name for blob in blobs), *([SCRATCH] if claim.scratch else [])]
        return Artifact(
            calls=(Invocation("compute", tuple(map(Pointer, names))),),
            cost=float(round(claim.share * 40 * sum(graph.tensors[t].size for t in region.outputs))),
            header="compute.h",
            files={"compute.h": ""},
            blobs=blobs,
            scratch=claim.scratch,
            alignment=claim.alignment,
            memories=claim.memories,
        )


def planned(
    graph: Graph, goal: Goal, *generators: Generator, policy: Policy = Policy.SPEED, target: Target = HOST
) -> Plan:
    """A plan that the checker accepts, and that computes what the reference does."""
    made = plan(graph, Lowering(optimize=policy), goal, target.choice("ram"), offload=Offload(generators, target))
    case = stimuli(graph, 1)[0]
    expected = graph.evaluate(case)
    assert all(np.array_equal(value, expected[t]) for t, value in execute(made, case).items())
    return made


def cost(made: Plan) -> float:
    return estimate(made.goal.costs, made)


def subsets(graph: Graph, regions: Iterable[Numbers]) -> list[tuple[Numbers, ...]]:
    """All sets of disjoint regions that can be computed one after another."""
    regions = list(regions)
    every = [chosen for count in range(len(regions) + 1) for chosen in combinations(regions, count)]
    apart = [chosen for chosen in every if len({n for ops in chosen for n in ops}) == sum(map(len, chosen))]
    return [chosen for chosen in apart if in_order(graph, partition(graph, chosen)) is not None]


@given(graphs(), st.data())
@settings(max_examples=examples(150, 25), **QUIET)
def test_the_cover_is_the_best_of_all(graph: Graph, data: st.DataObject) -> None:
    assume(len(graph.ops) > 2)
    regions = data.draw(st.lists(grown(graph), min_size=1, max_size=7, unique=True))
    gains = {ops: data.draw(st.integers(-3, 9)) for ops in regions}
    best = max(sum(gains[ops] for ops in chosen) for chosen in subsets(graph, regions))
    taken = cover(graph, gains)
    assert sum(gains[ops] for ops in taken) == best and set(taken) <= set(regions)
    assert in_order(graph, partition(graph, taken)) is not None


def chain(length: int) -> Graph:
    net = GraphNet()
    x = net.input(1, 4, 4, 4)
    for _ in range(length):
        x = net.op(LeakyRelu, x, alpha=0.3)
    return net.graph(x)


def test_greed_is_not_enough() -> None:
    """The region that saves most stands in the way of two that save more together."""
    gains = {(1, 2): 5.0, (0, 1): 4.0, (2, 3): 4.0}
    assert cover(chain(4), gains) == [(0, 1), (2, 3)]


def test_many_claims_take_no_time() -> None:
    """All intervals of a long chain: every one saves as much as it is long, less one."""
    graph = chain(120)
    gains = {tuple(range(a, b)): (b - a) ** 1.5 for a in range(120) for b in range(a + 2, min(a + 12, 121))}
    taken = cover(graph, gains)
    assert all(len(ops) == 11 for ops in taken[:10]) and sum(map(len, taken)) == 120


def test_circles_are_left_out_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without attempts the cover is still valid."""
    net = GraphNet()
    x = net.input(1, 4, 4, 4)
    one, two = net.op(LeakyRelu, x, alpha=0.1), net.op(LeakyRelu, x, alpha=0.2)
    three, four = net.op(LeakyRelu, two, alpha=0.1), net.op(LeakyRelu, one, alpha=0.2)
    graph = net.graph(three, four)
    monkeypatch.setattr(covers, "in_order", lambda _, chosen: None if {(0, 2), (1, 3)} <= set(chosen) else chosen)
    gains = {(0, 2): 3.0, (1, 3): 4.0}
    assert cover(graph, gains) == [(1, 3)]
    monkeypatch.setattr(covers, "ROUNDS", 0)
    assert cover(graph, gains) == [(1, 3)]


claim = st.builds(
    Claim,
    st.floats(0.05, 2.0),
    st.sampled_from([0, 0, 40, 900]),
    st.sampled_from([4, 4, 16]),
    st.sampled_from([0, 0, 60]),
)


@st.composite
def generators(draw: st.DrawFn, graph: Graph) -> list[Claiming]:
    """One or two generators whose claims overlap."""
    regions = draw(st.lists(grown(graph), min_size=1, max_size=3, unique=True))
    split = draw(st.integers(0, len(regions)))
    parts = [part for part in (regions[:split], regions[split:]) if part]
    return [Claiming(f"made-up-{i}", {ops: draw(claim) for ops in part}) for i, part in enumerate(parts)]


@pytest.mark.slow
@given(graphs(), st.data())
@settings(max_examples=examples(60, 4), **QUIET)
def test_never_worse_than_without(graph: Graph, data: st.DataObject) -> None:
    assume(len(graph.ops) > 2)
    offered = data.draw(generators(graph))
    own = planned(graph, Goal())
    assert cost(planned(graph, Goal(), *offered)) <= cost(own)
    least = planned(graph, Goal(least=True))
    assert planned(graph, Goal(least=True), *offered).ram <= least.ram
    for ram in (least.ram, (least.ram + own.ram) // 2):
        try:
            without = planned(graph, Goal(ram=ram))
        except DoesNotFitError:
            continue
        within = planned(graph, Goal(ram=ram), *offered)
        assert within.ram <= ram and cost(within) <= cost(without)


@given(graphs(), st.data())
@settings(max_examples=examples(40, 2), **QUIET)
def test_best_by_brute_force(graph: Graph, data: st.DataObject) -> None:
    """No choice of regions gives a faster plan within the budget."""
    assume(len(graph.ops) > 2)
    offered = data.draw(generators(graph))
    claims = {ops: one for generator in offered for ops, one in generator.wanted.items()}
    least = planned(graph, Goal(least=True)).ram
    for ram in (None, least + data.draw(st.integers(0, 600))):
        made = planned(graph, Goal(ram=ram), *offered)
        for chosen in subsets(graph, claims):
            only = Claiming("made-up-0", {ops: claims[ops] for ops in chosen})
            try:
                other = planned(graph, Goal(ram=ram), only)
            except DoesNotFitError:
                continue
            assert cost(made) <= cost(other) * 1.0001, chosen


class Splitting(Claiming):
    """Claims everything, and builds regions of few operators."""

    def __init__(self, most: int, claim: Claim) -> None:
        super().__init__("made-up-0", {})
        self.most, self.claim = most, claim

    def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
        return [] if region_problem(graph, graph.ops) else [joined(graph, graph.ops)]

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal:
        ops = tuple(graph.places[id(op)] for op in getattr(region, "ops", (region,)))
        self.wanted = {**self.wanted, ops: self.claim}
        return super().build(region, graph, target) if len(ops) <= self.most else Refusal("too many operators")


@given(graphs(), st.integers(1, 4))
@settings(max_examples=examples(60, 6), **QUIET)
def test_regions_are_split(graph: Graph, most: int) -> None:
    """Until they can be built: by the generator, and within the budget. The parts are disjoint regions."""
    assume(not region_problem(graph, graph.ops))
    offer = Offload((Splitting(most, Claim(0.001)),), HOST).built(graph)
    parts = [n for ops in offer.kernels for n in ops]
    assert len(parts) == len(set(parts)) and all(len(ops) <= most for ops in offer.kernels)
    assert all("too many" in one.why for one in offer.declined)
    every = Splitting(len(graph.ops), Claim(0.001))
    ram = planned(graph, Goal()).ram
    offload = Offload((every,), HOST, ram)
    for ops, (kernel,) in offload.kernels(graph).items():
        region = joined(graph, [graph.ops[n] for n in ops])
        large = offload.too_large(region, graph, kernel.artifact)
        declined = {one.ops: one.why for one in offload.built(graph).declined}
        assert large == declined.get(ops, "")


def test_where_a_region_is_cut() -> None:
    """At the narrowest tensor near the middle; what is not connected becomes regions of their own."""
    net = GraphNet()
    x = net.conv(net.input(1, 4, 4, 3), 8)
    narrow = net.conv(net.conv(x, 16), 2)
    graph = net.graph(net.conv(net.conv(narrow, 12), 9))
    parts = halves(graph, joined(graph, graph.ops))
    assert [[op.outputs[0] for op in getattr(part, "ops", (part,))] for part in parts] == [
        [op.outputs[0] for op in graph.ops[:3]],
        [op.outputs[0] for op in graph.ops[3:]],
    ]
    assert halves(graph, graph.ops[0]) == []
    net = GraphNet()
    x, y = net.input(1, 4, 4, 4), net.input(1, 4, 4, 4)
    left, right = net.op(LeakyRelu, x, alpha=0.1), net.op(LeakyRelu, y, alpha=0.2)
    graph = net.graph(net.op(Add, left, right))
    assert len(halves(graph, joined(graph, graph.ops))) in (2, 3)


def test_a_split_into_the_same_is_an_error() -> None:
    class Stubborn(Splitting):
        def split(self, region: Op, graph: Graph, target: Target) -> Iterable[Op]:
            return [region]

    with pytest.raises(MoteError, match="parts that are not smaller"):
        Offload((Stubborn(1, Claim(0.1)),), HOST).built(chain(3))


def test_a_budget_that_only_parts_fit() -> None:
    """The whole network needs more working memory than there is; its parts do not."""
    graph = chain(6)
    large = Splitting(9, Claim(0.001))
    large.build = lambda region, graph, target: replace(  # type: ignore[method-assign]
        Splitting.build(large, region, graph, target), scratch=900 if len(getattr(region, "ops", ())) > 2 else 0
    )
    made = plan(graph, Lowering(optimize=Policy.SPEED), Goal(ram=200), offload=Offload((large,), HOST, 200))
    assert {len(step.ops) for step in made.steps} == {1, 2} and made.ram <= 200
    assert {step.kernel.name for step in made.steps} == {"made-up-0"}


H7 = targets.load("stm32h743")
RAMS = [memory.name for memory in H7.choice("ram")]


@given(graphs(), st.data())
@settings(max_examples=examples(60, 3), **QUIET)
def test_tensors_lie_where_all_reach_them(graph: Graph, data: st.DataObject) -> None:
    """Generators that reach some memories only: the checker looks at every tensor, and there is always a plan."""
    assume(len(graph.ops) > 2)
    memories = st.lists(st.sampled_from(RAMS), min_size=1, max_size=2, unique=True).map(tuple)
    claims = st.builds(Claim, st.floats(0.001, 0.01), memories=memories)
    regions = data.draw(st.lists(grown(graph), min_size=1, max_size=4, unique=True))
    made = planned(graph, Goal(), Claiming("made-up-0", {ops: data.draw(claims) for ops in regions}), target=H7)
    assert {step.ops for step in made.steps} & set(regions)
    for step in made.steps:
        reached = step.kernel.needs.memories
        tensors = {t for _, t in made.op(step).computed(graph)} | set(made.op(step).outputs)
        assert not reached or {made.memories[made.place[t].memory].name for t in tensors} <= set(reached)


def test_the_better_of_two_that_cannot_meet() -> None:
    """Two regions share a tensor, and no memory: the one that saves less is left to the core, unless it is pinned."""
    graph = chain(4)
    small, large = Claim(0.02, memories=(RAMS[0],)), Claim(0.001, memories=(RAMS[1],))
    both = Claiming("made-up-0", {(0, 1): small, (2, 3): large})
    assert (2, 3) in {step.ops for step in planned(graph, Goal(), both, target=H7).steps}
    made = planned(graph, Goal(pins={"0": "made-up-0"}), both, target=H7)
    assert (0, 1) in {step.ops for step in made.steps} and (2, 3) not in {step.ops for step in made.steps}
    with pytest.raises(MoteError, match="no memory of the target can be reached by all"):
        planned(graph, Goal(pins={"0": "made-up-0", "2": "made-up-0"}), both, target=H7)


@given(graphs(), st.data(), st.sampled_from([Policy.BALANCED, Policy.SIZE]))
@settings(max_examples=examples(60, 3), **QUIET)
def test_other_policies(graph: Graph, data: st.DataObject, policy: Policy) -> None:
    """Plans for size or for both are valid and fit what fits without generators."""
    assume(len(graph.ops) > 2)
    offered = data.draw(generators(graph))
    least = planned(graph, Goal(least=True), policy=policy)
    assert planned(graph, Goal(least=True), *offered, policy=policy).ram <= least.ram
    assert planned(graph, Goal(ram=least.ram, spend=False), *offered, policy=policy).ram <= least.ram
    planned(graph, Goal(), *offered, policy=policy)
