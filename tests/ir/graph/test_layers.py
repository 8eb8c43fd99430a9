"""Numbers and short names of layers, the same in every graph of a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mote
from mote import frontends
from mote.ir.graph import Graph

MODELS = Path(__file__).parents[3] / "models"


def _read(name: str) -> Graph:
    return frontends.read(frontends.source_of(str(MODELS / name))).graph()


def test_passes_change_neither_numbers_nor_short_names() -> None:
    before = _read("digits.onnx")
    after = mote.compile(MODELS / "digits.onnx").plan.graph
    named = dict(zip(before.numbers, map(before.short_name, before.ops), strict=True))
    assert len(after.ops) < len(before.ops)
    assert {named[n] for n in after.numbers} == {after.short_name(op) for op in after.ops}
    assert named["12"] == "6_fully_connected"


def test_operators_of_one_layer_have_its_number_and_name() -> None:
    graph = _read("digits.tflite")
    twice = replace(graph, ops=(graph.ops[0], *graph.ops, graph.ops[2].with_(index=-1, name="made")))
    assert twice.numbers[:3] == ("0.1", "0.2", "1")
    assert twice.numbers[-1] == "x1"
    assert twice.short_name(twice.ops[-1]) == "made"
    assert twice.short_name(twice.ops[0]) == twice.short_name(twice.ops[1]) == "0_conv_2d"


def test_graphs_without_layers_number_their_operators() -> None:
    graph = replace(_read("digits.tflite"), layers={})
    assert graph.numbers == tuple(map(str, range(8)))
    assert graph.short_name(graph.ops[1]) == "1_depthwise_conv_2d"
