"""Layers whose integer form is a composition of several operators: calibration of their internal values, and how they
are written."""

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
from mote.optimize.compress.quantize.composites.scope import CompositeBuilder, Inside, See

Given = Mapping[int, tuple[DType, Quantization | None]]
"""Type and quantization of inputs beside the first, by position; None: the output's quantization."""


@dataclass(frozen=True)
class Composite:
    """A kind of composite layers."""

    problem: Callable[[Graph, Any], str | None]
    """Returns the reason why a layer has no integer form, or None."""
    trace: Callable[[Graph, Any, Sequence[Array | None], int, See], None]
    """Reports internal values for stacked samples (see `mote.bench.execute.batch`)."""
    write: Callable[[CompositeBuilder, Any], None]
    given: Callable[[Graph, Any, Inside], Given] = lambda graph, op, inside: {}


COMPOSITES: Mapping[type[Op], Composite] = {
    LstmSequence: Composite(lstm.sequence_problem, lstm.sequence_trace, lstm.write_sequence, lstm.sequence_given),
    Lstm: Composite(lstm.layer_problem, lstm.layer_trace, lstm.write_layer),
    Gru: Composite(gru.problem, gru.trace, gru.write, gru.given),
    Svdf: Composite(svdf.problem, svdf.trace, svdf.write),
    **dict.fromkeys((Standardize, RootMeanSquare), Composite(norms.problem, norms.trace, norms.write)),
}
