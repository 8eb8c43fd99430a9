"""The parsers of the supported operators, by the operator's name: one file for each family."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module

from mote.frontends.tflite.node import MANY, Node
from mote.ir.graph import Op

Parser = Callable[[Node], Op | list[Op]]


class Parsers(Mapping[str, Parser]):
    """Parsers by an operator's name, given by their files and names: a file is imported when a model has one of its
    operators."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def __getitem__(self, operator: str) -> Parser:
        family, _, name = self._places[operator].partition(".")
        parser: Parser = getattr(import_module(f"{__name__}.{family}"), name)
        return parser

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


PARSERS = Parsers(
    {
        "ABS": "elementwise.abs_",
        "ADD": "pairs.add",
        "ADD_N": "pairs.add_n",
        "ARG_MAX": "reductions.arg_max",
        "ARG_MIN": "reductions.arg_min",
        "ATAN2": "pairs.atan2",
        "AVERAGE_POOL_2D": "windows.average_pool",
        "BATCH_MATMUL": "matrix.batch_matmul",
        "BATCH_TO_SPACE_ND": "walks.batch_to_space",
        "BIDIRECTIONAL_SEQUENCE_LSTM": "sequences.bidirectional_lstm",
        "BIDIRECTIONAL_SEQUENCE_RNN": "sequences.bidirectional_rnn",
        "BITWISE_XOR": "pairs.bitwise_xor",
        "BROADCAST_ARGS": "constants.broadcast_args",
        "BROADCAST_TO": "walks.broadcast_to",
        "CAST": "elementwise.cast",
        "CEIL": "elementwise.ceil",
        "COMPLEX_ABS": "spectra.complex_abs",
        "CONCATENATION": "moves.concatenation",
        "CONV_2D": "windows.conv",
        "CONV_3D": "windows.conv_3d",
        "CONV_3D_TRANSPOSE": "windows.conv_3d_transpose",
        "COS": "elementwise.cos",
        "CUMSUM": "reductions.cumsum",
        "DEPTHWISE_CONV_2D": "windows.depthwise_conv",
        "DEPTH_TO_SPACE": "walks.depth_to_space",
        "DEQUANTIZE": "elementwise.dequantize",
        "DIV": "pairs.div",
        "DYNAMIC_UPDATE_SLICE": "scatters.dynamic_update_slice",
        "ELU": "elementwise.elu",
        "EMBEDDING_LOOKUP": "lookups.embedding_lookup",
        "EQUAL": "pairs.equal",
        "EXP": "elementwise.exp",
        "EXPAND_DIMS": "moves.expand_dims",
        "FILL": "constants.fill",
        "FLOOR": "elementwise.floor",
        "FLOOR_DIV": "pairs.floor_div",
        "FLOOR_MOD": "pairs.floor_mod",
        "FULLY_CONNECTED": "matrix.fully_connected",
        "GATHER": "lookups.gather",
        "GATHER_ND": "lookups.gather_nd",
        "GELU": "elementwise.gelu",
        "GREATER": "pairs.greater",
        "GREATER_EQUAL": "pairs.greater_equal",
        "HARD_SWISH": "elementwise.hard_swish",
        "IMAG": "spectra.imag",
        "L2_NORMALIZATION": "matrix.l2_normalization",
        "L2_POOL_2D": "windows.l2_pool",
        "LEAKY_RELU": "elementwise.leaky_relu",
        "LESS": "pairs.less",
        "LESS_EQUAL": "pairs.less_equal",
        "LOCAL_RESPONSE_NORMALIZATION": "matrix.local_response_normalization",
        "LOG": "elementwise.log",
        "LOGICAL_AND": "pairs.logical_and",
        "LOGICAL_NOT": "elementwise.logical_not",
        "LOGICAL_OR": "pairs.logical_or",
        "LOGISTIC": "elementwise.logistic",
        "LOG_SOFTMAX": "matrix.log_softmax",
        "MATRIX_DIAG": "scatters.matrix_diag",
        "MATRIX_SET_DIAG": "scatters.matrix_set_diag",
        "MAXIMUM": "pairs.maximum",
        "MAX_POOL_2D": "windows.max_pool",
        "MEAN": "reductions.mean",
        "MINIMUM": "pairs.minimum",
        "MIRROR_PAD": "lookups.mirror_pad",
        "MUL": "pairs.mul",
        "NEG": "elementwise.neg",
        "NON_MAX_SUPPRESSION_V4": "detections.suppression",
        "NON_MAX_SUPPRESSION_V5": "detections.suppression",
        "NOT_EQUAL": "pairs.not_equal",
        "ONE_HOT": "scatters.one_hot",
        "PACK": "moves.pack",
        "PAD": "moves.pad",
        "PADV2": "moves.pad",
        "POW": "pairs.pow_",
        "PRELU": "pairs.prelu",
        "QUANTIZE": "elementwise.quantize",
        "RANGE": "constants.range_",
        "RANK": "constants.rank",
        "REAL": "spectra.real_part",
        "REDUCE_ALL": "reductions.reduce_all",
        "REDUCE_ANY": "reductions.reduce_any",
        "REDUCE_MAX": "reductions.reduce_max",
        "REDUCE_MIN": "reductions.reduce_min",
        "REDUCE_PROD": "reductions.reduce_prod",
        "RELU": "elementwise.relu",
        "RELU6": "elementwise.relu6",
        "RELU_0_TO_1": "elementwise.relu_0_to_1",
        "RELU_N1_TO_1": "elementwise.relu_n1_to_1",
        "RESHAPE": "moves.reshape",
        "RESIZE_BILINEAR": "windows.resize_bilinear",
        "RESIZE_NEAREST_NEIGHBOR": "windows.resize_nearest",
        "REVERSE_SEQUENCE": "scatters.reverse_sequence",
        "REVERSE_V2": "walks.reverse",
        "RFFT2D": "spectra.rfft2d",
        "RIGHT_SHIFT": "pairs.right_shift",
        "RNN": "sequences.rnn",
        "ROUND": "elementwise.round_",
        "RSQRT": "elementwise.rsqrt",
        "SCATTER_ND": "scatters.scatter_nd",
        "SEGMENT_SUM": "reductions.segment_sum",
        "SELECT": "pairs.select",
        "SELECT_V2": "pairs.select_v2",
        "SHAPE": "constants.shape",
        "SIGN": "elementwise.sign",
        "SIN": "elementwise.sin",
        "SLICE": "slices.slice_",
        "SOFTMAX": "matrix.softmax",
        "SPACE_TO_BATCH_ND": "walks.space_to_batch",
        "SPACE_TO_DEPTH": "walks.space_to_depth",
        "SPARSE_TO_DENSE": "scatters.sparse_to_dense",
        "SPLIT": "slices.split",
        "SPLIT_V": "slices.split_v",
        "SQRT": "elementwise.sqrt",
        "SQUARE": "elementwise.square",
        "SQUARED_DIFFERENCE": "pairs.squared_difference",
        "SQUEEZE": "moves.squeeze",
        "STRIDED_SLICE": "slices.strided_slice",
        "SUB": "pairs.sub",
        "SUM": "reductions.sum_",
        "SVDF": "recurrent.svdf",
        "TANH": "elementwise.tanh",
        "TILE": "walks.tile",
        "TOPK_V2": "reductions.top_k",
        "TRANSPOSE": "moves.transpose",
        "TRANSPOSE_CONV": "windows.transpose_conv",
        "UNIDIRECTIONAL_SEQUENCE_LSTM": "recurrent.lstm",
        "UNIDIRECTIONAL_SEQUENCE_RNN": "sequences.rnn",
        "UNPACK": "slices.unpack",
        "WHERE": "constants.where",
        "ZEROS_LIKE": "constants.zeros_like",
    }
)

