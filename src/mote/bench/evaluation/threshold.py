"""`mote fit-threshold`: fits a detection threshold for a compiled model's scores to data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import floor, isfinite
from typing import Any, Unpack

import numpy as np

from mote.base.errors import MoteError, explaining, naming
from mote.base.notebook import table
from mote.base.progress import Say, silent
from mote.base.results import Result
from mote.bench.evaluation.inferences import Posed, as_taken, posed
from mote.bench.evaluation.runners import answers_here, compiled_of
from mote.bench.metrics.arrays import class_labels
from mote.bench.metrics.events import JOINED, events
from mote.bench.metrics.thresholds import FITTED, Interval, at_most, highest, percentile, quietest
from mote.compiler.compiled import Compiled
from mote.compiler.given import CompileOptions
from mote.compiler.kept import compile
from mote.compiler.settings import NO_STEPS, Settings
from mote.frontends.data.dataset import dataset
from mote.ir.graph import Tensor
from mote.ir.graph.tensor import Array
from mote.ir.ops.elementwise.quantize import dequantized
from mote.ir.ops.features.scores import ScoreUnit, threshold_code

ANOMALY = "anomaly-score"
"""Post-processing step that scores an autoencoder's output."""
PERCENT = 99.0
FALSE_ALARMS = 1.0
RAISED_DIGITS = 4
"""Significant digits of a threshold raised by a margin."""


@dataclass(frozen=True, repr=False)
class ThresholdFit(Result):
    """A fitted threshold and its errors on the data."""

    LINE = "of {model!r} on {data!r}: {threshold!r}, {criterion}"
    TITLE = "{model} on {data}"
    FACTS = "threshold, criterion, --postprocess=postprocess"

    model: str
    """Model file name, or a description of the model object."""
    data: str
    """Name of the data."""
    threshold: float
    """Scores above this value are detections."""
    criterion: str
    """Criterion by which it was chosen, in words."""
    postprocess: str
    """Post-processing steps that apply it, for `mote compile --postprocess`."""
    samples: int
    """Number of scores that it was fitted to."""
    positives: int
    """Number of samples to detect, or events of a recording; 0 if all data is normal."""
    false_positives: int
    """Number of normal samples above the threshold, or false alarms of a recording."""
    false_negatives: int
    """Number of samples to detect that are not above it, or missed events."""
    lowest: float
    """The lowest score of the data."""
    highest: float
    """The highest score of the data."""
    false_alarms_an_hour: float | None = None
    """False alarms per hour of a recording; None for samples."""

    @property
    def costs(self) -> dict[str, str]:
        """Errors on the data, in words."""
        if self.false_alarms_an_hour is not None:
            return {
                "missed events": f"{self.false_negatives} of {self.positives}",
                "false alarms": f"{self.false_positives}, {self.false_alarms_an_hour:.3g} an hour",
            }
        normal = self.samples - self.positives
        return {
            **({"missed samples": f"{self.false_negatives} of {self.positives}"} if self.positives else {}),
            "false positives": f"{self.false_positives} of {normal}",
        }

    def _parts(self) -> list[str]:
        return [table(("on this data", "count"), list(self.costs.items()))]


@explaining()
def fit_threshold(
    model: Any,
    data: Any,
    settings: Settings | None = None,
    *,
    metric: str | None = None,
    percentile: float | None = None,
    false_positives: float | None = None,
    false_alarms: float | None = None,
    margin: float = 0.0,
    event: int | None = None,
    example_inputs: Any = None,
    say: Say = silent,
    **options: Unpack[CompileOptions],
) -> ThresholdFit:
    """Fits a threshold to the scores of the compiled C on data (`mote.frontends.data.dataset`): the score of class
    `event`, the only output, or the anomaly score of an autoencoder. `model` is compiled, or given with options as to
    `mote.compile`; the threshold applies after its `postprocess` steps.

    One criterion: the `percentile` of normal data (default 99 for unlabelled data), the highest `metric` on labelled
    data (default f1; accuracy, balanced), the fewest misses with at most a share of `false_positives`, or in a
    recording with at most `false_alarms` per hour (default 1). `margin` raises the threshold by percent."""
    rule = Criterion(metric, percentile, false_positives, false_alarms, margin)
    rule.check()
    compiled = compiled_of(model, settings, options, example_inputs, say)
    given = dataset(data)
    with naming(compiled.path):
        compiled = _scoring(compiled, say)
        graph = compiled.plan.graph
        questions = posed(graph, as_taken(graph, given), axis=compiled.settings.stream)
        (values, *_), _ = answers_here(compiled, questions, say)
        output = graph.tensors[graph.outputs[0]]
        place = _place(output, event)
        scores = _real(output, values)[questions.warm :, place]
        fit = _of_recording if questions.times is not None else _of_samples
        return fit(rule, compiled, questions, scores, place if output.size > 1 else None)


