"""Graphs before and after a pass, and that both give the same values."""

from __future__ import annotations

import numpy as np

from mote.bench.execute.stimuli import stimuli
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import Magnitudes, compare
from tests.helpers.network import Net


def graph(net: Net, *outputs: int) -> Graph:
    return tflite.parse(net.finish(*outputs), "before")


def unchanged(before: Graph, after: Graph, exact: bool = True) -> None:
    """Every output has the same value; `exact`: floats too, bit for bit."""
    after.verify()
    for case in stimuli(before, 4):
        want, got = before.evaluate(case), after.evaluate(case)
        sizes = Magnitudes(before).step(want)
        for t in before.outputs:
            assert np.array_equal(got[t], want[t]) if exact else not compare(got[t], want[t], sizes[t])[1]


def kinds(g: Graph) -> list[str]:
    return [op.kind for op in g.ops]


def becomes(before: Graph, after: Graph, *lines: str, exact: bool = True) -> None:
    """The operators after a pass, a line of text each, give the values that those before it gave."""
    assert [line.strip() for line in after.text().split("\n")[1:-1]] == list(lines)
    unchanged(before, after, exact)


def over_time(graph: Graph, steps: int) -> list[Array]:
    """The first outputs of inferences one after another, each with the states that the one before it left."""
    states: dict[int, Array] = {}
    outputs = []
    for case in stimuli(graph, steps):
        values = graph.evaluate({**case, **states})
        states = graph.carried(values)
        outputs.append(values[graph.outputs[0]])
    return outputs
