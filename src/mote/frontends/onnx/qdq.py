"""Groups of DequantizeLinear, an operator and QuantizeLinear that ONNX Runtime fuses into one integer operator, by its
rules for the CPU. The rest is computed in float.

int8 codes are taken as they are, as ONNX Runtime does on Arm, or anywhere with the option session.qdqisint8allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Value, quantized
from mote.frontends.onnx.node import MICROSOFT, FileNode, Fused, GraphScope, Node, Parser, words
from mote.frontends.onnx.ops import moves, reductions, resize, windows
from mote.frontends.onnx.ops import quantized as parsers
from mote.ir.graph import Quantization
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType

NEAR, FACTOR = 1e-6, 1e-2
"""Tolerances of the scale of a bias against the product of the input and weight scales."""
MOVES = words(
    "DepthToSpace Expand Flatten Gather MaxPool Reshape Resize Slice Split Squeeze Tile Transpose Unsqueeze "
    "ReduceMax ReduceMin Identity"
)
"""Operators whose results are elements of their input, on codes as on floats."""
PARSERS: Mapping[tuple[str, str], Parser] = {
    **moves.PARSERS,
    **reductions.PARSERS,
    **resize.PARSERS,
    **windows.PARSERS,
}


@dataclass(frozen=True)
class QuantizedOperand:
    """An input of an operator that comes from a DequantizeLinear: the quantized codes before it."""

    value: Value
    quant: Quantization
    dtype: DType
    """The type as ONNX Runtime has it when it matches groups."""
    has_zero: bool = True
    """Whether the file has a zero point."""

    @property
    def scale(self) -> np.float32:
        return np.float32(self.quant.scale[0])


@dataclass(frozen=True)
class QuantizedResult:
    """The result of a group: the QuantizeLinear at its end, and the intermediate names."""

    call: FileNode
    quant: Quantization
    dtype: DType
    between: tuple[str, ...]

    def of(self, value: Value) -> Fused:
        return {**dict.fromkeys(self.between), self.call.outputs[0]: value}


def group(node: Node) -> Fused | None:
    """The results of a node and those around it, where they are one of ONNX Runtime's QDQ groups."""
    if node.op_type in MOVES and not node.call.domain:
        return _moved(node)
    find = FINDERS.get(node.op_type) if not node.call.domain else None
    return find(node) if find is not None else None


# What is around a node


def _is(call: FileNode | None, name: str) -> bool:
    return call is not None and call.op_type == name and call.domain in ("", MICROSOFT)


def _parameters(scope: GraphScope, call: FileNode) -> tuple[Array, Array | None] | None:
    """The constant scale and zero point of a QuantizeLinear or a DequantizeLinear; None where they are computed."""
    scale = scope.constant(call.inputs[1]) if len(call.inputs) > 1 else None
    named = len(call.inputs) > 2 and bool(call.inputs[2])
    zero = scope.constant(call.inputs[2]) if named else None
    blocks = "block_size" in call.attributes and call.attributes["block_size"].i
    return None if scale is None or (named and zero is None) or blocks else (scale, zero)


def _quantization(call: FileNode, scope: GraphScope, number: int) -> tuple[Quantization, DType] | None:
    parameters = _parameters(scope, call)
    if parameters is None:
        return None
    scale, zero = parameters
    dtype = parsers.type_of(zero, number)
    axis = call.attributes["axis"].i if "axis" in call.attributes else 1
    try:
        return quantized.quantization(scale, 0 if zero is None else zero, dtype, axis), dtype
    except UnsupportedNodeError:
        return None


def _operand(node: Node, position: int) -> QuantizedOperand | None:
    """An 8-bit DequantizeLinear input, perhaps with moves after it."""
    value = node.optional(position)
    if value is None:
        return None
    if value.constant:
        return _constant(node, position, value)
    codes = quantized.codes_of(node.b, value)
    quant = None if codes is None else node.b.tensors[codes.tensor].quant
    if codes is None or quant is None or quant.per_channel or codes.dtype != DType.INT8:
        return None
    made = _dequantize(node.scope, node.call.inputs[position])
    return QuantizedOperand(
        codes, quant, DType.UINT8 if quant.unsigned else DType.INT8, made is None or len(made.inputs) > 2
    )


def _dequantize(scope: GraphScope, name: str) -> FileNode | None:
    """The DequantizeLinear before a value, through moves."""
    call = scope.producer(name)
    while call is not None and call.op_type in MOVES:
        call = scope.producer(call.inputs[0])
    return call if _is(call, "DequantizeLinear") else None


