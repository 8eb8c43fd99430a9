"""Functions of PyTorch that Mote compiles, in groups with the shapes of their inputs."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

torch = pytest.importorskip("torch")

from torch import nn
from torch.nn import functional as f

Tensor = torch.Tensor
Function = Callable[..., Tensor]


@cache
def weights(*shape: int) -> Tensor:
    """Numbers that are always the same."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape) + len(shape)))


SHAPE = (1, 4, 6, 8)

FUNCTIONS: list[Function] = [
    torch.abs,
    torch.neg,
    torch.exp,
    lambda x: torch.log(x.abs() + 0.1),
    lambda x: torch.log2(x.abs() + 0.1),
    lambda x: torch.log10(x.abs() + 0.1),
    lambda x: torch.log1p(x.abs()),
    torch.expm1,
    lambda x: torch.sqrt(x.abs()),
    lambda x: torch.rsqrt(x.abs() + 0.1),
    lambda x: torch.reciprocal(x.abs() + 0.5),
    torch.sin,
    torch.cos,
    lambda x: torch.tan(x / 2),
    torch.sinh,
    torch.cosh,
    lambda x: torch.asin(torch.tanh(x) * 0.9),
    lambda x: torch.acos(torch.tanh(x) * 0.9),
    torch.atan,
    torch.asinh,
    lambda x: torch.acosh(x.abs() + 1.1),
    lambda x: torch.atanh(torch.tanh(x) * 0.9),
    torch.erf,
    torch.erfc,
    torch.floor,
    torch.ceil,
    torch.round,
    torch.trunc,
    torch.frac,
    torch.sign,
    torch.square,
    lambda x: x**3,
    lambda x: (x.abs() + 0.1) ** 1.5,
    lambda x: 2.0**x,
    lambda x: torch.logit(torch.sigmoid(x)),
    lambda x: torch.isnan(x),
    lambda x: torch.isinf(x),
    lambda x: torch.nan_to_num(x),
]
ACTIVATIONS: list[Function] = [
    torch.sigmoid,
    torch.tanh,
    f.relu,
    f.relu6,
    f.gelu,
    lambda x: f.gelu(x, approximate="tanh"),
    f.silu,
    f.mish,
    f.hardswish,
    f.hardsigmoid,
    f.hardtanh,
    f.elu,
    lambda x: f.elu(x, 0.5),
    f.selu,
    lambda x: f.celu(x, 0.7),
    f.leaky_relu,
    f.softplus,
    lambda x: f.softplus(x, beta=2),
    f.softsign,
    f.logsigmoid,
    f.tanhshrink,
    lambda x: f.hardshrink(x, 0.5),
    f.softshrink,
    lambda x: f.threshold(x, 0.1, 0.3),
    lambda x: f.glu(x, 1),
    lambda x: f.prelu(x, weights(4).abs()),
    lambda x: f.prelu(x, weights(1).abs()),
    lambda x: f.softmax(x, 1),
    lambda x: f.softmax(x, -1),
    lambda x: f.log_softmax(x, 1),
    lambda x: f.softmin(x, 1),
    lambda x: f.rrelu(x),
    lambda x: f.dropout(x, 0.5, False),
]
PAIRS: list[Function] = [
    lambda x: x + 1,
    lambda x: 1 - x,
    lambda x: x * x.mean(),
    lambda x: x / (x.abs() + 1),
    lambda x: torch.add(x, x, alpha=0.5),
    lambda x: torch.maximum(x, x.flip(2)),
    lambda x: torch.minimum(x, x * 2),
    lambda x: torch.remainder(x, 0.7),
    lambda x: torch.fmod(x, 0.7),
    lambda x: torch.floor_divide(x, 0.3),
    lambda x: torch.div(x, 0.3, rounding_mode="trunc"),
    lambda x: torch.atan2(x, x + 0.3),
    lambda x: torch.hypot(x, x + 1),
    lambda x: (x > 0.1).float(),
    lambda x: x >= x.flip(1),
    lambda x: x < 0.5,
    lambda x: x <= x.flip(2),
    lambda x: x == x.floor(),
    lambda x: x != x.flip(3),
    lambda x: torch.where(x > 0, x, -1.0),
    lambda x: x.clamp(-0.5, 0.5),
    lambda x: x.clamp(min=-0.2),
    lambda x: torch.clamp(x, x * 0 - 0.1, x * 0 + 0.3),
    lambda x: x.masked_fill(x > 0.5, 0.0),
    lambda x: torch.logical_and(x > 0, x < 1),
    lambda x: torch.logical_or(x > 0, x < -1),
    lambda x: torch.logical_xor(x > 0, x < 1),
    lambda x: ~(x > 0),
    lambda x: (x > 0) | (x < -1),
    lambda x: (x > 0) & (x < 1),
    lambda x: (x > 0) ^ (x < 1),
    lambda x: torch.lerp(x, x * 2, 0.3),
    lambda x: torch.addcmul(x, x, x, value=0.1),
    lambda x: torch.addcdiv(x, x, x.abs() + 1),
    lambda x: torch.heaviside(x, torch.tensor(0.5)),
]
INTEGERS: list[Function] = [
    lambda x: (x * 10).int() + 3,
    lambda x: (x * 10).long() * 2 - 1,
    lambda x: (x * 10).int() // 3,
    lambda x: torch.div((x * 10).int(), 3, rounding_mode="trunc"),
    lambda x: (x * 10).int() % 3,
    lambda x: torch.fmod((x * 10).int(), 3),
    lambda x: (x * 8).int().clamp(0, 3),
    lambda x: (x * 8).int() & 5,
    lambda x: (x * 8).int() | 5,
    lambda x: (x * 8).int() ^ 5,
    lambda x: ~(x * 8).int(),
    lambda x: (x * 8).int() << 2,
    lambda x: (x * 8).int() >> 1,
    lambda x: (x * 8).int() == 3,
    lambda x: (x * 8).int() < x.int(),
    lambda x: (x * 8).int() / 3,
    lambda x: (x * 5).int().sum(1),
    lambda x: (x * 3).long().float(),
    lambda x: (x * 3).int() ** 2,
    lambda x: (x * 9).int().abs(),
    lambda x: (x > 0).int().cumsum(2),
]
REDUCTIONS: list[Function] = [
    lambda x: x.mean(),
    lambda x: x.mean(1),
    lambda x: x.mean((2, 3), keepdim=True),
    lambda x: x.sum(),
    lambda x: x.sum(1),
    lambda x: x.prod(3),
    lambda x: x.prod(),
    lambda x: x.amax((2, 3)),
    lambda x: x.amin(1),
    lambda x: x.max(),
    lambda x: x.min(),
    lambda x: x.max(1)[0],
    lambda x: x.max(1)[1],
    lambda x: x.min(2).values,
    lambda x: x.min(2).indices,
    lambda x: x.argmax(1),
    lambda x: x.argmin(-1),
    lambda x: x.argmax(),
    lambda x: x.std(1),
    lambda x: x.var((2, 3), unbiased=False),
    lambda x: torch.std_mean(x, 1)[1],
    lambda x: torch.std_mean(x, 1)[0],
    lambda x: torch.logsumexp(x, 1),
    lambda x: x.norm(dim=1),
    lambda x: x.norm(p=1, dim=1),
    lambda x: x.norm(p=3, dim=1),
    lambda x: x.norm(p=float("inf"), dim=1),
    lambda x: f.normalize(x, dim=1),
    lambda x: (x > 0).any(1),
    lambda x: (x > 0).any(),
    lambda x: (x > -2).all(),
    lambda x: (x > 0).all(1),
    lambda x: x.cumsum(2),
    lambda x: torch.topk(x, 3, dim=3)[0],
    lambda x: torch.topk(x, 3, dim=1)[1],
    lambda x: torch.topk(x, 2, dim=2, largest=False)[0],
    lambda x: torch.sort(x, dim=3)[0],
    lambda x: torch.sort(x, dim=2, descending=True)[1],
    lambda x: torch.sort(x, dim=2, stable=True)[0],
    lambda x: x.argsort(-1),
    lambda x: x.median(-1)[0],
    lambda x: torch.diff(x, dim=2),
    lambda x: f.cosine_similarity(x, x + 1, dim=1),
]


