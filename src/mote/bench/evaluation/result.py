"""Result of `mote evaluate`."""

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
    """Sample index."""
    name: str
    """File name or number of the sample."""
    label: Any
    """Expected class or values."""
    predicted: Any
    """Predicted class or values."""
    error: float
    """Margin of the wrong class, or distance of values."""
    other: Any = None
    """Answer of the other model."""


@dataclass(frozen=True)
class ByReference:
    """Results of the format's own runtime on the same samples."""

    runtime: str
    """Name of the runtime."""
    score: Score
    """Its score."""
    equal: int
    """Number of samples with equal outputs: integers bit for bit, floats within rounding."""
    max_abs_diff: float
    """Largest output difference, in units of the model's outputs."""


@dataclass(frozen=True)
class OnCore:
    """Results on the emulated core or on a board, compared with the host."""

    target: str
    """Name of the target."""
    emulator: str
    """Name of the emulator or board."""
    samples: int
    """Number of samples that were run."""
    equal: int
    """Number of samples with the host's outputs: integers bit for bit, floats within rounding."""
    max_abs_diff: float
    """The largest difference of an output."""
    instructions: int | None
    """Average count per inference: instructions, or what the board counts (`unit`)."""
    unit: str = "instructions"
    """The unit of `instructions`."""
    score: Score | None = None
    """Score of the board's answers, if it ran all samples."""
    interruptions: tuple[Interruption, ...] = ()
    """Board resets and losses during the run, and what was rerun."""

    @property
    def passed(self) -> bool:
        return self.equal == self.samples


@dataclass(frozen=True)
class Against:
    """Comparison with another model on the same samples."""

    model: str
    """Name of the other model."""
    score: Score
    """Its score."""
    agreement: float | None
    """Share of samples with the same class; None without classes."""
    decibels: float
    """Signal-to-noise ratio of the outputs in dB, with the other model's as the signal."""
    layers: Sequence[LayerNoise]
    """Noise of each layer that both models have."""
    samples: int
    """Number of samples on which layers were compared."""
    worst: Sequence[SampleAnswer]
    """Samples on which the models differ most."""


@dataclass(frozen=True)
class Evaluation:
    """Result of `mote evaluate`: scores of the compiled model on the host and elsewhere."""

    model: str
    """Model file name, or a description of the model object."""
    target: str
    """Name of the target."""
    data: str
    """Name of the data."""
    score: Score
    """Score of the compiled model over all samples."""
    rate: float | None
    """Inferences per second on the host; None if too quick to measure."""
    reference: ByReference
    """Results of the format's own runtime."""
    core: OnCore | None
    """Results on the emulated core or on a board; None on the host."""
    against: Against | None
    """Comparison with another model; None where there is none."""
    classes: Sequence[str]
    """Class names, if known."""
    worst: Sequence[SampleAnswer]
    """The samples with the largest errors."""
    notes: Sequence[str] = ()
    """Warnings and notes about how the data was interpreted."""
    learning: Learning | None = None
    """Result of on-device training; all other scores are then of the trained model."""

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
        """Whether the core's outputs equal the host's, and training (if any) gave finite parameters that agree with the
        reference."""
        return (self.core is None or self.core.passed) and (self.learning is None or self.learning.passed)

    def json(self) -> dict[str, Any]:
        """The result as JSON types; numbers that are not finite become text."""
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
    """A score as JSON without tables."""
    return {key: value for key, value in score.json().items() if key == "interval" or not isinstance(value, list)}
