"""The steps of post-processing: functions of an answer and the parameters that a user may give them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import floor, isnan, nan

import numpy as np

from mote.base.errors import MoteError
from mote.base.text import did_you_mean
from mote.frontends.features.postprocess.answer import WHERE, Answer
from mote.ir.graph import Tensor
from mote.ir.graph.types import DType
from mote.ir.ops.features.anomaly import AnomalyScore, Arithmetic, compared_problem
from mote.ir.ops.features.boxes import OVERLAP_BITS, SuppressedBoxes
from mote.ir.ops.features.scores import (
    LONGEST_HISTORY,
    MOST_AVERAGED,
    WEIGHT_BITS,
    BestClass,
    Detect,
    ExponentialAverage,
    MovingAverage,
    ScoreUnit,
    Threshold,
    threshold_code,
)

MOST_BOXES = 1024
"""Boxes that non-maximum suppression gives, at most."""


def moving_average(answer: Answer, inferences: int) -> Answer:
    """The average of each score over so many inferences; before the first one scores are 0."""
    x, unit = answer.scores("moving-average"), answer.unit
    if not 2 <= inferences <= MOST_AVERAGED:
        raise answer.refuse(f"moving-average={inferences} cannot be", f"take from 2 to {MOST_AVERAGED} inferences")
    _of_a_model(answer, "moving-average", x)
    zero = unit.zero if unit else 0
    ring = np.full((inferences, x.size), zero, x.dtype.numpy)
    sums = np.zeros(1 if x.dtype.real else 1 + x.size, np.int32)
    sums[1:] = inferences * zero
    after = unit and ScoreUnit(unit.scale / inferences, inferences * unit.zero)
    dtype = x.dtype if x.dtype.real else DType.INT32
    return answer.then(MovingAverage, dtype=dtype, unit=after, states=(ring, sums), count=inferences)


def exponential_average(answer: Answer, alpha: float) -> Answer:
    """A share `alpha` of each new score and the rest of the average before it, which is 0 at first."""
    x, unit = answer.scores("exponential-average"), answer.unit
    weight = round(alpha * (1 << WEIGHT_BITS))
    if not (0 < alpha <= 1 and weight):
        raise answer.refuse(f"exponential-average={alpha:g} cannot be", "take a share of a new score, from 0.001 to 1")
    _of_a_model(answer, "exponential-average", x)
    fraction = 18 - 2 * x.dtype.itemsize if unit else 0
    after = unit and ScoreUnit(unit.scale / (1 << fraction), 0)
    dtype = x.dtype if x.dtype.real else DType.INT32
    state = np.zeros(x.size, dtype.numpy)
    return answer.then(ExponentialAverage, dtype=dtype, unit=after, states=(state,), weight=weight, fraction=fraction)


def detect(
    answer: Answer,
    of: str,
    threshold: float,
    release: float = nan,
    hold: str = "0",
    refractory: str = "0",
    minimum: int = 1,
    within: int = 0,
) -> Answer:
    """Events of one class, by its number or name. An event begins where the score exceeds the threshold, in at least
    `minimum` of the last `within` inferences (as many, unless told), and ends when the score has not exceeded `release`
    (the threshold, unless told) for longer than `hold`. No event begins in the `refractory` time after the beginning of
    one."""
    x = answer.scores("detect")
    low = threshold if isnan(release) else release
    within = within or minimum
    if low > threshold:
        raise answer.refuse(f"release={low:g} is above the threshold {threshold:g}", "let events end below it")
    if not 1 <= minimum <= within <= LONGEST_HISTORY:
        raise answer.refuse(
            f"minimum={minimum} within={within} cannot be", f"take from 1 to {LONGEST_HISTORY}, the second not below"
        )
    return answer.then(
        Detect,
        dtype=_decided(x),
        states=(np.zeros(3, np.int32),),
        decided="detect",
        place=_class(answer, x, of),
        above=threshold_code(threshold, answer.unit, x.dtype),
        release=threshold_code(low, answer.unit, x.dtype),
        hold=answer.inferences("hold", hold),
        refractory=answer.inferences("refractory", refractory),
        least=minimum,
        window=within,
    )


def argmax(answer: Answer, threshold: float, refractory: str = "0", background: str = "") -> Answer:
    """The class with the highest score, if that exceeds the threshold, else -1; also -1 where it is the background
    class, and in the `refractory` time after a class was given."""
    x = answer.scores("argmax")
    return answer.then(
        BestClass,
        dtype=_decided(x),
        states=(np.zeros(1, np.int32),),
        decided="argmax",
        above=threshold_code(threshold, answer.unit, x.dtype),
        refractory=answer.inferences("refractory", refractory),
        background=_class(answer, x, background) if background else -1,
    )


def anomaly_score(answer: Answer) -> Answer:
    """The mean squared difference between the model's output and its input."""
    y, x = answer.scores("anomaly-score"), answer.graph.tensors[answer.given]
    if (problem := compared_problem(y, x)) is not None:
        raise answer.refuse(f"anomaly-score: {problem}", "use it behind an autoencoder")
    unit = None if y.dtype.real else ScoreUnit(Arithmetic.between(y, x).scale, 0)
    return answer.then(AnomalyScore, y, x, dtype=_decided(y), unit=unit)


