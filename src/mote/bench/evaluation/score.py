"""Scores a graph on labelled data without compiling it, cheaply enough for every candidate of a search.

Integer graphs run in Mote's runtime, whose kernels are compiled once for all models; float graphs run in NumPy.
`benchmarks/answers.py` measures both, planning included, on 256 inputs and one core with AVX-512: for MLPerf Tiny's
int8 keyword spotter the runtime does 1,500 inferences per second and NumPy 80, for its int8 ResNet 1,250 and 50 (on a
busy machine), for the float32 ResNet 83 and 500. Integer results are the same from both, so a few samples, which are
not worth a plan, run in NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mote import frontends
from mote.base.errors import MoteError, naming
from mote.base.system import thread_pool
from mote.bench.execute import batch
from mote.bench.execute.host_library import as_in_model, cores
from mote.bench.execute.interpreter import Interpreter
from mote.bench.metrics import Score, measure
from mote.compiler.emit.image.flatten import flattened
from mote.compiler.emit.image.kernels import ANY, merged, record
from mote.compiler.emit.image.writer import Details, write
from mote.compiler.line import planned
from mote.compiler.lower.program import program
from mote.compiler.settings import make_settings
from mote.frontends.data.dataset_type import Dataset
from mote.hardware.targets import NATIVE
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import computes_floats
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.quantize import QUANTIZED, dequantized

FEW = 128
"""With fewer inferences, planning and threads are not worthwhile."""


def score(model: Any, data: Dataset, metric: str = "") -> Score:
    """Score of a model or graph on labelled samples; by default the metric is chosen by the data."""
    graph = model if isinstance(model, Graph) else frontends.load(model)
    cases = data.cases(graph)
    values = outputs(graph, cases)[0]
    return rated(metric, graph, values, cases, data)


def outputs(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> list[Array]:
    """All outputs of a graph in the model's layout, [N, ...]; every inference starts from initial states."""
    if computes_floats(graph) or len(cases) <= FEW:
        batches = list(batch.evaluate(graph, cases, graph.outputs))
        values_of_outputs = [
            (graph.tensors[t], np.concatenate([values[t] for values in batches])) for t in graph.outputs
        ]
        return [as_in_model(t, values.reshape(len(cases), *t.shape)) for t, values in values_of_outputs]
    return interpreted(graph, cases)


def interpreted(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> list[Array]:
    """Outputs of an integer graph computed by Mote's runtime on the host (SIMD kernels, a thread per core)."""
    settings = make_settings(NATIVE, optimize="speed")
    with naming(graph.name):
        plan = planned(graph, settings, fixed=ANY)
    made = flattened(program(plan))
    image, kernels = write(made, Details(strip=True)), merged(map(record, made.kernels))
    threads = min(cores(), len(cases))
    parts = [cases[i * len(cases) // threads : (i + 1) * len(cases) // threads] for i in range(threads)]
    interpreters = [Interpreter.of(image, kernels, graph.name, NATIVE) for _ in parts]
    with thread_pool(threads) as pool:
        results = list(pool.map(lambda i: _one_by_one(interpreters[i], plan.graph, parts[i]), range(threads)))
    return [np.concatenate(several) for several in zip(*results, strict=True)]


def _one_by_one(interpreter: Interpreter, graph: Graph, cases: Sequence[Mapping[int, Array]]) -> list[Array]:
    tensors = [graph.tensors[t] for t in graph.outputs]
    results: list[list[Array]] = [[] for _ in tensors]
    for case in cases:
        if graph.states:
            interpreter.reset_all_variables()
        for i, t in enumerate(graph.inputs):
            interpreter.set_tensor(i, case[t])
        interpreter.invoke()
        for i, values in enumerate(results, len(graph.inputs)):
            values.append(interpreter.get_tensor(i))
    return [as_in_model(t, np.stack(values)) for t, values in zip(tensors, results, strict=True)]


def rated(metric: str, graph: Graph, values: Array, cases: Sequence[Mapping[int, Array]], data: Dataset) -> Score:
    """Scores the first output of a graph against labels."""
    labels = data.labels
    if labels is None:
        raise MoteError("has no labels", where=data.where, remedy="say where they are: --labels NAME")
    answers = real(graph.tensors[graph.outputs[0]], values)
    given = inputs_of(graph, cases) if len(graph.inputs) == 1 else None
    with naming(data.where):
        return measure(metric or suiting(answers, labels, given), by_class(answers, labels), labels, inputs=given)


def suiting(answers: Array, labels: Array, given: Array | None) -> str:
    """Chooses a metric by the shapes of outputs, labels and inputs; autoencoders get AUC (anomaly detection)."""
    count, two = answers[0].size, set(np.unique(labels)) <= {0, 1}
    if _are_numbers(answers, labels):
        return "rmse"
    if two and count > 2 and labels[0].size == 1 and given is not None and given.size == answers.size:
        return "auc"
    if count > 1 or answers.dtype.kind in "iub":
        return "top1"
    return "auc" if two else "rmse"


def _are_numbers(answers: Array, labels: Array) -> bool:
    """Whether labels are regression targets: fractional, or as many floats as outputs that are not one-hot."""
    if labels.dtype.kind != "f":
        return False
    rows = labels.reshape(len(labels), -1)
    one_hot = rows.shape[1] > 1 and np.isin(rows, (0, 1)).all() and (rows.sum(1) == 1).all()
    return bool((labels != np.floor(labels)).any() or (labels.size == answers.size and not one_hot))


def inputs_of(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> Array:
    """The first input of all inferences, dequantized."""
    tensor = graph.tensors[graph.inputs[0]]
    return real(tensor, as_in_model(tensor, np.stack([case[tensor.id] for case in cases])))


def real(tensor: Tensor, values: Array) -> Array:
    """Dequantizes values if the tensor is quantized."""
    coded = tensor.dtype in (*QUANTIZED, DType.INT32)
    return dequantized(values, tensor) if coded and tensor.quant is not None else values


def by_class(answers: Array, labels: Array) -> Array:
    """Moves the class axis last if labels are per pixel and the model is channels-first."""
    moved = labels.ndim > 1 and answers.ndim == labels.ndim + 1 and answers.shape[:-1] != labels.shape
    return np.moveaxis(answers, 1, -1) if moved and (len(answers), *answers.shape[2:]) == labels.shape else answers
