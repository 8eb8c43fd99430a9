"""Accuracy on labelled data: confusion, the worst samples, noise and precision of each layer."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import Any

from mote.bench.evaluation.result import Evaluation, SampleAnswer
from mote.bench.metrics import Score
from mote.ui.reporter.samples import shown_samples
from mote.ui.reporter.section import Section
from mote.ui.reporter.subject import Subject, Subjects, members


def accuracy(subjects: Subjects) -> dict[str, Any] | None:
    """The evaluation of the model on the first target, if there is one."""
    evaluation, data = subjects.evaluation, subjects.data
    if evaluation is None or data is None:
        return None
    against = evaluation.against
    answers = [*evaluation.worst, *(against.worst if against else ())]
    shown = shown_samples(data, [answer.index for answer in answers])
    return {
        "data": evaluation.data,
        "metric": evaluation.score.metric,
        "better": evaluation.score.better,
        "context": evaluation.score.context,
        "scores": _scores(evaluation),
        "classes": _classes(evaluation),
        "confusion": evaluation.score.detail.get("confusion"),
        "worst": [_answer(answer, shown) for answer in evaluation.worst],
        "differing": [_answer(answer, shown) for answer in against.worst] if against else [],
        "noise": _noise(evaluation, subjects.first),
        "precision": _precision(subjects.first),
        "notes": list(evaluation.notes),
    }


def _scores(evaluation: Evaluation) -> list[dict[str, Any]]:
    """The score of each runtime and model, with the samples on which it equals the compiled C."""
    reference, core, against = evaluation.reference, evaluation.core, evaluation.against
    scores = [
        _score("compiled C", evaluation.score),
        _score(reference.runtime, reference.score, reference.equal, reference.score.samples),
    ]
    if core is not None:
        scores.append({"name": f"{core.target} ({core.emulator})", "equal": core.equal, "of": core.samples})
    if against is not None:
        scores.append(_score(against.model, against.score) | {"agreement": against.agreement})
    return scores


def _score(name: str, score: Score, equal: int | None = None, of: int | None = None) -> dict[str, Any]:
    told = {"name": name, "value": score.value, "samples": score.samples, "correct": score.detail.get("correct")}
    return told if equal is None else told | {"equal": equal, "of": of}


def _classes(evaluation: Evaluation) -> list[str]:
    """Names of the classes; their numbers where they have none."""
    count = max(len(evaluation.score.detail.get("confusion") or ()), len(evaluation.classes))
    return [evaluation.classes[i] if i < len(evaluation.classes) else str(i) for i in range(count)]


def _answer(answer: SampleAnswer, shown: dict[int, dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": answer.name,
        "label": answer.label,
        "predicted": answer.predicted,
        "other": answer.other,
        "error": answer.error if isfinite(answer.error) else None,
        **shown.get(answer.index, {}),
    }


def _noise(evaluation: Evaluation, subject: Subject) -> list[dict[str, Any]]:
    """Signal-to-noise ratio of each layer against the other model; None where nothing differs."""
    if evaluation.against is None:
        return []
    numbers = _numbers(subject)
    return [
        {
            "number": numbers.get(layer.name),
            "name": layer.name,
            "op": layer.op,
            "decibels": layer.decibels if isfinite(layer.decibels) else None,
            "added": layer.added if isfinite(layer.added) else None,
            "worst": layer.worst,
        }
        for layer in evaluation.against.layers
    ]


def _numbers(subject: Subject) -> dict[str, str]:
    """The number of the layer that computes a tensor, by the tensor's name."""
    tensors = subject.compiled.plan.graph.tensors
    return {
        tensors[t].name: layer.number
        for layer, op, _ in subject.works
        for member in members(op)
        for t in member.outputs
    }


def _precision(subject: Subject) -> list[dict[str, Any]]:
    """The types of each layer's inputs, weights and outputs."""
    tensors = subject.compiled.plan.graph.tensors
    table = []
    for layer, op, _ in subject.works:
        read = [tensors[t] for t in op.inputs if t >= 0]
        table.append(
            {
                "number": layer.number,
                "inputs": _types(t.dtype for t in read if t.data is None),
                "weights": _types(t.dtype for t in read if t.data is not None),
                "outputs": _types(tensors[t].dtype for t in op.outputs),
            }
        )
    return table


def _types(types: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(map(str, types)))


SECTION = Section("accuracy", "Accuracy", whole=accuracy)
