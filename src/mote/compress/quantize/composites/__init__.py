"""Layers whose integer form is more than the same operator over integers: what calibration must show of their inside,
and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mote.compress.quantize.composites import gru, lstm, norms, svdf
from mote.compress.quantize.composites.scope import Inside, Scope, See
from mote.graph import Graph, Op, Quantization
from mote.graph.tensor import Array
from mote.graph.types import DType
from mote.ops.recurrent.gru import Gru
from mote.ops.recurrent.lstm import Lstm
from mote.ops.recurrent.sequences import LstmSequence
from mote.ops.recurrent.svdf import Svdf
from mote.ops.reductions.layer_norm import RootMeanSquare, Standardize

Given = Mapping[int, tuple[DType, Quantization | None]]
"""By the positions of inputs beside the first: the type in which a layer reads them, and the scale; None: that of its
output."""


@dataclass(frozen=True)
class Composite:
    """A kind of such layers."""

    problem: Callable[[Graph, Any], str | None]
    """Why a layer has no integer form, or None."""
    trace: Callable[[Graph, Any, Sequence[Array | None], int, See], None]
    """Shows the values inside for so many samples, which are stacked as `mote.execute.batch` does."""
    write: Callable[[Scope, Any], None]
    given: Callable[[Graph, Any, Inside], Given] = lambda graph, op, inside: {}


COMPOSITES: Mapping[type[Op], Composite] = {
    LstmSequence: Composite(lstm.sequence_problem, lstm.sequence_trace, lstm.write_sequence, lstm.sequence_given),
    Lstm: Composite(lstm.layer_problem, lstm.layer_trace, lstm.write_layer),
    Gru: Composite(gru.problem, gru.trace, gru.write, gru.given),
    Svdf: Composite(svdf.problem, svdf.trace, svdf.write),
    **dict.fromkeys((Standardize, RootMeanSquare), Composite(norms.problem, norms.trace, norms.write)),
}
