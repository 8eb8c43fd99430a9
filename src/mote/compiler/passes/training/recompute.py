"""Gradient checkpointing: activations that are recomputed in the training step, right before gradients read them,
instead of staying in RAM from the inference on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.types import StateRole
from mote.ir.ops.control.control_flow import If


def recomputed(graph: Graph, count: int) -> Graph:
    """A training graph whose step recomputes the `count` largest activations that it reads, or all if there are fewer.

    Layers run again from activations that are kept, or from the model's inputs; what they compute on the way is
    computed once for all gradients. They use the weights from before the step: the last reader of an activation is the
    gradient of its own layer, whose weights are updated after that. `verify` refuses any other order.
    """
    old = step_of(graph)
    step, idle = old.branches
    ops = list(_with_layers(graph, step, {t.id for t in recomputable(graph)[:count]}))
    tensors = {**graph.tensors, **step.tensors}
    given = _given(step, ops, tensors)
    branches = (
        replace(step, inputs=given).with_ops(ops, tensors.values()),
        replace(idle, inputs=given, tensors={i: tensors[i] for i in given}),
    )
    inputs = (old.inputs[0], *given, *old.inputs[len(old.given) :])
    new = old.with_(inputs=inputs, branches=branches)
    return graph.with_ops(new if op is old else op for op in graph.ops).verify()


def recomputable(graph: Graph) -> list[Tensor]:
    """The activations that a training step reads and can recompute, largest first."""
    read = (graph.tensors[i] for i in step_of(graph).given[1:] if i not in graph.outputs)
    return sorted((t for t in read if _maker(graph, t.id)), key=lambda t: -t.nbytes)


def step_macs(graph: Graph) -> int:
    """The MACs of the training step of a training graph."""
    step = step_of(graph).branches[0]
    return sum(op.macs(step) for op in step.ops)


def step_of(graph: Graph) -> If:
    """The conditional operator of a training graph whose branch is the training step."""
    learned = {s.after for s in graph.states if s.role is StateRole.LEARNED}
    return next(op for op in graph.ops if isinstance(op, If) and not learned.isdisjoint(op.outputs))


def _with_layers(graph: Graph, step: Graph, dropped: Collection[int]) -> Iterator[Op]:
    """The operators of a step, each after those that recompute what it reads of `dropped`."""
    there = {i for i in step.inputs if i not in dropped}

    def again(tensor: int) -> Iterator[Op]:
        op = None if tensor in there else _maker(graph, tensor)
        if op is not None:
            for i in op.inputs:
                yield from again(i)
            there.update(op.outputs)
            yield op

    for op in step.ops:
        for i in op.inputs:
            yield from again(i)
        yield op


def _maker(graph: Graph, tensor: int) -> Op | None:
    """The operator that computes a tensor and can run again after the inference; None for model inputs, control flow,
    and operators that read states which the inference has changed."""
    op, step = graph.producers.get(tensor), step_of(graph)
    changed = {s.before for s in graph.states if s.after != s.before and s.after not in step.outputs}
    return None if op is None or op.bodies or op.updates or not changed.isdisjoint(op.inputs) else op


def _given(step: Graph, ops: Collection[Op], tensors: Mapping[int, Tensor]) -> tuple[int, ...]:
    """The tensors that the operators `ops` of a training step read but do not compute, without constants and states."""
    own = {i for op in ops for i in op.outputs} | {s.before for s in step.states} | {ABSENT}
    read = dict.fromkeys(i for op in ops for i in op.inputs)
    return tuple(i for i in read if i not in own and tensors[i].data is None)