def _written(x: Tensor) -> Tensor:
    y = x.clone()
    y[:, 1] = 0.0
    y[:, :, 2:4] = x[:, :, :2]
    y[:, :, ::2] *= 2
    return y


def _written_by_index(x: Tensor) -> Tensor:
    y = x.clone()
    y[:, [0, 2]] = 1.0
    y[:, :, torch.tensor([1, 3]), torch.tensor([2, 4])] = 7.0
    return y


MOVES: list[Function] = [
    lambda x: x.permute(0, 2, 3, 1) * 2,
    lambda x: x.transpose(1, 3) * 2,
    lambda x: x.reshape(1, -1) + 0.5,
    lambda x: x.flatten(2).transpose(1, 2) * 2,
    lambda x: torch.cat([x, x * 2], 1),
    lambda x: torch.cat([x, x * 2], 3),
    lambda x: torch.stack([x, x * 2], 2),
    lambda x: x.chunk(2, 1)[1] * 2,
    lambda x: x.split([1, 3], 1)[1] * 2,
    lambda x: x[:, 1:3, ::2] * 2,
    lambda x: x[:, 1] * 2,
    lambda x: x[..., -1] * 2,
    lambda x: x.index_select(1, torch.tensor([2, 0])),
    lambda x: x[:, [3, 1]],
    lambda x: x[:, :, [0, 1], [2, 3]],
    lambda x: x[:, [0, 1], :, [2, 3]],
    lambda x: torch.gather(x, 3, torch.tensor([[[[0, 2]]]]).expand(1, 4, 6, 2)),
    lambda x: torch.gather(x, 3, x.argmax(3, keepdim=True)),
    lambda x: x[0, 0][x[0, 0].argmax(0)],
    lambda x: x.roll(1, 1),
    lambda x: x.roll((1, -2), (2, 3)),
    lambda x: x.roll(5),
    lambda x: x.flip(1, 3),
    lambda x: x.repeat(1, 2, 1, 1),
    lambda x: x.repeat_interleave(2, 1),
    lambda x: x.tile((2, 1)),
    lambda x: x[:, :1].expand(1, 4, 6, 8) * 2,
    lambda x: x.unfold(3, 3, 2) * 2,
    lambda x: f.unfold(x, 3, padding=1, stride=2),
    lambda x: f.pad(x, (1, 2, 3, 0)),
    lambda x: f.pad(x, (1, 2, 3, 0), value=1.5),
    lambda x: f.pad(x, (1, 2, 1, 1), mode="reflect"),
    lambda x: f.pad(x[0], (2, 1), mode="reflect"),
    lambda x: f.pad(x, (1, 2, 1, 1), mode="replicate"),
    lambda x: f.pad(x[0], (1, 2), mode="replicate"),
    lambda x: f.pad(x, (1, 2, 1, 1), mode="circular"),
    lambda x: f.pad(x, (-1, -1)),
    lambda x: f.pixel_shuffle(x, 2),
    lambda x: f.pixel_unshuffle(x, 2),
    lambda x: f.channel_shuffle(x, 2),
    lambda x: torch.diagonal(x, 1, 2, 3) * 2,
    lambda x: x.unbind(1)[2] * 2,
    lambda x: torch.tril(x),
    lambda x: torch.triu(x, 1),
    lambda x: x.squeeze(0).unsqueeze(1) * 2,
    lambda x: x.movedim(1, 3) * 2,
    lambda x: torch.rot90(x, 1, (2, 3)),
    lambda x: torch.narrow(x, 2, 1, 3) * 2,
    _written,
    _written_by_index,
    lambda x: x.scatter(1, torch.zeros(1, 1, 6, 8, dtype=torch.long), 5.0),
    lambda x: x.scatter(3, torch.tensor([[[[1, 0]]]]).expand(1, 4, 6, 2), x),
    lambda x: torch.index_fill(x, 1, torch.tensor([1]), 2.0),
    lambda x: x.new_zeros(1, 4, 6, 8) + x,
    lambda x: torch.arange(8.0) * x,
    lambda x: torch.full_like(x, 2) * x,
]
WINDOWS: list[Function] = [
    lambda x: f.conv2d(x, weights(6, 4, 3, 3), padding="same"),
    lambda x: f.conv2d(x, weights(6, 4, 2, 2), weights(6), padding="same"),
    lambda x: f.conv2d(x, weights(6, 4, 3, 3), weights(6), dilation=2, padding=2),
    lambda x: f.conv2d(x, weights(8, 1, 3, 3), groups=4, stride=2),
    lambda x: f.conv2d(x, weights(6, 2, 3, 3), groups=2),
    lambda x: f.conv2d(x[0], weights(6, 4, 3, 3)),
    lambda x: f.conv1d(x[:, :, 0], weights(6, 4, 3), stride=2, padding=1),
    lambda x: f.conv3d(x[:, None], weights(2, 1, 2, 3, 3), padding=1),
    lambda x: f.conv_transpose2d(x, weights(4, 6, 3, 3), weights(6), stride=2, padding=1, output_padding=1),
    lambda x: f.conv_transpose2d(x, weights(4, 2, 2, 2), stride=2, groups=2),
    lambda x: f.conv_transpose1d(x[:, :, 0], weights(4, 3, 4), stride=2),
    lambda x: f.conv_transpose3d(x[:, None], weights(1, 2, 2, 2, 2), stride=2),
    lambda x: f.max_pool2d(x, 2),
    lambda x: f.max_pool2d(x, 3, 2, 1),
    lambda x: f.max_pool2d(x, 3, 2, ceil_mode=True),
    lambda x: f.max_pool2d(x, 2, 1, dilation=2),
    lambda x: f.max_pool1d(x[:, :, 0], 2),
    lambda x: f.max_pool3d(x[:, None], 2),
    lambda x: f.avg_pool2d(x, 2),
    lambda x: f.avg_pool2d(x, 3, 2, 1),
    lambda x: f.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    lambda x: f.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
    lambda x: f.avg_pool1d(x[:, :, 0], 3, 1, 1),
    lambda x: f.avg_pool3d(x[:, None], 2),
    lambda x: f.adaptive_avg_pool2d(x, 1),
    lambda x: f.adaptive_avg_pool2d(x, (3, 4)),
    lambda x: f.adaptive_avg_pool2d(x, (4, 5)),
    lambda x: f.adaptive_avg_pool3d(x[:, None], (2, 3, 4)),
    lambda x: f.adaptive_max_pool2d(x, (2, 3)),
    lambda x: f.adaptive_max_pool3d(x[:, None], 1),
    lambda x: f.adaptive_avg_pool1d(x[:, :, 0], 3),
    lambda x: f.adaptive_max_pool1d(x[:, :, 0], 1),
    lambda x: f.lp_pool2d(x, 2, 2),
]
SIZES: list[Function] = [
    lambda x: f.interpolate(x, scale_factor=2),
    lambda x: f.interpolate(x, size=(9, 13)),
    lambda x: f.interpolate(x[:, :, 0], scale_factor=2),
    lambda x: f.interpolate(x[:, None], scale_factor=2),
    lambda x: f.interpolate(x, scale_factor=1.5, mode="nearest-exact"),
    lambda x: f.interpolate(x[:, :, 0], scale_factor=1.5, mode="nearest-exact"),
    lambda x: f.interpolate(x, scale_factor=2, mode="bilinear"),
    lambda x: f.interpolate(x, size=(9, 13), mode="bilinear", align_corners=True),
    lambda x: f.interpolate(x, size=(3, 5), mode="bilinear"),
    lambda x: f.interpolate(x, size=(3, 5), mode="bilinear", antialias=True),
    lambda x: f.interpolate(x, scale_factor=2, mode="bicubic"),
    lambda x: f.interpolate(x[:, :, 0], scale_factor=2, mode="linear"),
    lambda x: f.interpolate(x[:, None], scale_factor=2, mode="trilinear"),
    lambda x: f.interpolate(x, size=(3, 5), mode="area"),
    *(
        lambda x, mode=mode, outside=outside, corners=corners: f.grid_sample(
            x, torch.tanh(weights(1, 5, 3, 2)) * 1.2, mode, outside, align_corners=corners
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for outside in ("zeros", "border", "reflection")
        for corners in (False, True)
    ),
    lambda x: f.grid_sample(x, torch.tanh(x.reshape(1, 8, 12, 2)), align_corners=False),
    lambda x: f.grid_sample(x[:, None], torch.tanh(weights(1, 5, 3, 2, 3)), align_corners=False),
]
NORMS: list[Function] = [
    lambda x: f.batch_norm(x, weights(4), weights(4).abs() + 0.5, weights(4), weights(4)),
    lambda x: f.batch_norm(x, weights(4), weights(4).abs() + 0.5),
    lambda x: f.instance_norm(x, weight=weights(4), bias=weights(4)),
    lambda x: f.instance_norm(x, weights(4), weights(4).abs() + 0.5, use_input_stats=False),
    lambda x: f.group_norm(x, 2, weights(4), weights(4)),
    lambda x: f.layer_norm(x, (8,), weights(8), weights(8)),
    lambda x: f.layer_norm(x, (6, 8)),
    lambda x: f.rms_norm(x, (8,), weights(8)),
    lambda x: f.layer_norm(x.permute(0, 2, 3, 1), (4,), weights(4), weights(4)).permute(0, 3, 1, 2) * 2,
    lambda x: f.local_response_norm(x, 3),
]
MATRICES: list[Function] = [
    lambda x: f.linear(x, weights(3, 8), weights(3)),
    lambda x: f.linear(x, x[0]),
    lambda x: x @ weights(8, 3),
    lambda x: x @ x.transpose(1, 2),
    lambda x: torch.bmm(x, x.transpose(1, 2)),
    lambda x: torch.mm(x[0], weights(8, 3)),
    lambda x: torch.addmm(weights(3), x[0], weights(8, 3)),
    lambda x: torch.baddbmm(weights(1, 5, 5), x, x.transpose(1, 2), beta=0.5),
    lambda x: torch.mv(x[0], weights(8)),
    lambda x: torch.dot(x[0, 0], weights(8)),
    lambda x: torch.matmul(weights(3, 5), x),
    lambda x: torch.outer(x[0, 0], x[0, 1]),
    lambda x: torch.einsum("bij,bkj->bik", x, x),
    lambda x: torch.einsum("bij,jk->bki", x, weights(8, 3)),
    lambda x: torch.cdist(x, x * 0.5 + 1),
    lambda x: torch.cdist(x, weights(7, 8)[None], compute_mode="donot_use_mm_for_euclid_dist"),
    lambda x: torch.cdist(x[0], weights(7, 8), p=1.0),
    *(lambda x, p=p: torch.cdist(x[0], x[0] * 0.5 + 1, p=p) for p in (0.0, 1.0, 3.0, float("inf"))),
    lambda x: f.embedding(x.argmax(2), weights(8, 3)),
    lambda x: f.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None]),
    lambda x: f.scaled_dot_product_attention(heads(x), heads(x), heads(x), is_causal=True),
    lambda x: f.scaled_dot_product_attention(heads(x), heads(x), heads(x), attn_mask=weights(5, 5)),
    lambda x: f.scaled_dot_product_attention(heads(x), heads(x), heads(x), attn_mask=weights(5, 5) > -1),
    lambda x: f.scaled_dot_product_attention(heads(x), heads(x)[:, :1], heads(x)[:, :1], enable_gqa=True, scale=0.3),
]


