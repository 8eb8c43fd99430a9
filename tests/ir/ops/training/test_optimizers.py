"""The steps of optimizers against PyTorch's, and the rounding of Adam's moments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mote.ir.graph import Graph, State, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.training.optimizers import (
    BLOCK,
    AccumulateGradient,
    AdamStep,
    OptimizerStep,
    SgdStep,
    encoded,
    moment_types,
    power,
    uniform,
)
from tests.ir.ops.training.single import single

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
STEPS = 20


def stepping(
    kind: type[OptimizerStep], weights: Array, moments: list[Array], learning_rate: float, **attributes: Any
) -> Graph:
    """A graph with inputs gradient (1) and step (3), which updates its weights (0) and moments; 2 is the learning
    rate."""
    states = [weights, *moments]
    before = (0, *range(4, 4 + len(moments)))
    after = tuple(range(100, 100 + len(states)))
    types = {i: Tensor(i, f"s{i}", s.shape, DType(str(s.dtype))) for i, s in zip(before, states, strict=True)}
    results = {a: replace(types[b], id=a) for b, a in zip(before, after, strict=True)}
    given = {1: Tensor(1, "gradient", weights.shape, DType.FLOAT32), 3: Tensor(3, "step", (1,), DType.INT32)}
    given[2] = Tensor(2, "rate", (1,), DType.FLOAT32, data=np.array([learning_rate], np.float32))
    op = kind(inputs=(0, 1, 2, 3, *before[1:]), outputs=after, name="update", **attributes)
    kept = tuple(State(b, a, s) for b, a, s in zip(before, after, states, strict=True))
    graph = Graph("step", types | results | given, (op,), (1, 3), (), kept).verify()
    assert op.unsupported(graph) is None
    return graph


def run(graph: Graph, gradients: list[Array]) -> list[Array]:
    """The weights after each step."""
    states: dict[int, Array] = {}
    results = []
    for number, gradient in enumerate(gradients):
        values = graph.evaluate({1: gradient, graph.inputs[1]: np.array([number], np.int32), **states})
        states = graph.carried(values)
        results.append(states[0])
    return results


def pytorch(kind: Any, weights: Array, gradients: list[Array], **options: Any) -> list[Array]:
    w = torch.tensor(weights.copy(), requires_grad=True)
    optimizer = kind([w], **options)
    results = []
    for gradient in gradients:
        w.grad = torch.tensor(gradient)
        optimizer.step()
        results.append(w.detach().numpy().copy())
    return results


def problem(shape: tuple[int, ...] = (5, 30)) -> tuple[Array, list[Array]]:
    """Weights, and gradients of very different sizes."""
    rng = np.random.default_rng(0)
    sizes = 10.0 ** rng.uniform(-3, 1, shape)
    return rng.normal(size=shape).astype(np.float32), [
        (sizes * rng.normal(1, 1, size=shape)).astype(np.float32) for _ in range(STEPS)
    ]


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_sgd(momentum: float, decay: float) -> None:
    """To a few roundings of float32."""
    weights, gradients = problem()
    moments = [np.zeros_like(weights)] if momentum else []
    graph = stepping(SgdStep, weights, moments, learning_rate=0.05, momentum=momentum, weight_decay=decay)
    want = pytorch(torch.optim.SGD, weights, gradients, lr=0.05, momentum=momentum, weight_decay=decay)
    for got, expected in zip(run(graph, gradients), want, strict=True):
        assert np.allclose(got, expected, rtol=2e-6, atol=2e-6)


def moments_of(weights: Array) -> list[Array]:
    return [np.zeros(shape, dtype.numpy) for dtype, shape in moment_types(weights.size)]


def test_adam() -> None:
    """The first step is PyTorch's to a few roundings; later ones differ by the rounding of moments to 8 bits, with four
    orders of magnitude in a block by less than 15% of what the weights have moved."""
    weights, gradients = problem()
    graph = stepping(AdamStep, weights, moments_of(weights), learning_rate=0.01, weight_decay=0.1)
    got = run(graph, gradients)
    want = pytorch(torch.optim.AdamW, weights, gradients, lr=0.01, weight_decay=0.1)
    assert np.allclose(got[0], want[0], rtol=2e-6, atol=2e-6)
    moved = np.abs(want[-1] - weights).mean()
    assert 0 < np.abs(got[-1] - want[-1]).mean() < 0.15 * moved


def test_adam_is_reproducible() -> None:
    weights, gradients = problem((70,))
    graph = stepping(AdamStep, weights, moments_of(weights), learning_rate=0.01)
    assert np.array_equal(run(graph, gradients), run(graph, gradients))


def test_rare_gradients_make_no_large_steps() -> None:
    """A root that would be rounded to nothing has code 1: no step is longer than Adam's ever is."""
    weights = np.zeros(BLOCK, np.float32)
    gradients = [np.full(BLOCK, 1e-7, np.float32) for _ in range(STEPS)]
    for gradient in gradients:
        gradient[0] = 1.0
    graph = stepping(AdamStep, weights, moments_of(weights), learning_rate=0.01)
    results = run(graph, gradients)
    assert np.abs(np.diff(results, axis=0)).max() < 0.011


