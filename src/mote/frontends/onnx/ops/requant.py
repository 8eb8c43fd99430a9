"""RequantShift, the quantizer of networks in integers for PULP's platforms, as quantlib exports them for DORY and
Deeploy: integers in float32 tensors times a multiplier, plus an offset, divided by a power of two."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Builder, Value, elementwise, integers, quantized
from mote.frontends.onnx.node import FileNode, GraphScope, Key, Node, Parser, words
from mote.frontends.onnx.ops.qonnx import StoredCodes, held
from mote.frontends.onnx.qonnx.dialect import PULP, Shift, shift_of
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.binary_integer import IntegerFunction

MOST = 1 << 30
"""Multipliers and offsets are smaller: the offset and half of a divisor fit 32 bits."""
WHOLE = words(
    "Add Clip Concat Conv Dropout Flatten Gather Gemm Identity MatMul Max MaxPool Min Mul Neg Pad ReduceMax ReduceMin"
    " ReduceSum Relu RequantShift Reshape Slice Split Squeeze Sub Transpose Unsqueeze"
)
"""Operators whose results are integers where their inputs are."""


def constants(scope: GraphScope, call: FileNode) -> tuple[Array, Array] | None:
    """The multiplier and the offset; None where one is computed, or no integers of 31 bits."""
    known = [scope.constant(name) for name in call.inputs[1:]]
    arrays = [x.astype(np.float64) for x in known if x is not None and x.dtype.kind in "iuf"]
    if len(arrays) != 2 or not all(np.array_equal(x, np.rint(x)) and np.all(np.abs(x) < MOST) for x in arrays):
        return None
    return arrays[0], arrays[1]


def requant_shift(node: Node) -> Value:
    node.asked.update(("div", "n_levels", "n_levels_out", "signed"))
    shift, b, x, given = shift_of(node.call.attributes), node.b, node.input(), constants(node.scope, node.call)
    if given is None:
        raise UnsupportedNodeError("a multiplier and an offset that are constant integers below 2^30 are needed")
    if x.dtype != DType.FLOAT32 or not all(_fits(c.shape, x.shape) for c in given):
        shapes = f"{given[0].shape} and {given[1].shape}"
        raise UnsupportedNodeError(f"a multiplier and an offset of {shapes} do not fit a {x.dtype} value of {x.shape}")
    if (reason := _not_whole(node.scope, node.call.inputs[0])) is not None:
        raise UnsupportedNodeError(f"its input is not known to be integers: {reason}")
    as_held = held(np.ones(1), np.zeros(1), shift.low, shift.high)
    if as_held is None:
        raise UnsupportedNodeError(f"has {shift.high - shift.low + 1} levels, 16 bits have fewer")
    if x.data is not None:
        return b.constant(shift(x.data, *given))
    codes = quantized.codes_of(b, x)
    if codes is not None and codes.dtype == as_held.dtype == DType.INT8 and given[0].size == given[1].size == 1:
        mul, add = (c.reshape(-1) for c in given)
        return quantized.dequantize(b, quantized.function(b, codes, lambda real: shift(real, mul, add), as_held.quant))
    return quantized.dequantize(b, quantized.coded(b, _shifted(b, x, given, shift, as_held), as_held.quant))


def _fits(small: Shape, shape: Shape) -> bool:
    """Whether a value broadcasts to a shape."""
    sizes = zip(small[::-1], shape[::-1], strict=False)
    return len(small) <= len(shape) and all(n in (1, size) for n, size in sizes)


def _shifted(b: Builder, x: Value, given: tuple[Array, Array], shift: Shift, as_held: StoredCodes) -> Value:
    """Stored codes, in int32 as on PULP's platforms; the half that rounds is part of the offset."""
    mul, add = (b.constant(c.astype(np.int32)) for c in (given[0], given[1] + shift.div // 2))
    total = elementwise.add(b, elementwise.mul(b, elementwise.cast(b, x, DType.INT32), mul), add)
    bits = elementwise.scalar(b, shift.div.bit_length() - 1, DType.INT32)
    codes = integers.whole(b, IntegerFunction.SHIFT_RIGHT, total, bits)
    limited = elementwise.clip(b, codes, shift.low, shift.high)
    moved = elementwise.add(b, limited, elementwise.scalar(b, as_held.origin, DType.INT32))
    return elementwise.cast(b, moved if as_held.origin else limited, as_held.dtype)


def _not_whole(scope: GraphScope, name: str) -> str | None:
    """The reason why values may have fractions; None for results of integers and operators that keep them."""
    seen, waiting = {name}, [name]
    while waiting:
        known, call = scope.constant(waiting[-1]), scope.producer(waiting.pop())
        if known is not None or call is None:
            if known is not None and known.dtype.kind == "f" and not np.array_equal(known, np.rint(known)):
                return "a constant has fractions"
        elif call.op_type not in WHOLE or call.domain not in PULP:
            return f"{call.code} '{call.label}' may divide"
        elif call.op_type != "RequantShift":
            new = {name for name in call.inputs if name} - seen
            seen, waiting = seen | new, [*waiting, *sorted(new)]
    return None


PARSERS: Mapping[Key, Parser] = {(domain, "RequantShift"): requant_shift for domain in PULP}
