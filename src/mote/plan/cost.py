"""What kernels cost in instructions, estimated from measurements: to choose between kernels and between plans.

`costs.json` holds, for each family of kernels, instructions for each of the `features` that an operator has. They are
fitted to layers run in the emulator (`benchmarks/fit_costs.py`). `mote run` and `mote explore` measure; where that is
not possible `explore` shows this, as the estimate that it is.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from weakref import WeakKeyDictionary

from mote.graph import Graph, Op
from mote.graph.rows import OUTSIDE, row_count
from mote.plan.kernel import Coding, Kernel
from mote.plan.plan import Plan
from mote.plan.rows import Arrival, Work

OTHER = "other"
"""The family of kernels that nothing has to choose between."""
BY_ROWS = "by_rows"
"""What is added to any kernel for each row, in plans that run by rows: finding pointers, and counting."""
CODED = "coded"
"""What is added to any kernel that has its weights expanded."""
LANES = {"conv": 2, "pointwise": 2, "winograd": 2, "fully_connected4": 4}
"""Output channels that are computed at once, by how a family's name begins."""
TILES = 4
"""Tiles that are computed at once, where tiles are higher than a row."""

SLIDE = 0.75
"""Instructions for each byte of a window that slides in memory."""

_known: WeakKeyDictionary[Kernel, dict[bool, dict[str, float]]] = WeakKeyDictionary()
"""Features of kernels, each of which is for one operator, whole or by rows."""


def features(graph: Graph, op: Op, kernel: Kernel, whole: bool) -> dict[str, float]:
    """How much of what a kernel takes time for an operator has, whole or by rows; what is computed for nothing at the
    end of a row or of the image counts as well.

    product, output, pixel, row, call: these
    input: inputs of all windows; of depthwise convolutions, those of all rows of windows; elsewhere simply all
    tap: rows of windows; of depthwise convolutions, for each channel
    rest: what is left of them where they are taken in fours
    edge: those of windows that hang over a side of the image
    symbol, expanded: codes, and weights that are expanded into memory, where weights are coded
    """
    known = _known.setdefault(kernel, {})
    if whole not in known:
        found = _features(graph, op, kernel, whole)
        known[whole] = found if kernel.coding is None else _expanding(found, kernel.coding)
    return known[whole]


def _expanding(found: dict[str, float], coding: Coding) -> dict[str, float]:
    """With what it takes to expand weights; what is done for inputs is done in each pass."""
    passed = {name: value * (1 if name in ("product", "output") else coding.passes) for name, value in found.items()}
    return passed | {"symbol": coding.symbols, "expanded": coding.expanded}


def _features(graph: Graph, op: Op, kernel: Kernel, whole: bool) -> dict[str, float]:
    shape = op.output(graph).shape
    rows = row_count(shape)
    width, channels = (shape[-2], shape[-1]) if len(shape) > 2 else (1, shape[-1] if shape else 1)
    pixels, multiplied = _pixels(kernel, rows, width, whole)
    lanes = _up(channels, next((n for name, n in LANES.items() if kernel.family.startswith(name)), 1))
    found = {"output": pixels * lanes, "pixel": pixels, "row": rows, "call": 1.0}
    depth = op.macs(graph) / max(rows * width * channels, 1)
    windows = _windows(graph, op, width)
    if op.kind == "DEPTHWISE_CONV_2D":
        inside = channels * sum(row != OUTSIDE for y in range(rows) for row in op.reads(graph, 0, y) or ())
        return found | {
            "product": inside * sum(map(len, windows)),
            "input": inside * op.input(graph).shape[-2],
            "tap": inside * width,
            "rest": pixels * (channels % 4),
        }
    taps = len(op.reads(graph, 0, 0) or (0,))
    return found | {
        "product": multiplied * lanes * depth * kernel.density,
        "input": pixels * depth or sum(t.size for t in op.activations(graph)),
        "tap": pixels * taps,
        "rest": pixels * taps * (depth / taps % 4),
        "edge": rows * taps * sum(len(w) < max(map(len, windows)) for w in windows),
    }


def _pixels(kernel: Kernel, rows: int, width: int, whole: bool) -> tuple[int, int]:
    """Pixels that are computed, and those that take part in multiplications. Kernels for several rows have blocks that
    go on from one row to the next, and with tiles, blocks of tiles."""
    if not kernel.rows:
        return rows * width, rows * width
    high, wide = kernel.tile
    at_once = rows if high == 1 else high * _tile_rows(kernel)
    strip = at_once if whole else kernel.group
    strips = [(strip, rows // strip), (rows % strip, 1)]
    if high == 1:
        pixels = sum(times * _up(n * width, wide) for n, times in strips)
        return pixels, pixels
    tiles = [(_over(n, high) * _over(width, wide), times) for n, times in strips]
    computed, multiplied = (sum(times * _up(n, multiple) for n, times in tiles) for multiple in (1, TILES))
    return computed * high * wide, multiplied * high * wide


def _tile_rows(kernel: Kernel) -> int:
    """Rows of tiles that are computed at once."""
    found = kernel.params["tile_rows"]
    assert isinstance(found, int)
    return found


def _windows(graph: Graph, op: Op, width: int) -> list[list[int]]:
    """The columns of the image under each column of windows."""
    axis = op.attributes().get("horizontal")
    if axis is None:
        return []
    size = op.input(graph).shape[-2]
    return [[column for column in axis.rows(x, size) if column != OUTSIDE] for x in range(width)]


def instructions(graph: Graph, op: Op, kernel: Kernel, whole: bool) -> float:
    """What an operator takes, about."""
    found = features(graph, op, kernel, whole)
    known = table().get(kernel.family) or table()[OTHER]
    if kernel.coding is not None:
        known = table()[CODED] | known
    total = sum(known.get(name, 0.0) * value for name, value in found.items())
    return total if whole else total + found["row"] * table()[BY_ROWS]["row"]


@cache
def table() -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = json.loads(files("mote.plan").joinpath("costs.json").read_text())
    return found


def extra_by_rows(graph: Graph, work: Work) -> float:
    """Instructions that an operator takes more by rows than as a whole."""
    if isinstance(work.op, Arrival):
        return 0.0
    by_rows = instructions(graph, work.op, work.kernel, whole=False)
    more = by_rows - instructions(graph, work.op, work.kernel, whole=True)
    return max(more, table()[BY_ROWS]["row"] * len(work.by_rows))


def estimate(plan: Plan) -> float:
    """Instructions that a plan takes, about."""
    return sum(
        instructions(plan.graph, op, steps[0].kernel, steps[0].whole)
        for op, steps in plan.works
        if not isinstance(op, Arrival)
    )


def _over(n: int, size: int) -> int:
    return -(-n // size)


def _up(n: int, multiple: int) -> int:
    return _over(n, multiple) * multiple
