"""MultiThreshold, the activation of networks that FINN has streamlined: the number of thresholds that an element
reaches, scaled. Where the input has 8-bit codes and thresholds are shared, it is a lookup table; else thresholds are
sorted and searched by bisection."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, elementwise, indexing, moves, quantized
from mote.frontends.onnx.node import Key, Node, Parser
from mote.frontends.onnx.ops.qonnx import StoredCodes, held
from mote.frontends.onnx.qonnx.dialect import GENERAL, Reals, reached
from mote.ir.graph.types import DType


def multi_threshold(node: Node) -> Value:
    node.text("out_dtype", "")
    layout, scale, bias = node.text("data_layout", "NCHW"), node.real("out_scale", 1.0), node.real("out_bias", 0.0)
    x, table = node.input(), node.known(1, "thresholds")
    if "C" not in (layout[1:2], layout[-1:]):
        raise UnsupportedNodeError(f"the data layout {layout} is unknown; supported are NCHW and NHWC")
    axis = x.rank - 1 if layout[-1] == "C" else 1
    if x.dtype != DType.FLOAT32 or x.rank < 2:
        raise UnsupportedNodeError(f"has a {x.dtype} input of {x.shape}; supported is float32 with a channel axis")
    if table.ndim != 2 or len(table) not in (1, x.shape[axis]) or not table.size or table.dtype.kind not in "fiu":
        raise UnsupportedNodeError(f"thresholds of {table.shape} do not fit a value of {x.shape} in {layout}")
    table = np.sort(table.astype(np.float32), axis=1)
    if np.any(np.isnan(table)):
        raise UnsupportedNodeError("a threshold is not a number")
    values = (np.float32(scale) * np.arange(table.shape[1] + 1, dtype=np.float32) + np.float32(bias)).astype(np.float32)
    if x.data is not None:
        return node.b.constant(values[reached(x.data, table, axis)])
    return _thresholded(node.b, x, table, values, axis)


def _thresholded(b: Builder, x: Value, table: Reals, values: Reals, axis: int) -> Value:
    """The value for the number of sorted thresholds that each element reaches: dequantized codes where 16 bits are
    enough for them."""
    as_held, codes = _held(values), quantized.codes_of(b, x)
    small = as_held is not None and as_held.dtype == DType.INT8
    if as_held is not None and small and codes is not None and codes.dtype == DType.INT8 and len(table) == 1:
        of = quantized.function(b, codes, lambda real: values[reached(real[None], table, 1)][0], as_held.quant)
        return quantized.dequantize(b, of)
    last = (*(a for a in range(x.rank) if a != axis), axis)
    counts = _search(b, moves.transpose(b, x, last), table)
    values = np.append(values, np.full((1 << table.shape[1].bit_length()) - len(values), values[-1], values.dtype))
    if as_held is None:
        made = indexing.gather(b, b.constant(values), 0, counts)
    else:
        stored = np.rint(values / as_held.quant.scale[0]).astype(np.int32) + as_held.origin
        chosen = indexing.gather(b, b.constant(stored.astype(as_held.dtype.numpy)), 0, counts)
        made = quantized.dequantize(b, quantized.coded(b, chosen, as_held.quant))
    return moves.transpose(b, made, np.argsort(last).tolist())


def _held(values: Reals) -> StoredCodes | None:
    """The storage of values that are multiples of their distance, or of half of it (of the signs 1 and -1)."""
    for parts in (1, 2):
        unit = np.abs(values[1] - values[0]) / np.float32(parts)
        if not 0 < unit < np.inf:
            return None
        codes = np.rint(values / unit)
        as_held = held(unit, np.zeros(1), int(codes.min()), int(codes.max()))
        if as_held is not None and np.array_equal(codes * unit, values):
            return as_held
    return None


def _search(b: Builder, x: Value, table: Reals) -> Value:
    """The number of thresholds that each element reaches, from its channel's row of sorted ones; more where all are
    reached. `x` has its channels last."""
    channels, most = table.shape
    width = (1 << most.bit_length()) - 1
    full = np.concatenate([table, np.repeat(table[:, -1:], width - most, axis=1)], axis=1)
    rows = b.constant(full.reshape(-1))
    first = np.arange(channels, dtype=np.int32) * width
    step = (width + 1) // 2
    count = _step(b, x, b.constant(full[:, step - 1]), step)
    while step > 1:
        step //= 2
        middle = elementwise.add(b, count, b.constant(first + step - 1))
        count = elementwise.add(b, count, _step(b, x, indexing.gather(b, rows, 0, middle), step))
    return count


def _step(b: Builder, x: Value, threshold: Value, step: int) -> Value:
    """`step` where a threshold is reached, else 0."""
    above = elementwise.greater_equal(b, x, threshold)
    on, off = (elementwise.scalar(b, number, DType.INT32) for number in (step, 0))
    return elementwise.where(b, above, on, off)


PARSERS: Mapping[Key, Parser] = {(domain, "MultiThreshold"): multi_threshold for domain in GENERAL}
