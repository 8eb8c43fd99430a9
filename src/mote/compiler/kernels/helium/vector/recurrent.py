"""UNIDIRECTIONAL_SEQUENCE_LSTM with the weights of four matrix rows in vectors: `mote_lstm_vectors_s8.h`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.compiler.kernels.contract import INT8, Kernel, Packed, Params, Refusal, View
from mote.compiler.kernels.helium.common import HELIUM
from mote.compiler.kernels.pack.lstm import lstm, lstm_begin, lstm_matrices
from mote.compiler.kernels.pack.params import pad_to
from mote.compiler.kernels.pack.weights.matrix import Matrix
from mote.ir.ops.recurrent.lstm import Lstm, StatelessLstm

ROWS, VECTOR = 4, 16


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


KERNELS = (
    Kernel("lstm_vectors", (Lstm,), INT8, _lstm, header="lstm_s8", isa=HELIUM, costs="fully_connected"),
    Kernel("lstm_norm_vectors", (Lstm,), INT8, _lstm_norm, header="lstm_s8", isa=HELIUM, costs="fully_connected"),
    Kernel(
        "lstm_stateless_vectors",
        (StatelessLstm,),
        INT8,
        _lstm_stateless,
        header="lstm_s8",
        isa=HELIUM,
        costs="fully_connected",
    ),
)
