"""How far a float32 tensor may be from its reference: what rounding explains, and no more.

Two programs that add the same terms in another order differ by roundings of the terms and of the sums on the way, not
of the result: where terms cancel, the result is small and the difference is not. So a tensor is compared by its
*magnitude*, the largest sum of the absolute values of the terms that one of its elements was added up from, and a
difference of FLOAT_TOLERANCE of that counts as none. What is not a sum is as large as it looks, but for functions that
some compute as sums whose terms cancel (a sigmoid near 0 as (1 + tanh(x / 2)) / 2): they may be off by CANCELLED of
those terms.

A layer also passes on what its inputs bring, and small differences grow or vanish on their way through many layers.
That is a property of the network, so it is tried: the reference is computed a second time with noise in every layer, a
tenth of what the layer itself may differ by; ten times what has become of all of it at a tensor is allowed there.

Real numbers that are quantized on the way to integers may be off by a step where one lies so near to a half between two
of them that a difference which is allowed leads to the other side. The reference is then computed with all of those on
the other side, and twice what has become of it is allowed of integers behind them, and a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from mote.ir.graph.graph import ABSENT, Graph, Op
from mote.ir.graph.tensor import Array

FLOAT_TOLERANCE = 1e-5
NOISE = FLOAT_TOLERANCE / 10
CANCELLED = 2.0**-21
"""8 roundings of float32: the sigmoid of ONNX Runtime is off by up to 2.8 of them, its GELU by 1.4."""

REALS = (np.float32, np.complex64)
"""NumPy's kinds of float and complex types."""


def largest(values: Array) -> float:
    """The largest absolute value among those that are numbers and finite."""
    return float(np.abs(values).max(initial=0.0, where=np.isfinite(values)))


def allowed_difference(want: Array, magnitude: float = 0.0) -> float:
    """By how much any element may differ from `want`, a tensor of this magnitude (at least that of its values)."""
    return FLOAT_TOLERANCE * (max(magnitude, largest(want)) if want.dtype in REALS else magnitude)


def compare(got: Array, want: Array, magnitude: float = 0.0) -> tuple[float, int]:
    """(largest absolute difference, number of elements that count as wrong) of a tensor of this magnitude. What is no
    number equals what is none either."""
    if want.dtype == np.complex64:
        got, want = (np.ascontiguousarray(x).view(np.float32) for x in (got, want))
    delta = np.zeros(want.shape)
    differs = (got != want) & ~((got != got) & (want != want))
    np.subtract(got, want, out=delta, where=differs, dtype=np.float64)
    delta = np.abs(delta)
    return float(delta.max(initial=0)), int(np.count_nonzero(~(delta <= allowed_difference(want, magnitude))))


def computes_floats(g: Graph) -> bool:
    """Whether any operator computes float32 from float32; where none does there is nothing to add up."""
    reads = (op for op in g.ops if any(t.dtype.real for t in op.activations(g)))
    return any(g.tensors[out].dtype.real for op in reads for out in op.outputs)