def _constant(node: Node, position: int, value: Value) -> QuantizedOperand | None:
    """Constant codes of 8 or 32 bits."""
    call = node.scope.producer(node.call.inputs[position])
    codes = node.scope.constant(call.inputs[0]) if call is not None and _is(call, "DequantizeLinear") else None
    if call is None or codes is None or codes.dtype.name not in ("int8", "uint8", "int32"):
        return None
    params = _quantization(call, node.scope, 0)
    if params is None:
        return None
    quant = replace(params[0], unsigned=False)
    held = quantized.coded(node.b, Value(value.shape, DType(codes.dtype.name), data=codes), quant)
    return QuantizedOperand(held, params[0], DType(codes.dtype.name), len(call.inputs) > 2 and bool(call.inputs[2]))


def _result(node: Node, *, clips: bool = True, names: tuple[str, ...] = ()) -> QuantizedResult | None:
    """The QuantizeLinear that is the only consumer of a node, perhaps after a Relu or a Clip that it makes
    redundant."""
    scope, name = node.scope, names[-1] if names else node.call.outputs[0]
    between = names or (name,)
    call = scope.only_consumer(name)
    clip = call if clips and call is not None and not call.domain and call.op_type in ("Relu", "Clip") else None
    if clip is not None:
        between = (*between, clip.outputs[0])
        call = scope.only_consumer(clip.outputs[0])
    if call is None or not _is(call, "QuantizeLinear") or call.inputs[0] != between[-1]:
        return None
    number = call.attributes["output_dtype"].i if "output_dtype" in call.attributes else 0
    quantization = _quantization(call, scope, number)
    if quantization is None or quantization[0].per_channel or quantization[1] not in quantized.BYTES:
        return None
    quant, dtype = quantization
    if clip is not None and not _needless(scope, clip, quant):
        return None
    return QuantizedResult(call, quant, dtype, between)


def _needless(scope: GraphScope, call: FileNode, quant: Quantization) -> bool:
    """Whether the range of the codes is within the bounds of a Relu or a Clip."""
    zero, scale = int(quant.zero_point[0]), np.float32(quant.scale[0])
    if call.op_type == "Relu":
        return zero == -128
    bounds = [_bound(scope, call, place, name) for place, name in ((1, "min"), (2, "max"))]
    if None in bounds:
        return False
    low, high = (float(np.rint(np.clip(np.float64(np.float32(x) / scale), -1e9, 1e9))) + zero for x in bounds)
    return low <= -128 and high >= 127


def _bound(scope: GraphScope, call: FileNode, place: int, name: str) -> float | None:
    """A bound of a Clip; None where it is computed."""
    if name in call.attributes:
        return float(call.attributes[name].f)
    if len(call.inputs) <= place or not call.inputs[place]:
        return float(np.finfo(np.float32).min if name == "min" else np.finfo(np.float32).max)
    known = scope.constant(call.inputs[place])
    return None if known is None else float(known.reshape(-1)[0])


# Groups


def _moved(node: Node) -> Fused | None:
    """A move on codes, followed by dequantization."""
    value = node.optional(0)
    codes = None if value is None else quantized.codes_of(node.b, value)
    parser = PARSERS.get(("", node.op_type))
    if codes is None or parser is None or not _moves(node):
        return None
    quant = node.b.tensors[codes.tensor].quant
    if quant is None or quant.per_channel or codes.dtype not in (DType.INT8, DType.INT16):
        return None
    made = parser(replace(node, inputs=(codes, *node.inputs[1:])))
    values = [made] if isinstance(made, Value) else list(made)
    results: dict[str, Value | None] = {}
    for name, moved in zip(node.call.outputs, values, strict=False):
        if moved is None or not name:
            continue
        moved = quantized.coded(node.b, moved, quant) if moved.dtype == codes.dtype else moved
        end = _result(node, clips=False, names=(name,))
        if end is not None and end.quant.same_as(quant) and end.quant.unsigned == quant.unsigned:
            results |= end.of(moved)
        else:
            results[name] = quantized.dequantize(node.b, moved) if moved.dtype == codes.dtype else moved
    return results


def _moves(node: Node) -> bool:
    """Whether a node only moves elements."""
    if node.op_type == "Resize":
        mode = node.text("mode", "nearest"), node.text("coordinate_transformation_mode", "half_pixel")
        return mode[0] == "nearest" and mode[1] != "tf_crop_and_resize"
    if node.op_type == "MaxPool":
        return len(node.call.outputs) == 1
    return True


def _layer(node: Node) -> tuple[QuantizedOperand, QuantizedOperand] | None:
    x, w = _operand(node, 0), _operand(node, 1)
    if x is None or w is None or not w.value.constant or w.value.data is None:
        return None
    return x, w


