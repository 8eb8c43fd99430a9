"""Models with control flow: bodies are nets of their own, in subgraphs of one file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from mote.ir.graph.tensor import Shape
from tests.helpers.network import FLOAT, Net, Quant

Body = Callable[["Flow", Sequence[int]], Sequence[int]]
"""Builds a body: from its inputs its outputs."""
BOOL, INT = "bool", "int32"


@dataclass
class Flow(Net):
    """A net that can have bodies. Tensors of another type than the net's are known by it."""

    dtypes: dict[int, str] = field(default_factory=dict)
    outermost: Flow | None = None

    def plain(self, dtype: str, *shape: int, given: bool = False) -> int:
        """A tensor without quantization."""
        make = self.writer.input if given else self.writer.tensor
        t = make(dtype, shape, dtype)
        self.shapes[t], self.quants[t], self.dtypes[t] = shape, FLOAT, dtype
        return t

    def flag(self, *shape: int) -> int:
        """An input that is true or false."""
        return self.plain(BOOL, *shape, given=True)

    def constant(self, value: object, dtype: str) -> int:
        values = np.array(value, dtype)
        t = self.writer.const("constant", values)
        self.shapes[t], self.quants[t], self.dtypes[t] = values.shape, FLOAT, dtype
        return t

    def body(self, given: Sequence[int], build: Body, name: str = "body") -> int:
        """The number of a subgraph that takes tensors like these."""
        root = self.outermost or self
        inner = Flow(int(self.rng.integers(1 << 30)), self.dtype, outermost=root)
        inner.writer = root.writer.subgraph(name)
        number = len(root.writer._others)
        inputs = [
            inner.plain(self.dtypes[t], *self.shapes[t], given=True)
            if t in self.dtypes
            else inner.input(*self.shapes[t], quant=self.quants[t])
            for t in given
        ]
        inner.writer.output(*build(inner, inputs))
        return number

    def like(self, t: int) -> int:
        """Another tensor of the same type, shape and quantization."""
        if t in self.dtypes:
            return self.plain(self.dtypes[t], *self.shapes[t])
        return self._tensor(self.writer.tensor, self.shapes[t], self.quants[t])

    def result(self, shape: Shape, quant: Quant | None = None) -> int:
        return self._tensor(self.writer.tensor, shape, quant)

    def choose(
        self, flag: int, given: Sequence[int], then: Body, otherwise: Body, made: Sequence[int]
    ) -> Sequence[int]:
        """An IF that makes the tensors `made`."""
        bodies = self.body(given, then, "then"), self.body(given, otherwise, "else")
        indices = dict(zip(("then_subgraph_index", "else_subgraph_index"), bodies, strict=True))
        self.writer.op("IF", [flag, *given], made, **indices)
        return made

    def repeat(self, given: Sequence[int], condition: Body, body: Body) -> Sequence[int]:
        """A WHILE over these tensors."""
        bodies = self.body(given, condition, "condition"), self.body(given, body, "body")
        made = [self.like(t) for t in given]
        indices = dict(zip(("cond_subgraph_index", "body_subgraph_index"), bodies, strict=True))
        self.writer.op("WHILE", given, made, **indices)
        return made
