"""Tolerance for float32 tensors: how far results may be from the reference because of rounding alone.

Two programs that sum the same terms in different orders differ by rounding errors of the terms and partial sums, not of
the result: where terms cancel, the result is small but the difference is not. So the tolerance of a tensor is
FLOAT_TOLERANCE times its *magnitude*: the largest sum of absolute values of the terms of one of its elements. If the
tensor is no sum, its magnitude is its largest absolute value, except for functions that some runtimes compute as sums
whose terms cancel (a sigmoid near 0 as (1 + tanh(x / 2)) / 2): these may be off by CANCELLED of the terms.

A layer also propagates the errors of its inputs, and these grow or shrink through many layers. That depends on the
network, so it is measured: the reference runs a second time with noise added in every layer, a tenth of the layer's
tolerance; ten times the resulting difference is allowed at each tensor.

Floats that are quantized may be off by one code if they are so near the midpoint of two codes that an allowed
difference changes the rounding. The reference then also runs with all of these on the other side, and twice the
resulting difference, plus one step, is allowed in the integers computed from them.
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
"""8 rounding errors of float32: ONNX Runtime's sigmoid is off by up to 2.8 of them, its GELU by 1.4."""

REALS = (np.float32, np.complex64)
"""NumPy types of float and complex tensors."""


def largest(values: Array) -> float:
    """The largest absolute value among the finite elements."""
    return float(np.abs(values).max(initial=0.0, where=np.isfinite(values)))


def allowed_difference(want: Array, magnitude: float = 0.0) -> float:
    """Tolerance of each element of a tensor with reference values `want` and this magnitude (at least that of
    `want`)."""
    return FLOAT_TOLERANCE * (max(magnitude, largest(want)) if want.dtype in REALS else magnitude)


def compare(got: Array, want: Array, magnitude: float = 0.0) -> tuple[float, int]:
    """(largest absolute difference, number of elements out of tolerance) for a tensor of this magnitude. NaN equals
    NaN."""
    if want.dtype == np.complex64:
        got, want = (np.ascontiguousarray(x).view(np.float32) for x in (got, want))
    delta = np.zeros(want.shape)
    differs = (got != want) & ~((got != got) & (want != want))
    np.subtract(got, want, out=delta, where=differs, dtype=np.float64)
    delta = np.abs(delta)
    return float(delta.max(initial=0)), int(np.count_nonzero(~(delta <= allowed_difference(want, magnitude))))


def computes_floats(g: Graph) -> bool:
    """Whether any operator computes floats from floats; if not, there are no float rounding errors to accumulate."""
    reads = (op for op in g.ops if any(t.dtype.real for t in op.activations(g)))
    return any(g.tensors[out].dtype.real for op in reads for out in op.outputs)


