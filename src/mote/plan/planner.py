"""Graph -> Plan: kernels, order, lifetimes, sharing, offsets."""

from __future__ import annotations

from dataclasses import replace

from mote.graph import Graph, Op, Rows
from mote.graph.op import row_count
from mote.plan.arena import aligned, lower_bound, place
from mote.plan.check import check
from mote.plan.kernel import Kernel, Layout, Lowering
from mote.plan.order import order
from mote.plan.plan import Buffer, Plan, Step

BALANCED_ROOM = 512
"""Bytes that `balanced` may spend on the working memory of faster kernels, beyond what the tensors need."""

Kernels = dict[int, Kernel]
"""The kernel of each operator, by its identity."""


def plan(graph: Graph, how: Lowering, ram: int | None = None) -> Plan:
    """The least arena with the kernels that need little working memory; then faster kernels that need more, as far
    as they fit: into what that arena leaves free and a little more (balanced), or into `ram` (speed; None: any)."""
    layouts = choose_layouts(graph, how)
    lean = {id(op): op.lower(graph, _for(op, how, layouts)) for op in graph.ops}
    graph = graph.with_ops(order(graph))
    best = _smallest(graph, lean, layouts)
    if how.optimize != "size":
        roomy = {id(op): op.lower(graph, _for(op, replace(how, roomy=True), layouts)) for op in graph.ops}
        best = _with_room(best, lean, roomy, layouts, _limit(best, how, ram))
    check(best)
    return best


def _limit(plan: Plan, how: Lowering, ram: int | None) -> int | None:
    """The arena that faster kernels may fill: never less than what the lean plan takes anyway."""
    limits = [] if ram is None else [ram]
    if how.optimize == "balanced":
        limits.append(lower_bound([b for b in plan.buffers if b.tensors]) + BALANCED_ROOM)
    return max(plan.arena, min(limits)) if limits else None


def _smallest(graph: Graph, kernels: Kernels, layouts: dict[int, Layout]) -> Plan:
    """The better of two: with outputs written over dying inputs where the kernel allows it, and without (sharing is
    nearly always better; a long-lived shared buffer can be worse)."""
    candidates = [_place(graph, kernels, layouts, in_place) for in_place in (True, False)]
    return min(candidates, key=lambda p: p.arena)


def _with_room(plan: Plan, lean: Kernels, roomy: Kernels, layouts: dict[int, Layout], limit: int | None) -> Plan:
    """The plan with as many of the roomy kernels as an arena of `limit` bytes holds."""
    if limit is None:
        return _smallest(plan.graph, roomy, layouts)
    chosen = dict(lean)
    for i, step in enumerate(plan.steps):
        kernel = roomy[id(step.op)]
        tensors = sum(aligned(b.nbytes) for b in plan.buffers if b.tensors and b.first <= i <= b.last)
        if tensors + aligned(kernel.scratch or 0) <= limit:
            chosen[id(step.op)] = kernel
    while (candidate := _smallest(plan.graph, chosen, layouts)).arena > limit:
        spent = [(b.end, b.first) for b in candidate.buffers if not b.tensors]
        ops = [candidate.steps[step].op for _, step in sorted(spent, reverse=True)]
        highest = next((op for op in ops if chosen[id(op)] is not lean[id(op)]), None)
        if highest is None:
            return plan
        chosen[id(highest)] = lean[id(highest)]
    return candidate


def choose_layouts(graph: Graph, how: Lowering) -> dict[int, Layout]:
    """The tensors that are not kept in NHWC: every reader would rather have another layout, and the writer can
    write it. The model's inputs and outputs stay as they are."""
    layouts = {}
    for op in graph.ops:
        out = op.outputs[0]
        readers = graph.consumers.get(out, [])
        wanted = {r.preferred(graph, how) if r.inputs[0] == out else None for r in readers}
        if len(wanted) == 1 and out not in graph.outputs:
            (layout,) = wanted
            if layout is not None and layout in op.writable(graph, how):
                layouts[out] = layout
    return layouts


def _for(op: Op, how: Lowering, layouts: dict[int, Layout]) -> Lowering:
    reads = layouts.get(op.inputs[0], Layout.NHWC) if op.inputs else Layout.NHWC
    return replace(how, reads=reads, writes=layouts.get(op.outputs[0], Layout.NHWC))


def _place(graph: Graph, kernels: Kernels, layouts: dict[int, Layout], in_place: bool) -> Plan:
    steps = [op for op in graph.ops if not _is_alias(graph, op)]
    sharing = _share(graph, steps, kernels, in_place)
    buffers = _buffers(graph, steps, sharing, layouts)
    scratch: dict[int, int] = {}
    for i, op in enumerate(steps):
        if nbytes := kernels[id(op)].scratch:
            scratch[i] = len(buffers)
            buffers.append(Buffer((), nbytes, i, i))
    placed = place(buffers)
    return Plan(
        graph,
        tuple(
            Step(op, kernels[id(op)], Rows(0, row_count(op.output(graph).shape)), scratch.get(i))
            for i, op in enumerate(steps)
        ),
        tuple(placed),
        lower_bound(buffers),
    )


def _is_alias(graph: Graph, op: Op) -> bool:
    """A view of a computed tensor shares its buffer; a view of a constant is copied into the arena."""
    return op.is_view and op.input(graph).data is None


def _share(graph: Graph, steps: list[Op], kernels: Kernels, in_place: bool) -> dict[int, int]:
    """Tensor -> the first tensor of the buffer that it shares."""
    root: dict[int, int] = {}
    for op in graph.ops:
        if _is_alias(graph, op):
            source = op.inputs[0]
            root[op.outputs[0]] = root.get(source, source)
    if not in_place:
        return root
    last = _last_uses(graph, steps)
    members: dict[int, set[int]] = {}
    for t in graph.tensors:
        members.setdefault(root.get(t, t), set()).add(t)
    for i, op in enumerate(steps):
        kernel = kernels[id(op)]
        out = op.output(graph)
        for position in kernel.operands if kernel.in_place else ():
            x = op.input(graph, position)
            base = root.get(x.id, x.id)
            dies = all(last.get(t, -1) <= i for t in members[base])
            if x.data is None and x.nbytes == out.nbytes and dies:
                joined = members.pop(root.get(out.id, out.id))
                for t in joined:
                    root[t] = base
                members[base] |= joined
                break
    return root


def _last_uses(graph: Graph, steps: list[Op]) -> dict[int, int]:
    last: dict[int, int] = {}
    for i, op in enumerate(steps):
        last.update((t, i) for t in op.inputs if t in graph.tensors)
    last.update((t, len(steps)) for t in graph.outputs)
    return last


def _buffers(graph: Graph, steps: list[Op], root: dict[int, int], layouts: dict[int, Layout]) -> list[Buffer]:
    first = dict.fromkeys(graph.inputs, -1)
    for i, op in enumerate(steps):
        first.update((t, i) for t in op.outputs)
    last = _last_uses(graph, steps)
    groups: dict[int, list[int]] = {}
    for t, tensor in graph.tensors.items():
        if tensor.data is None:
            groups.setdefault(root.get(t, t), []).append(t)
    buffers = []
    for base, tensors in groups.items():
        begin = min(first[t] for t in tensors if t in first)
        end = max(max(last.get(t, begin) for t in tensors), begin)
        nbytes = max(graph.tensors[t].nbytes for t in tensors)
        members = (base, *(t for t in tensors if t != base))
        buffers.append(Buffer(members, nbytes, begin, end, layouts.get(base, Layout.NHWC)))
    return buffers
