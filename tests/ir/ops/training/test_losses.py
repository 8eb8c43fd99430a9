"""Losses and their gradients against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.ir.ops.training.losses import MeanSquaredError, SoftmaxCrossEntropy
from tests.helpers.support import examples
from tests.ir.ops.training.single import close, evaluate, single

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
NONE = np.zeros(1, np.float32)
"""The loss before."""
EXAMPLES = settings(max_examples=examples(25, 8), deadline=None)


@EXAMPLES
@given(st.integers(1, 4), st.integers(1, 9), st.sampled_from([0.5, 1.0, 2.0]), st.integers(0, 1 << 16))
def test_cross_entropy(count: int, classes: int, beta: float, seed: int) -> None:
    """Labels that are no class count as none."""
    rng = np.random.default_rng(seed)
    logits = (5 * rng.normal(size=(count, classes))).astype(np.float32)
    label = rng.integers(-1, classes + 1, count).astype(np.int32)
    label[0] = rng.integers(classes)
    known = torch.tensor(np.where(label < classes, label, -1), dtype=torch.int64)
    x = torch.tensor(logits, requires_grad=True)
    want = torch.nn.functional.cross_entropy(x * beta, known, ignore_index=-1)
    want.backward()
    gradient, loss = evaluate(SoftmaxCrossEntropy, logits, label, NONE, outputs=2, beta=beta)
    close(loss, want.detach().numpy().reshape(1))
    close(gradient, x.grad.numpy())


def test_no_label_no_loss() -> None:
    gradient, loss = evaluate(
        SoftmaxCrossEntropy, np.ones((2, 3), np.float32), np.array([-1, 3], np.int32), NONE, outputs=2
    )
    assert not loss.any() and not gradient.any()


def test_logits_of_any_size() -> None:
    """Exponentials do not overflow."""
    logits = np.array([[3e38, -3e38, 0]], np.float32)
    gradient, loss = evaluate(SoftmaxCrossEntropy, logits, np.array([0], np.int32), NONE, outputs=2)
    assert loss == 0 and not gradient.any()


def test_labels_must_fit() -> None:
    for label in (np.zeros(3, np.int32), np.zeros(2, np.int64)):
        graph = single(SoftmaxCrossEntropy, np.zeros((2, 5), np.float32), label, NONE, outputs=2)
        assert "are not those of logits of (2, 5)" in str(graph.ops[0].unsupported(graph))
        assert graph.ops[0].bounds(graph, 1) == (0, 4)


@EXAMPLES
@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(0, 1 << 16))
def test_mean_squared_error(shape: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    output, target = (rng.normal(size=shape).astype(np.float32) for _ in range(2))
    x = torch.tensor(output, requires_grad=True)
    want = torch.nn.functional.mse_loss(x, torch.tensor(target))
    want.backward()
    gradient, loss = evaluate(MeanSquaredError, output, target, NONE, outputs=2)
    close(loss, want.detach().numpy().reshape(1))
    close(gradient, x.grad.numpy())
