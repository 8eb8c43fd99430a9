"""`mote evaluate`: accuracy of a compiled model on labelled data, and which layers lose it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from mote.base.errors import MoteError, explaining, naming
from mote.base.files import read_file
from mote.base.progress import Say, silent
from mote.bench.evaluation.inferences import as_real, as_taken, channels_moved_to, posed
from mote.bench.evaluation.layer_noise import LayerNoise, comparable, layer_noise
from mote.bench.evaluation.learning.learned import Tools, evaluate_learning
from mote.bench.evaluation.learning.learner import Lessons
from mote.bench.evaluation.on_core import on_core
from mote.bench.evaluation.result import Against, Evaluation
from mote.bench.evaluation.runners import THRESHOLD, How, answers_here, by_reference, compiled_of, rated_by, worst_of
from mote.bench.evaluation.score import real, score
from mote.bench.evaluation.worst_samples import agreement, most_different
from mote.bench.metrics import check_metric, noise
from mote.compiler.compiled import Compiled
from mote.compiler.given import CompileOptions
from mote.compiler.kept import compile
from mote.compiler.options.parsing import check_at_least
from mote.compiler.settings import Settings, make_settings
from mote.frontends.data.dataset import dataset
from mote.frontends.data.dataset_type import Dataset
from mote.frontends.data.scale import scale_warnings
from mote.ir.graph.tensor import Array

__all__ = ["Evaluation", "evaluate", "score"]

EVENTS = "events"
"""Name of the metric for recordings."""
SHARED_OPTIONS = ("stream", "hop", "causal")
"""Settings that are also applied to the model compared against."""
MOVED = "channels of the data were moved to where the model has them"
LAYER_SAMPLES = 32
"""Number of samples for comparing layers of two models."""


@explaining()
def evaluate(
    model: Any,
    data: Any,
    settings: Settings | None = None,
    *,
    metric: str | None = None,
    against: Any = None,
    samples: int | None = None,
    worst: int = 10,
    event: int = 0,
    threshold: float = THRESHOLD,
    example_inputs: Any = None,
    compiler: str | None = None,
    emulator: str | None = None,
    board: str | None = None,
    keep: Any = None,
    epochs: int | None = None,
    seed: int = 0,
    say: Say = silent,
    **options: Unpack[CompileOptions],
) -> Evaluation:
    """Evaluates a model on labelled data (`mote.frontends.data.dataset`): the compiled C on the host; the format's own
    runtime; with a microcontroller `target` also `samples` on the emulated core (default 8), or on a `board` (default
    all; its answers are then scored too); and `against` another model, layer by layer. `model` is compiled, or given
    with options as to `mote.compile`; data is preprocessed with the same integer arithmetic as on a device
    (`dataset(data, preprocess=...)`).

    `metric` is top1, topK, auc, rmse, mae or events; by default it is chosen by outputs and labels. In recordings
    `event` is the class whose score must exceed `threshold`. `worst` is the number of worst samples to list.

    With `train` and `train_data` (`mote.compile`) the model is scored before and after on-device training on these
    samples, one by one: each once in order, or in `epochs` epochs shuffled by `seed`. `keep` are samples of previous
    knowledge, to measure forgetting."""
    check_at_least("samples", samples or 0, 0)
    check_at_least("worst", worst, 0)
    given = dataset(data, labelled=True)
    how = How(_checked(metric or "", given), event, threshold, worst)
    if isinstance(against, str | Path):
        read_file(against, 0)
    compiled = compiled_of(model, settings, options, example_inputs, say, board)
    _check_training(compiled, given, {"keep": keep, "epochs": epochs}, {"against": against, "board": board})
    with naming(compiled.path):
        if compiled.settings.train:
            assert compiled.settings.train_data is not None
            lessons = Lessons(compiled.settings.train_data, epochs, seed)
            kept = None if keep is None else dataset(keep, labelled=True)
            return evaluate_learning(compiled, lessons, given, kept, how, Tools(compiler, emulator, samples), say)
        graph = compiled.plan.graph
        taken = as_taken(graph, given)
        questions = posed(graph, taken, axis=compiled.settings.stream)
        answers, rate = answers_here(compiled, questions, say)
        rating = rated_by(how, graph, answers[0], questions)
        how = replace(how, metric=rating.metric)
        return Evaluation(
            compiled.path,
            compiled.settings.target.name,
            given.shown,
            rating,
            rate,
            by_reference(compiled, questions, answers, how, say),
            on_core(compiled, questions, answers, how, samples, say, compiler, emulator, board),
            None if against is None else _against(compiled, against, taken, answers[0], how, say),
            given.classes or graph.tensors[graph.outputs[0]].labels,
            worst_of(how, graph, answers[0], questions),
            (*(() if taken is given else (MOVED,)), *scale_warnings(compiled.source, taken)),
        )


def _checked(metric: str, data: Dataset) -> str:
    """Validates the metric; recordings have a metric of their own."""
    if data.stream is None and metric:
        check_metric(metric)
    if data.stream is None or metric in ("", EVENTS):
        return metric
    raise MoteError(
        f"'{metric}' is no metric of a recording", where="option metric", remedy=f"omit it, or use '{EVENTS}'"
    )


def _check_training(compiled: Compiled, data: Dataset, training: Mapping[str, Any], others: Mapping[str, Any]) -> None:
    """Raises an error for training options without training, and for options that training does not support."""
    learns = bool(compiled.settings.train)
    wrong = next((name for name, value in (others if learns else training).items() if value is not None), None)
    if wrong is not None:
        remedy = "omit it, or --train" if learns else "say what learns: --train last"
        raise MoteError(
            f"is for models that {'do not ' if learns else ''}learn", where=f"option {wrong}", remedy=remedy
        )
    if learns and compiled.settings.train_data is None:
        raise MoteError("has nothing to learn", where="option train", remedy="give samples: --train-data DATA")
    if learns and data.stream is not None:
        remedy = "cut it into samples: a folder with one folder per class"
        raise MoteError(
            "is a recording, and training is judged by samples with labels", where=data.where, remedy=remedy
        )
    check_at_least("epochs", 1 if training["epochs"] is None else training["epochs"], 1)


def _against(compiled: Compiled, model: Any, data: Dataset, answers: Array, how: How, say: Say) -> Against:
    """Evaluates another model on the same samples, and compares the layers of both."""
    options = {name: getattr(compiled.settings, name) for name in SHARED_OPTIONS}
    other = model if isinstance(model, Compiled) else compile(model, make_settings("host", **options), say=say)
    graph, theirs_graph = compiled.plan.graph, other.plan.graph
    same = as_taken(theirs_graph, as_real(graph, data))
    questions = posed(theirs_graph, same, axis=other.settings.stream)
    values, _ = answers_here(other, questions, say)
    rating = rated_by(how, theirs_graph, values[0], questions)
    after = slice(questions.warm, None)
    mine = real(graph.tensors[graph.outputs[0]], answers)[after]
    theirs = real(theirs_graph.tensors[theirs_graph.outputs[0]], values[0])[after]
    theirs = channels_moved_to(mine.shape[1:], theirs)
    if mine.reshape(len(mine), -1).shape != theirs.reshape(len(theirs), -1).shape:
        raise MoteError(
            f"gives {theirs[0].size} numbers for a sample, {compiled.path} gives {mine[0].size}",
            where=other.path,
            remedy="compare models that answer the same question",
        )
    say("comparing layers")
    layers, count = _layers(compiled, other, data, same)
    return Against(
        other.path,
        rating,
        agreement(how.metric, mine, theirs, data),
        noise(theirs.reshape(len(theirs), -1), mine.reshape(len(mine), -1)),
        layers,
        count,
        most_different(how.metric, mine, theirs, data, how.worst) if questions.times is None else [],
    )


def _layers(compiled: Compiled, other: Compiled, data: Dataset, same: Dataset) -> tuple[list[LayerNoise], int]:
    """Compares the layers of two models on some samples; returns the layers and the number of samples."""
    graph, theirs = comparable(compiled.source), comparable(other.source)
    mine, others = posed(graph, data), posed(theirs, same)
    chosen = mine.some(LAYER_SAMPLES)
    cases = ([questions.cases[i] for i in chosen] for questions in (mine, others))
    return layer_noise(graph, next(cases), theirs, next(cases)), len(chosen)
