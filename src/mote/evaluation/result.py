"""What `mote evaluate` finds, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

from mote.evaluation.layer_noise import LayerNoise
from mote.metrics import Score


@dataclass(frozen=True)
class Answer:
    """A sample that the model answers badly, or otherwise than another model."""

    index: int
    name: str
    label: Any
    """A class, or what was to be computed."""
    predicted: Any
    error: float
    """Of classes, by how much the wrong one is ahead; of numbers, how far off they are."""
    other: Any = None
    """What the other model answers."""


@dataclass(frozen=True)
class ByReference:
    """What the runtime that the model was made for says to the same samples."""

    runtime: str
    score: Score
    equal: int
    """Samples to which it gives the same outputs: integers bit for bit, real numbers but for roundings."""
    max_abs_diff: float
    """The largest difference of an output, in the units that it has in the file."""


@dataclass(frozen=True)
class OnCore:
    """Some of the samples on the emulated core, held against this computer."""

    target: str
    emulator: str
    samples: int
    equal: int
    """Samples whose outputs are those of this computer: integers bit for bit, real numbers but for roundings."""
    max_abs_diff: float
    instructions: int | None
    """Of an inference, on average."""

    @property
    def passed(self) -> bool:
        return self.equal == self.samples


@dataclass(frozen=True)
class Against:
    """The same samples with another model."""

    model: str
    score: Score
    agreement: float | None
    """The share of samples for which both name the same class; None where there are no classes."""
    decibels: float
    """Signal to noise of the outputs, those of the other model being the signal."""
    layers: Sequence[LayerNoise]
    samples: int
    """Samples that layers were compared on."""
    worst: Sequence[Answer]
    """Where the two differ most."""


@dataclass(frozen=True)
class Evaluation:
    """How good the compiled model is, on this computer, for all samples of the data."""

    model: str
    target: str
    data: str
    score: Score
    rate: float | None
    """Inputs a second; None where it took too little time to say."""
    reference: ByReference
    core: OnCore | None
    against: Against | None
    classes: Sequence[str]
    worst: Sequence[Answer]
    notes: Sequence[str] = ()
    """What was done to the data that nobody asked for, and what is odd about it."""

    @property
    def passed(self) -> bool:
        """Whether the core computes what this computer does."""
        return self.core is None or self.core.passed

    def json(self) -> dict[str, Any]:
        """In types that JSON has, in which every number is finite: what is not is a text."""
        reference, against = self.reference, self.against
        found: dict[str, Any] = {
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
        plain = _plain(found)
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