def _fits(x: QuantizedOperand, w: QuantizedOperand, end: QuantizedResult) -> bool:
    """Whether the types of a layer match a kernel."""
    return x.dtype == end.dtype and _alike(x, w)


def _alike(x: QuantizedOperand, w: QuantizedOperand) -> bool:
    """Whether codes can be multiplied: int8 with int8 only."""
    return w.dtype in quantized.BYTES and (x.dtype == DType.UINT8 or w.dtype == DType.INT8)


def _bias(
    node: Node, position: int, x: QuantizedOperand, w: QuantizedOperand, name: str = ""
) -> tuple[bool, Array | None]:
    """Whether a bias is int32 with the product of both scales as its scale, or can be quantized so; and that bias."""
    if not name and not node.has(position):
        return True, None
    scale = x.scale * w.quant.scale
    given = _operand(node, position) if not name else None
    if given is not None:
        off = np.abs(given.quant.scale - scale)
        close = bool(np.all(off <= NEAR + FACTOR * np.abs(scale)))
        right = given.dtype == DType.INT32 and not np.any(given.quant.zero_point)
        return close and right, given.value.data
    known = node.scope.constant(name or node.call.inputs[position])
    if known is None or known.ndim != 1 or scale.size not in (1, known.size):
        return False, None
    return True, np.rint(known.astype(np.float32) / scale).astype(np.int32)


def _weights(w: QuantizedOperand) -> Array:
    """Constant codes in the file's type."""
    assert w.value.data is not None
    return w.value.data


def _conv(node: Node) -> Fused | None:
    pair, end = _layer(node), _result(node)
    if pair is None or end is None or not _fits(*pair, end):
        return None
    x, w = pair
    fits, bias = _bias(node, 2, x, w)
    if not fits or (w.quant.per_channel and w.quant.axis not in (0, -w.value.rank)):
        return None
    weights = _weights(w)
    axes, groups = parsers.conv_axes(node, x.value, weights), node.integer("group", 1)
    zero = _zero(w)
    made = quantized.conv(node.b, x.value, weights, w.quant.scale, bias, axes, end.quant, groups=groups, zero=zero)
    return end.of(made)


def _zero(w: QuantizedOperand) -> Array:
    """The zero points of constant codes, which are int8 here."""
    return w.quant.zero_point


def _gemm(node: Node) -> Fused | None:
    pair = _layer(node)
    if pair is None or node.real("alpha", 1.0) != 1 or node.real("beta", 1.0) != 1 or node.flag("transA", False):
        return None
    x, w = pair
    turned = node.flag("transB", False)
    if not (x.has_zero and w.has_zero) or (w.quant.per_channel and w.quant.axis % 2 != (0 if turned else 1)):
        return None
    weights, end = _weights(w).T if turned else _weights(w), _result(node)
    if end is None:
        return _real_gemm(node, x, w, weights)
    fits, bias = _bias(node, 2, x, w)
    if not fits or not _fits(x, w, end):
        return None
    return end.of(quantized.linear(node.b, x.value, weights, w.quant.scale, bias, end.quant, zero=_zero(w)))


def _real_gemm(node: Node, x: QuantizedOperand, w: QuantizedOperand, weights: Array) -> Fused | None:
    """Layers with float results, whose float bias is not quantized."""
    quantizes = [c for c in node.scope.consumers(node.call.outputs[0]) if _is(c, "QuantizeLinear")]
    given = _operand(node, 2)
    if quantizes or not _alike(x, w) or (node.has(2) and (given is None or given.dtype != DType.INT32)):
        return None
    bias = None if given is None else given.value.data
    made = parsers.real_linear(node.b, x.value, weights, w.quant.scale, bias, _zero(w))
    return {node.call.outputs[0]: made}


def _matmul(node: Node) -> Fused | None:
    x, w = _operand(node, 0), _operand(node, 1)
    if x is None or w is None or x.value.rank < 2:
        return None
    constant = w.value.constant and w.value.rank == 2
    if constant and (summed := _matmul_add(node, x, w)) is not None:
        return summed
    end = _result(node)
    if not _alike(x, w) or (w.quant.per_channel and (not constant or w.quant.axis % 2 != 1)):
        return None
    if end is not None and end.dtype == x.dtype:
        if constant:
            made = quantized.linear(node.b, x.value, _weights(w), w.quant.scale, None, end.quant, zero=_zero(w))
        elif not w.value.constant:
            made = quantized.matmul(node.b, x.value, w.value, end.quant)
        else:
            return None
        return end.of(made)
    if end is not None or not constant or _summed(node) is not None:
        return None
    return {node.call.outputs[0]: parsers.real_linear(node.b, x.value, _weights(w), w.quant.scale, None, _zero(w))}


