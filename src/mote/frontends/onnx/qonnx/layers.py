"""Layers of QONNX models in integers: a layer on codes with integer weights, what scales and adds to its channels
behind it (biases, batch normalization), functions that limit them, and the quantizer at the end become one operator.

The sums are exact integers, and the rest is one multiplication and one addition for each channel, computed with 31 bits
behind the point and rounded as the quantizer says: the codes are those that exact arithmetic gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Value, elementwise, matrix, moves, quantized, windows
from mote.frontends.build.codes import AffineCodes, Codes
from mote.frontends.onnx.node import FileNode, Fused, GraphScope, Node
from mote.frontends.onnx.ops import qonnx as parsers
from mote.frontends.onnx.ops import requant
from mote.frontends.onnx.ops.qonnx import StoredCodes
from mote.frontends.onnx.ops.quantized import conv_axes
from mote.frontends.onnx.ops.windows import axes_of
from mote.frontends.onnx.qonnx.dialect import GENERAL, QUANTS, Grid, ends_layer, shift_of
from mote.ir.graph import Quantization
from mote.ir.graph.numeric.fixedpoint import INT32_MAX, quantize_multiplier
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis
from mote.ir.ops.elementwise.activations import LookupTable
from mote.ir.ops.matrix.affine_layer import FRACTION_BITS, snapped

Reals = NDArray[np.float64]
MOST_SHIFT = 30
"""Scales of 2^30 and more have no fixed-point representation."""
NEAR = 1e-9
"""Distance at which a threshold counts as an integer, because of rounding errors."""
WHOLE = 1e-4
"""Relative distance at which ratios of float32 scales count as integers."""
MOVES = frozenset({"Reshape", "Flatten", "Squeeze", "Unsqueeze"})
"""Operators that keep the order of elements."""


class _FloatError(Exception):
    """The reason why a layer is computed in float32."""


def group(node: Node) -> Fused | None:
    """The results of a node and those after it, where they are an integer layer, or have integer weights."""
    make = MAKERS.get(node.op_type) if not node.call.domain else None
    return make(node) if make is not None else None


# What is around a node


def _codes(node: Node, position: int = 0) -> Value | None:
    """The codes of a quantized input."""
    value = node.optional(position)
    codes = None if value is None or value.constant else quantized.codes_of(node.b, value)
    quant = None if codes is None else node.b.tensors[codes.tensor].quant
    fits = codes is not None and quant is not None and not quant.per_channel
    return codes if fits and codes is not None and codes.dtype in (DType.INT8, DType.INT16) else None


def _quant(node: Node, codes: Value) -> Quantization:
    return quantized.known_quant(node.b, codes)


def _is_quant(call: FileNode | None) -> bool:
    return call is not None and call.domain in GENERAL and call.op_type in (*QUANTS, "BipolarQuant")


def _weights(scope: GraphScope, name: str) -> tuple[Array, Array] | None:
    """Constant integer weights and their scales: from a Quant, perhaps through moves, or from integral floats."""
    call, known = scope.producer(name), scope.constant(name)
    if known is None or known.dtype.kind != "f":
        return None
    if call is not None and not call.domain and call.op_type in (*MOVES, "Transpose", "Identity"):
        weights = _weights(scope, call.inputs[0])
        if weights is None or call.op_type == "Identity":
            return weights
        if call.op_type in MOVES:
            return weights[0].reshape(known.shape), weights[1].reshape(known.shape)
        axes = list(call.attributes["perm"].ints) if "perm" in call.attributes else None
        return np.transpose(weights[0], axes), np.transpose(weights[1], axes)
    if call is not None and _is_quant(call):
        source, grid = scope.constant(call.inputs[0]), parsers.grid_of(scope, call)
        if source is None or grid is None or np.any(grid.zero != np.rint(grid.zero)) or np.any(grid.scale <= 0):
            return None
        integers = np.rint(grid.codes(source.astype(np.float32)) - grid.zero).astype(np.int64)
        return integers, np.broadcast_to(grid.scale.astype(np.float64), integers.shape)
    whole = np.array_equal(known, np.rint(known)) and bool(np.all(np.abs(known) < 1 << 15))
    return (known.astype(np.int64), np.ones(known.shape)) if whole else None


def _by_channel(scales: Array, axis: int) -> Reals | None:
    """The per-channel scale; None where it is finer."""
    rows = np.moveaxis(scales, axis, 0).reshape(scales.shape[axis], -1)
    return rows[:, 0].astype(np.float64) if np.all(rows == rows[:, :1]) else None


# What is behind a layer


@dataclass
class _Behind:
    """The operators after a layer: factor * sum + offset per channel, clipped to [low, high], with axes permuted."""

    node: Node
    factor: Reals
    offset: Reals
    axis: int
    rank: int
    names: list[str] = field(default_factory=list)
    order: tuple[int, ...] = ()
    low: Reals = field(default_factory=lambda: np.array([-np.inf]))
    high: Reals = field(default_factory=lambda: np.array([np.inf]))

    def __post_init__(self) -> None:
        self.order = self.order or tuple(range(self.rank))
        self.names = self.names or [self.node.call.outputs[0]]

    def end(self) -> FileNode:
        """The quantizer at the end."""
        scope = self.node.scope
        while True:
            call = scope.only_consumer(self.names[-1])
            if call is None:
                raise _FloatError("its results are read by several nodes before they are quantized")
            if ends_layer(call.domain, call.op_type) and call.inputs[0] == self.names[-1]:
                return call
            step = STEPS.get(call.op_type) if not call.domain else None
            if step is None or not step(self, scope, call):
                raise _FloatError(f"{call.code} is between it and the next quantizer")
            self.names.append(call.outputs[0])

    @property
    def at(self) -> int:
        """The channel axis."""
        return self.order.index(self.axis)

    def channels(self, known: Array | None) -> Reals | None:
        """A constant as per-channel or per-tensor numbers; None where it is neither."""
        if known is None or known.dtype.kind not in "fiu" or known.ndim > self.rank:
            return None
        shape = (1,) * (self.rank - known.ndim) + known.shape
        if any(n != 1 for a, n in enumerate(shape) if a != self.at):
            return None
        return known.reshape(-1).astype(np.float64)

    def scale(self, by: Reals) -> None:
        low, high = self.low * by, self.high * by
        with np.errstate(invalid="ignore"):
            self.low, self.high = np.fmin(low, high), np.fmax(low, high)
        self.factor, self.offset = self.factor * by, self.offset * by

    def shift(self, by: Reals) -> None:
        self.offset, self.low, self.high = self.offset + by, self.low + by, self.high + by

    def clip(self, low: float, high: float) -> None:
        self.low, self.high = np.clip(self.low, low, high), np.clip(self.high, low, high)


def _other(scope: GraphScope, call: FileNode, name: str) -> tuple[Array | None, bool]:
    """The constant operand beside a value, and whether the value is the first operand."""
    first = call.inputs[0] == name
    return scope.constant(call.inputs[1 if first else 0]), first


def _add(behind: _Behind, scope: GraphScope, call: FileNode) -> bool:
    by = behind.channels(_other(scope, call, behind.names[-1])[0])
    if by is None:
        return False
    behind.shift(by)
    return True


def _sub(behind: _Behind, scope: GraphScope, call: FileNode) -> bool:
    known, first = _other(scope, call, behind.names[-1])
    by = behind.channels(known)
    if by is None:
        return False
    if not first:
        behind.scale(np.array([-1.0]))
    behind.shift(-by if first else by)
    return True


def _mul(behind: _Behind, scope: GraphScope, call: FileNode) -> bool:
    by = behind.channels(_other(scope, call, behind.names[-1])[0])
    if by is None or np.any(by == 0):
        return False
    behind.scale(by)
    return True


def _div(behind: _Behind, scope: GraphScope, call: FileNode) -> bool:
    known, first = _other(scope, call, behind.names[-1])
    by = behind.channels(known)
    if by is None or not first or np.any(by == 0):
        return False
    behind.scale(1 / by)
    return True


def _batch_norm(behind: _Behind, scope: GraphScope, call: FileNode) -> bool:
    given = [scope.constant(name) for name in call.inputs[1:5]]
    if behind.at != 1 or any(x is None for x in given) or len([name for name in call.outputs if name]) != 1:
        return False
    if "training_mode" in call.attributes and call.attributes["training_mode"].i:
        return False
    scale, bias, mean, variance = (np.asarray(x, np.float64) for x in given)
    epsilon = call.attributes["epsilon"].f if "epsilon" in call.attributes else 1e-5
    if not np.all(np.isneginf(behind.low) & np.isposinf(behind.high)):
        return False
    by = scale / np.sqrt(variance + epsilon)
    behind.factor, behind.offset = behind.factor * by, (behind.offset - mean) * by + bias
    return True


def _relu(behind: _Behind, scope: GraphScope, call: FileNode) -> bool:
    behind.clip(0.0, np.inf)
    return True


def _clip(behind: _Behind, scope: GraphScope, call: FileNode) -> bool:
    bounds = []
    for place, name, default in ((1, "min", -np.inf), (2, "max", np.inf)):
        if name in call.attributes:
            bounds.append(float(call.attributes[name].f))
        elif len(call.inputs) > place and call.inputs[place]:
            known = scope.constant(call.inputs[place])
            if known is None:
                return False
            bounds.append(float(known.reshape(-1)[0]))
        else:
            bounds.append(default)
    behind.clip(*bounds)
    return True


def _same(behind: _Behind, scope: GraphScope, call: FileNode) -> bool:
    return len([name for name in call.outputs if name]) == 1


def _transpose(behind: _Behind, scope: GraphScope, call: FileNode) -> bool:
    perm = list(call.attributes["perm"].ints) if "perm" in call.attributes else range(behind.rank)[::-1]
    behind.order = tuple(behind.order[a] for a in perm)
    return True


STEPS: Mapping[str, Callable[[_Behind, GraphScope, FileNode], bool]] = {
    "Add": _add,
    "Sub": _sub,
    "Mul": _mul,
    "Div": _div,
    "BatchNormalization": _batch_norm,
    "Relu": _relu,
    "Clip": _clip,
    "Identity": _same,
    "Dropout": _same,
    "Transpose": _transpose,
}
"""Operators that may be between a layer and its quantizer; each returns whether the node could be fused."""


# Requantization


@dataclass(frozen=True, eq=False)
class _Affine:
    """scale * sum + offset per channel, rounded to even and saturated, gives codes."""

    scale: Reals
    offset: Reals
    held: StoredCodes


def _requantized(behind: _Behind, sums: tuple[int, int]) -> _Affine:
    """Requantization of a layer's sums, which are in a range, by the quantizer after it."""
    call = behind.end()
    scope = behind.node.scope
    channels = np.broadcast(behind.factor, behind.offset).size
    factor, offset = (np.broadcast_to(x, channels).astype(np.float64) for x in (behind.factor, behind.offset))
    if call.op_type == "Trunc":
        return _truncated(behind, call, factor, offset, sums)
    if call.op_type == "RequantShift":
        return _shifted(behind, call, factor, offset)
    if call.op_type == "MultiThreshold":
        raise _FloatError(f"{call.code} '{call.label}' compares its results with thresholds")
    grid = parsers.grid_of(scope, call) if _is_quant(call) else None
    as_held = None
    if grid is not None and grid.bits.size == 1:
        as_held = parsers.held(grid.scale, grid.zero, *grid.range)
    if grid is None or as_held is None:
        raise _FloatError(f"{call.code} '{call.label}' has several scales, or codes that do not fit 16 bits")
    step, zero = float(grid.scale.reshape(-1)[0]), float(grid.zero.reshape(-1)[0])
    if grid.bipolar:
        return _signs(behind, factor, offset + zero * step, as_held)
    low, high = _bounds(behind, step, zero, grid)
    as_held = StoredCodes(as_held.quant, as_held.dtype, as_held.origin, max(as_held.low, low), min(as_held.high, high))
    scale, offset = snapped(factor / step), snapped(offset / step) + zero
    return _Affine(scale, _rounding_offset(grid.mode, scale, offset, low >= 0 or as_held.low >= 0), as_held)


