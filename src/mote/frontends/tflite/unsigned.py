"""Quantized uint8 files as int8 ones: values and zero points are 128 less, which dequantizes to equal floats.

Inputs and outputs of the model stay uint8. Which operators mean the same either way is a list: LiteRT's kernel for
uint8 must give the results of its kernel for int8, 128 more. Where it rounds differently, `Quantization.unsigned` says
so. Weights have no zero point any more; those that then do not fit int8 have 16 bits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from mote.frontends.tflite.variables import FileOperator
from mote.ir.graph import Op, Quantization, State, Tensor
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.activations import Flip
from mote.ir.ops.moves.pad_concat_transpose import same_steps

WEIGHTED = {"CONV_2D": 1, "DEPTHWISE_CONV_2D": 1, "FULLY_CONNECTED": 1, "TRANSPOSE_CONV": 1}
"""Operators with weights, and the index of that input."""
MOVES = frozenset(
    {
        "BATCH_TO_SPACE_ND", "BROADCAST_TO", "CONCATENATION", "DEPTH_TO_SPACE", "DEQUANTIZE", "DYNAMIC_UPDATE_SLICE",
        "EXPAND_DIMS", "GATHER", "GATHER_ND", "MIRROR_PAD", "PACK", "PAD", "PADV2", "QUANTIZE", "RESHAPE",
        "RESIZE_NEAREST_NEIGHBOR", "REVERSE_V2", "SELECT", "SELECT_V2", "SHAPE", "SLICE", "SPACE_TO_BATCH_ND",
        "SPACE_TO_DEPTH", "SPLIT", "SPLIT_V", "SQUEEZE", "STRIDED_SLICE", "TILE", "TRANSPOSE", "UNPACK",
        "CUSTOM(TFLite_Detection_PostProcess)",
    }
)  # fmt: skip
"""Operators that take uint8 as it is: a file with no others stays uint8."""
SAME = MOVES | frozenset(
    {
        *WEIGHTED, "ADD", "ARG_MAX", "ARG_MIN", "AVERAGE_POOL_2D", "DIV", "EQUAL", "GELU", "GREATER", "GREATER_EQUAL",
        "HARD_SWISH", "L2_NORMALIZATION", "LEAKY_RELU", "LESS", "LESS_EQUAL", "LOGISTIC", "LOG_SOFTMAX", "MAXIMUM",
        "MAX_POOL_2D", "MEAN", "MINIMUM", "MUL", "NOT_EQUAL", "PRELU", "REDUCE_MAX", "REDUCE_MIN", "RELU", "RELU6",
        "RELU_0_TO_1", "RELU_N1_TO_1", "RESIZE_BILINEAR", "SOFTMAX", "SUB", "SUM", "TANH", "TOPK_V2",
    }
)  # fmt: skip
"""Operators that are equivalent in int8."""
DIFFERENT = (
    "quantized uint8 is not supported, because LiteRT computes it differently from int8: convert the model to int8"
)


@dataclass
class Signed:
    """A file's operators over int8 tensors. `entries` convert the model's inputs, `exits` its outputs."""

    calls: list[FileOperator]
    tensors: dict[int, Tensor]
    entries: list[Op] = field(default_factory=list)
    exits: list[Op] = field(default_factory=list)
    refused: set[int] = field(default_factory=set)
    """The positions of operators without an equivalent in int8."""


def signed(
    calls: list[FileOperator],
    tensors: dict[int, Tensor],
    inputs: Iterable[int],
    outputs: Iterable[int],
    states: Iterable[State],
) -> Signed:
    """The file without quantized uint8; unchanged where it only moves such values. `tensors` is changed."""
    converted = Signed(calls, tensors)
    bytes_ = {i for i, t in tensors.items() if t.dtype == DType.UINT8 and t.quant is not None}
    bytes_ -= {i for state in states for i in (state.before, state.after)}
    if not any(bytes_ & {*c.inputs, *c.outputs} for c in calls if _computes(c, tensors)):
        return converted
    converted.refused = {i for i, c in enumerate(calls) if c.code not in SAME and bytes_ & {*c.inputs, *c.outputs}}
    calls = [_without_zero_point(c, tensors) for c in calls]
    given, wanted = set(inputs), set(outputs)
    renamed: dict[int, int] = {}
    for i in sorted(bytes_):
        if i in given | wanted:
            renamed[i] = max(tensors) + 1
            tensors[renamed[i]] = replace(_shifted(tensors[i]), id=renamed[i], copy_of=i)
        else:
            tensors[i] = _shifted(tensors[i])
    for i, twin in renamed.items():
        if i in given:
            converted.entries.append(Flip(inputs=(i,), outputs=(twin,), name=tensors[i].name))
        elif tensors[i].data is None:
            converted.exits.append(Flip(inputs=(twin,), outputs=(i,), name=tensors[i].name))
    converted.calls = [
        replace(
            c, inputs=tuple(renamed.get(i, i) for i in c.inputs), outputs=tuple(renamed.get(i, i) for i in c.outputs)
        )
        for c in calls
    ]
    return converted


def _computes(call: FileOperator, tensors: dict[int, Tensor]) -> bool:
    """Whether an operator does more than move uint8 values: CONCATENATION requantizes its inputs to the output's
    scale."""
    if call.code != "CONCATENATION":
        return call.code not in MOVES and call.code != "CAST"
    parts = [tensors[i] for i in (*call.inputs, *call.outputs) if i >= 0]
    return not all(same_steps(t, parts[-1]) for t in parts)


def _shifted(t: Tensor) -> Tensor:
    """A uint8 tensor as an int8 one."""
    assert t.quant is not None
    quant = replace(t.quant, zero_point=t.quant.zero_point - 128, unsigned=True)
    data = None if t.data is None else (t.data ^ np.uint8(128)).view(np.int8)
    return replace(t, dtype=DType.INT8, quant=quant, data=data)


def _without_zero_point(call: FileOperator, tensors: dict[int, Tensor]) -> FileOperator:
    """The operator with weights whose zero point is 0: a constant of their own, since other operators may read the
    original."""
    position = WEIGHTED.get(call.code, len(call.inputs))
    if position >= len(call.inputs) or call.inputs[position] < 0:
        return call
    w = tensors[call.inputs[position]]
    if w.dtype != DType.UINT8 or w.data is None or w.quant is None or w.quant.per_channel:
        return call
    data = w.data.astype(np.int16) - np.int16(w.zero_point)
    narrow = data.min(initial=0) >= -128 and data.max(initial=0) <= 127
    dtype = DType.INT8 if narrow else DType.INT16
    quant = Quantization(w.quant.scale, np.zeros(1, np.int64), unsigned=True)
    at = max(tensors) + 1
    tensors[at] = replace(w, id=at, dtype=dtype, quant=quant, data=data.astype(dtype.numpy))
    return replace(call, inputs=(*call.inputs[:position], at, *call.inputs[position + 1 :]))
