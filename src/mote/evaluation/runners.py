"""Runs samples through a compiled model: on the host, in the format's own runtime, on the emulated core; and scores
them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import count as counting
from time import monotonic
from typing import Any

import numpy as np

from mote.boards.boards_file import BoardEntry
from mote.boards.pool import board_pool
from mote.compiler.compiled import Compiled
from mote.compiler.firmware import Bench, bench
from mote.compiler.line import compile
from mote.compiler.settings import NO_STEPS, Settings, chosen_settings
from mote.errors import MoteError
from mote.evaluation.inferences import Posed
from mote.evaluation.result import ByReference, OnCore, SampleAnswer
from mote.evaluation.score import by_class, inputs_of, rated, real
from mote.evaluation.verify import judged, oracle
from mote.evaluation.worst_samples import worst
from mote.execute import reference
from mote.execute.host_library import HostModel, as_in_model, on_vectors
from mote.files import temporary_folder
from mote.graph import Graph
from mote.graph.tensor import Array
from mote.graph.tolerance import allowed_difference, compare
from mote.metrics import Score
from mote.metrics.events import events
from mote.ops.features.scores import Decision
from mote.progress import Say, counted
from mote.toolchain import Mode

THRESHOLD = 0.5
"""Default detection threshold."""

SAMPLES = 8
"""Samples that run on an emulated core unless their number is given."""
TIMED = 0.2
"""Seconds of work needed to measure the rate."""


@dataclass(frozen=True)
class How:
    """The metric, and how much of the results is shown."""

    metric: str = ""
    """The metric; empty: chosen by outputs and labels."""
    event: int = 0
    """The class to detect in a recording."""
    threshold: float = THRESHOLD
    worst: int = 10


def compiled_of(
    model: Any,
    settings: Settings | None,
    options: Mapping[str, Any],
    examples: Any,
    say: Say,
    board: str | None = None,
) -> Compiled:
    """A model argument compiled, unless it is. It gives scores: decisions cannot be rated."""
    if not isinstance(model, Compiled):
        chosen = replace(chosen_settings(settings, options, board), preprocess=NO_STEPS)
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
    """Outputs of the compiled model on the host, by kernels for its vectors, and inferences per second; None where it
    took too little time to measure."""
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
    pairs = [(a[after], b[after]) for a, b in zip(answers, theirs, strict=True)]
    same = np.all([_same_rows(a, b) for a, b in pairs], axis=0)
    apart = max(compare(a, b)[0] for a, b in pairs)
    return ByReference(name, rated_by(how, graph, theirs[0], questions), int(np.count_nonzero(same)), apart)


def _same_rows(one: Array, other: Array) -> Array:
    """Which rows of two arrays are equal: integers bit for bit, floats within rounding; NaN equals NaN."""
    with np.errstate(invalid="ignore"):
        near = np.abs(one.astype(np.float64) - other) <= allowed_difference(other)
    same = (one == other) | near | ((one != one) & (other != other))
    equal: Array = same.reshape(len(same), -1).all(1)
    return equal


def on_core(
    compiled: Compiled,
    questions: Posed,
    answers: Sequence[Array],
    how: How,
    samples: int | None,
    say: Say,
    compiler: str | None,
    emulator: str | None,
    board: str | None = None,
) -> OnCore | None:
    """Runs some samples on the emulated core, or all on a board, whose answers are scored then; None for the host, or
    if not requested."""
    target, graph = compiled.settings.target, compiled.plan.graph
    wanted = samples if samples is not None else SAMPLES if board is None else len(questions)
    if (target.is_host and board is None) or not wanted:
        return None
    chosen = questions.some(wanted)
    say(f"running {len(chosen)} samples on {target.name}")
    alone = bool(graph.states) and not questions.kept
    groups = [[i] for i in chosen] if alone else [chosen]
    finished, progress = counting(1), counted(say, f"samples on {target.name}")

    def done(count: int) -> None:
        progress(min(next(finished), len(chosen)), len(chosen))

    if board is None:
        parts = [_ran(compiled, questions, groups, compiler, emulator, None, done)]
    else:
        with board_pool(board) as pool, ThreadPoolExecutor(pool.size) as boards:
            groups = groups if graph.states else [x for n in range(pool.size) if (x := chosen[n :: pool.size])]
            shares = [share for n in range(pool.size) if (share := groups[n :: pool.size])]

            def ran(share: list[list[int]]) -> _Ran:
                return pool.evaluate(lambda place: _ran(compiled, questions, share, compiler, emulator, place, done))

            parts = list(boards.map(ran, shares))
    outputs = {i: given for part in parts for i, given in part.outputs.items()}
    equal, apart = 0, 0.0
    for group in groups:
        sizes = reference.magnitudes(graph)
        for i in group:
            size = sizes(questions.cases[i])
            if i < questions.warm:
                continue
            differences = [
                compare(x, y[i], size.get(t, 0.0)) for t, x, y in zip(graph.outputs, outputs[i], answers, strict=True)
            ]
            apart = max(apart, *(difference for difference, _ in differences))
            equal += not any(wrong for _, wrong in differences)
    compared = sum(i >= questions.warm for i in chosen)
    counts = [count for part in parts for count in part.counts]
    mean = round(sum(counts) / len(counts)) if counts else None
    scored = board is not None and len(chosen) == len(questions)
    score = rated_by(how, graph, np.stack([outputs[i][0] for i in chosen]), questions) if scored else None
    tool = parts[0].tool if board is None else f"board {board}"
    return OnCore(target.name, tool, compared, equal, apart, mean, parts[0].unit, score)


@dataclass(frozen=True)
class _Ran:
    """Samples that one emulator or one board ran."""

    outputs: Mapping[int, list[Array]]
    """Outputs in the model's layout, by the number of the sample."""
    counts: Sequence[int]
    tool: str
    unit: str


def _ran(
    compiled: Compiled,
    questions: Posed,
    groups: Sequence[Sequence[int]],
    compiler: str | None,
    emulator: str | None,
    board: BoardEntry | None,
    done: Callable[[int], None],
) -> _Ran:
    """Runs groups of samples, each from the initial states on."""
    graph, outputs, counts = compiled.plan.graph, dict[int, list[Array]](), list[int]()
    with (
        temporary_folder() as folder,
        bench(compiled, folder, compiler=compiler, emulator=emulator, board=board) as on,
    ):
        for group in groups:
            given, instructions = _executed(on, graph, [questions.cases[i] for i in group], done)
            counts += instructions
            outputs |= dict(zip(group, given, strict=True))
    return _Ran(outputs, counts, on.tools[0], on.counts)


def _executed(
    on: Bench, graph: Graph, cases: Sequence[dict[int, Array]], done: Callable[[int], None]
) -> tuple[list[list[Array]], list[int]]:
    """Outputs of inferences on the core in the model's layout, and their instructions."""
    raw = [[np.ascontiguousarray(case[t]).tobytes() for t in graph.inputs] for case in cases]
    run = on.execute(Mode.MEASURE, raw, done)
    tensors = [graph.tensors[t] for t in graph.outputs]
    outputs = [
        [
            as_in_model(t, np.frombuffer(x, t.dtype.numpy).reshape(1, *t.shape))[0]
            for t, x in zip(tensors, row, strict=True)
        ]
        for row in run.outputs
    ]
    return outputs, list(run.instructions or ())
