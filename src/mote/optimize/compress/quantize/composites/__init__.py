"""Composite layers, which are quantized to several operators: calibration of intermediate values, and writing of the
operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mote.ir.graph import Graph, Op, Quantization
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.recurrent.gru import Gru
from mote.ir.ops.recurrent.lstm import Lstm
from mote.ir.ops.recurrent.sequences import LstmSequence
from mote.ir.ops.recurrent.svdf import Svdf
from mote.ir.ops.reductions.layer_norm import RootMeanSquare, Standardize
from mote.optimize.compress.quantize.composites import gru, lstm, norms, svdf
from mote.optimize.compress.quantize.composites.scope import CompositeBuilder, Inside, ObserveCallback

Given = Mapping[int, tuple[DType, Quantization | None]]
"""Required type and quantization of inputs other than the first, by position; None: the quantization of the output."""


@dataclass(frozen=True)
class Composite:
    """Functions to quantize a kind of composite layer."""

    problem: Callable[[Graph, Any], str | None]
    """Returns why a layer cannot be quantized, or None."""
    trace: Callable[[Graph, Any, Sequence[Array | None], int, ObserveCallback], None]
    """Computes a layer in float on batched samples (see `mote.bench.execute.batch`) and passes its intermediate values
    to a callback."""
    write: Callable[[CompositeBuilder, Any], None]
    given: Callable[[Graph, Any, Inside], Given] = lambda graph, op, inside: {}


COMPOSITES: Mapping[type[Op], Composite] = {
    LstmSequence: Composite(lstm.sequence_problem, lstm.sequence_trace, lstm.write_sequence, lstm.sequence_given),
    Lstm: Composite(lstm.layer_problem, lstm.layer_trace, lstm.write_layer),
    Gru: Composite(gru.problem, gru.trace, gru.write, gru.given),
    Svdf: Composite(svdf.problem, svdf.trace, svdf.write),
    **dict.fromkeys((Standardize, RootMeanSquare), Composite(norms.problem, norms.trace, norms.write)),
}
