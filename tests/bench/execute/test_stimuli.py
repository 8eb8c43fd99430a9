"""What models are tried with: inputs that reach every integer, in `mote verify` and in the self-test."""

from __future__ import annotations

import numpy as np
import pytest

from mote.bench.evaluation.verify import verify
from mote.bench.execute.stimuli import stimuli
from mote.compiler.emit.c.programs.golden import FULL
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.ir.graph import Graph
from tests.helpers.network import FLOAT, Net, Quant
from tests.helpers.support import needs_litert


def quantized_input(quant: Quant) -> Graph:
    net = Net(dtype="float32")
    return tflite.parse(net.finish(net.op("QUANTIZE", [net.input(1, 40, 40)], quant=quant)), "model")


def codes(graph: Graph, inputs: dict[int, np.ndarray]) -> set[int]:
    return set(graph.evaluate(inputs)[graph.outputs[0]].reshape(-1).tolist())


@pytest.mark.parametrize("quant", [(1.0, 0), (0.003, -128), (25.0, 90)])
def test_real_inputs_become_every_integer(quant: Quant) -> None:
    graph = quantized_input(quant)
    every = set(range(-128, 128))
    assert codes(graph, FULL.inputs(graph)) == every
    assert codes(graph, stimuli(graph, 6)[5]) == every
    found = [codes(graph, case) for case in stimuli(graph, 4)]
    assert len(found[0]) > 240 and found[1:] == [{-128, 127}, {-128}, {127}]


def test_real_inputs_that_something_else_reads_stay_small() -> None:
    net = Net(dtype="float32")
    x = net.input(1, 8)
    graph = tflite.parse(net.finish(net.op("QUANTIZE", [x], quant=(9.0, 0)), net.op("TANH", [x], quant=FLOAT)), "model")
    assert np.abs(next(iter(stimuli(graph, 1)[0].values()))).max() <= 1


@needs_litert
def test_rounding_that_is_allowed_is_not_called_exact() -> None:
    net = Net(dtype="float32")
    result = verify(compile(net.finish(net.fully_connected(net.op("TANH", [net.input(1, 400)]), 5))), 2)
    assert result.passed and result.max_abs_diff > 0 and not result.exact
