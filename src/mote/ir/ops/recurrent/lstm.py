"""UNIDIRECTIONAL_SEQUENCE_LSTM with all features of LiteRT's float and integer kernels: coupled input and forget gates
(CIFG), peepholes, layer normalization, projection of the output, clipping.

The integer kernel computes gates in Q3.12, activations in Q0.15, and cells in 16 bits with a power-of-two scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints, quantize_multiplier, rescale, rounding_shift_right, wrap32
from mote.ir.graph.numeric.fixedpoint16 import ONE, inverse_sqrt, logistic16, saturate16, tanh16
from mote.ir.graph.ranges import Peak, Range, anything
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.common import (
    absolute_weights,
    activation_type,
    bias_values,
    hybrid,
    real_constant,
    rounded_inputs,
    scale_problem,
)
from mote.ir.ops.matrix.accumulators import vector_peak
from mote.ir.ops.recurrent.lstm_operands import (
    CELL,
    FORGET,
    GATES,
    HIDDEN,
    INPUT,
    MEMORY,
    NAMES,
    OUTPUT,
    PEEPHOLES,
    PROJECTION,
    PROJECTION_BIAS,
    operand_problem,
)

KIND = "UNIDIRECTIONAL_SEQUENCE_LSTM"
GATE_SCALE = 2.0**-12
EPSILON = 1e-8
"""Epsilon of float layer normalization, added to the variance."""

STEP = 200_000
"""Estimated cost of one time step in the reference, in multiplications."""

Scale = tuple[int, int]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Norm:
    """Layer normalization of an integer gate: the scale of its result, and the variance that replaces zero
    (`guard`)."""

    scale: Scale
    guard: int


class LstmLayer(Op):
    """An LSTM. Inputs: a sequence; of each gate input weights, recurrent weights, peephole weights and biases;
    projection; states; layer normalization weights. `intermediates`: scale and zero point of each gate before its
    normalization, and of the output before its projection (int8 only)."""

    time_major: bool
    cell_clip: float = 0.0
    projection_clip: float = 0.0
    intermediates: tuple[tuple[float, int], ...] = ()
    backward: bool = False
    """Whether the sequence is processed backwards: the other half of a bidirectional LSTM (float32 only)."""
    weights = 1 + FORGET

    @property
    def gates(self) -> list[int]:
        return [gate for gate in GATES if self.inputs[1 + gate] >= 0]

    @property
    def normalized(self) -> bool:
        return len(self.inputs) > 20 and self.inputs[20 + FORGET] >= 0

    def batch_and_time(self, g: Graph) -> tuple[int, int]:
        first, second, _ = self.input(g).shape
        return (second, first) if self.time_major else (first, second)

    def shapes(self, g: Graph) -> list[Shape]:
        outputs = self.input(g, 5 + OUTPUT).shape[1]
        return [(*self.input(g).shape[:-1], outputs), self.input(g, HIDDEN).shape, self.input(g, MEMORY).shape]

    def macs(self, g: Graph) -> int:
        matrices = [t for p in (*range(1, 9), PROJECTION) if (t := self.tensor(g, p)) is not None]
        return math.prod(self.batch_and_time(g)) * sum(t.size for t in matrices)

    def work(self, g: Graph) -> int:
        """Estimated cost in multiplications: time steps are sequential."""
        return self.macs(g) + STEP * math.prod(self.batch_and_time(g))

    def unsupported(self, g: Graph) -> str | None:
        if problem := activation_type(g, self):
            return problem
        quantized = self.input(g).dtype == DType.INT8
        if self.backward and (quantized or hybrid(g, self)):
            return "a backward sequence is only supported in float32, with float32 weights"
        for position in range(1, len(self.inputs)):
            t = self.tensor(g, position)
            if t is not None and (problem := operand_problem(t, position, quantized, hybrid(g, self))):
                return problem
        return self._integer_problem(g) if quantized else None

    def misjudged(self, g: Graph) -> str | None:
        """Why LiteRT is no reference: with merged directions, batch first, it uses wrong states for all sequences but
        the first."""
        merged = self.backward and self.output(g).inner
        if merged and not self.time_major and self.batch_and_time(g)[0] > 1:
            return "LiteRT mixes up the states of several batch-first sequences with merged directions"
        return rounded_inputs(g, self)

    def _integer_problem(self, g: Graph) -> str | None:
        cell, hidden = self.input(g, MEMORY), self.input(g, HIDDEN)
        if hidden.quant is None or cell.quant is None:
            return "the states have no quantization"
        if abs(math.log2(cell.scale) - self.cell_bits(g) + 15) > 1e-3 or not 0 <= self.cell_bits(g) <= 6:
            return f"the cells' scale is {cell.scale:g}, LiteRT wants a power of two from 2^-15 to 2^-9"
        needed = self.intermediates if self.normalized else self.intermediates[4:]
        if len(self.intermediates) != 5 or any(scale <= 0 for scale, _ in needed):
            return "the quantization of gates or of the hidden output is missing"
        outputs, cells = hidden.size, cell.size
        several = self.time_major and self.batch_and_time(g)[0] > 1
        has_peepholes = self.tensor(g, PEEPHOLES[OUTPUT]) is not None
        if has_peepholes and (outputs > cells or (outputs < cells and several)):
            return "peepholes with a projection are not supported (LiteRT mixes the cells up)"
        return scale_problem(*self._scales(g))

    def _scales(self, g: Graph) -> list[Scale]:
        """All requantization multipliers and shifts of an integer LSTM."""
        scales = [self.hidden_scale(), *(self.matrix_scale(g, position) for position in self.matrices(g))]
        scales += [self.peephole_scale(g, gate) for gate, p in PEEPHOLES.items() if self.tensor(g, p) is not None]
        return [*scales, *(self.norm(g, gate).scale for gate in self.gates if self.normalized)]

    def cell_bits(self, g: Graph) -> int:
        """Integer bits of the fixed-point LSTM cell."""
        return 15 + round(math.log2(self.input(g, MEMORY).scale))

    def gate_scale(self, gate: int) -> np.float32:
        return np.float32(self.intermediates[gate][0] if self.normalized else GATE_SCALE)

    def matrix_scale(self, g: Graph, position: int) -> Scale:
        """Multiplier and shift from the products of a weight matrix to the gate or output."""
        w = np.float32(self.input(g, position).scale)
        if position == PROJECTION:
            real = w * np.float32(self.intermediates[4][0]) / np.float32(self.input(g, HIDDEN).scale)
        else:
            x = self.input(g, 0 if position < 5 else HIDDEN)
            real = w * np.float32(x.scale) / self.gate_scale((position - 1) % 4)
        return quantize_multiplier(float(real))

    def peephole_scale(self, g: Graph, gate: int) -> Scale:
        cell = 2.0 ** (self.cell_bits(g) - 15)
        real = cell * self.input(g, PEEPHOLES[gate]).scale / float(self.gate_scale(gate))
        return quantize_multiplier(float(np.float32(real)))

    def hidden_scale(self) -> Scale:
        return quantize_multiplier(float(np.float32(2.0**-15 / self.intermediates[4][0] * 2.0**-15)))

    def norm(self, g: Graph, gate: int) -> Norm:
        real = np.float32(self.input(g, 20 + gate).scale)
        mult, shift = quantize_multiplier(float(real))
        return Norm((mult, shift + 12), max(1, int(np.float32(10000) * real)))

    def clips(self, g: Graph) -> tuple[int, int]:
        """Quantized clipping limits of cells and of the projection; 0: none."""
        cell = np.float32(self.cell_clip) / np.float32(self.input(g, MEMORY).scale)
        projection = np.float32(self.projection_clip) / np.float32(self.output(g).scale)
        return int(min(cell, np.float32(32767))), int(min(projection, np.float32(127)))

    def peak(self, g: Graph, inputs: Sequence[Range | None]) -> Peak | None:
        """Accumulator bounds of the matrix products; all later computations saturate at 16 bits."""
        if inputs[0] is None:
            return None
        peaks = []
        for position in self.matrices(g):
            w = self.input(g, position).data
            assert w is not None
            zero, bias = self.matrix_start(g, position)
            source = inputs[0] if position < 5 else anything(self.output(g))
            peaks.append(vector_peak(w, zero, bias, source, self.matrix_scale(g, position)[1]))
        return Peak(max(p.total for p in peaks), max(p.part for p in peaks))

    def matrices(self, g: Graph) -> list[int]:
        """Input positions of the LSTM's weight matrices."""
        gates = [position for gate in self.gates for position in (1 + gate, 5 + gate)]
        return gates if self.tensor(g, PROJECTION) is None else [*gates, PROJECTION]

    def matrix_start(self, g: Graph, position: int) -> tuple[int, Ints]:
        """Zero point of the vectors that a weight matrix is multiplied by, and the bias of each row."""
        if position == PROJECTION:
            zero, bias = -self.intermediates[4][1], self.tensor(g, PROJECTION_BIAS)
        else:
            zero = self.input(g, 0 if position < 5 else HIDDEN).zero_point
            bias = None if self.normalized or position >= 5 else self.tensor(g, 11 + position)
        return zero, bias_values(bias, self.input(g, position).shape[0])

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        values = self._real_values(g, values) if hybrid(g, self) else values
        x, hidden, cell = values[0], values[HIDDEN], values[MEMORY]
        assert x is not None and hidden is not None and cell is not None
        batch, time = self.batch_and_time(g)
        integer = x.dtype == np.int8
        h, c = (np.asarray(v.reshape(batch, -1), np.int64 if integer else np.float64) for v in (hidden, cell))
        by_time = (x if self.time_major else x.swapaxes(0, 1)).astype(h.dtype)
        out = np.empty((time, *h.shape), x.dtype)
        for t in reversed(range(time)) if self.backward else range(time):
            h, c = self._step(g, values, by_time[t], h, c)
            out[t] = h
        return [out if self.time_major else out.swapaxes(0, 1), h.astype(hidden.dtype), c.astype(cell.dtype)]

    def _step(self, g: Graph, values: Sequence[Array | None], x: Array, h: Array, cell: Array) -> tuple[Array, Array]:
        if x.dtype == np.int64:
            return self._integer_step(g, values, x, h, cell)
        return self.real_step(values, x, h, cell)

    def _real_values(self, g: Graph, values: Sequence[Array | None]) -> list[Array | None]:
        """The LSTM's inputs with integer weights dequantized."""
        small = (np.int8, np.int16)
        given = ((self.tensor(g, p), v) for p, v in enumerate(values))
        return [v if t is None or v is None or v.dtype not in small else real_constant(t, v) for t, v in given]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        """Magnitudes of outputs and cells (for tolerances): gates are at most 1."""
        values = self._real_values(g, absolute_weights(values, PROJECTION))
        w, bias, memory = values[PROJECTION], values[PROJECTION_BIAS], values[MEMORY]
        assert memory is not None
        magnitude = 1.0 if w is None else float(w.sum(axis=1).max()) + (0.0 if bias is None else float(bias.max()))
        return [np.full(self.output(g, p).shape, magnitude, np.float32) for p in (0, 1)] + [memory + np.float32(1)]

    def _integer_step(
        self, g: Graph, values: Sequence[Array | None], x: Ints, h: Ints, cell: Ints
    ) -> tuple[Ints, Ints]:
        """One time step of all sequences: the new outputs and cells."""
        bits = self.cell_bits(g)

        def product(position: int, vector: Ints, zero: int, bias: Array | None) -> Ints:
            w = values[position]
            assert w is not None
            sums = ((vector - zero).astype(np.float64) @ w.T.astype(np.float64)).astype(np.int64)
            total = sums if bias is None else sums + bias.astype(np.int64)
            return rescale(wrap32(total), *self.matrix_scale(g, position))

        def gate(number: int, cell: Ints) -> Ints:
            zero = self.input(g).zero_point, self.input(g, HIDDEN).zero_point
            bias = values[12 + number]
            gate_input = saturate16(product(1 + number, x, zero[0], None if self.normalized else bias))
            gate_input = saturate16(gate_input + product(5 + number, h, zero[1], None))
            peephole = values[PEEPHOLES[number]] if number in PEEPHOLES else None
            if peephole is not None:
                outputs = h.shape[-1]
                products = peephole[:outputs].astype(np.int64) * cell[:, :outputs]
                peephole_terms = rescale(products, *self.peephole_scale(g, number))
                gate_input[:, :outputs] = saturate16(gate_input[:, :outputs] + peephole_terms)
            if self.normalized:
                weights = values[20 + number]
                assert weights is not None and bias is not None
                norm = self.norm(g, number)
                gate_input = np.stack([normalize(line, weights, bias, norm) for line in gate_input])
            return tanh16(gate_input, 3) if number == CELL else logistic16(gate_input)

        cell_clip, projection_clip = self.clips(g)
        forget = gate(FORGET, cell)
        new = gate(INPUT, cell) if INPUT in self.gates else ONE - forget
        added = rounding_shift_right(new * gate(CELL, cell), 15 + bits)
        cell = saturate16(rounding_shift_right(forget * cell, 15) + added)
        if cell_clip:
            cell = np.clip(cell, -cell_clip, cell_clip)
        output = rescale(gate(OUTPUT, cell) * tanh16(cell, bits), *self.hidden_scale())
        zero = self.intermediates[4][1]
        if values[PROJECTION] is None:
            return np.clip(wrap32(output + zero), -128, 127), cell
        output = np.clip(wrap32(output - zero), -128, 127)
        projected = product(PROJECTION, output, -zero, values[PROJECTION_BIAS])
        y = np.clip(wrap32(projected + self.input(g, HIDDEN).zero_point), -128, 127)
        return np.clip(y, -projection_clip, projection_clip) if projection_clip else y, cell

    def real_step(
        self,
        values: Sequence[Array | None],
        x: Floats,
        h: Floats,
        cell: Floats,
        see: Callable[[str, Floats], None] = lambda name, value: None,
    ) -> tuple[Floats, Floats]:
        """One time step of all sequences in floats: the new outputs and cells. Callback `see(name, value)` receives
        each gate before its normalization, and the `hidden` output before its projection."""

        def gate(number: int, cell: Floats) -> Floats:
            w, r, bias = values[1 + number], values[5 + number], values[12 + number]
            assert w is not None and r is not None and bias is not None
            gate_input = x @ w.T + h @ r.T
            peephole = values[PEEPHOLES[number]] if number in PEEPHOLES else None
            if peephole is not None:
                gate_input = gate_input + peephole * cell
            if self.normalized:
                weights = values[20 + number]
                assert weights is not None
                see(NAMES[number], gate_input)
                centred = gate_input - gate_input.mean(axis=-1, keepdims=True)
                gate_input = centred / np.sqrt(gate_input.var(axis=-1, keepdims=True) + EPSILON) * weights
            gate_input = gate_input + bias
            return np.tanh(gate_input) if number == CELL else 1 / (1 + np.exp(-gate_input))

        forget = gate(FORGET, cell)
        new = gate(INPUT, cell) if INPUT in self.gates else 1 - forget
        cell = forget * cell + new * gate(CELL, cell)
        if self.cell_clip > 0:
            cell = np.clip(cell, -self.cell_clip, self.cell_clip)
        output = gate(OUTPUT, cell) * np.tanh(cell)
        projection, bias = values[PROJECTION], values[PROJECTION_BIAS]
        if projection is None:
            return output, cell
        see("hidden", output)
        y = output @ projection.T + (0 if bias is None else bias)
        return np.clip(y, -self.projection_clip, self.projection_clip) if self.projection_clip > 0 else y, cell