@dataclass(frozen=True)
class Criterion:
    """Criterion for choosing a threshold: at most one of the first four fields."""

    metric: str | None = None
    percentile: float | None = None
    false_positives: float | None = None
    false_alarms: float | None = None
    margin: float = 0.0

    def check(self) -> None:
        names = ("metric", "percentile", "false_positives", "false_alarms")
        given = [name for name in names if getattr(self, name) is not None]
        if len(given) > 1:
            raise MoteError(f"{' and '.join(given)} are two criteria", where="options", remedy="give one of them")
        if self.metric is not None and self.metric not in FITTED:
            raise MoteError(
                f"'{self.metric}' is no metric of a threshold", where="option metric", remedy=f"use {', '.join(FITTED)}"
            )
        for name, low, high in (
            ("percentile", 0, 100),
            ("false_positives", 0, 1),
            ("false_alarms", 0, np.inf),
            ("margin", 0, 1000),
        ):
            value = getattr(self, name)
            if value is not None and not (low <= value <= high and isfinite(value)):
                raise MoteError(f"{value:g} is not from {low} to {high:g}", where=f"option {name.replace('_', '-')}")

    def threshold(self, interval: Interval) -> float:
        """A threshold within an interval, raised by the margin."""
        number = interval.middle()
        raised = number + abs(number) * self.margin / 100
        return float(f"{raised:.{RAISED_DIGITS}g}") if self.margin else number


def _scoring(compiled: Compiled, say: Say) -> Compiled:
    """The model if it gives scores; an autoencoder is compiled with an anomaly score."""
    source = compiled.source
    if compiled.settings.postprocess or len(source.inputs) != 1 or len(source.outputs) != 1:
        return compiled
    sizes = {source.tensors[t].size for t in (*source.inputs, *source.outputs)}
    if len(sizes) > 1 or max(sizes) <= 2 or compiled.model is None:
        return compiled
    steps = compiled.settings.preprocess or NO_STEPS
    return compile(compiled.model, replace(compiled.settings, preprocess=steps, postprocess=ANOMALY), say=say)


def _place(output: Tensor, event: int | None) -> int:
    """Index of the score to threshold: the only one, the second of two, or the named one."""
    if event is None and output.size > 2:
        raise MoteError(
            f"the model has {output.size} scores", where="option event", remedy="say which class is to be detected"
        )
    place = output.size - 1 if event is None else event
    if 0 <= place < output.size:
        return place
    raise MoteError(
        f"there is no class {place}: the model has {output.size}",
        where="option event",
        remedy="number classes from 0, in the order of the model's output",
    )


def _real(output: Tensor, values: Array) -> Array:
    """Dequantized scores [inferences, scores]."""
    quantized = not output.dtype.real and output.quant is not None
    rows: Array = (dequantized(values, output) if quantized else values).reshape(len(values), -1)
    return rows.astype(np.float64)


