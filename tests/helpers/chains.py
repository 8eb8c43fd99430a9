"""Operators of signals one after another, each with states of its own, and how all back ends run them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mote.bench.execute.interpreter import Interpreter
from mote.compiler.emit.image.flatten import flattened
from mote.compiler.emit.image.kernels import record
from mote.compiler.emit.image.writer import Details, write
from mote.compiler.line import compile_graph
from mote.compiler.lower.program import program
from mote.compiler.plan.plan import Plan
from mote.compiler.settings import Settings
from mote.hardware import targets
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import State
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType


@dataclass(frozen=True)
class Link:
    """An operator of a chain: its attributes, the initial values of its states, the type of its output."""

    kind: Callable[..., Op]
    fields: dict[str, Any] = field(default_factory=dict)
    states: Sequence[Array] = ()
    dtype: str = "int16"


def chain(shape: Shape, *links: Link, dtype: str = "int16") -> Graph:
    """A graph of operators, each of which reads the rows of the one before it, and its states."""
    tensors: dict[int, Tensor] = {}

    def tensor(name: str, shape: Shape, dtype: str) -> int:
        tensors[len(tensors)] = Tensor(len(tensors), name, tuple(shape), DType(dtype))
        return len(tensors) - 1

    x = first = tensor("x", shape, dtype)
    ops, states = [], []
    for k, link in enumerate(links):
        before = [tensor(f"state{k}_{i}", s.shape, s.dtype.name) for i, s in enumerate(link.states)]
        op = link.kind(inputs=(x, *before), outputs=(), name=f"it{k}", index=k, **link.fields)
        here = Graph("chain", tensors, (), (), ())
        x = tensor(f"y{k}", op.with_(outputs=(-1,) * (1 + len(before))).shapes(here)[0], link.dtype)
        after = [tensor(f"after{k}_{i}", s.shape, s.dtype.name) for i, s in enumerate(link.states)]
        ops.append(op.with_(outputs=(x, *after)))
        states += [State(*ends, s) for *ends, s in zip(before, after, link.states, strict=True)]
    graph = Graph("chain", tensors, tuple(ops), (first,), (x,), states=tuple(states)).verify()
    for op in ops:
        assert (problem := op.unsupported(graph)) is None, problem
    return graph


def evaluated(graph: Graph, signals: Sequence[Array]) -> list[Array]:
    """The outputs of the NumPy reference, one inference after another."""
    states: dict[int, Array] = {}
    outputs = []
    for signal in signals:
        values = graph.evaluate({**states, graph.inputs[0]: signal})
        states = graph.carried(values)
        outputs.append(values[graph.outputs[0]])
    return outputs


def compiled(graph: Graph, target: str = "host", **options: Any) -> Any:
    return compile_graph(graph, Settings(targets.load(target), name="chain", **options))


def interpreter(plan: Plan) -> Interpreter:
    """The runtime with the image of a plan."""
    made = program(plan)
    kernels = {k.id: k for k in map(record, made.kernels)}
    return Interpreter.of(write(flattened(made), Details()), list(kernels.values()), "chain")


def noise(shape: Shape, count: int, seed: int = 0) -> list[Array]:
    """Signals of full scale, with the extremes."""
    rng = np.random.default_rng(seed)
    extremes = np.array([-32768, 32767], np.int16)
    signals = rng.integers(-32768, 32768, (count, *shape)).astype(np.int16)
    return [np.where(rng.random(shape) < 0.1, rng.choice(extremes, shape), s).astype(np.int16) for s in signals]
