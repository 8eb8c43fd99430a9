"""For each region that a backend was asked for: whether it computes it, and its cost compared with Mote's kernels."""

from __future__ import annotations

from dataclasses import dataclass

from mote.compiler.kernels.cost import Costs
from mote.compiler.offload.contract import Declined, Offload, Offloaded, ram_of
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.scheduling.rows import is_alias
from mote.compiler.plan.selection.candidates import candidates_of
from mote.compiler.plan.selection.request import Lowering
from mote.ir.graph import Graph
from mote.ir.graph.region import Numbers


@dataclass(frozen=True)
class ExternalRegion:
    """A region that a backend was asked for, as `mote plan --json` prints it."""

    backend: str
    """The name of the generator."""
    variant: str
    """The artifact that the plan contains, or else the cheapest; empty if the backend has only one for the region."""
    layers: tuple[str, ...]
    """The numbers of its layers."""
    taken: bool
    """Whether the backend computes it in the plan."""
    cost: int | None
    """The estimated cost of the backend, in the unit of the cost table; None if it has no artifact that fits."""
    own_cost: int | None
    """The estimated cost of Mote's kernels, layer by layer; None if they cannot compute some layer."""
    ram: int | None
    """Bytes of its inputs, outputs and scratch; None if it has no artifact that fits."""
    why: str
    """The reason for or against it."""


def external_regions(plan: Plan, offload: Offload) -> list[ExternalRegion]:
    """The regions that backends were asked for, in the order of their layers."""
    built, graph, costs = offload.built(plan.graph), plan.graph, plan.goal.costs
    taken = {steps[0].ops: steps[0].kernel for _, steps in plan.works if isinstance(steps[0].kernel, Offloaded)}
    owner = {n: ops for ops in taken for n in ops}
    regions: list[tuple[Numbers, ExternalRegion]] = []
    for ops, kernels in built.kernels.items():
        own = _own_cost(graph, plan.how, costs, ops)
        for backend in dict.fromkeys(kernel.name for kernel in kernels):
            chosen = taken.get(ops)
            is_taken = chosen is not None and chosen.name == backend
            cheapest = min((k for k in kernels if k.name == backend), key=lambda k: k.artifact.cost)
            kernel = chosen if isinstance(chosen, Offloaded) and is_taken else cheapest
            ram, cost = ram_of(kernel.artifact, candidates_of(graph).op(ops), graph), round(kernel.artifact.cost)
            if is_taken:
                why = _for(plan, ops, cost, own)
            else:
                why = _against(plan, ops, kernel, own, {owner[n] for n in ops if n in owner}, offload)
            layers = tuple(graph.numbers[n] for n in ops)
            variant = kernel.artifact.variant
            regions.append((ops, ExternalRegion(backend, variant, layers, is_taken, cost, own, ram, why)))
    for declined in built.declined:
        if all((declined.ops, declined.generator) != (ops, region.backend) for ops, region in regions):
            own = _own_cost(graph, plan.how, costs, declined.ops)
            regions.append((declined.ops, _declined(graph, declined, own)))
    return [region for _, region in sorted(regions, key=lambda pair: (pair[0], pair[1].backend))]


def _declined(graph: Graph, declined: Declined, own: int | None) -> ExternalRegion:
    layers = tuple(graph.numbers[n] for n in declined.ops)
    return ExternalRegion(declined.generator, "", layers, False, None, own, None, declined.why)


def _own_cost(graph: Graph, how: Lowering, costs: Costs, ops: Numbers) -> int | None:
    core, total = candidates_of(graph), 0.0
    for n in ops:
        if is_alias(graph, graph.ops[n]):
            continue
        kernels = core.all_kernels((n,), how)
        if not kernels:
            return None
        total += min(costs.of(graph, graph.ops[n], kernel, True) for kernel in kernels)
    return round(total)


def _for(plan: Plan, ops: Numbers, cost: int, own: int | None) -> str:
    option = next((o for o in plan.choices.get(ops, ()) if o.chosen), None)
    if option is not None and option.why.startswith("pinned"):
        return "pinned"
    if own is None:
        return "Mote has no kernel for it"
    return f"saves {own - cost:,} {plan.goal.costs.unit}" if cost <= own else "takes less memory"


def _against(
    plan: Plan, ops: Numbers, kernel: Offloaded, own: int | None, instead: set[Numbers], offload: Offload
) -> str:
    """The reason why a plan does not use an artifact."""
    graph, unit, cost = plan.graph, plan.goal.costs.unit, round(kernel.artifact.cost)
    if large := offload.too_large(candidates_of(graph).op(ops), graph, kernel.artifact):
        return large
    if instead:
        names = {"+".join(graph.numbers[n] for n in other) for other in instead}
        return f"layer {', '.join(sorted(names))} is computed by an external generator with less cost"
    if own is not None and cost >= own:
        return f"Mote's kernels take {cost - own:,} {unit} less"
    if any(str(number) in plan.goal.pins for n in ops for number in (graph.numbers[n], graph.ops[n].name)):
        return "other kernels are pinned"
    saved = f"would save {own - cost:,} {unit}" if own is not None else "could be used"
    return f"{saved}; its RAM and flash, or what the layers around it then take, are too much for the goal"
