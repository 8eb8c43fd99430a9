"""Every rule of the int8 gradients, judged by PyTorch on random networks: gradients of activations, and the steps of
weights and biases on average over seeds of the stochastic rounding.

The networks are enumerated by the table of the rules: a rule without one fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from mote.compiler.passes.training.integer_gradients import RULES
from mote.compiler.passes.training.integer_losses import quantized_output
from mote.compiler.passes.training.loss import Loss
from mote.compiler.passes.training.samples import Samples
from mote.frontends import tflite
from mote.ir.graph import Graph, Op
from mote.ir.ops.elementwise.activations import HardSwish, LeakyRelu, Logistic, Relu, Relu0To1, Relu6, ReluN1To1, Tanh
from mote.ir.ops.elementwise.arithmetic import Add, Mul
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.moves.pad_concat_transpose import Concatenation, Pad, Transpose
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.onnxruntime_rounding import TWINS, EvenAdd, EvenAveragePool, EvenMean, EvenMul
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.training.integer.steps import IntegerStep
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.pool import AveragePool, MaxPool
from tests.compiler.passes.training.judge import JudgedStep
from tests.helpers.network import Net
from tests.helpers.support import soaked

CLASSES = 5
COSINE, SCALE = 0.985, 0.12
"""The least cosine between integers and PyTorch's, and by how much the scale may differ from 1: most are within 0.02,
but gradients of branches that cancel each other have the scale of their sum, and the largest are cut off."""
Layer = Callable[[Net, int], int]
"""What a network has between its first layer and its classifier."""


def window(rng: np.random.Generator, **changes: Any) -> dict[str, Any]:
    """Options of any window."""
    dilation = int(rng.integers(1, 3))
    own = {
        "kernel": tuple(rng.integers(1, 4, 2).tolist()),
        "stride": 1 if dilation > 1 else tuple(rng.integers(1, 4, 2).tolist()),
        "dilation": dilation,
        "padding": str(rng.choice(["SAME", "VALID"])),
    }
    return own | changes


def conv(net: Net, x: int, **options: Any) -> int:
    return net.conv(x, int(net.rng.integers(2, 9)), **window(net.rng, **options))


def depthwise(net: Net, x: int, multiplier: int = 1, **options: Any) -> int:
    return net.depthwise(x, multiplier, **window(net.rng, **options))


def dense(net: Net, x: int) -> int:
    return net.fully_connected(net.flat(net.conv(x, 3, 3, stride=3)), 7)


def dense_vectors(net: Net, x: int) -> int:
    """A product with the channels of each pixel."""
    *image, depth = net.shapes[x]
    operands = [x, *net.constants(x, net.weights(6, depth), None, None)]
    return net.op("FULLY_CONNECTED", operands, (*image, 6), keep_num_dims=True)


def branched(net: Net, x: int, kind: str, **options: Any) -> int:
    """A layer of two operands, each a convolution of the same."""
    return net.op(kind, [net.conv(x, 4, 3), net.conv(x, 4, 1)], quant=(0.1, -9), **options)


def gate(net: Net, x: int) -> int:
    return net.op("MUL", [x, net.op("LOGISTIC", [net.conv(x, net.shapes[x][3], 1)], quant=(1 / 256, -128))])


def pool(net: Net, x: int, kind: str, size: tuple[int, int], stride: tuple[int, int]) -> int:
    return net.pool(x, size, kind, stride)


def whole(net: Net, x: int) -> int:
    """The average of all pixels as an image of one."""
    return net.pool(x, net.shapes[x][1:3])


def kept(net: Net, x: int, axes: tuple[int, ...]) -> int:
    shape = tuple(1 if axis in axes else n for axis, n in enumerate(net.shapes[x]))
    return net.op("MEAN", [x, net.ints(*axes)], shape, keep_dims=True)


def clamped(net: Net, x: int, kind: str) -> int:
    return net.moved(kind, [net.conv(x, 6, 3, quant=(0.05, -100))])


def curved(net: Net, x: int, kind: str, quant: tuple[float, int], **options: Any) -> int:
    return net.op(kind, [x], quant=quant, **options)


def padded(net: Net, x: int) -> int:
    return net.pad(x, (0, 0), (1, 2), (0, 3), (0, 0))


def joined(net: Net, x: int, axis: int = 3) -> int:
    quant = 0.05, 9
    return net.concatenate(axis, *(net.conv(x, n, 3, quant=quant) for n in ((3, 5) if axis == 3 else (4, 4))))


def turned(net: Net, x: int) -> int:
    n, height, width, depth = net.shapes[x]
    return net.moved("TRANSPOSE", [x, net.ints(0, 2, 3, 1)], (n, width, depth, height))


def reshaped(net: Net, x: int) -> int:
    n, height, width, depth = net.shapes[x]
    return net.reshape(x, n, width, height, depth)


ADDS: dict[str, Layer] = {
    "add": partial(branched, kind="ADD"),
    "add with a ReLU": partial(branched, kind="ADD", fused_activation_function="RELU"),
    "add to itself": lambda net, x: net.add(x, x),
}
MULS: dict[str, Layer] = {"mul": partial(branched, kind="MUL"), "gate": gate}
AVERAGES: dict[str, Layer] = {
    "pool": partial(pool, kind="AVERAGE_POOL_2D", size=(2, 3), stride=(2, 3)),
    "pools that overlap": partial(pool, kind="AVERAGE_POOL_2D", size=(3, 2), stride=(1, 1)),
    "pool of all": whole,
}
MEANS: dict[str, Layer] = {
    "mean": lambda net, x: net.reshape(net.mean(x), 1, 1, 1, net.shapes[x][3]),
    "mean of rows": partial(kept, axes=(1,)),
    "mean of channels": partial(kept, axes=(3,)),
}
CASES: dict[type[Op], dict[str, Layer]] = {
    Conv2D: {
        "conv": conv,
        "conv with strides": partial(conv, stride=2, dilation=1, kernel=3, padding="SAME"),
        "conv with dilation": partial(conv, stride=1, dilation=2, kernel=3, padding="SAME"),
        "conv 1x1 with strides": partial(conv, stride=2, dilation=1, kernel=1),
        "conv with a ReLU": partial(conv, fused_activation_function="RELU"),
        "conv with a ReLU6": partial(conv, fused_activation_function="RELU6", quant=(6 / 255, -128)),
    },
    DepthwiseConv2D: {
        "depthwise": depthwise,
        "depthwise with strides": partial(depthwise, stride=2, dilation=1, kernel=3),
        "depthwise with dilation": partial(depthwise, stride=1, dilation=2, kernel=3),
        "depthwise, multiplier 2": partial(depthwise, multiplier=2),
        "depthwise, multiplier 3, strides": partial(depthwise, multiplier=3, stride=2, dilation=1, kernel=3),
        "depthwise, multiplier 8, ReLU": partial(depthwise, multiplier=8, fused_activation_function="RELU"),
    },
    FullyConnected: {"dense": dense, "dense of vectors": dense_vectors},
    Add: ADDS,
    EvenAdd: ADDS,
    Mul: MULS,
    EvenMul: MULS,
    AveragePool: AVERAGES,
    EvenAveragePool: AVERAGES,
    Mean: MEANS,
    EvenMean: MEANS,
    MaxPool: {
        "max": partial(pool, kind="MAX_POOL_2D", size=(2, 2), stride=(2, 2)),
        "maxima that overlap": partial(pool, kind="MAX_POOL_2D", size=(3, 3), stride=(2, 2)),
        "maxima of each": partial(pool, kind="MAX_POOL_2D", size=(3, 3), stride=(1, 1)),
    },
    Relu: {"relu": partial(clamped, kind="RELU")},
    Relu6: {"relu6": partial(clamped, kind="RELU6")},
    Relu0To1: {"relu to 1": partial(clamped, kind="RELU_0_TO_1")},
    ReluN1To1: {"relu from -1 to 1": partial(clamped, kind="RELU_N1_TO_1")},
    LeakyRelu: {
        "leaky": partial(curved, kind="LEAKY_RELU", quant=(0.05, -40), alpha=0.2),
        "leaky, negative": partial(curved, kind="LEAKY_RELU", quant=(0.05, -40), alpha=-0.5),
    },
    HardSwish: {"hard swish": partial(curved, kind="HARD_SWISH", quant=(0.03, -100))},
    Logistic: {"logistic": partial(curved, kind="LOGISTIC", quant=(1 / 256, -128))},
    Tanh: {"tanh": partial(curved, kind="TANH", quant=(1 / 128, 0))},
    Reshape: {"reshape": reshaped},
    Transpose: {"transpose": turned},
    Pad: {"pad": padded},
    Concatenation: {"concatenation": joined, "concatenation of rows": partial(joined, axis=1)},
}
"""Layers of each rule, by the class of its operator."""


def network(layer: Layer, seed: int) -> Graph:
    net = Net(seed)
    x = net.conv(net.input(1, *net.rng.integers(7, 11, 2).tolist(), 3), 6, 3)
    x = layer(net, x)
    x = net.conv(x, 6, 1) if len(net.shapes[x]) == 4 else x
    x = net.mean(x) if len(net.shapes[x]) == 4 else x
    return tflite.parse(net.finish(net.fully_connected(x, CLASSES)), "network")


def even(graph: Graph, kind: type[Op]) -> Graph:
    """The graph with ONNX Runtime's rounding of one kind of operators."""
    return graph.with_ops(kind.like(op) if type(op) is TWINS[kind] else op for op in graph.ops)


