"""A graph that rounds as ONNX Runtime and PyTorch do, with LiteRT's rounding instead: what a `.tflite` file can say.

Their layers round halves to even, LiteRT's away from zero, in integers. The same graph with LiteRT's operators computes
what the file will, so that the check of a file has something to be equal to.
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from mote.ir.graph import Graph, Op, Quantization, Tensor
from mote.ir.graph.types import DType, Rounding
from mote.ir.ops.elementwise.activations import LookupTable, Relu, Relu6, RequantizeInt8, Unary
from mote.ir.ops.elementwise.quantize import Dequantize, Quantize
from mote.ir.ops.onnxruntime_rounding import TWINS, EvenAveragePool, EvenSoftmax

FUNCTIONS: tuple[type[Unary], ...] = (RequantizeInt8, Relu, Relu6)
"""LiteRT functions that lookup tables are compared with."""
SOFTMAX_SCALE = 1 / 256
"""The output scale that LiteRT requires of an int8 softmax, with a zero point of -128."""


def as_litert_rounds(graph: Graph) -> tuple[Graph, int]:
    """The graph with LiteRT's rounding, and the number of layers that it changes."""
    tensors = {i: _signed(t) for i, t in graph.tensors.items()}
    current = replace(graph, tensors=tensors)
    ops: list[Op] = []
    changed = 0
    for op in graph.ops:
        new = _rounded(current, op, tensors)
        changed += new != [op]
        ops += new
    return replace(graph, ops=tuple(ops), tensors=tensors), changed


def _rounded(graph: Graph, op: Op, tensors: dict[int, Tensor]) -> list[Op]:
    """LiteRT's version of an operator; `tensors` may grow."""
    if type(op) in TWINS:
        twin = TWINS[type(op)].like(op)
        counted = isinstance(op, EvenAveragePool) and op.count > 0 and _padded(op)
        return [op] if counted else [twin] if _has_twin(graph, op) else _through_reals(graph, twin, tensors)
    if isinstance(op, LookupTable):
        return [_named(graph, op)]
    if isinstance(op, Quantize) and op.factor is not None:
        return [op.with_(factor=None, rounding=Rounding.ONCE)]
    if op.attributes().get("rounding") is Rounding.EVEN:
        usual = next(f.default for f in fields(op) if f.name == "rounding")
        return [op.with_(rounding=usual)]
    return [op]


def _named(graph: Graph, op: LookupTable) -> Op:
    """The LiteRT function whose results equal a lookup table's but for their rounding; None where there is none."""
    for kind in FUNCTIONS:
        twin = kind(inputs=op.inputs, outputs=op.outputs, name=op.name, index=op.index)
        if twin.unsupported(graph) is None:
            steps = np.abs(twin.table(graph).astype(np.int16) - op.values)
            if steps.max() <= 1:
                return twin
    return op


def _through_reals(graph: Graph, op: Op, tensors: dict[int, Tensor]) -> list[Op]:
    """An operator that LiteRT lacks for these scales, computed in float."""
    x, y = op.input(graph), op.output(graph)
    wide = []
    for t, what in ((x, "read"), (y, "made")):
        new = max(tensors) + 1
        tensors[new] = replace(t, id=new, name=f"{y.name} (float {what})", dtype=DType.FLOAT32, quant=None, inner=True)
        wide.append(new)
    return [
        Dequantize(inputs=(x.id,), outputs=(wide[0],), name=op.name, index=op.index),
        op.with_(inputs=(wide[0],), outputs=(wide[1],)),
        Quantize(inputs=(wide[1],), outputs=(y.id,), name=op.name, index=op.index),
    ]


def _padded(op: EvenAveragePool) -> bool:
    return any(axis.before or axis.after for axis in (op.vertical, op.horizontal))


def _has_twin(graph: Graph, op: Op) -> bool:
    """Whether LiteRT has the operator for these scales."""
    x, y = op.input(graph), op.output(graph)
    if isinstance(op, EvenAveragePool):
        return x.quant is not None and x.quant.same_as(y.quant)
    if isinstance(op, EvenSoftmax):
        return bool(np.isclose(y.scale, SOFTMAX_SCALE, rtol=1e-6)) and y.zero_point == y.dtype.limits[0]
    return True


def _signed(t: Tensor) -> Tensor:
    """int8 tensors without the `unsigned` mark: only LiteRT's own uint8 files round as those do."""
    if t.quant is None or not t.quant.unsigned:
        return t
    return replace(t, quant=Quantization(t.quant.scale, t.quant.zero_point, t.quant.axis))
