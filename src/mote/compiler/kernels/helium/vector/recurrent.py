"""UNIDIRECTIONAL_SEQUENCE_LSTM with the weights of four matrix rows in vectors: `mote_lstm_vectors_s8.h`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.compiler.kernels.contract import INT8, SIGNAL, Kernel, Packed, Params, Refusal, View
from mote.compiler.kernels.helium.common import HELIUM
from mote.compiler.kernels.pack.lstm import LstmCycles, lstm, lstm_begin, lstm_matrices
from mote.compiler.kernels.pack.params import pad_to
from mote.compiler.kernels.pack.weights.matrix import Matrix
from mote.ir.ops.recurrent.lstm import Lstm, StatelessLstm

ROWS, VECTOR = 4, 16
CYCLES = LstmCycles(depth=VECTOR, step=990, block=10.5, rows=56, activation=8.5, normalized=75, lanes=8)


def _vectors(matrix: Matrix) -> Params:
    """Parameters `mote_matrix_s8_t` with the weights of four rows in vectors."""
    weights = pad_to(pad_to(matrix.weights.astype(np.int8), 0, ROWS), 1, VECTOR)
    blocks = weights.reshape(len(weights) // ROWS, ROWS, -1, VECTOR).transpose(0, 2, 1, 3)
    start = pad_to(matrix.start, 0, ROWS).astype(np.int32)
    return {**matrix.sizes, "weights": np.ascontiguousarray(blocks).reshape(-1), "start": start}


def _lstm(view: View) -> Packed | Refusal:
    if view.the(Lstm).normalized:
        return Refusal("gates are normalized")
    return _integer(view, "lstm")


def _lstm_norm(view: View) -> Packed | Refusal:
    if not view.the(Lstm).normalized:
        return Refusal("gates are not normalized")
    return _integer(view, "lstm_norm")


def _lstm_stateless(view: View) -> Packed:
    return _integer(view, "lstm_stateless", lstm_begin(view))


def _integer(view: View, name: str, more: int = 0) -> Packed:
    matrices = {position: _vectors(matrix) for position, matrix in view.once(lstm_matrices).items()}
    packed = lstm(view, f"{name}_vectors_s8", matrices, more)
    return replace(packed, headers=("lstm_vectors_s8",), beats=(name, f"{name}_pairs"))


KERNELS = tuple(
    Kernel(name, (kind,), INT8, pack, header="lstm_s8", isa=HELIUM, costs=SIGNAL, work=CYCLES)
    for name, kind, pack in (
        ("lstm_vectors", Lstm, _lstm),
        ("lstm_norm_vectors", Lstm, _lstm_norm),
        ("lstm_stateless_vectors", StatelessLstm, _lstm_stateless),
    )
)
