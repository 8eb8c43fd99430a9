"""The parsers of the operators that Mote knows, by the operator's name: one file for each family."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mote.frontends.tflite.node import Node
from mote.frontends.tflite.ops import (
    constants,
    detections,
    elementwise,
    matrix,
    moves,
    recurrent,
    reductions,
    slices,
    windows,
)
from mote.graph import Op
from mote.ops.mean import Mean
from mote.ops.reduce import ReduceAll, ReduceAny, ReduceMax, ReduceMin, ReduceProd, Sum

Parser = Callable[[Node], Op | list[Op]]

PARSERS: Mapping[str, Parser] = {
    "ABS": elementwise.abs_,
    "ADD": elementwise.add,
    "ARG_MAX": reductions.arg_max,
    "ARG_MIN": reductions.arg_min,
    "AVERAGE_POOL_2D": windows.average_pool,
    "BATCH_MATMUL": matrix.batch_matmul,
    "CAST": elementwise.cast,
    "CEIL": elementwise.ceil,
    "CONCATENATION": moves.concatenation,
    "CONV_2D": windows.conv,
    "COS": elementwise.cos,
    "CUMSUM": reductions.cumsum,
    "DEPTHWISE_CONV_2D": windows.depthwise_conv,
    "DEQUANTIZE": elementwise.dequantize,
    "ELU": elementwise.elu,
    "EXP": elementwise.exp,
    "EXPAND_DIMS": moves.reshape,
    "FILL": constants.fill,
    "FLOOR": elementwise.floor,
    "FULLY_CONNECTED": matrix.fully_connected,
    "GELU": elementwise.gelu,
    "HARD_SWISH": elementwise.hard_swish,
    "LEAKY_RELU": elementwise.leaky_relu,
    "LOG": elementwise.log,
    "LOGICAL_NOT": elementwise.logical_not,
    "LOGISTIC": elementwise.logistic,
    "MAX_POOL_2D": windows.max_pool,
    "MEAN": reductions.reduction(Mean),
    "MUL": elementwise.mul,
    "NEG": elementwise.neg,
    "NON_MAX_SUPPRESSION_V4": detections.suppression,
    "NON_MAX_SUPPRESSION_V5": detections.suppression,
    "PACK": moves.pack,
    "PAD": moves.pad,
    "PADV2": moves.pad,
    "PRELU": elementwise.prelu,
    "QUANTIZE": elementwise.quantize,
    "REDUCE_ALL": reductions.reduction(ReduceAll),
    "REDUCE_ANY": reductions.reduction(ReduceAny),
    "REDUCE_MAX": reductions.reduction(ReduceMax),
    "REDUCE_MIN": reductions.reduction(ReduceMin),
    "REDUCE_PROD": reductions.reduction(ReduceProd),
    "RELU": elementwise.relu,
    "RELU6": elementwise.relu6,
    "RELU_0_TO_1": elementwise.relu_0_to_1,
    "RELU_N1_TO_1": elementwise.relu_n1_to_1,
    "RESHAPE": moves.reshape,
    "RESIZE_BILINEAR": windows.resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": windows.resize_nearest,
    "ROUND": elementwise.round_,
    "RSQRT": elementwise.rsqrt,
    "SEGMENT_SUM": reductions.segment_sum,
    "SHAPE": constants.shape,
    "SIGN": elementwise.sign,
    "SIN": elementwise.sin,
    "SLICE": slices.slice_,
    "SOFTMAX": matrix.softmax,
    "SPLIT": slices.split,
    "SPLIT_V": slices.split_v,
    "SQRT": elementwise.sqrt,
    "SQUARE": elementwise.square,
    "SQUEEZE": moves.reshape,
    "STRIDED_SLICE": slices.strided_slice,
    "SUB": elementwise.sub,
    "SUM": reductions.reduction(Sum),
    "SVDF": recurrent.svdf,
    "TANH": elementwise.tanh,
    "TOPK_V2": reductions.top_k,
    "TRANSPOSE": moves.transpose,
    "TRANSPOSE_CONV": windows.transpose_conv,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": recurrent.lstm,
    "UNPACK": slices.unpack,
    "ZEROS_LIKE": constants.zeros_like,
}

CUSTOM_PARSERS: Mapping[str, Parser] = {
    "TFLite_Detection_PostProcess": detections.detection,
}
"""The parsers of custom operators, by the name that their code has in the file."""