def _summed(node: Node) -> tuple[FileNode, str] | None:
    """The Add of a constant vector that is the only consumer of a product, and that vector."""
    call = node.scope.only_consumer(node.call.outputs[0])
    if call is None or call.domain or call.op_type != "Add":
        return None
    name = next((n for n in call.inputs if n != node.call.outputs[0]), "")
    known = node.scope.constant(name)
    width = node.input(1).shape[-1]
    return (call, name) if known is not None and known.shape == (width,) else None


def _matmul_add(node: Node, x: QuantizedOperand, w: QuantizedOperand) -> Fused | None:
    """MatMul and Add are one layer in ONNX Runtime, which quantizes the bias too."""
    summed = _summed(node)
    if summed is None or not (x.has_zero and w.has_zero) or (w.quant.per_channel and w.quant.axis % 2 != 1):
        return None
    call, name = summed
    end = _result(node, names=(node.call.outputs[0], call.outputs[0]))
    if end is None or not _fits(x, w, end):
        return None
    fits, bias = _bias(node, 0, x, w, name)
    if not fits:
        return None
    return end.of(quantized.linear(node.b, x.value, _weights(w), w.quant.scale, bias, end.quant, zero=_zero(w)))


def _pair(node: Node) -> Fused | None:
    """A binary operator on codes of one type; constant codes stay as they are."""
    x, y, end = _operand(node, 0), _operand(node, 1), _result(node)
    if x is None or y is None or end is None or not x.dtype == y.dtype == end.dtype:
        return None
    if x.quant.per_channel or y.quant.per_channel:
        return None
    of = quantized.add if node.op_type == "Add" else quantized.mul
    return end.of(of(node.b, _held(node, x), _held(node, y), end.quant))


def _held(node: Node, x: QuantizedOperand) -> Value:
    """Codes with their quantization parameters."""
    return x.value if not x.value.constant else replace(x.value, quant=x.quant)


def _function(make: Callable[[Node, QuantizedOperand, QuantizedResult], Value]) -> Callable[[Node], Fused | None]:
    """A unary operator on codes of one type."""

    def find(node: Node) -> Fused | None:
        x, end = _operand(node, 0), _result(node)
        if x is None or end is None or x.value.constant or x.dtype != end.dtype:
            return None
        return end.of(make(node, x, end))

    return find


def _sigmoid(node: Node, x: QuantizedOperand, end: QuantizedResult) -> Value:
    return quantized.function(node.b, x.value, parsers.sigmoid, end.quant)


def _leaky_relu(node: Node, x: QuantizedOperand, end: QuantizedResult) -> Value:
    return quantized.function(node.b, x.value, parsers.leaky(node.real("alpha", 0.01)), end.quant)


def _average_pool(node: Node, x: QuantizedOperand, end: QuantizedResult) -> Value:
    return parsers.pooled(node, x.value, end.quant)


def _global_average_pool(node: Node, x: QuantizedOperand, end: QuantizedResult) -> Value:
    return quantized.mean(node.b, x.value, range(2, x.value.rank), end.quant)


def _softmax(node: Node, x: QuantizedOperand, end: QuantizedResult) -> Value:
    return parsers.softmax(node, x.value, end.quant, node.version)


def _concat(node: Node) -> Fused | None:
    operands, end = [_operand(node, p) for p in range(len(node.inputs))], _result(node)
    if end is None or any(x is None or x.dtype != end.dtype or x.quant.per_channel for x in operands):
        return None
    values = [_held(node, x) for x in operands if x is not None]
    return end.of(quantized.concat(node.b, values, node.integer("axis"), end.quant))


def _where(node: Node) -> Fused | None:
    x, y, end = _operand(node, 1), _operand(node, 2), _result(node)
    if x is None or y is None or end is None or not x.dtype == y.dtype == end.dtype:
        return None
    return end.of(quantized.select(node.b, node.input(0), _held(node, x), _held(node, y), end.quant))


FINDERS: Mapping[str, Callable[[Node], Fused | None]] = {
    "Conv": _conv,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Add": _pair,
    "Mul": _pair,
    "Sigmoid": _function(_sigmoid),
    "LeakyRelu": _function(_leaky_relu),
    "AveragePool": _function(_average_pool),
    "GlobalAveragePool": _function(_global_average_pool),
    "Softmax": _function(_softmax),
    "Concat": _concat,
    "Where": _where,
}
