"""Calibrates intermediate values of composite layers that are not tensors of the float graph, such as an LSTM's cell
state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from mote.bench.execute.batch import samples_of
from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from mote.optimize.compress.quantize.composites import COMPOSITES
from mote.optimize.compress.quantize.encode import Range

Insides = Mapping[int, Mapping[str, Range]]
"""Ranges of intermediate values: by layer output, then by name."""


def recording_insides(
    graph: Graph, batches: Iterator[dict[int, Array]], insides: dict[int, dict[str, Range]]
) -> Iterator[dict[int, Array]]:
    """Passes through batches of activations (without initial states) and records the ranges of intermediate values in
    `insides`."""
    before = {s.before for s in graph.states}
    layers = [op for op in graph.ops if type(op) in COMPOSITES and COMPOSITES[type(op)].problem(graph, op) is None]
    for values in batches:
        for op in layers:
            _record(graph, op, values, insides.setdefault(op.outputs[0], {}))
        yield {t: value for t, value in values.items() if t not in before}


def _record(graph: Graph, op: Op, values: Mapping[int, Array], ranges: dict[str, Range]) -> None:
    def see(name: str, value: Array) -> None:
        low, high = ranges.get(name, (0.0, 0.0))
        ranges[name] = min(low, float(np.min(value))), max(high, float(np.max(value)))

    args = [None if i == ABSENT else values.get(i, graph.tensors[i].data) for i in op.inputs]
    COMPOSITES[type(op)].trace(graph, op, args, samples_of(graph, op, args), see)
