"""SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM with the weights of two matrix rows packed into 16 bits:
`mote_svdf_pairs_s8.h`, `mote_svdf_state8_pairs_s8.h`, `mote_lstm_pairs_s8.h`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.compiler.kernels.armv7em.common import DSP
from mote.compiler.kernels.armv7em.vector.vector4 import DEPTH, four_outputs, pairs_fit
from mote.compiler.kernels.contract import INT8, SIGNAL, Kernel, Packed, Params, Refusal, View
from mote.compiler.kernels.pack.lstm import LstmCycles, lstm, lstm_begin, lstm_cells, lstm_matrices
from mote.compiler.kernels.pack.svdf import svdf, svdf_filters, svdf_state8
from mote.compiler.kernels.pack.weights.matrix import Matrix
from mote.ir.graph.numeric.fixedpoint import wrap32
from mote.ir.ops.recurrent.lstm import Lstm, StatelessLstm
from mote.ir.ops.recurrent.lstm_operands import PROJECTION
from mote.ir.ops.recurrent.svdf import Svdf

CYCLES = LstmCycles(depth=8, step=848, block=40, rows=122, activation=58, normalized=68)
TOO_LARGE = Refusal("sums of two rows do not fit one register")


def _fits(matrix: Matrix) -> bool:
    """Whether the sums of two matrix rows (first + 256 * second) fit one register."""
    largest = np.abs(matrix.start) + 128 * np.abs(matrix.weights.astype(np.int64)).sum(axis=1)
    return pairs_fit(matrix.weights, int(largest.max()))


def _pairs(matrix: Matrix) -> Params:
    """Parameters `mote_matrix_s8_t` with the weights of two rows packed into 16 bits."""
    words = four_outputs(matrix.weights.astype(np.int64), matrix.start, wide=False)
    return {**matrix.sizes, "block": words.shape[1], "weights": wrap32(words).astype(np.int32).reshape(-1)}


def _widened(size: int) -> int:
    """Bytes of a vector that is widened to 16 bits."""
    return 2 * (size + -size % DEPTH)


def _svdf_pairs(view: View) -> Packed | Refusal:
    filters = view.once(svdf_filters)
    if not _fits(filters):
        return TOO_LARGE
    packed = svdf(view, "svdf_pairs_s8", _pairs(filters), _widened(view.input.shape[1]))
    return packed if isinstance(packed, Refusal) else replace(packed, headers=("svdf_pairs_s8",), beats=("svdf",))


def _svdf_state8_pairs(view: View) -> Packed | Refusal:
    filters = view.once(svdf_filters)
    if not _fits(filters):
        return TOO_LARGE
    packed = svdf_state8(view, "svdf_state8_pairs_s8", _pairs(filters), _widened(view.input.shape[1]))
    return (
        packed
        if isinstance(packed, Refusal)
        else replace(packed, headers=("svdf_state8_pairs_s8",), beats=("svdf_state8",))
    )


def _lstm_pairs(view: View) -> Packed | Refusal:
    if view.the(Lstm).normalized:
        return Refusal("gates are normalized")
    return _integer(view, "lstm_pairs_s8", beats="lstm")


def _lstm_norm_pairs(view: View) -> Packed | Refusal:
    if not view.the(Lstm).normalized:
        return Refusal("gates are not normalized")
    return _integer(view, "lstm_norm_pairs_s8", beats="lstm_norm")


def _lstm_stateless_pairs(view: View) -> Packed | Refusal:
    return _integer(view, "lstm_stateless_pairs_s8", beats="lstm_stateless", more=lstm_begin(view))


def _integer(view: View, name: str, beats: str, more: int = 0) -> Packed | Refusal:
    matrices = view.once(lstm_matrices)
    if not all(map(_fits, matrices.values())):
        return TOO_LARGE
    vectors = [view.input.shape[-1], view.output.shape[-1], *([lstm_cells(view)] if PROJECTION in matrices else [])]
    packed = lstm(view, name, {p: _pairs(m) for p, m in matrices.items()}, more + sum(map(_widened, vectors)))
    return replace(packed, headers=("lstm_pairs_s8",), beats=(beats,))


KERNELS = (
    Kernel("svdf_pairs", (Svdf,), INT8, _svdf_pairs, header="svdf_s8", isa=DSP, costs="fully_connected4_roomy"),
    Kernel(
        "svdf_state8_pairs",
        (Svdf,),
        INT8,
        _svdf_state8_pairs,
        header="svdf_state8_s8",
        isa=DSP,
        costs="fully_connected4_roomy",
    ),
    Kernel("lstm_pairs", (Lstm,), INT8, _lstm_pairs, header="lstm_s8", isa=DSP, costs=SIGNAL, work=CYCLES),
    Kernel("lstm_norm_pairs", (Lstm,), INT8, _lstm_norm_pairs, header="lstm_s8", isa=DSP, costs=SIGNAL, work=CYCLES),
    Kernel(
        "lstm_stateless_pairs",
        (StatelessLstm,),
        INT8,
        _lstm_stateless_pairs,
        header="lstm_s8",
        isa=DSP,
        costs=SIGNAL,
        work=CYCLES,
    ),
)
