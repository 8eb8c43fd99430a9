"""Parameters of `mote_broadcast.h`: strides of element-wise operators whose operands are broadcast."""

from __future__ import annotations

from math import prod

import numpy as np

from mote.compiler.kernels.contract import Params, Structs
from mote.ir.graph.tensor import Shape
from mote.ir.ops.elementwise.arithmetic import operand_steps


def broadcast(shape: Shape, a: Shape, b: Shape) -> tuple[tuple[int, int], Params]:
    """The order of the operands, of which the first one advances within a run, and the strides of both
    (`mote_broadcast_t`)."""
    (run, (a_step, b_step)), runs, loops = runs_of(shape, a, b)
    order = (0, 1) if a_step else (1, 0)
    return order, _walk(run, min(a_step, b_step), runs, [(n, steps[order[0]], steps[order[1]]) for n, steps in loops])


def pairs(shape: Shape, a: Shape, b: Shape) -> Params:
    """The strides of two broadcast operands in their own order (`mote_pairs_t`); either may be constant within a
    run."""
    (run, (a_step, b_step)), runs, loops = runs_of(shape, a, b)
    return {"walk": _walk(run, b_step, runs, [(n, *steps) for n, steps in loops]), "a_step": a_step}


def _walk(run: int, b_step: int, runs: int, loops: list[tuple[int, ...]]) -> Params:
    axes = np.array(loops or [(1, 0, 0)], np.int64)
    return {"run": run, "b_step": b_step, "runs": runs, "axes": len(loops), "axis": Structs("mote_axis_t", axes)}


Axis = tuple[int, tuple[int, ...]]
"""Size of an axis, and for each operand its stride along it, in elements."""


def runs_of(shape: Shape, *operands: Shape) -> tuple[Axis, int, list[Axis]]:
    """Splits a broadcast into the innermost run of elements, the number of runs per output row, and the outer axes,
    innermost first."""
    split = max(len(shape) - 2, 1) if len(shape) > 1 else 0
    steps = zip(*(operand_steps(shape, operand) for operand in operands), strict=True)
    axes = list(zip(shape, steps, strict=True))
    outer, inner = _merge(axes[:split]), _merge(axes[split:])
    run = inner[-1] if inner else (1, (1,) * len(operands))
    return run, prod(n for n, _ in inner[:-1]), (outer + inner[:-1])[::-1]


def _merge(axes: list[Axis]) -> list[Axis]:
    """Drops axes of size 1 and merges adjacent axes with contiguous strides."""
    merged: list[Axis] = []
    for n, steps in axes:
        if n == 1:
            continue
        if merged and merged[-1][1] == tuple(n * step for step in steps):
            merged[-1] = (merged[-1][0] * n, steps)
        else:
            merged.append((n, steps))
    return merged
