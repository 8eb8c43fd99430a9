"""Signal-to-noise ratios of quantized layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mote.bench.execute.batch import evaluate
from mote.bench.metrics import decibels
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.optimize.compress.quantize.encode import in_steps, real_numbers

AT_ONCE = 16
"""Number of samples whose tensors are in memory at once."""


def graph_inputs(graph: Graph, case: Mapping[int, Array]) -> dict[int, Array]:
    """Float inputs, quantized if the graph's inputs are."""
    inputs = {}
    for t, value in case.items():
        tensor = graph.tensors[t]
        inputs[t] = value if tensor.quant is None else in_steps(value, tensor.quant, tensor.dtype)
    return inputs


def signal_to_noise(exact: Graph, other: Graph, cases: Sequence[Mapping[int, Array]]) -> dict[int, float]:
    """Signal-to-noise ratio in dB of every float activation that both graphs compute; infinite if equal."""
    shared = [t for t in exact.producers if t in other.producers and exact.tensors[t].dtype == DType.FLOAT32]
    signal, wrong = dict.fromkeys(shared, 0.0), dict.fromkeys(shared, 0.0)
    for first in range(0, len(cases), AT_ONCE):
        chunk = cases[first : first + AT_ONCE]
        wanted = _joined(exact, chunk, shared)
        got = _joined(other, [graph_inputs(other, case) for case in chunk], shared)
        for t in shared:
            real = real_numbers(got[t], other.tensors[t].quant)
            signal[t] += float(np.square(wanted[t].astype(np.float64)).sum())
            wrong[t] += float(np.square(wanted[t] - real).sum())
    return {t: decibels(signal[t], wrong[t]) for t in shared}


def _joined(graph: Graph, cases: Sequence[Mapping[int, Array]], wanted: Sequence[int]) -> dict[int, Array]:
    batches = list(evaluate(graph, cases, wanted))
    return {t: np.concatenate([batch[t] for batch in batches]) for t in wanted}
