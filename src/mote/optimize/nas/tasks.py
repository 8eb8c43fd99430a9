"""Derives the learning task from data: its kind, sample shape, classes or regression, and a validation split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.bench.evaluation.score import outputs, real
from mote.frontends import load
from mote.frontends.data.dataset import prepared
from mote.frontends.data.dataset_type import Dataset
from mote.frontends.features.pipeline import preprocessing
from mote.ir.graph.tensor import Array
from mote.optimize.nas.spaces.layers import Shape

IMAGE, SPECTROGRAM, SOUND, SERIES, TABLE = "image", "spectrogram", "sound", "series", "table"
KINDS = (IMAGE, SPECTROGRAM, SOUND, SERIES, TABLE)
LONG = 4000
"""Rows of at least this many values are raw sound, not a table."""
CHANNELS = 9
"""Two-dimensional samples with at most this many columns are a time series; with more they are a spectrogram."""
FRONT_ENDS = (
    "audio,log-mel(filters=40,hop=320)",
    "audio,log-mel(filters=24,hop=320)",
    "audio,log-mel(filters=40,hop=480)",
    "audio,log-mel(filters=24,hop=480)",
)
"""Audio front ends to choose from for raw sound."""
MANY = 5000
"""Data sets of at least this many samples hold out 10% for validation instead of 20%."""


@dataclass(frozen=True, eq=False)
class LearningTask:
    """A learning task with its training and validation data."""

    kind: str
    """Kind of data: image, spectrogram, series or table; raw sound becomes a spectrogram by its front end."""
    input: Shape
    """Shape of a network's input: (height, width, channels), (time, bins, 1), (time, 1, channels) or (features,)."""
    outputs: int
    """Number of classes, or of regression values."""
    classes: bool
    """True for classification, False for regression."""
    train: Dataset
    validation: Dataset
    """Validation samples, by which candidates are compared."""
    names: tuple[str, ...] = ()
    """Class names."""
    steps: str = ""
    """Preprocessing steps from a raw sample to the model's input: standardization or an audio front end."""
    front_end: str = ""
    """Name of the audio front end that `steps` begin with, which a search chooses; empty: there is none."""
    device_steps: str = ""
    """Preprocessing steps that the device runs, as `mote compile --preprocess` takes them."""
    scale: float = 1.0
    """Magnitude of the data as a power of two: networks are trained on inputs divided by it, and it is folded into the
    first layer."""

    @property
    def metric(self) -> str:
        """Name of the accuracy measure: accuracy, or R2 for a regression."""
        return "accuracy" if self.classes else "R2"

    def prepared(self, data: Dataset) -> Dataset:
        """Applies the task's preprocessing to raw samples."""
        return prepared(data, preprocessing(self.steps)) if self.steps else data

    @property
    def augmentation(self) -> str:
        """Default data augmentation of the kind: spectrograms are shifted and stretched in time, others unchanged."""
        return f"time={max(1, round(self.input[0] / 10))},stretch=0.15" if self.kind == SPECTROGRAM else ""

    @property
    def resizable(self) -> bool:
        """Whether samples are byte images, which can be resized."""
        (values,) = self.train.inputs.values()
        return (
            self.kind == IMAGE
            and not self.steps
            and bool(
                values.dtype == np.uint8
                or (values.min() >= 0 and values.max() > 1 and (values == np.rint(values)).all())
            )
        )

    def resized(self, shape: Shape) -> LearningTask:
        """The task with images resized to `shape`."""
        if shape == self.input:
            return self
        step = f"resize={shape[1]}x{shape[0]}"
        train, held = (prepared(data, preprocessing(step)) for data in (self.train, self.validation))
        return replace(self, input=shape, train=train, validation=held, steps=step)

    def inputs(self, data: Dataset, scale: float = 1.0) -> Array:
        """Preprocessed samples as network inputs: [samples, *input] float32, divided by `scale`."""
        (values,) = data.inputs.values()
        scaled: Array = (values.reshape(len(values), *self.input) / scale).astype(np.float32)
        return scaled

    def accuracy(self, model: Any, data: Dataset) -> float:
        """Accuracy (or R2) of a model on preprocessed samples; its first output is scores or a class index."""
        graph = load(model)
        tensor = graph.tensors[graph.outputs[0]]
        raw = outputs(graph, data.cases(graph))[0]
        assert data.labels is not None
        if self.classes and tensor.dtype.integer and tensor.quant is None:
            return float((raw.reshape(-1) == data.labels).mean())
        answers = real(tensor, raw)
        return agreement(answers.reshape(len(answers), -1), data.labels, self.classes)


def agreement(answers: Array, labels: Array, classes: bool) -> float:
    """Accuracy of scores [samples, classes], or R2 of values [samples, values]."""
    if classes:
        chosen = answers.argmax(1) if answers.shape[1] > 1 else answers[:, 0] > 0.5
        return float((chosen == labels).mean())
    wanted = labels.reshape(len(answers), -1).astype(np.float64)
    spread = ((wanted - wanted.mean(0)) ** 2).sum()
    return float(1 - ((answers - wanted) ** 2).sum() / max(spread, 1e-30))


