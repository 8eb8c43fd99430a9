"""Protocol of a search family: networks of a search space, classical models, or variations of a user's model.

A family is picklable and sent once to each worker. Its methods depend only on the family and their arguments, so
results are the same in one process, in several and on a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol, Self

from mote.base.progress import Say
from mote.optimize.nas.costs.network_costs import DoesNotFit, NetworkCosts

Choice = Mapping[str, Any]
"""A candidate, as a mapping from decision name to a JSON value."""
MODEL = "model.tflite"
"""Default file name of a candidate's quantized model."""


@dataclass(frozen=True, eq=False)
class FinishedMember:
    """A fully trained candidate as files."""

    files: Mapping[str, bytes]
    """File contents by name, such as `model.tflite` (int8) and `model.onnx` (float)."""
    validation: float
    """Accuracy of the shipped quantized model on validation data; R2 for a regression."""
    model: str = MODEL
    """Name of the file that is compiled and tested with `mote.compile`."""
    steps: str = ""
    """Preprocessing steps from raw samples to the model's input, as `mote evaluate --preprocess` takes them; empty for
    none."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Additional options of `mote.compile`, such as `preprocess`."""


class ModelFamily(Protocol):
    """A family of candidates for one task and one target.

    Accuracies are between 0 and 1 on validation data (R2 for a regression); higher is better."""

    @property
    def name(self) -> str:
        """Name in reports, unique in a search."""

    @property
    def shared(self) -> bool:
        """Whether candidates take their weights from a supernet, so that `score` needs no training."""

    @property
    def key(self) -> str:
        """Digest of everything that results depend on: space, data, target, recipe (`mote.search.digest`)."""

    def first(self) -> Sequence[Choice]:
        """Initial choices of a search, such as the smallest and the largest network."""

    def random(self, rng: Random) -> Choice:
        """A random choice."""

    def mutated(self, choice: Choice, rng: Random) -> Choice:
        """A random mutation of a choice."""

    def crossed(self, one: Choice, other: Choice, rng: Random) -> Choice:
        """Uniform crossover of two choices."""

    def described(self, choice: Choice) -> str:
        """One-line summary of a choice, for tables."""

    def costs(self, choice: Choice) -> NetworkCosts | DoesNotFit:
        """Costs on the target, or the reason why a limit is exceeded; computed without training."""

    def estimate(self, choice: Choice) -> NetworkCosts | DoesNotFit | None:
        """Quickly estimated costs, or a limit that is certainly exceeded; None if there is no quicker way than
        `costs`."""

    def prepared(self, checkpoint: str, say: Say) -> Self:
        """The family after training what its candidates share (a supernet). `checkpoint` is a path prefix of files to
        save it to and load it from, or empty. Families that share nothing return themselves."""

    def score(self, choice: Choice, epochs: int) -> float:
        """Validation accuracy after `epochs` epochs of training; `epochs` is ignored if weights are shared."""

    def finish(self, choice: Choice, epochs: int) -> FinishedMember:
        """The candidate trained for `epochs` epochs, quantized for the target and written to files."""
