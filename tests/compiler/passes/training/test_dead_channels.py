"""Channels without weights get room for a bias that learns, and the layer's outputs stay what they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from mote.compiler.passes.training.dead_channels import with_room
from mote.compiler.passes.training.integer_backward import integer_training_graph
from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array
from mote.ir.ops.common import BIAS, MOST_LEARNED_BITS, WEIGHTS
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from tests.compiler.passes.before_after import unchanged
from tests.compiler.passes.training.test_channels import first
from tests.compiler.passes.training.test_integer_backward import (
    CLASSIFIER,
    SGD,
    constants,
    network,
    samples,
    steps,
    watched,
)
from tests.frontends.features.postprocess.scored import in_c, streamed

HUGE = (1 << MOST_LEARNED_BITS) + 128
"""What converters give a dead channel: a scale at which its bias is just about as large as int32 allows."""
DEAD = 1
"""The channel that is made a dead one."""
LAYERS = (Conv2D, DepthwiseConv2D)


def with_dead(graph: Graph, kind: type[Op], real: float, bias: int = HUGE) -> Graph:
    """The first layer of a kind with a channel whose weights are all zero, with that bias for some real number of
    output codes."""
    op = first(graph, kind)
    x, w, b, y = op.input(graph), op.input(graph, WEIGHTS), op.input(graph, BIAS), op.output(graph)
    assert w.quant is not None and w.data is not None and b.data is not None
    weights, scale, biases = np.moveaxis(w.data.copy(), w.quant.axis, 0), w.quant.scale.copy(), b.data.copy()
    weights[DEAD], biases[DEAD], scale[DEAD] = 0, bias, real * y.scale / x.scale / abs(bias)
    dead = replace(w, data=np.moveaxis(weights, 0, w.quant.axis), quant=replace(w.quant, scale=scale))
    return graph.with_ops(graph.ops, [dead, replace(b, data=biases)])


def scales(graph: Graph, kind: type[Op]) -> Array:
    quant = first(graph, kind).input(graph, WEIGHTS).quant
    assert quant is not None
    return quant.scale


def bias_of(graph: Graph, kind: type[Op]) -> Array:
    data = first(graph, kind).input(graph, BIAS).data
    assert data is not None
    return data


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("real, sign", [(3.3, 1), (20.6, -1), (0.05, 1)])
def test_dead_channels_have_room_and_the_same_output(kind: type[Op], real: float, sign: int) -> None:
    before = with_dead(network(), kind, real, sign * HUGE)
    after = with_room(before, constants(before, BIAS))
    unchanged(before, after)
    others = np.delete(scales(before, kind), DEAD)
    np.testing.assert_array_equal(np.delete(scales(after, kind), DEAD), others)
    assert scales(after, kind)[DEAD] == np.float32(np.median(others))
    assert 0 < sign * bias_of(after, kind)[DEAD] < 1 << 20


def test_channels_with_room_stay_as_they_are() -> None:
    """Also dead ones."""
    before = with_dead(network(), Conv2D, 3.3, 1000)
    after = with_room(before, constants(before, BIAS))
    assert all(after.tensors[i] is t for i, t in before.tensors.items())


def test_layers_that_do_not_learn_stay_as_they_are() -> None:
    before = with_dead(network(), Conv2D, 3.3)
    last = [op for op in before.ops if isinstance(op, FullyConnected)][-1]
    assert with_room(before, last.inputs[WEIGHTS:]).tensors == before.tensors


def test_an_output_that_would_be_another_one_is_kept() -> None:
    """The bias is a hair below half a code, as no bias of the new scale is."""
    before = with_dead(network(), Conv2D, 2.49999)
    coarse = np.float32(2.0 ** np.ceil(np.log2(scales(before, Conv2D).max() * 64)))
    op = first(before, Conv2D)
    w = op.input(before, WEIGHTS)
    assert w.quant is not None
    wide = np.where(np.arange(w.quant.scale.size) == DEAD, w.quant.scale, coarse).astype(np.float32)
    before = before.with_ops(before.ops, [replace(w, quant=replace(w.quant, scale=wide))])
    after = with_room(before, constants(before, BIAS))
    unchanged(before, after)
    np.testing.assert_array_equal(scales(after, Conv2D), wide)
    assert bias_of(after, Conv2D)[DEAD] == HUGE


def test_a_dead_channel_learns() -> None:
    """And C learns the bits of the reference."""
    graph = with_dead(with_dead(network(), Conv2D, 3.3), DepthwiseConv2D, 20.6, -HUGE)
    training = integer_training_graph(graph, constants(graph, BIAS), CLASSIFIER.loss, SGD, samples(graph, 5))
    program, given = watched(training), steps(training, samples(graph, 8))
    wanted = streamed(program, given)
    for want, got in zip(wanted, in_c(program, given, "host"), strict=True):
        for t, x, y in zip(program.outputs, want, got, strict=True):
            np.testing.assert_array_equal(y, x, err_msg=str(program.tensors[t]))
    bias = first(graph, Conv2D).inputs[BIAS]
    at = program.outputs.index(next(s.after for s in program.states if s.before == bias))
    assert len({int(values[at][DEAD]) for values in wanted}) > 2


def test_a_huge_bias_beside_weights_is_refused() -> None:
    graph = network()
    b = first(graph, Conv2D).input(graph, BIAS)
    assert b.data is not None
    graph = graph.with_ops(graph.ops, [replace(b, data=np.where(np.arange(b.size) == DEAD, HUGE, b.data))])
    training = integer_training_graph(graph, constants(graph, BIAS), CLASSIFIER.loss, SGD, samples(graph, 5))
    problem = first(training, Conv2D).unsupported(training)
    assert problem is not None and "cannot learn" in problem
