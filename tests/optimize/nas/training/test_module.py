"""Modules of networks compute, in evaluation, what the graph of the network does with the exported weights."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from mote.base.errors import MoteError
from mote.bench.execute.torch.module import GraphModule
from mote.optimize.nas.graphs.floats import float_graph
from mote.optimize.nas.spaces.layers import ConvLayer
from mote.optimize.nas.spaces.network import Network
from mote.optimize.nas.training.module import NetworkModule
from tests.optimize.nas.training import networks

NETWORKS = {
    "picture": networks.picture_network(),
    "even kernels": networks.picture_network(kernel=4, depth=2),
    "gated": networks.gated_network(),
    "branched": networks.branched_network(),
    "branched, dilated": networks.branched_network(dilation=2),
    "branched, causal": networks.branched_network("causal"),
    "branched, valid": networks.branched_network("valid"),
    "recurrent": networks.sequence_network("gru"),
    "attention": networks.sequence_network("attention"),
    "table": networks.table_network(),
}


def samples(network: Network, count: int = 6) -> torch.Tensor:
    return torch.randn(count, *network.input, generator=torch.Generator().manual_seed(1))


def disturbed(module: NetworkModule) -> NetworkModule:
    """The module with other normalization than at its beginning."""
    random = torch.Generator().manual_seed(2)
    for tensor in [*module.parameters(), *module.buffers()]:
        if tensor.dim() == 1:
            tensor.data += torch.rand(tensor.shape, generator=random)
    return module.eval()


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_a_module_computes_what_the_graph_with_its_weights_does(network: Network) -> None:
    module, x = disturbed(NetworkModule(network, seed=3)), samples(network)
    weights = module.weights()
    for layer in network.layers:
        shapes = {name: array.shape for name, array in weights.get(layer.name, {}).items()}
        assert shapes == layer.parameters(*network.given(layer))
    graph = GraphModule(float_graph(network, weights)).eval()
    with torch.no_grad():
        assert torch.allclose(graph.scores(x).flatten(1), module(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_every_weight_is_trained(network: Network) -> None:
    module = NetworkModule(network).train()
    torch.autograd.backward(module(samples(network)).square().sum())
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in module.parameters())


def test_initial_weights_depend_on_the_seed_and_the_name_of_the_layer_only() -> None:
    small, large = networks.picture_network(depth=1), networks.picture_network(depth=2)
    one, other, third = (
        NetworkModule(small).weights(),
        NetworkModule(large).weights(),
        NetworkModule(small, 1).weights(),
    )
    for name, constants in one.items():
        assert np.array_equal(constants["weights"], other[name]["weights"])
        assert not np.array_equal(constants["weights"], third[name]["weights"])


def test_training_can_go_on_from_a_state() -> None:
    network = networks.branched_network()
    trained = disturbed(NetworkModule(network))
    again = NetworkModule(network, seed=1).load_state(trained.state()).eval()
    assert torch.equal(trained(samples(network)), again(samples(network)))


def test_predictions_are_those_of_evaluation() -> None:
    network = networks.picture_network()
    module = NetworkModule(network).train()
    x = samples(network, 4)
    values = module.predict(x.numpy())
    assert module.training
    assert np.array_equal(values, module.eval()(x).detach().numpy())


def test_mistakes_are_named() -> None:
    with pytest.raises(MoteError, match="conv: an identity from 3 to 4 channels"):
        NetworkModule(Network((4, 4, 3), (ConvLayer("conv", ("input",), filters=4, branches=(0,)),)))
    with pytest.raises(MoteError, match=r"shape \[2, 4, 4, 1\], it should be \[samples, 8, 8, 1\]"):
        NetworkModule(networks.picture_network())(torch.zeros(2, 4, 4, 1))
