"""Costs of integer graphs on a target, within limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from mote.compiler.code_size import code_size
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile_graph
from mote.compiler.settings import Settings
from mote.errors import BudgetError
from mote.graph import Graph
from mote.nas.costs.compiled_costs import limited, timed
from mote.nas.costs.network_costs import CostLimits, DoesNotFit, NetworkCosts
from mote.search import digest


@dataclass(frozen=True, eq=False)
class GraphPricing:
    """What integer graphs cost as they are compiled; code is linked once for all plans with the same kernels."""

    settings: Settings
    limits: CostLimits
    codes: dict[frozenset[object], int] = field(default_factory=dict)
    """Bytes of code by the kernels."""

    @cached_property
    def key(self) -> str:
        """A digest of target, settings and limits."""
        return digest(self.settings.target.name, self.settings.optimize, self.limits)

    def costs(self, graph: Graph) -> NetworkCosts | DoesNotFit:
        """The costs of a graph, or the limit that it exceeds."""
        try:
            compiled = compile_graph(graph, self.settings)
        except BudgetError as error:
            return DoesNotFit(error.reason)
        flash = compiled.project.constants + self._code(compiled)
        return limited(timed(self.settings.target, compiled.plan.ram, flash, compiled.cost), self.limits)

    def _code(self, compiled: Compiled) -> int:
        kernels = frozenset(step.kernel.files for step in compiled.plan.steps)
        if kernels not in self.codes:
            self.codes[kernels] = code_size(compiled).nbytes
        return self.codes[kernels]
