"""Cross-layer equalization: divides a channel of one layer by a factor and multiplies the next layer's weights that
read it.

An int8 activation has a single scale, so that channels of small values get few quantization steps. If only positively
homogeneous operators (ReLU, pooling, data movement) are between two layers, factors can be moved across without
changing the network, and every channel can use the full range. But weights of the second layer may quantize worse.
Candidates between equalizing activations and equalizing weights are tried, and the one with least expected noise is
used, if any is clearly better.

RELU6 and other bounded activations do not commute with factors, so layers before them are not equalized."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.rows import OUTSIDE
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.elementwise.activations import LeakyRelu, Relu
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.moves.pad_concat_transpose import Pad
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.reduce import ReduceMax
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.pool import AveragePool, MaxPool
from mote.ir.ops.windows.resize import ResizeBilinear, ResizeNearest
from mote.optimize.compress.quantize.statistics import Numbers, TensorStatistics
from mote.optimize.compress.quantize.types.precision import Precision

Layer = Conv2D | DepthwiseConv2D | FullyConnected
BETWEEN = (Relu, LeakyRelu, MaxPool, AveragePool, Mean, ReduceMax, Pad, Reshape, ResizeNearest, ResizeBilinear)
"""Positively homogeneous per-channel operators: f(a x) = a f(x) for a > 0."""
UNBOUNDED = (Activation.NONE, Activation.RELU)
POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Candidate exponents of activation ranges and of weight ranges in the factors."""
FURTHEST = 64.0
"""Maximum ratio between factors, since values in use may exceed those of calibration data."""
WORTH = 0.85
"""Factors are applied only if expected noise falls to at most this share."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two layers to equalize; `channels` is the first layer's channel that each index on the last axis of the second
    layer's weights reads."""

    first: Layer
    second: Layer
    channels: Ints


def pairs(graph: Graph) -> list[Pair]:
    """All pairs of layers that can be equalized."""
    return [pair for op in graph.ops if isinstance(op, Layer) and (pair := _pair(graph, op)) is not None]


def equalized(graph: Graph, statistics: Mapping[int, TensorStatistics], precision: Precision = Precision.INT8) -> Graph:
    """The equalized float graph. `statistics` are calibration statistics of the original graph; they must be collected
    again afterwards."""
    for pair in pairs(graph):
        if pair.first.outputs[0] in statistics and pair.second.inputs[0] in statistics:
            graph = _with_factors(graph, pair, _factors(graph, pair, statistics, precision))
    return graph


def _pair(graph: Graph, first: Layer) -> Pair | None:
    if first.activation not in UNBOUNDED or not _own_constants(graph, first):
        return None
    channels = np.arange(first.output(graph).channels, dtype=np.int64)
    op = graph.only_consumer(first.outputs[0])
    while op is not None and not isinstance(op, Layer):
        threads = _threads(graph, op)
        if threads is None:
            return None
        channels, op = channels[threads], graph.only_consumer(op.outputs[0])
    if op is None or not _own_constants(graph, op) or op.inputs[0] not in graph.producers:
        return None
    read = _read(graph, op)
    return None if read is None else Pair(first, op, channels[read])


def _own_constants(graph: Graph, op: Layer) -> bool:
    """Whether no other operator reads the layer's constant float weights and bias."""
    constants = [t for t in (op.tensor(graph, 1), op.tensor(graph, 2)) if t is not None]
    return all(
        t.data is not None and t.dtype == DType.FLOAT32 and graph.only_consumer(t.id) is not None for t in constants
    )


def _threads(graph: Graph, op: Op) -> Ints | None:
    """Input channel of each output channel of an operator between the layers; None if factors do not pass through
    it."""
    if not isinstance(op, BETWEEN) or getattr(op, "activation", Activation.NONE) not in UNBOUNDED:
        return None
    if isinstance(op, Pad) and op.value != 0:
        return None
    threads = op.channel_sources(graph)
    sources = None if threads is None else threads.get(0)
    return None if sources is None or np.any(sources == OUTSIDE) else sources