def test_rounding_is_unbiased() -> None:
    """The mean of many roundings is the value; codes reach the largest and no further."""
    values = np.linspace(-1, 1, BLOCK, dtype=np.float32)
    means = np.zeros(BLOCK)
    for step in range(1000):
        codes, scales = encoded(values, 127, uniform(step, BLOCK))
        assert np.abs(codes).max() == 127 and np.array_equal(codes, np.round(codes))
        means += codes * np.abs(codes) * scales[0] / 1000
    assert np.abs(means - values).max() < 1e-3


def test_noise_is_murmurs() -> None:
    """Computed by hand with integers of Python."""
    for step, element in ((0, 0), (1, 0), (7, 12), (123456, 999)):
        x = (element * 0x9E3779B1 + step * 0x85EBCA77) & 0xFFFFFFFF
        x = ((x ^ x >> 16) * 0x85EBCA6B) & 0xFFFFFFFF
        x = ((x ^ x >> 13) * 0xC2B2AE35) & 0xFFFFFFFF
        x ^= x >> 16
        assert uniform(step, element + 1)[element] == (x >> 8) / 2**24


def test_powers() -> None:
    for exponent in (0, 1, 2, 3, 10, 1000, 5000):
        got = power(np.float32(0.999), exponent)
        assert got.dtype == np.float32 and got == pytest.approx(float(np.float32(0.999)) ** exponent, rel=1e-4)


def test_accumulation() -> None:
    """The mean of three gradients is the gradient of one step; weights change in every third inference only."""
    weights, gradients = problem()
    gradients = gradients[:9]
    total = Graph(
        "sums",
        {
            i: Tensor(i, f"t{i}", weights.shape if i != 2 else (1,), DType.INT32 if i == 2 else DType.FLOAT32)
            for i in range(4)
        },
        (AccumulateGradient(inputs=(0, 1, 2), outputs=(3,), name="sum", every=3),),
        (1, 2),
        (),
        (State(0, 3, np.zeros_like(weights)),),
    ).verify()
    sums = run(total, gradients)
    assert np.array_equal(sums[4], gradients[3] + gradients[4])
    graph = stepping(SgdStep, weights, [], learning_rate=0.1, every=3)
    got = run(graph, sums)
    means = [np.mean(gradients[i : i + 3], axis=0) for i in (0, 3, 6)]
    want = pytorch(torch.optim.SGD, weights, means, lr=0.1)
    assert np.array_equal(got[1], weights) and np.array_equal(got[3], got[2])
    assert np.allclose(got[2::3], want, rtol=2e-6, atol=2e-6)


def test_problems_are_named() -> None:
    w, step = np.zeros(4, np.float32), np.zeros(1, np.int32)

    rate = np.full(1, 0.1, np.float32)

    def said(*values: Array, kind: Any = SgdStep, **attributes: Any) -> str:
        graph = single(kind, *values, **attributes)
        return str(graph.ops[0].unsupported(graph))

    assert "a gradient of (3,) is not that of weights of (4,)" in said(w, w[:3], rate, step)
    assert "a learning rate of (4,) is not supported" in said(w, w, w, step)
    assert "a step of float32 (4,) is not supported" in said(w, w, rate, w)
    assert "moments in 8 bits" in said(w, w, rate, step, kind=AdamStep)
    graph = single(SgdStep, w, w, rate, step, every=2)
    alone = graph.ops[0].with_(inputs=(0, 1, 2, ABSENT))
    assert "needs the number of the step" in str(alone.unsupported(graph))