def _bounds(behind: _Behind, step: float, zero: float, grid: Grid) -> tuple[int, int]:
    """The codes of the clipping bounds, which must be equal in all channels."""
    ends = []
    for limit in (behind.low, behind.high):
        value = np.unique(limit)
        if len(value) != 1:
            raise _FloatError("its channels are clipped to different ranges")
        ends.append(float(np.clip(value[0] / step + zero, -(1 << 20), 1 << 20)))
    low, high = (grid.codes(np.array((end - zero) * step, np.float32)) for end in ends)
    return int(np.min(low)), int(np.max(high))


def _lattice(scale: Reals, offset: Reals) -> float:
    """A power of two that all results are multiples of and that float32 represents; else 0."""
    for bits in range(FRACTION_BITS):
        if all(np.array_equal(np.ldexp(x, bits), np.rint(np.ldexp(x, bits))) for x in (scale, offset)):
            return 2.0**-bits
    return 0.0


def _rounding_offset(mode: str, scale: Reals, offset: Reals, positive: bool) -> Reals:
    """The offset with which rounding to even equals another mode: results are multiples of a power of two, or never
    halfway."""
    if mode in ("ROUND", "HALF_EVEN"):
        return offset
    if positive:
        mode = {"UP": "CEIL", "DOWN": "FLOOR", "ROUND_TO_ZERO": "FLOOR"}.get(mode, mode)
    nudge = min(_lattice(scale, offset), 0.25) / 2
    moved = {"FLOOR": nudge - 0.5, "CEIL": 0.5 - nudge}
    moved |= {"HALF_UP": nudge, "HALF_DOWN": -nudge} if positive else {}
    if mode not in moved:
        raise _FloatError(f"rounding {mode} of negative numbers is not supported by integer kernels")
    return offset + moved[mode]


