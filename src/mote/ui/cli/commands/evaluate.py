"""`mote evaluate`: the accuracy of a model on labelled data: compiled, in its own runtime, on an emulated core, and
compared with another model layer by layer."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from mote.base.errors import MoteError
from mote.bench.evaluation.evaluator import evaluate
from mote.bench.evaluation.layer_noise import LayerNoise
from mote.bench.evaluation.learning.result import BeforeAndAfter, Learning
from mote.bench.evaluation.result import Against, Evaluation, SampleAnswer
from mote.bench.evaluation.runners import THRESHOLD
from mote.bench.metrics import METRICS, Score
from mote.bench.metrics.score import LOWER
from mote.bench.pictures.accuracy import Bar, confusion, noise
from mote.ui.cli.common import add_number, bold, green, named, print_json, progress, red, show, table
from mote.ui.cli.options.compiling import add_compile_options, settings
from mote.ui.cli.options.drawing import add_picture, write_picture
from mote.ui.cli.options.sampling import add_data, data_of
from mote.ui.cli.options.tools import TOOLS, add_board, add_tools, show_interruptions
from mote.ui.cli.table import drop, fold, shorten
from mote.ui.cli.terminal import width

MOST_CLASSES = 16
"""The most classes whose whole confusion matrix is printed; of more, the pairs that are confused most often."""
PAIRS = 10
LEAST_CLASS, SHARE = 8, 8
"""Characters of a class name beside its row of the confusion matrix at least, and of the share behind it."""
SCALED = "channels have other scales"
"""The note about a layer whose channels were equalized by a quantizer."""


def add(p: argparse.ArgumentParser) -> None:
    add_compile_options(p, omitted=("preprocess",))
    add_tools(p)
    add_board(p, "run the samples on this board")
    add_data(p, required=True)
    p.add_argument(
        "--metric",
        metavar="NAME",
        help=f"{', '.join(METRICS)}, where K is a number (default: by the outputs and labels)",
    )
    p.add_argument(
        "--against",
        metavar="MODEL",
        help="a second model for the same task, such as the float one: both side by side, with the"
        " signal-to-noise ratio of each layer",
    )
    p.add_argument(
        "--samples",
        type=int,
        metavar="N",
        help="how many of the inputs to run on the emulated target (default: 8) or the board (default: all) as well",
    )
    add_number(p, "--worst", 10, "how many of the worst predictions to list")
    add_number(p, "--event", 0, "for a recording: index of the class to detect", metavar="CLASS")
    add_number(
        p, "--threshold", THRESHOLD, "for a recording: detection threshold on its score", kind=float, metavar="SCORE"
    )
    p.add_argument(
        "--keep",
        metavar="DATA",
        help="with --train: samples of what the model knew before, to measure how much of that it forgets",
    )
    p.add_argument(
        "--epochs",
        dest="train_epochs",
        type=int,
        metavar="N",
        help="with --train: how often all samples are learned, shuffled (default: each once, in their order)",
    )
    add_number(p, "--seed", 0, "with --epochs: seed of the order")
    add_picture(p, "the confusion matrix", "confusion")
    add_picture(p, "the signal-to-noise ratio of each layer against the other model", "noise")


def run(arguments: argparse.Namespace) -> int:
    if arguments.noise_picture and not arguments.against:
        raise MoteError(
            "is drawn of two models", where="option --noise-picture", remedy="name the other with --against"
        )
    with progress("reading the data") as say:
        data = data_of(arguments, labelled=True)
        learned = {"train_data": data_of(arguments, arguments.train_data)} if arguments.train_data else {}
        evaluation = evaluate(
            arguments.model,
            data,
            settings(arguments, **learned),
            **named(arguments, *TOOLS, "metric", "against", "samples", "worst", "event", "threshold"),
            keep=data_of(arguments, arguments.keep) if arguments.keep else None,
            epochs=arguments.train_epochs,
            seed=arguments.seed,
            say=say,
        )
    _draw(arguments, evaluation)
    print_json(evaluation.json()) if arguments.json else print_text(evaluation)
    return 0 if evaluation.passed else 1


def _draw(arguments: argparse.Namespace, evaluation: Evaluation) -> None:
    if arguments.confusion_picture and "confusion" not in evaluation.score.detail:
        raise MoteError(
            f"{evaluation.score.metric} takes nothing for anything else",
            where="option --confusion-picture",
            remedy="it is drawn of classes, with the metric top1",
        )
    if arguments.noise_picture and evaluation.against is not None and not evaluation.against.layers:
        raise MoteError("no layer of one model could be found in the other", where="option --noise-picture")
    write_picture(
        arguments.confusion_picture,
        lambda: confusion(matrix(evaluation), _classes(evaluation), f"{evaluation.model}, {evaluation.data}"),
    )
    write_picture(arguments.noise_picture, lambda: _noise_picture(evaluation))


def matrix(evaluation: Evaluation) -> list[list[int]]:
    """How many samples of which class (row) were taken for which (column)."""
    counted: list[list[int]] = evaluation.score.detail["confusion"]
    return counted


def _classes(evaluation: Evaluation) -> list[str]:
    return [_class(evaluation, i) for i in range(len(matrix(evaluation)))]


def _noise_picture(evaluation: Evaluation) -> str:
    against = evaluation.against
    assert against is not None
    bars = [
        Bar(
            layer.short,
            layer.decibels,
            f"{decibels(layer.decibels)}, {added(layer)}",
            f"{layer.op} {layer.name}, compared with {layer.other}",
            layer.worst,
        )
        for layer in against.layers
    ]
    return noise(bars, f"{evaluation.model} against {against.model}, {against.samples} samples")


def _note(layer: LayerNoise) -> str:
    return "<- most is lost here" if layer.worst else SCALED if layer.scaled else ""


def added(layer: LayerNoise) -> str:
    return f"{100 * layer.added:+.3f}%" if isfinite(layer.added) else "-"


def print_text(evaluation: Evaluation) -> None:
    if evaluation.learning is not None:
        _print_learning(evaluation, evaluation.learning)
    show(bold(f"{evaluation.model} on {evaluation.data}: {value(evaluation.score)}") + context(evaluation.score))
    print(
        table(("runtime", evaluation.score.metric, "samples", "note"), _rows(evaluation), left=4, fit=(fold("note"),))
    )
    for note in evaluation.notes:
        show(f"note: {note}")
    show_interruptions(() if evaluation.core is None else evaluation.core.interruptions)
    if evaluation.score.metric == "events":
        for begin, end in evaluation.score.detail["detections"]:
            show(f"noticed from {begin:.2f} to {end:.2f} s")
    if evaluation.learning is None and "confusion" in evaluation.score.detail:
        _print_confusion(evaluation)
    if evaluation.worst:
        show(bold("worst answers"))
        print(_answers(evaluation, evaluation.worst, other=False))
    if evaluation.against is not None:
        _print_against(evaluation, evaluation.against)


def _print_learning(evaluation: Evaluation, learning: Learning) -> None:
    """The gain of training: scores before and after it, losses, and each class."""
    show(bold(f"{evaluation.model} learns '{learning.train}' from {learning.data}"))
    often = {None: "each once, in their order", 1: "each once, shuffled"}
    how = often.get(learning.epochs, f"{learning.epochs} times, shuffled")
    show(f"{learning.samples:,} samples, {how}: {learning.steps:,} steps, {learning.weights:,} bytes learned")
    if learning.losses:
        mean = "" if learning.every == 1 else f", each the mean of {learning.every} steps"
        show(f"loss {learning.losses[0]:.4g} at first, {learning.losses[-1]:.4g} at last{mean}")
    if learning.online:
        first, last = (value(replace(learning.test.after, value=learning.online[epoch])) for epoch in (0, -1))
        epochs = first if len(learning.online) == 1 else f"{first} in the first epoch, {last} in the last one"
        show(f"{learning.test.after.metric} of these samples, each asked before it was learned: {epochs}")
    known = f"{learning.equal} of the first {learning.checked} steps equal to the NumPy reference's"
    show(green(known) if learning.equal == learning.checked else red(known))
    exams = [("tested", learning.test), *([] if learning.kept is None else [("kept", learning.kept)])]
    rows = [
        (what, exam.data, "-" if exam.before is None else value(exam.before), value(exam.after), _gained(exam))
        for what, exam in exams
    ]
    head = ("", "samples", f"{learning.test.after.metric} before", "after", "gained")
    print(table(head, rows, left=2, fit=(shorten("samples", 20),)))
    if "per_class" in learning.test.after.detail:
        _print_classes(evaluation, learning)


def _gained(exam: BeforeAndAfter) -> str:
    gained = exam.gained
    if gained is None or not isfinite(gained):
        return "-"
    return f"{gained:+.4g}" if exam.after.better == LOWER else f"{100 * gained:+.2f} points"


def _print_classes(evaluation: Evaluation, learning: Learning) -> None:
    """How many of each class are right, before training and after it."""
    before, after = learning.test.before, learning.test.after.detail["per_class"]
    was = [None] * len(after) if before is None else before.detail["per_class"]
    rows = [
        (_class(evaluation, i), trained, *("-" if share is None else f"{100 * share:.1f}%" for share in shares))
        for i, (trained, *shares) in enumerate(zip(learning.trained, was, after, strict=False))
        if trained or any(share is not None for share in shares)
    ][:MOST_CLASSES]
    show(bold("right of each class"))
    print(table(("class", "learned", "before", "after"), rows, left=1, fit=(shorten("class", 20),)))


def _rows(evaluation: Evaluation) -> list[tuple[str, str, str, str]]:
    """The rows of the table: each runtime, its score, and notes."""
    reference, core, against = evaluation.reference, evaluation.core, evaluation.against
    samples = reference.score.samples
    how = "bit for bit" if not reference.max_abs_diff else f"but for {reference.max_abs_diff:.2g}"
    some = f"equal on {reference.equal:,} of {samples:,}, largest difference {reference.max_abs_diff:.3g}"
    equal = green(f"equal {how} on all {samples:,}") if reference.equal == samples else some
    pace = f"{evaluation.rate:,.0f} inputs a second" if evaluation.rate else ""
    rows = [
        ("compiled C on this computer", value(evaluation.score), counts(evaluation.score), pace),
        (reference.runtime, value(reference.score), counts(reference.score), equal),
    ]
    if core is not None:
        steps = "" if evaluation.learning is None else " steps of training"
        text = f"{core.equal} of {core.samples}{steps} equal to this computer's"
        told = green(text) if core.passed else red(f"{text}, largest difference {core.max_abs_diff:.3g}")
        each = f", {core.instructions:,} {core.unit} each" if core.instructions else ""
        scored = ("", "") if core.score is None else (value(core.score), counts(core.score))
        rows.append((f"{core.target} ({core.emulator})", *scored, told + each))
    if against is not None:
        same = "" if against.agreement is None else f"the same class for {100 * against.agreement:.2f}%, "
        rows.append((against.model, value(against.score), counts(against.score), f"{same}{decibels(against.decibels)}"))
    return rows


def value(score: Score) -> str:
    """The number as a person reads it: a share in percent, of the others what they are."""
    if not isfinite(score.value):
        return "not finite"
    if score.metric in ("rmse", "mae"):
        return f"{score.value:.4g}"
    return f"{score.value:.4f}" if score.metric == "auc" else f"{100 * score.value:.2f}%"


def context(score: Score) -> str:
    """The context of an accuracy, in brackets behind it."""
    return f" ({score.context})" if score.context else ""


def counts(score: Score) -> str:
    """The figures behind a score, as a text."""
    detail = score.detail
    if "correct" in detail:
        of = sum(map(sum, detail["confusion"])) if "confusion" in detail else score.samples
        return f"{detail['correct']:,} of {of:,}{'' if of == score.samples else f', {score.samples:,} samples'}"
    if "hits" in detail:
        an_hour = detail["false_alarms_an_hour"]
        return (
            f"{detail['hits']} hits, {detail['misses']} misses, {detail['false_alarms']} false alarms, {an_hour:.3g}/h"
        )
    return f"{score.samples:,} samples"


def decibels(number: float) -> str:
    return "nothing differs" if number == float("inf") else f"{number:.1f} dB"


def _class(evaluation: Evaluation, label: Any) -> str:
    """The class name of a label."""
    if isinstance(label, list):
        shown = ", ".join(f"{x:.4g}" for x in label[:4])
        return f"{shown}{', ...' if len(label) > 4 else ''}"
    if label is None:
        return "-"
    whole = isinstance(label, int)
    return (
        evaluation.classes[label]
        if whole and 0 <= label < len(evaluation.classes)
        else f"{label}"
        if whole
        else f"{label:.4g}"
    )


def _print_confusion(evaluation: Evaluation) -> None:
    counted, names = matrix(evaluation), _classes(evaluation)
    if len(counted) <= MOST_CLASSES and (columns := _columns(counted)) is not None:
        show(bold("confusion: a row for each label, a column for each answer"))
        right = [
            None if row[i] == sum(row) == 0 else f"{100 * row[i] / sum(row):.1f}%" for i, row in enumerate(counted)
        ]
        if any(len(name) > columns for name in names):
            heads, names = [f"{i}" for i in range(len(names))], [f"{i} {name}" for i, name in enumerate(names)]
        else:
            heads = names
        rows = [(name, *(n or "." for n in row), share) for name, row, share in zip(names, counted, right, strict=True)]
        print(table(("", *heads, "right"), rows, fit=(shorten("", LEAST_CLASS),)))
        return
    pairs = [(n, i, k) for i, row in enumerate(counted) for k, n in enumerate(row) if n and i != k]
    show(bold("taken for another class most often"))
    rows_ = [(names[i], names[k], n) for n, i, k in sorted(pairs, key=lambda pair: -pair[0])[:PAIRS]]
    print(table(("label", "answer", "samples"), rows_, left=2, fit=(shorten("label", 20), shorten("answer", 20))))


def _columns(counted: Sequence[Sequence[int]]) -> int | None:
    """The characters that each column of a confusion matrix may have in the terminal; None where they do not fit."""
    widest = max(len(f"{n:,}") for row in counted for n in row)
    columns = (width() - LEAST_CLASS - SHARE) // max(len(counted), 1) - 2
    return columns if columns >= max(widest, 2) else None


def _answers(evaluation: Evaluation, answers: Sequence[SampleAnswer], *, other: bool) -> str:
    head = ("input", "label", "answer", *(["the other's"] if other else []), "apart" if other else "off by")
    rows = [
        (
            f"{a.index}" if a.name == f"sample {a.index}" else a.name,
            *(_class(evaluation, x) for x in (a.label, a.predicted, *([a.other] if other else []))),
            f"{a.error:.4g}",
        )
        for a in answers
    ]
    return table(head, rows, left=len(head) - 1, fit=(shorten("input", 20),))


def _print_against(evaluation: Evaluation, against: Against) -> None:
    if against.worst:
        show(bold("most different answers"))
        print(_answers(evaluation, against.worst, other=True))
    if not against.layers:
        show("no layer of one model could be found in the other")
        return
    show(bold(f"what is left of {against.model} in each layer, on {against.samples} samples"))
    rows = [
        (
            layer.index,
            layer.short,
            layer.op,
            "equal" if layer.decibels == float("inf") else f"{layer.decibels:.1f}",
            added(layer),
            _note(layer).ljust(len(SCALED)),
        )
        for layer in against.layers
    ]
    print(table(("#", "layer", "op", "dB", "noise added", ""), rows, left=3, fit=(drop("op"),)))
