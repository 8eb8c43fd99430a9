"""Models that tests make with the builder of the front ends, without a file: their graphs, values and C."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from unittest.mock import patch

import numpy as np

from mote import frontends
from mote.bench.measure.runner import bench
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile
from mote.frontends import Format, Source
from mote.frontends.build import Builder, Value
from mote.frontends.model import Model, SourceLayer
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph, State, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType

NUMBERS = count()
Make = Callable[..., Value | Sequence[Value]]


class Network:
    """A model of several pieces, each with inputs and outputs of its own, so that one C program has them all."""

    def __init__(self, edges: str = "channels-last") -> None:
        self.builder = Builder("built", edges)
        self.given: list[Array] = []
        self.wanted: list[Array] = []
        self.shapes: list[Shape] = []
        self.layers = 0

    def add(self, make: Make, want: Array | Sequence[Array], *inputs: Array, images: bool = True) -> None:
        """A piece, from inputs to what it must give, which may be known only when it has been made."""
        b, i = self.builder, self.layers
        values = [
            b.input(f"in{i}_{k}", x.shape, DType(x.dtype.name), channels_last=images) for k, x in enumerate(inputs)
        ]
        self.given += inputs
        found: list[Value] = []
        with b.layer(i, "PIECE", f"piece{i}"):
            made = make(b, *values)
            found = [made] if isinstance(made, Value) else list(made)
        assert found, self.builder.finish().problems
        wanted = list(want) if isinstance(want, tuple | list) else [want]
        for k, (value, array) in enumerate(zip(found, wanted, strict=True)):
            assert value.shape == array.shape
            b.output(value, f"out{i}_{k}")
            self.shapes.append(value.shape)
            self.wanted.append(np.asarray(array))
        self.layers += 1

    def model(self) -> Model:
        return self.builder.finish()

    def graph(self) -> Graph:
        return self.model().graph()

    def arrays(self, graph: Graph) -> dict[int, Array]:
        """The inputs as the graph takes them."""
        return {i: graph.tensors[i].part(x) for i, x in zip(graph.inputs, self.given, strict=True)}

    def results(self, graph: Graph, stored: Sequence[Array]) -> list[Array]:
        """Outputs of a graph as the values that they are."""
        found = []
        for i, x, shape in zip(graph.outputs, stored, self.shapes, strict=True):
            arrangement = graph.tensors[i].arrangement
            found.append(x.reshape(shape) if arrangement is None else arrangement.logical(x, shape))
        return found

    def evaluated(self) -> list[Array]:
        """The outputs as the NumPy reference computes them."""
        graph = self.graph()
        values = graph.evaluate(self.arrays(graph))
        return self.results(graph, [values[i] for i in graph.outputs])

    def executed(self, folder: Path, *, sanitize: bool = True, **options: object) -> list[Array]:
        """The same of the C code."""
        compiled = compile_model(self.model(), **options)
        graph = compiled.source
        run = bench(compiled, folder, sanitize=sanitize).execute(
            Mode.DUMP, [[np.ascontiguousarray(x).tobytes() for x in self.arrays(graph).values()]]
        )
        stored = [
            np.frombuffer(raw, graph.tensors[i].dtype.numpy)
            for i, raw in zip(graph.outputs, run.outputs[0], strict=True)
        ]
        return self.results(graph, stored)


def compile_model(model: Model, **options: object) -> Compiled:
    """Compile a model that was built."""
    source = Source("built.tflite", Format.TFLITE, b"built %d" % next(NUMBERS))
    with patch.object(frontends, "read", lambda _: model):
        return compile(source, **options)


def side_by_side(graphs: Iterable[Graph]) -> Model:
    """One model of graphs that have inputs and outputs of their own."""
    tensors: dict[int, Tensor] = {}
    layers: list[SourceLayer] = []
    edges: tuple[list[int], list[int]] = ([], [])
    states: list[State] = []
    for graph in graphs:
        number = {ABSENT: ABSENT, **{t: len(tensors) + i for i, t in enumerate(graph.tensors)}}
        for t in graph.tensors.values():
            tensors[number[t.id]] = replace(t, id=number[t.id], name=f"{t.name}{number[t.id]}")
        for op in graph.ops:
            inputs, outputs = (tuple(number[t] for t in ids) for ids in (op.inputs, op.outputs))
            own = op.with_(inputs=inputs, outputs=outputs, name=f"{op.kind}{len(layers)}", index=len(layers))
            layers.append(SourceLayer(own.index, own.kind, own.name, inputs, outputs, (own,)))
        for found, ids in zip(edges, (graph.inputs, graph.outputs), strict=True):
            found += [number[t] for t in ids]
        states += [replace(s, before=number[s.before], after=number[s.after]) for s in graph.states]
    return Model("built", tensors, tuple(layers), *map(tuple, edges), tuple(states))


def close(found: Sequence[Array], wanted: Sequence[Array], relative: float = 1e-4, absolute: float = 1e-5) -> None:
    """Refuse results that are not what they must be."""
    for number, (x, y) in enumerate(zip(found, wanted, strict=True)):
        np.testing.assert_allclose(x, y, relative, absolute, err_msg=f"output {number}")
