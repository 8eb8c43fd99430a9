"""Cost model: estimated cycles of a kernel on a core, used to choose between kernels and between plans.

A table `costs/CORE.json` holds, for each family of kernels, the cycles per unit of each cost feature (`features`:
products, outputs, rows, ...) in memory without wait states, and the bytes of constants that are read. It is fitted to
layers run in the emulator (`benchmarks/fit_costs.py`). A target names its table and the wait states of its flash. `mote
profile` and `mote explore` measure instead; where that is not possible, `explore` shows this estimate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib.resources import files
from math import isfinite
from pathlib import Path
from weakref import WeakKeyDictionary

import numpy as np

from mote.base.documents import parse_json
from mote.base.errors import MoteError
from mote.base.files import is_file, read_file
from mote.base.text import printable
from mote.compiler.kernels.contract import Call, Coding, Packed
from mote.hardware.targets import WORD, Reads
from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.region import Region
from mote.ir.graph.rows import OUTSIDE, row_count
from mote.ir.ops.common import Axis, WindowOp
from mote.ir.ops.matrix.batch_matmul import MatrixProduct

TABLES = files("mote.compiler.kernels").joinpath("costs")
MOST_TABLE = 1 << 22
"""Maximum size of a cost table file in bytes."""
MOST_NAME = 200
"""Maximum number of characters of a table's name in an error message."""
MOST = 1e9
"""Upper limit (exclusive) for a cost in a table; larger numbers are rejected."""
USUAL = "cortex-m4"
"""Default cost table where no core is named; it has all families."""
BY_CHANNEL = ("DEPTHWISE_CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D")
"""Windowed operators whose channels do not mix."""
BY_ROWS = "by_rows"
"""Cost family of the overhead per row in plans that run row by row: computing row pointers, and counting."""
CODED = "coded"
"""Cost family of decoding entropy-coded weights, added to that of the kernel itself."""
DECRYPTING = 30.0
"""Cycles to decrypt a byte of a constant: an assumption between an AES engine with its driver and software."""
COPYING = 0.65
"""Cycles to copy a byte of a constant to RAM, without wait states: 40 for 64 bytes with eight registers; compilers take
up to a third more."""
EACH_ONCE = ("product", "output", "single")
"""Cost features that are not repeated in every pass when coded weights are decoded in several passes."""
TILES = 4
"""Number of tiles computed at once by kernels whose tiles have several rows."""
PACE = 1.5
"""Cycles per instruction of code generated for a layer's shape, about: one or two products for each load."""
SLIDE = "slide"
"""Cost family of moving the bytes of a sliding window in memory."""