ops = torch.ops.aten
DIRECT: list[Function] = [
    lambda x: ops._adaptive_avg_pool2d(x, [3, 4]),
    lambda x: ops._adaptive_avg_pool3d(x[:, None], [2, 3, 4]),
    lambda x: ops._upsample_nearest_exact1d(x[:, :, 0], [12]),
    lambda x: ops._upsample_nearest_exact2d(x, [9, 12]),
    lambda x: ops.upsample_nearest1d(x[:, :, 0], [12]),
    lambda x: ops.upsample_nearest2d(x, [9, 12]),
    lambda x: ops.upsample_nearest3d(x[:, None], [8, 9, 12]),
    lambda x: ops.upsample_linear1d(x[:, :, 0], [12], False),
    lambda x: ops.upsample_bilinear2d(x, [9, 12], False),
    lambda x: ops.upsample_bicubic2d(x, [9, 12], False),
    lambda x: ops.upsample_trilinear3d(x[:, None], [8, 9, 12], False),
    lambda x: ops._upsample_bilinear2d_aa(x, [3, 4], False),
    lambda x: ops.add.Scalar(x, 2),
    lambda x: ops.sub.Scalar(x, 2),
    lambda x: ops.mul.Scalar(x, 2),
    lambda x: ops.div.Scalar(x, 2),
    lambda x: ops.div.Scalar_mode(x, 0.3, rounding_mode="floor"),
    lambda x: ops.ge.Scalar(x, 0.2),
    lambda x: ops.ne.Scalar(x, 0.2),
    lambda x: ops.gt.Tensor(x, x.flip(1)),
    lambda x: ops.fmod.Tensor(x, x.flip(1).abs() + 1),
    lambda x: ops.remainder.Tensor(x, x.flip(1).abs() + 1),
    lambda x: ops.pow.Tensor_Tensor(x.abs() + 1, x.flip(1)),
    lambda x: ops.alias(x) * 2,
    lambda x: ops.round.decimals(x, decimals=0),
    lambda x: ops.bitwise_left_shift.Tensor_Scalar((x * 8).int(), 2),
    lambda x: ops.bitwise_left_shift.Tensor((x * 8).int(), (x * 0).int() + 2),
    lambda x: ops.bitwise_right_shift.Tensor((x * 8).int(), (x * 0).int() + 2),
    lambda x: f.pad(x[:, None], (1, 1, 1, 1, 1, 1), mode="reflect"),
    lambda x: f.pad(x[:, None], (1, 1, 1, 1, 1, 1), mode="replicate"),
    lambda x: ops.var.correction(x, [1], correction=0),
]


