"""Control flow: each body is a plan of its own, whose arena is in the scratch of the operator's step.

A body finds its inputs where they lie outside of it. The outputs of a branch are computed where they belong; those of a
loop's body are copied there when it has run, because the next turn begins with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mote.compiler.kernels.contract import NHWC, Entry, Layout, Needs, Packed, Price, aligned
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.plan import Bodied, Copy, Plan
from mote.compiler.plan.scheduling.rows import alignment_of, roots
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.plan.selection.offers import Offers
from mote.compiler.plan.selection.request import Lowering
from mote.ir.graph import Graph
from mote.ir.graph.region import Numbers
from mote.ir.ops.control.control_flow import Control, If, While

Make = Callable[[Graph, Lowering, Goal], Plan]
"""Plans a body."""
BETWEEN = 0.25, 0.5, 0.75
"""Where plans of bodies lie between the least RAM and that of the usual plan."""
WORTH = 0.1
"""How much more RAM the usual plan takes where others are tried, as a share of the least."""
CALL = 40.0
"""Estimated cost of calling a body, in the unit of the costs."""


def with_bodies(known: Offers, goal: Goal, make: Make) -> Offers:
    """The offers of a graph, extended by those for control flow."""
    return Bodies(known, goal, make) if any(op.bodies for op in known.graph.ops) else known


class BodyOffers(Offers):
    """Offers for control flow, and those of a graph for all else."""

    def __init__(self, known: Offers, goal: Goal) -> None:
        super().__init__(known.graph)
        self.known, self.goal = known, goal
        self._bodied: dict[tuple[Numbers, Lowering], list[Packed]] = {}

    def bodied(self, op: Control, how: Lowering) -> list[Packed]:
        """The kernels of an operator with bodies."""
        raise NotImplementedError

    def regions(self, how: Lowering) -> list[Numbers]:
        return self.known.regions(how)

    def claimed(self) -> list[Numbers]:
        return self.known.claimed()

    def refusal(self, ops: Numbers, kernel: str) -> str:
        return self.known.refusal(ops, kernel)

    def adding(self, ops: Numbers, how: Lowering) -> Packed | None:
        return self.known.adding(ops, how)

    def ring(self, ops: Numbers, how: Lowering) -> Packed | None:
        return self.known.ring(ops, how)

    def wanted_layouts(self, ops: Numbers, how: Lowering) -> list[Layout]:
        return self.known.wanted_layouts(ops, how)

    def everything(self, ops: Numbers, how: Lowering) -> list[Packed]:
        op = self.graph.ops[ops[0]]
        if not isinstance(op, Control):
            return self.known.everything(ops, how)
        if how.reads != NHWC or how.writes != NHWC:
            return []
        if (ops, how) not in self._bodied:
            self._bodied[ops, how] = self.bodied(op, how)
        return self._bodied[ops, how]

    def goal_of(self, op: Control, body: Graph, *, least: bool = False, ram: int | None = None) -> Goal:
        """The goal of the plan of a body."""
        lent = [*body.inputs, *(s.before for s in body.states), *(_own_outputs(body) if isinstance(op, If) else ())]
        goal = self.goal
        return Goal(
            ram=ram,
            spend=ram is not None,
            flash=goal.flash,
            least=least,
            zone=goal.zone,
            lent=tuple(lent),
            costs=goal.costs,
        )


class Bodies(BodyOffers):
    """Offers for control flow: plans of the bodies, one by the policy, one with the least RAM, and some between."""

    def __init__(self, known: Offers, goal: Goal, make: Make) -> None:
        super().__init__(known, goal)
        self.make = make

    def of(self, graph: Graph) -> Offers:
        return Bodies(self.known.of(graph), self.goal, self.make)

    def bodied(self, op: Control, how: Lowering) -> list[Packed]:
        least = self._kernel(op, how, least=True)
        kernels = [] if self.goal.least else self._faster(op, how, least.needs.scratch or 0)
        sizes = {kernel.needs.scratch: kernel for kernel in (least, *kernels)}
        return list(sizes.values())

    def _faster(self, op: Control, how: Lowering, least: int) -> list[Packed]:
        """The usual plans, and, for a budget of RAM, plans between these and that with the least RAM; none where not
        even that one is within the budget."""
        if self.goal.ram is not None and least + self._live(op) > self.goal.ram:
            return []
        usual = self._kernel(op, how)
        more = (usual.needs.scratch or 0) - least
        between = BETWEEN if self.goal.ram is not None and more > least * WORTH else ()
        return [*(self._kernel(op, how, ram=least + int(more * share)) for share in between), usual]

    def _live(self, op: Control) -> int:
        """Bytes of RAM that the tensors take which bodies read, at least."""
        root, read = roots(self.graph), dict[int, int]()
        for t in (self.graph.tensors[i] for i in op.inputs):
            if t.data is None and t.id not in self.goal.lent:
                read[root[t.id]] = max(t.nbytes, read.get(root[t.id], 0))
        return sum(read.values())

    def _kernel(self, op: Control, how: Lowering, least: bool = False, ram: int | None = None) -> Packed:
        """The plans of all bodies, made for speed, also within a budget of RAM, or for the least RAM."""
        plain = replace(how, reads=NHWC, writes=NHWC)
        plans = tuple(self.make(body, plain, self.goal_of(op, body, least=least, ram=ram)) for body in op.bodies)
        results = plans[-1:] if isinstance(op, While) else plans
        copies = tuple(_copies(op, plan) if any(plan is one for one in results) else () for plan in plans)
        scratch = max(_end(plan, moved) for plan, moved in zip(plans, copies, strict=True))
        taken = [estimate(self.goal.costs, plan) for plan in plans]
        alignment = max(_alignment(plan) for plan in plans)
        return replace(_bodied(op, taken, scratch, alignment), plans=plans, copies=copies)


class BoundedBodies(BodyOffers):
    """Offers for control flow that cost the least that its bodies can, in no memory: plans of none are made."""

    def __init__(self, known: Offers, goal: Goal, least_cost: Callable[[Graph, Lowering, Goal], float]) -> None:
        super().__init__(known, goal)
        self.least_cost = least_cost

    def of(self, graph: Graph) -> Offers:
        return BoundedBodies(self.known.of(graph), self.goal, self.least_cost)

    def bodied(self, op: Control, how: Lowering) -> list[Packed]:
        plain = replace(how, reads=NHWC, writes=NHWC)
        return [_bodied(op, [self.least_cost(body, plain, self.goal_of(op, body)) for body in op.bodies])]


def _bodied(op: Control, costs: Sequence[float], scratch: int = 0, alignment: int = 1) -> Bodied:
    """The kernel of an operator whose bodies cost so much."""
    taken = [cost + CALL for cost in costs]
    turns = 1 if not isinstance(op, While) or op.trips is None else op.trips
    return Bodied(
        op.kind.lower(),
        {},
        entry=Entry(operands=tuple(range(len(op.inputs)))),
        needs=Needs(
            scratch=scratch,
            in_place=tuple(range(len(op.made))) if isinstance(op, While) else (),
            alignment=alignment,
        ),
        price=Price(cost=turns * sum(taken) if isinstance(op, While) else max(taken)),
        family=op.kind.lower(),
    )


def outside(op: Control, plan: Plan, number: int) -> dict[int, int]:
    """Tensors of a body that are stored outside of it, and the outer tensors that they alias."""
    graph = plan.graph
    first = 1 if isinstance(op, If) else 0
    aliases = dict(zip(graph.inputs, op.given[first:], strict=True))
    own = op.kept[number] if op.kept else ()
    states = op.inputs[len(op.given) :]
    aliases |= {s.before: states[i] for s, i in zip(graph.states, own, strict=True)}
    if isinstance(op, While):
        return aliases | dict(zip(graph.inputs, op.made, strict=False))
    made = dict(zip(reversed(graph.outputs), reversed(op.made), strict=True))
    return aliases | {t: made[t] for t in plan.goal.lent if t not in aliases}


def _copies(op: Control, plan: Plan) -> tuple[Copy, ...]:
    """The copies after a body to the operator's outputs."""
    body = plan.graph
    if isinstance(op, If):
        own = set(_own_outputs(body))
        return tuple(Copy(i, t) for i, t in enumerate(body.outputs) if t not in own or t in body.outputs[:i])
    root, step, copies = roots(body), _alignment(plan), []
    at = aligned(plan.arena, step)
    for i, t in enumerate(body.outputs):
        if root[t] == body.inputs[i]:
            continue
        given = root[t] in body.inputs
        copies.append(Copy(i, t, at if given else None))
        at += aligned(body.tensors[t].nbytes, step) if given else 0
    return tuple(copies)


def _alignment(plan: Plan) -> int:
    """The alignment of a body's arena."""
    inner = [steps[0].kernel.needs.alignment for _, steps in plan.works]
    computed = (t for t in plan.graph.tensors.values() if t.data is None)
    return max([alignment_of(computed), *inner])


def _end(plan: Plan, copies: tuple[Copy, ...]) -> int:
    """Bytes of scratch of a body."""
    ends = [c.by_way + aligned(plan.graph.tensors[c.tensor].nbytes) for c in copies if c.by_way is not None]
    return max([plan.arena, *ends])


def _own_outputs(body: Graph) -> list[int]:
    """Outputs that can be written directly to the caller's memory: neither inputs nor duplicates."""
    root = roots(body)
    taken = {*body.inputs, *(s.before for s in body.states), *(s.after for s in body.states)}
    outputs: dict[int, int] = {}
    for t in body.outputs:
        if root[t] not in taken:
            outputs.setdefault(root[t], t)
    return list(outputs.values())
