"""How good a graph is on labelled data, at the price that a search can pay for every candidate: nothing is compiled.

Integers run in Mote's runtime, whose kernels are compiled once for all models, real numbers in NumPy, which has a
library for those. `benchmarks/answers.py` prints what each takes. Of 256 inputs, with the time for a plan, the runtime
answers twice as many a second as NumPy does of MLPerf Tiny's keyword spotter (340 and 140 on one core), and a seventh
more of its ResNet (141 and 124); of the same ResNet in float32 NumPy answers six times as many (500 and 83). Integers
are the same from both, so that for a few samples, which are not worth a plan, NumPy is asked anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from mote import frontends
from mote.compiler.line import planned
from mote.compiler.settings import make_settings
from mote.data.dataset_type import Dataset
from mote.emit.image.flatten import flattened
from mote.emit.image.kernels import ANY, merged, record
from mote.emit.image.writer import Details, write
from mote.errors import MoteError, naming
from mote.execute import batch
from mote.execute.host_library import as_in_model, cores
from mote.execute.interpreter import Interpreter
from mote.graph import Graph, Tensor
from mote.graph.tensor import Array
from mote.graph.tolerance import computes_floats
from mote.lower.program import program
from mote.metrics import Score, measure
from mote.ops.elementwise.quantize import QUANTIZED, dequantized

FEW = 128
"""Inferences that are not worth a plan, and threads."""


def score(model: Any, data: Dataset, metric: str = "") -> Score:
    """How good a model, or a graph of one, is on samples with labels; the metric is the one that suits them unless one
    is named."""
    graph = model if isinstance(model, Graph) else frontends.load(model)
    cases = data.cases(graph)
    values = outputs(graph, cases)[0]
    return rated(metric, graph, values, cases, data)


def outputs(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> list[Array]:
    """Every output of a graph as the model has it, [N, ...]; each inference begins anew."""
    if computes_floats(graph) or len(cases) <= FEW:
        batches = list(batch.evaluate(graph, cases, graph.outputs))
        found = [(graph.tensors[t], np.concatenate([values[t] for values in batches])) for t in graph.outputs]
        return [as_in_model(t, values.reshape(len(cases), *t.shape)) for t, values in found]
    return interpreted(graph, cases)


def interpreted(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> list[Array]:
    """The outputs of a graph of integers, in Mote's runtime, in as many threads as there are cores."""
    settings = replace(make_settings(), fixed=ANY)
    with naming(graph.name):
        plan = planned(graph, settings)
    made = flattened(program(plan))
    image, kernels = write(made, Details(strip=True)), merged(map(record, made.kernels))
    threads = min(cores(), len(cases))
    parts = [cases[i * len(cases) // threads : (i + 1) * len(cases) // threads] for i in range(threads)]
    interpreters = [Interpreter.of(image, kernels, graph.name) for _ in parts]
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(lambda i: _one_by_one(interpreters[i], plan.graph, parts[i]), range(threads)))
    return [np.concatenate(several) for several in zip(*found, strict=True)]


def _one_by_one(interpreter: Interpreter, graph: Graph, cases: Sequence[Mapping[int, Array]]) -> list[Array]:
    tensors = [graph.tensors[t] for t in graph.outputs]
    found: list[list[Array]] = [[] for _ in tensors]
    for case in cases:
        if graph.states:
            interpreter.reset_all_variables()
        for i, t in enumerate(graph.inputs):
            interpreter.set_tensor(i, case[t])
        interpreter.invoke()
        for i, values in enumerate(found, len(graph.inputs)):
            values.append(interpreter.get_tensor(i))
    return [as_in_model(t, np.stack(values)) for t, values in zip(tensors, found, strict=True)]


def rated(metric: str, graph: Graph, values: Array, cases: Sequence[Mapping[int, Array]], data: Dataset) -> Score:
    """What a metric says of the values of a graph's first output, for inferences whose labels are known."""
    labels = data.labels
    if labels is None:
        raise MoteError("has no labels", where=data.where, remedy="say where they are: --labels NAME")
    answers = real(graph.tensors[graph.outputs[0]], values)
    given = inputs_of(graph, cases) if len(graph.inputs) == 1 else None
    with naming(data.where):
        return measure(metric or suiting(answers, labels, given), by_class(answers, labels), labels, inputs=given)


def suiting(answers: Array, labels: Array, given: Array | None) -> str:
    """The metric that suits the shapes of answers and labels, and of inputs: models that give back what they are given
    are for anomalies."""
    count, two = answers[0].size, set(np.unique(labels)) <= {0, 1}
    if _are_numbers(answers, labels):
        return "rmse"
    if two and count > 2 and labels[0].size == 1 and given is not None and given.size == answers.size:
        return "auc"
    if count > 1 or answers.dtype.kind in "iub":
        return "top1"
    return "auc" if two else "rmse"


def _are_numbers(answers: Array, labels: Array) -> bool:
    """Whether labels are what is to be computed, and not classes: they are not whole, or real numbers that are as many
    as the answers, and no rows with a one in the place of the class."""
    if labels.dtype.kind != "f":
        return False
    rows = labels.reshape(len(labels), -1)
    one_hot = rows.shape[1] > 1 and np.isin(rows, (0, 1)).all() and (rows.sum(1) == 1).all()
    return bool((labels != np.floor(labels)).any() or (labels.size == answers.size and not one_hot))


def inputs_of(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> Array:
    """The first input of all inferences, as real numbers."""
    tensor = graph.tensors[graph.inputs[0]]
    return real(tensor, as_in_model(tensor, np.stack([case[tensor.id] for case in cases])))


def real(tensor: Tensor, values: Array) -> Array:
    """The real numbers that values stand for, where they are quantized."""
    return dequantized(values, tensor) if tensor.dtype in QUANTIZED and tensor.quant is not None else values


def by_class(answers: Array, labels: Array) -> Array:
    """Scores with the classes on the last axis, where labels are of pixels and the model has classes on axis 1."""
    moved = labels.ndim > 1 and answers.ndim == labels.ndim + 1 and answers.shape[:-1] != labels.shape
    return np.moveaxis(answers, 1, -1) if moved and (len(answers), *answers.shape[2:]) == labels.shape else answers
