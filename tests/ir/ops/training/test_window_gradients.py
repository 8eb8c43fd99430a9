"""Gradients of convolutions and pooling against PyTorch's autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.ir.graph.tensor import Array
from mote.ir.ops.common import Axis
from mote.ir.ops.training.window_gradients import (
    AveragePoolGradient,
    ConvInputGradient,
    ConvWeightGradient,
    DepthwiseInputGradient,
    DepthwiseWeightGradient,
    MaxPoolGradient,
)
from tests.helpers.support import examples
from tests.ir.ops.training.single import close, evaluate, rows_suffice, single

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
EXAMPLES = settings(max_examples=examples(25, 8), deadline=None)


@st.composite
def windows(draw: Any) -> tuple[tuple[Axis, Axis], tuple[int, int]]:
    """Two axes and a size of images that they have at least one position in, whatever lies behind the last one."""
    axes, size = [], []
    for _ in range(2):
        axis = Axis(*(draw(st.integers(1, most)) for most in (3, 3, 2)), *(draw(st.integers(0, 2)) for _ in range(2)))
        axes.append(axis)
        size.append(draw(st.integers(max(1, axis.extent - axis.before - axis.after), 7)))
    return (axes[0], axes[1]), (size[0], size[1])


def padded(x: Any, axes: tuple[Axis, Axis], value: float = 0.0) -> Any:
    v, h = axes
    return torch.nn.functional.pad(x, (h.before, h.after, v.before, v.after), value=value)


def images(rng: np.random.Generator, *shape: int) -> Array:
    return rng.normal(size=shape).astype(np.float32)


def nchw(x: Array) -> Any:
    return torch.tensor(np.ascontiguousarray(x.transpose(0, 3, 1, 2)), requires_grad=True)


def nhwc(x: Any) -> Array:
    return np.asarray(x.detach().numpy().transpose(0, 2, 3, 1))


def sliding(axes: tuple[Axis, Axis]) -> dict[str, Any]:
    v, h = axes
    return {"stride": (v.stride, h.stride), "dilation": (v.dilation, h.dilation)}


@EXAMPLES
@given(windows(), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(0, 1 << 16))
def test_convolution(window: Any, channels: int, outputs: int, count: int, seed: int) -> None:
    rng, (axes, size) = np.random.default_rng(seed), window
    x = images(rng, count, *size, channels)
    w = images(rng, outputs, axes[0].kernel, axes[1].kernel, channels)
    tx, tw = nchw(x), nchw(w)
    y = torch.nn.functional.conv2d(padded(tx, axes), tw, **sliding(axes))
    gradient = images(rng, *nhwc(y).shape)
    y.backward(nchw(gradient).detach())
    of = {"vertical": axes[0], "horizontal": axes[1]}
    close(evaluate(ConvInputGradient, gradient, w, size=size, **of)[0], nhwc(tx.grad))
    close(evaluate(ConvWeightGradient, x, gradient, **of)[0], nhwc(tw.grad))
    rows_suffice(ConvInputGradient, gradient, w, size=size, **of)


@EXAMPLES
@given(windows(), st.integers(1, 3), st.integers(1, 2), st.integers(1, 2), st.integers(0, 1 << 16))
def test_depthwise_convolution(window: Any, channels: int, multiplier: int, count: int, seed: int) -> None:
    rng, (axes, size) = np.random.default_rng(seed), window
    x = images(rng, count, *size, channels)
    w = images(rng, 1, axes[0].kernel, axes[1].kernel, channels * multiplier)
    tx, tw = nchw(x), nchw(w.transpose(3, 1, 2, 0))
    y = torch.nn.functional.conv2d(padded(tx, axes), tw, groups=channels, **sliding(axes))
    gradient = images(rng, *nhwc(y).shape)
    y.backward(nchw(gradient).detach())
    of = {"vertical": axes[0], "horizontal": axes[1]}
    back = {**of, "size": size, "multiplier": multiplier}
    close(evaluate(DepthwiseInputGradient, gradient, w, **back)[0], nhwc(tx.grad))
    close(evaluate(DepthwiseWeightGradient, x, gradient, **of)[0], nhwc(tw.grad).transpose(3, 1, 2, 0))
    rows_suffice(DepthwiseInputGradient, gradient, w, **back)


@EXAMPLES
@given(windows(), st.integers(1, 3), st.booleans(), st.integers(0, 1 << 16))
def test_max_pooling(window: Any, channels: int, ties: bool, seed: int) -> None:
    """Of several largest pixels the first has the gradient, as in PyTorch."""
    rng, (axes, size) = np.random.default_rng(seed), window
    x = images(rng, 2, *size, channels)
    x = np.round(x) if ties else x
    tx = nchw(x)
    kernel = (axes[0].kernel, axes[1].kernel)
    y = torch.nn.functional.max_pool2d(padded(tx, axes, -torch.inf), kernel, **sliding(axes))
    gradient = images(rng, *nhwc(y).shape)
    gradient[nhwc(y) == -np.inf] = 0
    y.backward(nchw(gradient).detach())
    of = {"vertical": axes[0], "horizontal": axes[1], "size": size}
    close(evaluate(MaxPoolGradient, gradient, x, **of)[0], nhwc(tx.grad))


@EXAMPLES
@given(windows(), st.integers(1, 3), st.integers(0, 1 << 16))
def test_average_pooling(window: Any, channels: int, seed: int) -> None:
    """The average of pixels inside the image is the sum of all over the sum of ones."""
    rng, (axes, size) = np.random.default_rng(seed), window
    x = images(rng, 2, *size, channels)
    tx = nchw(x)
    w = torch.ones(channels, 1, axes[0].kernel, axes[1].kernel)

    def total(of: Any) -> Any:
        return torch.nn.functional.conv2d(padded(of, axes), w, groups=channels, **sliding(axes))

    counts = total(torch.ones_like(tx))
    y = total(tx) / counts.clamp(min=1)
    gradient = images(rng, *nhwc(y).shape)
    gradient[nhwc(counts) == 0] = 0
    y.backward(nchw(gradient).detach())
    of = {"vertical": axes[0], "horizontal": axes[1], "size": size}
    close(evaluate(AveragePoolGradient, gradient, **of)[0], nhwc(tx.grad))
    rows_suffice(AveragePoolGradient, gradient, **of)


def test_sizes_must_fit() -> None:
    x, w = np.zeros((1, 4, 4, 1), np.float32), np.zeros((1, 3, 3, 1), np.float32)
    of = {"vertical": Axis(3), "horizontal": Axis(3)}
    back = single(ConvInputGradient, x, w, size=(5, 5), **of)
    assert back.ops[0].unsupported(back) == "images of (5, 5) give outputs of (3, 3), not (4, 4)"
    weights = single(ConvWeightGradient, x, x, **of)
    assert weights.ops[0].unsupported(weights) == "images of (4, 4) give outputs of (2, 2), not (4, 4)"
    codes = single(ConvInputGradient, x.astype(np.int8), w, size=(6, 6), **of)
    assert codes.ops[0].unsupported(codes) == "int8 tensor 'x0' is not supported (only float32)"


def test_products_are_counted() -> None:
    """As many as the convolution itself has, for each of the two gradients."""
    x, y = np.zeros((1, 6, 6, 2), np.float32), np.zeros((1, 4, 4, 5), np.float32)
    of = {"vertical": Axis(3), "horizontal": Axis(3)}
    back = single(ConvInputGradient, y, np.zeros((5, 3, 3, 2), np.float32), size=(6, 6), **of)
    weights = single(ConvWeightGradient, x, y, **of)
    assert back.ops[0].macs(back) == weights.ops[0].macs(weights) == 4 * 4 * 5 * 9 * 2
