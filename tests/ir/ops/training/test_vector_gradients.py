"""Gradients of activations and normalizations against PyTorch's autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.ir.graph import Op
from mote.ir.graph.types import Activation
from mote.ir.ops.training.activation_gradients import (
    ActivationGradient,
    ClampGradient,
    HardSwishGradient,
    LeakyReluGradient,
    LogisticGradient,
    TanhGradient,
)
from mote.ir.ops.training.normalization_gradients import (
    LayerNormalizationGradient,
    RmsNormalizationGradient,
    SoftmaxGradient,
)
from tests.helpers.support import examples
from tests.ir.ops.training.single import close, evaluate, single

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
F = torch.nn.functional
EXAMPLES = settings(max_examples=examples(25, 8), deadline=None)

ACTIVATIONS: list[tuple[type[ActivationGradient], dict[str, Any], Any]] = [
    (ClampGradient, {"activation": Activation.RELU}, F.relu),
    (ClampGradient, {"activation": Activation.RELU6}, F.relu6),
    (ClampGradient, {"activation": Activation.RELU_N1_TO_1}, F.hardtanh),
    (ClampGradient, {"activation": Activation.RELU_0_TO_1}, lambda x: F.hardtanh(x, 0.0, 1.0)),
    (ClampGradient, {"activation": Activation.NONE}, lambda x: x * 1),
    (LogisticGradient, {}, torch.sigmoid),
    (TanhGradient, {}, torch.tanh),
    (LeakyReluGradient, {"alpha": 0.2}, lambda x: F.leaky_relu(x, 0.2)),
    (LeakyReluGradient, {"alpha": -0.5}, lambda x: F.leaky_relu(x, -0.5)),
    (HardSwishGradient, {}, F.hardswish),
]


@pytest.mark.parametrize(("kind", "attributes", "function"), ACTIVATIONS)
def test_activation(kind: type[ActivationGradient], attributes: dict[str, Any], function: Any) -> None:
    """Beside random numbers, both sides of the bounds and 0 itself."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=200) * 4, [0.0, 0.5, -0.99, 1.01, 2.99, 5.99, 6.01, -2.99, -3.01, 50, -50]])
    x = x.astype(np.float32)
    gradient = rng.normal(size=x.shape).astype(np.float32)
    tx = torch.tensor(x, requires_grad=True)
    y = function(tx)
    y.backward(torch.tensor(gradient))
    at = y.detach().numpy() if kind.of_output else x
    close(evaluate(kind, gradient, at, **attributes)[0], tx.grad.numpy(), bound=1e-6)


NORMALIZATIONS: list[tuple[type[Op], dict[str, Any], Any]] = [
    (SoftmaxGradient, {}, lambda x: F.softmax(x, -1)),
    (SoftmaxGradient, {"beta": 0.5}, lambda x: F.softmax(x * 0.5, -1)),
    (LayerNormalizationGradient, {"epsilon": 1e-3}, lambda x: F.layer_norm(x, x.shape[-1:], eps=1e-3)),
    (RmsNormalizationGradient, {"epsilon": 1e-3}, lambda x: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-3)),
]


@EXAMPLES
@given(
    st.sampled_from(NORMALIZATIONS),
    st.lists(st.integers(1, 4), min_size=0, max_size=2),
    st.integers(1, 9),
    st.floats(0.125, 4, width=32),
    st.integers(0, 1 << 16),
)
def test_normalization(of: Any, before: list[int], channels: int, size: float, seed: int) -> None:
    kind, attributes, function = of
    rng = np.random.default_rng(seed)
    x, gradient = (rng.normal(size=(*before, channels)).astype(np.float32) for _ in range(2))
    tx = torch.tensor(x * np.float32(size), requires_grad=True, dtype=torch.float64)
    y = function(tx)
    y.backward(torch.tensor(gradient, dtype=torch.float64))
    at = y.detach() if kind is SoftmaxGradient else tx.detach()
    close(evaluate(kind, gradient, at.numpy().astype(np.float32), **attributes)[0], tx.grad.numpy())


@pytest.mark.parametrize("kind", [TanhGradient, SoftmaxGradient])
def test_shapes_must_fit(kind: type[Op]) -> None:
    graph = single(kind, np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32))
    assert "a gradient of (2, 3) is not that of" in str(graph.ops[0].unsupported(graph))
