"""User-defined custom operators: shape inference, a NumPy reference and C code for custom codes in a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.rows import row_count
from mote.ir.graph.tensor import Array, Shape


@dataclass(frozen=True)
class Use:
    """One occurrence of a custom operator in a model, as passed to the functions of its definition."""

    inputs: tuple[Tensor | None, ...]
    """Input tensors: shape, type, quantization and, for constants, data; None for an absent optional input."""
    output: Tensor
    options: Mapping[str, Any]
    """Options by name, if the file has them as a FlexBuffer map, as converters write them."""
    raw: bytes
    """The operator's options as raw bytes from the model file."""


@dataclass(frozen=True)
class Definition:
    """A custom operator as registered by the user: see `mote.register`."""

    code: str
    function: str
    """Name in C: the function is `mote_<function>`, its parameters are a `mote_<function>_t`."""
    shape: Callable[[Use], Shape]
    reference: Callable[..., Array]
    parameters: Callable[[Use], Mapping[str, Any]]
    scratch: Callable[[Use], int] | None
    elementwise: bool
    refuses: Callable[[Use], str | None]
    by_rows: bool = False
    """Row y of the output depends only on row y of each input, and the C function can compute any range of rows."""


DEFINITIONS: dict[str, Definition] = {}
"""Registered custom operators, by custom code."""


class Custom(Op, eq=False):
    """A custom operator defined by the user."""

    definition: Definition
    options: Mapping[str, Any] = field(default_factory=dict)
    raw: bytes = b""
    kind = "CUSTOM"

    def use(self, g: Graph) -> Use:
        inputs = tuple(None if i == ABSENT else g.tensors[i] for i in self.inputs)
        return Use(inputs, self.output(g), self.options, self.raw)

    def shapes(self, g: Graph) -> list[Shape]:
        return [tuple(int(n) for n in self.definition.shape(self.use(g)))]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return [np.asarray(self.definition.reference(self.use(g), *values))]

    def misjudged(self, g: Graph) -> str | None:
        return f"{self.definition.code} is a custom operator of the user"

    def unsupported(self, g: Graph) -> str | None:
        use = self.use(g)
        if self.definition.elementwise and any(t is None or t.shape != use.output.shape for t in use.inputs):
            return "it is defined element by element, but its tensors have different shapes"
        if self.definition.by_rows and any(
            t is None or row_count(t.shape) != row_count(use.output.shape) for t in use.inputs
        ):
            return "it is defined row by row, but its tensors have different numbers of rows"
        return self.definition.refuses(use)

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return (y,) if self.definition.elementwise or self.definition.by_rows else None
