"""Integer operators in PyTorch for many samples at once, bit-exact with their NumPy reference.

Accumulators are computed in double precision, which is exact in any order of summation. Other operators fall back to
the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mote.bench.execute import batch
from mote.bench.execute.torch.exact.fixedpoint import (
    Ints,
    rescale,
    rescale_down,
    rescale_wide,
    scale_even,
    scale_once,
    wrap32,
)
from mote.bench.execute.torch.float32 import moves, windows
from mote.bench.execute.torch.float32.common import Operands, Value, aligned, given, images, optional, padded
from mote.bench.execute.torch.float32.matrix import laid, operands, vector_sums
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.types import Activation, DType, Rounding
from mote.ir.ops.common import channel_scales, even_scales, quantized_range, real_scales, wide_sums
from mote.ir.ops.elementwise.activations import Clamp, Unary
from mote.ir.ops.elementwise.arithmetic import HEADROOM, Add, Mul, Sub
from mote.ir.ops.elementwise.binary_unscaled import Maximum, Minimum
from mote.ir.ops.elementwise.quantize import Rescale
from mote.ir.ops.matrix.batch_matmul import MatrixProduct
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.grouped_conv import GroupedConv2D
from mote.ir.ops.windows.pool import AveragePool, MaxPool
from mote.ir.ops.windows.resize import ONE, ResizeBilinear, ResizeNearest
from mote.ir.ops.windows.transpose_conv import TransposeConv

Exact = Callable[[Graph, Any, Operands], Ints | tuple[Ints, ...]]
"""Implementation of an integer operator; all values are int64."""


WHOLE = 1 << 24
"""Integers below this are exact in single precision."""
PART = 1 << 15
"""Number of elements requantized per chunk."""


def on(x: Value, values: NDArray[Any] | int) -> Ints:
    """Moves integers to the device of a value."""
    return torch.as_tensor(np.asarray(values, np.int64), device=x.device)


def exact_products(x: Value) -> Any:
    """Context manager: disables inexact convolution algorithms (TF32, Winograd)."""
    return torch.backends.cudnn.flags(enabled=False) if x.is_cuda else torch.backends.nnpack.flags(enabled=False)


def layer(g: Graph, op: Conv2D | GroupedConv2D | DepthwiseConv2D | TransposeConv, values: Operands) -> Ints:
    x, w = given(values, 0), given(values, 1)
    kind = torch.float32 if _small(g, op, x, w) else torch.float64
    centred, weights = x.to(kind) - op.input(g).zero_point, w.to(kind)
    if x.is_cuda and isinstance(op, Conv2D | DepthwiseConv2D):
        return finish(g, op, unfolded_sums(op, centred, weights), values)
    with exact_products(x):
        sums = windows.sums_of(g, op, centred, weights)
    return finish(g, op, sums, values)


def unfolded_sums(op: Conv2D | DepthwiseConv2D, x: Value, w: Value) -> Value:
    """Accumulators of a layer as one matrix product over all windows (im2col): with exact algorithms only, accelerators
    process convolutions sample by sample."""
    axes = op.vertical, op.horizontal
    seen = padded(images(x), axes)
    for dim, axis in enumerate(axes, 2):
        seen = seen.unfold(dim, (axis.kernel - 1) * axis.dilation + 1, axis.stride)
    seen = seen[..., :: axes[0].dilation, :: axes[1].dilation]
    if isinstance(op, DepthwiseConv2D):
        weights = w[0].permute(3, 0, 1, 2)
        repeated = seen.repeat_interleave(len(weights) // seen.shape[1], 1)
        sums = (repeated * weights.reshape(-1, 1, 1, *weights.shape[2:])).sum((4, 5)).movedim(1, -1)
    else:
        sums = torch.tensordot(seen, w[0].permute(3, 1, 2, 0), ([1, 4, 5], [0, 1, 2]))
    return sums.reshape(x.shape[0], -1, *sums.shape[1:])


def _small(g: Graph, op: Op, x: Value, w: Value) -> bool:
    """Whether single precision is exact on this device, because no sum of products can exceed its exact integers."""
    if x.is_cuda or isinstance(op, TransposeConv):
        return False
    t, axis = op.input(g), 4 if isinstance(op, DepthwiseConv2D) else 1
    reach = max(abs(end - t.zero_point) for end in t.dtype.limits)
    return int(w.abs().sum([i for i in range(w.dim()) if i != axis]).max()) * reach < WHOLE


def fully_connected(g: Graph, op: FullyConnected, values: Operands) -> Ints:
    x = given(values, 0).to(torch.float64) - op.input(g).zero_point
    result = finish(g, op, vector_sums(x, given(values, 1).to(torch.float64)), values)
    return result.reshape(result.shape[0], *op.output(g).shape)


def finish(g: Graph, op: Any, sums: Value, values: Operands) -> Ints:
    """Requantizes accumulators (channels last): bias, scale, activation."""
    x, w, y, bias = op.input(g), op.input(g, 1), op.output(g), optional(values, 2)
    channels = sums.shape[-1]
    wide = wide_sums(g, op)
    if sums.dtype == torch.float32 and op.rounding is Rounding.TWICE and not wide:
        offsets = torch.zeros(channels, dtype=torch.int64) if bias is None else bias.reshape(-1)
        mult, shift = (on(sums, part) for part in channel_scales(x, w, y, channels))
        if int(offsets.abs().max()) < 1 << 30 and int(shift.max()) <= 0:
            return _finish_small(sums, offsets, mult, shift, y.zero_point, quantized_range(op.activation, y))
    total = sums.to(torch.int64) + (0 if bias is None else bias.reshape(-1))
    total = total if wide else wrap32(total)
    of = x, w, y, channels
    if op.rounding is Rounding.ONCE:
        scaled = scale_once(total, torch.from_numpy(real_scales(*of)).to(total.device))
    elif op.rounding is Rounding.EVEN:
        scaled = scale_even(total, torch.from_numpy(even_scales(*of)).to(total.device))
    else:
        mult, shift = (on(total, part) for part in channel_scales(*of))
        scaled = (rescale_wide if wide else rescale)(total, mult, shift)
    return torch.clamp(wrap32(scaled + y.zero_point), *quantized_range(op.activation, y))


def _finish_small(
    sums: Value, offsets: Ints, mult: Ints, shift: Ints, zero_point: int, limits: tuple[int, int]
) -> Ints:
    """Requantizes accumulators that cannot overflow, in chunks that stay in the CPU cache."""
    rows = max(PART * len(sums) // sums.numel(), 1)
    bias = offsets.to(torch.float64)
    parts = [
        rescale_down(part + bias, mult, shift).add_(zero_point).clamp_(*limits).to(torch.int64)
        for part in torch.split(sums, rows)
    ]
    return torch.cat(parts)


def product(g: Graph, op: MatrixProduct, values: Operands) -> Ints:
    """Matrix product; products of int16 are accumulated in two halves."""
    y = op.output(g)
    scaled = y.dtype in (DType.INT8, DType.INT16)
    wholes = (given(values, p).to(torch.float64) - (op.input(g, p).zero_point if scaled else 0) for p in (0, 1))
    left, right = operands(op, *wholes)
    high = torch.floor(left / 256)
    total = ((high @ right).to(torch.int64) << 8) + ((left - 256 * high) @ right).to(torch.int64)
    total = laid(op, total)
    if y.dtype == DType.INT32:
        return wrap32(total)
    mult, shift = (on(total, part) for part in op.scale(g))
    if op.rounding is Rounding.EVEN:
        rescaled = scale_even(wrap32(total), torch.tensor(op.ratio(g), device=total.device))
    elif y.dtype == DType.INT16:
        rescaled = rescale_wide(total, mult, shift)
    else:
        rescaled = rescale(wrap32(total), mult, shift)
    return torch.clamp(wrap32(rescaled + y.zero_point), *y.dtype.limits)


def steps(g: Graph, op: Op, values: Operands) -> list[Ints]:
    """Operands minus their zero points, broadcast against each other."""
    return aligned(*(given(values, p) - op.input(g, p).zero_point for p in range(2)))


def finished(scaled: Ints, activation: Activation, y: Tensor) -> Ints:
    return torch.clamp(scaled + y.zero_point, *quantized_range(activation, y))


def add(g: Graph, op: Add | Sub, values: Operands) -> Ints:
    y = op.output(g)
    first, second, result = ([on(given(values, 0), part) for part in scale] for scale in op.multipliers(g))
    headroom = HEADROOM[y.dtype]
    a, b = steps(g, op, values)
    total = rescale(a << headroom, *first) + op.sign * rescale(b << headroom, *second)
    return finished(rescale(total, *result), op.activation, y)


def multiply(g: Graph, op: Mul, values: Operands) -> Ints:
    a, b = steps(g, op, values)
    return finished(rescale(a * b, *(on(a, part) for part in op.multiplier(g))), op.activation, op.output(g))


def extreme(choose: Callable[[Value, Value], Value]) -> Exact:
    return lambda g, op, values: choose(*aligned(given(values, 0), given(values, 1)))


def average(g: Graph, op: AveragePool, values: Operands) -> Ints:
    x, y = given(values, 0), op.output(g)
    with exact_products(x):
        total = windows.window_sums(op, x.to(torch.float64)).to(torch.int64)
    count = windows.counts(op, x)
    rounded = torch.sign(total) * ((total.abs() + count // 2) // count)
    return torch.clamp(rounded, *quantized_range(op.activation, y))


def largest(g: Graph, op: MaxPool, values: Operands) -> Ints:
    x, y = given(values, 0), op.output(g)
    maxima = windows.window_maxima(op, x.to(torch.float32)).clamp(*y.dtype.limits).to(torch.int64)
    return torch.clamp(maxima, *quantized_range(op.activation, y))


def mean(g: Graph, op: Mean, values: Operands) -> Ints:
    x, y = given(values, 0), op.output(g)
    axes = [axis + 1 for axis in op.axes]
    total = wrap32((x.sum(axes) if axes else x) - op.input(g).zero_point * op.count(g))
    scaled = rescale(total, *(on(x, part) for part in op.scale(g)))
    result = torch.clamp(wrap32(scaled + y.zero_point), *y.dtype.limits)
    return result.reshape(x.shape[0], *y.shape)


def rescaled(g: Graph, op: Rescale, values: Operands) -> Ints:
    x, y = given(values, 0), op.output(g)
    scaled = rescale(wrap32(x - op.input(g).zero_point), *(on(x, part) for part in op.scale(g)))
    return torch.clamp(wrap32(scaled + y.zero_point), *y.dtype.limits)


def blended(g: Graph, op: ResizeBilinear, values: Operands) -> Ints:
    x = given(values, 0)
    for axis, size in zip((2, 3), op.size, strict=True):
        blend = op.blend(g, x.shape[axis], size)
        weight = on(x, blend.weight).reshape(-1, *(1,) * (4 - axis))
        lower, upper = (x.index_select(axis, on(x, ends)) for ends in (blend.lower, blend.upper))
        x = lower * (ONE - weight) + upper * weight
    return torch.sign(x) * ((x.abs() + ONE * ONE // 2) // (ONE * ONE))


def tabled(g: Graph, op: Unary, values: Operands) -> Ints | tuple[Ints, ...]:
    """Element-wise function by lookup table for int8, by the reference for wider types."""
    x = given(values, 0)
    if op.input(g).dtype != DType.INT8:
        return clamped(g, op, values) if isinstance(op, Clamp) else reference(g, op, values)
    return on(x, op.table(g))[x + 128]


def clamped(g: Graph, op: Clamp, values: Operands) -> Ints:
    """Clamps int16 values, whose zero point is 0."""
    x, y = given(values, 0), op.output(g)
    (scale,) = op.scales(op.input(g), y)
    return torch.clamp(rescale(x, *(on(x, part) for part in scale)), *quantized_range(op.clamp, y))


def reference(g: Graph, op: Op, values: Operands) -> tuple[Value, ...]:
    """Falls back to the NumPy reference."""
    arrays: list[NDArray[Any] | None] = []
    for position, x in enumerate(values):
        t = op.tensor(g, position)
        if t is None or x is None:
            arrays.append(None)
        elif t.data is not None:
            arrays.append(t.data)
        else:
            arrays.append(x.cpu().numpy().astype(t.dtype.numpy).reshape(batch.stacked(t.shape, x.shape[0])))
    there = next(x for x in values if x is not None)
    results = []
    for i, array in zip(op.outputs, batch.apply(g, op, arrays), strict=True):
        result = torch.from_numpy(np.ascontiguousarray(array)).to(there.device)
        result = result if result.is_floating_point() else result.to(torch.int64)
        results.append(result.reshape(-1, *g.tensors[i].shape))
    return tuple(results)


MOVES: frozenset[Exact] = frozenset(moves.TWINS.values())
EXACT: dict[type, Exact] = {
    Conv2D: layer,
    GroupedConv2D: layer,
    DepthwiseConv2D: layer,
    TransposeConv: layer,
    FullyConnected: fully_connected,
    MatrixProduct: product,
    Add: add,
    Mul: multiply,
    Maximum: extreme(torch.maximum),
    Minimum: extreme(torch.minimum),
    AveragePool: average,
    MaxPool: largest,
    Mean: mean,
    Rescale: rescaled,
    ResizeBilinear: blended,
    ResizeNearest: windows.nearest,
    Unary: tabled,
    **moves.TWINS,
}
"""Integer implementations by operator class, which cover subclasses."""


def exact(g: Graph, op: Op) -> Exact:
    """The integer implementation of an operator."""
    function = next((EXACT[kind] for kind in type(op).__mro__ if kind in EXACT), reference)
    if function in MOVES:
        return function
    y = op.output(g)
    otherwise = isinstance(op, Add) and (op.shifts is not None or type(op) not in (Add, Sub))
    return reference if otherwise or y.quant is None or y.dtype not in (DType.INT8, DType.INT16) else function
