"""Adds on-device training to the graph of a model, by the options of a compilation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.base.errors import MoteError
from mote.compiler.passes.training.integer_losses import quantized_output
from mote.compiler.passes.training.loss import Loss
from mote.compiler.passes.training.recompute import recomputed
from mote.compiler.passes.training.samples import Samples
from mote.compiler.passes.training.spec import ChosenLayers, Learner, Spec
from mote.compiler.passes.training.trained import default_loss, trained
from mote.compiler.stages import CompilerStage, session
from mote.frontends.data.dataset_type import Dataset
from mote.ir.graph import Graph
from mote.ir.graph.io_order import model_shape, to_code
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.quantize import quantized


def with_training(graph: Graph, spec: Spec, data: Dataset | None) -> Graph:
    """The graph with on-device training; ranges are measured on samples, if there are any."""
    return session().result(LEARNING, graph, spec, data)


def _with_training(graph: Graph, spec: Spec, data: Dataset | None) -> Graph:
    if isinstance(spec, ChosenLayers) and spec.recompute:
        return recomputed(with_training(graph, replace(spec, recompute=None), data), spec.recompute)
    return trained(graph, spec, samples(graph, spec, data) if data else None)


LEARNING = CompilerStage("learning", _with_training)


def samples(graph: Graph, spec: Spec, data: Dataset) -> Samples:
    """Samples as the model takes them, each with its class, or with target values of the first output."""
    assert data.labels is not None
    classes = isinstance(spec, Learner) or (spec.loss or default_loss(graph)) == Loss.SOFTMAX_CROSS_ENTROPY
    return Samples(data.cases(graph), _classes(data, data.labels) if classes else _targets(graph, data, data.labels))


def _classes(data: Dataset, labels: Array) -> list[Array]:
    if labels.ndim != 1 or labels.dtype.kind not in "iub":
        remedy = "give a whole number for each sample, or loss=mean_squared_error"
        raise MoteError("its labels are no classes", where=data.where, remedy=remedy)
    classes = labels.astype(np.int32)
    if np.any(wrong := classes != labels):
        reason = f"label {labels[wrong][0]} is no class"
        raise MoteError(reason, where=data.where, remedy="give the number of a class for each sample, from 0 up")
    return list(classes.reshape(-1, 1))


def _targets(graph: Graph, data: Dataset, labels: Array) -> list[Array]:
    """Target values of the first output in the layout of the generated code, quantized if it is int8."""
    output, before = graph.tensors[graph.outputs[0]], quantized_output(graph)
    if labels.size != len(labels) * output.size:
        remedy = "give as many for each sample, or loss=softmax_cross_entropy for classes"
        reason = f"a label has {labels.size // max(len(labels), 1)} values, and output '{output.name}' {output.size}"
        raise MoteError(reason, where=data.where, remedy=remedy)
    targets = to_code(output, labels.astype(np.float32).reshape(-1, *model_shape(output)))
    assert targets is not None
    return list(quantized(targets, before).reshape(-1, *before.shape) if before.dtype == DType.INT8 else targets)
