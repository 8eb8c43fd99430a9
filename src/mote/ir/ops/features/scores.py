"""Scores of a model over time, and decisions made of them: averages, events, the best class, thresholds.

Scores are the elements of a model's output. Quantized ones stay integers; the scales of sums and of fixed-point
averages take the divisions, so that averages of integers are exact. Before the first inference all scores are 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from mote.base.errors import MoteError
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType

SCORES = (DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.FLOAT32)
"""The types of scores: of models, and of sums and averages of theirs."""
MODEL_SCORES = (DType.INT8, DType.UINT8, DType.INT16, DType.FLOAT32)
"""The types of scores that models give."""
MOST_AVERAGED = 4096
"""Inferences of a moving average, at most: sums of int16 scores fit 32 bits."""
WEIGHT_BITS = 15
"""Fraction bits of the weight of an exponential average."""
LONGEST_HISTORY = 31
"""Inferences that a debounced detection can look back."""
MOST_INFERENCES = (1 << 31) - 1
"""The longest wait, in inferences."""

EVENT, CLASS, SCORE, ACTIVE = range(4)
"""The numbers that `Detect` gives."""


@dataclass(frozen=True)
class ScoreUnit:
    """The exact meaning of score codes: real = scale * (code - zero)."""

    scale: Fraction
    zero: int

    @staticmethod
    def of(tensor: Tensor) -> ScoreUnit | None:
        """The unit of a quantized tensor; None for floats, which are real values."""
        return None if tensor.dtype.real else ScoreUnit(Fraction(tensor.scale), tensor.zero_point)

    def highest_below(self, real: float) -> int:
        """The largest code whose real value is not above a number: a code is greater than it if and only if its real
        value is greater than the number."""
        return math.floor(Fraction(real) / self.scale) + self.zero


def threshold_code(real: float, unit: ScoreUnit | None, dtype: DType) -> float:
    """The number that scores of this type are compared with, so that one exceeds it if and only if its real value
    exceeds the threshold. Raises MoteError for thresholds that all codes exceed, or none."""
    if unit is None:
        nearest = np.float32(real)
        return float(nearest if float(nearest) <= real else np.nextafter(nearest, np.float32(-np.inf)))
    code, (low, high) = unit.highest_below(real), dtype.limits
    if low <= code < high:
        return code
    ends = sorted(float(unit.scale * (end - unit.zero)) for end in (low, high))
    raise MoteError(
        f"{'no' if code >= high else 'every'} score exceeds {real:g}: they are from {ends[0]:.6g} to {ends[1]:.6g}",
        where="option postprocess",
        remedy="choose one between them: mote fit-threshold learns it from data",
    )


def typed(g: Graph, op: Op, types: Sequence[DType], output: DType | None = None) -> str | None:
    """Why an operator cannot take its scores, or give its results, in the types that they have; or None."""
    x, y = op.input(g), op.output(g)
    wanted = x.dtype if x.dtype.real else output or x.dtype
    if x.dtype in types and y.dtype == wanted:
        return None
    return f"{x.dtype} scores with {y.dtype} results are not supported (scores: {', '.join(types)})"


def bounded(counter: int | np.integer[Any], most: int) -> int:
    """A counter of a state, which a caller may have restored as anything."""
    return min(max(int(counter), 0), most)


class ScoreOp(Op):
    """An operator on a model's scores, from one inference to the next."""


class MovingAverage(ScoreOp):
    """The sums of scores over the last `count` inferences, which are `count` times their average; of floats the average
    itself. Inputs: scores, the ring of the last ones [count, scores], and the ring's position, behind which integers
    have their sums. Outputs: sums, and both states."""

    count: int
    kind = "MovingAverage"

    @property
    def updates(self) -> dict[int, int]:
        return {1: 1, 2: 2}

    def shapes(self, g: Graph) -> list[Shape]:
        x = self.input(g)
        return [x.shape, (self.count, x.size), (1 if x.dtype.real else x.size + 1,)]

    def unsupported(self, g: Graph) -> str | None:
        return typed(g, self, MODEL_SCORES, DType.INT32)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, ring, sums = values
        assert x is not None and ring is not None and sums is not None
        at = int(sums[0]) if 0 <= sums[0] < self.count else 0
        kept, after = ring.copy(), sums.copy()
        kept[at] = x.reshape(-1)
        after[0] = (at + 1) % self.count
        if x.dtype == np.float32:
            total = np.zeros(x.size, np.float32)
            for line in kept:
                total = total + line
            return [total * np.float32(1 / self.count), kept, after]
        change = x.reshape(-1).astype(np.int64) - ring[at]
        after[1:] = (sums[1:].astype(np.int64) + change).astype(np.int32)
        return [after[1:], kept, after]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.evaluate(g, values)