@dataclass(frozen=True)
class Costs:
    """Cost table of a core, with the wait states and caches of the memories that are read."""

    core: str
    unit: str
    """Unit of all costs: cycles."""
    measured: str
    """Compiler and emulator versions of the measurements."""
    families: Mapping[str, Mapping[str, float]]
    reads: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Bytes of constants read per unit of each cost feature, by family."""
    memory: Reads = field(default_factory=Reads)
    """Wait states and cache of the memory that holds constants."""
    code: Reads = field(default_factory=Reads)
    """Wait states and cache of the memory that holds code."""
    levels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """For each optimization policy (compiler flags): the slowdown of each family; 1 for families that are not named."""
    slower: Mapping[str, float] = field(default_factory=dict)
    """Slowdown of each family at the compiler's optimization level in use."""
    own: bool = field(default=False, compare=False)
    """Whether it is loaded from a user's own file."""

    def on(self, memory: Reads, code: Reads | None = None) -> Costs:
        """A copy for constants in one memory and code in another; code has no wait states unless given."""
        return replace(self, memory=memory, code=code or Reads())

    def built_for(self, policy: str) -> Costs:
        """A copy for code compiled with the optimization flags of a policy."""
        return replace(self, slower=self.levels.get(policy, {}))

    def of(self, graph: Graph, op: Op, kernel: Packed, whole: bool) -> float:
        """Estimated cycles of an operator with a kernel, run as a whole or row by row."""
        if kernel.sealed is not None and kernel.sealed.loaded:
            copied = kernel.sealed.nbytes
            return self.on(Reads(), self.code)._computing(graph, op, kernel, whole) + self.copying(copied)
        total = self._computing(graph, op, kernel, whole) if kernel.price.cost is None else kernel.price.cost
        opening = kernel.price.opening + (DECRYPTING * kernel.sealed.nbytes if kernel.sealed else 0)
        return total + opening if whole else total + row_count(op.output(graph).shape) * (self.row + opening)

    def copying(self, nbytes: int) -> float:
        """Cycles to copy `nbytes` bytes of constants to RAM, including wait states."""
        return COPYING * nbytes + self.memory.stream(nbytes)

    def waiting(self, graph: Graph, op: Op, kernel: Packed) -> float:
        """Estimated cycles that an operator, run as a whole, spends on wait states of constants and code."""
        return self.of(graph, op, kernel, whole=True) - self.on(Reads()).of(graph, op, kernel, whole=True)

    def _computing(self, graph: Graph, op: Op, kernel: Packed, whole: bool) -> float:
        """Cycles without the overhead of running row by row; for a fused region, the sum of its parts."""
        if kernel.price.parts:
            assert isinstance(op, Region)
            each = zip(op.ops, kernel.price.parts, strict=True)
            return sum(self._computing(graph, one, part, whole) for one, part in each)
        amounts = features(graph, op, kernel, whole)
        counted = {name: amount for name, amount in amounts.items() if name not in kernel.price.excluded_features}
        known = self._family(kernel.price.costs)
        if kernel.price.coding is not None:
            known = {**self.families[CODED], **known}
        parts = [(kernel.price.costs, known)]
        parts += [(kernel.price.more, self._family(kernel.price.more))] if kernel.price.more else []
        total = sum(self.slower.get(name, 1.0) * _sum([part], counted) for name, part in parts)
        return total + self._waits(kernel, counted) + self._fetches(kernel, total)

    def _waits(self, kernel: Packed, amounts: Mapping[str, float]) -> float:
        """Wait cycles for constants: each read of a byte counts, unless the cache holds all constants of the kernel."""
        if not self.memory.waits:
            return 0.0
        named = (kernel.price.costs, kernel.price.more, CODED if kernel.price.coding is not None else "")
        read = _sum([self.reads.get(name, {}) for name in named], amounts)
        return self.memory.stream(round(min(read, kernel.constants) if self._keeps(kernel.constants) else read))

    def _fetches(self, kernel: Packed, cycles: float) -> float:
        """Wait cycles for code that exceeds the instruction cache, given `cycles` of computation. Loops in C are short
        and cost nothing; code generated for a layer's shape may be longer than the cache and then waits for every line
        in every iteration."""
        code = self.code
        if not code.waits or kernel.code_bytes <= code.code_lines * code.line_bytes:
            return 0.0
        instructions = code.line_bytes / WORD
        wait = max(code.miss - instructions, 0) if code.prefetch else code.miss
        return cycles / PACE / instructions * wait

    def _keeps(self, nbytes: int) -> bool:
        """Whether the cache for constants holds `nbytes` bytes."""
        lines = self.memory.code_lines if self.memory.shared_lines else self.memory.data_lines
        return nbytes <= lines * self.memory.line_bytes

    def _family(self, name: str) -> Mapping[str, float]:
        if name not in self.families:
            raise MoteError(
                f"the table of costs has nothing for kernels of the family '{name}'",
                where=self.core,
                remedy=f"fit it anew: benchmarks/fit_costs.py --core {self.core} --only {name} --update",
            )
        return self.families[name]

    @property
    def row(self) -> float:
        """Overhead in cycles of each row in plans that run row by row."""
        return self.families[BY_ROWS]["row"]

    def sliding(self, nbytes: int) -> float:
        """Cycles to move a sliding window of `nbytes` bytes in memory."""
        costs = self.families[SLIDE]
        return costs["byte"] * nbytes + costs["call"]


def _sum(parts: Iterable[Mapping[str, float]], amounts: Mapping[str, float]) -> float:
    """Dot product of feature amounts and costs per unit, summed over the families in `parts`."""
    return sum(part.get(name, 0.0) * value for part in parts for name, value in amounts.items())


def load(table: str, where: str = "") -> Costs:
    """Loads a bundled cost table by name, or a user's own `.json` file. `where`: the place that names it, for
    errors."""
    path = Path(table) if table.endswith(".json") else Path(str(TABLES / f"{table}.json"))
    if not is_file(path):
        raise MoteError(
            f"there is no table of costs '{printable(table[:MOST_NAME])}'",
            where=where,
            remedy=f"name one of {', '.join(tables())} in the target's file (costs = ...), or your own .json file; "
            "benchmarks/fit_costs.py --core TARGET fits one to a core that can be emulated",
        )
    try:
        costs = _parsed(Path(table).stem, read_file(path, MOST_TABLE))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise MoteError(f"is no table of costs ({error!r})", where=str(path), remedy="fit it anew") from None
    return replace(costs, own=True) if table.endswith(".json") else costs


