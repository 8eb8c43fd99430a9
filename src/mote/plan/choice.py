"""Why an operator got the kernel that it has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mote.graph import Graph, Op
from mote.kernels.cost import Costs
from mote.plan.kernel import Call, Kernel
from mote.plan.plan import Step


@dataclass(frozen=True)
class Option:
    """A kernel that could compute an operator; `why` it does, or does not."""

    kernel: str
    family: str
    cost: int
    """About what it takes, in the unit of the core's table."""
    constants: int
    """Bytes of flash."""
    scratch: int
    chosen: bool
    why: str


def options(
    costs: Costs, graph: Graph, op: Op, step: Step, kernels: Iterable[Kernel], rate: float
) -> tuple[Option, ...]:
    """The kernels of an operator that `step` is of, the chosen one first; `rate`: what a byte of flash has to save."""
    chosen = step.kernel
    others = [k for k in kernels if k.name != chosen.name]

    def take(k: Kernel) -> int:
        return round(costs.of(graph, op, k, step.whole))

    def why(k: Kernel) -> str:
        saved, more = take(chosen) - take(k), k.constants - chosen.constants
        if not step.whole and k.call is Call.WHOLE:
            return "cannot run by rows"
        if saved <= 0:
            return "slower" if more >= 0 else f"slower, {-more:,} bytes less"
        if (k.reads, k.writes) != (chosen.reads, chosen.writes):
            return "no room for planar rows"
        if saved <= rate * more:
            return f"saves {saved:,} {costs.unit} for {more:,} bytes"
        return f"no room for {k.scratch or 0:,} bytes"

    def option(k: Kernel, text: str) -> Option:
        return Option(k.name, k.family, take(k), k.constants, k.scratch or 0, k is chosen, text)

    reason = "only one" if not others else _reason(chosen, others, take)
    reason += f", {1 - chosen.density:.0%} of its blocks are zero" if chosen.density < 1 else ""
    return (option(chosen, reason), *(option(k, why(k)) for k in sorted(others, key=take)))


def _reason(chosen: Kernel, others: list[Kernel], take: Callable[[Kernel], int]) -> str:
    if all(take(chosen) <= take(k) for k in others):
        return "fastest"
    if all(chosen.constants <= k.constants for k in others):
        return "least flash"
    if all((chosen.scratch or 0) <= (k.scratch or 0) for k in others):
        return "least scratch"
    return "best for its size"
