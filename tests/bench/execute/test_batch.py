"""Many samples at once give what they give one by one."""

from __future__ import annotations

import numpy as np
import pytest

from mote.bench.execute.batch import evaluate, stacked
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.types import DType
from mote.ir.ops.control.control_flow import While
from mote.ir.ops.elementwise.arithmetic import Add
from mote.ir.ops.elementwise.comparison import Less
from mote.optimize.compress.quantize.quantizer import quantized
from mote.optimize.nas.graphs import integer_graph
from mote.optimize.nas.spaces.space import SearchSpace
from mote.optimize.nas.spaces.stage import SpaceHead, SpaceStage
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


@pytest.mark.parametrize("last", [False, True], ids=["sequence", "last"])
def test_loops_go_round_for_all_samples(last: bool) -> None:
    """Integers of a gated recurrent unit are a loop of as many turns for every sample."""
    layers = SpaceStage("gru", width=4)
    space = SearchSpace("s", (layers,), SpaceStage("frames", width=4), SpaceHead(pool="last" if last else "mean"))
    net = integer_graph(space.network({}, (6, 3, 1), 3))
    assert any(isinstance(op, While) for op in net.ops)
    rng = np.random.default_rng(0)
    (entry,) = net.inputs
    data = [{entry: rng.integers(-128, 128, net.tensors[entry].shape, np.int8)} for _ in range(5)]
    (found,) = evaluate(net, data)
    expected = one_by_one(net, data)
    assert all(np.array_equal(value, expected[t]) for t, value in found.items())
    assert len(np.unique(found[net.outputs[0]], axis=0)) > 1


@pytest.mark.parametrize("limits", [(3, 3), (2, 5)], ids=["as many turns", "other turns"])
def test_loops_may_end_at_other_turns(limits: tuple[int, int]) -> None:
    """A loop that counts to a number which each sample has."""
    counted = Tensor(0, "count", (1,), DType.INT32)
    limit = Tensor(1, "limit", (1,), DType.INT32)
    one = Tensor(2, "one", (1,), DType.INT32, data=np.ones(1, np.int32))
    more = Tensor(3, "more", (1,), DType.INT32)
    on = Tensor(4, "on", (1,), DType.BOOL)
    inside = {t.id: t for t in (counted, limit, one, more, on)}
    body = Graph("body", inside, (Add(inputs=(0, 2), outputs=(3,), name="add"),), (0, 1), (3,))
    condition = Graph("on", inside, (Less(inputs=(0, 1), outputs=(4,), name="less"),), (0, 1), (4,))
    zero = Tensor(5, "zero", (1,), DType.INT32, data=np.zeros(1, np.int32))
    loop = While(inputs=(5, 1), outputs=(3,), name="loop", condition=condition, body=body)
    net = Graph("net", {t.id: t for t in (zero, limit, more)}, (loop,), (1,), (3,))
    (found,) = evaluate(net, [{1: np.array([number], np.int32)} for number in limits])
    assert found[3].tolist() == list(limits)