@cache
def _parsed(name: str, text: bytes) -> Costs:
    """Parses a cost table, memoized by file content, because a user's file may change."""
    keys = parse_json(text)
    families, reads, levels = (
        {name: {f: _finite(n) for f, n in family.items()} for name, family in section.items()}
        for section in (keys["families"], keys.get("reads", {}), keys.get("levels", {}))
    )
    return Costs(name, printable(keys["unit"]), printable(keys["measured"]), families, reads, levels=levels)


def _finite(number: float) -> float:
    """Checks that a cost is a finite number below MOST."""
    if isinstance(number, bool) or not isfinite(number) or not abs(number) < MOST:
        raise ValueError(f"{number!r} is no cost")
    return number


def tables() -> list[str]:
    """Names of the bundled cost tables."""
    return sorted(Path(f.name).stem for f in TABLES.iterdir())


_known: WeakKeyDictionary[Packed, dict[bool, dict[str, float]]] = WeakKeyDictionary()
"""Memoized cost features of each bound kernel, by whether it runs as a whole."""


def features(graph: Graph, op: Op, kernel: Packed, whole: bool) -> dict[str, float]:
    """Work counts of an operator by cost feature, for a kernel run as a whole or row by row. Partial tiles and lanes at
    the end of a row or of the image count as full where the kernel computes them in full.

    product, output, pixel, row, call: number of each
    input: inputs under all windows; where channels do not mix, under all rows of windows; otherwise all activations
    tap: rows of windows, for each of the kernel's groups of channels; where channels do not mix, for each channel
    line: output rows of each channel; one per channel where channels mix and a call goes over all pixels
    rest: remainders of inputs (of channels where these do not mix) in loops unrolled by four
    single: products of leftover pixels in loops that take several pixels at once
    edge: rows of windows that hang over the left or right side of the image
    clipped: inputs inside the image under the windows counted by edge
    work: cycles that a kernel states itself, on a Cortex-M4 in the SIGNAL family
    step, element, gathered, turned, skewed, run, short, word, byte, long, far, filled: of kernels that move bytes
    symbol, expanded: decoded symbols, and weights decoded to memory, where weights are entropy-coded
    """
    known = _known.setdefault(kernel, {})
    if whole not in known:
        amounts = _features(graph, op, kernel, whole)
        known[whole] = amounts if kernel.price.coding is None else _expanding(amounts, kernel.price.coding)
    return known[whole]


def _expanding(amounts: dict[str, float], coding: Coding) -> dict[str, float]:
    """Work counts with the cost of decoding weights added; features of the inputs are multiplied by the number of
    passes."""
    passed = {name: value * (1 if name in EACH_ONCE else coding.passes) for name, value in amounts.items()}
    return passed | {"symbol": coding.symbols, "expanded": coding.expanded}


def _features(graph: Graph, op: Op, kernel: Packed, whole: bool) -> dict[str, float]:
    shape = op.output(graph).shape
    rows = row_count(shape)
    if kernel.price.work:
        return {"work": kernel.price.work, "row": rows}
    if kernel.price.amounts:
        return {"row": rows, "call": 1.0, **kernel.price.amounts}
    if isinstance(op, MatrixProduct):
        return _products(graph, op, kernel, rows)
    width, channels = (shape[-2], shape[-1]) if len(shape) > 2 else (1, shape[-1] if shape else 1)
    pixels, multiplied = _pixels(kernel, rows, width, whole)
    lanes = _up(channels, kernel.price.lanes)
    amounts = {"output": pixels * lanes, "pixel": pixels, "row": rows, "call": 1.0}
    depth = op.macs(graph) / max(rows * width * channels, 1)
    windows = _windows(graph, op, width)
    if op.kind in BY_CHANNEL and not kernel.price.whole_windows:
        columns, pixels_read = int(windows.sum()), op.input(graph).shape[-2]
        inside = channels * _rows_read(graph, op, rows)
        if kernel.price.padded and isinstance(op, WindowOp):
            inside, columns = channels * rows * op.vertical.kernel, width * op.horizontal.kernel
            pixels_read += op.horizontal.before + op.horizontal.after
        return amounts | {
            "product": inside * columns * kernel.price.density,
            "input": inside * pixels_read,
            "tap": inside * width,
            "line": rows * channels,
            "rest": pixels * (channels % 4),
        }
    groups = kernel.price.groups
    taps = len(op.reads(graph, 0, 0) or (0,))
    over = windows < windows.max(initial=0)
    return amounts | {
        "product": multiplied * lanes * depth * kernel.price.density,
        "input": pixels * depth * groups or sum(t.size for t in op.activations(graph)),
        "tap": pixels * taps * groups,
        "rest": pixels * taps * (depth / taps % 4),
        "line": lanes * (1 if whole and kernel.entry.call is Call.FLAT else rows),
        "single": _left(kernel, rows, width, whole) * lanes * depth,
        "edge": rows * taps * int(over.sum()),
        "clipped": rows * taps * int(windows[over].sum()) * op.input(graph).channels,
    }


