"""The scale and the bias of layer and RMS norms learn: as in PyTorch, and in C."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from mote.compiler.passes.training.choice import chosen
from mote.compiler.passes.training.labelled import label_values
from mote.compiler.passes.training.spec import ChosenLayers, parsed
from mote.compiler.passes.training.trained import by_gradients
from mote.ir.graph import Graph
from mote.ir.graph.types import StateRole
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.reductions.layer_norm import BIAS, SCALE, RootMeanSquare, Standardize
from tests.compiler.passes.training.in_torch import Trained, empty, random, steps_of, torch
from tests.compiler.passes.training.test_integer_backward import watched
from tests.frontends.features.postprocess.scored import in_c, streamed

RATE = 0.05


def model(kind: type[Standardize]) -> Graph:
    """Normalized vectors, and a layer behind them."""
    rng, t = np.random.default_rng(0), empty()
    x = t.tensor("x", (1, 4, 8))
    constants = [t.tensor(name, shape, data=random(rng, *shape)) for name, shape in (("scale", (8,)), ("bias", (8,)))]
    y = t.one(kind, [x, *constants], "norm", epsilon=1e-3)
    weights = [t.tensor(name, shape, data=random(rng, *shape)) for name, shape in (("w", (3, 8)), ("b", (3,)))]
    output = t.one(FullyConnected, [y, *weights], "dense", keep_dims=True)
    ops = tuple(replace(op, index=n) for n, op in enumerate(t.ops))
    return Graph("model", t.tensors, ops, (x,), (output,)).verify()


@pytest.mark.parametrize("kind", [Standardize, RootMeanSquare])
@pytest.mark.parametrize("item", ["biases", "0", "0[bias]"])
def test_what_a_normalization_has_learns(kind: type[Standardize], item: str) -> None:
    graph, rng = model(kind), np.random.default_rng(1)
    spec = parsed(f"{item}:rate={RATE},loss=mean_squared_error")
    assert isinstance(spec, ChosenLayers)
    learned = chosen(graph, spec.items).constants
    norm = graph.ops[0].inputs
    assert norm[BIAS] in learned and (norm[SCALE] in learned) == (item != "0[bias]")
    training = by_gradients(graph, learned, spec, None)
    assert sum(s.role is StateRole.LEARNED for s in training.states) == len(learned)
    cases = [({graph.inputs[0]: random(rng, 1, 4, 8)}, random(rng, 1, 4, 3)) for _ in range(3)]
    losses, states = steps_of(training, cases)
    judged = Trained(graph, learned, "mean_squared_error", lambda weights: torch.optim.SGD(weights, lr=RATE))
    assert losses == pytest.approx([judged.step(*case) for case in cases], rel=1e-4)
    for i in learned:
        np.testing.assert_allclose(states[i], judged.weights[i].detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [Standardize, RootMeanSquare])
def test_c_learns_as_the_reference(kind: type[Standardize]) -> None:
    graph, rng = model(kind), np.random.default_rng(1)
    spec = parsed(f"biases:rate={RATE},loss=mean_squared_error")
    assert isinstance(spec, ChosenLayers)
    training = by_gradients(graph, chosen(graph, spec.items).constants, spec, None)
    program = watched(training)
    given = [{graph.inputs[0]: random(rng, 1, 4, 8), **label_values(training, random(rng, 1, 4, 3))} for _ in range(3)]
    for wanted, got in zip(streamed(program, given), in_c(program, given), strict=True):
        for x, y in zip(wanted, got, strict=True):
            np.testing.assert_allclose(y, x, rtol=1e-4, atol=1e-5)
