"""Many samples at once give what they give one by one."""

from __future__ import annotations

import numpy as np
import pytest

from mote.compress.quantize.quantizer import quantized
from mote.execute.batch import evaluate, stacked
from mote.graph import Graph
from tests.helpers.float_nets import BLOCKS, cases, extremes, given, graph


def one_by_one(graph: Graph, data: list[dict[int, np.ndarray]]) -> dict[int, np.ndarray]:
    all_values = [graph.evaluate(case) for case in data]
    return {
        t: np.stack([values[t] for values in all_values]).reshape(stacked(graph.tensors[t].shape, len(data)))
        for t in (*graph.inputs, *graph.producers)
    }


@pytest.mark.parametrize("whole", [False, True])
def test_a_batch_is_its_samples(whole: bool) -> None:
    net = graph(tuple(BLOCKS), seed=2)
    data = cases(net, 5)
    if whole:
        net = quantized(net, extremes(net, data))
        data = [given(net, case) for case in data]
    (found,) = evaluate(net, data)
    expected = one_by_one(net, data)
    assert found.keys() == expected.keys()
    for t, value in found.items():
        if whole and value.dtype != np.float32:
            assert np.array_equal(value, expected[t])
        else:
            assert np.allclose(value, expected[t], rtol=0, atol=1e-4 * float(np.abs(expected[t]).max(initial=1e-3)))


def test_only_what_is_wanted_is_kept() -> None:
    net = graph(["conv", "residual"])
    data = cases(net, 70)
    batches = list(evaluate(net, data, net.outputs))
    assert all(batch.keys() == set(net.outputs) for batch in batches)
    assert sum(len(batch[net.outputs[0]]) for batch in batches) == 70
