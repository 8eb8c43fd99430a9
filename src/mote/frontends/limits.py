"""Size limits of models. They are checked before any work is done, so that no file takes more than some seconds and a
gigabyte; models for microcontrollers are far below."""

from __future__ import annotations

from collections.abc import Iterable

from mote.base.errors import TooLargeError
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.rows import row_count
from mote.ir.ops.common import WindowOp

MOST_LAYERS = 1_500
MOST_AXES = 32
MOST_ELEMENTS = 1 << 23
"""Elements of a tensor."""
MOST_CHANNELS = 1 << 20
"""Channels of a tensor, on its last axis: value ranges are computed per channel."""
MOST_ELEMENTS_TOGETHER = 1 << 25
"""Elements of all computed tensors."""
MOST_ROWS = 1 << 16
"""Rows of all computed tensors together: a row is the last two axes of a tensor, the unit of plans."""
MOST_TAPS = 1 << 20
"""Rows that all windows of a layer read."""
MOST_WORK = 1 << 32
"""Multiply-accumulates of an inference, or equivalent work of the reference."""
MOST_WINDOWS = 1 << 24
"""Window elements of an output row, which the reference copies at once."""


MOST_BODIES = 200
"""Bodies of control flow, counted at every call."""
MOST_NESTED = 16
"""Nesting depth of bodies."""


def check_bodies(count: int, depth: int) -> None:
    limits = ("bodies of control flow", count, MOST_BODIES), ("bodies inside of one another", depth, MOST_NESTED)
    for what, number, most in limits:
        if number > most:
            raise TooLargeError(f"{number:,} {what} are more than {most:,}", remedy="call fewer subgraphs")


def check_layers(count: int) -> None:
    if count > MOST_LAYERS:
        raise TooLargeError(f"{count:,} layers are more than {MOST_LAYERS:,}", remedy="split the model, or unroll less")


def check_tensor(t: Tensor, *, constant: bool) -> None:
    """Refuse a tensor of an unusable size. The file holds every element of a constant."""
    name, shape = f"tensor {t.id} '{t.name}'", "x".join(map(str, t.shape))
    if len(t.shape) > MOST_AXES:
        raise TooLargeError(f"{name} has {len(t.shape)} axes, more than {MOST_AXES}")
    for what, count, most in (("elements", t.size, MOST_ELEMENTS), ("channels", t.channels, MOST_CHANNELS)):
        if count > most and not constant:
            raise TooLargeError(
                f"{name} ({shape}) has {count:,} {what}, more than {most:,}",
                remedy="no microcontroller has memory for it: use a smaller input or fewer channels",
            )


def check(graph: Graph) -> None:
    """Refuse a graph that exceeds a limit, or a layer that takes too long."""
    computed = [t for t in graph.tensors.values() if t.data is None]
    _check_sum("elements", (t.size for t in computed), MOST_ELEMENTS_TOGETHER, "use a smaller input or fewer channels")
    _check_sum(
        "rows",
        (row_count(t.shape) for t in computed),
        MOST_ROWS,
        "a row is all of the last two axes: let the longest axis be one of them, as in 1x1x16000x1",
    )
    work = 0
    for op in graph.ops:
        work += op.work(graph)
        _check_layer(graph, op)
    if work > MOST_WORK:
        raise TooLargeError(
            f"an inference takes about {work:,} multiplications, more than {MOST_WORK:,}",
            remedy="use a smaller input or fewer channels",
        )


def _check_sum(what: str, amounts: Iterable[int], most: int, remedy: str) -> None:
    total = sum(amounts)
    if total > most:
        raise TooLargeError(f"its tensors have {total:,} {what} together, more than {most:,}", remedy=remedy)


def _check_layer(graph: Graph, op: Op) -> None:
    """Refuse a layer whose windows are too large to be computed one by one."""
    rows = row_count(op.output(graph).shape)
    taps = max((len(op.reads(graph, p, 0) or ()) for p, _ in op.computed(graph)), default=0)
    if rows * taps > MOST_TAPS:
        raise TooLargeError(f"{rows:,} windows of {taps:,} rows are more than can be planned", where=op.where)
    if isinstance(op, WindowOp):
        images, _, width, _ = op.output(graph).shape
        elements = images * width * op.vertical.kernel * op.horizontal.kernel * op.input(graph).channels
        if elements > MOST_WINDOWS:
            raise TooLargeError(f"the windows of a row have {elements:,} elements", where=op.where)
