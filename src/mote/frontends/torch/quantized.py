"""Groups of nodes between dequantize and quantize as integer operators, and quantization with PyTorch's rounding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise, matrix, moves, quantized
from mote.frontends.build.builder import Builder, Value
from mote.frontends.build.codes import Codes
from mote.frontends.torch.grids import DEQUANTIZE, FUNCTIONS, PER_CHANNEL, QUANTIZE, Grid, Group, grid_of, is_weight
from mote.frontends.torch.node import Node, Parser
from mote.frontends.torch.ops import PARSERS
from mote.frontends.torch.ops.windows import conv_window, pool_window
from mote.ir.graph import Quantization
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation, DType, Rounding
from mote.ir.ops.elementwise.activations import LookupTable
from mote.ir.ops.elementwise.quantize import Quantize

CODES = np.arange(-128, 128, dtype=np.int64)
"""Range of int8 codes; those of uint8 are 128 more."""


def quantization(grid: Grid) -> Quantization:
    return quantized.quantization(grid.scale, grid.zero, grid.dtype)


def codes_of(b: Builder, value: Value) -> Value:
    """The codes of a value that is on a grid."""
    codes = quantized.codes_of(b, value)
    if codes is None:
        raise UnsupportedNodeError("an operand has no known codes")
    return codes


# Nodes that make codes, and numbers of codes


def _quantize(node: Node) -> Value:
    """Quantize; values that are on a grid already are requantized by a lookup table, or unchanged."""
    b, x, grid = node.b, node.value("input"), grid_of(node.call)
    if grid is None:
        raise UnsupportedNodeError(
            "codes that are not int8 or uint8, or of a scale that is computed, are not supported"
        )
    codes = None if x.constant else quantized.codes_of(b, x)
    if codes is not None:
        return _table(node, codes, lambda real: real, grid)
    out = quantization(grid)
    whole = elementwise.unary(b, Quantize, x, DType.INT8, quant=out, rounding=Rounding.EVEN, factor=grid.inverse)
    return whole if grid.whole else _bounded(node, whole, grid)


def _dequantize(node: Node) -> Value:
    given = node.given("input")
    if given.name in node.program.given:
        return node.b.constant(reals(node))
    codes = node.values[given.name]
    grid = grid_of(node.call)
    quant = quantized.quant_of(node.b, codes)
    if grid is None or quant is None or not quant.same_as(quantization(grid)):
        raise UnsupportedNodeError(
            "codes with other quantization parameters than they were quantized with are not supported"
        )
    return quantized.dequantize(node.b, codes)


def reals(node: Node) -> Array:
    """Dequantized constant codes."""
    args, kwargs = node.program.torch.fx.node.map_arg(
        (node.call.args, node.call.kwargs), lambda n: node.program.given[n.name]
    )
    return np.asarray(node.call.target(*args, **kwargs).detach().numpy())


OWN: Mapping[str, Parser] = {QUANTIZE: _quantize, DEQUANTIZE: _dequantize, PER_CHANNEL: _dequantize}
"""Parsers of the nodes around groups."""


# Groups


def moved(node: Node) -> list[Value | None]:
    """A node that only moves elements of its first operand, which is on a grid: it moves codes."""
    b, source = node.b, node.call.args[0].name
    codes = codes_of(b, node.values[source])
    quant = quantized.known_quant(b, codes)
    of_codes = replace(node, values={**node.values, source: codes})
    if str(node.call.target) == "aten.constant_pad_nd.default":
        of_codes.arguments["value"] = int(quant.zero_point[0])
    made = PARSERS[str(node.call.target)](of_codes)
    values = [made] if isinstance(made, Value) else made
    return [None if x is None else quantized.dequantize(b, quantized.coded(b, x, quant)) for x in values]


def grouped(node: Node, group: Group) -> Value:
    """The dequantized result of a group."""
    codes = _MAKERS[str(group.anchor.target)](node, group)
    return quantized.dequantize(node.b, codes if group.grid.whole else _bounded(node, codes, group.grid))


def of_bytes(node: Node) -> Value | None:
    """A float activation times constant quantized weights, which stay quantized; None for other nodes."""
    weight = node.given("weight") if str(node.call.target) == "aten.linear.default" else None
    if weight is None or not is_weight(weight) or weight.args[0].name not in node.program.given:
        return None
    weights, scales, zeros = _weights(node)
    plain = weights.dtype == np.int8 and not np.any(zeros) and (scales.size == 1 or weight.args[3] == 0)
    bias = node.known("bias") if node.has("bias") else None
    return matrix.linear(node.b, node.value("input"), weights.T, bias, codes=Codes(scales)) if plain else None


def _weights(node: Node) -> tuple[Array, Array, Array]:
    """Constant codes, their scales and their zero points."""
    call, given = node.given("weight"), node.program.given
    data = given[call.args[0].name].detach().numpy()
    if str(call.target) == PER_CHANNEL:
        scales, zeros = (given[x.name].detach().numpy() for x in call.args[1:3])
        return data, scales.astype(np.float32), zeros.astype(np.int64)
    return data, np.array([call.args[1]], np.float32), np.array([call.args[2]], np.int64)


def _bias(node: Node, x: Value, scales: Array) -> Array | None:
    """The bias in units of the product of the scales."""
    if not node.has("bias"):
        return None
    steps = quantized.known_quant(node.b, x).scale * scales
    return np.asarray(np.rint(node.known("bias").astype(np.float64) / steps.astype(np.float64)), np.int32)


def _convolution(node: Node, group: Group) -> Value:
    b, x = node.b, codes_of(node.b, node.value("input"))
    weights, scales, zeros = _weights(node)
    alone = x.rank == weights.ndim - 1
    x = quantized.coded(b, moves.unsqueeze(b, x, [0]), quantized.known_quant(b, x)) if alone else x
    out = quantization(group.grid)
    made = quantized.conv(
        b,
        x,
        weights,
        scales,
        _bias(node, x, scales),
        conv_window(node, weights),
        out,
        groups=node.integer("groups"),
        zero=zeros,
        activation=group.activation,
    )
    return quantized.coded(b, moves.squeeze(b, made, [0]), out) if alone else made


def _linear(node: Node, group: Group) -> Value:
    x = codes_of(node.b, node.value("input"))
    weights, scales, zeros = _weights(node)
    bias, out = _bias(node, x, scales), quantization(group.grid)
    return quantized.linear(node.b, x, weights.T, scales, bias, out, zero=zeros, activation=group.activation)


def _matmul(node: Node, group: Group) -> Value:
    x, y = (codes_of(node.b, node.values[operand.name]) for operand in group.operands)
    return _limited(node, quantized.matmul(node.b, x, y, quantization(group.grid)), group)


def _pair(make: Callable[[Builder, Value, Value, Quantization], Value]) -> Callable[[Node, Group], Value]:
    def made(node: Node, group: Group) -> Value:
        x, y = (codes_of(node.b, node.values[operand.name]) for operand in group.operands)
        return _limited(node, make(node.b, x, y, quantization(group.grid)), group)

    return made


def _cat(node: Node, group: Group) -> Value:
    b = node.b
    parts = [_table(node, codes_of(b, value), lambda real: real, group.grid) for value in node.several("tensors")]
    joined = quantized.coded(b, moves.concat(b, parts, node.integer("dim")), quantization(group.grid))
    return _limited(node, joined, group)


def _mean(node: Node, group: Group) -> Value:
    b, x = node.b, node.value("self")
    axes = x.axes(node.integers("dim")) if "dim" in node.arguments else tuple(range(x.rank - 2, x.rank))
    keep = bool(node.given("keepdim")) or "dim" not in node.arguments
    return _limited(node, quantized.mean(b, codes_of(b, x), axes, quantization(group.grid), keep), group)


def _average_pool(node: Node, group: Group) -> Value:
    b, out = node.b, quantization(group.grid)
    ceil, include = node.flag("ceil_mode"), node.flag("count_include_pad")
    x = codes_of(b, node.value("self"))
    made = quantized.average_pool(b, x, pool_window(node, 2), out, ceil=ceil, include_pad=include)
    return _limited(node, made, group)


def _function(node: Node, group: Group) -> Value:
    """A lookup table of PyTorch's results for all codes."""
    torch, call = node.program.torch, group.anchor

    def of(real: Array) -> Array:
        with torch.no_grad():
            return np.asarray(call.target(torch.from_numpy(real), *call.args[1:], **call.kwargs).numpy())

    codes = codes_of(node.b, node.values[group.operands[0].name])
    return _limited(node, _table(node, codes, of, group.grid), group)


