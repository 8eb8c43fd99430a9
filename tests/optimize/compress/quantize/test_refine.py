"""Constants that are fitted to calibration data: biases without an average error, weights that lose less."""

from __future__ import annotations

import numpy as np
import pytest

from mote.bench.execute.batch import evaluate
from mote.bench.metrics import noise
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import Activation
from mote.optimize.compress.quantize.calibration import ranges
from mote.optimize.compress.quantize.constants import ConstantOverrides
from mote.optimize.compress.quantize.encode import in_steps, real_numbers
from mote.optimize.compress.quantize.quantizer import Integers, integers
from mote.optimize.compress.quantize.refinement.as_matrix import Layer, as_weights, matrices, read
from mote.optimize.compress.quantize.refinement.refine import refined
from mote.optimize.compress.quantize.statistics import observe
from mote.optimize.compress.quantize.types.precision import Precision, Scheme
from tests.helpers.float_nets import cases, check_litert, graph

BLOCKS = ["conv", "depthwise", "pointwise", "residual", "average", "conv"]
Cases = list[dict[int, Array]]


def quantized(g: Graph, given: Cases, precision: Precision, chosen: ConstantOverrides | None = None) -> Integers:
    return integers(g, ranges(observe(g, given)), Scheme(precision), chosen=chosen)


def values(g: Graph, given: Cases, tensor: int) -> Array:
    """What a tensor of a quantized graph stands for."""
    inputs = {t: g.tensors[t] for t in g.inputs}
    fed = [
        {t: case[t] if x.quant is None else in_steps(case[t], x.quant, x.dtype) for t, x in inputs.items()}
        for case in given
    ]
    found = np.concatenate([batch[tensor] for batch in evaluate(g, fed, {tensor})])
    return real_numbers(found, g.tensors[tensor].quant)


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
def test_layers_are_products_of_matrices(kind: str) -> None:
    g = graph(["depthwise", "conv"])
    op = next(op for op in g.ops if op.kind == kind)
    assert isinstance(op, Layer)
    w = op.input(g, 1).data
    assert w is not None
    x = np.random.default_rng(0).standard_normal((3, *op.input(g).shape[1:])).astype(np.float32)
    rows = matrices(op, w)
    assert np.array_equal(as_weights(op, rows, w.shape), w)
    sums = np.concatenate([part @ rows.transpose(0, 2, 1) for part in read(op, x, rows.shape[2])], axis=1)
    product = sums.transpose(1, 0, 2).reshape(len(sums[0]), -1)
    plain = op.with_(inputs=op.inputs[:2], activation=Activation.NONE)
    expected = np.concatenate([plain.evaluate(g, [value[None], w])[0] for value in x])
    assert np.allclose(product, expected.reshape(product.shape), rtol=1e-4, atol=1e-5)


def test_biases_leave_no_average_error() -> None:
    g = graph(BLOCKS)
    given = cases(g, 40)
    plain = quantized(g, given, Precision.INT4)
    chosen = refined(g, plain, given, rounding=False, biases=True)
    assert not chosen.weights and chosen.biases
    better = quantized(g, given, Precision.INT4, chosen)
    layer = next(op for op in reversed(g.ops) if op.kind == "FULLY_CONNECTED").outputs[0]
    exact = values(g, given, layer)
    errors = [float(np.abs((values(q.graph, given, layer) - exact).mean(0)).max()) for q in (plain, better)]
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize(("precision", "gain"), [(Precision.INT4, 3.0), (Precision.INT8, -0.5)])
def test_rounding_for_results_loses_less_on_other_data(precision: Precision, gain: float) -> None:
    g = graph(BLOCKS)
    given, others = cases(g, 60), cases(g, 60, seed=1)
    plain = quantized(g, given, precision)
    chosen = refined(g, plain, given, rounding=True, biases=True)
    better = quantized(g, given, precision, chosen)
    layer = next(op for op in reversed(g.ops) if op.kind == "FULLY_CONNECTED").outputs[0]
    exact = values(g, others, layer)
    assert noise(exact, values(better.graph, others, layer)) > noise(exact, values(plain.graph, others, layer)) + gain


def test_what_is_fitted_is_what_litert_computes() -> None:
    g = graph(["conv", "depthwise", "residual"], seed=4)
    given = cases(g, 12)
    chosen = refined(g, quantized(g, given, Precision.INT8), given, rounding=True, biases=True)
    check_litert(quantized(g, given, Precision.INT8, chosen).graph, given[:3])


def test_layers_of_real_numbers_are_left_alone() -> None:
    g = graph(["conv", "pointwise"])
    given = cases(g, 8)
    first = next(op for op in g.ops if op.kind == "CONV_2D")
    scheme = Scheme(Precision.INT8, {first.index: Precision.FLOAT32})
    mixed = integers(g, ranges(observe(g, given)), scheme)
    chosen = refined(g, mixed, given, rounding=True, biases=True)
    assert first.inputs[1] not in chosen.weights and first.outputs[0] not in chosen.biases
    assert len(chosen.weights) == len([op for op in g.ops if isinstance(op, Layer)]) - 1