def _signs(behind: _Behind, factor: Reals, offset: Reals, as_held: StoredCodes) -> _Affine:
    """1 where factor * sum + offset is not negative, else -1: computed as twice the distance from the first such sum,
    plus 1."""
    if not np.all((behind.low < 0) & (behind.high >= 0)):
        raise _FloatError("its results are clipped before their sign is taken")
    constant = factor == 0
    at = -offset / np.where(constant, 1, np.abs(factor))
    whole = np.rint(at)
    first = np.where(np.abs(at - whole) <= NEAR * np.maximum(1, np.abs(at)), whole, np.ceil(at))
    scale = np.where(constant, 0.0, 2 * np.sign(factor))
    return _Affine(scale, np.where(constant, np.where(offset >= 0, 1, -1), 1 - 2 * first), as_held)


def _truncated(behind: _Behind, call: FileNode, factor: Reals, offset: Reals, sums: tuple[int, int]) -> _Affine:
    """Requantization of sums by a Trunc."""
    cut = parsers.cut_of(behind.node.scope, call)
    if cut is None or any(x.size != 1 for x in (cut.scale, cut.zero, cut.parts)):
        raise _FloatError(f"{call.code} '{call.label}' has several scales")
    step, zero, parts = (float(x.reshape(-1)[0]) for x in (cut.scale, cut.zero, cut.parts))
    each, more = factor / step, offset / step + zero
    whole = np.rint(each), np.rint(more)
    near = all(
        np.all(np.abs(x - y) <= WHOLE * np.maximum(1, np.abs(y))) for x, y in zip((each, more), whole, strict=True)
    )
    if not near or np.any(whole[0] == 0) or not np.all(np.isneginf(behind.low) & np.isposinf(behind.high)):
        raise _FloatError(f"its sums are not codes of {call.code} '{call.label}'")
    scale, moved = whole[0] / parts, whole[1] / parts
    ends = [np.floor(scale * end + moved) for end in sums]
    low, high = int(np.min(ends)), int(np.max(ends)) + 1
    if cut.bounded:
        least, most = cut.grid.range
        low, high = max(low, least), min(high, most)
    as_held = parsers.held(cut.grid.scale, cut.grid.zero, low, max(low, high))
    if as_held is None:
        raise _FloatError(f"{call.code} '{call.label}' has codes that do not fit 16 bits")
    return _Affine(scale, _rounding_offset(cut.grid.mode, scale, moved, low >= 0), as_held)


