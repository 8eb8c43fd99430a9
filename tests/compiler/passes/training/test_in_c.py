"""Steps of training in C: the curve of the NumPy reference, on a host and on emulated cores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

pytest.importorskip("torch")

from mote.compiler.passes.training.backward import training_graph
from mote.compiler.passes.training.labelled import label_values, labelled
from mote.compiler.passes.training.loss import Loss
from mote.compiler.passes.training.optimizers import Adam, Optimizer, Sgd
from mote.ir.graph import Graph
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from tests.compiler.passes.training.test_backward import cases, constants, network
from tests.frontends.features.postprocess.scored import in_c, streamed
from tests.helpers.support import emulated

CURVE = 3e-6
"""How far losses and outputs may be from the reference's: it adds up in double precision, and kernels in single."""


def runs(model: Graph, learned: Sequence[int], loss: Loss, optimizer: Optimizer, target: str, count: int) -> None:
    """So many steps, with one inference among them that has no label: losses and outputs are the reference's."""
    graph = training_graph(model, learned, loss, optimizer)
    program = labelled(graph)
    given = [
        {**x, **label_values(graph, right)} for x, right in cases(model, loss is Loss.SOFTMAX_CROSS_ENTROPY, count)
    ]
    label = program.inputs[-1]
    given.insert(2, {**given[0], label: np.full(program.tensors[label].shape, -1, np.int32)})
    wanted, made = streamed(program, given), in_c(program, given, target)
    agree(wanted, made)
    assert wanted[1][-1] == wanted[2][-1] and wanted[-1][-1] < wanted[0][-1]


def agree(wanted: Sequence[Sequence[Array]], made: Sequence[Sequence[Array]], bound: float = CURVE) -> None:
    for x, y in zip(wanted, made, strict=True):
        for a, b in zip(x, y, strict=True):
            np.testing.assert_allclose(b, a, rtol=bound, atol=bound * float(np.abs(a).max()))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("target", ["host", "cortex-m4"])
def test_all_layers_learn(target: str) -> None:
    model, optimizer = network(), Sgd(learning_rate=0.02, momentum=0.9, weight_decay=1e-3)
    on = target if target == "host" else emulated(target)
    runs(model, constants(model), Loss.SOFTMAX_CROSS_ENTROPY, optimizer, on, 8)


@pytest.mark.slow
def test_adam_learns_targets() -> None:
    """From the mean of two gradients."""
    model = network(softmax=False)
    optimizer = Adam(learning_rate=0.01, weight_decay=0.01, accumulate=2)
    runs(model, constants(model), Loss.MEAN_SQUARED_ERROR, optimizer, "host", 8)


@pytest.mark.slow
def test_weights_without_biases_learn() -> None:
    model = network()
    biases = {op.inputs[2] for op in model.ops if op.macs(model) and len(op.inputs) > 2}
    ops = [op.with_(inputs=tuple(ABSENT if i in biases else i for i in op.inputs)) for op in model.ops]
    unbiased = model.with_ops(ops)
    weights = [i for i in constants(model) if i not in biases]
    runs(unbiased, weights, Loss.SOFTMAX_CROSS_ENTROPY, Sgd(learning_rate=0.05), "host", 4)


@pytest.mark.slow
def test_biases_learn_beside_constant_weights() -> None:
    model = network()
    biases = [i for i in constants(model) if len(model.tensors[i].shape) == 1]
    runs(model, biases, Loss.SOFTMAX_CROSS_ENTROPY, Sgd(learning_rate=0.1), "host", 4)
