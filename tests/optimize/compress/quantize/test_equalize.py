"""Equalised networks compute the same real numbers, and lose less as integers where channels differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mote.bench.execute.batch import evaluate
from mote.bench.metrics import noise
from mote.compiler.passes.normal_form import normal
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.optimize.compress.quantize.calibration import ranges
from mote.optimize.compress.quantize.encode import in_steps, real_numbers
from mote.optimize.compress.quantize.quantizer import quantized
from mote.optimize.compress.quantize.refinement.equalize import equalized, pairs
from mote.optimize.compress.quantize.statistics import observe
from mote.optimize.compress.quantize.types.precision import Precision, Scheme
from tests.helpers.float_nets import cases, graph
from tests.helpers.network import Net

CHAINS = [
    ["conv", "depthwise", "pointwise", "maximum", "conv"],
    ["depthwise", "average", "conv", "leaky", "padded"],
    ["conv", "conv relu6", "conv", "pointwise"],
]


def uneven(activation: str = "RELU") -> Graph:
    """A network whose channels are up to a hundred times as large as others."""
    net = Net(3, "float32")
    x = net.input(1, 8, 8, 4)
    x = net.conv(x, 8, 3, fused_activation_function=activation)
    x = net.depthwise(x, 1, 3, fused_activation_function=activation)
    x = net.conv(x, 8, 1, fused_activation_function=activation)
    found = normal(tflite.parse(net.finish(net.fully_connected(net.flat(x), 5)), "net"))
    changed = []
    for op in found.ops[:3]:
        w, b = op.input(found, 1), op.input(found, 2)
        assert w.data is not None and b.data is not None
        factors = np.geomspace(0.1, 10, 8).astype(np.float32)
        axis = 3 if op.kind.startswith("DEPTHWISE") else 0
        spread = factors.reshape([-1 if i == axis else 1 for i in range(4)])
        changed += [(w.id, w.data * spread), (b.id, b.data * factors)]
    data = dict(changed)
    return found.with_ops(found.ops, [replace(found.tensors[i], data=value) for i, value in data.items()])


def real_outputs(g: Graph, given: list[dict[int, Array]]) -> Array:
    t = g.outputs[0]
    tensors = g.tensors
    fed = [
        {
            i: value if (quant := tensors[i].quant) is None else in_steps(value, quant, tensors[i].dtype)
            for i, value in case.items()
        }
        for case in given
    ]
    return real_numbers(np.concatenate([batch[t] for batch in evaluate(g, fed, {t})]), tensors[t].quant)


@pytest.mark.parametrize("blocks", CHAINS, ids=" ".join)
def test_real_numbers_stay(blocks: list[str]) -> None:
    before = graph(blocks)
    given = cases(before)
    after = equalized(before, observe(before, given))
    assert pairs(before) and after.text() == before.text()
    assert np.allclose(real_outputs(after, given), real_outputs(before, given), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("precision", "gain"), [(Precision.INT8, 3.0), (Precision.INT4, 1.0)])
def test_uneven_channels_lose_less(precision: Precision, gain: float) -> None:
    before = uneven()
    given = cases(before, 32)
    after = equalized(before, observe(before, given), precision)
    exact = real_outputs(before, given)
    lost = [
        noise(exact, real_outputs(quantized(g, ranges(observe(g, given)), Scheme(precision)), given))
        for g in (before, after)
    ]
    assert lost[1] > lost[0] + gain


def test_channels_between_layers_become_alike() -> None:
    before = uneven()
    given = cases(before, 8)
    seen = observe(before, given)
    after = observe(equalized(before, seen), given)
    first = before.ops[0].outputs[0]
    spread = [s[first].channel_high.max() / s[first].channel_high.min() for s in (seen, after)]
    assert spread[0] > 20 and spread[1] < spread[0] / 8


def test_bounded_activations_are_left_alone() -> None:
    before = uneven("RELU6")
    given = cases(before, 8)
    after = equalized(before, observe(before, given))
    assert not pairs(before)
    assert all(after.tensors[i] is t for i, t in before.tensors.items())


def test_tensors_that_others_see_are_left_alone() -> None:
    net = Net(0, "float32")
    x = net.conv(net.input(1, 8, 8, 4), 4, 3)
    y = net.conv(x, 4, 3)
    g = normal(tflite.parse(net.finish(net.add(x, y), net.conv(y, 2, 1)), "net"))
    assert not pairs(g)