def heads(x: Tensor) -> Tensor:
    return x.view(1, 5, 2, 4).transpose(1, 2)


GROUPS: dict[str, tuple[list[Function], tuple[int, ...]]] = {
    "functions": (FUNCTIONS, SHAPE),
    "activations": (ACTIVATIONS, SHAPE),
    "pairs": (PAIRS, SHAPE),
    "integers": (INTEGERS, SHAPE),
    "reductions": (REDUCTIONS, SHAPE),
    "moves": (MOVES, SHAPE),
    "windows": (WINDOWS, SHAPE),
    "sizes": (SIZES, SHAPE),
    "norms": (NORMS, SHAPE),
    "direct": (DIRECT, SHAPE),
    "matrices": (MATRICES, (1, 5, 8)),
}


class Recurrent(nn.Module):
    """Layers of all kinds and forms, with states that are given, and states that come out."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            [
                nn.LSTM(3, 4, batch_first=True),
                nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True),
                nn.GRU(3, 4, batch_first=True, bias=False),
                nn.GRU(3, 4, num_layers=2, bidirectional=True, batch_first=True),
                nn.RNN(3, 4, batch_first=True),
                nn.RNN(3, 4, nonlinearity="relu", bidirectional=True, batch_first=True),
            ]
        )
        self.turned = nn.LSTM(3, 4, bidirectional=True)
        self.cell = nn.LSTMCell(3, 4)
        self.gated = nn.GRUCell(3, 4)

    def forward(self, x: Tensor, state: Tensor) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        for i, layer in enumerate(self.layers):
            outputs, ends = layer(x)
            found[f"outputs_{i}"] = outputs
            for j, end in enumerate(ends if isinstance(ends, tuple) else [ends]):
                found[f"end_{i}_{j}"] = end * 2
        found["turned"], (hidden, cell) = self.turned(x.transpose(0, 1))
        found["last"] = hidden + cell
        found["begun"], ends = self.layers[0](x, (state, state * 2))
        found["begun_end"] = ends[1]
        found["gated_begun"] = self.layers[2](x, state)[0]
        found["cell"] = self.cell(x[:, 0], (state[0], state[0]))[0]
        found["gated_cell"] = self.gated(x[:, 0], state[0])
        return found
