"""LiteRT's constraints on the scales of integer operators, as one table.

Operators that are not listed have no usable integer kernel in LiteRT (its int8 RSQRT and SUM are wrong or reject
values), so they stay float."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from mote.ir.graph import Graph, Op
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.activations import HardSwish, LeakyRelu, Logistic, Relu, Relu0To1, Relu6, ReluN1To1, Tanh
from mote.ir.ops.elementwise.arithmetic import Add, Mul, Sub
from mote.ir.ops.elementwise.binary_unscaled import Maximum, Minimum
from mote.ir.ops.elementwise.comparison import Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual
from mote.ir.ops.elementwise.division import Div
from mote.ir.ops.elementwise.prelu import PRelu
from mote.ir.ops.elementwise.select import Select
from mote.ir.ops.elementwise.squared_difference import SquaredDifference
from mote.ir.ops.elementwise.unary_math import Abs, Elu, Exp, Gelu, Log
from mote.ir.ops.indexing.gather import DynamicSlice, EmbeddingLookup, Gather, GatherNd
from mote.ir.ops.indexing.scatter import DynamicUpdateSlice, MatrixDiag
from mote.ir.ops.matrix.batch_matmul import BatchMatmul
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.moves.gather_constant import MirrorPad, Pick
from mote.ir.ops.moves.pad_concat_transpose import Concatenation, Pack, Pad, Transpose
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.moves.strided import BatchToSpace, BroadcastTo, DepthToSpace, Reverse, SpaceToBatch, SpaceToDepth, Tile
from mote.ir.ops.recurrent.gru import Gru
from mote.ir.ops.recurrent.lstm import Lstm
from mote.ir.ops.recurrent.sequences import LstmSequence
from mote.ir.ops.recurrent.svdf import Svdf
from mote.ir.ops.reductions.along_axis import ArgMax, ArgMin
from mote.ir.ops.reductions.layer_norm import RootMeanSquare, Standardize
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.normalize import L2Normalization, LogSoftmax
from mote.ir.ops.reductions.reduce import ReduceMax, ReduceMin
from mote.ir.ops.reductions.softmax import Softmax
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.grouped_conv import GroupedConv2D
from mote.ir.ops.windows.pool import AveragePool, MaxPool
from mote.ir.ops.windows.resize import ResizeBilinear, ResizeNearest
from mote.ir.ops.windows.transpose_conv import TransposeConv

Step = tuple[float, int]
"""(scale, zero point)."""


class Rule(Enum):
    """Relation between the scales of an operator's inputs and outputs."""

    LAYER = auto()
    """Weights (input 1) have their own scales, the bias (input 2) that of the accumulator; other scales are free."""
    FREE = auto()
    """Each tensor has its own scale."""
    SAME = auto()
    """All inputs and outputs have one scale."""
    FIXED = auto()
    """The output has a scale that the operator prescribes."""
    COMPOSITE = auto()
    """First input and output have their own scales; `composites/` builds the operators between them."""


@dataclass(frozen=True)
class Family:
    """Quantization rule of an operator, and the activation types that LiteRT's reference kernels support."""

    rule: Rule
    types: tuple[DType, ...] = (DType.INT8, DType.INT16)
    fixed: Mapping[DType, Step] = field(default_factory=dict)
    channel_axis: int = 0
    """Axis of output channels in the weights."""
    four_bits: bool = False
    """Whether LiteRT supports int4 weights."""


_BYTES = (DType.INT8,)
_LAYER = Family(Rule.LAYER, four_bits=True)
_FREE, _FREE_BYTES = Family(Rule.FREE), Family(Rule.FREE, _BYTES)
_SAME, _SAME_BYTES = Family(Rule.SAME), Family(Rule.SAME, _BYTES)
_SHARE = {DType.INT8: (1 / 256, -128), DType.INT16: (1 / 32768, 0)}

FAMILIES: Mapping[type[Op], Family] = {
    Conv2D: _LAYER,
    GroupedConv2D: _LAYER,
    FullyConnected: _LAYER,
    DepthwiseConv2D: Family(Rule.LAYER, channel_axis=3, four_bits=True),
    TransposeConv: Family(Rule.LAYER),
    **dict.fromkeys((Add, Sub, Mul, Div, Mean, BatchMatmul, LeakyRelu, Relu, Relu6, Abs), _FREE),
    **dict.fromkeys((SquaredDifference, PRelu, HardSwish, Relu0To1, ReluN1To1, Exp, Log, Gelu, Elu), _FREE_BYTES),
    **dict.fromkeys((Equal, NotEqual, Greater, GreaterEqual, Less, LessEqual), _FREE),
    **dict.fromkeys((ArgMax, ArgMin), _FREE_BYTES),
    **dict.fromkeys((DepthToSpace, SpaceToDepth), _SAME_BYTES),
    **dict.fromkeys((Reshape, Transpose, Concatenation, Pack, Pad, Slice, DynamicSlice, Pick, MirrorPad), _SAME),
    **dict.fromkeys((AveragePool, MaxPool, ResizeBilinear, ResizeNearest, Gather, GatherNd, ReduceMax), _SAME),
    **dict.fromkeys((Maximum, Minimum, Select, Tile, Reverse, BroadcastTo), _SAME),
    **dict.fromkeys((BatchToSpace, SpaceToBatch, ReduceMin, EmbeddingLookup, DynamicUpdateSlice, MatrixDiag), _SAME),
    **dict.fromkeys((LstmSequence, Lstm, Svdf), Family(Rule.COMPOSITE, _BYTES)),
    **dict.fromkeys((Gru, Standardize, RootMeanSquare), Family(Rule.COMPOSITE)),
    Softmax: Family(Rule.FIXED, fixed=_SHARE),
    Logistic: Family(Rule.FIXED, fixed=_SHARE),
    Tanh: Family(Rule.FIXED, fixed={DType.INT8: (1 / 128, 0), DType.INT16: (1 / 32768, 0)}),
    LogSoftmax: Family(Rule.FIXED, _BYTES, {DType.INT8: (16 / 256, 127)}),
    L2Normalization: Family(Rule.FIXED, _BYTES, {DType.INT8: (1 / 128, 0)}),
}


def has_weights(graph: Graph, op: Op) -> bool:
    """Whether a quantizable operator has weights."""
    family = FAMILIES.get(type(op))
    if family is None:
        return False
    return family.rule is Rule.LAYER or (family.rule is Rule.COMPOSITE and op.macs(graph) > 0)
