"""Inputs of the self-test, and reference values of all tensors for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, product

import numpy as np

from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import REALS, Magnitudes, allowed_difference
from mote.ir.graph.types import DType
from mote.ir.ops.control.control_flow import EndlessError
from mote.ir.ops.indexing.index_bounds import input_bounds

STEPS = 5
"""Minimum number of self-test runs of a stateful model."""
SEARCH_MACS = 30_000_000
"""MACs that may be spent on each additional kind of input."""
SEED_STEP = 0x9E37
MIX = (0x9E3779B1, 0x85EBCA77)
"""Odd multipliers of the hash that generates noise."""


@dataclass(frozen=True)
class RealCodes:
    """Maps int8 codes to floats: (code * step + offset) * scale."""

    step: int = 1
    offset: int = 0
    scale: float = 1 / 128

    def values(self, codes: Array) -> Array:
        return (codes * self.step + self.offset).astype(np.float32) * np.float32(self.scale)


def real_codes(graph: Graph, tensor: int) -> RealCodes:
    """The mapping of codes to floats for a float input: from -1 to 1, or, if the model quantizes the input first, over
    the whole quantized range (every 256th value of int16)."""
    became = graph.quantized_as(tensor)
    if became is None:
        return RealCodes()
    least, most = became.dtype.limits
    step = (most - least + 1) >> 8
    return RealCodes(step, least + 128 * step - became.zero_point, became.scale)


@dataclass(frozen=True)
class Pattern:
    """Pseudo-random noise by a formula, which takes no flash: integers from -strength to strength, clamped to int8;
    each 2**coarse consecutive elements are equal."""

    seed: int
    strength: int = 128
    coarse: int = 0

    def codes(self, count: int, number: int) -> Array:
        """The first `count` elements for input `number`; `selftest.c` computes the same."""
        x = (np.arange(count, dtype=np.uint32) >> np.uint32(self.coarse)) + np.uint32(self.seed + number)
        x = x * np.uint32(MIX[0])
        x = (x ^ x >> np.uint32(15)) * np.uint32(MIX[1])
        codes: Array = ((x >> np.uint32(24)).astype(np.int32) * self.strength >> 7) - self.strength
        return codes.clip(-128, 127)

    def inputs(self, graph: Graph) -> dict[int, Array]:
        """Inputs of the model: floats by `RealCodes`, bools by the lowest bit, indices folded into range."""
        values = {}
        bounds = input_bounds(graph)
        for number, t in enumerate(graph.tensors[i] for i in graph.inputs):
            codes = self.codes(t.size, number).reshape(t.shape)
            if t.dtype == DType.FLOAT32:
                values[t.id] = real_codes(graph, t.id).values(codes)
            elif t.id in bounds:
                low, high = bounds[t.id]
                values[t.id] = (low + (codes + 128) % (high - low + 1)).astype(t.dtype.numpy)
            else:
                values[t.id] = (codes & 1 if t.dtype == DType.BOOL else codes).astype(t.dtype.numpy)
        return values


FULL = Pattern(1)
"""A pattern with all int8 values."""
EXTREME = (Pattern(10, 1024), Pattern(11, 1024, 4))
"""Patterns that drive accumulators and outputs into saturation."""
CERTAIN = tuple(
    Pattern(16 * coarse + seed, strength, coarse)
    for seed, (strength, coarse) in enumerate(product((1024, 200, 90), (2, 31, 3, 5, 1, 4, 6, 8)))
)
"""Patterns to try if no output reaches its maximum: patches of all sizes."""
GENTLE = tuple(
    Pattern(seed, strength, coarse)
    for seed, strength, coarse in (
        (2, 40, 3),
        (3, 128, 5),
        (4, 16, 0),
        (5, 90, 2),
        (6, 64, 8),
        (7, 8, 4),
        (8, 128, 10),
        (9, 28, 1),
    )
)
"""Patterns to try if the outputs are saturated: weaker and coarser, like natural inputs."""


@dataclass(frozen=True)
class GoldenRun:
    """An inference of the self-test: the reference value of every tensor, and its tolerance."""

    pattern: Pattern
    values: Mapping[int, Array]
    tolerances: Mapping[int, float]


def runs(graph: Graph) -> tuple[GoldenRun, ...]:
    """The inferences of the self-test: with all values, with extreme ones, one with an output at its maximum, and one
    with unsaturated outputs; for a stateful model its warm-up and a few more."""
    if not graph.states:
        sure = [*_ending(graph, [FULL]), *_affordable(graph, EXTREME)]
        return (*sure, *_at_maximum(graph, sure), *_unsaturated(graph)) or (_alone(graph, FULL),)
    kinds = (FULL, *GENTLE[:2], *EXTREME)
    count = max(graph.warm_up, STEPS)
    patterns = [replace(kinds[i % len(kinds)], seed=SEED_STEP * (i + 1) & 0xFFFF) for i in range(count)]
    return tuple(along(graph, patterns))


def along(graph: Graph, patterns: Sequence[Pattern]) -> list[GoldenRun]:
    """Consecutive inferences on patterns, starting from the initial states."""
    inferences: list[GoldenRun] = []
    sizes = Magnitudes(graph)
    for pattern in patterns:
        inferences.append(_run(graph, pattern, graph.carried(inferences[-1].values) if inferences else {}, sizes))
    return inferences


def _run(graph: Graph, pattern: Pattern, states: Mapping[int, Array], sizes: Magnitudes) -> GoldenRun:
    with np.errstate(all="ignore"):
        values = graph.evaluate({**pattern.inputs(graph), **states})
        magnitudes = sizes.step(values)
    floats = (t for t, v in values.items() if v.dtype in REALS)
    return GoldenRun(pattern, values, {t: allowed_difference(values[t], magnitudes.get(t, 0.0)) for t in floats})


def _alone(graph: Graph, pattern: Pattern) -> GoldenRun:
    """A single inference from the initial states."""
    return _run(graph, pattern, {}, Magnitudes(graph))


def _affordable(graph: Graph, patterns: Sequence[Pattern]) -> Iterator[GoldenRun]:
    """Inferences on as many patterns as the budget of MACs allows: none for a large model, whose many values test
    enough."""
    macs = max(sum(op.macs(graph) for op in graph.ops), 1)
    yield from _ending(graph, patterns[: SEARCH_MACS // macs])


def _ending(graph: Graph, patterns: Sequence[Pattern]) -> Iterator[GoldenRun]:
    """Inferences on patterns, up to the first one with a loop that runs too long."""
    with suppress(EndlessError):
        for pattern in patterns:
            yield _alone(graph, pattern)


def _unsaturated(graph: Graph) -> list[GoldenRun]:
    """The inference on a gentle pattern with the least saturated outputs; the search stops below one half."""
    best, least = None, 2.0
    for run in _affordable(graph, GENTLE):
        saturated = float(np.mean(np.isin(_bytes(graph, run), (-128, 127)))) if _bytes(graph, run).size else 0.0
        if saturated < least:
            best, least = run, saturated
        if least < 0.5:
            break
    return [best] if best else list(_ending(graph, GENTLE[:1]))


def _at_maximum(graph: Graph, sure: Sequence[GoldenRun]) -> list[GoldenRun]:
    """An inference in which an int8 output reaches its maximum, as for a confident class; none if the other runs have
    one."""
    if not sure or not _bytes(graph, sure[0]).size or any(_bytes(graph, run).max() == 127 for run in sure):
        return []
    return list(islice((run for run in _affordable(graph, CERTAIN) if _bytes(graph, run).max() == 127), 1))


def _bytes(graph: Graph, run: GoldenRun) -> Array:
    """All int8 outputs of a run."""
    outputs = [run.values[t].reshape(-1) for t in graph.outputs if run.values[t].dtype == np.int8]
    return np.concatenate([np.zeros(0, np.int8), *outputs])
