"""Gradient checkpointing: activations that a step of training computes again, right before gradients read them,
instead of keeping them in RAM from the inference on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.types import StateRole
from mote.ir.ops.control.control_flow import If


def recomputed(graph: Graph, count: int) -> Graph:
    """A graph of training whose step computes again the `count` largest of its activations, or all where it has fewer.

    Layers run a second time from activations that are kept, or from the model's inputs, and what they make on the way
    is made once for all gradients. Their weights are those from before the step: the last that reads an activation is
    the gradient of its own layer, whose weights are updated behind that. `verify` refuses any other order.
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
    """The activations that a step of training reads and can compute again, the largest first."""
    read = (graph.tensors[i] for i in step_of(graph).given[1:] if i not in graph.outputs)
    return sorted((t for t in read if _maker(graph, t.id)), key=lambda t: -t.nbytes)


def step_macs(graph: Graph) -> int:
    """The MACs of the step of a graph of training."""
    step = step_of(graph).branches[0]
    return sum(op.macs(step) for op in step.ops)


def step_of(graph: Graph) -> If:
    """The operator of a graph of training that has its step."""
    learned = {s.after for s in graph.states if s.role is StateRole.LEARNED}
    return next(op for op in graph.ops if isinstance(op, If) and not learned.isdisjoint(op.outputs))


def _with_layers(graph: Graph, step: Graph, dropped: Collection[int]) -> Iterator[Op]:
    """The operators of a step, and before each those that make again what it reads."""
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
    """The operator that makes a tensor from what is still there after the inference. None: the tensor is given, or made
    with bodies or with states that the inference has changed."""
    op, step = graph.producers.get(tensor), step_of(graph)
    changed = {s.before for s in graph.states if s.after != s.before and s.after not in step.outputs}
    return None if op is None or op.bodies or op.updates or not changed.isdisjoint(op.inputs) else op


def _given(step: Graph, ops: Collection[Op], tensors: Mapping[int, Tensor]) -> tuple[int, ...]:
    """The tensors that a step with these operators reads and does not make, without constants and states."""
    own = {i for op in ops for i in op.outputs} | {s.before for s in step.states} | {ABSENT}
    read = dict.fromkeys(i for op in ops for i in op.inputs)
    return tuple(i for i in read if i not in own and tensors[i].data is None)