class ExponentialAverage(ScoreOp):
    """A share of each new score and the rest of the average before it. Inputs: scores and the averages, in fixed point
    with `fraction` bits less their zero point; output: the averages after the inference, and again as state. Of floats
    they are floats."""

    weight: int
    """The share of a new score, of 2^15."""
    fraction: int
    kind = "ExponentialAverage"

    @property
    def updates(self) -> dict[int, int]:
        return {1: 1}

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape, (self.input(g).size,)]

    def unsupported(self, g: Graph) -> str | None:
        return typed(g, self, MODEL_SCORES, DType.INT32)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, before = values
        assert x is not None and before is not None
        if x.dtype == np.float32:
            share = np.float32(self.weight / (1 << WEIGHT_BITS))
            after = before + share * (x.reshape(-1) - before)
            return [after, after]
        new = (x.reshape(-1).astype(np.int64) - self.input(g).zero_point) << self.fraction
        step = ((new - before) * self.weight + (1 << (WEIGHT_BITS - 1))) >> WEIGHT_BITS
        now = (before + step).astype(np.int32)
        return [now, now]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, before = values
        assert x is not None and before is not None
        size = before + x.reshape(-1)
        return [size, size]


class Decision(ScoreOp):
    """A decision on scores (input 0): rows of numbers, each with a name. The score among them has the unit of the
    scores."""

    numbers: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Names of the numbers, and their meanings."""
    noticed: ClassVar[tuple[str, str]] = ("", "")
    """The number of the first row that says that there is something, and the comparison in C behind it."""

    def scores(self, g: Graph) -> Tensor:
        """The scores that it decides on."""
        return self.input(g)


class Detect(Decision):
    """Events of one class: an event begins where the score of `place` exceeds `above`, as it did in at least `least` of
    the last `window` inferences, and ends once the score has not exceeded `release` for more than `hold` inferences.
    No event begins in the `refractory` inferences after the beginning of one. Inputs: scores, and the state: the bits
    of recent inferences above the threshold, 1 + the inferences below the release level while an event is active (0
    else), and the inferences in which no event may begin. Outputs: whether an event begins now; the class while one is
    active, -1 else; the score; and whether an event is active; then the state."""

    place: int
    above: float
    release: float
    hold: int = 0
    refractory: int = 0
    least: int = 1
    window: int = 1
    kind = "Detect"
    numbers = (
        ("EVENT", "1 in the inference in which an event begins"),
        ("CLASS", "the class while an event is active, else -1"),
        ("SCORE", "the score of the class"),
        ("ACTIVE", "1 while an event is active"),
    )
    noticed = "EVENT", ""

    @property
    def updates(self) -> dict[int, int]:
        return {1: 1}

    def shapes(self, g: Graph) -> list[Shape]:
        return [(4,), (3,)]

    def unsupported(self, g: Graph) -> str | None:
        return typed(g, self, SCORES, DType.INT32)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, state = values
        assert x is not None and state is not None
        score = x.reshape(-1)[self.place]
        over = bool(score > np.array(self.above, x.dtype))
        held = bool(score > np.array(self.release, x.dtype))
        history, low, wait = int(state[0]), bounded(state[1], self.hold + 1), bounded(state[2], self.refractory)
        if low:
            history, low = 0, 1 if held else low + 1 if low <= self.hold else 0
            event = False
        else:
            history = (history << 1 | over) & ((1 << self.window) - 1)
            event = over and not wait and history.bit_count() >= self.least
        low, history = (1, 0) if event else (low, history)
        wait = self.refractory if event else max(wait - 1, 0)
        kept = np.array([history, low, wait], np.int32)
        return [np.array([event, self.place if low else -1, score, low > 0], self.output(g).dtype.numpy), kept]


class BestClass(Decision):
    """The class with the highest score, the first of equals. Where its score does not exceed `above`, where it is the
    `background` class, and in the `refractory` inferences after one that was given: -1. Inputs: scores, and the
    inferences left in which none is given. Outputs: the class and its score, then the state."""

    above: float
    refractory: int = 0
    background: int = -1
    kind = "BestClass"
    numbers = (("CLASS", "the class with the highest score, or -1"), ("SCORE", "its score"))
    noticed = "CLASS", " >= 0"

    @property
    def updates(self) -> dict[int, int]:
        return {1: 1}

    def shapes(self, g: Graph) -> list[Shape]:
        return [(2,), (1,)]

    def unsupported(self, g: Graph) -> str | None:
        return typed(g, self, SCORES, DType.INT32)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, state = values
        assert x is not None and state is not None
        scores, wait = x.reshape(-1), bounded(state[0], self.refractory)
        best = 0
        for place in range(1, scores.size):
            best = place if scores[place] > scores[best] else best
        given = wait == 0 and best != self.background and bool(scores[best] > np.array(self.above, x.dtype))
        after = self.refractory if given else max(wait - 1, 0)
        shown = np.array([best if given else -1, scores[best]], self.output(g).dtype.numpy)
        return [shown, np.array([after], np.int32)]


class Threshold(Decision):
    """Whether each score exceeds `above`, 0 or 1, and behind that the score."""

    above: float
    kind = "Threshold"
    numbers = (("ABOVE", "1 where the score is above the threshold"), ("SCORE", "the score"))
    noticed = "ABOVE", ""

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.input(g).size, 2)]

    def unsupported(self, g: Graph) -> str | None:
        return typed(g, self, SCORES, DType.INT32)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (x,) = values
        assert x is not None
        scores = x.reshape(-1)
        over = scores > np.array(self.above, x.dtype)
        return [np.stack([over.astype(self.output(g).dtype.numpy), scores], 1)]