def _of_samples(
    rule: Criterion, compiled: Compiled, questions: Posed, scores: Array, place: int | None
) -> ThresholdFit:
    if rule.false_alarms is not None:
        raise MoteError("samples have no false alarms an hour", where="option false-alarms", remedy="give a recording")
    positive = _positive(questions, scores, place)
    both = bool(positive.any() and not positive.all())
    if not both and (rule.metric is not None or rule.false_positives is not None):
        raise MoteError(
            "the samples are not of two kinds, so that nothing says what to detect",
            where=questions.data.where,
            remedy="label samples to detect and others, or give a percentile of normal data",
        )
    if rule.false_positives is not None:
        share = rule.false_positives
        interval, said = at_most(share, scores, positive), f"at most {100 * share:g}% false positives"
    elif rule.percentile is None and both:
        metric = rule.metric or "f1"
        interval, said = highest(metric, scores, positive), f"highest {metric}"
    else:
        percent = PERCENT if rule.percentile is None else rule.percentile
        normal = scores if positive.all() else scores[~positive]
        interval, said = percentile(percent, normal), f"{percent:g}% of normal samples are not above it"
    threshold = rule.threshold(interval)
    above = scores > threshold
    step = f"threshold({threshold!r})" if place is None else f"detect({place},{threshold!r})"
    return _fitted(
        compiled,
        questions,
        threshold,
        _with_margin(said, rule),
        step,
        scores,
        (int(positive.sum()), int((above & ~positive).sum()), int((~above & positive).sum())),
    )


def _positive(questions: Posed, scores: Array, place: int | None) -> Array:
    """Mask of samples to detect: label 1 for a single score; none without labels."""
    if questions.data.labels is None:
        return np.zeros(len(scores), np.bool_)
    labels = class_labels(questions.data.labels).reshape(len(scores), -1)
    if labels.shape[1] != 1 or (place is None and labels.max(initial=0) > 1):
        raise MoteError(
            "labels are not 0 for normal samples and 1 for those to detect",
            where=questions.data.where,
            remedy="label samples so, or omit labels of normal data",
        )
    wanted: Array = labels[:, 0] == (1 if place is None else place)
    return wanted


def _of_recording(
    rule: Criterion, compiled: Compiled, questions: Posed, scores: Array, place: int | None
) -> ThresholdFit:
    if rule.metric is not None or rule.false_positives is not None:
        raise MoteError(
            "samples of a recording have no labels",
            where=questions.data.where,
            remedy="say how many false alarms an hour there may be: --false-alarms N",
        )
    stream, times = questions.recorded, questions.times
    assert stream is not None and times is not None
    times = times[questions.warm :]
    wanted = np.zeros((0, 2)) if stream.events is None else stream.events
    if rule.percentile is not None:
        interval = percentile(rule.percentile, scores)
        said = f"{rule.percentile:g}% of scores are not above it"
    else:
        most = FALSE_ALARMS if rule.false_alarms is None else rule.false_alarms
        interval = quietest(most, times, scores, wanted, stream.duration)
        said = f"fewest misses with at most {most:g} false alarms an hour"
    threshold = rule.threshold(interval)
    detail = events(times, scores, wanted, stream.duration, threshold=threshold).detail
    period = float(times[1] - times[0]) if len(times) > 1 else JOINED
    hold = max(floor(JOINED / period + 1e-9) - 1, 0)
    step = f"detect({place or 0},{threshold!r}{f',hold={hold}' if hold else ''})"
    fit = _fitted(
        compiled,
        questions,
        threshold,
        _with_margin(said, rule),
        step,
        scores,
        (len(wanted), detail["false_alarms"], detail["misses"]),
    )
    return replace(fit, false_alarms_an_hour=detail["false_alarms_an_hour"])


def _with_margin(said: str, rule: Criterion) -> str:
    return f"{said}, raised by {rule.margin:g}%" if rule.margin else said


def _fitted(
    compiled: Compiled,
    questions: Posed,
    threshold: float,
    criterion: str,
    step: str,
    scores: Array,
    counts: tuple[int, int, int],
) -> ThresholdFit:
    """The result; raises an error if no score can exceed the threshold."""
    graph = compiled.plan.graph
    output = graph.tensors[graph.outputs[0]]
    try:
        threshold_code(threshold, ScoreUnit.of(output), output.dtype)
    except MoteError as error:
        raise MoteError(
            f"{criterion}: {error.reason}",
            where=questions.data.where,
            remedy="choose another criterion, or average scores first: --postprocess moving-average=4",
        ) from None
    before = f"{compiled.settings.postprocess}," if compiled.settings.postprocess else ""
    return ThresholdFit(
        compiled.path,
        questions.data.shown,
        threshold,
        criterion,
        before + step,
        len(scores),
        *counts,
        float(scores.min()),
        float(scores.max()),
    )
