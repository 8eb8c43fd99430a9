"""A signal on its way to the model: integers of a graph under construction, which steps add operators to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from math import gcd
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.frontends.features.sample import WHERE
from mote.ir.graph import Graph, Op, State, Tensor
from mote.ir.graph.tensor import Array, Quantization, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis
from mote.ir.ops.control.custom import DEFINITIONS, Custom
from mote.ir.ops.control.state import SlidingWindow
from mote.ir.ops.features.channels import Mono
from mote.ir.ops.features.scaling import AffineLine, AffineMap
from mote.ir.ops.features.spectral import DivideByPeak
from mote.ir.ops.windows.pool import MaxPool

ROWS = 1
"""The axis along which rows follow one another in time, or from top to bottom."""


EXACT, TWO = 53, 46
"""Bits of a product that is exact in float64, and of a number that two floats hold."""


@dataclass
class SignalBuilder:
    """The operators that steps have added so far, over tensors with ids from `first` on."""

    first: int = 0
    streaming: bool = False
    """An inference gets new rows only, and what operators look back at is kept in sliding windows."""
    surveying: bool = False
    """Nothing is computed: steps are asked in which units they take samples."""
    length: int = 0
    """Samples of a clip, where a step says it; 0: as many as the model's windows take."""
    slide: int = 0
    """New rows of features between two inferences, where windows overlap; 0: all of a window."""
    unit: int = 0
    """The largest number of raw samples that all windows and hops are multiples of; 0: there are none."""
    tensors: dict[int, Tensor] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    looks_back: int = 0
    """Raw samples before the new ones that an inference depends on."""

    def tensor(self, name: str, shape: Shape, dtype: DType, quant: Quantization | None = None) -> Tensor:
        """A new tensor."""
        made = Tensor(self.first + len(self.tensors), name, shape, dtype, quant)
        self.tensors[made.id] = made
        return made

    def add(
        self,
        kind: type[Op],
        *inputs: Tensor,
        dtype: DType,
        quant: Quantization | None = None,
        states: Sequence[Array] = (),
        name: str = "",
        **attributes: Any,
    ) -> Tensor:
        """The output of a new operator. Its inputs are these and the states before the inference, its outputs the
        result and the states after it."""
        name = name or kind.kind
        before = [self.tensor(f"{name} state", x.shape, DType(x.dtype.name)) for x in states]
        after = [self.tensor(x.name, x.shape, x.dtype) for x in before]
        number = self.first + len(self.tensors)
        op = kind(
            inputs=tuple(t.id for t in (*inputs, *before)),
            outputs=(number, *(t.id for t in after)),
            name=name,
            **attributes,
        )
        unknown = Tensor(number, name, (), dtype)
        shape = op.shapes(Graph("", {**self.tensors, number: unknown}, (), (), ()))[0]
        made = self.tensor(name, shape, dtype, quant)
        assert made.id == number
        self.states += [State(b.id, a.id, x) for b, a, x in zip(before, after, states, strict=True)]
        self.ops.append(op)
        return made

    def window(self, new: Tensor, rows: int) -> Tensor:
        """The last `rows` rows of a stream of new ones; zeros before it begins."""
        shape = (*new.shape[:ROWS], rows, *new.shape[ROWS + 1 :])
        before, after = (self.tensor(f"{new.name} window", shape, new.dtype, new.quant) for _ in "ab")
        self.states.append(State(before.id, after.id, np.zeros(shape, new.dtype.numpy)))
        self.ops.append(SlidingWindow(inputs=(before.id, new.id), outputs=(after.id,), name=after.name, axis=ROWS))
        return after

    def graph(self, given: Tensor, made: Tensor, name: str) -> Graph:
        """From the raw input to the result."""
        states = tuple(self.states)
        return Graph(name, dict(self.tensors), tuple(self.ops), (given.id,), (made.id,), states).verify()


def fixed_point(fraction: int) -> Quantization:
    """Integers with so many bits behind the binary point."""
    return Quantization(np.array([2.0**-fraction], np.float32), np.zeros(1, np.int64))


class SignalKind(StrEnum):
    """The meaning of a signal's values."""

    SAMPLES = "samples"
    FEATURES = "features"
    IMAGE = "image"