def samples(graph: Graph, seed: int, loss: Loss) -> Samples:
    rng = np.random.default_rng(seed)
    x, y = graph.tensors[graph.inputs[0]], quantized_output(graph)
    label = rng.integers(0, CLASSES, 1).astype(np.int32)
    if loss is Loss.MEAN_SQUARED_ERROR:
        label = rng.integers(-128, 128, y.shape).astype(np.int8)
    return Samples([{x.id: rng.integers(-128, 128, x.shape).astype(np.int8)}], [label])


def constants(graph: Graph, everything: bool) -> set[int]:
    """Weights and biases of all layers, or those of the first one: gradients then go through constant weights."""
    layers = [op for op in graph.ops if op.weights]
    return {i for op in (layers if everything else layers[:1]) for i in op.inputs[1:]}


def judged(graph: Graph, everything: bool, loss: Loss, seed: int) -> tuple[JudgedStep, list[str]]:
    """What is wrong: scales are measured on the sample itself, so that nothing is cut off."""
    given = samples(graph, seed, loss)
    step = JudgedStep(graph, constants(graph, everything), loss, given)
    found = step.judged(given.inputs[0], given.labels[0])
    assert len(found) > 3
    wrong = [f"{t}: {like}" for t, like in found.items() if like.cosine < COSINE or abs(like.scale - 1) > SCALE]
    return step, wrong


