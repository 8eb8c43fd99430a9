"""Typical activation ranges of a trained network with standardized input, used when there is no data.

Costs hardly depend on ranges as long as scales have no simple ratios, as in trained networks; with simple ratios,
rescaling would be exact and other kernels would apply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mote.ir.graph import Graph, Op
from mote.ir.ops.elementwise.activations import HardSwish, Logistic, Relu, Relu6, Tanh
from mote.ir.ops.elementwise.arithmetic import Add, Mul
from mote.ir.ops.matrix.batch_matmul import BatchMatmul
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.recurrent.gru import Gru
from mote.ir.ops.reductions.layer_norm import Standardize
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.softmax import Softmax
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.optimize.compress.quantize.encode import Range
from mote.optimize.compress.quantize.inside import Insides

INPUT_RANGE: Range = (-2.117, 2.643)
"""Assumed range of a network's input."""
SECOND = 0.7161
"""Ratio of the assumed range of the second operand of a sum or product to that of other tensors, so that scales
differ."""


def synthetic_ranges(graph: Graph) -> dict[int, Range]:
    """Assumed ranges of the activations of a float graph, by tensor id."""
    ranges = dict.fromkeys(graph.inputs, INPUT_RANGE)
    seconds = {op.inputs[1] for op in graph.ops if isinstance(op, Add | Mul)}
    for op in graph.ops:
        given = [ranges[t] for t in op.inputs if t in ranges]
        ranges |= dict.fromkeys(op.outputs, range_after(op, given, second=op.outputs[0] in seconds))
    return ranges


def range_after(op: Op, given: list[Range], *, second: bool = False) -> Range:
    """Assumed output range of an operator from its input ranges; `second`: its output is the second operand of a sum or
    product."""
    own = _OWN.get(type(op))
    if own is None:
        return given[0]
    low, high = own(op, given)
    return (SECOND * low, SECOND * high) if second else (low, high)


def synthetic_insides(graph: Graph) -> Insides:
    """Assumed ranges of intermediate values of layers that become several integer operators, by output tensor."""
    return {op.outputs[0]: _INSIDES[type(op)] for op in graph.ops if type(op) in _INSIDES}


def _constant(low: float, high: float) -> Callable[[Op, list[Range]], Range]:
    return lambda op, given: (low, high)


def _by_activation(**ranges: Range) -> Callable[[Any, list[Range]], Range]:
    return lambda op, given: ranges[op.activation.name]


def _mean(op: Op, given: list[Range]) -> Range:
    low, high = given[0]
    return 0.4573 * low, 0.4573 * high


def _product(op: Op, given: list[Range]) -> Range:
    first, second = given[0], given[-1]
    ends = [x * y for x in first for y in second]
    return 0.7129 * min(ends), 0.7129 * max(ends)


_LAYER = _by_activation(NONE=(-4.892, 4.594), RELU=(0.0, 4.541), RELU6=(0.0, 6.0))
_OWN: Mapping[type[Op], Callable[[Any, list[Range]], Range]] = {
    **dict.fromkeys((Conv2D, DepthwiseConv2D, FullyConnected), _LAYER),
    Add: _by_activation(NONE=(-6.244, 6.344), RELU=(0.0, 5.704), RELU6=(0.0, 6.0)),
    Mul: _product,
    Mean: _mean,
    BatchMatmul: _constant(-4.219, 3.937),
    Relu: _constant(0.0, 4.541),
    Relu6: _constant(0.0, 6.0),
    HardSwish: _constant(-0.375, 3.936),
    Logistic: _constant(0.0, 1.0),
    Softmax: _constant(0.0, 1.0),
    Tanh: _constant(-1.0, 1.0),
    Gru: _constant(-0.9317, 0.9643),
    Standardize: _constant(-3.319, 3.613),
}
"""Functions from input ranges to the assumed output range, by operator type; others keep the range of their first
input."""
_INSIDES: Mapping[type[Op], Mapping[str, Range]] = {
    Gru: {
        "input": (-6.1, 6.4),
        "recurrent": (-3.2, 2.9),
        "gates": (-7.1, 6.9),
        "candidate recurrent": (-2.2, 2.0),
        "reset": (-1.5, 1.4),
        "candidate": (-5.2, 5.5),
        "state": (-0.95, 0.96),
    },
    Standardize: {
        "mean": (-1.1, 0.9),
        "centred": (-4.2, 4.4),
        "square": (0.0, 19.0),
        "variance": (0.0, 3.1),
        "deviation": (0.0, 1.76),
        "reciprocal": (0.0, 2.2),
        "normalized": (-3.2, 3.5),
        "scaled": (-3.4, 3.7),
    },
}
