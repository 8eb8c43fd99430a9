"""Clamps attention masks before a softmax, so that they leave quantization steps for the scores.

Masked scores are minus infinity or about -1e9, so that their softmax is zero. Quantized, such values would take the
whole range. A mask need not be lower than where the softmax vanishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mote.bench.execute.batch import evaluate
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.arithmetic import Add
from mote.ir.ops.elementwise.select import Select
from mote.ir.ops.moves.pad_concat_transpose import Transpose
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.reductions.softmax import Softmax

HUGE = -1e4
"""Constants below this are masks, not scores."""
DISTANCE = 10.0
"""Distance of masked scores below all others: their softmax is below an int8 step even if hundreds are masked."""


@dataclass(frozen=True)
class Mask:
    """An operator that applies a constant mask to scores, and the tensors from it to the softmax."""

    op: Op
    scores: int
    constant: Tensor
    masked_tensors: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ClampedMasks:
    """A graph with clamped masks, which can be quantized."""

    graph: Graph
    least: Mapping[int, float]
    """Smallest values that matter, by tensor id: below them the softmax is zero."""


def with_clamped_masks(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> ClampedMasks:
    masks = [mask for op in graph.ops if isinstance(op, Softmax) and (mask := _mask(graph, op)) is not None]
    if not masks:
        return ClampedMasks(graph, {})
    ends = _ends(graph, cases, [mask.scores for mask in masks])
    changed: list[Tensor] = []
    least: dict[int, float] = {}
    ops = {op.index: op for op in graph.ops}
    for number, mask in enumerate(masks):
        data = mask.constant.data
        assert data is not None
        low, high = ends[mask.scores]
        shown = data[data >= HUGE]
        if isinstance(mask.op, Add):
            low, high = low + float(shown.min(initial=0.0)), high + float(shown.max(initial=0.0))
        hidden = low - DISTANCE - (high if isinstance(mask.op, Add) else 0.0)
        new = graph.fresh_id() + number
        changed.append(replace(mask.constant, id=new, data=np.where(data < HUGE, np.float32(hidden), data)))
        inputs = tuple(new if t == mask.constant.id else t for t in mask.op.inputs)
        ops[mask.op.index] = mask.op.with_(inputs=inputs)
        least |= dict.fromkeys(mask.masked_tensors, low - DISTANCE)
    return ClampedMasks(graph.with_ops(ops.values(), changed), least)


def _mask(graph: Graph, softmax: Softmax) -> Mask | None:
    """The constant mask before a softmax; None without one, or if the masked scores have other readers."""
    masked_tensors = [softmax.inputs[0]]
    while graph.only_consumer(masked_tensors[-1]) is not None and masked_tensors[-1] in graph.producers:
        op = graph.producers[masked_tensors[-1]]
        if isinstance(op, Add | Select):
            operands = op.inputs[-2:]
            constants = [t for t in operands if _hides(graph.tensors[t])]
            scores = [t for t in operands if graph.tensors[t].data is None]
            if len(constants) == len(scores) == 1:
                return Mask(op, scores[0], graph.tensors[constants[0]], tuple(masked_tensors))
            return None
        if not isinstance(op, Reshape | Transpose):
            return None
        masked_tensors.append(op.inputs[0])
    return None


def _hides(t: Tensor) -> bool:
    return t.data is not None and t.dtype == DType.FLOAT32 and bool((t.data < HUGE).any())


def _ends(graph: Graph, cases: Sequence[Mapping[int, Array]], wanted: Sequence[int]) -> dict[int, tuple[float, float]]:
    """Minimum and maximum of tensors."""
    ends = dict.fromkeys(wanted, (0.0, 0.0))
    with np.errstate(all="ignore"):
        for values in evaluate(graph, cases, wanted):
            for t, (low, high) in ends.items():
                ends[t] = min(low, float(values[t].min())), max(high, float(values[t].max()))
    return ends
