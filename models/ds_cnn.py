"""A small depthwise-separable CNN: trained with PyTorch, quantized by `quantize`, judged by LiteRT.

The two bundled models differ only in their data and in the numbers of `Shape`; what they share is here.
PyTorch and LiteRT are needed to train them again, not to use them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from reference_quantizer import (
    Array,
    Net,
    activation_quantization,
    fold_batch_norm,
    quantize_array,
    to_float32,
    to_int8,
)

_BATCH = 64
_CALIBRATION_SAMPLES = 256
_BUNDLED_SAMPLES = 16


@dataclass(frozen=True)
class Shape:
    """A first convolution, then blocks of (channels, stride), each a depthwise 3x3 and a 1x1 convolution."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    channels: int
    blocks: tuple[tuple[int, int], ...]
    classes: int


@dataclass(frozen=True)
class Data:
    """Images [n, height, width, 1] and their labels; what is tested is never trained or calibrated on."""

    train_images: NDArray[np.float32]
    train_labels: NDArray[np.int64]
    test_images: NDArray[np.float32]
    test_labels: NDArray[np.int64]


class _Conv(nn.Module):
    """Convolution with TensorFlow's SAME padding, batch normalization, ReLU."""

    def __init__(self, inputs: int, outputs: int, kernel: tuple[int, int], stride: tuple[int, int], groups: int = 1):
        super().__init__()
        self.kernel, self.stride = kernel, stride
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pads: list[int] = []
        for size, kernel, stride in zip(x.shape[2:], self.kernel, self.stride, strict=True):
            total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
            pads = [total // 2, total - total // 2, *pads]
        return functional.relu(self.norm(self.conv(functional.pad(x, pads))))

    def folded(self) -> tuple[Array, Array]:
        """Weights and bias in TFLite's order of axes, with the batch normalization folded in."""
        weights = self.conv.weight.detach().double().numpy()
        depthwise = self.conv.groups > 1
        weights = weights.transpose(1, 2, 3, 0) if depthwise else weights.transpose(0, 2, 3, 1)
        norm = self.norm
        tensors = (norm.running_mean, norm.running_var, norm.weight, norm.bias)
        statistics = [t.detach().double().numpy() for t in tensors if t is not None]
        return fold_batch_norm(weights, 3 if depthwise else 0, *statistics, epsilon=norm.eps)


class DsCnn(nn.Module):
    """The network as trained."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        convs = [_Conv(1, shape.channels, shape.kernel, shape.stride)]
        channels = shape.channels
        for outputs, stride in shape.blocks:
            convs.append(_Conv(channels, channels, (3, 3), (stride, stride), groups=channels))
            convs.append(_Conv(channels, outputs, (1, 1), (1, 1)))
            channels = outputs
        self.convs = nn.ModuleList(convs)
        self.classify = nn.Linear(channels, shape.classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for conv in self.convs:
            x = conv(x)
        return self.classify(functional.dropout(x.mean((2, 3)), 0.1, self.training))


def train(shape: Shape, data: Data, epochs: int, shift: tuple[int, int], noise: float) -> DsCnn:
    """Trains with a fixed seed. Each image is moved by up to `shift` pixels and gets `noise` added."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    model = DsCnn(shape)
    images = torch.from_numpy(data.train_images).permute(0, 3, 1, 2).contiguous()
    labels = torch.from_numpy(data.train_labels)
    steps = -(-len(images) // _BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, epochs * steps)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for chosen in torch.randperm(len(images)).split(_BATCH):
            loss = functional.cross_entropy(
                model(_moved(images[chosen], shift, noise)), labels[chosen], label_smoothing=0.05
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(chosen)
        print(f"epoch {epoch + 1}/{epochs}: loss {total / len(images):.4f}")
    return model.eval()


def to_net(name: str, model: DsCnn, calibration: NDArray[np.float32], pool_with_mean: bool) -> Net:
    """The trained network with its batch normalizations folded, on its calibration images.

    `pool_with_mean`: one MEAN at the end, as newer converters write it, or AVERAGE_POOL_2D and RESHAPE.
    """
    net = Net(name, calibration.astype(np.float64))
    x = 0
    for conv in model.convs:
        assert isinstance(conv, _Conv)
        add = net.depthwise if conv.conv.groups > 1 else net.conv
        x = add(x, *conv.folded(), conv.stride, "SAME", "RELU")
    _, height, width, channels = net.values[x].shape
    if pool_with_mean:
        pooled = net.mean(x, [1, 2])
    else:
        pooled = net.reshape(net.average_pool(x, (height, width)), (-1, channels))
    weights = model.classify.weight.detach().double().numpy()
    net.softmax(net.fully_connected(pooled, weights, model.classify.bias.detach().double().numpy()))
    return net


def run(model: bytes, images: NDArray[np.int8]) -> NDArray[np.int8]:
    """What LiteRT's reference kernels answer to each image."""
    interpreter = Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    source, result = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]
    answers = []
    for image in images:
        interpreter.set_tensor(source, image[None])
        interpreter.invoke()
        answers.append(interpreter.get_tensor(result)[0])
    return np.array(answers)


def bundle(path: Path, model: DsCnn, data: Data, names: list[str], pool_with_mean: bool) -> None:
    """Quantizes, prints the accuracies before and after, writes the model, as it was trained too, and a few test
    samples."""
    net = to_net(path.stem, model, data.train_images[:_CALIBRATION_SAMPLES], pool_with_mean)
    quantized = to_int8(net)
    images = quantize_array(data.test_images.astype(np.float64), *activation_quantization(*net.input_range))
    answers = run(quantized, images)
    with torch.no_grad():
        exact = model(torch.from_numpy(data.test_images).permute(0, 3, 1, 2)).argmax(1).numpy()
    path.write_bytes(quantized)
    path.with_name(f"{path.stem}_float.tflite").write_bytes(to_float32(net))
    few = slice(_BUNDLED_SAMPLES)
    np.savez_compressed(
        path.with_name(f"{path.stem}_samples.npz"),
        inputs=images[few],
        labels=data.test_labels[few].astype(np.int8),
        outputs=answers[few],
        names=np.array(names),
    )
    print(f"{path.name}: {len(quantized)} bytes, {len(images)} test images")
    print(f"accuracy: float {np.mean(exact == data.test_labels):.2%}", end=", ")
    print(f"int8 {np.mean(answers.argmax(1) == data.test_labels):.2%}")


def _moved(images: torch.Tensor, shift: tuple[int, int], noise: float) -> torch.Tensor:
    """Copies of the images, each moved a little over zeros, with noise."""
    rows, columns = shift
    height, width = images.shape[2:]
    wide = functional.pad(images, (columns, columns, rows, rows))
    moved = torch.empty_like(images)
    for i in range(len(images)):
        top = int(torch.randint(0, 2 * rows + 1, ()))
        left = int(torch.randint(0, 2 * columns + 1, ()))
        moved[i] = wide[i, :, top : top + height, left : left + width]
    return moved + noise * torch.randn_like(moved)
