"""Builder of the operators that replace a composite layer."""

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
"""Range for values that are always zero."""
Inside = Mapping[str, Range]
"""Calibrated ranges of a layer's intermediate values, by name."""
ObserveCallback = Callable[[str, Array], None]
"""Callback that receives a layer's intermediate values, by name."""


@dataclass
class CompositeBuilder:
    """Builds the integer operators and tensors that replace a layer of the float graph."""

    graph: Graph
    op: Op
    inside: Inside
    inputs: Sequence[int]
    """Ids of the layer's inputs: integer tensors, and constants of the float graph."""
    x: Tensor
    y: Tensor
    fresh: int
    """Next free tensor id."""
    tensors: dict[int, Tensor] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)

    def data(self, position: int) -> Array:
        """A float constant of the layer, by input position."""
        constant = self.op.input(self.graph, position).data
        assert constant is not None
        return constant

    def hold(
        self, what: str, shape: Shape, dtype: DType, quant: Quantization | None = None, data: Array | None = None
    ) -> Tensor:
        """Adds a tensor with this type and quantization, a constant if `data` is given."""
        made = Tensor(self.fresh, f"{self.op.name} ({what})", shape, dtype, quant, data, inner=True)
        self.fresh += 1
        self.tensors[made.id] = made
        return made

    def between(self, what: str, shape: Shape, dtype: DType = DType.INT16) -> Tensor:
        """Adds a tensor quantized by the calibrated range of intermediate value `what`."""
        low, high = self.inside[what]
        return self.hold(what, shape, dtype, steps(*((low, high) if low < high else DEAD), dtype))

    def like(self, t: Tensor, what: str, shape: Shape | None = None) -> Tensor:
        """Adds a tensor with the type and quantization of another one."""
        return self.hold(what, t.shape if shape is None else shape, t.dtype, t.quant)

    def retyped(self, tensor: int, dtype: DType, quant: Quantization | None) -> Tensor:
        """Changes type and quantization of a state tensor, keeping its id."""
        made = replace(self.graph.tensors[tensor], dtype=dtype, quant=quant)
        self.tensors[tensor] = made
        return made

    def weights(self, what: str, data: Array, dtype: DType = DType.INT8, least: float = 0.0) -> Tensor:
        """Adds a constant with symmetric per-tensor quantization; its scale is at least `least`."""
        most = dtype.limits[1]
        scale = max(float(weight_scales(data, None, most)[0]), least)
        quant = one_scale(scale, 0)
        return self.hold(what, data.shape, dtype, quant, np.clip(in_steps(data, quant, dtype), -most, most))

    def bias(self, what: str, data: Array, scale: float, dtype: DType = DType.INT32) -> Tensor:
        """Adds a bias quantized with the accumulator's scale."""
        quant = one_scale(scale, 0)
        return self.hold(what, data.shape, dtype, quant, bias_steps(data, quant.scale, dtype))

    def add(self, kind: type[Op], inputs: Sequence[int], made: Tensor, **attributes: Any) -> Tensor:
        """Adds an operator and returns its output tensor."""
        outputs = (made.id, *attributes.pop("more", ()))
        op = kind(inputs=tuple(inputs), outputs=outputs, name=self.op.name, index=self.op.index, **attributes)
        self.ops.append(op)
        return made
