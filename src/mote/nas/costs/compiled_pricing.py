"""Costs of networks by compiling them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from mote.compiler.line import compile_graph
from mote.compiler.settings import Settings
from mote.errors import BudgetError
from mote.nas.costs.compiled_costs import limited, timed
from mote.nas.costs.network_costs import CostLimits, DoesNotFit, NetworkCosts
from mote.nas.graphs import integer_graph
from mote.nas.spaces.network import Network
from mote.search import digest


@dataclass(frozen=True, eq=False)
class CompiledPricing:
    """Costs of networks as they are compiled."""

    settings: Settings
    limits: CostLimits

    @cached_property
    def key(self) -> str:
        """A digest of target, settings and limits."""
        return digest(self.settings.target.name, self.settings.optimize, self.limits)

    def costs(self, network: Network) -> NetworkCosts | DoesNotFit:
        """The costs of the int8 model, or why it exceeds a limit."""
        try:
            compiled = compile_graph(integer_graph(network), self.settings)
        except BudgetError as error:
            return DoesNotFit(error.reason)
        return limited(
            timed(self.settings.target, compiled.plan.ram, compiled.project.constants, compiled.cost), self.limits
        )
