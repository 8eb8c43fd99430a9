"""The public TFLite schema (version 3) as data: operators, types, and the tables of a file with their fields by name.

The reader and the writer of `.tflite` files both work from it, so that no other file knows
a number of the format. A table lists the fields that Mote reads or writes; files may have more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

VERSION = 3
IDENTIFIER = b"TFL3"
"""The file identifier, bytes 4 to 7 of every file."""
IDENTIFIER_AT = 4
MAX_OLD_CODE = 127
"""The largest operator number that fits `deprecated_builtin_code`; larger ones are in `builtin_code` alone."""

NAMES = (
    "ADD", "AVERAGE_POOL_2D", "CONCATENATION", "CONV_2D", "DEPTHWISE_CONV_2D", "DEPTH_TO_SPACE", "DEQUANTIZE",
    "EMBEDDING_LOOKUP", "FLOOR", "FULLY_CONNECTED", "HASHTABLE_LOOKUP", "L2_NORMALIZATION", "L2_POOL_2D",
    "LOCAL_RESPONSE_NORMALIZATION", "LOGISTIC", "LSH_PROJECTION", "LSTM", "MAX_POOL_2D", "MUL", "RELU",
    "RELU_N1_TO_1", "RELU6", "RESHAPE", "RESIZE_BILINEAR", "RNN", "SOFTMAX", "SPACE_TO_DEPTH", "SVDF", "TANH",
    "CONCAT_EMBEDDINGS", "SKIP_GRAM", "CALL", "CUSTOM", "EMBEDDING_LOOKUP_SPARSE", "PAD",
    "UNIDIRECTIONAL_SEQUENCE_RNN", "GATHER", "BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND", "TRANSPOSE", "MEAN", "SUB",
    "DIV", "SQUEEZE", "UNIDIRECTIONAL_SEQUENCE_LSTM", "STRIDED_SLICE", "BIDIRECTIONAL_SEQUENCE_RNN", "EXP", "TOPK_V2",
    "SPLIT", "LOG_SOFTMAX", "DELEGATE", "BIDIRECTIONAL_SEQUENCE_LSTM", "CAST", "PRELU", "MAXIMUM", "ARG_MAX",
    "MINIMUM", "LESS", "NEG", "PADV2", "GREATER", "GREATER_EQUAL", "LESS_EQUAL", "SELECT", "SLICE", "SIN",
    "TRANSPOSE_CONV", "SPARSE_TO_DENSE", "TILE", "EXPAND_DIMS", "EQUAL", "NOT_EQUAL", "LOG", "SUM", "SQRT", "RSQRT",
    "SHAPE", "POW", "ARG_MIN", "FAKE_QUANT", "REDUCE_PROD", "REDUCE_MAX", "PACK", "LOGICAL_OR", "ONE_HOT",
    "LOGICAL_AND", "LOGICAL_NOT", "UNPACK", "REDUCE_MIN", "FLOOR_DIV", "REDUCE_ANY", "SQUARE", "ZEROS_LIKE", "FILL",
    "FLOOR_MOD", "RANGE", "RESIZE_NEAREST_NEIGHBOR", "LEAKY_RELU", "SQUARED_DIFFERENCE", "MIRROR_PAD", "ABS",
    "SPLIT_V", "UNIQUE", "CEIL", "REVERSE_V2", "ADD_N", "GATHER_ND", "COS", "WHERE", "RANK", "ELU",
    "REVERSE_SEQUENCE", "MATRIX_DIAG", "QUANTIZE", "MATRIX_SET_DIAG", "ROUND", "HARD_SWISH", "IF", "WHILE",
    "NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5", "SCATTER_ND", "SELECT_V2", "DENSIFY", "SEGMENT_SUM",
    "BATCH_MATMUL", "PLACEHOLDER_FOR_GREATER_OP_CODES", "CUMSUM", "CALL_ONCE", "BROADCAST_TO", "RFFT2D", "CONV_3D",
    "IMAG", "REAL", "COMPLEX_ABS", "HASHTABLE", "HASHTABLE_FIND", "HASHTABLE_IMPORT", "HASHTABLE_SIZE", "REDUCE_ALL",
    "CONV_3D_TRANSPOSE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "BROADCAST_ARGS", "RANDOM_STANDARD_NORMAL",
    "BUCKETIZE", "RANDOM_UNIFORM", "MULTINOMIAL", "GELU", "DYNAMIC_UPDATE_SLICE", "RELU_0_TO_1",
    "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_SUM", "ATAN2", "UNSORTED_SEGMENT_MIN", "SIGN",
    "BITCAST", "BITWISE_XOR", "RIGHT_SHIFT", "STABLEHLO_LOGISTIC", "STABLEHLO_ADD", "STABLEHLO_DIVIDE",
    "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM", "STABLEHLO_RESHAPE", "STABLEHLO_CLAMP", "STABLEHLO_CONCATENATE",
    "STABLEHLO_BROADCAST_IN_DIM", "STABLEHLO_CONVOLUTION", "STABLEHLO_SLICE", "STABLEHLO_CUSTOM_CALL",
    "STABLEHLO_REDUCE", "STABLEHLO_ABS", "STABLEHLO_AND", "STABLEHLO_COSINE", "STABLEHLO_EXPONENTIAL",
    "STABLEHLO_FLOOR", "STABLEHLO_LOG", "STABLEHLO_MINIMUM", "STABLEHLO_NEGATE", "STABLEHLO_OR", "STABLEHLO_POWER",
    "STABLEHLO_REMAINDER", "STABLEHLO_RSQRT", "STABLEHLO_SELECT", "STABLEHLO_SUBTRACT", "STABLEHLO_TANH",
    "STABLEHLO_SCATTER", "STABLEHLO_COMPARE", "STABLEHLO_CONVERT", "STABLEHLO_DYNAMIC_SLICE",
    "STABLEHLO_DYNAMIC_UPDATE_SLICE", "STABLEHLO_PAD", "STABLEHLO_IOTA", "STABLEHLO_DOT_GENERAL",
    "STABLEHLO_REDUCE_WINDOW", "STABLEHLO_SORT", "STABLEHLO_WHILE", "STABLEHLO_GATHER", "STABLEHLO_TRANSPOSE",
    "DILATE", "STABLEHLO_RNG_BIT_GENERATOR", "REDUCE_WINDOW", "STABLEHLO_COMPOSITE", "STABLEHLO_SHIFT_LEFT",
    "STABLEHLO_CBRT", "STABLEHLO_CASE",
)  # fmt: skip
"""The operators; an operator's number is its position."""

