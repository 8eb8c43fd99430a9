"""The model itself: its C as WebAssembly, which the page runs on what its reader draws, drops, records or types."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.bench.evaluation.inferences import posed
from mote.bench.evaluation.verify import Judged, judged, oracle
from mote.bench.execute import reference
from mote.bench.execute.web_module import web_module
from mote.bench.metrics.arrays import class_labels
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.programs.golden import EXTREME, FULL, GENTLE, Pattern, real_codes, runs
from mote.compiler.line import compile_graph
from mote.compiler.settings import make_settings
from mote.frontends.data.dataset import Dataset
from mote.frontends.features.building import built, row_by_row, surveyed
from mote.hardware.toolchain.wasm import find_wasm_compiler
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.io_order import model_shape
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import allowed_difference
from mote.ir.graph.types import DType
from mote.ir.ops.control.control_flow import unbounded
from mote.ir.ops.indexing.index_bounds import input_bounds
from mote.ui.reporter.preparation import preparation, value_range
from mote.ui.reporter.section import Section
from mote.ui.reporter.subject import Subjects

PATTERNS = (FULL, *EXTREME, *GENTLE[:5])
"""Inputs of the check, made by a formula that the page computes as well."""
REFERENCE_MACS = 200_000_000
"""MACs that the reference may compute for each kind of check."""
MOST_SAMPLES, MOST_BYTES = 12, 160 << 10
"""Samples of the data that a report carries, and bytes of their inputs."""
Answer = dict[str, Any]
"""The reference's outputs of an inference, None while a stream begins, and how far values may be off."""
UNKNOWN: Answer = {"expected": None, "allowed": None}


def tryit(subjects: Subjects) -> dict[str, Any]:
    """The module, its ports, how inputs are made, samples of the data, and vectors with the outputs that the reference
    gives for them; or why there is no module."""
    compiled, data = subjects.first.compiled, subjects.data
    try:
        module, compiler = web_module(compiled), find_wasm_compiler()
    except MoteError as error:
        return {"reason": error.reason, "remedy": error.remedy}
    graph, vectors = compiled.plan.graph, _Vectors(compiled)
    inputs = [graph.tensors[t] for t in graph.inputs]
    return {
        "module": b64encode(module).decode(),
        "target": subjects.first.target,
        "compiler": f"{compiler.kind} {compiler.version}",
        "stateful": bool(graph.states),
        "warm": max(graph.warm_up - 1, 0),
        "inputs": [_input(graph, t, data.columns if data else ()) for t in inputs],
        "outputs": [_port(graph.tensors[t], data.classes if data else ()) for t in graph.outputs],
        "prepare": preparation(graph, inputs[0], data) if len(inputs) == 1 else None,
        "front": None if data is None or len(inputs) > 1 else _front(data),
        "reference": vectors.name,
        "checks": vectors.patterned(),
        "samples": [] if data is None else _samples(vectors, data),
    }


