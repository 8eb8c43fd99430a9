"""The walk of `mote_broadcast.h` over two operands, the smaller of which is repeated."""

from __future__ import annotations

from math import prod

import numpy as np

from mote.graph.tensor import Shape
from mote.kernels.contract import Params, Structs
from mote.ops.arithmetic import operand_steps


def broadcast(shape: Shape, a: Shape, b: Shape) -> tuple[tuple[int, int], Params]:
    """The order of the operands (the first one steps through a run) and `mote_broadcast_t`."""
    split = max(len(shape) - 2, 1) if len(shape) > 1 else 0
    axes = list(zip(shape, operand_steps(shape, a), operand_steps(shape, b), strict=True))
    outer, inner = _merge(axes[:split]), _merge(axes[split:])
    run, a_step, b_step = inner[-1] if inner else (1, 1, 1)
    loops = np.array((outer + inner[:-1])[::-1] or [(1, 0, 0)], np.int64)
    order = (0, 1) if a_step else (1, 0)
    walk: Params = {
        "run": run,
        "b_step": min(a_step, b_step),
        "runs": prod(n for n, *_ in inner[:-1]),
        "axes": len(outer + inner[:-1]),
        "axis": Structs("mote_axis_t", loops[:, [0, 1 + order[0], 1 + order[1]]]),
    }
    return order, walk


def _merge(axes: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Neighbouring axes that are walked as one become one; axes of size 1 go."""
    merged: list[tuple[int, int, int]] = []
    for n, a, b in axes:
        if n == 1:
            continue
        if merged and merged[-1][1:] == (n * a, n * b):
            merged[-1] = (merged[-1][0] * n, a, b)
        else:
            merged.append((n, a, b))
    return merged
