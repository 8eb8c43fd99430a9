"""A model file as read by a front end: its layers, with the operators of each or the reason why it is unsupported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mote.base.errors import LayerProblem, MoteError, Unsupported, UnsupportedError, naming, working_on
from mote.base.text import printable
from mote.frontends import limits
from mote.frontends.calibration import doubtful, meaningless
from mote.frontends.remedies import remedy_of
from mote.ir.graph import Graph, InvalidGraphError, ModelLayer, Op, State, Tensor


@dataclass(frozen=True)
class SourceLayer:
    """An operator of the file, under its name in the file's format."""

    index: int
    code: str
    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    ops: tuple[Op, ...]
    problem: LayerProblem | None = None

    @property
    def where(self) -> str:
        """The layer's name in messages."""
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
    """Operators on the inputs, before all others."""
    last: tuple[Op, ...] = ()
    """Operators that compute outputs and write states, after all others."""
    warnings: tuple[str, ...] = ()
    """Warnings about the file."""
    version: str = ""
    """The model's version, as the file says."""
    preprocess: str = ""
    """The preprocessing steps that make its input, as the file says."""
    assumed: tuple[str, ...] = ()
    """Assumptions about its inputs, each with the remedy where it is wrong."""

    @property
    def problems(self) -> list[Unsupported]:
        return [
            Unsupported(
                x.index,
                x.name,
                x.code,
                x.problem.reason,
                remedy_of(x.problem, self.tensors_of(x)),
                doubtful(self.tensors_of(x)) or "",
            )
            for x in self.layers
            if x.problem
        ]

    def tensors_of(self, layer: SourceLayer) -> list[Tensor]:
        """The tensors that a layer reads and writes."""
        return [self.tensors[t] for t in (*layer.inputs, *layer.outputs) if t in self.tensors]

    def partial(self) -> Graph:
        """The graph of the supported layers, unchecked."""
        names = ModelLayer.named({layer.index: layer.name for layer in self.layers})
        empty = Graph(Path(self.where).stem, self.tensors, (), self.inputs, self.outputs, self.states, layers=names)
        return empty.with_ops([*self.first, *(op for layer in self.layers for op in layer.ops), *self.last])

    def graph(self) -> Graph:
        """The checked graph: its errors are errors of the file. It is within the size limits."""
        if self.problems:
            raise UnsupportedError(self.problems, where=self.where, assumed=self.assumed)
        try:
            graph = self.partial().verify()
        except InvalidGraphError as error:
            raise MoteError(
                f"the model is inconsistent: {error}",
                where=self.where,
                remedy="\n  ".join(
                    (*self.assumed, "export the model again; if LiteRT runs it, please report this as a bug")
                ),
            ) from None
        with naming(self.where):
            _check_outputs(graph)
            limits.check(graph)
        return graph


def _check_outputs(graph: Graph) -> None:
    for t in (graph.tensors[i] for i in graph.outputs):
        if not t.size:
            shape = "x".join(map(str, t.shape))
            raise MoteError(
                f"output '{printable(t.name)}' has the shape {shape}: no elements", remedy="export the model without it"
            )


def checked(model: Model) -> Model:
    """The model with the problems of layers that only show in the whole graph."""
    graph = model.partial()
    layers = []
    for layer in model.layers:
        reasons = (reason for op in layer.ops if _fits(graph, op) and (reason := op.unsupported(graph)))
        with working_on(layer), np.errstate(all="ignore"):
            reason = None if layer.problem else meaningless(model.tensors_of(layer)) or next(reasons, None)
        layers.append(replace(layer, problem=LayerProblem(reason) if reason else layer.problem))
    return replace(model, layers=tuple(layers))


def _fits(graph: Graph, op: Op) -> bool:
    """Whether the outputs have the operator's output shapes: otherwise nothing else can be checked, and the graph is
    refused as a whole."""
    return op.shapes(graph) == [graph.tensors[t].shape for t in op.outputs]


MAY_BE_INFINITE = frozenset(
    {
        *("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM"),
        *("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL"),
        *("CONCATENATION", "GATHER", "GATHER_ND", "ONE_HOT", "RESHAPE", "SCATTER"),
    }
)
"""Operators whose constants may hold infinity, as masks do; those that select between values accept it too."""


def with_numbers(model: Model, *, infinite: bool = False) -> Model:
    """The model with layers marked whose constants hold NaN, or infinity where an operator does not accept it;
    `infinite`: every operator does."""
    layers = (replace(layer, problem=layer.problem or _odd_constant(model, layer, infinite)) for layer in model.layers)
    return replace(model, layers=tuple(layers))


def _odd_constant(model: Model, layer: SourceLayer, anywhere: bool) -> LayerProblem | None:
    for op in layer.ops:
        infinite = anywhere or op.kind in MAY_BE_INFINITE or op.kind.startswith("SELECT")
        for t in (model.tensors[i] for i in op.inputs if i in model.tensors):
            if t.data is None or t.data.dtype.kind not in "fc" or np.all(np.isfinite(t.data)):
                continue
            if not infinite or np.any(np.isnan(t.data)):
                return LayerProblem(f"constant '{t.name}' holds infinity or NaN")
    return None
