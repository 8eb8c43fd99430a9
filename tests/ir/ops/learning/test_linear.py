"""Linear models that learn: ridge against its closed form, logistic regression against PyTorch, and the C of both."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.ops.learning.linear import LinearScores, LogisticUpdate
from mote.ir.ops.learning.ridge import RidgeUpdate, first_inverse
from tests.frontends.features.postprocess.scored import streamed
from tests.helpers.support import emulated, examples
from tests.ir.ops.learning.learners import Samples, agree, cases, learner, told

SCORES = LinearScores, {}, "float32"


def zeros(outputs: int, size: int) -> Array:
    return np.zeros((outputs, size + 1), np.float32)


def ridge(
    outputs: int,
    size: int,
    penalty: float = 0.1,
    forgetting: float = 1.0,
    labels: bool = False,
    inverse: Array | None = None,
) -> Graph:
    kept = zeros(outputs, size), first_inverse(size, penalty) if inverse is None else inverse
    sample = np.zeros((1, size), np.float32), told(0) if labels else np.zeros(outputs, np.float32)
    return learner((RidgeUpdate, {"ridge": penalty, "forgetting": forgetting}), SCORES, kept, sample, read=(0,))


def logistic(outputs: int, size: int, rate: float = 0.1, decay: float = 0.0) -> Graph:
    sample = np.zeros((1, size), np.float32), told(0)
    fields = {"rate": rate, "decay": decay}
    return learner((LogisticUpdate, fields), SCORES, [zeros(outputs, size)], sample)


def learned(graph: Graph, samples: Samples) -> list[Array]:
    """The states after all samples."""
    states: dict[int, Array] = {}
    for case in cases(graph, samples):
        states = graph.carried(graph.evaluate({**states, **case}))
    return list(states.values())


def optimal(xs: Array, targets: Array, penalty: float, weights: Array) -> Array:
    """The weights that minimize squared errors, weighted, plus the penalty."""
    z = np.column_stack([xs, np.ones(len(xs))]).astype(np.float64)
    square = (z * weights[:, None]).T @ z + penalty * np.eye(z.shape[1])
    return np.linalg.solve(square, (z * weights[:, None]).T @ targets).T


@given(st.integers(0, 1 << 16), st.integers(1, 3), st.integers(1, 6), st.sampled_from([0.01, 0.1, 10]))
@settings(max_examples=examples(60), deadline=None)
def test_ridge_is_the_optimum_of_all_samples(seed: int, outputs: int, size: int, penalty: float) -> None:
    rng = np.random.default_rng(seed)
    xs = rng.normal(size=(40, size)).astype(np.float32)
    targets = (xs @ rng.normal(size=(size, outputs)) + 0.1 * rng.normal(size=(40, outputs)) + 1).astype(np.float32)
    weights, _ = learned(ridge(outputs, size, penalty), [(x[None], t) for x, t in zip(xs, targets, strict=True)])
    np.testing.assert_allclose(weights, optimal(xs, targets, penalty, np.ones(40)), rtol=1e-3, atol=2e-3)


def test_older_samples_count_less() -> None:
    rng = np.random.default_rng(2)
    xs = rng.normal(size=(400, 3)).astype(np.float32)
    targets = np.where(np.arange(400)[:, None] < 200, xs[:, :1], -xs[:, 1:2]).astype(np.float32)
    weights, _ = learned(ridge(1, 3, 0.01, 0.95), [(x[None], t) for x, t in zip(xs, targets, strict=True)])
    wanted = optimal(xs, targets, 0.0, 0.95 ** np.arange(399, -1, -1))
    np.testing.assert_allclose(weights, wanted, atol=5e-3)
    np.testing.assert_allclose(weights[0], [0, -1, 0, 0], atol=0.02)


def test_a_learner_that_sees_nothing_new_does_not_wind_up() -> None:
    """The same sample for a long time, then others: the inverse stays bounded, and they are learned."""
    rng = np.random.default_rng(6)
    graph = ridge(1, 4, 0.1, 0.9)
    still = [(np.ones((1, 4), np.float32), np.array([3], np.float32))] * 2000
    xs = rng.normal(size=(100, 4)).astype(np.float32)
    weights, inverse = learned(graph, [*still, *((x[None], x[:1] * 2) for x in xs)])
    assert np.abs(inverse).max() <= 10 and np.isfinite(weights).all()
    np.testing.assert_allclose(weights, [[2, 0, 0, 0, 0]], atol=0.01)


@pytest.mark.parametrize("graph", [ridge(2, 3, labels=True), logistic(2, 3)], ids=["ridge", "logistic"])
@pytest.mark.parametrize("feature", [np.nan, np.inf, 3e38])
def test_what_cannot_be_learned_changes_nothing(graph: Graph, feature: float) -> None:
    xs = np.array([[1, 2, 3], [1, feature, 3], [1, 2, 3], [1, 2, 3]], np.float32)
    given = [(x[None], told(label)) for x, label in zip(xs, (1, 1, 2, 0), strict=True)]
    after = learned(graph, given[:1])
    assert [seen[0] for _, seen in streamed(graph, cases(graph, given))] == [1, 0, 0, 1]
    for x, y in zip(after, learned(graph, given[:3]), strict=True):
        np.testing.assert_array_equal(x, y)
    assert np.abs(after[0]).max() > 0


def test_states_that_are_no_numbers_are_not_learned_from() -> None:
    graph = ridge(1, 2, inverse=np.full(6, np.nan, np.float32))
    ((_, seen),) = streamed(graph, cases(graph, [(np.ones((1, 2), np.float32), np.ones(1, np.float32))]))
    assert seen[0] == 0


def regressions() -> list[Graph]:
    """Labels and targets, with and without forgetting, and one with an inverse that no update leaves."""
    rng = np.random.default_rng(5)
    wild = (100 * rng.normal(size=10)).astype(np.float32)
    return [
        ridge(3, 17, labels=True),
        ridge(1, 1, forgetting=0.9, labels=True),
        ridge(2, 5, 1.0, 0.95),
        ridge(2, 3, inverse=wild),
    ]


def classifiers() -> list[Graph]:
    return [logistic(3, 17), logistic(1, 1), logistic(4, 5, 0.01, 0.1)]


def several() -> list[Graph]:
    return [*regressions(), *classifiers()]


def test_c_of_ridge_has_the_bits_of_the_reference() -> None:
    agree(regressions(), "host", 100)


def test_c_of_logistic_regression_computes_the_same() -> None:
    agree(classifiers(), "host", 100, relative=1e-5)


def test_a_core_computes_the_same() -> None:
    """It fuses products and sums: an inverse of features that jump from 1 to 50 amplifies the roundings."""
    agree(several(), emulated("cortex-m4"), 25, relative=5e-3)


def digits() -> tuple[Array, Array]:
    """Pictures of 4x4, and what they show."""
    data = pytest.importorskip("sklearn.datasets").load_digits()
    images = data.images.reshape(-1, 4, 2, 4, 2).mean((2, 4)).reshape(-1, 16) / 16
    return images.astype(np.float32), data.target


def test_digits_have_the_weights_of_scikit_learn() -> None:
    xs, labels = digits()
    judges = pytest.importorskip("sklearn.linear_model")
    weights, _ = learned(
        ridge(10, 16, 1.0, labels=True), [(x[None], told(k)) for x, k in zip(xs[:500], labels, strict=False)]
    )
    z = np.column_stack([xs, np.ones(len(xs))]).astype(float)
    judge = judges.Ridge(1.0, fit_intercept=False).fit(z[:500], np.eye(10)[labels[:500]])
    np.testing.assert_allclose(weights, judge.coef_, atol=2e-3)


def test_a_step_of_logistic_regression_is_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    xs, labels = digits()
    layer = torch.nn.Linear(16, 10)
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    groups = [{"params": [layer.weight], "weight_decay": 0.01}, {"params": [layer.bias]}]
    optimizer = torch.optim.SGD(groups, lr=0.5)
    for x, label in zip(xs[:300], labels, strict=False):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(layer(torch.tensor(x)), torch.tensor(int(label))).backward()
        optimizer.step()
    given = [(x[None], told(k)) for x, k in zip(xs[:300], labels, strict=False)]
    (weights,) = learned(logistic(10, 16, 0.5, 0.01), given)
    wanted = np.column_stack([layer.weight.detach().numpy(), layer.bias.detach().numpy()])
    np.testing.assert_allclose(weights, wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ((1, 2, 1e-7), "a ridge of 1e-07"),
        ((1, 2, 1.0, 0.4), "forgetting factor of 0.4"),
        ((5000, 1), "5000 outputs"),
        ((1, 4, 0.1, 1.0, False, np.zeros(3, np.float32)), "an inverse of float32 "),
    ],
)
def test_others_are_refused(fields: tuple[int, int], reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        ridge(*fields)


@pytest.mark.parametrize(("rate", "decay"), [(0.0, 0.0), (0.1, 2.0)])
def test_other_rates_are_refused(rate: float, decay: float) -> None:
    with pytest.raises(AssertionError, match="a rate of"):
        logistic(2, 2, rate, decay)
