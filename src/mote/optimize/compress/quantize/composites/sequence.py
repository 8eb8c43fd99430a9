"""Time steps and initial states of recurrent layers on batched samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.ops.recurrent.lstm import LstmLayer
from mote.ir.ops.recurrent.sequences import Floats, Recurrent


def by_time(graph: Graph, op: Recurrent | LstmLayer, values: Sequence[Array | None], samples: int) -> Floats:
    """Inputs of a recurrent layer as [time, sequences of all samples, inputs]."""
    x = np.asarray(values[0], np.float64).reshape(samples, *op.input(graph).shape)
    steps = np.moveaxis(x, 1 if op.time_major else 2, 0)
    return steps.reshape(len(steps), -1, x.shape[-1])


def in_order(steps: Floats, backward: bool) -> Iterable[Floats]:
    return steps[::-1] if backward else steps


def states_of(graph: Graph, op: Recurrent, values: Sequence[Array | None], samples: int) -> list[Floats]:
    """Initial states for the sequences of all samples."""
    (batch, _), units = op.batch_and_time(graph), op.units(graph)
    states = []
    for position in op.states:
        t = op.tensor(graph, position)
        begin = np.zeros((batch, units)) if t is None else np.asarray(values[position], np.float64)
        one = begin.reshape(-1, batch, units)
        states.append(np.broadcast_to(one, (samples, batch, units)).reshape(samples * batch, units))
    return states
