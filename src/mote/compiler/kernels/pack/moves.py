"""Parameters of `mote_move.h`: copies between multi-dimensional regions of tensors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from mote.compiler.kernels.contract import Packed, Params, Price, Refusal, Structs
from mote.ir.graph.tensor import Array, Shape
from mote.ir.ops.moves.pad_concat_transpose import Loop, merge, steps

BY_ROWS = Refusal("it can run row by row")

ELEMENTS = (1, 2, 4)
"""Bytes of runs that are moved one by one, or turned."""
SHORT, LONG = 8, 128
"""The most bytes of runs that are moved as two words, and as words that are not left to the C library."""
Work = Counter[str]
"""How often a kernel that moves bytes does what, by names of cost features."""


def run_work(runs: int, run: int, aligned: bool) -> Work:
    """The work of moving runs of `run` bytes. `aligned`: they begin at multiples of four in input and output."""
    if run in ELEMENTS:
        return Counter(element=runs)
    if run <= SHORT:
        return Counter(run=runs, short=runs * run)
    if run > LONG:
        return Counter(run=runs, **{"long" if aligned else "far": runs * run})
    return Counter(run=runs, **{"word": runs * run // 4} if aligned else {"byte": runs * run})


def move_work(params: Params, times: int = 1) -> Work:
    """The work of `mote_move` with these parameters, done so many times."""
    axes, run = [tuple(map(int, axis)) for axis in _rows(params["axis"])], _number(params["run"])
    sizes = [size for size, _, _ in axes]
    items, in_step, out_step = axes[-1]
    turned = next((i for i, axis in enumerate(axes[:-1]) if axis[1] == run), None)
    if run in ELEMENTS and out_step == run and turned is not None:
        columns = sizes[turned]
        matrices = times * prod(sizes) // (items * columns)
        blocks = (columns - columns % 4) * (items - items % 4) if run == 1 else 0
        how = "skewed" if in_step % 4 else "turned"
        strips = columns // 4 + columns % 4 if blocks else columns
        work = {"step": strips, how: blocks, "gathered": items * columns - blocks}
        return Counter({name: matrices * n for name, n in work.items() if n})
    places = (_number(params["in_start"]), _number(params["out_start"]), run, *(s for axis in axes for s in axis[1:]))
    aligned = all(place % 4 == 0 for place in places)
    return Counter(step=times * prod(sizes[:-1])) + run_work(times * prod(sizes), run, aligned)


def moving(family: str, work: Mapping[str, int]) -> Price:
    """The price of a kernel of a family that moves bytes."""
    return Price(costs=family, amounts={name: float(n) for name, n in sorted(work.items())})


def moved(params: Params) -> Packed:
    """The kernel `mote_move` with these parameters."""
    return Packed("move", params, price=moving("move", move_work(params)))


def _rows(value: object) -> Array:
    assert isinstance(value, Structs)
    return value.rows


def _number(value: object) -> int:
    assert isinstance(value, int | np.integer)
    return int(value)


def move_params(loops: Sequence[Loop], width: int, in_start: int = 0, out_start: int = 0) -> Params:
    """The fields of `mote_move_t` for copies in nested loops of runs of `width` bytes."""
    merged, run = merge(loops, width)
    return {
        "axes": len(merged),
        "run": run,
        "in_start": in_start,
        "out_start": out_start,
        "axis": Structs("mote_move_axis_t", np.array(merged, np.int64)),
    }


def fill_params(nbytes: int, value: Array) -> Params:
    """The fields of `mote_fill_t`, which repeats the bytes of `value`; one byte if all are equal."""
    pattern = np.frombuffer(value.tobytes(), np.int8)
    if np.all(pattern == pattern[0]):
        pattern = pattern[:1]
    return {"bytes": nbytes, "width": pattern.size, "value": pattern}


def indexed(shape: Shape, depth: int, width: int) -> Structs:
    """`mote_indexed_t` for the first `depth` axes of a tensor: sizes, and strides in units of `width` bytes per
    element."""
    axes = list(zip(shape, steps(shape, width), strict=True))[:depth]
    return Structs("mote_indexed_t", np.array(axes, np.int64))


def begins(axes: Sequence[tuple[int, int, int, int]]) -> Structs:
    """`mote_begin_t` for the axes of a region that starts at a run-time index."""
    return Structs("mote_begin_t", np.array(axes or [(0, 0, 0, 0)], np.int64))