def threshold(answer: Answer, value: float) -> Answer:
    """Whether each score exceeds a number, and the score."""
    x = answer.scores("threshold")
    above = threshold_code(value, answer.unit, x.dtype)
    return answer.then(Threshold, dtype=_decided(x), decided="threshold", above=above)


def nms(
    answer: Answer, overlap: float, score: float, most: int, boxes: str = "corners", classes: str = "apart"
) -> Answer:
    """The boxes with the best scores, up to `most`, without those that overlap a better one of their class by more than
    a share of what both cover. The model gives boxes [n, 4], as two `corners` or as `centers` with sizes, and scores
    [n, classes]. With classes=together boxes of any class suppress each other."""
    if answer.decided or len(answer.graph.outputs) != 2:
        raise answer.refuse(
            f"nms takes boxes and scores, two outputs of a model, and gets {len(answer.graph.outputs)} output(s)",
            "use it as the only step, behind a model with these two",
        )
    pair = sorted(answer.tensors, key=lambda t: t.channels != 4)
    if pair[0].channels != 4 or not 0 <= overlap < 1 or not 1 <= most <= MOST_BOXES:
        shapes = " and ".join(str(t) for t in pair)
        raise answer.refuse(
            f"nms({overlap:g}, {score:g}, {most}) of {shapes} cannot be",
            f"the outputs are boxes [n, 4] and scores, the overlap a share below 1, boxes from 1 to {MOST_BOXES}",
        )
    if boxes not in ("corners", "centers") or classes not in ("apart", "together"):
        raise answer.refuse(
            f"boxes={boxes}, classes={classes} cannot be", "boxes are corners or centers, classes apart or together"
        )
    first, scores = pair
    above = threshold_code(score, ScoreUnit.of(scores), scores.dtype)
    share = overlap if first.dtype.real else floor(Fraction(overlap) * (1 << OVERLAP_BITS))
    return answer.then(
        SuppressedBoxes,
        first,
        scores,
        dtype=_decided(first),
        decided="nms",
        most=most,
        above=above,
        overlap=share,
        centers=boxes == "centers",
        together=classes == "together",
    )


def _decided(x: Tensor) -> DType:
    """The type of decisions on scores."""
    return x.dtype if x.dtype.real else DType.INT32


def _of_a_model(answer: Answer, step: str, x: Tensor) -> None:
    if x.dtype == DType.INT32:
        raise answer.refuse(f"{step} takes the scores of a model, and gets averages", "average once")


def _class(answer: Answer, x: Tensor, stated: str) -> int:
    """The number of a class that is named, or numbered from 0."""
    labels = answer.labels
    if stated in labels:
        return labels.index(stated)
    if stated.isdecimal() and int(stated) < x.size:
        return int(stated)
    raise MoteError(
        f"there is no class '{stated}': the model has {x.size} scores",
        where=WHERE,
        remedy=f"{did_you_mean(stated, labels)}number them from 0, or name one",
    )


STEPS: dict[str, Callable[..., Answer]] = {
    "moving-average": moving_average,
    "exponential-average": exponential_average,
    "detect": detect,
    "argmax": argmax,
    "anomaly-score": anomaly_score,
    "threshold": threshold,
    "nms": nms,
}
