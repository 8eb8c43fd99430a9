"""The Emitter: maps tensors of a graph to tensors of a file, and adds operators between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mote.frontends.tflite.file.schema import ACTIVATIONS
from mote.frontends.tflite.writer import NO_TENSOR, Writer
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.elementwise.quantize import dequantized


class UnsaidError(Exception):
    """An operator without an equivalent in TFLite; collected, so that one message lists all such layers."""


@dataclass
class Emitter:
    """One subgraph under construction."""

    writer: Writer
    graph: Graph
    write_body: Callable[[Graph], int]
    """Writes the body of an operator, and returns its subgraph index."""
    same: dict[int, int] = field(default_factory=dict)
    """Tensors of the graph that are the same tensor in the file."""
    indices: dict[int, int] = field(default_factory=dict)
    """Tensor indices in the file by tensor ids of the graph."""
    done: set[int] = field(default_factory=set)
    """Operators, by identity, that were written together with an earlier one."""
    integers: dict[tuple[Shape, bytes], int] = field(default_factory=dict)
    """Shared constants for shapes, axes and sizes."""

    def at(self, tensor: int) -> int:
        """The index of a tensor of the graph in the file."""
        if tensor == ABSENT:
            return NO_TENSOR
        tensor = self.same.get(tensor, tensor)
        if tensor not in self.indices:
            self.indices[tensor] = self.write(self.graph.tensors[tensor])
        return self.indices[tensor]

    def all(self, tensors: Sequence[int]) -> list[int]:
        return [self.at(t) for t in tensors]

    def write(self, t: Tensor, shape: Shape | None = None, name: str = "") -> int:
        """Write a tensor like one of the graph, with another shape or name where they are given, and then without
        data."""
        stored = _unsigned(t)
        how = _scales(stored)
        if t.data is not None and shape is None:
            assert stored.data is not None
            return self._half(t) if t.stored == DType.FLOAT16 else self._constant(t, stored.data, how)
        return self.writer.tensor(name or t.name, t.shape if shape is None else shape, stored.dtype, **how)

    def _constant(self, t: Tensor, data: Array, how: dict[str, Any]) -> int:
        """A constant in its storage type."""
        return self.writer.const(t.name, data, **how, dtype="" if t.stored is None else t.stored.value)

    def _half(self, t: Tensor) -> int:
        """A float32 constant that the file stores as float16 and dequantizes."""
        assert t.data is not None
        held = self.writer.const(f"{t.name} (float16)", t.data.astype(np.float16))
        wide = self.writer.tensor(t.name, t.shape, t.dtype)
        self.writer.op("DEQUANTIZE", [held], [wide], version=3)
        return wide

    def between(self, t: Tensor, what: str, shape: Shape | None = None) -> int:
        """An intermediate tensor that the graph lacks, with the type and quantization of one of its tensors."""
        return self.write(t, t.shape if shape is None else shape, f"{t.name} ({what})")

    def floats(self, t: Tensor, what: str, shape: Shape) -> int:
        """A float tensor that the graph lacks, named after one of its tensors."""
        return self.writer.tensor(f"{t.name} ({what})", shape, DType.FLOAT32)

    def ints(self, values: ArrayLike, dtype: DType = DType.INT32) -> int:
        """A shared constant of integers."""
        array = np.asarray(values, dtype.numpy)
        key = array.shape, bytes(dtype, "ascii") + array.tobytes()
        if key not in self.integers:
            self.integers[key] = self.writer.const(f"integers_{len(self.integers)}", array)
        return self.integers[key]

    def constant(self, t: Tensor, data: Array, what: str) -> int:
        """A constant with the type and quantization of a tensor of the graph."""
        return self.writer.const(f"{t.name} ({what})", data.astype(t.dtype.numpy), **_scales(t))

    def real(self, tensor: int) -> int:
        """The weights of a float layer: int8 ones are dequantized, because LiteRT's hybrid kernels would quantize the
        activations to 8 bits."""
        if tensor == ABSENT:
            return NO_TENSOR
        t = self.graph.tensors[tensor]
        if t.data is None or t.dtype != DType.INT8:
            return self.at(tensor)
        return self.writer.const(t.name, dequantized(t.data, t).astype(np.float32))

    def op(self, kind: str, inputs: Sequence[int], outputs: Sequence[int], **options: Any) -> None:
        """An operator between tensors of the file."""
        self.writer.op(kind, inputs, outputs, **options)

    def activated(self, op: Op, activation: Activation, kind: str, inputs: Sequence[int], **options: Any) -> None:
        """An operator with a fused activation; one that TFLite cannot fuse becomes an operator after it."""
        y = self.graph.tensors[op.outputs[0]]
        if activation in ACTIVATIONS:
            self.op(kind, inputs, [self.at(y.id)], **options, fused_activation_function=activation.value)
            return
        before = self.between(y, "before its activation")
        self.op(kind, inputs, [before], **options)
        self.op(activation.value, [before], [self.at(y.id)])


def _scales(t: Tensor) -> dict[str, Any]:
    """The quantization parameters of a tensor. Biases have the scales of weights, on their only axis."""
    if t.quant is None:
        return {}
    axis = t.quant.axis if t.quant.per_channel and t.quant.axis < len(t.shape) else 0
    return {"scale": t.quant.scale, "zero_point": t.quant.zero_point, "axis": axis}


def _unsigned(t: Tensor) -> Tensor:
    """A tensor of a uint8 file in its original type: Mote's values and zero points are 128 less, and weights have
    none."""
    if t.quant is None or not t.quant.unsigned:
        return t
    shift = 128
    if t.dtype == DType.INT16:
        assert t.data is not None
        shift = -min(int(t.data.min(initial=0)), 0)
    data = None if t.data is None else (t.data.astype(np.int16) + shift).astype(np.uint8)
    quant = replace(t.quant, zero_point=t.quant.zero_point + shift, unsigned=False)
    return replace(t, dtype=DType.UINT8, data=data, quant=quant)