def _front(data: Dataset) -> dict[str, Any] | None:
    """Preprocessing of sounds as a module of its own, which computes the integers of the device: a clip at once, or one
    row of features after another; None where steps run in Python only, or make no features of sounds."""
    stated = data.preprocessing
    functions = stated.operators
    if not stated.compiled or stated.sensor.kind != "samples":
        return None
    sensor = replace(stated.sensor, rate=stated.rate, channels=1)
    survey = surveyed(functions, sensor)
    if survey.kind != "features":
        return None
    clip = survey.builder.length
    signal, graph = built(functions, sensor, clip) if clip else row_by_row(functions, sensor)
    if graph is None:
        return None
    compiled = compile_graph(graph, make_settings("host"))
    raw, line = graph.tensors[graph.inputs[0]], signal.line
    return {
        "module": b64encode(web_module(compiled)).decode(),
        "inputs": [_port(raw)],
        "outputs": [_port(graph.tensors[graph.outputs[0]])],
        "rate": sensor.rate,
        "clip": clip,
        "columns": signal.channels,
        "before": 0 if clip else -signal.span % signal.period,
        "missing": 0 if clip else -(-signal.span // signal.period) - 1,
        "line": {
            name: [float(x) if np.isfinite(x) else None for x in getattr(line, name)]
            for name in ("factor", "offset", "low", "high")
        },
    }


def _text(values: Array) -> str:
    return b64encode(np.ascontiguousarray(values).tobytes()).decode()


def _port(tensor: Tensor, names: Sequence[str] = ()) -> dict[str, Any]:
    """An input or output; values are real where it has no scale. Names of its elements are the model's, else those of
    the data."""
    single = tensor.quant is not None and not tensor.quant.per_channel
    return {
        "name": tensor.name,
        "dtype": str(tensor.dtype),
        "shape": list(model_shape(tensor)),
        "size": tensor.size,
        "scale": tensor.scale if single else None,
        "zero": tensor.zero_point if single else 0,
        "labels": list(tensor.labels or (names if len(names) == tensor.size else ())),
    }


def _input(graph: Graph, tensor: Tensor, names: Sequence[str]) -> dict[str, Any]:
    low, high = value_range(graph, tensor)
    bounds = input_bounds(graph).get(tensor.id)
    return {
        **_port(tensor, names),
        "moved": tensor.arrangement is not None,
        "limits": list(tensor.dtype.limits) if tensor.dtype.integer else None,
        "low": low,
        "high": high,
        "codes": asdict(real_codes(graph, tensor.id)) if tensor.dtype == DType.FLOAT32 else None,
        "bounds": None if bounds is None else list(bounds),
    }


@dataclass(frozen=True, eq=False)
class _Vectors:
    """Inputs of inferences and the outputs that the reference gives for them."""

    compiled: Compiled

    @property
    def graph(self) -> Graph:
        return self.compiled.plan.graph

    @cached_property
    def judged(self) -> Judged:
        return judged(self.compiled)

    @property
    def name(self) -> str:
        """The name of the reference."""
        return oracle(self.judged)[1]

    @property
    def count(self) -> int:
        """Inferences that the reference has time for."""
        return max(2, min(len(PATTERNS), REFERENCE_MACS // max(self.compiled.macs, 1)))

    def patterned(self) -> list[dict[str, Any]]:
        """Consecutive inferences on inputs that are a formula, and what the reference gives for them."""
        patterns = self._patterns()
        answers = self.answers([pattern.inputs(self.graph) for pattern in patterns])
        return [{"pattern": asdict(p), **answer} for p, answer in zip(patterns, answers, strict=True)]

    def _patterns(self) -> Sequence[Pattern]:
        if unbounded(self.graph):
            return [run.pattern for run in runs(self.graph)]
        count = self.count + self.graph.warm_up
        return [PATTERNS[i % len(PATTERNS)] for i in range(count)]

    def answers(self, cases: Sequence[Mapping[int, Array]]) -> Iterator[Answer]:
        """The reference's outputs of consecutive inferences."""
        ask, _, wanted = oracle(self.judged)
        sizes = reference.magnitudes(self.graph)
        tensors = [self.graph.tensors[t] for t in self.graph.outputs]
        for case in cases:
            values, size = ask(case), sizes(case)
            if values is None:
                yield UNKNOWN
                continue
            made = [wanted(values, t).astype(t.dtype.numpy, copy=False) for t in tensors]
            allowed = [allowed_difference(v, size.get(t.id, 0.0)) for t, v in zip(tensors, made, strict=True)]
            yield {"expected": [_text(v) for v in made], "allowed": allowed}


def _samples(vectors: _Vectors, data: Dataset) -> list[dict[str, Any]]:
    """Some samples of the data as the model's inputs: of each class in turn, or the beginning of a recording."""
    graph, stream = vectors.graph, vectors.compiled.settings.stream
    size = sum(graph.tensors[t].nbytes for t in graph.inputs)
    most = max(1, MOST_BYTES // size)
    questions = posed(graph, data, axis=stream)
    if questions.recorded is not None:
        pieces = [_pieces(graph, case) for case in questions.cases[:most]]
        return [{"name": data.where, "label": None, "pieces": pieces, **UNKNOWN}]
    chosen = _chosen(data, min(MOST_SAMPLES, most))
    cases = [questions.cases[i] for i in chosen]
    answers = [] if graph.states else list(vectors.answers(cases[: vectors.count]))
    answers += [UNKNOWN] * (len(cases) - len(answers))
    return [
        {"name": data.name(i), "label": _label(data, i), "pieces": [_pieces(graph, case)], **answer}
        for i, case, answer in zip(chosen, cases, answers, strict=True)
    ]


def _pieces(graph: Graph, case: Mapping[int, Array]) -> list[str]:
    return [_text(case[t]) for t in graph.inputs]


def _has_classes(data: Dataset) -> bool:
    return data.labels is not None and data.labels.ndim == 1 and data.labels.dtype.kind in "iub"


def _chosen(data: Dataset, count: int) -> list[int]:
    """Indices of samples: the first of each class, then the second, and so on; without classes evenly spread."""
    if data.labels is None or not _has_classes(data):
        return sorted({int(i) for i in np.linspace(0, len(data) - 1, min(count, len(data)))})
    labels = class_labels(data.labels)
    turn = np.zeros(len(labels), np.int64)
    for label in np.unique(labels):
        turn[labels == label] = np.arange(np.count_nonzero(labels == label), dtype=np.int64)
    return sorted(map(int, np.lexsort((labels, turn))[:count]), key=lambda i: (int(labels[i]), i))


def _label(data: Dataset, index: int) -> str | None:
    """The class or value that a sample is labelled with; None where that is none, or many values."""
    if data.labels is None or data.labels.ndim != 1:
        return None
    label = data.labels[index]
    named = _has_classes(data) and 0 <= int(label) < len(data.classes)
    return data.classes[int(label)] if named else f"{label:g}"


SECTION = Section("tryit", "Try it", whole=tryit, scripts=("tryit_prepare", "tryit_files", "tryit_model"))
