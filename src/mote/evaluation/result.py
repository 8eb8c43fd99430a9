"""The result of `mote evaluate` as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from mote.evaluation.layer_noise import LayerNoise
from mote.metrics import Score


@dataclass(frozen=True)
class SampleAnswer:
    """A misclassified sample, or one on which two models differ."""

    index: int
    name: str
    label: Any
    """The expected class or values."""
    predicted: Any
    error: float
    """Margin of the wrong class, or distance of values."""
    other: Any = None
    """The other model's answer."""


@dataclass(frozen=True)
class ByReference:
    """Results of the format's own runtime on the same samples."""

    runtime: str
    score: Score
    equal: int
    """Samples with equal outputs: integers bit for bit, floats within rounding."""
    max_abs_diff: float
    """The largest difference of an output, in the units of the file."""


@dataclass(frozen=True)
class OnCore:
    """Results on the emulated core, compared with the host."""

    target: str
    emulator: str
    samples: int
    equal: int
    """Samples with the host's outputs: integers bit for bit, floats within rounding."""
    max_abs_diff: float
    instructions: int | None
    """Average instructions of an inference."""

    @property
    def passed(self) -> bool:
        return self.equal == self.samples


@dataclass(frozen=True)
class Against:
    """Comparison with another model on the same samples."""

    model: str
    score: Score
    agreement: float | None
    """Share of samples with the same class; None where there are no classes."""
    decibels: float
    """Signal-to-noise ratio of the outputs in dB, with the other model's as the signal."""
    layers: Sequence[LayerNoise]
    samples: int
    """Samples on which layers were compared."""
    worst: Sequence[SampleAnswer]
    """The samples on which the two differ most."""


@dataclass(frozen=True)
class Evaluation:
    """Metrics of the compiled model on the host, over all samples."""

    model: str
    target: str
    data: str
    score: Score
    rate: float | None
    """Inferences per second; None where it took too little time to measure."""
    reference: ByReference
    core: OnCore | None
    against: Against | None
    classes: Sequence[str]
    worst: Sequence[SampleAnswer]
    notes: Sequence[str] = ()
    """Warnings and notes about how the data was interpreted."""

    @property
    def passed(self) -> bool:
        """Whether the core's outputs equal the host's."""
        return self.core is None or self.core.passed

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
            "classes": list(self.classes),
            "notes": list(self.notes),
            "worst": [asdict(answer) for answer in self.worst],
            "reference": {
                "runtime": reference.runtime,
                **_brief(reference.score),
                "equal": reference.equal,
                "max_abs_diff": reference.max_abs_diff,
            },
            "core": None if self.core is None else {**asdict(self.core), "passed": self.core.passed},
            "against": None
            if against is None
            else {
                "model": against.model,
                **_brief(against.score),
                "agreement": against.agreement,
                "decibels": against.decibels,
                "layers": [asdict(layer) for layer in against.layers],
                "layer_samples": against.samples,
                "worst": [asdict(answer) for answer in against.worst],
            },
        }
        plain = _plain(summary)
        assert isinstance(plain, dict)
        return plain


def _brief(score: Score) -> dict[str, Any]:
    """A score without tables."""
    return {key: value for key, value in score.json().items() if not isinstance(value, list)}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value
