"""A model of every front end becomes integers, with data as the model itself takes it."""

from __future__ import annotations

import io

import numpy as np
import pytest

from mote import quantize
from mote.frontends import tflite
from mote.ir.graph.types import DType
from mote.optimize.compress.quantize.post_training import Quantized
from tests.helpers.float_nets import check_litert
from tests.helpers.support import needs_litert

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(3)


class Pictures(torch.nn.Module):
    """Convolutions with batch norms, an attention of channels, and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)
        self.second = torch.nn.Conv2d(8, 8, 3, stride=2, groups=8)
        self.gate = torch.nn.Linear(8, 8)
        self.last = torch.nn.Linear(8, 4)

    def forward(self, x):  # type: ignore[no-untyped-def]
        x = torch.nn.functional.hardtanh(self.norm(self.first(x)), 0.0, 6.0)
        x = torch.nn.functional.leaky_relu(self.second(x), 0.1)
        x = x * torch.sigmoid(self.gate(x.mean((2, 3))))[:, :, None, None]
        return self.last(x.amax((2, 3)))


def checked(found: Quantized, data: np.ndarray, least: float) -> None:
    """LiteRT computes the file, the last layer has so many decibels, and everything is integers."""
    assert not [x for x in found.layers if x.reason]
    noise = [x.noise for x in found.layers if x.noise is not None]
    assert noise[-1] > least
    graph = tflite.parse(found.data, "made")
    assert {op.output(graph).dtype for op in graph.ops} <= {DType.INT8, DType.INT32}


@needs_litert
def test_a_module_of_pytorch() -> None:
    net = Pictures().eval()
    data = RNG.normal(size=(40, 3, 12, 10)).astype(np.float32)
    found = quantize.post_training(net, data, example_inputs=(torch.zeros(1, 3, 12, 10),))
    checked(found, data, 20)
    assert any("1x3x12x10 in the model and 1x12x10x3 in the file" in note for note in found.notes)
    assert not found.warnings
    check_litert(found.graph, [{found.graph.inputs[0]: data[:1].transpose(0, 2, 3, 1).copy()}])


@needs_litert
def test_a_file_of_onnx() -> None:
    onnx = pytest.importorskip("onnx")
    data = RNG.normal(size=(40, 6)).astype(np.float32)
    first, second = RNG.normal(size=(16, 6)).astype(np.float32), RNG.normal(size=(16, 3)).astype(np.float32)
    helper = onnx.helper
    nodes = [
        helper.make_node("Gemm", ["x", "a", "b"], ["h"], transB=1),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "c"], ["y"]),
    ]
    constants = [
        onnx.numpy_helper.from_array(value, name)
        for name, value in (("a", first), ("b", RNG.normal(size=16).astype(np.float32)), ("c", second))
    ]
    edges = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1, k]) for n, k in (("x", 6), ("y", 3))]
    graph = helper.make_graph(nodes, "net", edges[:1], edges[1:], constants)
    file = io.BytesIO()
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), file)
    found = quantize.post_training(file.getvalue(), {"x": data})
    checked(found, data, 25)
    assert [t.name for t in found.inputs] == ["x"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_network_of_scikit_learn() -> None:
    data = RNG.normal(size=(60, 5)).astype(np.float32)
    networks = pytest.importorskip("sklearn.neural_network")
    net = networks.MLPClassifier((12,), max_iter=20, random_state=0).fit(data, (data.sum(axis=1) > 0).astype(int))
    found = quantize.post_training(net, data, io="float32")
    assert [x.precision for x in found.layers if x.op == "FULLY_CONNECTED"] == ["int8", "int8"]
    graph = tflite.parse(found.data, "made")
    classes = graph.outputs[0]
    got = [
        graph.evaluate({graph.inputs[0]: row.reshape(graph.tensors[graph.inputs[0]].shape)})[classes] for row in data
    ]
    assert np.mean(np.array(got).reshape(len(data), -1)[:, 0] == net.predict(data)) > 0.9


@pytest.mark.frontends
@needs_litert
def test_a_model_of_keras() -> None:
    keras = pytest.importorskip("keras")
    layers = keras.layers
    keras.utils.set_random_seed(0)
    net = keras.Sequential(
        [
            layers.Input((10, 8, 2)),
            layers.Conv2D(6, 3, activation="relu"),
            layers.DepthwiseConv2D(3, padding="same"),
            layers.BatchNormalization(),
            layers.ReLU(6.0),
            layers.GlobalAveragePooling2D(),
            layers.Dense(4, activation="softmax"),
        ]
    )
    data = RNG.normal(size=(40, 10, 8, 2)).astype(np.float32)
    checked(quantize.post_training(net, data), data, 20)