def learning_tasks(
    train: Dataset, validate: Dataset | None = None, *, kind: str = "", seed: int = 0, front_ends: Sequence[str] = ()
) -> tuple[LearningTask, ...]:
    """The tasks of labelled data: one, or for raw sound one per audio front end.

    Without `validate`, a part of the training data is held out, stratified by class and chosen by `seed`."""
    chosen = kind or kind_of(train)
    if chosen not in KINDS:
        raise MoteError(f"'{chosen}' is no kind of task", where="option task", remedy=f"use {', '.join(KINDS)}")
    if len(train.inputs) != 1 or train.labels is None or train.stream is not None:
        raise MoteError(
            "a search needs samples of one input, with a label for each",
            where=train.where,
            remedy="name them: --inputs NAME --labels NAME",
        )
    classes = train.labels.dtype.kind in "iu"
    part, held = (train, validate) if validate is not None else split(train, classes, seed)
    ends = front_ends or (FRONT_ENDS if chosen == SOUND else ("",))
    return tuple(_task(SPECTROGRAM if chosen == SOUND else chosen, part, held, classes, steps) for steps in ends)


def kind_of(data: Dataset) -> str:
    """The kind of task, inferred from sample shape and type."""
    (values,) = data.inputs.values()
    shape = values.shape[1:]
    if len(shape) == 1:
        return SOUND if shape[0] >= LONG else TABLE
    if len(shape) == 2:
        return SERIES if shape[1] <= CHANNELS else SPECTROGRAM
    if len(shape) == 3:
        if shape[1] == 1:
            return SERIES
        return SPECTROGRAM if shape[2] == 1 and shape[0] != shape[1] and values.dtype.kind == "f" else IMAGE
    raise MoteError(
        f"samples of {'x'.join(map(str, shape)) or 'one value'} are of no kind that can be searched for",
        where=data.where,
        remedy="give rows [features], series [time, channels], spectrograms [time, bins] or images [height, width,"
        " channels]",
    )


def network_shape(kind: str, shape: Shape, where: str) -> Shape:
    """Network input shape for samples of a kind."""
    forms: Mapping[str, Mapping[int, Shape]] = {
        TABLE: {1: shape, 2: (int(np.prod(shape)),), 3: (int(np.prod(shape)),)},
        SERIES: {1: (*shape, 1, 1), 2: (shape[0], 1, *shape[1:]), 3: shape},
        SPECTROGRAM: {2: (*shape, 1), 3: shape},
        IMAGE: {2: (*shape, 1), 3: shape},
    }
    if len(shape) not in forms[kind] or (kind == SERIES and len(shape) == 3 and shape[1] != 1):
        raise MoteError(
            f"samples of {'x'.join(map(str, shape))} are no {kind}",
            where=where,
            remedy=f"use --task {', '.join(KINDS)}",
        )
    return forms[kind][len(shape)]


def split(data: Dataset, classes: bool, seed: int) -> tuple[Dataset, Dataset]:
    """Splits data into training and validation samples, keeping their order."""
    assert data.labels is not None
    share = 0.2 if len(data) < MANY else 0.1
    rng = np.random.default_rng(seed)
    groups = (
        [np.flatnonzero(data.labels == k) for k in np.unique(data.labels)]
        if classes
        else [np.arange(len(data), dtype=np.int64)]
    )
    held = np.zeros(len(data), bool)
    for group in groups:
        held[rng.permutation(group)[: max(round(share * len(group)), min(len(group) - 1, 1))]] = True
    if not held.any() or held.all():
        raise MoteError(
            "has too few samples to hold some out", where=data.where, remedy="give more, or --validate DATA"
        )
    return data.take(np.flatnonzero(~held)), data.take(np.flatnonzero(held))


def spread_samples(data: Dataset, most: int) -> Dataset:
    """At most `most` samples, evenly spaced over the data."""
    return data if len(data) <= most else data.take(np.linspace(0, len(data) - 1, most).round().astype(int))


def _task(kind: str, train: Dataset, held: Dataset, classes: bool, front_end: str) -> LearningTask:
    """The task with an audio front end ("" for none). Tables and series are standardized by channel; other data is only
    scaled, which the first layer absorbs exactly whatever its padding."""
    steps = front_end
    part, rest = (prepared(data, preprocessing(front_end)) if front_end else data for data in (train, held))
    if kind in (TABLE, SERIES):
        standard = _standardization(part)
        part, rest = (prepared(data, preprocessing(standard)) for data in (part, rest))
        steps = f"{front_end},{standard}" if front_end else standard
    ((_, values),) = part.inputs.items()
    assert part.labels is not None
    shape = network_shape(kind, values.shape[1:], train.where)
    if classes:
        count = max(int(part.labels.max()) + 1, len(train.classes))
    else:
        count = 1 if part.labels.ndim == 1 else part.labels.shape[1]
    deviation = float(np.sqrt(np.mean(np.square(values, dtype=np.float64)))) or 1.0
    return LearningTask(
        kind=kind,
        input=shape,
        outputs=count,
        classes=classes,
        train=part,
        validation=rest,
        names=train.classes,
        steps=steps,
        front_end=front_end,
        device_steps=front_end if preprocessing(front_end).compiled else train.steps,
        scale=2.0 ** round(log2(deviation)) if not 0.25 < deviation < 4 else 1.0,
    )


def _standardization(data: Dataset) -> str:
    """Preprocessing steps that standardize every channel to mean 0 and deviation 1 of the training data."""
    (values,) = data.inputs.values()
    rows = values.reshape(-1, values.shape[-1]).astype(np.float64)
    deviation = rows.std(0)
    means, deviations = rows.mean(0), np.where(deviation > 1e-9 * np.abs(rows).max(0), deviation, 1.0)
    mean, std = (",".join(f"{number:.6g}" for number in numbers) for numbers in (means, deviations))
    return f"mean({mean}),std({std})"
