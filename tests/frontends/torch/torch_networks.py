"""Networks as people define them in PyTorch, small."""

from __future__ import annotations

from collections.abc import Callable

import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch.nn import functional


class Residual(nn.Module):
    """The inverted residual block of MobileNetV2."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = inputs * expansion
        first = [nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(inplace=True)]
        self.adds = stride == 1 and inputs == outputs
        self.layers = nn.Sequential(
            *(first if expansion > 1 else []),
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False),
            nn.BatchNorm2d(wide),
            nn.ReLU6(inplace=True),
            nn.Conv2d(wide, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.layers(x) if self.adds else self.layers(x)


class MobileNetV2(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU6(inplace=True),
            Residual(8, 8, 1, 1),
            Residual(8, 12, 2, 3),
            Residual(12, 12, 1, 3),
            nn.Conv2d(12, 24, 1, bias=False),
            nn.BatchNorm2d(24),
            nn.ReLU6(inplace=True),
        )
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(24, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(functional.adaptive_avg_pool2d(self.features(x), 1).flatten(1))


class Excited(nn.Module):
    """Squeeze and excite, as MobileNetV3 has it."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.less, self.more = nn.Conv2d(channels, channels // 4, 1), nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * functional.hardsigmoid(self.more(functional.relu(self.less(functional.adaptive_avg_pool2d(x, 1)))))


class MobileNetV3(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False),
            nn.BatchNorm2d(8),
            nn.Hardswish(inplace=True),
            nn.Conv2d(8, 8, 5, 1, 2, groups=8, bias=False),
            nn.BatchNorm2d(8),
            nn.Hardswish(inplace=True),
            Excited(8),
            nn.Conv2d(8, 16, 1),
        )
        self.head = nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(functional.hardswish(self.features(x).mean((2, 3))))


class KeywordSpotter(nn.Module):
    """The DS-CNN."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 8, (10, 4), (2, 2), (5, 1)),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            *(layer for _ in range(2) for layer in self.separable()),
            nn.AvgPool2d((13, 5)),
            nn.Flatten(),
            nn.Linear(8, 12),
        )

    def separable(self) -> list[nn.Module]:
        deep = [nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.BatchNorm2d(8), nn.ReLU()]
        return [*deep, nn.Conv2d(8, 8, 1), nn.BatchNorm2d(8), nn.ReLU()]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x).softmax(-1)


class Sequence1d(nn.Module):
    """A one-dimensional CNN."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(3, 8, 5, 2, 2),
            nn.BatchNorm1d(8),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(8, 16, 3, padding="same", dilation=2),
            nn.LeakyReLU(0.1),
            nn.AdaptiveAvgPool1d(4),
        )
        self.head = nn.Linear(64, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(x).flatten(1))


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.middle = self.block(1, 4), self.block(4, 8), self.block(8, 12)
        self.up = nn.ConvTranspose2d(12, 8, 2, 2)
        self.third, self.fourth = self.block(16, 8), self.block(12, 4)
        self.out = nn.Conv2d(4, 2, 1)

    def block(self, inputs: int, outputs: int) -> nn.Module:
        first = [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]
        return nn.Sequential(*first, nn.Conv2d(outputs, outputs, 3, padding=1), nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.first(x)
        second = self.second(functional.max_pool2d(first, 2))
        middle = self.middle(functional.max_pool2d(second, 2))
        x = self.third(torch.cat([self.up(middle), second], 1))
        x = functional.interpolate(x, scale_factor=2, mode="bilinear")
        return self.out(self.fourth(torch.cat([x, first], 1)))


class Detector(nn.Module):
    """A head as YOLO has it: boxes from a grid and anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.SiLU())
        self.head = nn.Conv2d(16, 3 * 7, 1)
        grid = torch.meshgrid(torch.arange(6.0), torch.arange(6.0), indexing="xy")
        self.register_buffer("grid", torch.stack(grid, -1)[None, None])
        self.register_buffer("anchors", torch.tensor([1.0, 2.0, 3.0, 2.0, 2.0, 4.0]).reshape(1, 3, 1, 1, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.head(self.backbone(x))
        n, _, height, width = y.shape
        y = y.view(n, 3, 7, height, width).permute(0, 1, 3, 4, 2)
        places = (y[..., :2].sigmoid() * 2 - 0.5 + self.grid) * 4
        sizes = (y[..., 2:4].sigmoid() * 2) ** 2 * self.anchors
        return torch.cat([places, sizes, y[..., 4:].sigmoid()], -1).view(n, -1, 7)


class Encoder(nn.Module):
    """A transformer encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(6, 16)
        self.position = nn.Parameter(torch.randn(1, 10, 16))
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu", norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.embed(x) + self.position).mean(1))


class Words(nn.Module):
    """Tokens with an embedding, and attention that looks back only."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 20)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        x = self.norm(x + self.attention(x, x, x, attn_mask=mask, is_causal=True, need_weights=False)[0])
        return self.head(x[:, -1]).argmax(-1)


class Smoothing(nn.Module):
    """A buffer that every inference changes, and one that counts."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("past", torch.zeros(1, 4))
        self.register_buffer("window", torch.zeros(1, 3, 4))
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        self.past.mul_(0.9).add_(self.layer(x), alpha=0.1)
        self.window[:, :-1] = self.window[:, 1:].clone()
        self.window[:, -1] = self.past
        return {"smooth": self.past.clone(), "mean": self.window.mean(1)}


class Remembering(nn.Module):
    """An LSTM in both directions over a sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.LSTM(6, 8, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(x)[0][:, -1])


class Streaming(nn.Module):
    """A GRU that goes on from one inference to the next."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.GRU(6, 8, batch_first=True)
        self.head = nn.Linear(8, 4)
        self.register_buffer("state", torch.zeros(1, 1, 8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        outputs, state = self.layer(x, self.state)
        self.state.copy_(state)
        return self.head(outputs).softmax(-1)


def trained(module: nn.Module) -> nn.Module:
    """The module with statistics in its normalizations, as training leaves them."""
    random = torch.Generator().manual_seed(1)
    for part in module.modules():
        if isinstance(part, nn.BatchNorm1d | nn.BatchNorm2d):
            part.running_mean.copy_(torch.randn(part.num_features, generator=random) * 0.2)
            part.running_var.copy_(torch.rand(part.num_features, generator=random) + 0.5)
    return module.eval()


Made = tuple[nn.Module, tuple[torch.Tensor, ...]]


def _images(module: Callable[[], nn.Module], *shape: int) -> Callable[[], Made]:
    def make() -> Made:
        torch.manual_seed(0)
        return trained(module()), (torch.randn(shape),)

    return make


def _words() -> Made:
    torch.manual_seed(0)
    return Words().eval(), (torch.zeros(1, 7, dtype=torch.int64),)


NETWORKS: dict[str, Callable[[], Made]] = {
    "mobilenet_v2": _images(MobileNetV2, 1, 3, 24, 24),
    "mobilenet_v3": _images(MobileNetV3, 1, 3, 16, 16),
    "ds_cnn": _images(KeywordSpotter, 1, 1, 25, 10),
    "cnn_1d": _images(Sequence1d, 1, 3, 64),
    "u_net": _images(UNet, 1, 1, 16, 16),
    "yolo_head": _images(Detector, 1, 3, 24, 24),
    "encoder": _images(Encoder, 1, 10, 6),
    "words": _words,
    "lstm": _images(Remembering, 1, 10, 6),
    "gru": _images(Streaming, 1, 3, 6),
    "smoothing": _images(Smoothing, 1, 4),
}
