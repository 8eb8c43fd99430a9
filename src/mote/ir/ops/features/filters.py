"""Filters of sampled signals, int16 [1, rows, unit, channels]: a row holds `unit` consecutive samples of interleaved
channels, and rows are consecutive in time."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from mote.ir.graph import Graph, Op
from mote.ir.graph.rows import inside
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.features.sequential import Sequential

LEAST, MOST = -(1 << 15), (1 << 15) - 1
EMPHASIS_BITS = 16
"""Fraction bits of the pre-emphasis factor."""
MEAN_BITS = 15
"""Fraction bits of the running mean of REMOVE_DC."""
SECTION_BITS = 30
"""Fraction bits of biquad coefficients."""
SIGNAL_BITS = 13
"""Fraction bits of samples between biquad sections."""
ROOM = 1 << 30
"""Samples between biquad sections are limited to -ROOM..ROOM - 1: four times full scale."""

Section = tuple[int, int, int, int, int]
"""Coefficients b0, b1, b2, a1, a2 of a biquad section, with SECTION_BITS fraction bits."""


def saturated(values: Array) -> Array:
    return np.clip(values, LEAST, MOST).astype(np.int16)


def lanes(shape: Shape, features: bool) -> int:
    """Number of independent signals with statistics of their own: the channels, or with `features` all values of a
    row."""
    return prod(shape[2:]) if features else shape[3]


def samples_problem(g: Graph, op: Op) -> str | None:
    """Why a filter's input and output tensors are not supported, or None."""
    x, y = op.input(g), op.output(g)
    if x.dtype == y.dtype == DType.INT16 and len(x.shape) == 4 and x.shape[0] == 1:
        return None
    return f"{y.dtype} outputs for {x.dtype} {x.shape} are not supported (only int16 [1, rows, unit, channels])"


def state_problem(g: Graph, op: Op, position: int, dtype: DType, shape: Shape) -> str | None:
    """Why a state's type or shape is not supported, or None."""
    state = op.input(g, position)
    if (state.dtype, state.shape) == (dtype, shape):
        return None
    return f"a state of {state.dtype} {state.shape} is not supported (only {dtype} {shape})"


class LookingBack(Op):
    """Base of filters without feedback: row y of the output reads `span` input rows, the last of them y * stride +
    `history`. Rows before the first are zeros. The first `history` input rows have no output: they are context for the
    first output."""

    history: int = 0

    def span(self, g: Graph) -> int:
        """Number of input rows that a row of the filter's output depends on."""
        raise NotImplementedError

    def stride(self, g: Graph) -> int:
        """Number of input rows between those of successive output rows (decimation)."""
        return 1

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        last, count = y * self.stride(g) + self.history, self.input(g).shape[1]
        return tuple(inside(row, count) for row in range(last - self.span(g) + 1, last + 1))


class PreEmphasis(LookingBack):
    """PRE_EMPHASIS: x[n] - factor * x[n - 1] per channel; the product is rounded halves up, and `factor` has
    EMPHASIS_BITS fraction bits."""

    factor: int
    kind = "PRE_EMPHASIS"

    def span(self, g: Graph) -> int:
        return 2

    def shapes(self, g: Graph) -> list[Shape]:
        one, rows, unit, channels = self.input(g).shape
        return [(one, rows - self.history, unit, channels)]

    def unsupported(self, g: Graph) -> str | None:
        return _factor_problem(self.factor) or samples_problem(g, self)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        return [_pre_emphasize(x.reshape(-1, x.shape[-1]), self.factor).reshape(x.shape)[:, self.history :]]


def _factor_problem(factor: int) -> str | None:
    one = 1 << EMPHASIS_BITS
    return None if 0 <= factor <= one else f"a factor of {factor / one:g} is not supported (0 to 1)"


def _pre_emphasize(samples: Array, factor: int) -> Array:
    """Samples minus factor times the preceding sample, which is zero for the first."""
    lines = samples.astype(np.int64)
    before = np.concatenate([np.zeros_like(lines[:1]), lines[:-1]])
    return saturated(lines - ((factor * before + (1 << EMPHASIS_BITS - 1)) >> EMPHASIS_BITS))


class PreEmphasisStream(Sequential):
    """PRE_EMPHASIS of a stream. Inputs: the signal, and the state: the last sample of each channel (int16)."""

    factor: int
    kind = "PRE_EMPHASIS_STREAM"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape, self.input(g, 1).shape]

    def unsupported(self, g: Graph) -> str | None:
        kept = self.input(g).shape[-1:]
        return _factor_problem(self.factor) or samples_problem(g, self) or state_problem(g, self, 1, DType.INT16, kept)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, last = values
        assert x is not None and last is not None
        lines = np.concatenate([last[None], x.reshape(-1, x.shape[-1])])
        return [_pre_emphasize(lines, self.factor)[1:].reshape(x.shape), lines[-1]]


