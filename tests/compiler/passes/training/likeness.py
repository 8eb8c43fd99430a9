"""How much int8 gradients are like those in float32 over the same activations: the cosine of the angle between them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from unittest.mock import patch

import numpy as np

from mote.compiler.passes.training import gradient_ranges
from mote.compiler.passes.training.backward import with_gradients
from mote.compiler.passes.training.integer_backward import IntegerBackward, IntegerSgd, integer_training_graph
from mote.compiler.passes.training.integer_losses import integer_loss, quantized_output
from mote.compiler.passes.training.labelled import label_values
from mote.compiler.passes.training.samples import Samples
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.ops.elementwise.quantize import dequantized
from tests.compiler.passes.training.in_torch import step_of

SGD = IntegerSgd(0.01, seed=3)


def cosines(
    graph: Graph, learned: Collection[int], loss: str, measured: Samples, tried: Samples
) -> dict[str, list[float]]:
    """For each tensor of activations with a gradient, by name, the cosines for all samples that are tried; scales are
    those of samples that are `measured`."""
    walks: list[IntegerBackward] = []
    run = IntegerBackward.run
    with patch.object(IntegerBackward, "run", lambda self, *of: (walks.append(self), run(self, *of))[1]):
        integers = integer_training_graph(graph, learned, loss, SGD, measured)
    walk, few = walks[0], measured.few(1)
    graph = walk.graph
    with patch.object(gradient_ranges, "with_gradients", wraps=with_gradients) as made:
        gradient_ranges.gradient_scales(graph, walk.learned, integer_loss(graph, loss), few)
        reals, of_reals = with_gradients(*made.call_args.args)
    found: dict[str, list[float]] = {}
    for x, label in zip(tried.inputs, tried.labels, strict=True):
        real = label if label.dtype == np.int32 else dequantized(label, quantized_output(graph))
        both = _gradients(integers, integers.evaluate(x), label), _gradients(reals, in_reals(graph, x), real)
        for t, at in walk.complete.items():
            if t not in walk.learned:
                of_int8 = dequantized(both[0][at], step_of(integers).tensors[at])
                found.setdefault(graph.tensors[t].name, []).append(_cosine(of_int8, both[1][of_reals[t]]))
    return found


def _cosine(a: Array, b: Array) -> float:
    a, b = a.reshape(-1).astype(np.float64), b.reshape(-1).astype(np.float64)
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b) + 1e-30))


def in_reals(graph: Graph, x: Mapping[int, Array]) -> dict[int, Array]:
    """The activations of an int8 model in float32."""
    tensors = graph.tensors
    return {i: v if tensors[i].dtype.real else dequantized(v, tensors[i]) for i, v in graph.evaluate(x).items()}


def _gradients(training: Graph, known: Mapping[int, Array], right: Array) -> dict[int, Array]:
    """All tensors of a step, from some activations."""
    given = {s.before: s.initial for s in training.states} | known | label_values(training, right)
    step = step_of(training)
    return step.evaluate({i: given[i] for i in step.inputs})
