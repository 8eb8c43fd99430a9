"""SVDF as integers, and streams of layers that keep states."""

from __future__ import annotations

import numpy as np

from mote.bench.execute.batch import evaluate, is_stream
from tests.helpers.float_nets import Case, cases
from tests.helpers.support import check, needs_litert
from tests.optimize.compress.quantize.composites.float_layers import Kept, Layers, kept_as_integers, kept_lstm, svdf


@needs_litert
def test_layers_of_a_stream_are_equal_to_litert() -> None:
    layers = Layers(2)
    for batch, rank, bias in ((1, 1, True), (2, 2, False)):
        svdf(layers, batch, rank, bias=bias)
    kept_lstm(layers, Kept(time=1))
    check(kept_as_integers(layers.graph()), inputs=3)


def test_a_stream_goes_on_from_one_case_to_the_next() -> None:
    layers = Layers(3)
    svdf(layers, 1, 2)
    graph = layers.graph()
    assert is_stream(graph)
    samples = cases(graph, 9)
    carried: Case = {}
    for case, got in zip(samples, evaluate(graph, samples), strict=True):
        want = graph.evaluate(case | carried)
        carried = graph.carried(want)
        assert all(np.array_equal(got[t].reshape(want[t].shape), want[t]) for t in got)
