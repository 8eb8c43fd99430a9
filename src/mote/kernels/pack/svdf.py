"""What the kernels of SVDF share, portable ones and those of an instruction set."""

from __future__ import annotations

import numpy as np

from mote.kernels.contract import Packed, Params, View
from mote.kernels.pack.matrix import Matrix
from mote.kernels.pack.params import scale_params
from mote.ops.common import bias_values
from mote.ops.svdf import BIAS, STATE, Svdf


def svdf_sizes(view: View) -> Params:
    """The fields with which all structs of SVDF kernels begin."""
    rank, time = view.the(Svdf).rank, view.constant(2)
    return {
        "batch": view.input.shape[0],
        "units": len(time) // rank,
        "rank": rank,
        "memory": time.shape[1],
        "time": time,
    }


def svdf_filters(view: View) -> Matrix:
    """The weights that reduce an input to one number for each filter."""
    weights = view.constant(1)
    scale, _ = view.the(Svdf).scales(view.graph)
    return Matrix(weights, -view.input.zero_point, np.zeros(len(weights), np.int64), scale)


def svdf(view: View, name: str, filters: Params, scratch: int | None = None) -> Packed:
    """The int8 kernel with the filters' weights in its own order."""
    op = view.the(Svdf)
    _, output = op.scales(view.graph)
    params: Params = {
        **svdf_sizes(view),
        "filters": filters,
        **scale_params(*output),
        "zero": view.output.zero_point,
        "bias": bias_values(op.tensor(view.graph, BIAS), view.output.shape[1]).astype(np.int32),
    }
    return Packed(name, params, operands=(0, STATE), scratch=scratch)