def _table(node: Node, codes: Value, of: Callable[[Array], Array], grid: Grid) -> Value:
    """A function of codes, each computed by PyTorch."""
    quant, out = quantized.known_quant(node.b, codes), quantization(grid)
    real = (CODES - quant.zero_point[0]).astype(np.float32) * quant.scale[0]
    with np.errstate(all="ignore"):
        steps = np.rint(of(real).astype(np.float32) * np.float32(grid.inverse)).astype(np.float64)
    values = np.clip(np.nan_to_num(steps) + out.zero_point[0], *bounds_of(grid)).astype(np.int8)
    if quant.same_as(out) and quant.unsigned == out.unsigned and np.array_equal(values, CODES):
        return codes
    return elementwise.unary(node.b, LookupTable, codes, quant=out, values=values)


def _bounded(node: Node, codes: Value, grid: Grid) -> Value:
    """Codes that are on a grid, clamped to its range."""
    values = np.clip(CODES, *bounds_of(grid)).astype(np.int8)
    return elementwise.unary(node.b, LookupTable, codes, quant=quantization(grid), values=values)


def bounds_of(grid: Grid) -> tuple[int, int]:
    """The least and the largest int8 code of a grid."""
    offset = grid.dtype.limits[0] - DType.INT8.limits[0]
    return grid.low - offset, grid.high - offset


def _limited(node: Node, codes: Value, group: Group) -> Value:
    """Codes clamped to the bounds of an activation."""
    if group.activation is Activation.NONE:
        return codes
    low, high = group.activation.bounds
    return _table(node, codes, lambda real: np.clip(real, low, high), group.grid)


Maker = Callable[[Node, Group], Value]
_MAKERS: Mapping[str, Maker] = {
    "aten.convolution.default": _convolution,
    "aten.linear.default": _linear,
    "aten.matmul.default": _matmul,
    "aten.bmm.default": _matmul,
    "aten.add.Tensor": _pair(quantized.add),
    "aten.mul.Tensor": _pair(quantized.mul),
    "aten.cat.default": _cat,
    "aten.mean.dim": _mean,
    "aten.adaptive_avg_pool2d.default": _mean,
    "aten.avg_pool2d.default": _average_pool,
    **dict.fromkeys(FUNCTIONS, _function),
}
