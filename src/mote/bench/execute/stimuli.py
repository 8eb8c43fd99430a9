"""Deterministic test inputs: random, extreme and structured."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import islice

import numpy as np

from mote.compiler.emit.c.programs.golden import Pattern
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.control.control_flow import EndlessError, unbounded
from mote.ir.ops.indexing.index_bounds import Bounds, input_bounds

Limits = tuple[float, float]
Stimulus = Callable[[Tensor, Limits, "np.random.Generator"], Array]


def _limits(graph: Graph, t: Tensor) -> Limits:
    """Smallest and largest test value of an input. Floats that are quantized immediately cover all integers."""
    if t.dtype == DType.BOOL:
        return 0, 1
    if t.dtype != DType.FLOAT32:
        return t.dtype.limits
    became = graph.quantized_as(t.id)
    if became is None:
        return -1.0, 1.0
    least, most = became.dtype.limits
    return became.scale * (least - became.zero_point), became.scale * (most - became.zero_point)


def _random(t: Tensor, limits: Limits, rng: np.random.Generator) -> Array:
    low, high = limits
    if t.dtype == DType.FLOAT32:
        return rng.uniform(low, high, t.shape).astype(np.float32)
    if t.dtype == DType.UINT64:
        return rng.integers(int(low), int(high), t.shape, np.uint64, endpoint=True)
    return rng.integers(int(low), int(high) + 1, t.shape).astype(t.dtype.numpy)


def _constant(choose: Callable[[Tensor, Limits], float]) -> Stimulus:
    return lambda t, limits, _: np.full(t.shape, choose(t, limits), t.dtype.numpy)


def _ramp(t: Tensor, limits: Limits, _: np.random.Generator) -> Array:
    if t.dtype in (DType.INT64, DType.UINT64):  # the largest one has no equal among real numbers
        low, high = map(int, limits)
        steps = [low + (high - low) * i // max(t.size - 1, 1) for i in range(t.size)]
        return np.array(steps, t.dtype.numpy).reshape(t.shape)
    return np.linspace(*limits, t.size).astype(t.dtype.numpy).reshape(t.shape)


def _extremes(t: Tensor, limits: Limits, rng: np.random.Generator) -> Array:
    low, high = limits
    return np.where(rng.integers(0, 2, t.shape) == 1, high, low).astype(t.dtype.numpy)


SMALLER = (128, 16)
"""Reduced amplitudes to try if a loop does not terminate."""
STIMULI: tuple[Stimulus, ...] = (
    _random,
    _extremes,
    _constant(lambda _, limits: limits[0]),
    _constant(lambda _, limits: limits[1]),
    _constant(lambda t, _: t.zero_point),
    _ramp,
)


def stimuli(graph: Graph, count: int, seed: int = 0, source: Graph | None = None) -> list[dict[int, Array]]:
    """`count` sets of inputs: one of each kind, then random ones. `source` is the original model, whose unused inputs
    may be missing in the graph."""
    rng = np.random.default_rng(seed)
    kinds = [*STIMULI, *([_random] * max(0, count - len(STIMULI)))]
    bounds = input_bounds(source or graph)
    inputs = [(t, _limits(graph, t)) for t in (graph.tensors[i] for i in graph.inputs)]
    cases = [
        {t.id: _between(kind(t, limits, rng), bounds.get(t.id)) for t, limits in inputs}
        for kind in islice(kinds, count)
    ]
    return _that_end(graph, cases) if unbounded(graph) else cases


def _that_end(graph: Graph, cases: list[dict[int, Array]]) -> list[dict[int, Array]]:
    """Inputs for which all loops terminate; others are replaced by inputs of smaller amplitude, or dropped."""
    ending: list[dict[int, Array]] = []
    states: dict[int, Array] = {}
    for number, case in enumerate(cases, 1):
        for candidate in (case, *(Pattern(number, strength).inputs(graph) for strength in SMALLER)):
            with suppress(EndlessError):
                states = graph.carried(graph.evaluate({**states, **candidate}))
                ending.append(candidate)
                break
    if not ending:
        graph.evaluate(cases[0])
    return ending


def _between(values: Array, bounds: Bounds | None) -> Array:
    """Values folded into the valid range."""
    if bounds is None:
        return values
    low, high = bounds
    if np.issubdtype(values.dtype, np.floating):
        return (low + np.abs(values) * (high - low)).astype(values.dtype)
    return (low + values.astype(np.int64) % (high - low + 1)).astype(values.dtype)
