"""A model file as a front end has read it: its layers, with what Mote makes of each or why it cannot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mote.errors import MoteError, Unsupported, UnsupportedError, naming, working_on
from mote.frontends import limits
from mote.frontends.calibration import doubtful, meaningless
from mote.graph import Graph, InvalidGraphError, Op, State, Tensor


@dataclass(frozen=True)
class SourceLayer:
    """An operator of the file, under the name that the file's format has for it."""

    index: int
    code: str
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    ops: tuple[Op, ...]
    problem: str | None = None

    @property
    def where(self) -> str:
        """How messages name it."""
        return f"layer {self.index} {self.code} '{self.name}'"


@dataclass(frozen=True)
class Model:
    """A file as it was read, supported or not; `graph()` is the checked graph."""

    where: str
    tensors: Mapping[int, Tensor]
    layers: tuple[SourceLayer, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    states: tuple[State, ...] = ()
    first: tuple[Op, ...] = ()
    """What is done to inputs before everything else."""
    last: tuple[Op, ...] = ()
    """What makes outputs, and writes the states, after everything else."""
    warnings: tuple[str, ...] = ()
    """What is odd about the file, and how it was understood."""

    @property
    def problems(self) -> list[Unsupported]:
        return [
            Unsupported(x.index, x.name, x.code, x.problem, doubtful(self.tensors_of(x)) or "")
            for x in self.layers
            if x.problem
        ]

    def tensors_of(self, layer: SourceLayer) -> list[Tensor]:
        """What a layer reads and writes."""
        return [self.tensors[t] for t in (*layer.inputs, *layer.outputs) if t in self.tensors]

    def partial(self) -> Graph:
        """The graph of the layers that Mote knows, unchecked."""
        empty = Graph(Path(self.where).stem, self.tensors, (), self.inputs, self.outputs, self.states)
        return empty.with_ops([*self.first, *(op for layer in self.layers for op in layer.ops), *self.last])

    def graph(self) -> Graph:
        """The checked graph: what is wrong with it is wrong with the file. It is not too large."""
        if self.problems:
            raise UnsupportedError(self.problems, where=self.where)
        try:
            graph = self.partial().verify()
        except InvalidGraphError as error:
            raise MoteError(
                f"the model is inconsistent: {error}",
                where=self.where,
                remedy="export the model again; if LiteRT runs it, please report this as a bug",
            ) from None
        with naming(self.where):
            limits.check(graph)
        return graph


def checked(model: Model) -> Model:
    """The model with the problems of layers that only show in the whole graph."""
    graph = model.partial()
    layers = []
    for layer in model.layers:
        reasons = (reason for op in layer.ops if _fits(graph, op) and (reason := op.unsupported(graph)))
        with working_on(layer), np.errstate(all="ignore"):
            problem = layer.problem or meaningless(model.tensors_of(layer)) or next(reasons, None)
        layers.append(replace(layer, problem=problem))
    return replace(model, layers=tuple(layers))


def _fits(graph: Graph, op: Op) -> bool:
    """Whether the outputs have the shapes that the operator gives: without that nothing else can be asked of it, and
    the graph is refused for it as a whole."""
    return op.shapes(graph) == [graph.tensors[t].shape for t in op.outputs]


MAY_BE_INFINITE = frozenset(
    {
        *("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM"),
        *("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"),
        *("CONCATENATION", "GATHER", "GATHER_ND", "ONE_HOT", "RESHAPE", "SCATTER"),
    }
)
"""Operators whose constants may hold infinity, as masks do; those that choose between values take it too."""


def with_numbers(model: Model, *, infinite: bool = False) -> Model:
    """The model with the layers marked that have constants with NaN, or with infinity where an operator does not take
    it; `infinite`: every operator does."""
    layers = (replace(layer, problem=layer.problem or _odd_constant(model, layer, infinite)) for layer in model.layers)
    return replace(model, layers=tuple(layers))


def _odd_constant(model: Model, layer: SourceLayer, anywhere: bool) -> str | None:
    for op in layer.ops:
        infinite = anywhere or op.kind in MAY_BE_INFINITE or op.kind.startswith("SELECT")
        for t in (model.tensors[i] for i in op.inputs if i in model.tensors):
            if t.data is None or t.data.dtype.kind not in "fc" or np.all(np.isfinite(t.data)):
                continue
            if not infinite or np.any(np.isnan(t.data)):
                return f"constant '{t.name}' holds infinity or what is no number"
    return None