def _products(graph: Graph, op: MatrixProduct, kernel: Packed, rows: int) -> dict[str, float]:
    """Of products of computed matrices, which kernels may pack: rows of the left ones are lines, inputs are those of
    the right ones. What is left are products of values that do not lie one after another in the right ones."""
    height, depth, columns = op.sizes(graph)
    count = op.output(graph).size // max(height * columns, 1)
    lines, lanes = count * _up(height, kernel.price.tile[0]), _up(columns, kernel.price.lanes)
    product = lines * lanes * depth * kernel.price.density
    amounts = {"output": lines * lanes, "pixel": count, "row": rows, "call": 1.0, "product": product, "line": lines}
    return amounts | {"input": count * lanes * depth, "tap": lines * depth, "rest": 0 if op.right_turned else product}


def _pixels(kernel: Packed, rows: int, width: int, whole: bool) -> tuple[int, int]:
    """Number of pixels computed, and number of pixels multiplied, with partial tiles rounded up. Tiles one row high
    continue across the rows that are computed at once, unless they are `row_tiles`; higher tiles are multiplied in
    groups of TILES."""
    if not kernel.price.whole_tiles:
        return rows * width, rows * width
    high, wide = kernel.price.tile
    at_once = rows if high == 1 else high * kernel.price.tile_rows
    strip = at_once if whole and not kernel.price.row_tiles else kernel.entry.group
    strips = [(strip, rows // strip), (rows % strip, 1)]
    if high == 1:
        pixels = sum(times * _up(n * width, wide) for n, times in strips)
        return pixels, pixels
    tiles = [(_over(n, high) * _over(width, wide), times) for n, times in strips]
    computed, multiplied = (sum(times * _up(n, multiple) for n, times in tiles) for multiple in (1, TILES))
    return computed * high * wide, multiplied * high * wide


def _left(kernel: Packed, rows: int, width: int, whole: bool) -> int:
    """Leftover pixels that kernels with tiles of several pixels compute one by one: per row, or of the whole output if
    it runs flat."""
    if kernel.price.whole_tiles:
        return 0
    wide = kernel.price.tile[1]
    return rows * width % wide if whole and kernel.entry.call is Call.FLAT else rows * (width % wide)


def _rows_read(graph: Graph, op: Op, rows: int) -> int:
    """Number of input rows inside the image under the windows, summed over all output rows."""
    if isinstance(op, WindowOp) and type(op).reads is WindowOp.reads:
        images, height = op.output(graph).shape[:2]
        return images * int(_inside(op.vertical, height, op.input(graph).shape[1]).sum())
    return sum(row != OUTSIDE for y in range(rows) for row in op.reads(graph, 0, y) or ())


def _windows(graph: Graph, op: Op, width: int) -> Ints:
    """Number of input columns inside the image under the window, for each output column."""
    axis = (op.ops[0] if isinstance(op, Region) else op).attributes().get("horizontal")
    return np.zeros(0, np.int64) if axis is None else _inside(axis, width, op.input(graph).shape[-2])


@lru_cache(maxsize=1024)
def _inside(axis: Axis, count: int, size: int) -> Ints:
    return axis.inside(count, size)


def _over(n: int, size: int) -> int:
    return -(-n // size)


def _up(n: int, multiple: int) -> int:
    return _over(n, multiple) * multiple
