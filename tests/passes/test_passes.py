"""Passes as text: the graph before, the graph after, and the same values from both."""

from __future__ import annotations

import numpy as np
import pytest

from mote.execute.stimuli import stimuli
from mote.frontends import tflite
from mote.frontends.tflite.writer import NO_TENSOR
from mote.graph import Graph
from mote.graph.tolerance import Magnitudes, compare
from mote.passes import (
    fold_batch_norm,
    fold_constants,
    fuse_activations,
    fuse_pads,
    fuse_tables,
    optimize,
    remove_dead_code,
    remove_identities,
    strip_io,
    tflm_numerics,
)
from tests.helpers.network import FLOAT, SCALE, Net


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


def test_fold_constants() -> None:
    net = Net()
    x, a = net.input(1, 4), net.writer.const("a", np.int8([[1, 2, 3, 4]]), SCALE)
    before = graph(net, net.add(x, net.op("ADD", [a, a], (1, 4))))
    after = fold_constants.run(before)
    assert after.text() == (
        "graph(%0: int8[1x4])\n  %3: int8[1x4] = ADD(%0, const int8[1x4]) {activation=NONE}\n  return %3"
    )
    unchanged(before, after)


def test_constant_outputs_stay_operators() -> None:
    net = Net()
    x, a = net.input(1, 4), net.writer.const("a", np.int8([[1, 2, 3, 4]]), SCALE)
    y = net.op("ADD", [a, a], (1, 4))
    before = graph(net, y, net.add(x, y))
    unchanged(before, fold_constants.run(before))
    assert kinds(fold_constants.run(before)) == ["ADD", "ADD"]


def test_remove_dead_code() -> None:
    net = Net(dtype="float32")
    x = net.input(1, 4)
    y = net.op("RELU", [x])
    net.op("RELU", [net.op("TANH", [x])])
    before = graph(net, y)
    after = remove_dead_code.run(before)
    assert kinds(after) == ["RELU"]
    unchanged(before, after)


def test_remove_identities_and_collapse_reshapes() -> None:
    net = Net()
    x = net.input(1, 2, 2, 2)
    flat = net.reshape(net.reshape(net.moved("QUANTIZE", [x]), 1, 4, 2), 1, 8)
    before = graph(net, net.add(flat, flat))
    after = remove_identities.run(before)
    assert after.text() == (
        "graph(%0: int8[1x2x2x2])\n"
        "  %5: int8[1x8] = RESHAPE(%0) {shape=(1, 8)}\n"
        "  %6: int8[1x8] = ADD(%5, %5) {activation=NONE}\n"
        "  return %6"
    )
    unchanged(before, after)


@pytest.mark.parametrize(("offset", "fused"), [(0, True), (8, False)])
def test_fuse_pads(offset: int, fused: bool) -> None:
    """Exact only where the padding holds the zero point."""
    net = Net()
    x = net.input(1, 5, 6, 2)
    zero = net.quants[x][1]
    number = net.writer.const("value", np.array(zero + offset, np.int8), SCALE, zero)
    padded = net.moved("PADV2", [x, net.ints((0, 0), (1, 2), (2, 1), (0, 0)), number], (1, 8, 9, 2))
    before = graph(net, net.conv(padded, 4, stride=2, padding="VALID"))
    after = fuse_pads.run(before)
    assert kinds(after) == kinds(before)[1 if fused else 0 :]
    unchanged(before, after)


@pytest.mark.parametrize("same", [True, False])
def test_fuse_activations(same: bool) -> None:
    """int8: only where the quantization does not change, so that the activation is a clamp."""
    net = Net()
    x = net.conv(net.input(1, 5, 6, 2), 4)
    before = graph(net, net.op("RELU6", [x], quant=net.quants[x] if same else (0.04, 9)))
    after = fuse_activations.run(before)
    assert kinds(after) == (["CONV_2D"] if same else ["CONV_2D", "RELU6"])
    unchanged(before, after)


def test_activation_of_a_layer_with_state() -> None:
    net = Net(dtype="float32")
    x, state = net.input(1, 3), net.writer.variable("s", (1, 20), "float32")
    k, t = (net.writer.const("ones", np.ones((4, size), np.float32)) for size in (3, 5))
    y = net.op("SVDF", [x, k, t, NO_TENSOR, state], (1, 2), rank=2)
    before = graph(net, net.op("RELU", [y]))
    after = fuse_activations.run(before)
    unchanged(before, after)
    assert kinds(after) == ["SVDF"] and after.states == before.states


def test_fuse_tables() -> None:
    net = Net()
    x = net.op("QUANTIZE", [net.input(1, 64)], quant=(0.03, 7))
    x = net.op("QUANTIZE", [net.op("DEQUANTIZE", [x], quant=FLOAT)], quant=(0.1, -20))
    before = graph(net, net.op("LOGISTIC", [x], quant=(1 / 256, -128)))
    after = fuse_tables.run(before)
    assert kinds(after) == ["TABLE"]
    unchanged(before, after)


@pytest.mark.parametrize("kind", ["conv", "depthwise"])
def test_fold_batch_norm(kind: str) -> None:
    net = Net(dtype="float32")
    x = net.input(1, 5, 6, 2)
    if kind == "conv":
        y = net.conv(x, 4)
    else:
        weights, _ = net.constants(x, net.weights(1, 3, 3, 2), axis=3)
        y = net.op("DEPTHWISE_CONV_2D", [x, weights])
    gamma, beta = (
        net.writer.const("normal", net.rng.normal(size=net.shapes[y][3]).astype(np.float32)) for _ in range(2)
    )
    y = net.op("MUL", [y, gamma])
    before = graph(net, net.op("ADD", [beta, y], net.shapes[y], fused_activation_function="RELU6"))
    after = fold_batch_norm.run(before)
    assert len(after.ops) == 1 and after.ops[0].activation == "RELU6"
    unchanged(before, after, exact=False)


def test_strip_io() -> None:
    net = Net()
    x = net.moved("RELU", [net.op("QUANTIZE", [net.input(1, 8, quant=FLOAT)])])
    after = strip_io.run(graph(net, net.op("DEQUANTIZE", [x], quant=FLOAT))).verify()
    assert kinds(after) == ["RELU"]
    assert [after.tensors[t].dtype for t in (*after.inputs, *after.outputs)] == ["int8", "int8"]


def test_tflm_numerics() -> None:
    net = Net()
    before = graph(net, net.fully_connected(net.input(4, 64), 32))
    after = tflm_numerics.run(before)
    differing = 0
    for case in stimuli(before, 20):
        (out,) = before.outputs
        delta = np.abs(before.evaluate(case)[out].astype(int) - after.evaluate(case)[out])
        assert delta.max() <= 1
        differing += int(delta.sum())
    assert differing > 0


def test_pipeline_reports_what_it_removed() -> None:
    net = Net()
    x = net.conv(net.pad(net.input(1, 5, 6, 2), (0, 0), (1, 1), (1, 1), (0, 0)), 4, padding="VALID")
    before = graph(net, net.moved("RELU", [x]))
    after, savings = optimize(before)
    assert [(s.name, s.removed, s.detail) for s in savings] == [
        ("fuse pads", 1, "1 PAD"),
        ("fuse activations", 1, "1 RELU"),
    ]
    unchanged(before, after)
