"""Inputs to check a model with: random, extreme and structured, the same ones every time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np

from mote.graph import Graph, Tensor
from mote.graph.tensor import Array
from mote.graph.types import DType

Stimulus = Callable[[Tensor, np.random.Generator], Array]


def _limits(t: Tensor) -> tuple[float, float]:
    if t.dtype == DType.FLOAT32:
        return -1.0, 1.0
    if t.dtype == DType.BOOL:
        return 0, 1
    info = np.iinfo(t.dtype)
    return info.min, info.max


def _random(t: Tensor, rng: np.random.Generator) -> Array:
    low, high = _limits(t)
    if t.dtype == DType.FLOAT32:
        return rng.uniform(low, high, t.shape).astype(np.float32)
    return rng.integers(int(low), int(high) + 1, t.shape).astype(t.dtype.numpy)


def _constant(choose: Callable[[Tensor], float]) -> Stimulus:
    return lambda t, _: np.full(t.shape, choose(t), t.dtype.numpy)


def _ramp(t: Tensor, _: np.random.Generator) -> Array:
    low, high = _limits(t)
    return np.linspace(low, high, t.size).astype(t.dtype.numpy).reshape(t.shape)


def _extremes(t: Tensor, rng: np.random.Generator) -> Array:
    low, high = _limits(t)
    return np.where(rng.integers(0, 2, t.shape) == 1, high, low).astype(t.dtype.numpy)


STIMULI: tuple[Stimulus, ...] = (
    _random,
    _extremes,
    _constant(lambda t: _limits(t)[0]),
    _constant(lambda t: _limits(t)[1]),
    _constant(lambda t: t.zero_point),
    _ramp,
)


def stimuli(graph: Graph, count: int, seed: int = 0) -> list[dict[int, Array]]:
    """`count` sets of inputs: each kind in turn, then random ones."""
    rng = np.random.default_rng(seed)
    kinds = [*STIMULI, *([_random] * max(0, count - len(STIMULI)))]
    return [{t: kind(graph.tensors[t], rng) for t in graph.inputs} for kind in islice(kinds, count)]