def _shifted(behind: _Behind, call: FileNode, factor: Reals, offset: Reals) -> _Affine:
    """Requantization of integer sums by a RequantShift."""
    given = requant.constants(behind.node.scope, call)
    mul, add = (None, None) if given is None else (behind.channels(x) for x in given)
    whole = all(np.array_equal(x, np.rint(x)) for x in (factor, offset))
    if mul is None or add is None or not np.array_equal(np.float32(mul), mul):
        raise _FloatError(f"{call.code} '{call.label}' has no multiplier and offset of its channels")
    if not whole or not np.all(np.isneginf(behind.low) & np.isposinf(behind.high)):
        raise _FloatError(f"its results before {call.code} '{call.label}' are scaled or clipped")
    shift = shift_of(call.attributes)
    as_held = parsers.held(np.ones(1), np.zeros(1), shift.low, shift.high)
    if as_held is None:
        raise _FloatError(f"{call.code} '{call.label}' has codes that do not fit 16 bits")
    scale, moved = factor * mul / shift.div, (offset * mul + add) / shift.div
    return _Affine(scale, _rounding_offset("HALF_UP", scale, moved, True), as_held)


# Layers


@dataclass(frozen=True, eq=False)
class _Layer:
    """A layer with integer weights. `make` builds it from weights, a bias and codes."""

    weights: Array
    scale: Reals
    axis: int
    """Axis of output channels in the weights."""
    bias: Reals
    make: Callable[[Value, Array, Array | None, Codes], Value]
    channels_at: int
    rank: int

    def lined(self, weights: Array, by: Reals) -> Array:
        """Weights times a per-channel number."""
        shape = [-1 if a == self.axis % weights.ndim else 1 for a in range(weights.ndim)]
        return weights * by.reshape(shape)


