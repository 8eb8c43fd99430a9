"""Reference results for models with regions of external generators that need not be bit-exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mote.base.errors import MoteError
from mote.compiler.offload.backends import named
from mote.compiler.offload.contract import Judgement, Offloaded
from mote.compiler.plan.plan import Plan
from mote.ir.graph import Graph, Op
from mote.ir.graph.region import Numbers, in_order, joined
from mote.ir.graph.tensor import Array

Given = Callable[["ExternalPart"], Mapping[int, Array]]
"""Callback that returns the outputs that the compiled code computed for a part, by tensor id."""


@dataclass(frozen=True)
class ExternalPart:
    """A region computed by an external generator that need not be bit-exact."""

    place: int
    """Index in `Plan.works`."""
    ops: Numbers
    region: Op
    kernel: Offloaded

    @property
    def is_run(self) -> bool:
        return self.kernel.artifact.judgement is not Judgement.REFERENCE

    def reference(self, graph: Graph, values: Sequence[Array | None]) -> list[Array]:
        """Outputs according to the generator's own reference."""
        (generator,) = named([self.kernel.family])
        return generator.reference(self.region, graph, values)


def parts(plan: Plan) -> list[ExternalPart]:
    """The regions of a plan that need not be bit-exact."""
    apart = [
        ExternalPart(i, steps[0].ops, op, steps[0].kernel)
        for i, (op, steps) in enumerate(plan.works)
        if isinstance(steps[0].kernel, Offloaded)
        if steps[0].kernel.artifact.judgement is not Judgement.EXACT
    ]
    if apart and plan.graph.states:
        raise MoteError(
            f"layer '{apart[0].region.name}' is not exact, and what it gives is kept in states for the next inference",
            where=f"generator '{apart[0].kernel.family}'",
            remedy="verify the model without states, or omit --backend",
        )
    return apart


def followed(
    graph: Graph, apart: Sequence[ExternalPart], case: Mapping[int, Array], given: Given
) -> tuple[dict[int, Array], dict[int, Array]]:
    """Expected values of all tensors, and the values that their consumers read: for an external region its own outputs,
    else the expected values."""
    by_ops = {part.ops: part for part in apart}
    inside = {n for ops in by_ops for n in ops}
    pieces = [*by_ops, *((n,) for n in range(len(graph.ops)) if n not in inside)]
    expected, known = dict[int, Array](), dict(case)
    for ops in in_order(graph, pieces) or ():
        op = joined(graph, [graph.ops[n] for n in ops])
        values = graph.arguments(op, known)
        wanted = op.stored(graph, op.evaluate(graph, values))
        expected |= wanted
        part = by_ops.get(ops)
        if part is None:
            known |= wanted
        else:
            known |= given(part) if part.is_run else op.stored(graph, part.reference(graph, values))
    return expected, known
