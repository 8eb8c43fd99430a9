"""Builder for layers whose integer form is a composition of operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mote.ir.graph import Graph, Op, Quantization, Tensor
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.optimize.compress.quantize.encode import Range, bias_steps, in_steps, one_scale, steps, weight_scales

DEAD = (-1 / 64, 1 / 64)
"""The range of values that are always zero."""
Inside = Mapping[str, Range]
"""Ranges of a layer's internal values, by name."""
See = Callable[[str, Array], None]
"""Callback that receives internal values of a layer, by name."""


@dataclass
class CompositeBuilder:
    """A layer of the float graph, and the integer operators that replace it."""

    graph: Graph
    op: Op
    inside: Inside
    inputs: Sequence[int]
    """The layer's inputs: integer tensors, and constants of the float graph."""
    x: Tensor
    y: Tensor
    fresh: int
    """The first free id."""
    tensors: dict[int, Tensor] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)

    def data(self, position: int) -> Array:
        """A constant of the float graph."""
        constant = self.op.input(self.graph, position).data
        assert constant is not None
        return constant

    def hold(
        self, what: str, shape: Shape, dtype: DType, quant: Quantization | None = None, data: Array | None = None
    ) -> Tensor:
        """Adds a tensor."""
        made = Tensor(self.fresh, f"{self.op.name} ({what})", shape, dtype, quant, data, inner=True)
        self.fresh += 1
        self.tensors[made.id] = made
        return made

    def between(self, what: str, shape: Shape, dtype: DType = DType.INT16) -> Tensor:
        """Adds a tensor for values whose range was calibrated."""
        low, high = self.inside[what]
        return self.hold(what, shape, dtype, steps(*((low, high) if low < high else DEAD), dtype))

    def like(self, t: Tensor, what: str, shape: Shape | None = None) -> Tensor:
        """Adds a tensor with the type and scale of another one."""
        return self.hold(what, t.shape if shape is None else shape, t.dtype, t.quant)

    def retyped(self, tensor: int, dtype: DType, quant: Quantization | None) -> Tensor:
        """Retypes a state of the float graph, under its id."""
        made = replace(self.graph.tensors[tensor], dtype=dtype, quant=quant)
        self.tensors[tensor] = made
        return made

    def weights(self, what: str, data: Array, dtype: DType = DType.INT8, least: float = 0.0) -> Tensor:
        """Adds a per-tensor symmetric constant, with at least the given scale."""
        most = dtype.limits[1]
        scale = max(float(weight_scales(data, None, most)[0]), least)
        quant = one_scale(scale, 0)
        return self.hold(what, data.shape, dtype, quant, np.clip(in_steps(data, quant, dtype), -most, most))

    def bias(self, what: str, data: Array, scale: float, dtype: DType = DType.INT32) -> Tensor:
        """Adds a bias in units of products."""
        quant = one_scale(scale, 0)
        return self.hold(what, data.shape, dtype, quant, bias_steps(data, quant.scale, dtype))

    def add(self, kind: type[Op], inputs: Sequence[int], made: Tensor, **attributes: Any) -> Tensor:
        """Adds an operator; returns its output."""
        outputs = (made.id, *attributes.pop("more", ()))
        op = kind(inputs=tuple(inputs), outputs=outputs, name=self.op.name, index=self.op.index, **attributes)
        self.ops.append(op)
        return made
