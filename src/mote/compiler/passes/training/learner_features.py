"""The features that a learner gets: the output of a layer of the frozen model, pooled over positions, or a single
score."""

from __future__ import annotations

from mote.base.errors import MoteError
from mote.base.text import printable
from mote.compiler.passes.training.choice import named
from mote.compiler.passes.training.spec import WHERE
from mote.compiler.passes.training.tape import Tape
from mote.ir.graph import Graph
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.quantize import Dequantize
from mote.ir.ops.features.anomaly import AnomalyScore, compared_problem
from mote.ir.ops.learning.one_class import MEASURES
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.pointwise import Pointwise
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.reduce import ReduceMax
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

POOLS = {"max": ReduceMax, "mean": Mean}
NO_POOL = "none"


def vector(t: Tape, graph: Graph, layer: str, pool: str, takes: DType, longest: int) -> int:
    """The tensor with the feature vector of one sample, in the type that the learner takes. `longest`: maximum number
    of features."""
    x = output_of(graph, layer) if layer else default_layer(graph)
    shape = t.shape(x)
    if shape[:1] not in ((), (1,)):
        remedy = "give the model with a batch of 1"
        raise MoteError(f"{shape[0]} samples come at once: a learner takes one by one", where=WHERE, remedy=remedy)
    positions = tuple(range(1, len(shape) - 1))
    if pool == NO_POOL or all(shape[axis] == 1 for axis in positions):
        positions = ()
    _check_type(t, x, takes)
    if positions:
        x = t.one(POOLS[pool or "max"], [x], "pool", quant=t.tensors[x].quant, axes=positions)
    if (size := t.tensors[x].size) > longest:
        reason = f"{size:,} features are more than the {longest:,} that can be learned from"
        raise MoteError(reason, where=WHERE, remedy="pool them over positions, or name another layer by features=")
    return x if t.tensors[x].dtype == takes else t.one(Dequantize, [x], "features", dtype=DType.FLOAT32)


def _check_type(t: Tape, x: int, takes: DType) -> None:
    given = t.tensors[x]
    if given.dtype == takes or (takes.real and given.dtype in (DType.INT8, DType.INT16)):
        return
    reason = f"the features '{printable(given.name)}' are {given.dtype}, which this learner does not take"
    remedy = "quantize the model first (--quantize int8), or use ridge, logistic or bayes: they learn float32 features"
    raise MoteError(reason, where=WHERE, remedy=remedy)


def default_layer(graph: Graph) -> int:
    """The tensor that separates new classes best (benchmarks/few_shot.py): the activated output of the last convolution
    with a window of several positions; without one, the input of the last fully connected layer."""
    windows = [op for op in graph.ops if isinstance(op, Conv2D | DepthwiseConv2D) and _looks_around(graph, op)]
    if windows:
        return _activated(graph, windows[-1].outputs[0])
    last = next((op for op in reversed(graph.ops) if isinstance(op, FullyConnected)), None)
    if last is None:
        remedy = "name the layer whose output is to be learned from by features="
        raise MoteError("no layer's output is known to be good to learn from", where=WHERE, remedy=remedy)
    return last.inputs[0]


def _looks_around(graph: Graph, op: Conv2D | DepthwiseConv2D) -> bool:
    _, height, width, _ = op.output(graph).shape
    return op.vertical.kernel * op.horizontal.kernel > 1 and height * width > 1


def _activated(graph: Graph, x: int) -> int:
    """The tensor after all element-wise functions that follow directly."""
    while (op := graph.only_consumer(x)) and isinstance(op, Pointwise) and len(op.computed(graph)) == 1:
        if op.output(graph).dtype != graph.tensors[x].dtype:
            break
        x = op.outputs[0]
    return x


def score(t: Tape, graph: Graph, layer: str) -> int:
    """The tensor with the integer score of a sample: the output, if it is one number, or the difference between input
    and output of an autoencoder."""
    y = _codes(graph, output_of(graph, layer) if layer else graph.outputs[0])
    if t.tensors[y].size == 1 and t.tensors[y].dtype in MEASURES:
        return y
    x = _quantized(graph, graph.inputs[0]) if graph.inputs else y
    problem = compared_problem(t.tensors[y], t.tensors[x])
    if problem is None and not t.tensors[y].dtype.real:
        return t.one(AnomalyScore, [y, x], "difference", dtype=DType.INT32)
    reason = problem or f"the score is {t.tensors[y].dtype}: a normal range is learned of integers"
    remedy = (
        "use one-class with a quantized model (--quantize int8) that gives one score or its input back; "
        "prototype:metric=euclidean,classes=1 learns what features are like"
    )
    raise MoteError(reason, where=WHERE, remedy=remedy)


def _codes(graph: Graph, y: int) -> int:
    """The quantized tensor before a float output, if there is one."""
    op = graph.producers.get(y)
    return op.inputs[0] if isinstance(op, Dequantize) else y


def _quantized(graph: Graph, x: int) -> int:
    """The quantized tensor of a float input, if the model quantizes it first."""
    made = graph.quantized_as(x)
    return x if made is None else made.id


def output_of(graph: Graph, layer: str) -> int:
    """The output of the layer with a name, a short name or a number in the model file."""
    names = [name for op in graph.ops for name in (op.name, graph.short_name(op))]
    return named(graph, layer, names, "`mote inspect` lists layers with their numbers")[-1].outputs[0]