class Lstm(LstmLayer):
    """An LSTM whose states persist between inferences."""

    kind = KIND

    @property
    def updates(self) -> dict[int, int]:
        return {1: HIDDEN, 2: MEMORY}


class StatelessLstm(LstmLayer):
    """An int8 LSTM that starts each inference with the states given as inputs."""

    kind = KIND

    def shapes(self, g: Graph) -> list[Shape]:
        return super().shapes(g)[:1]

    def unsupported(self, g: Graph) -> str | None:
        if self.input(g).dtype != DType.INT8 or self.normalized:
            return "an LSTM whose states do not persist is only supported in int8, without normalization"
        return super().unsupported(g)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return super().evaluate(g, values)[:1]


def normalize(gate: Ints, weights: Array, bias: Array, norm: Norm) -> Ints:
    """Layer normalization of an integer gate: mean 0, variance 1, weighted, in Q3.12."""
    n = len(gate)
    mean = _quotient(int(gate.sum()) * 1024, n)
    variance = _quotient(int((gate * gate).sum()) * ((1 << 20) // n) - mean * mean, 1 << 20)
    scale = inverse_sqrt(variance if variance >= 1 else norm.guard)
    centred = rescale(1024 * gate - mean, *scale)
    weighted = wrap32(centred * weights.astype(np.int64) + bias.astype(np.int64))
    rounded = np.sign(weighted) * ((np.abs(weighted) + 512) // 1024)
    return saturate16(rescale(rounded, *norm.scale))


def _quotient(a: int, b: int) -> int:
    """Integer division as in C (rounded towards zero)."""
    return abs(a) // b * (1 if a >= 0 else -1)