@dataclass
class Magnitudes:
    """Magnitudes of a graph's float32 tensors over successive inferences: those of states are carried along."""

    graph: Graph
    values: Mapping[int, Array] = field(default_factory=dict)
    magnitudes: dict[int, float] = field(default_factory=dict)
    drifted: dict[int, Array] = field(default_factory=dict)
    """Tensor values by id in a run with small errors added in every layer."""

    def step(self, values: Mapping[int, Array]) -> Mapping[int, float]:
        """Magnitudes by tensor id for the next inference, given the reference values of all tensors."""
        before, drifted, self.values = self.magnitudes, self.drifted, values
        self.magnitudes = {s.before: before[s.after] for s in self.graph.states if s.after in before}
        self.drifted = {s.before: drifted[s.after] for s in self.graph.states if s.after in drifted}
        noise = np.random.default_rng(0)
        for op in self.graph.ops:
            self._add_magnitudes(op)
            self._drift(op, noise)
            self._drift_codes(op)
        codes = {t: self._steps_of(t) / FLOAT_TOLERANCE for t in self.drifted if t not in self.magnitudes}
        return {t: max(size, self._drift_of(t) / NOISE) for t, size in self.magnitudes.items()} | codes

    def _drift_codes(self, op: Op) -> None:
        """Add an operator's integer outputs for the case that inputs near a rounding boundary were rounded the other
        way."""
        drifted = any(i in self.drifted for i in op.inputs if i != ABSENT)
        codes = [out for out in op.outputs if self.graph.tensors[out].dtype.integer]
        if not codes or op.bodies:
            return
        alternatives = self._alternatives(op)
        if not drifted and alternatives is None:
            return
        inputs = [None if i == ABSENT else self._drifted(i) for i in op.inputs]
        results = dict(zip(op.outputs, op.evaluate(self.graph, inputs), strict=True))
        for out in codes:
            result = results[out].reshape(self.values[out].shape)
            if alternatives is not None:
                alternatives = alternatives.reshape(result.shape)
                result = np.where(alternatives == self.values[out], result, alternatives).astype(result.dtype)
            if not np.array_equal(result, self.values[out]):
                self.drifted[out] = result

    def _alternatives(self, op: Op) -> Array | None:
        """Alternative output codes for values near a rounding boundary; None if there are none or they are unknown."""
        if op.kind == "QUANTIZE":
            return self._shifted_codes(op)
        constants = (None if i == ABSENT else self.graph.tensors[i].data for i in op.inputs)
        inputs = [self.values.get(i) if c is None else c for i, c in zip(op.inputs, constants, strict=True)]
        return op.alternative_codes(self.graph, inputs)

    def _shifted_codes(self, op: Op) -> Array | None:
        """Output codes of QUANTIZE for inputs shifted by the tolerance: upwards, or downwards where upwards changes
        nothing."""
        source = op.inputs[0]
        if source not in self.magnitudes:
            return None
        off = FLOAT_TOLERANCE * max(self.magnitudes[source], self._drift_of(source) / NOISE)
        up, down = (op.evaluate(self.graph, [self.values[source] + np.float32(d)])[0] for d in (off, -off))
        shape = self.values[op.outputs[0]].shape
        return np.where(up != self.values[op.outputs[0]].reshape(up.shape), up, down).reshape(shape)

    def _steps_of(self, tensor: int) -> float:
        """Tolerance in steps of an integer tensor, plus half a step against rounding in the product with
        FLOAT_TOLERANCE."""
        drift = np.abs(self.drifted[tensor].astype(np.float64) - self.values[tensor].astype(np.float64))
        return 2 * float(drift.max(initial=0.0)) + 1.5

    def _drift(self, op: Op, noise: np.random.Generator) -> None:
        """Add an operator's float outputs for inputs with accumulated errors, plus noise for its own error."""
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
        """The graph with absolute values of its float constants: its layers sum magnitudes."""
        known = self.graph.tensors.items()
        return replace(self.graph, tensors={i: replace(t, data=_absolute(t.data)) for i, t in known})

    def _add_magnitudes(self, op: Op) -> None:
        """Add the magnitudes of an operator's float outputs."""
        floats = [out for out in op.outputs if self.graph.tensors[out].dtype.real]
        if not floats:
            return
        terms = op.terms(self._absolute, [None if i == ABSENT else self._terms(i) for i in op.inputs])
        sums = dict(zip(op.outputs, map(largest, terms), strict=False))
        inside = op.cancelled_magnitude(self.graph, [None if i == ABSENT else self._value(i) for i in op.inputs])
        for out in floats:
            size = max(largest(self.values[out]), sums.get(out, 0.0))
            self.magnitudes[out] = max(size, inside * CANCELLED / FLOAT_TOLERANCE)

    def _value(self, tensor: int) -> Array:
        data = self.graph.tensors[tensor].data
        return self.values[tensor] if data is None else data

    def _terms(self, tensor: int) -> Array:
        """Absolute values of a tensor; if all are 0 (cancelled terms), its magnitude in every element."""
        values = _absolute(self._value(tensor))
        assert values is not None
        nothing = values.dtype == np.float32 and not values.any()
        return np.full_like(values, self.magnitudes.get(tensor, 0.0)) if nothing else values


def _absolute(values: Array | None) -> Array | None:
    return np.abs(values) if values is not None and values.dtype in REALS else values
