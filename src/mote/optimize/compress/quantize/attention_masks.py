"""Attention masks before a softmax, reduced to values that leave quantization steps for the scores.

What attention must not see gets a score of minus infinity, or of minus a billion, so that the softmax makes zero of it.
In integers such a number takes the whole range, and nothing is left to tell the other scores apart. It need not be
further from them than where a softmax gives nothing."""

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
"""Distance of a masked score below every other one: its softmax is less than an int8 step, even where hundreds are
masked."""


@dataclass(frozen=True)
class Mask:
    """An operator that masks scores with a constant, and the tensors between it and the softmax."""

    op: Op
    scores: int
    constant: Tensor
    behind: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Softened:
    """A graph with masks that can be quantized."""

    graph: Graph
    least: Mapping[int, float]
    """Smallest meaningful values by tensor id: below them the softmax gives zero."""


def softened(graph: Graph, cases: Sequence[Mapping[int, Array]]) -> Softened:
    masks = [mask for op in graph.ops if isinstance(op, Softmax) and (mask := _mask(graph, op)) is not None]
    if not masks:
        return Softened(graph, {})
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
        least |= dict.fromkeys(mask.behind, low - DISTANCE)
    return Softened(graph.with_ops(ops.values(), changed), least)


def _mask(graph: Graph, softmax: Softmax) -> Mask | None:
    """The mask of a softmax, if there is one and nothing else reads the masked scores."""
    behind = [softmax.inputs[0]]
    while graph.only_consumer(behind[-1]) is not None and behind[-1] in graph.producers:
        op = graph.producers[behind[-1]]
        if isinstance(op, Add | Select):
            operands = op.inputs[-2:]
            constants = [t for t in operands if _hides(graph.tensors[t])]
            scores = [t for t in operands if graph.tensors[t].data is None]
            if len(constants) == len(scores) == 1:
                return Mask(op, scores[0], graph.tensors[constants[0]], tuple(behind))
            return None
        if not isinstance(op, Reshape | Transpose):
            return None
        behind.append(op.inputs[0])
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
