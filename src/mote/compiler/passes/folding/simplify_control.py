"""Simplify control flow by what is known at compile time: branches that are always taken and short loops are inlined,
loops with a counter get a fixed trip count, and bodies lose inputs that they do not need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mote.compiler.passes.folding import fold_constants
from mote.compiler.passes.redirect import redirect
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from mote.ir.ops.control.control_flow import MOST_TURNS, Control, If, While, nested
from mote.ir.ops.moves.reshape import Reshape

MOST_UNROLLED = 8
"""Maximum operators after unrolling a loop: more would take more flash than the loop."""

Pass = Callable[[Graph], Graph]


def everywhere(run: Pass) -> Pass:
    """A pass that is applied to the bodies of control flow too, innermost first."""

    def through(graph: Graph) -> Graph:
        return run(_with_bodies(graph, through))

    return through


def _with_bodies(graph: Graph, run: Pass) -> Graph:
    if not any(op.bodies for op in graph.ops):
        return graph
    ops = [op.with_bodies([run(body) for body in op.bodies]) if isinstance(op, Control) else op for op in graph.ops]
    return graph.with_ops(ops)


def run(graph: Graph) -> Graph:
    """The graph with simpler control flow and folded constants; repeated, as one round may enable the next."""
    if not any(op.bodies for op in graph.ops):
        return graph
    simplify = everywhere(lambda g: fold_constants.run(_once(g)))
    count = -1
    while count != (count := len(list(nested(graph)))):
        graph = simplify(graph)
    return graph


def _once(graph: Graph) -> Graph:
    for outputs in [op.outputs for op in graph.ops if isinstance(op, Control)]:
        op = next(op for op in graph.ops if op.outputs == outputs)
        assert isinstance(op, Control)
        graph = _simplified(graph, op)
    return graph


def _simplified(graph: Graph, op: Control) -> Graph:
    if isinstance(op, If):
        return _simple_branch(graph, op)
    assert isinstance(op, While)
    return _simple_loop(graph, op)


def _simple_branch(graph: Graph, op: If) -> Graph:
    """Replaces an IF by the branch that is always taken, or drops inputs and outputs that it does not need."""
    condition = op.input(graph).data
    if condition is not None:
        inlining = _Inlining(graph, op)
        ops = inlining.turn(0 if condition.reshape(-1)[0] else 1, op.given[1:], op.made)
        return _replaced(graph, op, ops, inlining.added)
    graph, op = _without_unread_results(graph, op)
    return _replaced(graph, op, [_without_constants(graph, op, 1)])


def _simple_loop(graph: Graph, op: While) -> Graph:
    """Simplifies a loop: drops inputs and variables that it does not need, finds its trip count, and unrolls it if it
    is short."""
    graph, op = _with_invariants(graph, op)
    graph, op = _without_unread(graph, op)
    counted = _counted(graph, op)
    if counted is not op:
        graph = _replaced(graph, op, [counted])
        graph, op = _without_unread(graph, counted)
    if op.trips is not None and _is_short(op):
        return _unrolled(graph, op)
    return _replaced(graph, op, [_without_constants(graph, op, len(op.made))])


def _replaced(graph: Graph, op: Op, ops: Sequence[Op], tensors: Iterable[Tensor] = ()) -> Graph:
    """The graph with one operator replaced by others."""
    before = next(n for n, other in enumerate(graph.ops) if other is op)
    return graph.with_ops([*graph.ops[:before], *ops, *graph.ops[before + 1 :]], tensors)


def _read(graph: Graph, outputs: Sequence[int]) -> set[int]:
    """All tensors that some outputs of a graph, and its states, depend on."""
    live = {*outputs, *(s.after for s in graph.states)}
    for op in reversed(graph.ops):
        if live & set(op.outputs):
            live.update(op.inputs)
    return live


def _without_constants(graph: Graph, op: Control, first: int) -> Control:
    """The operator without inputs from position `first` on that are constant or that no body reads; constants move into
    the bodies."""
    skipped = 1 if isinstance(op, If) else 0
    bodies, kept = list(op.bodies), list(op.given[:first])
    for position, t in enumerate(op.given):
        if position < first:
            continue
        at = len(kept) - skipped
        data = graph.tensors[t].data
        read = any(b.inputs[at] in _read(b, b.outputs) for b in bodies)
        if read and data is None:
            kept.append(t)
        else:
            bodies = [_with_constant(b, at, data) for b in bodies]
    inputs = (*kept, *op.inputs[len(op.given) :])
    return op if inputs == op.inputs else op.with_bodies(bodies).with_(inputs=inputs)


def _with_constant(body: Graph, at: int, data: Array | None) -> Graph:
    """A body with one input less, which is a constant or which nothing reads."""
    t = body.inputs[at]
    inputs = (*body.inputs[:at], *body.inputs[at + 1 :])
    if data is None or t not in _read(body, body.outputs):
        return replace(body, inputs=inputs).with_ops(_needed_ops(body))
    known = replace(body.tensors[t], data=data.reshape(body.tensors[t].shape))
    if t not in body.outputs:
        return replace(body, inputs=inputs).with_ops(body.ops, [known])
    copy = replace(known, id=body.fresh_id(), data=None)
    outputs = tuple(copy.id if out == t else out for out in body.outputs)
    ops = [*body.ops, Reshape(inputs=(t,), outputs=(copy.id,), name=copy.name, shape=copy.shape)]
    return replace(body, inputs=inputs, outputs=outputs).with_ops(ops, [known, copy])


def _with_invariants(graph: Graph, op: While) -> tuple[Graph, While]:
    """Turn loop variables that the body returns unchanged into loop-invariant inputs."""
    body = op.body
    same = [k for k in range(len(op.made)) if body.outputs[k] == body.inputs[k] and op.made[k] not in graph.outputs]
    if not same:
        return graph, op
    order = [*(k for k in range(len(op.given)) if k not in same), *same]
    left = [k for k in range(len(op.made)) if k not in same]
    new = _rearranged(op, order, left)
    graph = redirect(_replaced(graph, op, [new]), {op.made[k]: op.given[k] for k in same})
    return graph, _loop(graph, new)


def _loop(graph: Graph, op: While) -> While:
    """The loop operator of a graph with the same outputs as `op`."""
    loop = next(other for other in graph.ops if other.outputs == op.outputs)
    assert isinstance(loop, While)
    return loop


def _rearranged(op: While, order: Sequence[int], made: Sequence[int]) -> While:
    """The loop with only the inputs at positions `order`, in this order, and the outputs at positions `made`."""

    def taken(body: Graph) -> Graph:
        return replace(body, inputs=tuple(body.inputs[k] for k in order))

    body = replace(taken(op.body), outputs=tuple(op.body.outputs[k] for k in made))
    condition = None if op.condition is None else taken(op.condition)
    return replace(
        op,
        inputs=(*(op.given[k] for k in order), *op.inputs[len(op.given) :]),
        outputs=(*(op.made[k] for k in made), *op.outputs[len(op.made) :]),
        condition=None if condition is None else condition.with_ops(_needed_ops(condition)),
        body=body.with_ops(_needed_ops(body)),
    )


def _needed_ops(body: Graph) -> list[Op]:
    read = _read(body, body.outputs)
    return [op for op in body.ops if read & set(op.outputs)]


def _without_unread(graph: Graph, op: While) -> tuple[Graph, While]:
    """Removes loop variables that nothing reads after the loop, and that neither the condition nor a variable that is
    read depends on."""
    read = {t for other in graph.ops if other is not op for t in other.inputs} | set(graph.outputs)
    body, condition = op.body, op.condition
    needed = {k for k, t in enumerate(op.made) if t in read}
    if condition is not None:
        needed |= _positions(condition, condition.outputs)
    while (more := needed | _positions(body, [body.outputs[k] for k in needed if k < len(op.made)])) != needed:
        needed = more
    left = [k for k in range(len(op.made)) if k in needed]
    if len(left) == len(op.made) or not left:
        return graph, op
    new = _rearranged(op, [*left, *range(len(op.made), len(op.given))], left)
    return _replaced(graph, op, [new]), new


def _without_unread_results(graph: Graph, op: If) -> tuple[Graph, If]:
    """Removes outputs of an IF that nothing reads."""
    read = {t for other in graph.ops for t in other.inputs} | set(graph.outputs)
    left = [k for k, t in enumerate(op.made) if t in read]
    if len(left) == len(op.made) or not left:
        return graph, op
    bodies = [replace(b, outputs=tuple(b.outputs[k] for k in left)) for b in op.branches]
    then, otherwise = (b.with_ops(_needed_ops(b)) for b in bodies)
    outputs = (*(op.made[k] for k in left), *op.outputs[len(op.made) :])
    new = replace(op, outputs=outputs, branches=(then, otherwise))
    return _replaced(graph, op, [new]), new


def _positions(body: Graph, outputs: Sequence[int]) -> set[int]:
    """The positions of the inputs that some outputs of a body depend on."""
    read = _read(body, outputs)
    return {k for k, t in enumerate(body.inputs) if t in read}


def _counted(graph: Graph, op: While) -> While:
    """The loop with a fixed trip count, if its condition depends only on constants and on variables computed from
    these."""
    condition = op.condition
    if condition is None or condition.states:
        return op
    counting = _positions(condition, condition.outputs)
    while (more := counting | _counters(op, counting)) != counting:
        counting = more
    values = {k: data for k in counting if (data := graph.tensors[op.given[k]].data) is not None}
    changing = [k for k in sorted(counting) if k < len(op.made)]
    test, step = _part(condition, condition.outputs), _part(op.body, [op.body.outputs[k] for k in changing])
    if len(values) < len(counting) or any(inner.updates for part in (test, step) for inner in part.ops):
        return op
    trips = 0
    while _values(test, values)[0].reshape(-1)[0]:
        if trips == MOST_TURNS:
            return op
        values |= dict(zip(changing, _values(step, values), strict=True))
        trips += 1
    return replace(op, condition=None, trips=trips, kept=op.kept[1:])


def _counters(op: While, positions: set[int]) -> set[int]:
    """The positions of the loop's inputs that some of its variables are computed from in one iteration, ignoring
    states."""
    outputs = [op.body.outputs[k] for k in positions if k < len(op.made)]
    return _positions(replace(op.body, states=()), outputs)


def _part(body: Graph, outputs: Sequence[int]) -> Graph:
    """The part of a body that computes some of its outputs."""
    part = replace(body, outputs=tuple(outputs), states=())
    return part.with_ops(_needed_ops(part))


def _values(body: Graph, values: Mapping[int, Array]) -> list[Array]:
    """Evaluates a part of a body, given the values of the inputs that it depends on, by position."""
    results = body.evaluate({body.inputs[k]: value for k, value in values.items()})
    constants = {t: x.data for t, x in body.tensors.items() if x.data is not None}
    return [{**constants, **results}[t] for t in body.outputs]


def _is_short(op: While) -> bool:
    assert op.trips is not None
    work = sum(not inner.is_view for inner in op.body.ops)
    return op.trips <= 1 or (op.trips * work <= MOST_UNROLLED and not op.states)


def _unrolled(graph: Graph, op: While) -> Graph:
    """The graph with a loop unrolled; for no iterations the outputs are copies of the inputs."""
    assert op.trips is not None
    inlining = _Inlining(graph, op)
    given = op.given
    ops = [] if op.trips else [inlining.copy(t, graph.tensors[out]) for t, out in zip(given, op.made, strict=False)]
    for turn in range(op.trips):
        last = turn == op.trips - 1
        made = op.made if last else tuple(inlining.fresh(graph.tensors[t]) for t in op.made)
        ops += inlining.turn(len(op.bodies) - 1, given, made)
        given = (*made, *given[len(made) :])
    return _replaced(graph, op, ops, inlining.added)


@dataclass
class _Inlining:
    """Inlines bodies in place of their control flow operator. Tensors inside get new ids."""

    graph: Graph
    op: Control
    added: list[Tensor] = field(default_factory=list)
    next: int = -1

    def fresh(self, like: Tensor) -> int:
        """The id of a new tensor, which the model file does not have."""
        self.next = max(self.next, self.graph.fresh_id()) + 1
        self.added.append(replace(like, id=self.next - 1, inner=True))
        return self.next - 1

    def copy(self, source: int, target: Tensor) -> Op:
        """A reshape that gives a tensor a second id."""
        return Reshape(
            inputs=(source,), outputs=(target.id,), name=self.op.name, index=self.op.index, shape=target.shape
        )

    def turn(self, number: int, given: Sequence[int], made: Sequence[int]) -> list[Op]:
        """The operators of a body, which read the tensors `given` of the graph and write the tensors `made`."""
        op, body = self.op, self.op.bodies[number]
        names = {ABSENT: ABSENT, **dict(zip(body.inputs, given, strict=True))}
        states = list(zip(op.inputs[len(op.given) :], op.outputs[len(op.made) :], strict=True))
        for s, i in zip(body.states, op.kept[number] if op.kept else (), strict=True):
            names[s.before], names[s.after] = states[i]
        copies: list[tuple[int, int]] = []
        for t, out in zip(body.outputs, made, strict=True):
            if t in names or body.tensors[t].data is not None:
                copies.append((t, out))
            else:
                names[t] = out
        for t, tensor in body.tensors.items():
            if t not in names:
                names[t] = self.fresh(tensor)
        ops: list[Op] = []
        for inner in body.ops:
            ids = {"inputs": tuple(names[t] for t in inner.inputs), "outputs": tuple(names[t] for t in inner.outputs)}
            ops.append(inner.with_(**ids, index=op.index))
        return [*ops, *(self.copy(names[t], replace(body.tensors[t], id=out)) for t, out in copies)]
