"""Small networks as people define them in PyTorch, and what its exporters make of them."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor, nn
from torch.nn import functional


def block(inputs: int, outputs: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """A convolution with batch normalization and ReLU6."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU6(),
    )


class Inverted(nn.Module):
    """The block of MobileNetV2; with squeeze-and-excite and h-swish that of MobileNetV3."""

    def __init__(self, inputs: int, outputs: int, stride: int, squeezed: bool = False) -> None:
        super().__init__()
        inner = 4 * inputs
        self.expand = block(inputs, inner, 1)
        self.depthwise = block(inner, inner, 3, stride, inner)
        self.excite = Excite(inner) if squeezed else nn.Identity()
        self.project = nn.Sequential(nn.Conv2d(inner, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.act = nn.Hardswish() if squeezed else nn.Identity()
        self.shortcut = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y = self.project(self.excite(self.depthwise(self.act(self.expand(x)))))
        return x + y if self.shortcut else y


class Excite(nn.Module):
    """Channels weighed by what they are on average."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down = nn.Conv2d(channels, channels // 4, 1)
        self.up = nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        mean = functional.adaptive_avg_pool2d(x, 1)
        return x * functional.hardsigmoid(self.up(torch.relu(self.down(mean))))


def mobilenet_v2() -> nn.Module:
    layers = [block(3, 8, 3, 2), Inverted(8, 8, 1), Inverted(8, 12, 2), Inverted(12, 12, 1), block(12, 24, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(), nn.Linear(24, 5))


def mobilenet_v3() -> nn.Module:
    layers = [block(3, 8, 3, 2), Inverted(8, 8, 1, True), Inverted(8, 12, 2, True), nn.Hardswish()]
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 16), nn.Hardswish(), nn.Linear(16, 5)
    )


def ds_cnn() -> nn.Module:
    """Keywords from a spectrogram."""
    layers = [nn.Conv2d(1, 8, (10, 4), (2, 2), (5, 1)), nn.BatchNorm2d(8), nn.ReLU()]
    for _ in range(2):
        layers += [nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.BatchNorm2d(8), nn.ReLU()]
        layers += [nn.Conv2d(8, 8, 1), nn.BatchNorm2d(8), nn.ReLU()]
    return nn.Sequential(*layers, nn.AvgPool2d((5, 2)), nn.Flatten(), nn.Linear(8 * 2 * 2, 4), nn.Softmax(-1))


def cnn_1d() -> nn.Module:
    """Samples of an accelerometer."""
    layers = [nn.Conv1d(3, 8, 5, 2, 2), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(8, 8, 3, padding=2, dilation=2), nn.ELU()]
    return nn.Sequential(*layers, nn.Conv1d(8, 12, 3), nn.GELU(), nn.Flatten(), nn.Linear(12 * 6, 3), nn.LogSoftmax(1))


class UNet(nn.Module):
    """Down, up again, and what was passed on the way."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = block(1, 4), block(4, 8), block(8, 4)
        self.up = nn.ConvTranspose2d(8, 4, 2, 2)
        self.out = nn.Conv2d(4, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        first = self.first(x)
        second = self.second(functional.max_pool2d(first, 2))
        merged = self.last(torch.cat([self.up(second), first], 1))
        wide = functional.interpolate(self.out(merged), scale_factor=2.0, mode="bilinear", align_corners=False)
        return torch.sigmoid(wide)


class Yolo(nn.Module):
    """Boxes and classes on two grids, as one list."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.deep, self.lateral = block(3, 8, 3, 2), block(8, 8, 3, 2), block(16, 8, 1)
        self.heads = nn.ModuleList(nn.Conv2d(8, 2 * 7, 1) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        near = self.stem(x)
        far = self.deep(near)
        near = self.lateral(torch.cat([near, functional.interpolate(far, scale_factor=2.0)], 1))
        found = []
        for head, feature, stride in zip(self.heads, (near, far), (2, 4), strict=True):
            y = head(feature)
            n, _, height, width = y.shape
            y = y.view(n, 2, 7, height, width).permute(0, 1, 3, 4, 2).contiguous()
            rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
            grid = torch.stack((columns, rows), 2).view(1, 1, height, width, 2).float()
            place = (y[..., 0:2].sigmoid() * 2 - 0.5 + grid) * stride
            size = (y[..., 2:4].sigmoid() * 2) ** 2 * 8
            found.append(torch.cat((place, size, y[..., 4:].sigmoid()), -1).view(n, -1, 7))
        return torch.cat(found, 1)


class Encoder(nn.Module):
    """A transformer's encoder as it is in the papers: attention written out, layer normalization, GELU."""

    def __init__(self, width: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.embed = nn.Linear(6, width)
        self.place = nn.Parameter(torch.randn(1, 8, width))
        self.qkv, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.grow, self.shrink = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.out = nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x) + self.place
        n, t, c = x.shape
        q, k, v = self.qkv(self.norms[0](x)).view(n, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5, -1)
        x = x + self.join((weights @ v).transpose(1, 2).reshape(n, t, c))
        x = x + self.shrink(functional.gelu(self.grow(self.norms[1](x))))
        return self.out(x.mean(1))


class Shuffle(nn.Module):
    """A unit of ShuffleNet: half of the channels passes by, then they are mixed."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = block(3, 8, 3, 2)
        self.branch = nn.Sequential(
            block(4, 4, 1), nn.Conv2d(4, 4, 3, 1, 1, groups=4), nn.BatchNorm2d(4), block(4, 4, 1)
        )
        self.grouped = nn.Conv2d(8, 8, 3, 1, 1, groups=2)
        self.out = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for _ in range(2):
            left, right = x.chunk(2, 1)
            x = torch.cat((left, self.branch(right)), 1)
            n, c, height, width = x.shape
            x = x.view(n, 2, c // 2, height, width).transpose(1, 2).reshape(n, c, height, width)
        return self.out(self.grouped(x).mean((2, 3)))


class Recurrent(nn.Module):
    """A recurrent layer, of which the last step is judged."""

    def __init__(self, layer: nn.Module, width: int) -> None:
        super().__init__()
        self.layer, self.out = layer, nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.layer(x)[0][:, -1])


class Words(nn.Module):
    """Words of a sentence, by their numbers, which see those before them."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.layer = nn.MultiheadAttention(8, 2, batch_first=True)
        self.out = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = self.embed(x)
        mask = torch.triu(torch.full((x.shape[1], x.shape[1]), float("-inf")), 1)
        return self.out(self.layer(y, y, y, attn_mask=mask, need_weights=False)[0].mean(1))


class Norms(nn.Module):
    """Normalizations and activations that others have."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, padding_mode="reflect")
        self.layers = nn.Sequential(
            nn.GroupNorm(2, 8), nn.SiLU(), nn.InstanceNorm2d(8, affine=True), nn.Mish(), nn.PReLU(8), nn.Softplus(),
            nn.PixelShuffle(2), nn.LeakyReLU(0.2), nn.Hardtanh(-2.0, 2.0), nn.LocalResponseNorm(3), nn.CELU(1.5),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        y = self.layers(self.conv(x))
        y = torch.where(y > 0.1, y, y.amax((2, 3), keepdim=True))
        return functional.normalize(y.flatten(1), dim=1).argmax(1), y[:, :, 1::2, -3:].clamp(min=0.0)


NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "mobilenet_v2": (mobilenet_v2, (1, 3, 24, 24)),
    "mobilenet_v3": (mobilenet_v3, (1, 3, 24, 24)),
    "ds_cnn": (ds_cnn, (1, 1, 20, 10)),
    "cnn_1d": (cnn_1d, (1, 3, 32)),
    "u_net": (UNet, (1, 1, 16, 16)),
    "yolo": (Yolo, (1, 3, 16, 16)),
    "encoder": (Encoder, (1, 8, 6)),
    "shuffle": (Shuffle, (1, 3, 16, 16)),
    "norms": (Norms, (1, 3, 6, 6)),
    "words": (Words, (1, 6)),
    "lstm": (lambda: Recurrent(nn.LSTM(4, 6, batch_first=True), 6), (1, 5, 4)),
    "gru": (lambda: Recurrent(nn.GRU(4, 6, batch_first=True), 6), (1, 5, 4)),
    "rnn": (lambda: Recurrent(nn.RNN(4, 6, batch_first=True, bidirectional=True), 12), (1, 5, 4)),
}
"""By name, with the shape of the input."""


def trained(name: str) -> tuple[nn.Module, Tensor]:
    """A network whose normalizations have seen something, and an input for it."""
    make, shape = NETWORKS[name]
    torch.manual_seed(1)
    network = make()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.uniform_(-0.5, 0.5)
            module.running_var.uniform_(0.5, 1.5)
    return network.eval(), torch.zeros(shape, dtype=torch.long) if name == "words" else torch.randn(shape)


def exported(name: str, *, dynamo: bool = False, dynamic: bool = False, opset: int | None = None) -> bytes:
    """The ONNX file that PyTorch makes of a network, with the older exporter or the newer one."""
    network, x = trained(name)
    file = io.BytesIO()
    options = {"dynamic_axes": {"x": {0: "batch"}}} if dynamic else {}
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        torch.onnx.export(network, (x,), file, dynamo=dynamo, opset_version=opset, input_names=["x"], **options)
    return file.getvalue()
