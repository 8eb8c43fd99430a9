"""Concatenation, padding, slices and transposes, whose runs `mote_move_items.h` moves with vectors: `mote_join.h` and
`mote_move.h`. Their cost depends on how long runs are: it is counted here in vectors, and the cost table scales it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod

from mote.compiler.kernels.contract import Kernel, Packed, Price, Refusal, Structs, Value, View
from mote.compiler.kernels.helium.common import HELIUM
from mote.compiler.kernels.portable.moves import pad_concat_transpose
from mote.ir.graph import Op
from mote.ir.ops.moves.pad_concat_transpose import Join, Transpose

VECTOR = 16
SHORT, LONG = 8, 64
"""Bytes of the longest run of which several are moved at once, and of the longest one that is moved in columns."""
CALL, SHORT_CALL, COLUMN_CALL = 60.0, 90.0, 45.0
GATHERED, BLOCK, SINGLE = 20.5, 6.2, 5.0
"""Cycles for a vector of several runs, for sixteen bytes of a run, and for a run of one byte."""
COPY, COPIED, REST = 12.0, 17.0, 4.5
"""Cycles to copy a run: to begin, for 64 bytes, and for each vector of the rest."""
FILL, FILLED = 12.0, 2.5
TURNED = {1: 11.2, 2: 11.2, 4: 7.1}
"""Cycles for a vector that is loaded down a column, by the bytes of an element."""
NEAR, TURNED_NEAR = 17, 19.0
"""Bytes from row to row up to which sixteen bytes of a column are loaded at once."""
COLUMN, ROW, ROW_PART = 8.0, 17.0, 50.0


def _over(n: int, size: int) -> int:
    return -(-n // size)


def moving(items: int, run: int) -> float:
    """Cycles of one call of `mote_move_items`."""
    if items > 1 and run == 1:
        return SINGLE * items
    if items > 1 and run <= SHORT:
        return SHORT_CALL + GATHERED * (_over(items, VECTOR // run) + 1)
    if items > 1 and run <= LONG:
        return COLUMN_CALL + BLOCK * items * _over(run, VECTOR)
    return items * (COPY + COPIED * (run // LONG) + REST * _over(run % LONG, VECTOR))


def _joining(params: Mapping[str, Value]) -> float:
    part, fill = params["part"], params["fill"]
    assert isinstance(part, Structs) and isinstance(fill, dict)
    rows, stride, filled = params["out_rows"], params["out_stride"], fill["bytes"]
    assert isinstance(rows, int) and isinstance(stride, int) and isinstance(filled, int)
    parts = [tuple(map(int, row)) for row in part.rows]
    even = not filled and all(
        (items == 1 or (items * item_in, items * item_out) == (bytes_in, stride))
        and (first, step, count) == (0, 1, rows)
        for first, step, count, bytes_in, _, _, _, _, _, items, item_in, item_out, _ in parts
    )
    taken = CALL if even else rows * (ROW if len(parts) == 1 else ROW_PART * len(parts))
    for _, _, count, _, _, _, lines, _, _, items, _, _, run in parts:
        taken += moving(count * items, run) if even else min(count, rows) * lines * moving(items, run)
    if filled:
        covered = sum(min(p[2], rows) * p[-1] for p in parts) if len(parts) == 1 and parts[0][9] == 1 else 0
        taken += rows * FILL + FILLED / VECTOR * (rows * filled - covered)
    return taken


def _turning(params: Mapping[str, Value]) -> float:
    axis, run = params["axis"], params["run"]
    assert isinstance(axis, Structs) and isinstance(run, int)
    axes = [tuple(map(int, row)) for row in axis.rows]
    *outer, (items, step, out_step) = axes
    across = [size for size, source, _ in outer if source == run]
    if across and run in TURNED and out_step == run:
        near = run == 1 and step <= NEAR
        lanes, each = (VECTOR, TURNED_NEAR) if near else (min(VECTOR // run, 8), TURNED[run])
        return CALL + prod(size for size, _, _ in outer) * (COLUMN + each * _over(items, lanes))
    return CALL + prod(size for size, _, _ in outer) * moving(items, run)


def _vectorized(kernel: Kernel, costs: str, cycles: Callable[[Mapping[str, Value]], float]) -> Kernel:
    def pack(view: View) -> Packed | Refusal:
        packed = kernel.pack(view)
        if isinstance(packed, Refusal):
            return packed
        return replace(packed, price=Price(costs=costs, work=cycles(packed.params)), beats=(kernel.name,))

    name, header = f"{kernel.name}_helium", kernel.header or kernel.name
    return replace(kernel, name=name, pack=pack, header=header, isa=HELIUM, costs=costs)


Counted = Callable[[Mapping[str, Value]], float]
COUNTED: Mapping[tuple[type[Op], ...], tuple[str, Counted]] = {
    (Join,): ("joined", _joining),
    (Transpose,): ("turned", _turning),
}
KERNELS = tuple(
    _vectorized(kernel, *COUNTED[kernel.computes])
    for kernel in pad_concat_transpose.KERNELS
    if kernel.computes in COUNTED and kernel.name in ("join", "move")
)
