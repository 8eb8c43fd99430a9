"""Costs of networks on a target in three steps: lower bound from shapes, quick estimate, full plan."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from mote.base.errors import BudgetError, MoteError
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.emit.c.project import Job, constant_bytes
from mote.compiler.kernels.catalogue import instruction_sets
from mote.compiler.line import planned
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.selection.code_size_model import flash
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.settings import Settings
from mote.ir.graph import Graph
from mote.optimize.nas.costs.bounds import bounds
from mote.optimize.nas.costs.compiled_costs import limited, timed
from mote.optimize.nas.costs.estimates import CODE, estimated
from mote.optimize.nas.costs.network_costs import CostLimits, DoesNotFit, NetworkCosts
from mote.optimize.nas.graphs.integers import integer_graph
from mote.optimize.nas.spaces.network import Network

NEAR = 1.25
"""Maximum ratio of a quick estimate to the plan's flash and cycles: estimates that exceed a limit by more are rejected
without a plan."""

Verdict = NetworkCosts | DoesNotFit


@dataclass
class Pricer:
    """Costs of networks as `mote compile` with these settings computes them; RAM and flash limits are passed as
    budgets. Results are cached."""

    settings: Settings
    limits: CostLimits = field(default_factory=CostLimits)
    _estimates: dict[str, Verdict] = field(default_factory=dict, repr=False)
    _costs: dict[str, Verdict] = field(default_factory=dict, repr=False)

    def compiled_with(self, network: Network) -> Settings:
        """Settings that a network is compiled with, with limits as budgets and its preprocessing."""
        settings, limits = self.settings, self.limits
        return replace(
            settings,
            ram=settings.ram if limits.ram is None else limits.ram,
            flash=settings.flash if limits.flash is None else limits.flash,
            preprocess=network.preprocess or settings.preprocess,
        )

    def bound(self, network: Network) -> NetworkCosts:
        """Lower bounds of the network's costs, from layer shapes."""
        return timed(self.settings.target, *bounds(network, self.compiled_with(network)))

    def may_fit(self, network: Network) -> bool:
        """Whether the lower bounds are within the limits."""
        return isinstance(self._bounded(network), NetworkCosts)

    def estimate(self, network: Network) -> Verdict:
        """Quickly estimated costs to rank networks, or a limit that is certainly exceeded. RAM is that of layers run
        one at a time, capped at the limit, since running row by row needs less."""
        key = _key(network)
        if key not in self._estimates:
            bound = self._bounded(network)
            self._estimates[key] = bound if isinstance(bound, DoesNotFit) else self._estimated(network)
        return self._estimates[key]

    def costs(self, network: Network) -> Verdict:
        """Costs from the full plan (code size estimated), or the limit that is exceeded."""
        key = _key(network)
        if key not in self._costs:
            quick = self.estimate(network)
            self._costs[key] = quick if isinstance(quick, DoesNotFit) else self._planned(network)
        return self._costs[key]

    def likely(self, network: Network) -> Verdict:
        """The quick estimate if it is well within all limits, else the costs from the plan."""
        quick = self.estimate(network)
        if isinstance(quick, DoesNotFit):
            return quick
        settings = self.compiled_with(network)
        limits = replace(self.limits, ram=settings.ram_limit, flash=settings.flash_limit)
        more = timed(settings.target, *(int(NEAR * cost) for cost in (quick.ram, quick.flash, quick.cycles)))
        return quick if isinstance(limited(more, limits), NetworkCosts) else self.costs(network)

    def _bounded(self, network: Network) -> Verdict:
        return limited(self.bound(network), self.limits, least=True)

    def _estimated(self, network: Network) -> Verdict:
        settings = self.compiled_with(network)
        try:
            ram, nbytes, cycles = estimated(integer_graph(network), settings)
        except MoteError:  # an operator that cannot run by itself, as a loop over time: only a plan tells
            return self._planned(network)
        ram = ram if settings.ram_limit is None else min(ram, settings.ram_limit)
        sure = limited(timed(settings.target, 0, int(nbytes / NEAR), int(cycles / NEAR)), self.limits, least=True)
        return sure if isinstance(sure, DoesNotFit) else timed(settings.target, ram, nbytes, cycles)

    def _planned(self, network: Network) -> Verdict:
        try:
            costs = planned_costs(integer_graph(network), self.compiled_with(network))
        except BudgetError as error:
            return DoesNotFit(error.reason)
        except MoteError as error:
            return DoesNotFit(str(error))
        return limited(costs, self.limits)


def planned_costs(graph: Graph, settings: Settings) -> NetworkCosts:
    """Costs of an integer graph from the full plan; code size is estimated."""
    plan = planned(graph, settings)
    return timed(settings.target, plan.ram, flash_of(plan, settings), round(estimate(settings.costs, plan)))


def flash_of(plan: Plan, settings: Settings) -> int:
    """Flash bytes of a plan: constants as emitted in C, code as estimated."""
    kernels = [steps[0].kernel for _, steps in plan.works]
    code = flash(kernels) - sum(kernel.own_flash for kernel in kernels)
    return constants_of(plan, settings) + round(code) + CODE


def constants_of(plan: Plan, settings: Settings) -> int:
    """Bytes of a plan's constants in the generated C."""
    target = settings.target
    options = ProjectOptions(
        name="network",
        target=target.name,
        optimize=settings.built_for,
        core_flags=target.gcc_flags,
        cpu=target.cpu,
        instruction_sets=instruction_sets(target),
        fused="fma" in target.features,
        flash_apart=target.core.flash_apart,
    )
    return constant_bytes(Job(plan, options))


def _key(network: Network) -> str:
    return repr(network)