def _integer(node: Node, layer: _Layer, x: Value) -> Fused:
    """The layer on codes fused with the operators after it."""
    quant = _quant(node, x)
    step, zero = float(quant.scale[0]), int(quant.zero_point[0])
    behind = _Behind(node, step * layer.scale, layer.bias, layer.channels_at, layer.rank)
    each = np.abs(np.moveaxis(layer.weights, layer.axis, 0)).reshape(layer.weights.shape[layer.axis], -1).sum(axis=1)
    far = max(abs(end - zero) for end in x.dtype.limits)
    affine = _requantized(behind, (-int(each.max()) * far, int(each.max()) * far))
    channels = len(each)
    scale, offset = (np.broadcast_to(v, channels) for v in (affine.scale, affine.offset))
    weights = layer.lined(layer.weights, np.where(scale < 0, -1, 1))
    out = affine.held
    ratio = float(out.quant.scale[0]) / step
    own = (np.abs(scale) * ratio).astype(np.float32)
    real = snapped(step * own.astype(np.float64) / float(out.quant.scale[0]))
    usable = np.array([_usable(float(r)) for r in real])
    with np.errstate(divide="ignore", invalid="ignore"):
        start = np.where(usable, offset / np.where(usable, real, 1), np.inf)
    fixed = _constants(start, real, offset, each * far, out)
    if fixed.any():
        weights = layer.lined(weights, np.where(fixed, 0, 1))
        own, real = np.where(fixed, np.float32(ratio), own), np.where(fixed, 1.0, real)
        start = np.where(fixed, np.clip(np.rint(offset), out.low, out.high), start)
    small = weights.min(initial=0) >= -128 and weights.max(initial=0) <= 127
    if not small and np.abs(weights).max(initial=0) > INT32_MAX >> 16:
        raise _FloatError("its weights do not fit 16 bits")
    if np.max(each * far + np.abs(start) + 1) > INT32_MAX >> 1:
        raise _FloatError("its sums do not fit 32 bits")
    bias = np.array([round(v * (1 << FRACTION_BITS)) for v in start.tolist()], np.int64)
    limits = out.dtype.limits
    if out.dtype == DType.INT16:
        limits = out.low + out.origin, out.high + out.origin
    codes = AffineCodes(own, out.quant, dtype=out.dtype, origin=out.origin, limits=limits)
    made = layer.make(x, weights.astype(np.int8 if small else np.int16), bias, codes)
    return _ended(node, behind, _clipped(node, made, out))


def _usable(scale: float) -> bool:
    """Whether a scale has a fixed-point multiplier."""
    mult, shift = quantize_multiplier(scale)
    return mult > 0 and shift <= MOST_SHIFT


def _constants(start: Reals, scale: Reals, offset: Reals, far: Array, out: StoredCodes) -> NDArray[np.bool_]:
    """Channels whose offset is too large for fixed point relative to their sums: their results must be the same for all
    sums."""
    large = ~(np.abs(start) + far < INT32_MAX >> 1)
    ends = [np.clip(np.rint(offset + sign * far * scale), out.low, out.high) for sign in (-1, 1)]
    if np.any(large & (ends[0] != ends[1])):
        raise _FloatError("the offset of a channel is too large for fixed point, relative to its sums")
    return large


