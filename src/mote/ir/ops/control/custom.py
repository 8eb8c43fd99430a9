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
    """One use of an operator in a model, as the functions of its definition see it."""

    inputs: tuple[Tensor | None, ...]
    """Shape, type, quantization and, where the value is a constant, data; None for an optional input left out."""
    output: Tensor
    options: Mapping[str, Any]
    """The options by name, where the file has them as a FlexBuffer map, as converters write them."""
    raw: bytes
    """The bytes of the options as the file holds them."""


@dataclass(frozen=True)
class Definition:
    """The declaration of a custom operator by the user: see `mote.register`."""

    code: str
    function: str
    """The C function is `mote_<function>`, its parameters are a `mote_<function>_t`."""
    shape: Callable[[Use], Shape]
    reference: Callable[..., Array]
    parameters: Callable[[Use], Mapping[str, Any]]
    scratch: Callable[[Use], int] | None
    elementwise: bool
    refuses: Callable[[Use], str | None]
    by_rows: bool = False
    """Row y of the output is made from row y of each input, and the function computes any run of rows."""


DEFINITIONS: dict[str, Definition] = {}
"""By the custom code."""


class Custom(Op, eq=False):
    """An operator that a user has defined."""

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
        return f"{self.definition.code} is an operator of the user's"

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
