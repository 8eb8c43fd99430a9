"""The protocol of what one search chooses from: networks of a space, classical models, variations of a user's model.

A family is data that can be pickled: workers get it once, and every method depends on nothing but it and the arguments,
so that results are the same in one process, in several and on a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol, Self

from mote.base.progress import Say
from mote.optimize.nas.costs.network_costs import DoesNotFit, NetworkCosts

Choice = Mapping[str, Any]
"""A candidate of a family: JSON values by the name of a decision."""
MODEL = "model.tflite"
"""The usual name of a member's quantized model."""


@dataclass(frozen=True, eq=False)
class FinishedMember:
    """A candidate trained to the end, as files."""

    files: Mapping[str, bytes]
    """Files of the member by name, such as `model.tflite` (int8) and `model.onnx` (float)."""
    validation: float
    """Accuracy of the very model that is shipped, on held-out data; for a regression the coefficient of
    determination."""
    model: str = MODEL
    """The file that is compiled and tested; `mote.compile` reads it."""
    steps: str = ""
    """Preprocessing of raw samples before the model takes them, as `mote evaluate --preprocess` takes it; empty: the
    model takes them as they are."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further options of `mote.compile`, such as `preprocess`."""


class ModelFamily(Protocol):
    """A family of candidates for one task and one target.

    Accuracies are between 0 and 1, of held-out data; for a regression they are the coefficient of determination. More
    is better."""

    @property
    def name(self) -> str:
        """The name in reports, unique in a search."""

    @property
    def shared(self) -> bool:
        """Whether `score` needs no training, since candidates take their weights from a supernet."""

    @property
    def key(self) -> str:
        """A digest of all that results depend on: space, data, target, recipe (`mote.search.digest`)."""

    def first(self) -> Sequence[Choice]:
        """The choices that a search begins with, such as the smallest and the largest."""

    def random(self, rng: Random) -> Choice:
        """A random choice."""

    def mutated(self, choice: Choice, rng: Random) -> Choice:
        """A choice with some decision changed."""

    def crossed(self, one: Choice, other: Choice, rng: Random) -> Choice:
        """A choice that takes every decision from one of two."""

    def described(self, choice: Choice) -> str:
        """A choice in a few words, for tables."""

    def costs(self, choice: Choice) -> NetworkCosts | DoesNotFit:
        """The costs on the target, or why it exceeds a limit; nothing is trained for it."""

    def estimate(self, choice: Choice) -> NetworkCosts | DoesNotFit | None:
        """About the costs, or why it exceeds a limit for sure, in a small part of the time; None where there is nothing
        quicker than the costs."""

    def prepared(self, checkpoint: str, say: Say) -> Self:
        """The family after training what its candidates share; `checkpoint` begins the names of files to keep it in
        and to read it from, or is empty. A family that shares nothing returns itself."""

    def score(self, choice: Choice, epochs: int) -> float:
        """Held-out accuracy after so many epochs of training; `epochs` is ignored where weights are shared."""

    def finish(self, choice: Choice, epochs: int) -> FinishedMember:
        """The candidate trained for so many epochs, quantized for the target, and written to files."""
