"""The answer of a model on its way to a decision: scores in a graph, behind which steps add operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.ir.graph import Graph, Op, State, Tensor
from mote.ir.graph.tensor import Array, Quantization
from mote.ir.graph.types import DType
from mote.ir.ops.features.scores import ScoreUnit

WHERE = "option postprocess"


@dataclass(frozen=True, eq=False)
class Answer:
    """What a model says, after some steps."""

    graph: Graph
    """The model and the operators of the steps so far; its outputs are what the next step takes."""
    given: int
    """The model's input, which anomalies are differences from."""
    unit: ScoreUnit | None
    """The exact meaning of the codes of the first output; None for floats."""
    decided: str = ""
    """The step that made a decision, behind which there are no scores."""
    labels: tuple[str, ...] = ()
    """Names of the classes of the model's scores."""
    period: float | None = None
    """Seconds from one inference to the next, where they are known."""

    @classmethod
    def of(
        cls, graph: Graph, labels: tuple[str, ...] = (), period: float | None = None, given: int | None = None
    ) -> Answer:
        """The outputs of a model before any step; `given` is its input, where that is not the graph's."""
        output = graph.tensors[graph.outputs[0]]
        if output.quant is None and not output.dtype.real:
            raise MoteError(
                f"{output.dtype} output '{output.name}' has no quantization, so that it has no real values",
                where=WHERE,
                remedy="steps behind a model take scores: quantized ones, or float32",
            )
        first = graph.inputs[0] if given is None else given
        return cls(graph, first, ScoreUnit.of(output), labels=labels or output.labels, period=period)

    @property
    def tensors(self) -> list[Tensor]:
        return [self.graph.tensors[t] for t in self.graph.outputs]

    def scores(self, step: str) -> Tensor:
        """The scores that a step takes; a decision has none, and neither has a model with several outputs."""
        if self.decided:
            raise self.refuse(f"{step} takes scores, and {self.decided} gives a decision", "change the order of steps")
        if len(self.graph.outputs) != 1:
            count = len(self.graph.outputs)
            raise self.refuse(f"{step} takes one output, and the model has {count}", "choose one: --output NAME")
        return self.tensors[0]

    def refuse(self, reason: str, remedy: str = "") -> MoteError:
        return MoteError(reason, where=WHERE, remedy=remedy)

    def inferences(self, name: str, stated: str) -> int:
        """A time as a number of inferences: `3`, or `0.5s` and `200ms`, which are rounded up."""
        number, seconds = stated, Fraction(0)
        for end, unit in (("ms", Fraction(1, 1000)), ("s", Fraction(1))):
            if stated.endswith(end):
                number, seconds = stated.removesuffix(end), unit
                break
        try:
            value = Fraction(number)
        except ValueError:
            value = Fraction(-1)
        if value < 0 or (not seconds and value.denominator != 1) or value >= 1 << 24:
            raise self.refuse(f"{name}={stated} is no time", "give a number of inferences, or a time: 0.5s, 200ms")
        if not seconds:
            return int(value)
        if not self.period:
            raise self.refuse(
                f"{name}={stated}: nothing says how long it is from one inference to the next",
                "give a number of inferences, or preprocessing that says the rate of the samples",
            )
        return int(-(-(value * seconds) // Fraction(self.period)))

    def then(
        self,
        kind: type[Op],
        *taken: Tensor,
        dtype: DType,
        unit: ScoreUnit | None = None,
        states: Sequence[Array] = (),
        decided: str = "",
        **attributes: Any,
    ) -> Answer:
        """The answer after one more operator, which takes these tensors (the first output, unless told) and states."""
        graph, first = self.graph, self.graph.fresh_id()
        name = kind.kind
        count = len(states)
        before = [_state(first + 1 + i, f"{name} state", x) for i, x in enumerate(states)]
        after = [_state(first + 1 + count + i, f"{name} state after", x) for i, x in enumerate(states)]
        op = kind(
            inputs=tuple(t.id for t in (*(taken or self.tensors[:1]), *before)),
            outputs=(first, *(t.id for t in after)),
            name=name,
            **attributes,
        )
        quant = None if unit is None else _quantization(unit)
        made = Tensor(first, name, op.shapes(graph)[0], dtype, quant, inner=True)
        tensors = {**graph.tensors, **{t.id: t for t in (made, *before, *after)}}
        kept = [State(b.id, a.id, x) for b, a, x in zip(before, after, states, strict=True)]
        behind = replace(graph, tensors=tensors, ops=(*graph.ops, op), outputs=(first,), states=(*graph.states, *kept))
        if (problem := op.unsupported(behind)) is not None:
            raise self.refuse(f"{decided or name}: {problem}", "leave the step out, or use it behind another model")
        return replace(self, graph=behind.verify(), unit=unit, decided=decided)


def _state(number: int, name: str, initial: Array) -> Tensor:
    return Tensor(number, name, initial.shape, DType(initial.dtype.name), inner=True)


def _quantization(unit: ScoreUnit) -> Quantization:
    return Quantization(np.array([float(unit.scale)], np.float32), np.array([unit.zero], np.int64))