SEEDS = range(10)
RULES_AND_LAYERS = [(kind, name, seed) for kind, layers in CASES.items() for name in layers for seed in SEEDS]


def test_every_rule_has_a_judge() -> None:
    assert CASES.keys() == RULES.keys()


@pytest.mark.parametrize(
    ("kind", "name", "seed"),
    soaked(RULES_AND_LAYERS, [case for case in RULES_AND_LAYERS if case[2] == 0]),
    ids=lambda x: x.__name__ if isinstance(x, type) else str(x),
)
def test_a_rule_is_that_of_autograd(kind: type[Op], name: str, seed: int) -> None:
    graph = network(CASES[kind][name], seed)
    graph = even(graph, kind) if kind in TWINS else graph
    assert any(type(op) is kind for op in graph.ops)
    for everything in (True, False):
        assert judged(graph, everything, Loss.SOFTMAX_CROSS_ENTROPY, seed)[1] == []


@pytest.mark.parametrize("loss", list(Loss))
def test_losses_and_steps(loss: Loss) -> None:
    """Each kind of step is among those that are judged."""
    steps: set[type[Op]] = set()
    for seed in range(3):
        graph = network(partial(depthwise, multiplier=2), seed)
        step, wrong = judged(graph, True, loss, seed)
        assert wrong == []
        steps |= {type(op) for op in step.operators() if isinstance(op, IntegerStep)}

    def below(kind: type[Any]) -> Iterator[type[Any]]:
        for other in kind.__subclasses__():
            yield from (other, *below(other))

    assert steps == set(below(IntegerStep))