def _clipped(node: Node, made: Value, out: StoredCodes) -> Value:
    """int8 codes clipped to their range."""
    if out.dtype != DType.INT8 or not out.clipped:
        return made
    values = np.clip(quantized.CODES, out.low + out.origin, out.high + out.origin).astype(np.int8)
    return elementwise.unary(node.b, LookupTable, made, quant=out.quant, values=values)


def _ended(node: Node, behind: _Behind, made: Value) -> Fused:
    """The result of the quantizer, and the intermediate names, which nothing else reads."""
    end = node.scope.only_consumer(behind.names[-1])
    assert end is not None
    if behind.order != tuple(range(behind.rank)):
        made = moves.transpose(node.b, made, behind.order)
    return {**dict.fromkeys(behind.names), end.outputs[0]: quantized.dequantize(node.b, made)}


def _hybrid(node: Node, layer: _Layer) -> Fused | None:
    """A layer with 8-bit weights and float32 activations."""
    if layer.weights.min(initial=0) < -127 or layer.weights.max(initial=0) > 127:
        return None
    bias = None if not np.any(layer.bias) else np.broadcast_to(layer.bias, layer.scale.shape).astype(np.float32)
    codes = Codes(layer.scale.astype(np.float32))
    return {node.call.outputs[0]: layer.make(node.input(), layer.weights.astype(np.int8), bias, codes)}


def _built(node: Node, layer: _Layer | None) -> Fused | None:
    if layer is None:
        return None
    x = _codes(node)
    if x is not None:
        try:
            return _integer(node, layer, x)
        except _FloatError as reason:
            if not _is_last(node):
                node.b.warnings.append(f"{node.where} is computed in float32: {reason}")
    return _hybrid(node, layer)


def _is_last(node: Node) -> bool:
    """Whether no quantizer follows a node."""
    seen: set[str] = set()
    waiting = list(node.call.outputs)
    while waiting:
        name = waiting.pop()
        for call in node.scope.consumers(name) if name not in seen else ():
            if ends_layer(call.domain, call.op_type):
                return False
            waiting += call.outputs
        seen.add(name)
    return True


def _bias_of(node: Node, channels: int) -> Reals | None:
    """A constant bias; None where it is computed."""
    if not node.has(2):
        return np.zeros(1)
    known = node.scope.constant(node.call.inputs[2])
    return known.reshape(-1).astype(np.float64) if known is not None and known.size in (1, channels) else None


def _conv(node: Node) -> Fused | None:
    x, coded = node.optional(0), _weights(node.scope, node.call.inputs[1])
    if x is None or coded is None or x.rank > 4:
        return None
    weights, scales = coded
    scale, bias = _by_channel(scales, 0), _bias_of(node, weights.shape[0])
    if scale is None or bias is None:
        return None
    axes, groups = conv_axes(node, x, weights), node.integer("group", 1)
    usual = groups == 1 or weights.shape[1] == 1

    def make(source: Value, own: Array, offset: Array | None, codes: Codes) -> Value:
        if not usual and not isinstance(codes, AffineCodes):
            raise UnsupportedNodeError("groups of channels with weights of 8 bits for float32 are not supported")
        return windows.conv(node.b, source, own, offset, axes, groups, codes)

    layer = _Layer(weights, scale, 0, bias, make, 1, x.rank)
    return _built(node, layer) if usual or _codes(node) is not None else None


def _linear(node: Node, weights: Array, scales: Array, bias: Reals | None) -> Fused | None:
    """A matrix product with [depth, channels] weights."""
    x, scale = node.input(), _by_channel(scales, 1)
    if scale is None or bias is None or weights.ndim != 2 or x.rank < 2:
        return None

    def make(source: Value, own: Array, offset: Array | None, codes: Codes) -> Value:
        return matrix.linear(node.b, source, own, offset, -1, codes)

    return _built(node, _Layer(weights, scale, 1, bias, make, x.rank - 1, x.rank))


