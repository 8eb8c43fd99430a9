"""`mote evaluate`: the accuracy of a model on labelled data: compiled, in its own runtime, on an emulated core, and
compared with another model layer by layer."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import isfinite
from typing import Any

from mote.cli.common import (
    add_compile_options,
    add_data,
    add_tools,
    bold,
    data_of,
    green,
    print_json,
    progress,
    red,
    settings,
    shortened,
    table,
    write_svg,
)
from mote.errors import MoteError
from mote.evaluation.evaluator import evaluate
from mote.evaluation.layer_noise import LayerNoise
from mote.evaluation.result import Against, Evaluation, SampleAnswer
from mote.evaluation.runners import THRESHOLD
from mote.metrics import METRICS, Score
from mote.report.accuracy import Bar, confusion, noise

MOST_CLASSES = 16
"""Of which the whole confusion matrix is printed; of more, the pairs that are taken for one another most often."""
PAIRS = 10
SCALED = "channels have other scales"
"""What is said of a layer whose channels a quantizer has made alike."""


def add(p: argparse.ArgumentParser) -> None:
    add_compile_options(p)
    add_tools(p)
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
        "--sample",
        type=int,
        default=8,
        metavar="N",
        help="how many of the inputs to run on the emulated target as well (default: 8)",
    )
    p.add_argument(
        "--worst", type=int, default=10, metavar="N", help="how many of the worst predictions to list (default: 10)"
    )
    p.add_argument(
        "--event",
        type=int,
        default=0,
        metavar="CLASS",
        help="for a recording: index of the class to detect (default: 0)",
    )
    p.add_argument(
        "--threshold",
        type=float,
        default=THRESHOLD,
        metavar="SCORE",
        help=f"for a recording: detection threshold on its score (default: {THRESHOLD})",
    )
    p.add_argument("--confusion-svg", metavar="FILE", help="draw the confusion matrix into this file")
    p.add_argument(
        "--noise-svg",
        metavar="FILE",
        help="with --against: draw the signal-to-noise ratio of each layer into this file",
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.noise_svg and not arguments.against:
        raise MoteError("is drawn of two models", where="option --noise-svg", remedy="name the other with --against")
    with progress("reading the data") as say:
        data = data_of(arguments, labelled=True)
        found = evaluate(
            arguments.model,
            data,
            settings(arguments),
            metric=arguments.metric,
            against=arguments.against,
            samples=arguments.sample,
            worst=arguments.worst,
            event=arguments.event,
            threshold=arguments.threshold,
            compiler=arguments.compiler,
            emulator=arguments.emulator,
            say=say,
        )
    _draw(arguments, found)
    print_json(found.json()) if arguments.json else print_text(found)
    return 0 if found.passed else 1


def _draw(arguments: argparse.Namespace, found: Evaluation) -> None:
    if arguments.confusion_svg and "confusion" not in found.score.detail:
        raise MoteError(
            f"{found.score.metric} takes nothing for anything else",
            where="option --confusion-svg",
            remedy="it is drawn of classes, with the metric top1",
        )
    if arguments.noise_svg and found.against is not None and not found.against.layers:
        raise MoteError("no layer of one model could be found in the other", where="option --noise-svg")
    write_svg(
        arguments.confusion_svg, lambda: confusion(matrix(found), _classes(found), f"{found.model}, {found.data}")
    )
    write_svg(arguments.noise_svg, lambda: _noise_picture(found))


def matrix(found: Evaluation) -> list[list[int]]:
    """How many samples of which class (row) were taken for which (column)."""
    counted: list[list[int]] = found.score.detail["confusion"]
    return counted


def _classes(found: Evaluation) -> list[str]:
    return [_class(found, i) for i in range(len(matrix(found)))]


def _noise_picture(found: Evaluation) -> str:
    against = found.against
    assert against is not None
    bars = [
        Bar(
            name,
            layer.decibels,
            f"{decibels(layer.decibels)}, {added(layer)}",
            f"{layer.op} {layer.name}, compared with {layer.other}",
            layer.worst,
        )
        for layer, name in zip(against.layers, _layer_names(against), strict=True)
    ]
    return noise(bars, f"{found.model} against {against.model}, {against.samples} samples")


def _layer_names(against: Against) -> list[str]:
    """What layers are called in tables: TensorFlow joins the names of all that was fused, of which the first will
    do."""
    firsts = [layer.name.partition(";")[0] for layer in against.layers]
    alone = [
        first if firsts.count(first) == 1 else layer.name for first, layer in zip(firsts, against.layers, strict=True)
    ]
    return shortened(alone)


def _note(layer: LayerNoise) -> str:
    return "<- most is lost here" if layer.worst else SCALED if layer.scaled else ""


def added(layer: LayerNoise) -> str:
    return f"{100 * layer.added:+.3f}%" if isfinite(layer.added) else "-"


def print_text(found: Evaluation) -> None:
    print(bold(f"{found.model} on {found.data}: {value(found.score)}"))
    print(table(("", found.score.metric, "", ""), _rows(found), left=4))
    for note in found.notes:
        print(f"note: {note}")
    if found.score.metric == "events":
        for begin, end in found.score.detail["detections"]:
            print(f"noticed from {begin:.2f} to {end:.2f} s")
    if "confusion" in found.score.detail:
        _print_confusion(found)
    if found.worst:
        print(bold("worst answers"))
        print(_answers(found, found.worst, other=False))
    if found.against is not None:
        _print_against(found, found.against)


def _rows(found: Evaluation) -> list[tuple[str, str, str, str]]:
    """Who was asked, how good the answers are, and what else there is to say of them."""
    reference, core, against = found.reference, found.core, found.against
    samples = reference.score.samples
    how = "bit for bit" if not reference.max_abs_diff else f"but for {reference.max_abs_diff:.2g}"
    some = f"equal on {reference.equal:,} of {samples:,}, largest difference {reference.max_abs_diff:.3g}"
    equal = green(f"equal {how} on all {samples:,}") if reference.equal == samples else some
    pace = f"{found.rate:,.0f} inputs a second" if found.rate else ""
    rows = [
        ("compiled C on this computer", value(found.score), counts(found.score), pace),
        (reference.runtime, value(reference.score), counts(reference.score), equal),
    ]
    if core is not None:
        text = f"{core.equal} of {core.samples} equal to this computer's"
        told = green(text) if core.passed else red(f"{text}, largest difference {core.max_abs_diff:.3g}")
        each = f", {core.instructions:,} instructions each" if core.instructions else ""
        rows.append((f"{core.target} ({core.emulator})", "", "", told + each))
    if against is not None:
        same = "" if against.agreement is None else f"the same class for {100 * against.agreement:.2f}%, "
        rows.append((against.model, value(against.score), counts(against.score), f"{same}{decibels(against.decibels)}"))
    return rows


def value(score: Score) -> str:
    """The number as a person reads it: a share in percent, of the others what they are."""
    if score.metric in ("rmse", "mae"):
        return f"{score.value:.4g}"
    return f"{score.value:.4f}" if score.metric == "auc" else f"{100 * score.value:.2f}%"


def counts(score: Score) -> str:
    """What the number is made of."""
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


def _class(found: Evaluation, label: Any) -> str:
    """What a label is called."""
    if isinstance(label, list):
        shown = ", ".join(f"{x:.4g}" for x in label[:4])
        return f"{shown}{', ...' if len(label) > 4 else ''}"
    if label is None:
        return "-"
    whole = isinstance(label, int)
    return (
        found.classes[label] if whole and 0 <= label < len(found.classes) else f"{label}" if whole else f"{label:.4g}"
    )


def _print_confusion(found: Evaluation) -> None:
    counted, names = matrix(found), _classes(found)
    if len(counted) <= MOST_CLASSES:
        print(bold("confusion: a row for each label, a column for each answer"))
        right = [
            None if row[i] == sum(row) == 0 else f"{100 * row[i] / sum(row):.1f}%" for i, row in enumerate(counted)
        ]
        rows = [(name, *(n or "." for n in row), share) for name, row, share in zip(names, counted, right, strict=True)]
        print(table(("", *shortened(names, 10), "right"), rows))
        return
    pairs = [(n, i, k) for i, row in enumerate(counted) for k, n in enumerate(row) if n and i != k]
    print(bold("taken for another class most often"))
    rows_ = [(names[i], names[k], n) for n, i, k in sorted(pairs, key=lambda pair: -pair[0])[:PAIRS]]
    print(table(("label", "answer", "samples"), rows_, left=2))


def _answers(found: Evaluation, answers: Sequence[SampleAnswer], *, other: bool) -> str:
    head = ("input", "label", "answer", *(["the other's"] if other else []), "apart" if other else "off by")
    rows = [
        (
            f"{a.index}" if a.name == f"sample {a.index}" else a.name,
            *(_class(found, x) for x in (a.label, a.predicted, *([a.other] if other else []))),
            f"{a.error:.4g}",
        )
        for a in answers
    ]
    return table(head, rows, left=len(head) - 1)


def _print_against(found: Evaluation, against: Against) -> None:
    if against.worst:
        print(bold("most different answers"))
        print(_answers(found, against.worst, other=True))
    if not against.layers:
        print("no layer of one model could be found in the other")
        return
    print(bold(f"what is left of {against.model} in each layer, on {against.samples} samples"))
    rows = [
        (
            name,
            layer.op,
            "equal" if layer.decibels == float("inf") else f"{layer.decibels:.1f}",
            added(layer),
            _note(layer).ljust(len(SCALED)),
        )
        for layer, name in zip(against.layers, _layer_names(against), strict=True)
    ]
    print(table(("layer", "op", "dB", "noise added", ""), rows, left=2))