OPERATORS = {name: number for number, name in enumerate(NAMES)}

TENSOR_TYPES = {
    "float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "string": 5, "bool": 6, "int16": 7, "complex64": 8,
    "int8": 9, "float64": 10, "complex128": 11, "uint64": 12, "resource": 13, "variant": 14, "uint32": 15, "uint16": 16,
    "int4": 17, "bfloat16": 18, "int2": 19, "uint4": 20,
}  # fmt: skip
PADDINGS = {"SAME": 0, "VALID": 1}
ACTIVATIONS = {"NONE": 0, "RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3, "TANH": 4, "SIGN_BIT": 5}
WEIGHTS_FORMATS = {"DEFAULT": 0, "SHUFFLED4x16INT8": 1}
MIRROR_MODES = {"REFLECT": 0, "SYMMETRIC": 1}
DIMENSION_TYPES = {"DENSE": 0, "SPARSE_CSR": 1}
INDEX_TYPES = {1: "int32", 2: "uint16", 3: "uint8"}
"""The tables of a sparse dimension's indices, by their number in the union: their element types."""


class FieldKind(Enum):
    """The kind of a field: a scalar, an enum, or an offset."""

    BOOL = auto()
    INT8 = auto()
    UINT8 = auto()
    INT32 = auto()
    UINT32 = auto()
    UINT64 = auto()
    FLOAT32 = auto()
    TENSOR_TYPE = auto()
    PADDING = auto()
    ACTIVATION = auto()
    WEIGHTS_FORMAT = auto()
    MIRROR_MODE = auto()
    DIMENSION_TYPE = auto()
    STRING = auto()
    BYTES = auto()
    INT32S = auto()
    INT64S = auto()
    FLOAT32S = auto()
    TABLE = auto()
    TABLES = auto()


ENUMS: Mapping[FieldKind, Mapping[str, int]] = {
    FieldKind.TENSOR_TYPE: TENSOR_TYPES,
    FieldKind.PADDING: PADDINGS,
    FieldKind.ACTIVATION: ACTIVATIONS,
    FieldKind.WEIGHTS_FORMAT: WEIGHTS_FORMATS,
    FieldKind.MIRROR_MODE: MIRROR_MODES,
    FieldKind.DIMENSION_TYPE: DIMENSION_TYPES,
}
"""Enum values; files hold them as one signed byte."""


@dataclass(frozen=True)
class TableField:
    """A field of a table: its position, its kind, and its default."""

    slot: int
    kind: FieldKind
    default: int | float = 0


Fields = Mapping[str, TableField]

MODEL: Fields = {
    "version": TableField(0, FieldKind.UINT32),
    "operator_codes": TableField(1, FieldKind.TABLES),
    "subgraphs": TableField(2, FieldKind.TABLES),
    "description": TableField(3, FieldKind.STRING),
    "buffers": TableField(4, FieldKind.TABLES),
    "metadata": TableField(6, FieldKind.TABLES),
    "signature_defs": TableField(7, FieldKind.TABLES),
}
METADATA: Fields = {
    "name": TableField(0, FieldKind.STRING),
    "buffer": TableField(1, FieldKind.UINT32),
}
"""Bytes that belong to tools, by name."""
SIGNATURE: Fields = {
    "inputs": TableField(0, FieldKind.TABLES),
    "outputs": TableField(1, FieldKind.TABLES),
    "signature_key": TableField(2, FieldKind.STRING),
    "subgraph_index": TableField(4, FieldKind.UINT32),
}
"""A subgraph that can be run by its name, and the names of its inputs and outputs."""
TENSOR_MAP: Fields = {
    "name": TableField(0, FieldKind.STRING),
    "tensor_index": TableField(1, FieldKind.UINT32),
}
OPERATOR_CODE: Fields = {
    "deprecated_builtin_code": TableField(0, FieldKind.INT8),
    "custom_code": TableField(1, FieldKind.STRING),
    "version": TableField(2, FieldKind.INT32, 1),
    "builtin_code": TableField(3, FieldKind.INT32),
}
SUBGRAPH: Fields = {
    "tensors": TableField(0, FieldKind.TABLES),
    "inputs": TableField(1, FieldKind.INT32S),
    "outputs": TableField(2, FieldKind.INT32S),
    "operators": TableField(3, FieldKind.TABLES),
    "name": TableField(4, FieldKind.STRING),
}
TENSOR: Fields = {
    "shape": TableField(0, FieldKind.INT32S),
    "type": TableField(1, FieldKind.TENSOR_TYPE),
    "buffer": TableField(2, FieldKind.UINT32),
    "name": TableField(3, FieldKind.STRING),
    "quantization": TableField(4, FieldKind.TABLE),
    "is_variable": TableField(5, FieldKind.BOOL),
    "sparsity": TableField(6, FieldKind.TABLE),
    "shape_signature": TableField(7, FieldKind.INT32S),
}
QUANTIZATION: Fields = {
    "scale": TableField(2, FieldKind.FLOAT32S),
    "zero_point": TableField(3, FieldKind.INT64S),
    "details_type": TableField(4, FieldKind.UINT8),
    "details": TableField(5, FieldKind.TABLE),
    "quantized_dimension": TableField(6, FieldKind.INT32),
}
BLOCKWISE = 2
"""The number of `BLOCKWISE_QUANTIZATION` in the union of quantization details."""
BLOCKWISE_QUANTIZATION: Fields = {
    "scales": TableField(0, FieldKind.INT32),
    "zero_points": TableField(1, FieldKind.INT32),
    "block_size": TableField(2, FieldKind.INT32),
    "block_shape": TableField(3, FieldKind.INT32S),
}
"""Block-wise quantization, whose scales and zero points are tensors with an element per block along the last axis."""
OPERATOR: Fields = {
    "opcode_index": TableField(0, FieldKind.UINT32),
    "inputs": TableField(1, FieldKind.INT32S),
    "outputs": TableField(2, FieldKind.INT32S),
    "builtin_options_type": TableField(3, FieldKind.UINT8),
    "builtin_options": TableField(4, FieldKind.TABLE),
    "custom_options": TableField(5, FieldKind.BYTES),
    "intermediates": TableField(8, FieldKind.INT32S),
    "builtin_options_2_type": TableField(11, FieldKind.UINT8),
    "builtin_options_2": TableField(12, FieldKind.TABLE),
}
BUFFER: Fields = {
    "data": TableField(0, FieldKind.BYTES),
    "offset": TableField(1, FieldKind.UINT64),
    "size": TableField(2, FieldKind.UINT64),
}
"""A buffer; large files keep its data after the FlatBuffer, at an offset from the beginning of the file."""
SPARSITY: Fields = {
    "traversal_order": TableField(0, FieldKind.INT32S),
    "block_map": TableField(1, FieldKind.INT32S),
    "dim_metadata": TableField(2, FieldKind.TABLES),
}
DIMENSION: Fields = {
    "format": TableField(0, FieldKind.DIMENSION_TYPE),
    "dense_size": TableField(1, FieldKind.INT32),
    "array_segments_type": TableField(2, FieldKind.UINT8),
    "array_segments": TableField(3, FieldKind.TABLE),
    "array_indices_type": TableField(4, FieldKind.UINT8),
    "array_indices": TableField(5, FieldKind.TABLE),
}
INDEX_VECTOR: Fields = {"values": TableField(0, FieldKind.BYTES)}


@dataclass(frozen=True)
class Options:
    """The options of an operator: the name of their table, its number in the union, and its fields."""

    table: str
    number: int
    fields: Fields
    union: str = "builtin_options"
    """The field of an operator that holds them: there are two unions."""


def _activation(slot: int) -> Fields:
    return {"fused_activation_function": TableField(slot, FieldKind.ACTIVATION)}


def _dilations(slot: int) -> Fields:
    return {
        "dilation_w_factor": TableField(slot, FieldKind.INT32, 1),
        "dilation_h_factor": TableField(slot + 1, FieldKind.INT32, 1),
    }


def _corners(slot: int) -> Fields:
    return {
        "align_corners": TableField(slot, FieldKind.BOOL),
        "half_pixel_centers": TableField(slot + 1, FieldKind.BOOL),
    }


def _bias(slot: int) -> Fields:
    """The bias type of a layer with int16 inputs; the default is float32."""
    return {"quantized_bias_type": TableField(slot, FieldKind.TENSOR_TYPE)}


def _dynamic(slot: int) -> Fields:
    """The dynamic quantization of the inputs of a layer with float inputs and integer weights."""
    return {"asymmetric_quantize_inputs": TableField(slot, FieldKind.BOOL)}


_WINDOW: Fields = {
    "padding": TableField(0, FieldKind.PADDING),
    "stride_w": TableField(1, FieldKind.INT32),
    "stride_h": TableField(2, FieldKind.INT32),
}
_SUM: Fields = {**_activation(0), "pot_scale_int16": TableField(1, FieldKind.BOOL, True)}

_NONE = Options("", 0, {})
_POOL = Options(
    "Pool2D",
    5,
    {
        **_WINDOW,
        "filter_width": TableField(3, FieldKind.INT32),
        "filter_height": TableField(4, FieldKind.INT32),
        **_activation(5),
    },
)
_WINDOW_3D: Fields = {
    "padding": TableField(0, FieldKind.PADDING),
    "stride_d": TableField(1, FieldKind.INT32),
    "stride_w": TableField(2, FieldKind.INT32),
    "stride_h": TableField(3, FieldKind.INT32),
    **_activation(4),
    "dilation_d_factor": TableField(5, FieldKind.INT32, 1),
    **_dilations(6),
}
_CONV_3D = Options("Conv3D", 106, _WINDOW_3D)
_REDUCER = Options("Reducer", 27, {"keep_dims": TableField(0, FieldKind.BOOL)})
_MAXIMUM_MINIMUM = Options("MaximumMinimum", 39, {})

OPTIONS: Mapping[str, Options] = {
    "ADD": Options("Add", 11, _SUM),
    "AVERAGE_POOL_2D": _POOL,
    "CONCATENATION": Options("Concatenation", 10, {"axis": TableField(0, FieldKind.INT32), **_activation(1)}),
    "CONV_2D": Options("Conv2D", 1, {**_WINDOW, **_activation(3), **_dilations(4), **_bias(6)}),
    "DEPTHWISE_CONV_2D": Options(
        "DepthwiseConv2D",
        2,
        {**_WINDOW, "depth_multiplier": TableField(3, FieldKind.INT32), **_activation(4), **_dilations(5)},
    ),
    "DEQUANTIZE": Options("Dequantize", 38, {}),
    "FULLY_CONNECTED": Options(
        "FullyConnected",
        8,
        {
            **_activation(0),
            "weights_format": TableField(1, FieldKind.WEIGHTS_FORMAT),
            "keep_num_dims": TableField(2, FieldKind.BOOL),
            **_dynamic(3),
            **_bias(4),
        },
    ),
    "LOGISTIC": _NONE,
    "MAX_POOL_2D": _POOL,
    "MUL": Options("Mul", 21, _activation(0)),
    "RELU": _NONE,
    "RELU_N1_TO_1": _NONE,
    "RELU6": _NONE,
    "RESHAPE": Options("Reshape", 17, {"new_shape": TableField(0, FieldKind.INT32S)}),
    "RESIZE_BILINEAR": Options("ResizeBilinear", 15, _corners(2)),
    "SOFTMAX": Options("Softmax", 9, {"beta": TableField(0, FieldKind.FLOAT32)}),
    "SVDF": Options("SVDF", 6, {"rank": TableField(0, FieldKind.INT32), **_activation(1), **_dynamic(2)}),
    "TANH": _NONE,
    "CUSTOM": _NONE,
    "PAD": Options("Pad", 22, {}),
    "GATHER": Options(
        "Gather", 23, {"axis": TableField(0, FieldKind.INT32), "batch_dims": TableField(1, FieldKind.INT32)}
    ),
    "TRANSPOSE": Options("Transpose", 26, {}),
    "MEAN": _REDUCER,
    "SUB": Options("Sub", 28, _SUM),
    "DIV": Options("Div", 29, _activation(0)),
    "SQUEEZE": Options("Squeeze", 30, {"squeeze_dims": TableField(0, FieldKind.INT32S)}),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": Options(
        "UnidirectionalSequenceLSTM",
        71,
        {
            **_activation(0),
            "cell_clip": TableField(1, FieldKind.FLOAT32),
            "proj_clip": TableField(2, FieldKind.FLOAT32),
            "time_major": TableField(3, FieldKind.BOOL),
            **_dynamic(4),
            "diagonal_recurrent_tensors": TableField(5, FieldKind.BOOL),
        },
    ),
    "STRIDED_SLICE": Options(
        "StridedSlice",
        32,
        {
            "begin_mask": TableField(0, FieldKind.INT32),
            "end_mask": TableField(1, FieldKind.INT32),
            "ellipsis_mask": TableField(2, FieldKind.INT32),
            "new_axis_mask": TableField(3, FieldKind.INT32),
            "shrink_axis_mask": TableField(4, FieldKind.INT32),
            "offset": TableField(5, FieldKind.BOOL),
        },
    ),
    "SPLIT": Options("Split", 35, {"num_splits": TableField(0, FieldKind.INT32)}),
    "CAST": Options(
        "Cast",
        37,
        {"in_data_type": TableField(0, FieldKind.TENSOR_TYPE), "out_data_type": TableField(1, FieldKind.TENSOR_TYPE)},
    ),
    "PRELU": _NONE,
    "MAXIMUM": _MAXIMUM_MINIMUM,
    "MINIMUM": _MAXIMUM_MINIMUM,
    "PADV2": Options("PadV2", 43, {}),
    "SLICE": Options("Slice", 48, {}),
    "TRANSPOSE_CONV": Options("TransposeConv", 49, {**_WINDOW, **_activation(3), **_bias(4)}),
    "EXPAND_DIMS": Options("ExpandDims", 52, {}),
    "SUM": _REDUCER,
    "SHAPE": Options("Shape", 55, {"out_type": TableField(0, FieldKind.TENSOR_TYPE)}),
    "REDUCE_MAX": _REDUCER,
    "PACK": Options(
        "Pack", 59, {"values_count": TableField(0, FieldKind.INT32), "axis": TableField(1, FieldKind.INT32)}
    ),
    "UNPACK": Options("Unpack", 64, {"num": TableField(0, FieldKind.INT32), "axis": TableField(1, FieldKind.INT32)}),
    "ZEROS_LIKE": Options("ZerosLike", 67, {}),
    "FILL": Options("Fill", 68, {}),
    "RESIZE_NEAREST_NEIGHBOR": Options("ResizeNearestNeighbor", 74, _corners(0)),
    "LEAKY_RELU": Options("LeakyRelu", 75, {"alpha": TableField(0, FieldKind.FLOAT32)}),
    "ABS": Options("Abs", 78, {}),
    "SPLIT_V": Options("SplitV", 79, {"num_splits": TableField(0, FieldKind.INT32)}),
    "QUANTIZE": Options("Quantize", 89, {}),
    "HARD_SWISH": Options("HardSwish", 91, {}),
    "CALL_ONCE": Options("CallOnce", 103, {"init_subgraph_index": TableField(0, FieldKind.INT32)}),
    "VAR_HANDLE": Options(
        "VarHandle", 111, {"container": TableField(0, FieldKind.STRING), "shared_name": TableField(1, FieldKind.STRING)}
    ),
    "READ_VARIABLE": _NONE,
    "ASSIGN_VARIABLE": _NONE,
    "ADD_N": Options("AddN", 82, {}),
    "ARG_MAX": Options("ArgMax", 40, {"output_type": TableField(0, FieldKind.TENSOR_TYPE)}),
    "ARG_MIN": Options("ArgMin", 57, {"output_type": TableField(0, FieldKind.TENSOR_TYPE)}),
    "ATAN2": Options("ATan2", 122, {}),
    "BATCH_MATMUL": Options(
        "BatchMatMul",
        101,
        {"adj_x": TableField(0, FieldKind.BOOL), "adj_y": TableField(1, FieldKind.BOOL), **_dynamic(2)},
    ),
    "BATCH_TO_SPACE_ND": Options("BatchToSpaceND", 24, {}),
    "BIDIRECTIONAL_SEQUENCE_LSTM": Options(
        "BidirectionalSequenceLSTM",
        69,
        {
            **_activation(0),
            "cell_clip": TableField(1, FieldKind.FLOAT32),
            "proj_clip": TableField(2, FieldKind.FLOAT32),
            "merge_outputs": TableField(3, FieldKind.BOOL),
            "time_major": TableField(4, FieldKind.BOOL, True),
            **_dynamic(5),
        },
    ),
    "BIDIRECTIONAL_SEQUENCE_RNN": Options(
        "BidirectionalSequenceRNN",
        70,
        {
            "time_major": TableField(0, FieldKind.BOOL),
            **_activation(1),
            "merge_outputs": TableField(2, FieldKind.BOOL),
            **_dynamic(3),
        },
    ),
    "BITWISE_XOR": Options("BitwiseXor", 125, {}),
    "BROADCAST_ARGS": _NONE,
    "BROADCAST_TO": Options("BroadcastTo", 104, {}),
    "CALL": Options("Call", 16, {"subgraph": TableField(0, FieldKind.UINT32)}),
    "STABLEHLO_COMPOSITE": Options(
        "StableHLOComposite",
        21,
        {
            "name": TableField(0, FieldKind.STRING),
            "decomposition_subgraph_index": TableField(1, FieldKind.INT32),
            "composite_attributes": TableField(2, FieldKind.BYTES),
        },
        "builtin_options_2",
    ),
    "CEIL": _NONE,
    "COMPLEX_ABS": _NONE,
    "CONV_3D": _CONV_3D,
    "CONV_3D_TRANSPOSE": _CONV_3D,
    "COS": Options("Cos", 84, {}),
    "CUMSUM": Options(
        "Cumsum", 102, {"exclusive": TableField(0, FieldKind.BOOL), "reverse": TableField(1, FieldKind.BOOL)}
    ),
    "DENSIFY": Options("Densify", 99, {}),
    "DEPTH_TO_SPACE": Options("DepthToSpace", 94, {"block_size": TableField(0, FieldKind.INT32)}),
    "DYNAMIC_UPDATE_SLICE": Options("DynamicUpdateSlice", 117, {}),
    "ELU": _NONE,
    "EMBEDDING_LOOKUP": _NONE,
    "EQUAL": Options("Equal", 53, {}),
    "EXP": Options("Exp", 33, {}),
    "FLOOR": _NONE,
    "FLOOR_DIV": Options("FloorDiv", 65, {}),
    "FLOOR_MOD": Options("FloorMod", 72, {}),
    "GATHER_ND": Options("GatherNd", 83, {}),
    "GELU": Options("Gelu", 116, {"approximate": TableField(0, FieldKind.BOOL)}),
    "GREATER": Options("Greater", 44, {}),
    "GREATER_EQUAL": Options("GreaterEqual", 45, {}),
    "IF": Options(
        "If",
        92,
        {"then_subgraph_index": TableField(0, FieldKind.INT32), "else_subgraph_index": TableField(1, FieldKind.INT32)},
    ),
    "IMAG": _NONE,
    "L2_NORMALIZATION": Options("L2Norm", 12, _activation(0)),
    "L2_POOL_2D": _POOL,
    "LESS": Options("Less", 41, {}),
    "LESS_EQUAL": Options("LessEqual", 46, {}),
    "LOCAL_RESPONSE_NORMALIZATION": Options(
        "LocalResponseNormalization",
        13,
        {
            "radius": TableField(0, FieldKind.INT32),
            "bias": TableField(1, FieldKind.FLOAT32),
            "alpha": TableField(2, FieldKind.FLOAT32),
            "beta": TableField(3, FieldKind.FLOAT32),
        },
    ),
    "LOG": _NONE,
    "LOG_SOFTMAX": Options("LogSoftmax", 36, {}),
    "LOGICAL_AND": Options("LogicalAnd", 62, {}),
    "LOGICAL_NOT": Options("LogicalNot", 63, {}),
    "LOGICAL_OR": Options("LogicalOr", 60, {}),
    "MATRIX_DIAG": Options("MatrixDiag", 88, {}),
    "MATRIX_SET_DIAG": Options("MatrixSetDiag", 90, {}),
    "MIRROR_PAD": Options("MirrorPad", 77, {"mode": TableField(0, FieldKind.MIRROR_MODE)}),
    "NEG": Options("Neg", 42, {}),
    "NON_MAX_SUPPRESSION_V4": Options("NonMaxSuppressionV4", 95, {}),
    "NON_MAX_SUPPRESSION_V5": Options("NonMaxSuppressionV5", 96, {}),
    "NOT_EQUAL": Options("NotEqual", 54, {}),
    "ONE_HOT": Options("OneHot", 61, {"axis": TableField(0, FieldKind.INT32)}),
    "POW": Options("Pow", 56, {}),
    "RANGE": Options("Range", 73, {}),
    "RANK": Options("Rank", 86, {}),
    "REAL": _NONE,
    "REDUCE_ALL": _REDUCER,
    "REDUCE_ANY": _REDUCER,
    "REDUCE_MIN": _REDUCER,
    "REDUCE_PROD": _REDUCER,
    "RELU_0_TO_1": _NONE,
    "REVERSE_SEQUENCE": Options(
        "ReverseSequence", 87, {"seq_dim": TableField(0, FieldKind.INT32), "batch_dim": TableField(1, FieldKind.INT32)}
    ),
    "REVERSE_V2": Options("ReverseV2", 81, {}),
    "RFFT2D": Options("Rfft2d", 105, {}),
    "RIGHT_SHIFT": Options("RightShift", 126, {}),
    "RNN": Options("RNN", 7, {**_activation(0), **_dynamic(1)}),
    "ROUND": _NONE,
    "RSQRT": _NONE,
    "SCATTER_ND": Options("ScatterNd", 97, {}),
    "SEGMENT_SUM": Options("SegmentSum", 100, {}),
    "SELECT": Options("Select", 47, {}),
    "SELECT_V2": Options("SelectV2", 98, {}),
    "SIGN": Options("Sign", 123, {}),
    "SIN": _NONE,
    "SPACE_TO_BATCH_ND": Options("SpaceToBatchND", 25, {}),
    "SPACE_TO_DEPTH": Options("SpaceToDepth", 19, {"block_size": TableField(0, FieldKind.INT32)}),
    "SPARSE_TO_DENSE": Options("SparseToDense", 50, {"validate_indices": TableField(0, FieldKind.BOOL)}),
    "SQRT": _NONE,
    "SQUARE": Options("Square", 66, {}),
    "SQUARED_DIFFERENCE": Options("SquaredDifference", 76, {}),
    "TILE": Options("Tile", 51, {}),
    "TOPK_V2": Options("TopKV2", 34, {}),
    "UNIDIRECTIONAL_SEQUENCE_RNN": Options(
        "SequenceRNN", 31, {"time_major": TableField(0, FieldKind.BOOL), **_activation(1), **_dynamic(2)}
    ),
    "WHERE": Options("Where", 85, {}),
    "WHILE": Options(
        "While",
        93,
        {"cond_subgraph_index": TableField(0, FieldKind.INT32), "body_subgraph_index": TableField(1, FieldKind.INT32)},
    ),
}
"""The options of the operators that Mote reads or writes."""
