"""Scales of data in the weights of networks, and networks whose maps are single pixels."""

from __future__ import annotations

import numpy as np
import pytest

from mote.bench.evaluation.score import outputs
from mote.frontends import load
from mote.frontends.tflite.export import export
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.optimize.nas.folding import folded, takes_scale, with_outputs
from mote.optimize.nas.graphs import float_graph, integer_graph, random_weights
from mote.optimize.nas.spaces.layers import (
    INPUT,
    ConvLayer,
    DenseLayer,
    GruLayer,
    LastLayer,
    MeanLayer,
    NetworkLayer,
    Shape,
)
from mote.optimize.nas.spaces.network import Network

CONV = (ConvLayer("conv", (INPUT,), filters=4, stride=(2, 2)), MeanLayer("mean", ("conv",)))
GRU = (GruLayer("gru", (INPUT,), units=3), LastLayer("last", ("gru",)))


def network(shape: Shape, *layers: NetworkLayer) -> Network:
    source = layers[-1].name if layers else INPUT
    return Network(shape, (*layers, DenseLayer("out", (source,), units=2)), classes=False)


def answers(graph: Graph, samples: Array) -> Array:
    (entry,) = graph.inputs
    return outputs(graph, [{entry: sample.reshape(graph.tensors[entry].shape)} for sample in samples])[0]


NETWORKS = {"conv": network((5, 6, 2), *CONV), "dense": network((7,)), "gru": network((4, 1, 3), *GRU)}


@pytest.mark.parametrize("name", NETWORKS)
def test_scale(name: str) -> None:
    """Padding and biases included, a model of data as it is answers as one of scaled data."""
    made = NETWORKS[name]
    weights = random_weights(made)
    samples = np.random.default_rng(0).normal(size=(3, *made.input)).astype(np.float32)
    assert takes_scale(made)
    scaled = answers(float_graph(made, weights), samples)
    whole = answers(float_graph(made, folded(made, weights, 64.0)), samples * 64)
    assert np.array_equal(whole, scaled)


def test_outputs() -> None:
    made = NETWORKS["conv"]
    weights = random_weights(made)
    samples = np.random.default_rng(0).normal(size=(3, *made.input)).astype(np.float32)
    deviation, mean = np.array([10.0, 0.5]), np.array([100.0, -1.0])
    standard = answers(float_graph(made, weights), samples)
    real = answers(float_graph(made, with_outputs(made, weights, deviation, mean)), samples)
    assert np.allclose(real, standard * deviation + mean, rtol=1e-5)


def test_means_of_single_pixels_are_written() -> None:
    """They reduce nothing, which no file can say."""
    made = network((2, 2, 3), *CONV)
    for graph in (float_graph(made, random_weights(made)), integer_graph(made)):
        again = load(export(graph, "model").data)
        samples = (
            np.random.default_rng(0).integers(-9, 9, (3, 2, 2, 3)).astype(graph.tensors[graph.inputs[0]].dtype.numpy)
        )
        assert np.array_equal(answers(again, samples), answers(graph, samples))
