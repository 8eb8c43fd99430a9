"""Refines quantized weights and biases layer by layer on calibration data.

The float and the quantized network are evaluated side by side. Each quantized layer reads inputs with the rounding
errors of previous layers. From the moments of both inputs follow the least-squares weights that best reproduce the
float outputs, their rounding (`mote.optimize.compress.quantize.refinement.rounding`), and the bias that removes the
mean error.

Values are fake-quantized floats; integer kernels sometimes differ by the last step, which averages out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mote.base.progress import Done, nobody
from mote.bench.execute.batch import apply, evaluate, is_stream
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.common import float_bias
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.optimize.compress.quantize.constants import ConstantOverrides
from mote.optimize.compress.quantize.encode import in_steps, real_numbers, weight_scales
from mote.optimize.compress.quantize.quantizer import Integers
from mote.optimize.compress.quantize.refinement.as_matrix import Layer, as_weights, matrices, read
from mote.optimize.compress.quantize.refinement.rounding import adaptive, best_scales, damped, nearest, on_grid
from mote.optimize.compress.quantize.statistics import Numbers
from mote.optimize.compress.quantize.types.litert_rules import FAMILIES
from mote.optimize.compress.quantize.types.precision import Rounded

MOST_SAMPLES, LEAST_SAMPLES = 256, 32
"""Maximum and minimum number of samples; all live tensors of all samples are in memory at once."""
MOST_VALUES = 1 << 24
"""Memory limit: total elements of all tensors over all samples (down to LEAST_SAMPLES)."""
MOST_ROWS = 1 << 15
"""Maximum number of input windows per layer from which moments are estimated; of more, a random subset."""
MOST_COLUMNS = 3072
"""Layers with more weights per channel are rounded to nearest, since inverting their Gram matrix takes too long."""

HOLD = 1.0
"""Regularization of least-squares weights towards the original ones, relative to input variance. With less, layers
would answer noise by attenuating the signal, which harms the last layer."""

Values = dict[int, list[Array]]
"""Tensor values by id, in chunks of samples."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Means [groups, columns] and covariances [groups, columns, columns] of a layer's inputs in the float and the
    quantized network."""

    exact: Numbers
    """Means of inputs in the float network."""
    read: Numbers
    """Means of inputs in the quantized network."""
    covariance: Numbers
    """Covariance of inputs in the quantized network."""
    cross: Numbers
    """Cross-covariance of inputs in the float and in the quantized network."""
    count: float
    """Effective number of windows; overlapping windows count fractionally."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """Refined constants of a layer."""

    rounded: Rounded
    weights: NDArray[np.float32]
    """Dequantized weights."""
    bias: NDArray[np.float32]


def refined(
    graph: Graph,
    integers: Integers,
    cases: Sequence[Mapping[int, Array]],
    *,
    rounding: bool,
    biases: bool,
    done: Done = nobody,
) -> ConstantOverrides:
    """Refines a nearest-rounded quantization: adaptive rounding of weights (`rounding`) and bias correction (`biases`).
    `done` is a progress callback counting operators."""
    grids = integers.graph.tensors
    exact = _start_values(graph, _some(graph, cases))
    rounded = {t: _on_grid(grids[t], chunks) for t, chunks in exact.items()}
    last = {t: place for place, op in enumerate(graph.ops) for t in op.inputs}
    quantized = graph
    chosen_weights: dict[int, Rounded] = {}
    chosen_biases: dict[int, Array] = {}
    for place, op in enumerate(graph.ops):
        if isinstance(op, Layer) and integers.precisions[op.index].integer and _has_unshared_weights(graph, op):
            given = _on_grid(_quantized_input(integers, op), rounded[op.inputs[0]])
            moments = _moments(graph, op, exact[op.inputs[0]], given)
            fitted = _fitted(graph, integers, op, moments, rounding=rounding)
            if rounding:
                chosen_weights[op.inputs[1]] = fitted.rounded
            if biases:
                chosen_biases[op.outputs[0]] = fitted.bias
            quantized = _with_constants(quantized, place, fitted, biases=biases)
        _step(graph, place, exact)
        _step(quantized, place, rounded)
        for t in op.outputs:
            rounded[t] = _on_grid(grids[t], rounded[t])
        for t in {*op.inputs, *op.outputs} & exact.keys():
            if last.get(t, place) <= place:
                del exact[t], rounded[t]
        done(place + 1, len(graph.ops))
    return ConstantOverrides(chosen_weights, chosen_biases)


def _some(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> list[Mapping[int, Array]]:
    """Evenly spaced samples, as many as fit in memory; the first ones of a stream."""
    values = sum(graph.tensors[t].size for t in graph.producers)
    count = min(max(MOST_VALUES // max(values, 1), LEAST_SAMPLES), MOST_SAMPLES, len(cases))
    return list(cases[:count]) if is_stream(graph) else [cases[i * len(cases) // count] for i in range(count)]


def _start_values(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> Values:
    """Values of inputs and initial states for all samples."""
    ran = graph if is_stream(graph) else replace(graph, ops=())
    batches = list(evaluate(ran, cases, {*graph.inputs, *(s.before for s in graph.states)}))
    return {t: [batch[t] for batch in batches] for t in batches[0]}


def _on_grid(tensor: Tensor, chunks: Sequence[Array]) -> list[Array]:
    """Fake-quantizes values by a tensor's quantization; unchanged if it is not quantized."""
    if tensor.quant is None or not tensor.dtype.integer:
        return list(chunks)
    quant, dtype = tensor.quant, tensor.dtype
    return [real_numbers(in_steps(chunk, quant, dtype), quant).astype(np.float32) for chunk in chunks]


