"""What a layer is written with whose integer form is more than the operator over other tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mote.compress.quantize.encode import Range, bias_steps, in_steps, one_scale, steps, weight_scales
from mote.graph import Graph, Op, Quantization, Tensor
from mote.graph.tensor import Array, Shape
from mote.graph.types import DType

DEAD = (-1 / 64, 1 / 64)
"""The range of values that are always zero: any that is not far from that of others."""
Inside = Mapping[str, Range]
"""The ranges of values inside a layer, by their names."""
See = Callable[[str, Array], None]
"""A callback that is given values inside a layer, by their names."""


@dataclass
class Scope:
    """A layer of the float graph, and the integer operators that take its place."""

    graph: Graph
    op: Op
    inside: Inside
    inputs: Sequence[int]
    """What the layer reads: integer tensors, where it reads any, and the constants of the float graph."""
    x: Tensor
    y: Tensor
    fresh: int
    """The first id that is free."""
    tensors: dict[int, Tensor] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)

    def data(self, position: int) -> Array:
        """A constant of the float graph."""
        found = self.op.input(self.graph, position).data
        assert found is not None
        return found

    def hold(
        self, what: str, shape: Shape, dtype: DType, quant: Quantization | None = None, data: Array | None = None
    ) -> Tensor:
        """A new tensor."""
        made = Tensor(self.fresh, f"{self.op.name} ({what})", shape, dtype, quant, data, inner=True)
        self.fresh += 1
        self.tensors[made.id] = made
        return made

    def between(self, what: str, shape: Shape, dtype: DType = DType.INT16) -> Tensor:
        """A new tensor for values whose range calibration has shown."""
        low, high = self.inside[what]
        return self.hold(what, shape, dtype, steps(*((low, high) if low < high else DEAD), dtype))

    def like(self, t: Tensor, what: str, shape: Shape | None = None) -> Tensor:
        """A new tensor with the type and the scale of another one."""
        return self.hold(what, t.shape if shape is None else shape, t.dtype, t.quant)

    def retyped(self, tensor: int, dtype: DType, quant: Quantization | None) -> Tensor:
        """A tensor of the float graph, a state, under its id as integers."""
        made = replace(self.graph.tensors[tensor], dtype=dtype, quant=quant)
        self.tensors[tensor] = made
        return made

    def weights(self, what: str, data: Array, dtype: DType = DType.INT8, least: float = 0.0) -> Tensor:
        """A constant in symmetric steps of one scale, at least the given one."""
        most = dtype.limits[1]
        scale = max(float(weight_scales(data, None, most)[0]), least)
        quant = one_scale(scale, 0)
        return self.hold(what, data.shape, dtype, quant, np.clip(in_steps(data, quant, dtype), -most, most))

    def bias(self, what: str, data: Array, scale: float, dtype: DType = DType.INT32) -> Tensor:
        """A constant in steps of products."""
        quant = one_scale(scale, 0)
        return self.hold(what, data.shape, dtype, quant, bias_steps(data, quant.scale, dtype))

    def add(self, kind: type[Op], inputs: Sequence[int], made: Tensor, **attributes: Any) -> Tensor:
        """An operator, and what it makes."""
        outputs = (made.id, *attributes.pop("more", ()))
        op = kind(inputs=tuple(inputs), outputs=outputs, name=self.op.name, index=self.op.index, **attributes)
        self.ops.append(op)
        return made
