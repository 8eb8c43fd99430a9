"""An image that learns, in the runtime on this computer, beside the graph that it was made of in NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mote.bench.execute.interpreter import Interpreter
from mote.compiler.emit.image.kernels import KernelRecord, merged, record
from mote.compiler.emit.image.reader import read
from mote.compiler.lower.program import Initial, Program
from mote.ir.graph import Graph, State
from mote.ir.graph.tensor import Array
from tests.compiler.emit.image.image_models import packed


@dataclass
class Trainer:
    """`states` are those of the graph in NumPy after the last sample."""

    graph: Graph
    program: Program
    interpreter: Interpreter
    states: dict[int, Array] = field(default_factory=dict)

    @staticmethod
    def of(graph: Graph, **options: object) -> Trainer:
        program, data = packed(graph, **options)
        return Trainer.loaded(graph, program, data, merged(map(record, program.kernels)))

    @staticmethod
    def loaded(graph: Graph, program: Program, data: bytes, kernels: Sequence[KernelRecord]) -> Trainer:
        assert len(read(data).initial) == len(graph.states)
        return Trainer(graph, program, Interpreter.of(data, kernels, graph.name))

    def call(self, name: str, *arguments: Any) -> int:
        """The status that a function of the runtime returns."""
        return int(getattr(self.interpreter._c, f"mote_{name}")(self.interpreter._it, *arguments))

    @property
    def loss(self) -> float:
        function = self.interpreter._c.mote_loss
        function.restype = ctypes.c_float
        return float(function(self.interpreter._it))

    def begin(self, rate: float) -> int:
        return self.call("train_begin", ctypes.c_float(rate))

    def give(self, values: Mapping[int, Array]) -> None:
        for i, t in enumerate(self.graph.inputs):
            raw = np.ascontiguousarray(values[t]).tobytes()
            ctypes.memmove(self.interpreter._c.mote_input(self.interpreter._it, i), raw, len(raw))

    def outputs(self) -> list[Array]:
        tensors = [self.graph.tensors[t] for t in self.graph.outputs]
        begins = [self.interpreter._c.mote_output(self.interpreter._it, i) for i in range(len(tensors))]
        return [
            np.frombuffer(ctypes.string_at(begin, t.nbytes), t.dtype.numpy).reshape(t.shape)
            for begin, t in zip(begins, tensors, strict=True)
        ]

    def evaluated(self, values: Mapping[int, Array]) -> list[Array]:
        """What NumPy computes of the next sample."""
        known = self.graph.evaluate({**self.states, **values})
        self.states = self.graph.carried(known)
        return [known[t] for t in self.graph.outputs]

    def kept(self) -> list[tuple[State, Initial, Array]]:
        """The states of the graph with their values in the runtime now."""
        saved = self.interpreter.save()[16:]
        return [
            (state, place, np.frombuffer(saved, place.data.dtype, place.data.size, place.at).reshape(place.data.shape))
            for state, place in zip(self.graph.states, self.program.states, strict=True)
        ]
