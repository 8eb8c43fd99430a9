"""Result of evaluating on-device training."""

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
    """Name of the data."""
    before: Score | None
    """Score before training; None for a learner that knows no classes before."""
    after: Score
    """Score after training."""

    @property
    def gained(self) -> float | None:
        """Improvement by training (difference of scores; negative if worse): a share, or a distance in the labels'
        unit."""
        if self.before is None:
            return None
        more = self.after.value - self.before.value
        return more if self.after.better == HIGHER else -more


@dataclass(frozen=True)
class Learning(Record):
    """Result of on-device training, measured with the device's operators on the host."""

    JSON = "*, passed"

    train: str
    """Training specification, as in the option `train`."""
    data: str
    """Name of the training data."""
    samples: int
    """Number of training samples."""
    epochs: int | None
    """Number of shuffled epochs; None: each sample once, in order."""
    seed: int
    """Random seed of the order."""
    steps: int
    """Number of training steps."""
    losses: Sequence[float]
    """Loss curve, each point the mean of `every` steps; empty if the learner has no loss."""
    every: int
    """Number of steps per point of `losses`."""
    online: Sequence[float]
    """Prequential score per epoch: of the outputs before each training sample was learned; empty if the metric is not
    per sample."""
    test: BeforeAndAfter
    """Scores on the test data."""
    kept: BeforeAndAfter | None
    """Scores on data of previous knowledge; None if not given."""
    trained: Sequence[int]
    """Number of training samples per class; empty without classes."""
    weights: int
    """Bytes of learned parameters."""
    finite: bool
    """Whether all learned parameters are finite."""
    checked: int
    """Number of steps verified against the NumPy reference."""
    equal: int
    """Number of verified steps with equal outputs and losses: integers bit for bit, floats within rounding."""

    @property
    def passed(self) -> bool:
        """Whether learned parameters are finite and agree with the reference."""
        return self.finite and self.equal == self.checked