@dataclass
class Magnitudes:
    """The magnitudes of a graph's float32 tensors, inference after inference: states remember theirs."""

    graph: Graph
    values: Mapping[int, Array] = field(default_factory=dict)
    magnitudes: dict[int, float] = field(default_factory=dict)
    drifted: dict[int, Array] = field(default_factory=dict)
    """The values of tensors if every layer had a small error."""

    def step(self, values: Mapping[int, Array]) -> Mapping[int, float]:
        """The magnitudes by tensor in the next inference, in which the tensors have these values."""
        before, drifted, self.values = self.magnitudes, self.drifted, values
        self.magnitudes = {s.before: before[s.after] for s in self.graph.states if s.after in before}
        self.drifted = {s.before: drifted[s.after] for s in self.graph.states if s.after in drifted}
        noise = np.random.default_rng(0)
        for op in self.graph.ops:
            self._add(op)
            self._drift(op, noise)
            self._flip(op)
        codes = {t: self._steps_of(t) / FLOAT_TOLERANCE for t in self.drifted if t not in self.magnitudes}
        return {t: max(size, self._drift_of(t) / NOISE) for t, size in self.magnitudes.items()} | codes

    def _flip(self, op: Op) -> None:
        """An operator's outputs where floats close to a rounding boundary, or integers that were rounded from such, go
        the other way."""
        drifted = any(i in self.drifted for i in op.inputs if i != ABSENT)
        codes = [out for out in op.outputs if self.graph.tensors[out].dtype.integer]
        if not codes or op.bodies:
            return
        near = self._near(op)
        if not drifted and near is None:
            return
        given = [None if i == ABSENT else self._drifted(i) for i in op.inputs]
        results = dict(zip(op.outputs, op.evaluate(self.graph, given), strict=True))
        for out in codes:
            result = results[out].reshape(self.values[out].shape)
            if near is not None:
                near = near.reshape(result.shape)
                result = np.where(near == self.values[out], result, near).astype(result.dtype)
            if not np.array_equal(result, self.values[out]):
                self.drifted[out] = result

    def _near(self, op: Op) -> Array | None:
        """The codes on the other side of halves that are near; None where there are none, or that is not known."""
        if op.kind == "QUANTIZE":
            return self._nearest(op)
        constants = (None if i == ABSENT else self.graph.tensors[i].data for i in op.inputs)
        given = [self.values.get(i) if c is None else c for i, c in zip(op.inputs, constants, strict=True)]
        return op.unsure(self.graph, given)

    def _nearest(self, op: Op) -> Array | None:
        """Quantized codes of floats that are moved by the tolerance: up, or down where that gives another code."""
        source = op.inputs[0]
        if source not in self.magnitudes:
            return None
        off = FLOAT_TOLERANCE * max(self.magnitudes[source], self._drift_of(source) / NOISE)
        up, down = (op.evaluate(self.graph, [self.values[source] + np.float32(d)])[0] for d in (off, -off))
        shape = self.values[op.outputs[0]].shape
        return np.where(up != self.values[op.outputs[0]].reshape(up.shape), up, down).reshape(shape)

    def _steps_of(self, tensor: int) -> float:
        """By how many steps integers may differ, and half a one more, for what products with the tolerance lose."""
        drift = np.abs(self.drifted[tensor].astype(np.float64) - self.values[tensor].astype(np.float64))
        return 2 * float(drift.max(initial=0.0)) + 1.5

    def _drift(self, op: Op, noise: np.random.Generator) -> None:
        """Add an operator's outputs for inputs with accumulated errors, and its own error."""
        if not any(out in self.magnitudes for out in op.outputs):
            return
        results = op.evaluate(self.graph, [None if i == ABSENT else self._drifted(i) for i in op.inputs])
        for out, result in zip(op.outputs, results, strict=True):
            if out in self.magnitudes:
                shape = self.values[out].shape
                share = NOISE * self.magnitudes[out] * noise.choice([-1, 1], shape)
                with np.errstate(over="ignore"):  # of masks, which are as small as numbers can be
                    self.drifted[out] = result.reshape(shape) + share.astype(np.float32)

    def _drifted(self, tensor: int) -> Array:
        return self.drifted.get(tensor, self._value(tensor))

    def _drift_of(self, tensor: int) -> float:
        if tensor not in self.drifted:
            return 0.0
        with np.errstate(invalid="ignore"):  # infinite values have no difference
            return largest(self.drifted[tensor] - self.values[tensor])

    @cached_property
    def _absolute(self) -> Graph:
        """The graph with the absolute values of its float constants: its layers add up magnitudes."""
        known = self.graph.tensors.items()
        return replace(self.graph, tensors={i: replace(t, data=_absolute(t.data)) for i, t in known})

    def _add(self, op: Op) -> None:
        """The magnitudes of an operator's outputs."""
        floats = [out for out in op.outputs if self.graph.tensors[out].dtype.real]
        if not floats:
            return
        terms = op.terms(self._absolute, [None if i == ABSENT else self._terms(i) for i in op.inputs])
        sums = dict(zip(op.outputs, map(largest, terms), strict=False))
        inside = op.cancelled(self.graph, [None if i == ABSENT else self._value(i) for i in op.inputs])
        for out in floats:
            size = max(largest(self.values[out]), sums.get(out, 0.0))
            self.magnitudes[out] = max(size, inside * CANCELLED / FLOAT_TOLERANCE)

    def _value(self, tensor: int) -> Array:
        data = self.graph.tensors[tensor].data
        return self.values[tensor] if data is None else data

    def _terms(self, tensor: int) -> Array:
        """Absolute values of an input; one that has cancelled to nothing counts as its magnitude."""
        values = _absolute(self._value(tensor))
        assert values is not None
        nothing = values.dtype == np.float32 and not values.any()
        return np.full_like(values, self.magnitudes.get(tensor, 0.0)) if nothing else values


def _absolute(values: Array | None) -> Array | None:
    return np.abs(values) if values is not None and values.dtype in REALS else values
