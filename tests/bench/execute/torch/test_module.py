"""A graph of real numbers as a module of PyTorch computes what the graph does, and can be trained."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from mote.base.errors import MoteError
from mote.bench.execute.stimuli import stimuli
from mote.bench.execute.torch.module import GraphModule, score_tensor
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.ops.classical.distances_svm import Distances, Metric
from tests.frontends.torch.torch_networks import NETWORKS
from tests.frontends.torch.torch_operators import GROUPS
from tests.frontends.torch.torch_support import Calls, file_of, graph_of
from tests.helpers.modules import batch, check_close
from tests.helpers.network import Net
from tests.helpers.support import PUBLIC_MODELS
from tests.ir.ops.alone import alone

EACH = 5
"""`make test` has each fifth function of a group; `make test-frontends` has all."""
WITHOUT = {"integers"}
"""Groups of functions of integers, which nobody trains."""


def grown(seed: int, size: int, channels: int, kernel: int, stride: int, dilation: int) -> Graph:
    """A network with one of each of the usual layers."""
    net = Net(seed, "float32")
    x = net.input(1, size, size + 1, channels)
    a = net.conv(x, 4, kernel, stride=stride, dilation=1 if stride > 1 else dilation)
    a = net.depthwise(a, 2, kernel, dilation=dilation, fused_activation_function="RELU6")
    b = net.conv(a, 8, 1, fused_activation_function="RELU")
    a = net.add(a, b)
    a = net.transpose_conv(a, 3, kernel)
    a = net.concatenate(3, a, net.resize(b, *net.shapes[a][1:3]))
    a = net.pool(a, 2, "MAX_POOL_2D")
    a = net.pad(a, (0, 0), (1, 0), (0, 2), (0, 0))
    a = net.pool(a, 2, stride=1)
    a = net.fully_connected(net.mean(a), 5)
    return tflite.parse(net.finish(net.op("SOFTMAX", [a], beta=1.0)), "model")


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 9),
    size=st.integers(5, 9),
    channels=st.integers(1, 4),
    kernel=st.integers(1, 4),
    stride=st.integers(1, 3),
    dilation=st.integers(1, 2),
)
def test_networks_of_the_usual_layers(
    seed: int, size: int, channels: int, kernel: int, stride: int, dilation: int
) -> None:
    graph = grown(seed, size, channels, kernel, stride, dilation)
    check_close(GraphModule(graph), graph)


@pytest.mark.frontends
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_pytorch(name: str) -> None:
    module, inputs = NETWORKS[name]()
    graph = graph_of(file_of(module, *inputs))
    check_close(GraphModule(graph), graph)


@pytest.mark.parametrize(
    ("name", "each"),
    [("windows", EACH), ("matrices", EACH), *(pytest.param(n, 1, marks=pytest.mark.frontends) for n in GROUPS)],
)
def test_operators_of_pytorch(name: str, each: int) -> None:
    functions, shape = GROUPS[name]
    graph = graph_of(file_of(Calls(functions[::each]), torch.zeros(shape)))
    if name not in WITHOUT:
        check_close(GraphModule(graph), graph)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", Metric)
def test_distances(metric: Metric, weighted: bool) -> None:
    """One of them is zero, where its gradient is, too."""
    rng = np.random.default_rng(0)
    x, vectors = (rng.normal(size=shape).astype(np.float32) for shape in ((2, 3, 4), (5, 4)))
    constants = [vectors, np.abs(vectors)] if weighted else [vectors]
    graph = alone(Distances, [x, *constants], constant=len(constants), metric=metric)
    module = GraphModule(graph)
    check_close(module, graph)
    there = torch.from_numpy(np.stack([vectors[:3], vectors[2:]])[None]).requires_grad_()
    zero = module(there)[0, 0, 1, 1]
    zero.backward()
    assert zero == 0
    assert not there.grad.any()


@pytest.mark.parametrize("name", ["pretrainedResnet.tflite", "vww_96_float.tflite"])
def test_published_models(name: str) -> None:
    path = PUBLIC_MODELS / name
    if not path.exists():
        pytest.skip(f"{name} is not there")
    graph = tflite.parse(path.read_bytes(), name)
    check_close(GraphModule(graph), graph, 2)


def test_gradients_are_those_of_differences() -> None:
    """In double precision, of a weight of each layer."""
    graph = grown(1, 5, 2, 3, 1, 1)
    module = GraphModule(graph).double()
    (x,) = batch(graph, list(stimuli(graph, 2, 0)))
    factors = torch.linspace(-1, 1, 5, dtype=torch.float64)

    def loss() -> torch.Tensor:
        return (module(x.double()) * factors).sum()

    loss().backward()
    for parameter in module.parameters():
        place = int(parameter.grad.abs().argmax())
        ends = []
        for step in (-1e-6, 1e-6):
            with torch.no_grad():
                parameter.view(-1)[place] += step
                ends.append(float(loss()))
                parameter.view(-1)[place] -= step
        slope = (ends[1] - ends[0]) / 2e-6
        assert slope == pytest.approx(float(parameter.grad.view(-1)[place]), rel=1e-3, abs=1e-7)


def test_the_graph_comes_back_with_what_was_trained() -> None:
    graph = grown(0, 6, 2, 3, 1, 1)
    module = GraphModule(graph)
    assert module.graph().text() == graph.text()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.01
    check_close(module, module.graph())
    changed = [i for i, t in module.graph().tensors.items() if t.data is not None and t.dtype.real]
    assert changed and all(not np.array_equal(module.graph().tensors[i].data, graph.tensors[i].data) for i in changed)


def test_masked_weights_stay_zero() -> None:
    graph = grown(0, 6, 2, 3, 1, 1)
    module = GraphModule(graph)
    weights = graph.ops[0].inputs[1]
    mask = np.random.default_rng(0).integers(0, 2, graph.tensors[weights].shape)
    module.mask(weights, mask)
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    (x,) = batch(graph, list(stimuli(graph, 2, 0)))
    for _ in range(2):
        optimizer.zero_grad()
        torch.square(module(x)).sum().backward()
        optimizer.step()
    data = module.graph().tensors[weights].data
    assert data is not None and np.all(data[mask == 0] == 0) and np.any(data[mask == 1] != 0)
    assert not np.array_equal(data, graph.tensors[weights].data * mask)


def test_scores_are_what_softmax_is_given() -> None:
    graph = grown(0, 6, 2, 3, 1, 1)
    module = GraphModule(graph)
    (x,) = batch(graph, list(stimuli(graph, 2, 0)))
    assert module.confident() and graph.producers[score_tensor(graph)].kind == "FULLY_CONNECTED"
    assert torch.allclose(torch.softmax(module.scores(x), -1), module(x))


def test_what_cannot_be_trained_is_named() -> None:
    net = Net(0, "int8")
    quantized = tflite.parse(net.finish(net.conv(net.input(1, 4, 4, 2), 2)), "model")
    with pytest.raises(MoteError, match=r"is quantized(.|\n)*before it was quantized"):
        GraphModule(quantized)
    net = Net(0, "float32")
    x = net.input(1, 4, 4, 2)
    graph = tflite.parse(net.finish(net.op("LOCAL_RESPONSE_NORMALIZATION", [net.conv(x, 3)], radius=1)), "model")
    with pytest.raises(MoteError, match=r"layer 1 LOCAL_RESPONSE_NORMALIZATION.*cannot be trained"):
        GraphModule(graph)
    module = GraphModule(grown(0, 6, 2, 3, 1, 1))
    with pytest.raises(MoteError, match=r"has the shape \[2, 6, 6, 2\], it should be \[samples, 6, 7, 2\]"):
        module(torch.zeros(2, 6, 6, 2))


def test_batches_of_any_size_give_the_same() -> None:
    graph = grown(3, 6, 2, 3, 1, 1)
    module = GraphModule(graph)
    (x,) = batch(graph, list(stimuli(graph, 6, 0)))
    whole = module(x)
    for begin, end in pairwise((0, 1, 3, 6)):
        assert torch.allclose(module(x[begin:end]), whole[begin:end], atol=1e-6)
