"""Classes of layers: kernels are packed for a small layer of each class, and cost others by their own sizes.

Layers of a class are of the same kind, with the same windows; sizes and channels leave the same rests when they are
divided by four, and are the same where they are small. That decides which kernels there are; how long they take follows
from the true sizes."""

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
"""Rows and columns from which on they are fewer in a class, and how many, beside the rest."""
MANY, FEW = 20, 16
"""Channels from which on they are fewer in a class, and how many, beside the rest."""
REST = 4
"""Kernels compute as many pixels and channels at once, or parts of that."""
GENERAL = ("ANY", "WIDENING")
"""Marks of macros whose code layers of any shape share."""
WINDOWS = (Conv2D, DepthwiseConv2D, MaxPool, AveragePool)


@dataclass(frozen=True)
class TensorOutline:
    """A tensor without its values."""

    shape: Shape
    dtype: DType
    zero_point: int | None
    """Of activations; None for constants."""
    scale: float | None
    """Of activations that an operator without weights reads or writes; None: it is made up."""

    @property
    def constant(self) -> bool:
        return self.zero_point is None


Outlines = tuple[TensorOutline, ...]


@dataclass(frozen=True, eq=False)
class ClassKernel(Packed):
    """A kernel that was packed for another layer of the same class."""

    constants: int = 0


def class_of(
    ops: Sequence[Op], outlines: Outlines, layouts: tuple[Layout, Layout]
) -> tuple[Outlines, tuple[Layout, Layout]] | None:
    """The tensors of the small layer that stands for a class, and the layouts of its first input and its output; None
    where there is no class beside the layer itself."""
    cut = _cut(ops, outlines)
    if cut is None:
        return None
    reads, writes = (
        narrowed(layout, cut[t][1]) for layout, t in zip(layouts, (ops[0].inputs[0], ops[-1].outputs[0]), strict=True)
    )
    small = tuple(replace(o, shape=_smaller(o, cut.get(t, (0, 0)))) for t, o in enumerate(outlines))
    return None if reads is None or writes is None or small == outlines else (small, (reads, writes))


def _cut(ops: Sequence[Op], outlines: Outlines) -> dict[int, tuple[int, int]] | None:
    """Rows and columns that tensors have less; None where operators do not allow it."""
    if not all(_cuts(op, outlines) for op in ops):
        return None
    end = ops[-1].outputs[0]
    _, height, width, _ = outlines[end].shape
    cut = {end: (height - _least(height, LONG, SHORT), width - _least(width, LONG, SHORT))}
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


def _cuts(op: Op, outlines: Outlines) -> bool:
    """Whether fewer rows, columns or channels make a smaller operator of the same kind."""
    given, made = ([outlines[t] for t in ids if t >= 0] for ids in (op.inputs, op.outputs))
    shapes = [o.shape for o in (*given, *made) if not o.constant]
    if any(len(shape) != 4 or shape[0] != 1 for shape in shapes):
        return False
    if isinstance(op, Conv2D):
        return given[1].shape[3] == shapes[0][3]
    if isinstance(op, DepthwiseConv2D):
        return op.multiplier == 1
    return isinstance(op, WINDOWS) or (isinstance(op, Add | Mul) and len(set(shapes)) == 1)


def _least(size: int, long: int, short: int) -> int:
    return size if size < long else short + size % REST


def _smaller(outline: TensorOutline, cut: tuple[int, int]) -> Shape:
    shape = outline.shape
    last = _least(shape[-1], MANY, FEW)
    if not outline.constant:
        return (shape[0], shape[1] - cut[0], shape[2] - cut[1], last)
    return (_least(shape[0], MANY, FEW), *shape[1:-1], last) if len(shape) > 1 else (last,)


def narrowed(layout: Layout, columns: int) -> Layout | None:
    """A layout for so many columns less; None where it does not say how long lines are."""
    if layout == NHWC:
        return layout
    made: Any = layout
    return replace(made, line=made.line - columns) if "line" in {f.name for f in fields(made)} else None


def for_layer(kernel: Packed, ops: Sequence[Op], small: Outlines, outlines: Outlines) -> Packed:
    """The kernel of a class for one of its layers."""
    values: dict[str, Any] = {f.name: getattr(kernel, f.name) for f in fields(Packed)}
    parts = (for_layer(part, [op], small, outlines) for part, op in zip(kernel.price.parts, ops, strict=False))
    values["price"] = replace(kernel.price, parts=tuple(parts))
    if kernel.needs.scratch:
        grown = _inputs(ops, outlines) / _inputs(ops, small)
        values["needs"] = replace(kernel.needs, scratch=round(kernel.needs.scratch * grown))
    values["instances"] = tuple(_own(instance, ops, outlines) for instance in kernel.instances)
    return ClassKernel(**values, constants=_constants(kernel, ops, small, outlines))


def _constants(kernel: Packed, ops: Sequence[Op], small: Outlines, outlines: Outlines) -> int:
    """Bytes of constants: so many for each weight, and others for each channel of the output."""
    layers = [op for op in ops if op.weights is not None]
    weights, less = (sum(prod(some[op.inputs[1]].shape) for op in layers) for some in (outlines, small))
    if not less:
        return kernel.constants
    channels, fewer = (some[ops[-1].outputs[0]].shape[-1] for some in (outlines, small))
    each, rest = divmod(kernel.constants, less)
    return each * weights + round(rest * channels / fewer)


def _own(instance: Instance, ops: Sequence[Op], outlines: Outlines) -> Instance:
    """Code that was made for a layer of this shape, which others do not share."""
    if not instance.code or any(mark in instance.macro for mark in GENERAL):
        return instance
    first, last = outlines[ops[0].inputs[0]].shape, outlines[ops[-1].outputs[0]].shape
    shape = f"{first[-1]}x{last[-1]}" if isinstance(ops[-1], Conv2D) else f"{first[2]}x{first[-1]}"
    return replace(instance, arguments=(*instance.arguments, shape))


def _inputs(ops: Sequence[Op], outlines: Outlines) -> int:
    """What working memory grows with: channels that are read, and columns of them between two operators."""
    first = outlines[ops[0].inputs[0]].shape
    return first[-1] if len(ops) == 1 else first[-1] * outlines[ops[0].outputs[0]].shape[2]
