"""Costs of integer graphs on a target, checked against limits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from mote.base.errors import BudgetError
from mote.compiler.settings import Settings
from mote.ir.graph import Graph
from mote.optimize.nas.costs.compiled_costs import limited
from mote.optimize.nas.costs.network_costs import CostLimits, DoesNotFit, NetworkCosts
from mote.optimize.nas.costs.pricer import planned_costs
from mote.optimize.search import digest


@dataclass(frozen=True, eq=False)
class GraphPricing:
    """Costs of integer graphs from the compiler's final plan; code size is estimated, not linked."""

    settings: Settings
    limits: CostLimits

    @cached_property
    def key(self) -> str:
        """Digest of target, settings and limits."""
        return digest(self.settings.target.name, self.settings.optimize, self.limits)

    def costs(self, graph: Graph) -> NetworkCosts | DoesNotFit:
        """Costs of a graph, or the limit that it exceeds."""
        try:
            return limited(planned_costs(graph, self.settings), self.limits)
        except BudgetError as error:
            return DoesNotFit(error.reason)
