"""Cache of packed kernels shared across graphs: models that differ in a few layers pack the others once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from typing import Any

from mote.compiler.kernels.contract import View
from mote.ir.graph import Graph, Op
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array

MOST_BYTES = 1 << 24
"""Default capacity of the cache: bytes of constants of the layers whose results are kept."""
NAMES = ("inputs", "outputs", "name", "index")
"""Fields of operators that identify a layer, but do not change what it computes."""

Results = dict[Callable[[View], Any], Any]


@dataclass
class ResultStore:
    """LRU cache of `View.once` results, keyed by what the view computes."""

    most: int = MOST_BYTES
    _known: OrderedDict[Hashable, tuple[int, Results]] = field(default_factory=OrderedDict)
    _nbytes: int = 0

    def of(self, view: View) -> Results:
        """The cached results for views that compute the same as `view`: a dictionary that the caller extends."""
        key = _key(view)
        if key is None:
            return {}
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key][1]
        nbytes = sum(view.graph.tensors[t].nbytes for op in view.ops for t in op.inputs if t != ABSENT)
        self._known[key] = nbytes, {}
        self._nbytes += nbytes
        while self._nbytes > self.most and len(self._known) > 1:
            self._nbytes -= self._known.popitem(last=False)[1][0]
        return self._known[key][1]

    def clear(self) -> None:
        """Drops all results."""
        self._known.clear()
        self._nbytes = 0


SHARED = ResultStore()


def _key(view: View) -> Hashable | None:
    """Cache key: everything that a kernel's results depend on. None if the view is not cached: layers without weights,
    and operators with graphs of their own."""
    if view.op.weights is None or any(op.bodies for op in view.ops):
        return None
    numbers: dict[int, int] = {}
    parts = tuple(_operator(view.graph, op, numbers) for op in view.ops)
    key = parts, view.reads, view.writes, view.small, view.fast
    return key if _is_hashable(key) else None


def _is_hashable(key: object) -> bool:
    try:
        hash(key)
    except TypeError:
        return False
    return True


def _operator(graph: Graph, op: Op, numbers: dict[int, int]) -> Hashable:
    attributes = tuple(getattr(op, f.name) for f in fields(op) if f.name not in NAMES)
    tensors = tuple(
        (t if t < 0 else numbers.setdefault(t, len(numbers)), t in graph.outputs, *_tensor(graph, t))
        for t in (*op.inputs, *op.outputs)
    )
    return type(op), attributes, len(op.inputs), tensors


def _tensor(graph: Graph, tensor: int) -> tuple[Hashable, ...]:
    if tensor < 0:
        return ()
    t, ends = graph.tensors[tensor], graph.ranges.get(tensor)
    quant = None if t.quant is None else (_digest(t.quant.scale), _digest(t.quant.zero_point), t.quant.axis)
    reach = None if ends is None or t.data is not None else (_digest(ends.low), _digest(ends.high))
    unsigned = t.quant is not None and t.quant.unsigned
    return t.shape, t.dtype, quant, unsigned, t.stored, None if t.data is None else _digest(t.data), reach


def _digest(array: Array) -> Hashable:
    data = array.tobytes()
    return array.shape, str(array.dtype), data if len(data) <= 16 else blake2b(data, digest_size=16).digest()