class Fir(LookingBack):
    """FIR filter with decimation, per channel: y[m] = sum of taps[k] * x[m * decimation - k], rounded halves up and
    saturated; `taps` have `tap_bits` fraction bits. `decimation` divides the samples of a row, or is a multiple of
    them."""

    taps: tuple[int, ...]
    tap_bits: int
    decimation: int = 1
    kind = "FIR"

    def span(self, g: Graph) -> int:
        return 1 - (1 - len(self.taps)) // self.input(g).shape[2]

    def stride(self, g: Graph) -> int:
        return max(1, self.decimation // self.input(g).shape[2])

    def shapes(self, g: Graph) -> list[Shape]:
        one, rows, unit, channels = self.input(g).shape
        return [(one, (rows - self.history) // self.stride(g), max(1, unit // self.decimation), channels)]

    def unsupported(self, g: Graph) -> str | None:
        _, rows, unit, _ = self.input(g).shape
        if unit % self.decimation and self.decimation % unit:
            return f"decimation by {self.decimation} does not fit rows of {unit} samples"
        if (rows - self.history) % self.stride(g):
            return f"{rows - self.history} rows do not decimate by {self.decimation}"
        return _taps_problem(self.taps, self.tap_bits) or samples_problem(g, self)

    def macs(self, g: Graph) -> int:
        return len(self.taps) * self.output(g).size

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        _, rows, unit, channels = x.shape
        past = len(self.taps) - 1
        padded = np.concatenate([np.zeros((past, channels), x.dtype), x.reshape(-1, channels)])
        last = np.arange(self.history * unit, rows * unit, self.decimation, dtype=np.int64) + past
        out = max(1, unit // self.decimation)
        return [_convolve(padded, self.taps, self.tap_bits, last).reshape(1, -1, out, channels)]


class FirStream(Sequential):
    """FIR filter of a stream; `decimation` divides the samples of a row. Inputs: the signal, and the state: the last
    taps - 1 samples of each channel (int16)."""

    taps: tuple[int, ...]
    tap_bits: int
    decimation: int = 1
    kind = "FIR_STREAM"

    def shapes(self, g: Graph) -> list[Shape]:
        one, rows, unit, channels = self.input(g).shape
        return [(one, rows, unit // self.decimation, channels), self.input(g, 1).shape]

    def unsupported(self, g: Graph) -> str | None:
        unit, channels = self.input(g).shape[2:]
        if unit % self.decimation:
            return f"decimation by {self.decimation} does not fit rows of {unit} samples"
        if len(self.taps) < 2:
            return "a stream is filtered with two taps at least"
        kept = (channels * (len(self.taps) - 1),)
        problem = _taps_problem(self.taps, self.tap_bits) or samples_problem(g, self)
        return problem or state_problem(g, self, 1, DType.INT16, kept)

    def macs(self, g: Graph) -> int:
        return len(self.taps) * self.output(g).size

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, kept = values
        assert x is not None and kept is not None
        _, rows, unit, channels = x.shape
        lines = np.concatenate([kept.reshape(channels, -1).T, x.reshape(-1, channels)])
        last = np.arange(len(self.taps) - 1, len(lines), self.decimation, dtype=np.int64)
        y = _convolve(lines, self.taps, self.tap_bits, last).reshape(1, rows, unit // self.decimation, channels)
        return [y, lines[1 - len(self.taps) :].T.reshape(-1)]


def _taps_problem(taps: Sequence[int], bits: int) -> str | None:
    if not taps or not 0 <= bits <= 15 or not all(LEAST <= tap <= MOST for tap in taps):
        return "only int16 taps with 0 to 15 fraction bits are supported"
    if sum(map(abs, taps)) * -LEAST + (1 << bits) >= 1 << 31:
        return "sums of taps may leave 32 bits: their absolute values add up to 65535 or more"
    return None


def _convolve(samples: Array, taps: Sequence[int], bits: int, last: Array) -> Array:
    """Convolution: for each index in `last`, the taps times that sample and those before it, rounded and saturated."""
    lines = samples.astype(np.int64)
    sums = np.sum([tap * lines[last - k] for k, tap in enumerate(taps)], 0)
    return saturated((sums + (1 << bits >> 1)) >> bits)


class Biquads(Sequential):
    """BIQUADS: a cascade of biquads (second-order sections) per channel, in direct form I: y = b0 x + b1 x1 + b2 x2 -
    a1 y1 - a2 y2.

    Samples between sections have 13 fraction bits, accumulators 43. The truncation error of an accumulator is fed back,
    multiplied by -a1 and -a2 rounded to integers: this shapes the noise as the section shapes its input, so that
    cut-offs far below the sample rate are as precise as others. Inputs: the signal, and the state, int32 [channels * (2
    + 4 * sections)]: per channel the last two samples, and of each section its last two outputs and truncation errors.
    """

    sections: tuple[Section, ...]
    kind = "BIQUADS"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape, self.input(g, 1).shape]

    def kept(self, channels: int) -> Shape:
        """The shape of the filter's state for this number of channels."""
        return (channels * (2 + 4 * len(self.sections)),)

    @staticmethod
    def feedback(section: Section) -> tuple[int, int]:
        """Factors of the last two truncation errors: -a1 and -a2, rounded to integers."""
        one, (_, _, _, a1, a2) = 1 << SECTION_BITS, section
        return (one // 2 - a1) // one, (one // 2 - a2) // one

    def unsupported(self, g: Graph) -> str | None:
        one = 1 << SECTION_BITS
        for number, (b0, b1, b2, a1, a2) in enumerate(self.sections):
            if not all(-2 * one <= c < 2 * one for c in (b0, b1, b2)):
                return f"section {number}: b0, b1 and b2 must be at least -2 and less than 2"
            if not (abs(a2) < one and abs(a1) < one + a2):
                return f"section {number} is not stable"
            if abs(b0) + abs(b1) + abs(b2) + abs(a1) + abs(a2) >= 8 * one - 4:
                return f"section {number}: the absolute values of its coefficients add up to 8 or more"
        if not self.sections:
            return "a filter without sections is not supported"
        return samples_problem(g, self) or state_problem(g, self, 1, DType.INT32, self.kept(self.input(g).shape[-1]))

    def macs(self, g: Graph) -> int:
        return 5 * len(self.sections) * self.output(g).size

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, states = values
        assert x is not None and states is not None
        lines, after = x.reshape(-1, x.shape[-1]), list[int]()
        y = np.empty_like(lines)
        for c, state in enumerate(states.reshape(lines.shape[1], -1).tolist()):
            inputs, samples = state[:2], [sample << SIGNAL_BITS for sample in lines[:, c].tolist()]
            after += [*inputs[::-1], *samples][:-3:-1]
            for section, at in zip(self.sections, range(2, len(state), 4), strict=True):
                own = state[at : at + 4]
                samples, left = self._run(section, samples, inputs, own)
                inputs, after = own[:2], after + left
            y[:, c] = saturated((np.array(samples, np.int64) + (1 << SIGNAL_BITS - 1)) >> SIGNAL_BITS)
        return [y.reshape(x.shape), np.array(after, np.int32)]

    def _run(
        self, section: Section, samples: Sequence[int], inputs: Sequence[int], state: Sequence[int]
    ) -> tuple[list[int], list[int]]:
        """Run one section: returns its outputs and its new state, from its last two inputs (`inputs`) and its old state
        (`state`)."""
        (b0, b1, b2, a1, a2), (c1, c2) = section, self.feedback(section)
        (x1, x2), (y1, y2, e1, e2) = inputs, state
        outputs, wrap = [], 1 << 63
        for x in samples:
            total = b0 * x + b1 * x1 + b2 * x2 - a1 * y1 - a2 * y2 + c1 * e1 + c2 * e2
            total = (total + wrap) % (2 * wrap) - wrap
            y, cut = total >> SECTION_BITS, total % (1 << SECTION_BITS)
            if not -ROOM <= y < ROOM:
                y, cut = -ROOM if y < 0 else ROOM - 1, 0
            x1, x2, y1, y2, e1, e2 = x, x1, y, y1, cut, e1
            outputs.append(y)
        return outputs, [y1, y2, e1, e2]


class RemoveDc(Sequential):
    """REMOVE_DC: subtracts the running mean per channel: mean += (x - mean) / 2^shift, y = x - mean. A one-pole
    high-pass with its -3 dB point near rate / (2 pi 2^shift). With `features` each value of a row has a mean of its
    own. Inputs: the signal, and the state: the means as int32 with MEAN_BITS fraction bits."""

    shift: int
    features: bool = False
    kind = "REMOVE_DC"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape, self.input(g, 1).shape]

    def unsupported(self, g: Graph) -> str | None:
        if not 1 <= self.shift <= MEAN_BITS:
            return f"a shift of {self.shift} is not supported (1 to {MEAN_BITS})"
        kept = (lanes(self.input(g).shape, self.features),)
        return samples_problem(g, self) or state_problem(g, self, 1, DType.INT32, kept)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, means = values
        assert x is not None and means is not None
        half, lines = 1 << self.shift - 1, x.reshape(-1, len(means))
        y, after = np.empty_like(lines), np.clip(means, LEAST << MEAN_BITS, MOST << MEAN_BITS)
        for c, mean in enumerate(after.tolist()):
            line = []
            for sample in lines[:, c].tolist():
                mean += ((sample << MEAN_BITS) - mean + half) >> self.shift
                line.append(sample - ((mean + (1 << MEAN_BITS - 1)) >> MEAN_BITS))
            y[:, c], after[c] = saturated(np.array(line)), mean
        return [y.reshape(x.shape), after]