def _gemm(node: Node) -> Fused | None:
    coded = _weights(node.scope, node.call.inputs[1])
    if coded is None or node.flag("transA", False) or node.real("alpha", 1.0) != 1 or node.real("beta", 1.0) != 1:
        return None
    weights, scales = (x.T if node.flag("transB", False) else x for x in coded)
    return _linear(node, weights, scales, _bias_of(node, weights.shape[1]))


def _matmul(node: Node) -> Fused | None:
    coded = _weights(node.scope, node.call.inputs[1])
    return None if coded is None else _linear(node, *coded, np.zeros(1))


# Pooling


def _pool(node: Node) -> Fused | None:
    """Average pooling as sums of codes: a layer with weights of one."""
    x = _codes(node)
    if x is None or _is_last(node) or not 3 <= x.rank <= 4:
        return None
    if node.op_type == "GlobalAveragePool":
        axes = [Axis(n) for n in x.shape[2:]]
    else:
        axes = axes_of(node, x, node.integers("kernel_shape"))
        padded = any(axis.before or axis.after for axis in axes)
        if node.flag("ceil_mode", False) or (padded and not node.flag("count_include_pad", False)):
            return None
    channels, count = x.shape[1], prod(axis.kernel for axis in axes)
    weights = np.ones((channels, 1, *(axis.kernel for axis in axes)), np.int64)

    def make(source: Value, own: Array, offset: Array | None, codes: Codes) -> Value:
        return windows.conv(node.b, source, own, offset, axes, channels, codes)

    layer = _Layer(weights, np.full(channels, 1 / count), 0, np.zeros(1), make, 1, x.rank)
    try:
        return _integer(node, layer, x)
    except _FloatError as reason:
        node.b.warnings.append(f"{node.where} is computed in float32: {reason}")
        return None


# Elements


def _sum(node: Node) -> Fused | None:
    """Sums of 8-bit codes."""
    x, y = _codes(node, 0), _codes(node, 1)
    if x is None or y is None or {x.dtype, y.dtype} != {DType.INT8} or _is_last(node):
        return None
    behind = _Behind(node, np.ones(1), np.zeros(1), 0, max(x.rank, y.rank))
    try:
        call = behind.end()
        if call.op_type == "RequantShift":
            raise _FloatError(f"{call.code} '{call.label}' shifts its sums")
        grid = parsers.grid_of(node.scope, call) if _is_quant(call) else None
        as_held = None if grid is None or grid.bits.size != 1 else parsers.held(grid.scale, grid.zero, *grid.range)
        plain = grid is not None and not grid.bipolar and grid.mode in ("ROUND", "HALF_EVEN")
        if grid is None or as_held is None or as_held.dtype != DType.INT8 or not plain:
            raise _FloatError(f"{call.code} '{call.label}' is not a per-tensor quantization to 8 bits")
        if np.any(behind.factor != 1) or np.any(behind.offset):
            raise _FloatError("its results are scaled before they are quantized")
        step, zero = float(grid.scale.reshape(-1)[0]), float(grid.zero.reshape(-1)[0])
        low, high = _bounds(behind, step, zero, grid)
    except _FloatError as reason:
        node.b.warnings.append(f"{node.where} is computed in float32: {reason}")
        return None
    out = StoredCodes(as_held.quant, as_held.dtype, as_held.origin, max(as_held.low, low), min(as_held.high, high))
    return _ended(node, behind, _clipped(node, quantized.add(node.b, x, y, out.quant), out))


def _concat(node: Node) -> Fused | None:
    """Concatenation of codes of one scale."""
    codes = [_codes(node, position) for position in range(len(node.inputs))]
    values = [x for x in codes if x is not None]
    if len(values) != len(node.inputs) or len({x.dtype for x in values}) != 1:
        return None
    quants = [_quant(node, x) for x in values]
    if not all(quant.same_as(quants[0]) and quant.unsigned == quants[0].unsigned for quant in quants):
        return None
    made = quantized.coded(node.b, moves.concat(node.b, values, node.integer("axis")), quants[0])
    return {node.call.outputs[0]: quantized.dequantize(node.b, made)}


MAKERS: Mapping[str, Callable[[Node], Fused | None]] = {
    "Conv": _conv,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "AveragePool": _pool,
    "GlobalAveragePool": _pool,
    "Add": _sum,
    "Concat": _concat,
}
