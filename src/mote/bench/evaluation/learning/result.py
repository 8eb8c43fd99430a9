"""The gain of training as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mote.base.results import Record
from mote.bench.metrics import Score
from mote.bench.metrics.score import HIGHER


@dataclass(frozen=True)
class BeforeAndAfter(Record):
    """Scores of the same samples before and after training."""

    JSON = "*, gained"

    data: str
    """The file, folder or option of the samples."""
    before: Score | None
    """The score before training; None of a learner, which knows no class then."""
    after: Score
    """The score after training."""

    @property
    def gained(self) -> float | None:
        """How much better the score became: a share, or a distance in the unit of the labels; below 0: forgotten."""
        if self.before is None:
            return None
        more = self.after.value - self.before.value
        return more if self.after.better == HIGHER else -more


@dataclass(frozen=True)
class Learning(Record):
    """The gain of training on the device, measured with its operators on the host."""

    JSON = "*, passed"

    train: str
    """The training, as the option states it."""
    data: str
    """The file, folder or option of the training samples."""
    samples: int
    """Training samples."""
    epochs: int | None
    """How often all of them were learned, shuffled; None: once, in their order."""
    seed: int
    """The seed of the order."""
    steps: int
    """Inferences with a label."""
    losses: Sequence[float]
    """Losses in the order of time, each the mean of `every` steps; empty where what learns has none."""
    every: int
    """Steps of which a loss is the mean."""
    online: Sequence[float]
    """For each epoch the score of the answers that the model gave to each training sample before it learned that
    (prequential evaluation); empty where the metric needs all answers."""
    test: BeforeAndAfter
    """The scores of the test data."""
    kept: BeforeAndAfter | None
    """The scores of data that the model knew before; None where none was given."""
    trained: Sequence[int]
    """Training samples of each class; empty where there are no classes."""
    weights: int
    """Bytes of what was learned."""
    finite: bool
    """Whether all that was learned is finite."""
    checked: int
    """Steps that were computed in the NumPy reference, too."""
    equal: int
    """Steps of these with equal outputs and losses: integers bit for bit, floats within rounding."""

    @property
    def passed(self) -> bool:
        """Whether what was learned is finite, and the reference agrees."""
        return self.finite and self.equal == self.checked
