"""Quantization-aware training of networks gives files that keep the accuracy of the float network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

from mote.bench.evaluation.score import score
from mote.frontends import load
from mote.frontends.data.dataset import dataset
from mote.optimize.nas.graphs import integer_graph
from mote.optimize.nas.spaces.space_file import builtin
from mote.optimize.nas.training.fit import Examples, NetworkRecipe, evaluate, train_network
from mote.optimize.nas.training.module import NetworkModule
from mote.optimize.nas.training.quantized import QuantizedRecipe, quantize_aware
from tests.helpers.digits import digits
from tests.optimize.nas.training import networks


@pytest.fixture(scope="module")
def data() -> tuple[Examples, Examples]:
    learned, tested = digits()
    assert learned.labels is not None and tested.labels is not None
    return Examples(learned.images, learned.labels), Examples(tested.images[:100], tested.labels[:100])


@pytest.fixture(scope="module")
def trained(data: tuple[Examples, Examples]) -> NetworkModule:
    module = NetworkModule(networks.picture_network(kernel=3, width=4))
    train_network(module, data[0], NetworkRecipe(epochs=2, batch=64, rate=0.2))
    return module


def test_an_int8_file_keeps_the_accuracy(trained: NetworkModule, data: tuple[Examples, Examples]) -> None:
    recipe, losses = QuantizedRecipe(epochs=2, batch=64, augment="noise=0.01", calibration=64), []
    quantized = quantize_aware(
        trained.network,
        trained.weights(),
        data[0][:256],
        recipe,
        name="digits",
        labels=[f"digit {i}" for i in range(10)],
        teacher=trained,
        progress=lambda *epoch: losses.append(epoch),
    )
    assert [epoch[:2] for epoch in losses] == [(1, 2), (2, 2)]
    graph = load(quantized.source)
    assert graph.name == "digits" and graph.tensors[graph.inputs[0]].dtype == "int8"
    result = score(quantized.source, dataset((data[1].inputs, data[1].labels)))
    assert result.value > evaluate(trained, data[1]) - 0.05


def test_precisions_of_layers_are_those_of_the_network(trained: NetworkModule, data: tuple[Examples, Examples]) -> None:
    network = replace(trained.network, precisions={"down": "int4", "b0.depthwise": "int16"})
    quantized = quantize_aware(network, trained.weights(), data[0][:64], QuantizedRecipe(epochs=1, calibration=16))
    assert {layer.precision for layer in quantized.layers} == {"int8", "int4", "int16"}


def test_values_of_a_regression_are_trained(data: tuple[Examples, Examples]) -> None:
    network = replace(networks.table_network(), classes=False)
    inputs = np.random.default_rng(0).standard_normal((128, 5)).astype(np.float32)
    linear = Examples(inputs, inputs[:, :2])
    module = NetworkModule(network)
    recipe = QuantizedRecipe(epochs=3, batch=16, rate=0.02, distill=False)
    losses: list[float] = []
    quantized = quantize_aware(
        network, module.weights(), linear, recipe, progress=lambda *epoch: losses.append(epoch[2])
    )
    assert losses[-1] < losses[0]
    assert quantized.outputs[0].shape == (1, 2)


def test_without_epochs_it_is_quantized_after_training(trained: NetworkModule, data: tuple[Examples, Examples]) -> None:
    recipe = QuantizedRecipe(epochs=0, calibration=32)
    one, other = (quantize_aware(trained.network, trained.weights(), data[0][:64], recipe).data for _ in range(2))
    assert one == other


@pytest.mark.parametrize("name", ["gru", "transformer"])
def test_layers_of_several_operators_become_integers(name: str) -> None:
    """They are a loop, or a norm, of as many operators as those that the network is priced with, however many rows."""
    space = builtin(name)
    network = space.network(space.smallest(), (130, 1, 2), 3)
    rng = np.random.default_rng(0)
    data = Examples(rng.normal(size=(6, 130, 1, 2)).astype(np.float32), np.arange(6) % 3)
    made = quantize_aware(network, NetworkModule(network).weights(), data, QuantizedRecipe(epochs=1, calibration=2))
    kinds = [op.kind for op in load(made.data).ops]
    assert kinds == [op.kind for op in integer_graph(network).ops]
    assert not any(tensor.dtype == "float32" for tensor in made.graph.tensors.values())
