"""Reports of kernel selection: the candidates of each operator, with reasons for the chosen one and against others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import NHWC, Call, Packed, Refusal, View, written
from mote.compiler.kernels.cost import Costs
from mote.compiler.plan.plan import Option, Plan, SplitKernel, Step
from mote.compiler.plan.selection.select import Selection
from mote.ir.graph import Graph, Op
from mote.ir.graph.region import Numbers


def choices(selection: Selection, plan: Plan) -> Mapping[Numbers, tuple[Option, ...]]:
    """By operator numbers: the candidate kernels with reasons, for all operators of a plan that the selection also
    has."""
    graph, candidates = selection.graph, selection.candidates
    steps = [(op, steps[0]) for op, steps in plan.works if steps[0].ops in selection.ops]
    pinned = {step.ops for _, step in steps if candidates.pinned(step.ops)}
    return {
        s.ops: options(selection.costs, graph, op, s, _choice(selection, s), selection.rate, pinned=s.ops in pinned)
        for op, s in steps
    }


def _choice(selection: Selection, step: Step) -> list[Packed]:
    """The kernels that were considered for a step; for a pinned one, all that there are without the pin."""
    if selection.candidates.pinned(step.ops):
        return selection.candidates.all_kernels(step.ops, selection.lowering(selection.ops[step.ops]))
    kernels = selection.variants[step.ops] if step.whole else selection.on_one_core[step.ops]
    better = {k.name for k in kernels if isinstance(k, SplitKernel) or k.loaded}
    return [k for k in kernels if isinstance(k, SplitKernel) or k.loaded or k.name not in better]


@dataclass(frozen=True)
class Refused:
    """A kernel of the core that does not fit an operator, and the reason."""

    kernel: str
    why: str


def refusals(plan: Plan, step: Step) -> list[Refused]:
    """The kernels that do not fit the operators of a step in its layouts, with reasons."""
    if any(n < 0 for n in step.ops):
        return []
    ops = tuple(plan.graph.ops[n] for n in step.ops)
    view = View(plan.graph, ops, step.kernel.needs.reads, step.kernel.needs.writes)
    asked = catalogue.attempts(view, plan.how.features, plan.how.fixed, plan.how.priced)
    return [Refused(kernel.name, answer.why) for kernel, answer in asked if isinstance(answer, Refusal)]


def options(
    costs: Costs, graph: Graph, op: Op, step: Step, kernels: Sequence[Packed], rate: float, *, pinned: bool
) -> tuple[Option, ...]:
    """The candidate kernels of the operator of `step` with reasons, the chosen one first, without its variants for
    other layouts. `rate`: cycles that a byte of flash must save."""
    chosen = step.kernel
    layouts = chosen.needs.reads, chosen.needs.writes
    twins = {k.name for k in kernels if k.family == chosen.family and (k.needs.reads, k.needs.writes) != layouts}
    others = [k for k in kernels if k.name not in twins and k.variant != chosen.variant]

    def take(k: Packed) -> int:
        return round(costs.of(graph, op, k, step.whole))

    def why(k: Packed) -> str:
        saved, more = take(chosen) - take(k), k.own_flash - chosen.own_flash
        if not step.whole and k.entry.call is Call.WHOLE:
            return "cannot run by rows"
        if pinned and saved > 0:
            return f"would save {saved:,} {costs.unit}"
        if saved <= 0:
            return "slower" if more >= 0 else f"slower, {-more:,} bytes less"
        if chosen.entry.call is Call.ADDS and k.entry.call is not Call.ADDS:
            return "needs all rows at once"
        own = k.needs.reads, k.needs.writes
        if own != layouts:
            return f"no room for {next(layout for layout in (*own, *layouts) if layout != NHWC).name} rows"
        if saved <= rate * more:
            return f"saves {saved:,} {costs.unit} for {more:,} bytes"
        return f"no room for {k.needs.scratch or 0:,} bytes"

    def option(k: Packed, text: str) -> Option:
        return Option(
            k.variant, f"{k.family}{written(k.knobs)}", take(k), k.own_flash, k.needs.scratch or 0, k is chosen, text
        )

    reason = "pinned" if pinned else "only one" if not others else _reason(chosen, others, take)
    reason += f", {1 - chosen.price.density:.0%} of its blocks are zero" if chosen.price.density < 1 else ""
    reason += f", {chosen.sealed.nbytes:,} bytes of constants copied to RAM" if chosen.loaded and chosen.sealed else ""
    reason += ", takes less than a kernel for each operator" if len(step.ops) > 1 else ""
    return (option(chosen, reason), *(option(k, why(k)) for k in sorted(others, key=take)))


def _reason(chosen: Packed, others: list[Packed], take: Callable[[Packed], int]) -> str:
    if all(take(chosen) <= take(k) for k in others):
        return "fastest"
    if chosen.entry.call is Call.ADDS:
        return "takes rows as they come"
    if all(chosen.own_flash <= k.own_flash for k in others):
        return "least flash"
    if all((chosen.needs.scratch or 0) <= (k.needs.scratch or 0) for k in others):
        return "least scratch"
    return "best for its size"
