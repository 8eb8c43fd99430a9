"""Units: each operator that computes with real numbers belongs to one layer with weights."""

from __future__ import annotations

import pytest

from mote.compiler.passes.normal_form import normal
from mote.frontends import tflite
from mote.optimize.compress.quantize.types.precision import Precision
from mote.optimize.compress.quantize.types.precision_units import layers_of, units
from tests.helpers.float_nets import BLOCKS, model
from tests.helpers.network import Net


@pytest.mark.parametrize("blocks", [tuple(BLOCKS), ("residual", "gated"), ("conv",)], ids=len)
def test_every_operator_is_in_one(blocks: tuple[str, ...]) -> None:
    graph = normal(tflite.parse(model(blocks), "model"))
    found = units(graph)
    members = [op for unit in found for op in unit.operators]
    assert sorted(members) == [op.index for op in graph.ops] and len(set(members)) == len(members)
    for unit in found:
        assert unit.layer in unit.operators and unit.name
    assert [unit.layer for unit in found] == sorted(unit.layer for unit in found)


def test_what_follows_a_layer_is_as_precise() -> None:
    net = Net(0, "float32")
    x = net.input(1, 4, 4, 2)
    first = net.conv(net.op("TANH", [x]), 3, 3)
    second = net.conv(net.op("LOGISTIC", [first]), 3, 1)
    graph = normal(tflite.parse(net.finish(net.add(first, second)), "model"))
    one, two = units(graph)
    kinds = {op.index: op.kind for op in graph.ops}
    assert [kinds[i] for i in one.operators] == ["TANH", "CONV_2D", "LOGISTIC"]
    assert [kinds[i] for i in two.operators] == ["CONV_2D", "ADD"]
    assert set(layers_of([one, two], ("int8", "int16")).values()) == {Precision.INT8, Precision.INT16}


def test_a_model_without_weights_has_none() -> None:
    net = Net(0, "float32")
    assert units(normal(tflite.parse(net.finish(net.op("TANH", [net.input(1, 4)])), "model"))) == []