CUSTOM_PARSERS = Parsers(
    {
        "ethos-u": "ethos_u.stream",
        "SignalDelay": "signals.delay",
        "SignalEnergy": "signals.energy",
        "SignalFftAutoScale": "signals.fft_auto_scale",
        "SignalFilterBank": "signals.filter_bank",
        "SignalFilterBankLog": "signals.filter_bank_log",
        "SignalFilterBankSpectralSubtraction": "signals.filter_bank_spectral_subtraction",
        "SignalFilterBankSquareRoot": "signals.filter_bank_square_root",
        "SignalFramer": "signals.framer",
        "SignalIrfft": "signals.irfft",
        "SignalOverlapAdd": "signals.overlap_add",
        "SignalPCAN": "signals.pcan",
        "SignalRfft": "signals.rfft",
        "SignalStacker": "signals.stacker",
        "SignalWindow": "signals.window",
        "TFLite_Detection_PostProcess": "detections.detection",
    }
)
"""The parsers of custom operators, by their custom code."""

MAY_BE_INFINITE = frozenset({"ADD", "GREATER", "LESS", "MAXIMUM", "MINIMUM", "SELECT", "SELECT_V2", "SUB"})
"""Operators whose constants may hold infinity, as masks do."""

MAY_BE_EMPTY: Mapping[str, frozenset[int]] = {
    "BROADCAST_ARGS": frozenset({0, 1}),
    "BROADCAST_TO": frozenset({1}),
    "CONCATENATION": frozenset(range(MANY)),
    "FILL": frozenset({0}),
    "PAD": frozenset({1}),
    "PADV2": frozenset({1}),
    "RESHAPE": frozenset({1}),
    "REVERSE_V2": frozenset({1}),
    "SHAPE": frozenset({0}),
    "SLICE": frozenset({1, 2}),
    "TILE": frozenset({1}),
    "TRANSPOSE": frozenset({1}),
}
"""Positions of inputs that may be empty, such as the shape of a scalar."""
