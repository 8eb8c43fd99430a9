"""Layer classes: kernels are packed once for a small representative of similar layers, then costed with each layer's
true sizes.

Layers of a class have the same kind and window. Their sizes and channel counts are equal modulo four, and identical
where they are small: this determines which kernels apply; run time is computed from the true sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import prod
from typing import Any

from mote.compiler.kernels.contract import NHWC, Instance, Layout, Packed
from mote.ir.graph import Op
from mote.ir.graph.tensor import Shape
from mote.ir.graph.types import DType
from mote.ir.ops.common import WindowOp
from mote.ir.ops.elementwise.arithmetic import Add, Mul
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.pool import AveragePool, MaxPool

LONG, SHORT = 12, 8
"""Heights and widths of at least LONG become SHORT plus the remainder modulo REST."""
MANY, FEW = 20, 16
"""Channel counts of at least MANY become FEW plus the remainder modulo REST."""
REST = 4
"""Kernels compute pixels and channels in groups that divide this number."""
GENERAL = ("ANY", "WIDENING")
"""Substrings of macro names whose code is shared by layers of all shapes."""
WINDOWS = (Conv2D, DepthwiseConv2D, MaxPool, AveragePool)


@dataclass(frozen=True)
class TensorOutline:
    """Shape, type and quantization of a tensor, without its values."""

    shape: Shape
    dtype: DType
    zero_point: int | None
    """Zero point of an activation; None for constants."""
    scale: float | None
    """Scale of an activation next to an operator without weights; None if any scale will do."""

    @property
    def constant(self) -> bool:
        return self.zero_point is None


Outlines = tuple[TensorOutline, ...]


@dataclass(frozen=True, eq=False)
class ClassKernel(Packed):
    """A kernel packed for the class representative, with the constants' size scaled to the layer."""

    constants: int = 0


def class_of(
    ops: Sequence[Op], outlines: Outlines, layouts: tuple[Layout, Layout]
) -> tuple[Outlines, tuple[Layout, Layout]] | None:
    """Tensor outlines of the class representative, and its input and output layouts; None if the layer has no smaller
    representative."""
    cut = _cut(ops, outlines)
    if cut is None:
        return None
    reads, writes = (
        narrowed(layout, cut[t][1]) for layout, t in zip(layouts, (ops[0].inputs[0], ops[-1].outputs[0]), strict=True)
    )
    small = tuple(replace(o, shape=_smaller(o, cut.get(t, (0, 0)))) for t, o in enumerate(outlines))
    return None if reads is None or writes is None or small == outlines else (small, (reads, writes))


def _cut(ops: Sequence[Op], outlines: Outlines) -> dict[int, tuple[int, int]] | None:
    """(rows, columns) to remove from each tensor; None if the operators do not allow it."""
    if not all(_can_shrink(op, outlines) for op in ops):
        return None
    end = ops[-1].outputs[0]
    _, height, width, _ = outlines[end].shape
    cut = {end: (height - _shrunk_size(height, LONG, SHORT), width - _shrunk_size(width, LONG, SHORT))}
    for op in reversed(ops):
        if op.outputs[0] not in cut:
            return None
        rows, columns = cut[op.outputs[0]]
        if isinstance(op, WindowOp):
            rows, columns = rows * op.vertical.stride, columns * op.horizontal.stride
        for t in op.inputs:
            if t >= 0 and not outlines[t].constant and cut.setdefault(t, (rows, columns)) != (rows, columns):
                return None
    return cut


def _can_shrink(op: Op, outlines: Outlines) -> bool:
    """Whether the operator can be shrunk in rows, columns or channels and stay the same kind."""
    inputs, outputs = ([outlines[t] for t in ids if t >= 0] for ids in (op.inputs, op.outputs))
    shapes = [o.shape for o in (*inputs, *outputs) if not o.constant]
    if any(len(shape) != 4 or shape[0] != 1 for shape in shapes):
        return False
    if isinstance(op, Conv2D):
        return inputs[1].shape[3] == shapes[0][3]
    if isinstance(op, DepthwiseConv2D):
        return op.multiplier == 1
    return isinstance(op, WINDOWS) or (isinstance(op, Add | Mul) and len(set(shapes)) == 1)


def _shrunk_size(size: int, long: int, short: int) -> int:
    return size if size < long else short + size % REST


def _smaller(outline: TensorOutline, cut: tuple[int, int]) -> Shape:
    shape = outline.shape
    last = _shrunk_size(shape[-1], MANY, FEW)
    if not outline.constant:
        return (shape[0], shape[1] - cut[0], shape[2] - cut[1], last)
    return (_shrunk_size(shape[0], MANY, FEW), *shape[1:-1], last) if len(shape) > 1 else (last,)


def narrowed(layout: Layout, columns: int) -> Layout | None:
    """The layout for lines that are `columns` shorter; None if the layout has no line length."""
    if layout == NHWC:
        return layout
    other: Any = layout
    return replace(other, line=other.line - columns) if "line" in {f.name for f in fields(other)} else None


def for_layer(kernel: Packed, ops: Sequence[Op], small: Outlines, outlines: Outlines) -> Packed:
    """The class kernel adapted to one layer: scratch memory, constants and code are scaled to its sizes."""
    values: dict[str, Any] = {f.name: getattr(kernel, f.name) for f in fields(Packed)}
    parts = (for_layer(part, [op], small, outlines) for part, op in zip(kernel.price.parts, ops, strict=False))
    values["price"] = replace(kernel.price, parts=tuple(parts))
    if kernel.needs.scratch:
        grown = _scratch_size(ops, outlines) / _scratch_size(ops, small)
        values["needs"] = replace(kernel.needs, scratch=round(kernel.needs.scratch * grown))
    values["instances"] = tuple(_specialized(instance, ops, outlines) for instance in kernel.instances)
    return ClassKernel(**values, constants=_constants(kernel, ops, small, outlines))


def _constants(kernel: Packed, ops: Sequence[Op], small: Outlines, outlines: Outlines) -> int:
    """Bytes of constants, extrapolated from the representative: per weight, and the remainder per output channel."""
    layers = [op for op in ops if op.weights is not None]
    weights, less = (sum(prod(some[op.inputs[1]].shape) for op in layers) for some in (outlines, small))
    if not less:
        return kernel.constants
    channels, fewer = (some[ops[-1].outputs[0]].shape[-1] for some in (outlines, small))
    each, rest = divmod(kernel.constants, less)
    return each * weights + round(rest * channels / fewer)


def _specialized(instance: Instance, ops: Sequence[Op], outlines: Outlines) -> Instance:
    """Marks code that is specialized for this shape, so that layers of other shapes do not share it."""
    if not instance.code or any(mark in instance.macro for mark in GENERAL):
        return instance
    first, last = outlines[ops[0].inputs[0]].shape, outlines[ops[-1].outputs[0]].shape
    shape = f"{first[-1]}x{last[-1]}" if isinstance(ops[-1], Conv2D) else f"{first[2]}x{first[-1]}"
    return replace(instance, arguments=(*instance.arguments, shape))


def _scratch_size(ops: Sequence[Op], outlines: Outlines) -> int:
    """Size that scratch memory is proportional to: input channels, times the columns between two fused operators."""
    first = outlines[ops[0].inputs[0]].shape
    return first[-1] if len(ops) == 1 else first[-1] * outlines[ops[0].outputs[0]].shape[2]
