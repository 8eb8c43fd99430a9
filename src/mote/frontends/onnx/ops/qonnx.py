"""Quantizers of QONNX: Quant (IntQuant), BipolarQuant, Trunc. Per-tensor quantized results are dequantized codes; other
operators find the codes behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, elementwise, quantized
from mote.frontends.onnx.node import FileNode, GraphScope, Key, Node, Parser
from mote.frontends.onnx.qonnx.dialect import GENERAL, QUANTS, Grid, bipolar_grid, quant_grid, rounding
from mote.ir.graph import Quantization
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType


@dataclass(frozen=True, eq=False)
class StoredCodes:
    """Storage of codes: code + origin in a tensor of a type, with codes from `low` to `high`."""

    quant: Quantization
    dtype: DType
    origin: int
    low: int
    high: int

    @property
    def clipped(self) -> bool:
        """Whether the type has a wider range than the codes."""
        return (self.low + self.origin, self.high + self.origin) != self.dtype.limits


def held(scale: Array, zero: Array, low: int, high: int) -> StoredCodes | None:
    """The storage of per-tensor codes in 8 or 16 bits; None where they do not fit."""
    scale, zero = (np.unique(given) for given in (scale, zero))
    if len(scale) != 1 or len(zero) != 1 or not np.isfinite(scale[0]) or scale[0] <= 0 or zero[0] != np.rint(zero[0]):
        return None
    for dtype, origin in ((DType.INT8, 0), (DType.INT8, -128), (DType.INT16, 0), (DType.INT16, -32768)):
        least, most = dtype.limits
        within = least <= low + origin and high + origin <= most
        if within and least <= zero[0] + origin <= most:
            unsigned = (dtype, origin) == (DType.INT8, -128)
            quant = Quantization(scale.astype(np.float32), np.array([int(zero[0]) + origin], np.int64), 0, unsigned)
            return StoredCodes(quant, dtype, origin, low, high)
    return None


def grid_of(scope: GraphScope, call: FileNode) -> Grid | None:
    """The grid of a Quant or a BipolarQuant with constant parameters; None where some are computed."""
    given = [scope.constant(name) for name in call.inputs[1:]]
    if any(x is None for x in given) or len(given) != (1 if call.op_type == "BipolarQuant" else 3):
        return None
    constants = [x for x in given if x is not None]
    if call.op_type == "BipolarQuant":
        return bipolar_grid(constants[0])
    signed, narrow = (
        bool(call.attributes[name].i) if name in call.attributes else True for name in ("signed", "narrow")
    )
    mode = call.attributes["rounding_mode"].s.decode() if "rounding_mode" in call.attributes else "ROUND"
    return quant_grid(constants, signed=signed, narrow=narrow, mode=mode)


def quant(node: Node) -> Value:
    for name in ("signed", "narrow"):
        node.integer(name, 1)
    node.text("rounding_mode", "ROUND")
    grid, x = grid_of(node.scope, node.call), node.input()
    _check(node)
    if grid is None:
        raise UnsupportedNodeError("a scale, a zero point or a bit width that is computed is not supported")
    _check_shape(grid, x.shape)
    if x.data is not None:
        return node.b.constant(grid(x.data.astype(np.float32)))
    return quantize(node.b, x, grid)


def _check(node: Node) -> None:
    wanted = 2 if node.op_type == "BipolarQuant" else 4
    if len(node.inputs) != wanted:
        raise UnsupportedNodeError(f"has {len(node.inputs)} inputs, the operator has {wanted}")


def _check_shape(grid: Grid, shape: Shape) -> None:
    """Refuse parameters that do not broadcast to a value's shape."""
    try:
        fits = np.broadcast_shapes(grid.scale.shape, grid.zero.shape, grid.bits.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        shapes = ", ".join(str(x.shape) for x in (grid.scale, grid.zero, grid.bits))
        raise UnsupportedNodeError(f"a scale, zero point and bit width of {shapes} do not fit a value of {shape}")


def quantize(b: Builder, x: Value, grid: Grid) -> Value:
    """A computed value quantized to a grid: dequantized codes where one scale and 16 bits are enough."""
    as_held = held(grid.scale, grid.zero, *grid.range) if grid.bits.size == 1 else None
    if as_held is None:
        return _real(b, x, grid)
    if not grid.bipolar and grid.mode in ("ROUND", "HALF_EVEN") and not np.any(grid.zero):
        scale = float(grid.scale.reshape(-1)[0])
        x = elementwise.clip(b, x, as_held.low * scale, as_held.high * scale) if as_held.clipped else x
    else:
        x = _real(b, x, grid)
    return quantized.dequantize(b, quantized.quantize(b, x, as_held.quant, as_held.dtype))


def _real(b: Builder, x: Value, grid: Grid) -> Value:
    """Quant's definition in float32."""
    zero, scale = b.constant(grid.zero), b.constant(grid.scale)
    steps = elementwise.div(b, x, scale)
    steps = elementwise.add(b, steps, zero) if np.any(grid.zero) else steps
    if grid.bipolar:
        positive = elementwise.greater_equal(b, steps, elementwise.scalar(b, 0.0))
        codes = elementwise.where(b, positive, elementwise.scalar(b, 1.0), elementwise.scalar(b, -1.0))
    else:
        above = elementwise.maximum(b, steps, b.constant(grid.low))
        codes = _rounded(b, elementwise.minimum(b, above, b.constant(grid.high)), grid.mode)
    codes = elementwise.sub(b, codes, zero) if np.any(grid.zero) else codes
    return elementwise.mul(b, codes, scale)


def _rounded(b: Builder, x: Value, mode: str) -> Value:
    if mode in ("ROUND", "HALF_EVEN"):
        return elementwise.round_(b, x)
    if mode in ("CEIL", "FLOOR"):
        return (elementwise.ceil if mode == "CEIL" else elementwise.floor)(b, x)
    size, half = elementwise.abs_(b, x), elementwise.scalar(b, 0.5)
    if mode == "UP":
        whole = elementwise.ceil(b, size)
    elif mode == "HALF_UP":
        whole = elementwise.floor(b, elementwise.add(b, size, half))
    elif mode == "HALF_DOWN":
        whole = elementwise.ceil(b, elementwise.sub(b, size, half))
    else:
        whole = elementwise.floor(b, size)
    return elementwise.mul(b, elementwise.sign(b, x), whole)


@dataclass(frozen=True, eq=False)
class Cut:
    """A Trunc with constant parameters: codes of `scale` and `zero` lose bits, and are then codes of `grid`."""

    scale: Array
    zero: Array
    parts: Array
    """Divisor of the codes."""
    grid: Grid
    bounded: bool
    """Version 2 clips results, version 1 does not."""


def cut_of(scope: GraphScope, call: FileNode) -> Cut | None:
    given = [scope.constant(name) for name in call.inputs[1:]]
    if any(x is None for x in given) or len(given) not in (4, 5):
        return None
    scale, zero, bits, *rest = [np.asarray(x, np.float32) for x in given]
    mode = rounding(call.attributes["rounding_mode"].s.decode() if "rounding_mode" in call.attributes else "FLOOR")
    signed = bool(call.attributes["signed"].i) if "signed" in call.attributes else True
    narrow = bool(call.attributes["narrow"].i) if "narrow" in call.attributes else False
    if len(rest) == 1:
        parts = np.float32(2) ** (bits - rest[0])
        return Cut(scale, zero, parts, Grid(scale, zero, rest[0], signed, narrow, mode), False)
    parts = np.float32(2) ** np.rint(np.log2(rest[0] / scale))
    return Cut(scale, zero, parts, Grid(rest[0], zero / parts, rest[1], signed, narrow, mode), True)


def trunc(node: Node) -> Value:
    node.text("rounding_mode", "FLOOR"), node.integer("signed", 1), node.integer("narrow", 0)
    cut, b, x = cut_of(node.scope, node.call), node.b, node.input()
    if cut is None:
        raise UnsupportedNodeError("has 5 or 6 inputs, all but the first one constant")
    steps = elementwise.add(b, elementwise.div(b, x, b.constant(cut.scale)), b.constant(cut.zero))
    steps = elementwise.div(b, elementwise.round_(b, steps), b.constant(cut.parts))
    if cut.bounded:
        above = elementwise.maximum(b, steps, b.constant(cut.grid.low))
        steps = elementwise.minimum(b, above, b.constant(cut.grid.high))
    codes = elementwise.sub(b, _rounded(b, steps, cut.grid.mode), b.constant(cut.grid.zero))
    truncated = elementwise.mul(b, codes, b.constant(cut.grid.scale))
    as_held = held(cut.grid.scale, cut.grid.zero, *cut.grid.range) if cut.bounded and cut.grid.bits.size == 1 else None
    if as_held is None:
        return truncated
    return quantized.dequantize(b, quantized.quantize(b, truncated, as_held.quant, as_held.dtype))


PARSERS: Mapping[Key, Parser] = {
    **{(domain, name): quant for domain in GENERAL for name in (*QUANTS, "BipolarQuant")},
    **{(domain, "Trunc"): trunc for domain in GENERAL},
}
