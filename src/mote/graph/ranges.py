"""Which values can occur: for each channel (index on the last axis) of every int8 tensor the least and the largest one,
whatever a model is given. Passes and kernels count on it; nothing is assumed of inputs, nor of states but windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mote.graph.op import ABSENT, Op
from mote.graph.tensor import Array, Tensor

if TYPE_CHECKING:
    from mote.graph.graph import Graph

LEAST, MOST = -128, 127


@dataclass(frozen=True, eq=False)
class Range:
    """The least and the largest value of each channel."""

    low: NDArray[np.int64]
    high: NDArray[np.int64]

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Channels with one value, everywhere and always."""
        one: NDArray[np.bool_] = self.low == self.high
        return one

    @property
    def hull(self) -> Range:
        """One range that holds those of all channels."""
        return Range(self.low.min(keepdims=True), self.high.max(keepdims=True))


def anything(t: Tensor) -> Range:
    return Range(np.full(t.channels, LEAST), np.full(t.channels, MOST))


def between(ends: Iterable[Array]) -> Range:
    """What lies between the values of some tensors of one shape."""
    rows = np.concatenate([end.reshape(-1, end.shape[-1] if end.ndim else 1) for end in ends]).astype(np.int64)
    return Range(rows.min(axis=0), rows.max(axis=0))


def rising(g: Graph, op: Op, inputs: Sequence[Range | None], falling: int = ABSENT) -> Range:
    """Of an operator whose results do not fall where its inputs rise; those of `falling` do not rise then."""
    ends = []
    for up in (False, True):
        values = [end(g, op, p, inputs[p], up=up != (p == falling)) for p in range(len(op.inputs))]
        ends.append(op.evaluate(g, values)[0])
    return between(ends)


def end(g: Graph, op: Op, position: int, found: Range | None, *, up: bool) -> Array | None:
    """An input with all its values as small or as large as they can be; constants are what they are."""
    t = op.tensor(g, position)
    if t is None or t.data is not None:
        return None if t is None else t.data
    assert found is not None
    return np.broadcast_to(found.high if up else found.low, t.shape or (1,)).reshape(t.shape).astype(np.int8)


def ranges(g: Graph) -> dict[int, Range]:
    """Of every int8 tensor."""
    found = {}
    for i, t in g.tensors.items():
        if t.dtype == "int8":
            found[i] = anything(t) if t.data is None else between([t.data])
    for op in g.ops:
        if op.output(g).dtype == "int8" and (narrower := op.range(g, [found.get(i) for i in op.inputs])):
            found[op.outputs[0]] = narrower
    return found
