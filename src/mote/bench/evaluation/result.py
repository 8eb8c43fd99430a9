"""The result of `mote evaluate` as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mote.base.notebook import card, folded, table
from mote.base.results import plain
from mote.bench.evaluation.layer_noise import LayerNoise
from mote.bench.evaluation.learning.result import Learning
from mote.bench.metrics import Score
from mote.deploy.boards.interruption import Interruption, interruption_lines


@dataclass(frozen=True)
class SampleAnswer:
    """A misclassified sample, or one on which two models differ."""

    index: int
    """The number of the sample."""
    name: str
    """The file name or number of the sample."""
    label: Any
    """The expected class or values."""
    predicted: Any
    """The predicted class or values."""
    error: float
    """Margin of the wrong class, or distance of values."""
    other: Any = None
    """The other model's answer."""


@dataclass(frozen=True)
class ByReference:
    """Results of the format's own runtime on the same samples."""

    runtime: str
    """The name of the runtime."""
    score: Score
    """Its score."""
    equal: int
    """Samples with equal outputs: integers bit for bit, floats within rounding."""
    max_abs_diff: float
    """The largest difference of an output, in the units of the file."""


@dataclass(frozen=True)
class OnCore:
    """Results on the emulated core or on a board, compared with the host."""

    target: str
    """The target's name."""
    emulator: str
    """The emulator, or the board, that ran the samples."""
    samples: int
    """Samples that were run."""
    equal: int
    """Samples with the host's outputs: integers bit for bit, floats within rounding."""
    max_abs_diff: float
    """The largest difference of an output."""
    instructions: int | None
    """Average instructions of an inference; of a board what it counts (`unit`)."""
    unit: str = "instructions"
    """The unit of `instructions`."""
    score: Score | None = None
    """The score of a board's answers, where it ran all samples."""
    interruptions: tuple[Interruption, ...] = ()
    """The times that a board was reset or lost meanwhile, and what was run again."""

    @property
    def passed(self) -> bool:
        return self.equal == self.samples


@dataclass(frozen=True)
class Against:
    """Comparison with another model on the same samples."""

    model: str
    """The other model."""
    score: Score
    """Its score."""
    agreement: float | None
    """Share of samples with the same class; None where there are no classes."""
    decibels: float
    """Signal-to-noise ratio of the outputs in dB, with the other model's as the signal."""
    layers: Sequence[LayerNoise]
    """The noise of each layer that both models have."""
    samples: int
    """Samples on which layers were compared."""
    worst: Sequence[SampleAnswer]
    """The samples on which the two differ most."""


@dataclass(frozen=True)
class Evaluation:
    """Metrics of the compiled model on the host, over all samples."""

    model: str
    """The model's file, or what its object is called."""
    target: str
    """The target's name."""
    data: str
    """The file, folder or option of the samples."""
    score: Score
    """The metric over all samples."""
    rate: float | None
    """Inferences per second; None where it took too little time to measure."""
    reference: ByReference
    """Results of the format's own runtime."""
    core: OnCore | None
    """Results on the emulated core or on a board; None on the host."""
    against: Against | None
    """Comparison with another model; None where there is none."""
    classes: Sequence[str]
    """The names of classes, where they are known."""
    worst: Sequence[SampleAnswer]
    """The samples with the largest errors."""
    notes: Sequence[str] = ()
    """Warnings and notes about how the data was interpreted."""
    learning: Learning | None = None
    """The gain of training, where the model learns: everything else is then of the model after it."""

    def __repr__(self) -> str:
        score, against = self.score, self.against
        other = "" if against is None else f", {against.model!r} {against.score.value:.4g}"
        context = f" ({score.context})" if score.context else ""
        return (
            f"<Evaluation of {self.model!r} on {self.data!r}: {score.metric} {score.value:.4g} of"
            f" {score.samples:,} samples{context}{other}>"
        )

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = [
            ("compiled", self.model, self.score.value, None, None),
            ("reference", self.reference.runtime, self.reference.score.value, self.reference.equal, None),
        ]
        if self.core is not None:
            core, score = self.core, self.core.score
            rows.append(("on the core", core.emulator, score and score.value, core.equal, core.instructions))
        if self.against is not None:
            rows.append(("against", self.against.model, self.against.score.value, None, None))
        if self.learning is not None and self.learning.test.before is not None:
            rows.insert(0, ("before training", self.model, self.learning.test.before.value, None, None))
        unit = "instructions" if self.core is None else self.core.unit
        scores = table(("", "by", self.score.metric, "equal samples", unit), rows, left=2)
        worst = table(
            ("sample", "label", "predicted", "error"),
            [(x.name, str(x.label), str(x.predicted), x.error) for x in self.worst],
            left=3,
        )
        facts: dict[str, object] = {self.score.metric: self.score.value, "samples": self.score.samples}
        facts |= {"for comparison": self.score.context} if self.score.context else {}
        title = f"{self.model} for {self.target} on {self.data}"
        notes = [*self.notes, *interruption_lines(() if self.core is None else self.core.interruptions)]
        return card(title, facts, scores, folded("worst samples", worst), notes=notes)

    @property
    def passed(self) -> bool:
        """Whether the core's outputs equal the host's, and training gave finite weights, as the reference has them."""
        return (self.core is None or self.core.passed) and (self.learning is None or self.learning.passed)

    def json(self) -> dict[str, Any]:
        """As JSON types; numbers that are not finite become text."""
        reference, against = self.reference, self.against
        summary: dict[str, Any] = {
            **self.score.json(),
            "better": self.score.better,
            "model": self.model,
            "target": self.target,
            "data": self.data,
            "inputs_a_second": None if self.rate is None else round(self.rate, 1),
            "classes": self.classes,
            "notes": self.notes,
            "worst": self.worst,
            "reference": {
                "runtime": reference.runtime,
                **_brief(reference.score),
                "equal": reference.equal,
                "max_abs_diff": reference.max_abs_diff,
            },
            "core": None if self.core is None else _on_core(self.core),
            "against": None
            if against is None
            else {
                "model": against.model,
                **_brief(against.score),
                "agreement": against.agreement,
                "decibels": against.decibels,
                "layers": against.layers,
                "layer_samples": against.samples,
                "worst": against.worst,
            },
            "learning": self.learning,
        }
        values: dict[str, Any] = plain(summary)
        return values


def _on_core(core: OnCore) -> dict[str, Any]:
    return vars(core) | {"score": core.score and _brief(core.score), "passed": core.passed}


def _brief(score: Score) -> dict[str, Any]:
    """A score without tables."""
    return {key: value for key, value in score.json().items() if key == "interval" or not isinstance(value, list)}
