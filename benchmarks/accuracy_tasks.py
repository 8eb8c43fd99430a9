"""Float networks with calibration data and test data, for `accuracy.py`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from sklearn.neural_network import MLPClassifier
from torch import nn
from torch.nn import functional

import train_digits
import train_keywords
from ds_cnn import Data
from mote import frontends
from mote.compiler.passes.folding import remove_dead_code
from mote.compiler.passes.normal_form import normal
from mote.frontends.data.dataset import dataset
from mote.frontends.tflite.export import export
from mote.ir.graph import Graph

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
CALIBRATION = 256
"""Samples of training data, drawn at random, that networks are quantized with."""
PHOTOS = 500
"""Photos that a network without labelled data is tried with."""


@dataclass(frozen=True, eq=False)
class Task:
    """A float network with one input and one output, and the data that it is quantized and tried with."""

    name: str
    graph: Graph
    """In normal form."""
    calibration: NDArray[np.float32]
    test: NDArray[np.float32]
    labels: NDArray[np.int64] | None = None

    @cached_property
    def model(self) -> bytes:
        """The network as a `.tflite` file."""
        return export(self.graph, self.name).data


def _normal(model: Any, **options: Any) -> Graph:
    """The network of a model of any front end that has the classes as its last output."""
    graph = frontends.load(model, **options)
    return normal(remove_dead_code.run(replace(graph, outputs=graph.outputs[-1:])))


def _few(samples: NDArray[np.float32], count: int = CALIBRATION) -> NDArray[np.float32]:
    return samples[np.random.default_rng(0).permutation(len(samples))[:count]]


@cache
def _digits() -> Data:
    return train_digits.load()


def _on_digits(name: str, graph: Graph) -> Task:
    data = _digits()
    shape = (-1, *graph.tensors[graph.inputs[0]].shape[1:])
    return Task(name, graph, _few(data.train_images).reshape(shape), data.test_images.reshape(shape), data.test_labels)


def digits() -> Task:
    return _on_digits("digits", _normal(ROOT / "models" / "digits_float.tflite"))


def keywords() -> Task:
    rng = np.random.default_rng(0)
    train, _ = train_keywords.words(train_keywords.TRAIN_WORDS, rng)
    test, labels = train_keywords.words(train_keywords.TEST_WORDS, rng)
    return Task("keywords", _normal(ROOT / "models" / "keywords_float.tflite"), _few(train), test, labels)


def pytorch() -> Task:
    """Batch norms, and a residual block."""
    return _on_digits("PyTorch", _normal(_trained(_Residual()), example_inputs=(torch.zeros(1, 1, 8, 8),)))


def onnx_model() -> Task:
    """Two convolutions, a pool and two fully connected layers, written as ONNX."""
    net = nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(12, 16, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64, 32),
        nn.ReLU(),
        nn.Linear(32, 10),
    )
    return _on_digits("ONNX", _normal(_as_onnx(_trained(net))))


def keras() -> Task:
    """Separable convolutions with activations of their own."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    import keras as k

    data = _digits()
    k.utils.set_random_seed(0)
    net = k.Sequential(
        [
            k.Input((8, 8, 1)),
            k.layers.Conv2D(12, 3, padding="same", activation="relu6"),
            k.layers.DepthwiseConv2D(3, strides=2, padding="same", activation="relu6"),
            k.layers.Conv2D(24, 1, activation="relu6"),
            k.layers.GlobalAveragePooling2D(),
            k.layers.Dense(10, activation="softmax"),
        ]
    )
    net.compile(optimizer=k.optimizers.Adam(0.01), loss="sparse_categorical_crossentropy")
    net.fit(data.train_images, data.train_labels, batch_size=64, epochs=25, verbose=0)
    return _on_digits("Keras", _normal(net))


def scikit_learn() -> Task:
    data = _digits()
    net = MLPClassifier((48, 24), random_state=0, max_iter=200)
    net.fit(data.train_images.reshape(-1, 64), data.train_labels)
    return _on_digits("scikit-learn", _normal(net))


def image_classification() -> Task | None:
    """MLPerf Tiny's ResNet-8, on CIFAR-10 as JPEG."""
    model, photos = SHARED / "models" / "pretrainedResnet.tflite", SHARED / "data" / "cifar10.zip"
    if not model.exists() or not photos.exists():
        return None
    train, test = dataset(f"{photos}/train"), dataset(f"{photos}/test")
    assert test.labels is not None
    return Task("IC", _normal(model), _few(_images(train)), _images(test), test.labels.astype(np.int64))


def visual_wake_words() -> Task | None:
    """MLPerf Tiny's MobileNet, on photos of CIFAR-10 at three times their size: no labels of its own classes."""
    model, photos = SHARED / "models" / "vww_96_float.tflite", SHARED / "data" / "cifar10.zip"
    if not model.exists() or not photos.exists():
        return None
    train, test = (_images(dataset(f"{photos}/{part}")) for part in ("train", "test"))
    large = [
        _few(part, count).repeat(3, 1).repeat(3, 2) / 255 for part, count in ((train, CALIBRATION), (test, PHOTOS))
    ]
    return Task("VWW", _normal(model), *large)


def _images(data: Any) -> NDArray[np.float32]:
    (found,) = data.inputs.values()
    return np.asarray(found, np.float32)


TASKS: Mapping[str, Callable[[], Task | None]] = {
    "digits": digits,
    "keywords": keywords,
    "pytorch": pytorch,
    "onnx": onnx_model,
    "keras": keras,
    "scikit-learn": scikit_learn,
    "ic": image_classification,
    "vww": visual_wake_words,
}


class _Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU())
        self.block = nn.Sequential(
            nn.Conv2d(16, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16),
        )
        self.classify = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        x = functional.relu(x + self.block(x))
        return self.classify(functional.avg_pool2d(x, 8).flatten(1))


def _trained(net: nn.Module) -> nn.Module:
    data = _digits()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    for layer in net.modules():
        if hasattr(layer, "reset_parameters"):
            layer.reset_parameters()
    images = torch.from_numpy(data.train_images).permute(0, 3, 1, 2)
    labels = torch.from_numpy(data.train_labels)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
    for _ in range(25):
        for chosen in torch.randperm(len(images)).split(64):
            loss = functional.cross_entropy(net(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return net.eval()


def _as_onnx(net: nn.Module) -> bytes:
    """The layers one after another, and a softmax."""
    nodes, constants, last = [], [], "x"
    for n, layer in enumerate(net.children()):
        inputs, attributes = [last], {}
        if isinstance(layer, nn.Conv2d | nn.Linear):
            for name in ("weight", "bias"):
                value = getattr(layer, name).detach().numpy()
                constants.append(numpy_helper.from_array(value, f"{name}{n}"))
                inputs.append(f"{name}{n}")
        if isinstance(layer, nn.Conv2d):
            kind, attributes = "Conv", {"kernel_shape": layer.kernel_size, "pads": [int(layer.padding[0])] * 4}
        elif isinstance(layer, nn.Linear):
            kind, attributes = "Gemm", {"transB": 1}
        elif isinstance(layer, nn.MaxPool2d):
            kind, attributes = "MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}
        else:
            kind = {nn.ReLU: "Relu", nn.Flatten: "Flatten"}[type(layer)]
        last = f"y{n}"
        nodes.append(helper.make_node(kind, inputs, [last], **attributes))
    nodes.append(helper.make_node("Softmax", [last], ["y"], axis=-1))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 1, 8, 8))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 10))
    graph = helper.make_graph(nodes, "net", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())
