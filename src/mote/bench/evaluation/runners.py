"""Runs samples through a compiled model on the host and in the format's own runtime, and scores them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.base.progress import Say, counted
from mote.bench.evaluation.inferences import Posed
from mote.bench.evaluation.result import ByReference, SampleAnswer
from mote.bench.evaluation.score import by_class, inputs_of, rated, real
from mote.bench.evaluation.verify import judged, oracle
from mote.bench.evaluation.worst_samples import worst
from mote.bench.execute.host_library import HostModel, as_in_model, on_vectors
from mote.bench.metrics import Score
from mote.bench.metrics.events import events
from mote.compiler.compiled import Compiled
from mote.compiler.kept import compile
from mote.compiler.settings import NO_STEPS, Settings
from mote.deploy.boards.placing import board_settings
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import allowed_difference, compare
from mote.ir.ops.features.scores import Decision

THRESHOLD = 0.5
"""Default detection threshold."""

TIMED = 0.2
"""Minimum run time in seconds to report inferences per second."""


@dataclass(frozen=True)
class How:
    """How to score: metric, event detection, and number of worst samples to list."""

    metric: str = ""
    """Name of the metric; empty to choose it by outputs and labels."""
    event: int = 0
    """Class to detect in a recording."""
    threshold: float = THRESHOLD
    worst: int = 10


def compiled_of(
    model: Any, settings: Settings | None, options: Mapping[str, Any], examples: Any, say: Say, board: str | None = None
) -> Compiled:
    """The compiled model of an argument. Raises an error if its post-processing makes decisions, since scores are
    needed."""
    if not isinstance(model, Compiled):
        chosen = replace(board_settings(settings, options, board), preprocess=NO_STEPS)
        compiled = compile(model, chosen, example_inputs=examples, say=say)
    elif settings is not None or options:
        raise MoteError("is compiled already", where=model.path, remedy="give options to mote.compile")
    else:
        compiled = model
    graph = compiled.plan.graph
    if isinstance(graph.producers.get(graph.outputs[0]), Decision):
        raise MoteError(
            f"'{compiled.settings.postprocess}' gives decisions, and scores are wanted",
            where="option postprocess",
            remedy="leave out the last step",
        )
    return compiled


def answers_here(compiled: Compiled, questions: Posed, say: Say) -> tuple[list[Array], float | None]:
    """Outputs of the compiled model on the host (with its SIMD kernels), and inferences per second; None if too quick
    to measure."""
    say("compiling the model for this computer")
    host = HostModel(on_vectors(compiled, say))
    host.build()
    began = monotonic()
    outputs = host.run(questions.cases, stream=questions.kept, done=counted(say, "compiled model"))
    seconds = monotonic() - began
    return outputs, len(questions) / seconds if seconds >= TIMED else None


def rated_by(how: How, graph: Graph, values: Array, questions: Posed) -> Score:
    if questions.times is None:
        return rated(how.metric, graph, values, questions.cases, questions.data)
    answers = real(graph.tensors[graph.outputs[0]], values)[questions.warm :]
    scores = answers.reshape(len(answers), -1)
    if not 0 <= how.event < scores.shape[1]:
        raise MoteError(
            f"there is no class {how.event}: the model has {scores.shape[1]}",
            where="option event",
            remedy="number classes from 0, in the order of the model's output",
        )
    stream, times = questions.recorded, questions.times[questions.warm :]
    assert stream is not None and stream.events is not None
    return events(times, scores[:, how.event], stream.events, stream.duration, threshold=how.threshold)


def worst_of(how: How, graph: Graph, values: Array, questions: Posed) -> list[SampleAnswer]:
    if questions.times is not None:
        return []
    data = questions.data
    assert data.labels is not None
    answers = by_class(real(graph.tensors[graph.outputs[0]], values), data.labels)
    given = inputs_of(graph, questions.cases) if len(graph.inputs) == 1 else None
    return worst(how.metric, answers, data, given, how.worst)


def by_reference(compiled: Compiled, questions: Posed, answers: Sequence[Array], how: How, say: Say) -> ByReference:
    """Runs all samples in the format's own runtime."""
    subject, graph = judged(compiled), compiled.plan.graph
    tensors = [graph.tensors[t] for t in graph.outputs]
    anew = bool(graph.states) and not questions.kept
    ask, name, wanted = oracle(subject)
    done = counted(say, name)
    outputs = [np.zeros((len(questions), *t.shape), t.dtype.numpy) for t in tensors]
    for i, case in enumerate(questions.cases):
        if anew and i:
            ask, _, _ = oracle(subject)
        values = ask(case)
        if values is not None:
            for tensor, rows in zip(tensors, outputs, strict=True):
                rows[i] = wanted(values, tensor).reshape(tensor.shape)
        done(i + 1, len(questions))
    theirs = [as_in_model(t, rows) for t, rows in zip(tensors, outputs, strict=True)]
    after = slice(questions.warm, None)
    same, apart = agreement([a[after] for a in answers], [b[after] for b in theirs])
    return ByReference(name, rated_by(how, graph, theirs[0], questions), same, apart)


def agreement(answers: Sequence[Array], theirs: Sequence[Array]) -> tuple[int, float]:
    """Number of samples with equal outputs, and the largest difference."""
    pairs = list(zip(answers, theirs, strict=True))
    same = np.all([_same_rows(a, b) for a, b in pairs], axis=0)
    return int(np.count_nonzero(same)), max(compare(a, b)[0] for a, b in pairs)


def _same_rows(one: Array, other: Array) -> Array:
    """Mask of equal rows: integers bit for bit, floats within rounding; NaN equals NaN."""
    with np.errstate(invalid="ignore"):
        near = np.abs(one.astype(np.float64) - other) <= allowed_difference(other)
    same = (one == other) | near | ((one != one) & (other != other))
    equal: Array = same.reshape(len(same), -1).all(1)
    return equal
