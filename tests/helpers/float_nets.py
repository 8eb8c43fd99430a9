"""Random float models with many kinds of layers, and what tests of quantization do with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from mote.bench.execute import reference
from mote.bench.execute.batch import evaluate
from mote.compiler.passes.normal_form import normal
from mote.frontends import tflite
from mote.frontends.tflite.export import export
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.optimize.compress.quantize.encode import in_steps
from tests.helpers.network import Net

Case = dict[int, Array]


def _constant(net: Net, x: int) -> int:
    channels = net.shapes[x][-1]
    return net.writer.const("constant", net.rng.normal(size=(channels,)).astype(np.float32))


def _sums(net: Net, x: int) -> int:
    side = net.op("TANH", [x])
    return net.op("MUL", [net.op("SUB", [net.add(x, _constant(net, x)), side]), _constant(net, x)])


def _joined(net: Net, x: int) -> int:
    """A concatenation of what has a fixed scale with what has none, cut to the channels that it had."""
    both = net.concatenate(3, net.op("LOGISTIC", [x]), x, net.op("RELU6", [x]))
    return net.slice(both, (0, 0, 0, 1), net.shapes[x])


def _gated(net: Net, x: int) -> int:
    n, _, _, channels = net.shapes[x]
    gate = net.op("LOGISTIC", [net.reshape(net.fully_connected(net.mean(x), channels), n, 1, 1, channels)])
    return net.op("MUL", [x, gate])


def _turned(net: Net, x: int) -> int:
    n, height, width, channels = net.shapes[x]
    turned = net.op("TRANSPOSE", [x, net.ints(0, 2, 1, 3)], (n, width, height, channels))
    return net.op("TRANSPOSE", [net.op("ABS", [turned]), net.ints(0, 2, 1, 3)], net.shapes[x])


def _larger(net: Net, x: int) -> int:
    return net.op("MINIMUM", [net.op("MAXIMUM", [x, _constant(net, x)]), net.conv(x, net.shapes[x][3], 1)])


BLOCKS: Mapping[str, Callable[[Net, int], int]] = {
    "conv": lambda net, x: net.conv(x, 6, 3, fused_activation_function="RELU"),
    "conv relu6": lambda net, x: net.conv(x, 4, (1, 3), fused_activation_function="RELU6"),
    "pointwise": lambda net, x: net.conv(x, 8, 1),
    "depthwise": lambda net, x: net.depthwise(x, 1, 3, fused_activation_function="RELU"),
    "padded": lambda net, x: net.conv(net.pad(x, (0, 0), (1, 0), (2, 1), (0, 0)), 5, 3, padding="VALID"),
    "residual": lambda net, x: net.add(x, net.conv(x, net.shapes[x][3], 3)),
    "sums": _sums,
    "joined": _joined,
    "gated": _gated,
    "turned": _turned,
    "larger": _larger,
    "average": lambda net, x: net.pool(x, 2, stride=1),
    "maximum": lambda net, x: net.pool(x, 2, "MAX_POOL_2D", stride=1),
    "leaky": lambda net, x: net.op("LEAKY_RELU", [x], alpha=0.2),
    "swish": lambda net, x: net.op("HARD_SWISH", [x]),
    "softmax": lambda net, x: net.op("SOFTMAX", [x], beta=1.0),
    "no integers": lambda net, x: net.op("SIN", [x]),
}


def model(blocks: Sequence[str], seed: int = 0) -> bytes:
    """A float model of these blocks, and a classifier behind them."""
    net = Net(seed, "float32")
    x = net.input(1, 8, 7, 4)
    for block in blocks:
        x = BLOCKS[block](net, x)
    if min(net.shapes[x][1:3]) > 1:
        x = net.pool(x, 2)
    return net.finish(net.op("SOFTMAX", [net.fully_connected(net.flat(x), 5)], beta=1.0), x)


def graph(blocks: Sequence[str], seed: int = 0) -> Graph:
    return normal(tflite.parse(model(blocks, seed), "net"))


def disturbed(graph: Graph, seed: int) -> Graph:
    """The graph with constants that nobody trains: very large and very small ones, zeros, and channels of zeros."""
    rng = np.random.default_rng(seed)
    constants = [t for t in graph.tensors.values() if t.data is not None and t.dtype == DType.FLOAT32]
    changed = []
    for t in constants:
        assert t.data is not None
        kept = rng.choice([0.0, 0.3, 1.0], p=[0.2, 0.2, 0.6])
        data = t.data * np.float32(10.0 ** rng.uniform(-5, 5)) * (rng.random(t.shape) < kept)
        changed.append(replace(t, data=data.astype(np.float32)))
    return graph.with_ops(graph.ops, changed)


def cases(graph: Graph, count: int = 6, seed: int = 0) -> list[Case]:
    rng = np.random.default_rng(seed)
    shapes = {t: graph.tensors[t].shape for t in graph.inputs}
    return [{t: rng.normal(size=shape).astype(np.float32) for t, shape in shapes.items()} for _ in range(count)]


def extremes(graph: Graph, cases: Sequence[Case]) -> dict[int, tuple[float, float]]:
    """The least and the largest value of every tensor of real numbers."""
    found: dict[int, tuple[float, float]] = {}
    for values in evaluate(graph, cases):
        for t, value in values.items():
            if value.dtype == np.float32:
                low, high = found.get(t, (np.inf, -np.inf))
                found[t] = min(low, float(value.min())), max(high, float(value.max()))
    return found


def given(graph: Graph, case: Case) -> Case:
    """A case of real numbers as a quantized graph takes it."""
    tensors = {t: graph.tensors[t] for t in case}
    return {
        t: case[t] if tensor.quant is None else in_steps(case[t], tensor.quant, tensor.dtype)
        for t, tensor in tensors.items()
    }


def check_litert(graph: Graph, cases: Sequence[Case], *, fast: bool = False) -> bytes:
    """Every integer of a graph is that of LiteRT's reference kernels (or the others), as long as nothing real comes
    before it."""
    exported = export(graph, "net")
    oracle = reference.litert(exported.data, fast=fast)
    real: set[int] = set()
    for op in graph.ops:
        computes = any(graph.tensors[t].dtype == DType.FLOAT32 for t in op.outputs)
        if (computes and op.kind != "DEQUANTIZE") or real.intersection(op.inputs):
            real.update(op.outputs)
    for case in cases:
        case = given(graph, case)
        got = graph.evaluate(case)
        want = oracle({exported.tensors[t]: value for t, value in case.items()})
        assert want is not None
        for t, op in graph.producers.items():
            if t in exported.tensors and t not in real:
                assert np.array_equal(got[t], want[exported.tensors[t]].reshape(got[t].shape)), op
    return exported.data
