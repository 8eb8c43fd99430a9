"""Control flow: each body of an IF or WHILE has its own plan, whose arena is in the scratch buffer of the operator.

A body reads its inputs in the memory of the outer plan (memory that is lent, see `rows.LENT`). The outputs of a branch
are written there directly; those of a loop body are copied to the loop variables after each iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mote.compiler.kernels.contract import NHWC, Entry, Layout, Needs, Packed, Price, aligned
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.plan import ControlFlowKernel, Copy, Plan
from mote.compiler.plan.scheduling.rows import alignment_of, roots
from mote.compiler.plan.selection.candidates import Candidates
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.plan.selection.request import Lowering
from mote.ir.graph import Graph
from mote.ir.graph.region import Numbers
from mote.ir.ops.control.control_flow import Control, If, While

Make = Callable[[Graph, Lowering, Goal], Plan]
"""Callback: plans the graph of a control flow body."""
BETWEEN = 0.25, 0.5, 0.75
"""RAM budgets of further plans of bodies, as shares of the way from the least RAM to that of the default plan."""
WORTH = 0.1
"""Further plans are tried if the default plan takes at least this share more RAM than the least."""
CALL = 40.0
"""Estimated cost of calling a body, in the unit of the costs."""


def with_bodies(inner: Candidates, goal: Goal, make: Make) -> Candidates:
    """The candidates of a graph, extended by kernels for its IF and WHILE operators, if it has any."""
    return ControlFlowCandidates(inner, goal, make) if any(op.bodies for op in inner.graph.ops) else inner


class BodyCandidates(Candidates):
    """Adds candidates for IF and WHILE to those of a graph."""

    def __init__(self, inner: Candidates, goal: Goal) -> None:
        super().__init__(inner.graph)
        self.inner, self.goal = inner, goal
        self._bodied: dict[tuple[Numbers, Lowering], list[Packed]] = {}

    def control_kernels(self, op: Control, how: Lowering) -> list[Packed]:
        """The kernels of an operator with bodies."""
        raise NotImplementedError

    def regions(self, how: Lowering) -> list[Numbers]:
        return self.inner.regions(how)

    def external_regions(self) -> list[Numbers]:
        return self.inner.external_regions()

    def refusal(self, ops: Numbers, kernel: str) -> str:
        return self.inner.refusal(ops, kernel)

    def accumulating(self, ops: Numbers, how: Lowering) -> Packed | None:
        return self.inner.accumulating(ops, how)

    def ring_kernel(self, ops: Numbers, how: Lowering) -> Packed | None:
        return self.inner.ring_kernel(ops, how)

    def wanted_layouts(self, ops: Numbers, how: Lowering) -> list[Layout]:
        return self.inner.wanted_layouts(ops, how)

    def all_kernels(self, ops: Numbers, how: Lowering) -> list[Packed]:
        op = self.graph.ops[ops[0]]
        if not isinstance(op, Control):
            return self.inner.all_kernels(ops, how)
        if how.reads != NHWC or how.writes != NHWC:
            return []
        if (ops, how) not in self._bodied:
            self._bodied[ops, how] = self.control_kernels(op, how)
        return self._bodied[ops, how]

    def goal_of(self, op: Control, body: Graph, *, least: bool = False, ram: int | None = None) -> Goal:
        """The goal for the plan of a body."""
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


class ControlFlowCandidates(BodyCandidates):
    """Adds candidates for IF and WHILE: a kernel with the default plans of the bodies, one with the plans of least RAM,
    and some between."""

    def __init__(self, inner: Candidates, goal: Goal, make: Make) -> None:
        super().__init__(inner, goal)
        self.make = make

    def of(self, graph: Graph) -> Candidates:
        return ControlFlowCandidates(self.inner.of(graph), self.goal, self.make)

    def control_kernels(self, op: Control, how: Lowering) -> list[Packed]:
        least = self._kernel(op, how, least=True)
        kernels = [] if self.goal.least else self._faster(op, how, least.needs.scratch or 0)
        sizes = {kernel.needs.scratch: kernel for kernel in (least, *kernels)}
        return list(sizes.values())

    def _faster(self, op: Control, how: Lowering, least: int) -> list[Packed]:
        """Kernels that are faster than the one with `least` bytes of scratch: with the default plans of the bodies, and
        with plans between, if RAM has a budget; none if not even `least` fits the budget."""
        if self.goal.ram is not None and least + self._live(op) > self.goal.ram:
            return []
        usual = self._kernel(op, how)
        more = (usual.needs.scratch or 0) - least
        between = BETWEEN if self.goal.ram is not None and more > least * WORTH else ()
        return [*(self._kernel(op, how, ram=least + int(more * share)) for share in between), usual]

    def _live(self, op: Control) -> int:
        """A lower bound for the bytes of RAM of the tensors that bodies read."""
        root, read = roots(self.graph), dict[int, int]()
        for t in (self.graph.tensors[i] for i in op.inputs):
            if t.data is None and t.id not in self.goal.lent:
                read[root[t.id]] = max(t.nbytes, read.get(root[t.id], 0))
        return sum(read.values())

    def _kernel(self, op: Control, how: Lowering, least: bool = False, ram: int | None = None) -> Packed:
        """The kernel of a control flow operator, its bodies planned for least RAM, within a RAM budget, or by
        default."""
        plain = replace(how, reads=NHWC, writes=NHWC)
        plans = tuple(self.make(body, plain, self.goal_of(op, body, least=least, ram=ram)) for body in op.bodies)
        results = plans[-1:] if isinstance(op, While) else plans
        copies = tuple(_copies(op, plan) if any(plan is one for one in results) else () for plan in plans)
        scratch = max(_end(plan, moved) for plan, moved in zip(plans, copies, strict=True))
        taken = [estimate(self.goal.costs, plan) for plan in plans]
        alignment = max(_alignment(plan) for plan in plans)
        return replace(_control_kernel(op, taken, scratch, alignment), plans=plans, copies=copies)


class BoundedCandidates(BodyCandidates):
    """Adds candidates for IF and WHILE with a lower bound of the cost of their bodies, which are not planned."""

    def __init__(self, inner: Candidates, goal: Goal, least_cost: Callable[[Graph, Lowering, Goal], float]) -> None:
        super().__init__(inner, goal)
        self.least_cost = least_cost

    def of(self, graph: Graph) -> Candidates:
        return BoundedCandidates(self.inner.of(graph), self.goal, self.least_cost)

    def control_kernels(self, op: Control, how: Lowering) -> list[Packed]:
        plain = replace(how, reads=NHWC, writes=NHWC)
        return [_control_kernel(op, [self.least_cost(body, plain, self.goal_of(op, body)) for body in op.bodies])]


def _control_kernel(op: Control, costs: Sequence[float], scratch: int = 0, alignment: int = 1) -> ControlFlowKernel:
    """The kernel of an IF or WHILE, from the costs of its bodies."""
    taken = [cost + CALL for cost in costs]
    turns = 1 if not isinstance(op, While) or op.trips is None else op.trips
    return ControlFlowKernel(
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
    """Maps tensors of body `number` that are stored outside of it to the outer tensors that they alias."""
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
    """The copies of a body's outputs to the operator's outputs (or loop variables)."""
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
    """Bytes of scratch that a body takes: its arena and the staging areas of copies."""
    ends = [c.staging + aligned(plan.graph.tensors[c.tensor].nbytes) for c in copies if c.staging is not None]
    return max([plan.arena, *ends])


def _own_outputs(body: Graph) -> list[int]:
    """Outputs of a branch that can be computed directly in the outer plan's memory: no inputs, states or duplicates."""
    root = roots(body)
    taken = {*body.inputs, *(s.before for s in body.states), *(s.after for s in body.states)}
    outputs: dict[int, int] = {}
    for t in body.outputs:
        if root[t] not in taken:
            outputs.setdefault(root[t], t)
    return list(outputs.values())
