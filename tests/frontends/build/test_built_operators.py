"""Every operator of the builder against PyTorch, as NumPy computes it and as C does: all of them are one program."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mote.frontends.build import Builder, Value, elementwise, indexing, matrix, moves, norms, reductions, windows
from mote.frontends.build import resize as sizes
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from tests.helpers.built import Network, close

torch = pytest.importorskip("torch")
F = torch.nn.functional
W = windows.window

RNG = np.random.default_rng(16)


def real(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


IMAGE, VOLUME, SEQUENCE, VECTORS = real(1, 6, 9, 7), real(1, 4, 5, 6, 7), real(2, 5, 20), real(2, 6, 16)
WEIGHTS, BIAS, MORE = real(8, 6, 3, 3), real(8), real(12)
GROUPED, DEPTHWISE, TURNED, OF_VOLUMES = real(12, 2, 3, 3), real(12, 1, 3, 3), real(6, 4, 3, 3), real(6, 2, 3, 3, 3)
OF_SEQUENCES, WIDE = real(7, 5, 4), real(8, 12, 3, 3)

Case = tuple[Callable[..., Any], Callable[..., Any], tuple[Array, ...], int | None]
"""How it is built, what PyTorch does, the inputs, and how many TRANSPOSE there may be."""
CASES: dict[str, Case] = {}


def case(name: str, make: Callable[..., Any], want: Callable[..., Any], *inputs: Array, moved: int | None = 0) -> None:
    """Of an image, where no inputs are named."""
    CASES[name] = (make, want, inputs or (IMAGE,), moved)


def t(x: Array) -> Any:
    return torch.tensor(x)


def shuffled(b: Builder, x: Value, groups: int) -> Value:
    n, channels, *space = x.shape
    apart = moves.reshape(b, x, (n, groups, channels // groups, *space))
    return moves.reshape(b, moves.transpose(b, apart, (0, 2, 1, 3, 4)), x.shape)


def shuffled_t(x: Any, groups: int) -> Any:
    n, channels, *space = x.shape
    return x.reshape(n, groups, channels // groups, *space).transpose(1, 2).reshape(x.shape)


def convolutions() -> None:
    case(
        "conv",
        lambda b, x: windows.conv(b, x, WEIGHTS, BIAS, W((3, 3), (2, 1), [(1, 0), (2, 1)], (1, 2))),
        lambda x: F.conv2d(F.pad(x, (2, 1, 1, 0)), t(WEIGHTS), t(BIAS), (2, 1), 0, (1, 2)),
    )
    case(
        "grouped",
        lambda b, x: windows.conv(b, x, GROUPED, MORE, W((3, 3)), 3),
        lambda x: F.conv2d(x, t(GROUPED), t(MORE), groups=3),
    )
    case(
        "depthwise of a shuffle",
        lambda b, x: windows.conv(
            b, windows.conv(b, shuffled(b, x, 3), DEPTHWISE, MORE, W((3, 3)), 6), WIDE, BIAS, W((3, 3))
        ),
        lambda x: F.conv2d(F.conv2d(shuffled_t(x, 3), t(DEPTHWISE), t(MORE), groups=6), t(WIDE), t(BIAS)),
    )
    case(
        "sequence",
        lambda b, x: windows.conv(b, x, OF_SEQUENCES, None, W((4,), (2,), [(1, 2)])),
        lambda x: F.conv1d(F.pad(x, (1, 2)), t(OF_SEQUENCES), stride=2),
        SEQUENCE,
    )
    case(
        "volume",
        lambda b, x: windows.conv(b, x, OF_VOLUMES, None, W((3, 3, 3)), 2),
        lambda x: F.conv3d(x, t(OF_VOLUMES), groups=2),
        VOLUME,
    )
    for stride, pad, more, dilation in (((2, 2), 1, 1, 1), ((3, 2), 0, 0, 1), ((2, 2), 1, 1, 2), ((1, 1), 2, 0, 1)):
        axes = W((3, 3), stride, [(pad, pad)] * 2, (dilation, dilation))
        case(
            f"transposed {stride} {dilation}",
            lambda b, x, axes=axes, more=more: windows.conv_transpose(b, x, TURNED, BIAS[:4], axes, [more] * 2),
            lambda x, s=stride, p=pad, m=more, d=dilation: F.conv_transpose2d(x, t(TURNED), t(BIAS[:4]), s, p, m, 1, d),
        )
        case(
            f"transposed {stride} {dilation} in groups",
            lambda b, x, axes=axes, more=more: windows.conv_transpose(b, x, TURNED, None, axes, [more] * 2, 3),
            lambda x, s=stride, p=pad, m=more, d=dilation: F.conv_transpose2d(x, t(TURNED), None, s, p, m, 3, d),
        )
    of_sequences, of_volumes = real(5, 4, 3), real(4, 3, 2, 3, 2)
    case(
        "transposed sequence",
        lambda b, x: windows.conv_transpose(b, x, of_sequences, None, W((3,), (2,), [(1, 1)]), [1]),
        lambda x: F.conv_transpose1d(x, t(of_sequences), None, 2, 1, 1),
        SEQUENCE,
    )
    axes = W((2, 3, 2), (2, 1, 2), [(0, 0), (1, 1), (1, 1)], (1, 2, 1))
    case(
        "transposed volume",
        lambda b, x: windows.conv_transpose(b, x, of_volumes, None, axes, [1, 0, 1]),
        lambda x: F.conv_transpose3d(x, t(of_volumes), None, (2, 1, 2), (0, 1, 1), (1, 0, 1), 1, (1, 2, 1)),
        VOLUME,
    )


def pools() -> None:
    for ceil in (False, True):
        for k, s, p, d in ((3, 2, 1, 1), (3, 3, 1, 1), (2, 3, 1, 2)):
            flat, deep = W((k,) * 2, (s,) * 2, [(p, p)] * 2, (d,) * 2), W((k,) * 3, (s,) * 3, [(p, p)] * 3, (d,) * 3)
            name = f"{k} {s} {p} {d} {ceil}"
            case(
                f"max {name}",
                lambda b, x, a=flat, c=ceil: windows.max_pool(b, x, a, ceil=c),
                lambda x, a=(k, s, p, d, ceil): F.max_pool2d(x, *a),
            )
            case(
                f"max of volumes {name}",
                lambda b, x, a=deep, c=ceil: windows.max_pool(b, x, a, ceil=c),
                lambda x, a=(k, s, p, d, ceil): F.max_pool3d(x, *a),
                VOLUME,
            )
            for padding in (False, True) if d == 1 else ():
                case(
                    f"average {name} {padding}",
                    lambda b, x, a=flat, c=ceil, i=padding: windows.average_pool(b, x, a, ceil=c, include_pad=i),
                    lambda x, a=(k, s, p, ceil, padding): F.avg_pool2d(x, *a),
                )
                case(
                    f"average of volumes {name} {padding}",
                    lambda b, x, a=deep, c=ceil, i=padding: windows.average_pool(b, x, a, ceil=c, include_pad=i),
                    lambda x, a=(k, s, p, ceil, padding): F.avg_pool3d(x, *a),
                    VOLUME,
                )
    case("lp", lambda b, x: windows.lp_pool(b, x, W((2, 3), (2, 2))), lambda x: F.lp_pool2d(x, 2, (2, 3), 2))
    case("global", lambda b, x: windows.global_average_pool(b, x), lambda x: x.mean((2, 3), keepdim=True))
    case("adaptive", lambda b, x: windows.adaptive_pool(b, x, (4, 7)), lambda x: F.adaptive_avg_pool2d(x, (4, 7)))
    case(
        "adaptive max",
        lambda b, x: windows.adaptive_pool(b, x, (3, 2), largest=True),
        lambda x: F.adaptive_max_pool2d(x, (3, 2)),
    )


def resizing() -> None:
    def taps(kind: Callable[..., sizes.ResizeTaps], rule: str, *more: Any, new: tuple[int, int] = (13, 5)) -> Any:
        return lambda b, x: sizes.resize(
            b,
            x,
            {a + 2: kind(sizes.positions(x.shape[a + 2], n, rule), x.shape[a + 2], *more) for a, n in enumerate(new)},
        )

    for rule, corners in (("half_pixel", False), ("align_corners", True)):
        case(
            f"bilinear {rule}",
            taps(sizes.linear, rule),
            lambda x, c=corners: F.interpolate(x, (13, 5), mode="bilinear", align_corners=c),
        )
    case("bicubic", taps(sizes.cubic, "half_pixel"), lambda x: F.interpolate(x, (13, 5), mode="bicubic"))
    case("nearest", taps(sizes.nearest, "asymmetric", "floor"), lambda x: F.interpolate(x, (13, 5)))
    small = (4, 3)

    def antialiased(size: int, new: int) -> sizes.ResizeTaps:
        return sizes.linear(sizes.positions(size, new, "half_pixel"), size, new / size, exclude_outside=True)

    case(
        "antialiased",
        lambda b, x: sizes.resize(b, x, {a + 2: antialiased(x.shape[a + 2], n) for a, n in enumerate(small)}),
        lambda x: F.interpolate(x, small, mode="bilinear", antialias=True),
        moved=None,
    )


def normalizations() -> None:
    case("softmax", lambda b, x: norms.softmax(b, x, 1), lambda x: x.softmax(1))
    case("softmax of rows", lambda b, x: norms.softmax(b, x, 2), lambda x: x.softmax(2), moved=None)
    case("log softmax", lambda b, x: norms.log_softmax(b, x, 1), lambda x: x.log_softmax(1))
    case(
        "hardmax",
        lambda b, x: norms.hardmax(b, x, 1),
        lambda x: F.one_hot(x.argmax(1), 6).permute(0, 3, 1, 2).float(),
        moved=None,
    )
    scale, bias, mean, variance = real(6), real(6), real(6), np.abs(real(6))
    case(
        "batch",
        lambda b, x: norms.batch_norm(b, x, scale, bias, mean, variance),
        lambda x: F.batch_norm(x, t(mean), t(variance), t(scale), t(bias)),
    )
    case("group", lambda b, x: norms.group_norm(b, x, 3, scale, bias), lambda x: F.group_norm(x, 3, t(scale), t(bias)))
    case(
        "instance",
        lambda b, x: norms.instance_norm(b, x, scale, bias),
        lambda x: F.instance_norm(x, weight=t(scale), bias=t(bias)),
    )
    case(
        "layer",
        lambda b, x: norms.layer_norm(b, x, [2], b.constant(MORE[:7]), b.constant(BIAS[:7])),
        lambda x: F.layer_norm(x, (7,), t(MORE[:7]), t(BIAS[:7])),
        real(3, 5, 7),
        moved=2,
    )
    case("layer of images", lambda b, x: norms.layer_norm(b, x, [1, 2, 3]), lambda x: F.layer_norm(x, (6, 9, 7)))
    case("rms", lambda b, x: norms.rms_norm(b, x, [1]), lambda x: x * (x.square().mean(1, True) + 1e-5).rsqrt())
    for size, before in ((5, None), (4, 2)):
        case(
            f"local {size}",
            lambda b, x, s=size, p=before: norms.local_response_norm(b, x, s, 0.1, 0.75, 1.5, before=p),
            lambda x, s=size: F.local_response_norm(x, s, 0.1, 0.75, 1.5),
        )
    case("lp norm", lambda b, x: norms.lp_norm(b, x, 1), lambda x: F.normalize(x, dim=1))


def movements() -> None:
    channels = real(1, 12, 4, 4)
    kernel = real(5, 3, 3, 3)
    case(
        "pixel shuffle",
        lambda b, x: windows.conv(b, moves.depth_to_space(b, x, 2, crd=True), kernel, None, W((3, 3))),
        lambda x: F.conv2d(F.pixel_shuffle(x, 2), t(kernel)),
        channels,
        moved=1,
    )
    case(
        "depth to space",
        lambda b, x: windows.max_pool(b, moves.depth_to_space(b, x, 2), W((1, 1), (2, 2))),
        lambda x: x.reshape(1, 2, 2, 3, 4, 4)[:, 0, 0],
        channels,
        moved=1,
    )
    case(
        "pixel unshuffle",
        lambda b, x: windows.max_pool(b, moves.space_to_depth(b, x, 2, crd=True), W((2, 2))),
        lambda x: F.max_pool2d(F.pixel_unshuffle(x, 2), 2, 1),
        real(1, 3, 6, 8),
        moved=2,
    )
    for mode, name in (("constant", "constant"), ("reflect", "reflect"), ("edge", "replicate"), ("wrap", "circular")):
        fill = 2.5 if mode == "constant" else 0.0
        case(
            f"pad {mode}",
            lambda b, x, m=mode, f=fill: moves.pad(b, x, [(0, 0), (0, 0), (1, 2), (3, 1)], m, f),
            lambda x, n=name, f=fill: F.pad(x, (3, 1, 1, 2), n, *([f] if n == "constant" else [])),
        )
    case(
        "cut",
        lambda b, x: moves.pad(b, x, [(0, 0), (1, -2), (-1, 2), (0, 0)]),
        lambda x: F.pad(x, (0, 0, -1, 2, 1, -2)),
    )
    case("tile", lambda b, x: moves.tile(b, x, (1, 2, 1, 3)), lambda x: x.repeat(1, 2, 1, 3))
    case("expand", lambda b, x: moves.expand(b, x, (2, 6, 3, 4)), lambda x: x.expand(2, 6, 3, 4), real(1, 6, 1, 1))
    case("flip", lambda b, x: moves.flip(b, x, (1, 3)), lambda x: x.flip((1, 3)))
    listed = np.array([0, 2, 5, -1])
    case("listed", lambda b, x: moves.gather(b, x, 1, b.constant(listed)), lambda x: x[:, listed])
    case(
        "slices",
        lambda b, x: moves.slices(b, x, [5, -1], [-100, 0], [1, 2], [-2, -3]),
        lambda x: x.flip((1, 2))[:, ::2, :-1:3],
    )
    case(
        "halves of a shuffle",
        lambda b, x: elementwise.sub(b, *moves.split(b, shuffled(b, x, 2), 1, [4, 4])),
        lambda x: torch.sub(*shuffled_t(x, 2).split(4, 1)),
        real(1, 8, 3, 3),
        moved=1,
    )
    case("passed on", lambda b, x: x, lambda x: x)
    indices = np.array([[1, 4], [-1, 0]], np.int32)
    case(
        "looked up",
        lambda b, x, i: indexing.gather(b, x, 1, i, from_end=True),
        lambda x, i: x[:, i.long()].contiguous(),
        SEQUENCE,
        indices,
        moved=None,
    )


def attention(b: Builder, x: Value, weights: Array, heads: int = 4) -> Value:
    n, tokens, width = x.shape
    parts = moves.split(b, matrix.linear(b, x, weights), 2, [width] * 3)
    q, k, v = (moves.transpose(b, moves.reshape(b, p, (n, tokens, heads, width // heads)), (0, 2, 1, 3)) for p in parts)
    scores = elementwise.scaled(b, matrix.matmul(b, q, moves.transpose(b, k, (0, 1, 3, 2))), 0.5)
    mixed = matrix.matmul(b, norms.softmax(b, scores), v)
    return moves.reshape(b, moves.transpose(b, mixed, (0, 2, 1, 3)), x.shape)


def attention_t(x: Any, weights: Array, heads: int = 4) -> Any:
    n, tokens, width = x.shape
    q, k, v = (p.reshape(n, tokens, heads, -1).transpose(1, 2) for p in (x @ t(weights)).split(width, 2))
    return ((q @ k.transpose(2, 3) * 0.5).softmax(-1) @ v).transpose(1, 2).reshape(x.shape)


def products() -> None:
    flat, square, both = real(378, 5), real(16, 16), real(16, 48)
    case(
        "flattened",
        lambda b, x: matrix.gemm(b, moves.flatten(b, x), b.constant(flat), b.constant(BIAS[:5]), alpha=0.5, beta=2.0),
        lambda x: 0.5 * x.flatten(1) @ t(flat) + 2 * t(BIAS[:5]),
    )
    case("matmul", lambda b, x: matrix.matmul(b, x, b.constant(square)), lambda x: x @ t(square), VECTORS, moved=None)
    case(
        "from the left",
        lambda b, x: matrix.matmul(b, b.constant(WEIGHTS[:, :, 0, 0]), x),
        lambda x: t(WEIGHTS[:, :, 0, 0]) @ x,
        VECTORS,
        moved=None,
    )
    case("attention", lambda b, x: attention(b, x, both), lambda x: attention_t(x, both), VECTORS, moved=None)
    for equation, shapes in (
        ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))),
        ("bthd,bshd->bhts", ((1, 3, 2, 4), (1, 5, 2, 4))),
        ("ij->ji", ((3, 4),)),
        ("ij->", ((3, 4),)),
        ("...ij,...jk->...ik", ((2, 3, 4), (2, 4, 5))),
        ("i,j->ij", ((3,), (4,))),
        ("bc,bc->b", ((2, 3), (2, 3))),
        ("bchw,bcd->bdhw", ((1, 3, 2, 2), (1, 3, 5))),
        ("ab,bc,cd->ad", ((2, 3), (3, 4), (4, 5))),
    ):
        case(
            f"einsum {equation}",
            lambda b, *x, e=equation: matrix.einsum(b, e, x),
            lambda *x, e=equation: torch.einsum(e, *x),
            *(real(*s) for s in shapes),
            moved=None,
        )


def elements() -> None:
    functions = {
        "gelu": F.gelu,
        "silu": F.silu,
        "mish": F.mish,
        "softplus": F.softplus,
        "softsign": F.softsign,
        "erf": torch.erf,
        "sinh": torch.sinh,
        "cosh": torch.cosh,
        "tan": torch.tan,
        "hard_swish": F.hardswish,
    }
    small = real(1, 3, 4, 5) * 3
    for name, want in functions.items():
        case(name, lambda b, x, n=name: elementwise.FUNCTIONS[n](b, x), want, small)
    case("selu", lambda b, x: elementwise.elu_scaled(b, x, 1.6732632423543772, 1.0507009873554805), F.selu, small)
    case("celu", lambda b, x: elementwise.celu(b, x, 2.0), lambda x: F.celu(x, 2.0), small)
    case(
        "where",
        lambda b, x: elementwise.where(b, elementwise.greater(b, x, elementwise.scalar(b, 0)), x, b.constant(MORE[:5])),
        lambda x: torch.where(x > 0, x, t(MORE[:5])),
        small,
    )
    case("clip", lambda b, x: elementwise.clip(b, x, -0.5, 2), lambda x: x.clip(-0.5, 2), small)
    squeeze = real(6, 6, 1, 1)
    case(
        "squeeze and excite",
        lambda b, x: elementwise.mul(
            b, x, elementwise.sigmoid(b, windows.conv(b, windows.global_average_pool(b, x), squeeze, None, W((1, 1))))
        ),
        lambda x: x * torch.sigmoid(F.conv2d(x.mean((2, 3), keepdim=True), t(squeeze))),
    )
    case("cast", lambda b, x: elementwise.cast(b, x, DType.INT32), lambda x: x.to(torch.int32), small)


def reduced() -> None:
    wanted = {
        "mean": lambda x: x.mean((1, 3)),
        "sum": lambda x: x.sum((1, 3)),
        "max": lambda x: x.amax((1, 3)),
        "prod": lambda x: x.prod(3).prod(1),
        "l2": lambda x: x.norm(dim=(1, 3)),
        "log_sum_exp": lambda x: x.logsumexp((1, 3)),
    }
    for name, want in wanted.items():
        case(f"reduce {name}", lambda b, x, n=name: reductions.REDUCTIONS[n](b, x, [1, 3], False), want)
    case("largest", lambda b, x: reductions.top_k(b, x, 3, 1)[0], lambda x: x.topk(3, 1)[0])
    case(
        "where the least are",
        lambda b, x: reductions.top_k(b, x, 3, 2, largest=False)[1],
        lambda x: x.topk(3, 2, largest=False)[1].int(),
        moved=None,
    )
    case("argmax", lambda b, x: reductions.arg_max(b, x, 2, keep=False), lambda x: x.argmax(2))
    last = np.array([[1, 3, 3, 2]], np.float32)
    case("last argmax", lambda b, x: reductions.arg_max(b, x, 1, last=True), lambda x: torch.tensor([[2]]), last)
    case("running sum", lambda b, x: reductions.cumulative_sum(b, x, 1), lambda x: x.cumsum(1))


FAMILIES: dict[str, list[str]] = {}
for family in (convolutions, pools, resizing, normalizations, movements, products, elements, reduced):
    before = set(CASES)
    family()
    FAMILIES[family.__name__] = [name for name in CASES if name not in before]

USUAL = (
    "depthwise of a shuffle",
    "transposed (2, 2) 1 in groups",
    "max 2 3 1 2 True",
    "average 3 2 1 1 True True",
    "bicubic",
    "group",
    "pixel shuffle",
    "attention",
    "halves of a shuffle",
    "squeeze and excite",
)
"""Of every family what is made of several operators."""


def network(names: Iterable[str]) -> Network:
    found = Network()
    for name in names:
        make, want, inputs, _ = CASES[name]
        found.add(make, np.asarray(want(*(t(x) for x in inputs))), *inputs)
    return found


def test_every_operator_is_pytorchs() -> None:
    whole = network(CASES)
    for name, found, wanted in zip(CASES, whole.evaluated(), whole.wanted, strict=True):
        np.testing.assert_allclose(found, wanted, 1e-4, 2e-5, err_msg=name)


def test_nothing_is_moved_that_need_not_be() -> None:
    for name, (*_, moved) in CASES.items():
        if moved is not None:
            kinds = [op.kind for op in network([name]).graph().ops]
            assert kinds.count("TRANSPOSE") <= moved, name


@pytest.mark.slow
def test_the_c_code_computes_the_same(tmp_path: Path) -> None:
    usual = network(USUAL)
    close(usual.executed(tmp_path), usual.wanted, 1e-4, 2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_the_c_code_of_every_operator(family: str, tmp_path: Path) -> None:
    whole = network(FAMILIES[family])
    close(whole.executed(tmp_path), whole.wanted, 1e-4, 2e-5)