def _read(graph: Graph, op: Layer) -> Ints | None:
    """Input channel that each index on the last axis of a layer's weights reads."""
    if isinstance(op, DepthwiseConv2D):
        return np.arange(op.output(graph).channels, dtype=np.int64) // op.multiplier
    return op.columns(graph)


def _factors(graph: Graph, pair: Pair, statistics: Mapping[int, TensorStatistics], precision: Precision) -> Numbers:
    """Factors by which to divide the channels between two layers."""
    weights = _matrix(graph, pair)
    between, read = statistics[pair.first.outputs[0]], statistics[pair.second.inputs[0]]
    reach = np.maximum(-between.channel_low, between.channel_high)
    largest = np.zeros(len(reach))
    np.maximum.at(largest, pair.channels, np.abs(weights).max(axis=(0, 1)))
    alive = (reach > 0) & (largest > 0)
    if not alive.any():
        return np.ones(len(reach))
    power = _power(graph, pair, read)
    tried = [_family(reach, largest, alive, a, b) for a, b in product(POWERS, POWERS)]
    noise = [_noise(pair, weights, between, power, factors, precision) for factors in tried]
    best = int(np.argmin(noise))
    return tried[best] if noise[best] < WORTH * noise[0] else tried[0]


def _family(reach: Numbers, largest: Numbers, alive: NDArray[np.bool_], a: float, b: float) -> Numbers:
    """Factors that equalize activations (a = 1, b = 0), weights (a = 0, b = 1) or a mix of both, with geometric mean
    1."""
    logs = np.where(alive, a * np.log(np.where(alive, reach, 1.0)) - b * np.log(np.where(alive, largest, 1.0)), 0.0)
    logs = np.where(alive, logs - logs[alive].mean(), 0.0)
    factors: Numbers = np.exp(np.clip(logs, -np.log(FURTHEST) / 2, np.log(FURTHEST) / 2))
    return factors


def _matrix(graph: Graph, pair: Pair) -> Numbers:
    """The second layer's weights as [outputs, taps, indices on the last axis]; with one output if depthwise, as it is
    quantized per channel."""
    w = pair.second.input(graph, 1)
    assert w.data is not None
    outputs = 1 if isinstance(pair.second, DepthwiseConv2D) else w.shape[0]
    return w.data.astype(np.float64).reshape(outputs, -1, w.shape[-1])


def _power(graph: Graph, pair: Pair, read: TensorStatistics) -> Numbers:
    """Mean square of the second layer's input for each index on the last axis of its weights."""
    channels = _read(graph, pair.second)
    assert channels is not None
    return read.channel_powers[channels]


def _noise(
    pair: Pair, weights: Numbers, between: TensorStatistics, power: Numbers, factors: Numbers, precision: Precision
) -> float:
    """Expected squared error of the second layer's accumulators due to rounding of activations and weights."""
    low, high = min((between.channel_low / factors).min(), 0.0), max((between.channel_high / factors).max(), 0.0)
    step = (high - low) / (2**16 if precision is Precision.INT16 else 2**8)
    spread = factors[pair.channels]
    scaled = weights * spread
    activations = step**2 * (scaled**2).sum()
    if isinstance(pair.second, DepthwiseConv2D):
        return float(activations)
    steps = np.abs(scaled).max(axis=(1, 2)) / precision.most
    return float(activations + (steps**2).sum() * weights.shape[1] * (power / spread**2).sum())


def _with_factors(graph: Graph, pair: Pair, factors: Numbers) -> Graph:
    """The graph with both layers scaled by the factors."""
    w1, b1, w2 = pair.first.input(graph, 1), pair.first.tensor(graph, 2), pair.second.input(graph, 1)
    assert w1.data is not None and w2.data is not None
    axis = 3 if isinstance(pair.first, DepthwiseConv2D) else 0
    along = factors.reshape([-1 if i == axis else 1 for i in range(w1.data.ndim)])
    changed = [
        replace(w1, data=(w1.data / along).astype(np.float32)),
        replace(w2, data=(w2.data * factors[pair.channels]).astype(np.float32)),
    ]
    if b1 is not None and b1.data is not None:
        changed.append(replace(b1, data=(b1.data.reshape(-1) / factors).astype(np.float32).reshape(b1.shape)))
    return graph.with_ops(graph.ops, changed)