@dataclass(frozen=True)
class Signal:
    """The integers that a model's input is made of, so far: samples `[1, rows, samples of a row, channels]`, features
    `[1, rows, features, 1]`, or an image `[1, height, width, channels]`."""

    builder: SignalBuilder
    tensor: Tensor
    kind: SignalKind
    fraction: int = 0
    """Bits behind the binary point: a value is integer * 2^-fraction."""
    rate: float = 0.0
    """Samples a second; of features, of the samples that they are made of."""
    span: int = 1
    period: int = 1
    """Raw samples that the first sample, or row of features, is made of, and from one to the next."""
    peak: Tensor | None = None
    """The samples of the clip by the largest of which values are still to be divided."""
    affine: AffineLine | None = None
    """The element-wise steps behind the integers."""

    @property
    def channels(self) -> int:
        """Values that element-wise steps may have a parameter for each of."""
        return self.tensor.shape[2 if self.kind is SignalKind.FEATURES else 3]

    @property
    def name(self) -> str:
        """The name of the signal in messages."""
        return f"the signal of {self.kind}"

    @property
    def rows(self) -> int:
        return self.tensor.shape[ROWS]

    @property
    def unit(self) -> int:
        """Samples of a row."""
        return self.tensor.shape[2]

    def refuse(self, reason: str, remedy: str = "") -> MoteError:
        return MoteError(reason, where=WHERE, remedy=remedy)

    def integers(self, step: str, *kinds: SignalKind) -> Signal:
        """The signal, if it is of one of these kinds and no element-wise step came before."""
        if self.kind not in kinds:
            raise self.refuse(f"{step} takes {' or '.join(kinds)}, and gets {self.kind}", "change the order of steps")
        if self.affine is not None:
            raise self.refuse(
                f"{step} comes after scale, offset, mean, std or clip, which belong behind all other steps",
                "move it before them",
            )
        return self

    def mono(self) -> Signal:
        """The mean of the channels."""
        return self if self.channels == 1 else self.then(Mono)

    def then(self, kind: type[Op], *others: Tensor, **attributes: Any) -> Signal:
        """The signal after one more operator, with the same type, fraction and rows unless `dtype`, `fraction` or the
        operator say otherwise; see `SignalBuilder.add`."""
        given: dict[str, Any] = {"dtype": self.tensor.dtype, "fraction": self.fraction, **attributes}
        fraction = given.pop("fraction")
        made = self.builder.add(kind, self.tensor, *others, quant=fixed_point(fraction), **given)
        return replace(self, tensor=made, fraction=fraction)

    def custom(self, code: str, dtype: str = "int16", fraction: int = 0, *, frame: int = 0, **options: Any) -> Signal:
        """The signal after an operator that the user has defined (`mote.register`), with these options. Where it makes
        features, each row of them is made of `frame` samples."""
        if code not in DEFINITIONS:
            raise self.refuse(f"there is no operator '{code}'", "define it with mote.register, in the same --plugin")
        given: dict[str, Any] = {"definition": DEFINITIONS[code], "options": options, "name": code}
        if not frame:
            return self.then(Custom, dtype=DType(dtype), fraction=fraction, **given)
        samples = self.framed(frame, frame)
        if self.unit != frame and not self.builder.surveying:
            raise self.refuse(
                f"{code} takes rows of {frame} samples, and other steps or the clip's length cut rows of {self.unit}",
                f"let windows, hops and length be multiples of {frame}",
            )
        made = self.builder.add(Custom, samples, dtype=DType(dtype), quant=fixed_point(fraction), **given)
        return self.features(made, frame, frame, fraction)

    def history(self, samples: int) -> tuple[Tensor, int]:
        """The tensor with as many rows before the new ones as hold `samples`, and how many these are: none in a clip,
        whose operators find nothing before its first row."""
        rows = -(-samples // self.unit)
        if not self.builder.streaming or not rows:
            return self.tensor, 0
        self.builder.looks_back += samples * self.period
        return self.builder.window(self.tensor, rows + self.rows), rows

    def framed(self, frame: int, hop: int) -> Tensor:
        """The samples that windows of `frame` samples every `hop` are made of; says in which units rows must come."""
        if frame < 1 or hop < 1:
            raise self.refuse(f"windows of {frame} samples every {hop} cannot be", "give positive numbers of samples")
        self.builder.unit = gcd(self.builder.unit, frame * self.period, hop * self.period)
        return self.history(max(frame - hop, 0))[0]

    def features(self, tensor: Tensor, frame: int, hop: int, fraction: int) -> Signal:
        """Rows of features made of windows of `frame` samples every `hop`."""
        return replace(
            self,
            tensor=tensor,
            kind=SignalKind.FEATURES,
            fraction=fraction,
            span=self.span + (frame - 1) * self.period,
            period=hop * self.period,
        )

    def over_peak(self) -> Signal:
        """The signal, to be divided by its largest sample."""
        self.integers("peak", SignalKind.SAMPLES)
        if self.builder.streaming:
            raise self.refuse("peak takes a clip, and a stream has no end", "leave it out")
        return replace(self, peak=self.tensor)

    def largest(self) -> Tensor:
        """The largest sample of those by which values are to be divided."""
        assert self.peak is not None
        sound = self.peak
        if sound.shape[3] > 1:
            sound = self.builder.add(Mono, sound, dtype=sound.dtype, quant=sound.quant)
        whole: dict[str, Any] = {"vertical": Axis(sound.shape[ROWS]), "horizontal": Axis(sound.shape[2])}
        return self.builder.add(MaxPool, sound, dtype=sound.dtype, quant=sound.quant, name="peak", **whole)

    def settled(self) -> Signal:
        """The signal after it was divided by the largest sample, where that is still to be done."""
        if self.peak is None:
            return self
        if self.kind is not SignalKind.SAMPLES:
            raise self.refuse("peak comes before a step that does not keep the level", "leave it out")
        sound = self.mono()
        return replace(sound.then(DivideByPeak, sound.largest(), dtype=DType.INT32, fraction=15), peak=None)

    def mapped(self, factor: Array | float = 1.0, offset: Array | float = 0.0) -> Signal:
        """value * factor + offset, element-wise."""
        if self.peak is not None:
            return self.settled().mapped(factor, offset)
        a = self.affine or AffineLine.of(2.0**-self.fraction)
        factor = np.asarray(factor, np.float64)
        ends = a.low * factor + offset, a.high * factor + offset
        turned = factor < 0
        low, high = np.where(turned, ends[1], ends[0]), np.where(turned, ends[0], ends[1])
        return replace(self, affine=AffineLine(a.factor * factor, a.offset * factor + offset, low, high))

    def clipped(self, low: float, high: float) -> Signal:
        """Nothing below or above."""
        if self.peak is not None:
            return self.settled().clipped(low, high)
        a = self.affine or AffineLine.of(2.0**-self.fraction)
        return replace(self, affine=replace(a, low=np.clip(a.low, low, high), high=np.clip(a.high, low, high)))

    def cut(self, samples: int) -> Signal:
        """A clip of so many samples."""
        self.integers("length", SignalKind.SAMPLES)
        if self.builder.ops:
            raise self.refuse("length comes after a step that computes something", "move it to the front")
        self.builder.length = samples
        return self

    @property
    def line(self) -> AffineLine:
        """The real values of the integers."""
        a = self.affine or AffineLine.of(2.0**-self.fraction)
        return replace(
            a, factor=_rounded(a.factor, EXACT - 8 * self.tensor.dtype.itemsize), offset=_rounded(a.offset, TWO)
        )

    def into(self, target: Tensor) -> Tensor:
        """The model's input: element-wise steps and quantization are one operator."""
        a = self.line
        values: dict[str, Any] = {field.name: tuple(map(float, getattr(a, field.name))) for field in fields(a)}
        op = AffineMap(inputs=(self.tensor.id,), outputs=(target.id,), name="input", shape=target.shape, **values)
        self.builder.tensors[target.id] = target
        self.builder.ops.append(op)
        return target


def _rounded(values: Array, bits: int) -> Array:
    """Numbers of so many significant bits."""
    mantissa, exponent = np.frexp(values)
    rounded: Array = np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits)
    return rounded


def raw(builder: SignalBuilder, kind: SignalKind, shape: Shape, *, rate: float = 0.0, fraction: int = 0) -> Signal:
    """The signal before the first step: int16 samples, or uint8 pixels of an image."""
    dtype = DType.UINT8 if kind is SignalKind.IMAGE else DType.INT16
    return Signal(builder, builder.tensor(kind.value, shape, dtype, fixed_point(fraction)), kind, fraction, rate)