def _step(graph: Graph, place: int, values: Values) -> None:
    """Evaluates one operator for all samples."""
    op = graph.ops[place]
    chunks = len(next(iter(values.values())))
    made = []
    for chunk in range(chunks):
        known = [values[t][chunk] if t in values else None if t == ABSENT else graph.tensors[t].data for t in op.inputs]
        made.append(apply(graph, op, known))
    for out, column in zip(op.outputs, zip(*made, strict=True), strict=True):
        values[out] = list(column)


def _has_unshared_weights(graph: Graph, op: Layer) -> bool:
    """Whether a layer has constant weights that no other layer reads, and a constant bias if any."""
    bias = op.tensor(graph, 2)
    known = bias is None or bias.data is not None
    return known and op.input(graph, 1).data is not None and graph.only_consumer(op.inputs[1]) is not None


def _quantized_input(integers: Integers, op: Layer) -> Tensor:
    """The input tensor of a layer in the quantized graph."""
    return integers.graph.producers[op.outputs[0]].input(integers.graph)


def _moments(graph: Graph, op: Layer, exact: Sequence[Array], rounded: Sequence[Array]) -> Moments:
    """Moments of a layer's inputs over all windows and samples, or a random subset of them."""
    groups, _, columns = matrices(op, np.empty(op.input(graph, 1).shape)).shape
    places = op.output(graph).size // op.output(graph).channels
    samples = sum(map(len, exact))
    every = max(1, min(samples // LEAST_SAMPLES, samples * places // MOST_ROWS))
    share = MOST_ROWS * every / (samples * places)
    rng = np.random.default_rng(0)
    count = 0
    sums, read_sums = np.zeros((2, groups, columns))
    squares, products = np.zeros((2, groups, columns, columns))
    for a, b in zip(exact, rounded, strict=True):
        for wanted, given in zip(read(op, a[::every], columns), read(op, b[::every], columns), strict=True):
            taken = rng.random(given.shape[1]) < share
            x, y = wanted[:, taken], given[:, taken]
            count += x.shape[1]
            sums += x.sum(1, dtype=np.float64)
            read_sums += y.sum(1, dtype=np.float64)
            squares += y.transpose(0, 2, 1) @ y
            products += x.transpose(0, 2, 1) @ y
    mean, read_mean = sums / count, read_sums / count
    covariance = squares / count - read_mean[:, :, None] * read_mean[:, None, :]
    cross = products / count - mean[:, :, None] * read_mean[:, None, :]
    taps = 1 if isinstance(op, FullyConnected) else op.vertical.kernel * op.horizontal.kernel
    return Moments(mean, read_mean, covariance, cross, max(count / taps, 1.0))


def _fitted(graph: Graph, integers: Integers, op: Layer, moments: Moments, *, rounding: bool) -> Fitted:
    """Refined constants of a layer, from its input moments."""
    w, most = op.input(graph, 1), integers.precisions[op.index].most
    assert w.data is not None
    bias = float_bias(op.tensor(graph, 2), op.output(graph).channels).astype(np.float64)
    weights = matrices(op, w.data)
    scale = _quantized_input(integers, op).scale
    largest = weight_scales(w.data, FAMILIES[type(op)].channel_axis, most, bias, scale)
    scales = largest.astype(np.float64).reshape(weights.shape[:2])
    if rounding and weights.shape[2] <= MOST_COLUMNS and not on_grid(weights, scales):
        gram = damped(moments.covariance, moments.count)
        aim = _compensating_weights(weights, moments)
        scales = best_scales(aim, gram, most, scales).astype(np.float32).astype(np.float64)
        steps = adaptive(aim, gram, scales, most)
    else:
        steps = nearest(weights, scales, most)
    dequantized = steps * scales[..., None]
    shift = (weights @ moments.exact[..., None] - dequantized @ moments.read[..., None]).reshape(-1)
    return Fitted(
        Rounded(as_weights(op, steps, w.shape), scales.reshape(-1).astype(np.float32)),
        as_weights(op, dequantized, w.shape).astype(np.float32),
        (bias + shift).astype(np.float32),
    )


def _compensating_weights(weights: Numbers, moments: Moments) -> Numbers:
    """Least-squares weights that compensate for input errors; zero weights stay zero."""
    columns = weights.shape[2]
    variance = np.trace(moments.covariance, axis1=1, axis2=2)[:, None, None] / columns
    held = moments.covariance + np.where(variance > 0, HOLD * variance, 1.0) * np.eye(columns)
    fitted = weights + weights @ (moments.cross - moments.covariance) @ np.linalg.inv(held)
    return np.where(weights == 0, 0.0, fitted)


def _with_constants(graph: Graph, place: int, fitted: Fitted, *, biases: bool) -> Graph:
    """The graph with one layer's dequantized weights, and its corrected bias if requested."""
    op = graph.ops[place]
    changed = [replace(op.input(graph, 1), data=fitted.weights)]
    if biases:
        changed.append(Tensor(graph.fresh_id(), f"{op.name}/bias", fitted.bias.shape, DType.FLOAT32, None, fitted.bias))
        op = op.with_(inputs=(*op.inputs[:2], changed[-1].id))
    return graph.with_ops((*graph.ops[:place], op, *graph.ops[place + 1 :]), changed)
