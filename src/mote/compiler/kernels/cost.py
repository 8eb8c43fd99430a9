"""The costs of kernels on a core, estimated from measurements: to choose between kernels and between plans.

A table `costs/CORE.json` holds, for each family of kernels, what each of the `features` takes that an operator has, in
cycles of memory that answers at once, and how many bytes of constants it reads. It is fitted to layers run in the
emulator (`benchmarks/fit_costs.py`). A target names the table that it uses, and says how long its flash is waited for.
`mote profile` and `mote explore` measure; where that is not possible `explore` shows this, as the estimate that it is.
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

TABLES = files("mote.compiler.kernels").joinpath("costs")
MOST_TABLE = 1 << 22
"""Bytes of a table of costs, at most."""
MOST_NAME = 200
"""Characters of the name of a table that are shown."""
MOST = 1e9
"""A cost of a feature is less than that."""
USUAL = "cortex-m4"
"""The table that plans are made by where no core is named: it has all families."""
BY_CHANNEL = ("DEPTHWISE_CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D")
"""Operators with windows in which channels do not mix."""
BY_ROWS = "by_rows"
"""The family of the overhead of each row, in plans that run by rows: finding pointers, and counting."""
CODED = "coded"
"""The family of the overhead of expanding coded weights, added to that of any kernel."""
DECRYPTING = 30.0
"""Cycles of decrypting a byte of a constant: an assumption between an AES engine with its driver and software."""
COPYING = 0.65
"""Cycles of copying a byte of a constant to RAM, beside the waits for it: 40 for 64 bytes by eight registers; compilers
take up to a third more."""
EACH_ONCE = ("product", "output", "single")
"""Features that are not repeated in each pass, where weights are expanded part by part."""
TILES = 4
"""Tiles that are computed at once, where tiles are higher than a row."""
PACE = 1.5
"""Cycles that an instruction of code made for a shape takes, about: for each load a product or two."""
SLIDE = "slide"
"""The family of moving the bytes of a window that slides in memory."""


@dataclass(frozen=True)
class Costs:
    """The costs of kernels on a core."""

    core: str
    unit: str
    """The unit of the costs: cycles."""
    measured: str
    """The compiler and the emulator that it was measured with."""
    families: Mapping[str, Mapping[str, float]]
    reads: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Bytes of constants that are read, in the same way."""
    memory: Reads = field(default_factory=Reads)
    """Wait states and cache of the memory that constants are in."""
    code: Reads = field(default_factory=Reads)
    """Wait states and cache of the memory that code is in."""
    levels: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """How many times as long families take that are built with the compiler's optimization for another policy, by the
    policy; families that are not named take as long."""
    slower: Mapping[str, float] = field(default_factory=dict)
    """How many times as long families take at the optimization level that code is built with."""
    own: bool = field(default=False, compare=False)
    """Whether it is a user's own table."""

    def on(self, memory: Reads, code: Reads | None = None) -> Costs:
        """Costs with constants in one memory and code in another, or in one without wait states."""
        return replace(self, memory=memory, code=code or Reads())

    def built_for(self, policy: str) -> Costs:
        """Costs of code that is built with the compiler's optimization for a policy."""
        return replace(self, slower=self.levels.get(policy, {}))

    def of(self, graph: Graph, op: Op, kernel: Packed, whole: bool) -> float:
        """About what an operator takes with a kernel, whole or by rows."""
        if kernel.sealed is not None and kernel.sealed.loaded:
            copied = kernel.sealed.nbytes
            return self.on(Reads(), self.code)._computing(graph, op, kernel, whole) + self.copying(copied)
        total = self._computing(graph, op, kernel, whole) if kernel.price.cost is None else kernel.price.cost
        opening = kernel.price.opening + (DECRYPTING * kernel.sealed.nbytes if kernel.sealed else 0)
        return total + opening if whole else total + row_count(op.output(graph).shape) * (self.row + opening)

    def copying(self, nbytes: int) -> float:
        """The cost of copying so many bytes of constants to RAM."""
        return COPYING * nbytes + self.memory.stream(nbytes)

    def waiting(self, graph: Graph, op: Op, kernel: Packed) -> float:
        """How much of what an operator takes as a whole is waiting for the memories of constants and code."""
        return self.of(graph, op, kernel, whole=True) - self.on(Reads()).of(graph, op, kernel, whole=True)

    def _computing(self, graph: Graph, op: Op, kernel: Packed, whole: bool) -> float:
        """The cost without the overhead of rows; of a region, the sum of its parts."""
        if kernel.price.parts:
            assert isinstance(op, Region)
            each = zip(op.ops, kernel.price.parts, strict=True)
            return sum(self._computing(graph, one, part, whole) for one, part in each)
        amounts = features(graph, op, kernel, whole)
        unpaid = {name: amount for name, amount in amounts.items() if name not in kernel.price.paid}
        known = self._family(kernel.price.costs)
        if kernel.price.coding is not None:
            known = {**self.families[CODED], **known}
        parts = [(kernel.price.costs, known)]
        parts += [(kernel.price.more, self._family(kernel.price.more))] if kernel.price.more else []
        total = sum(self.slower.get(name, 1.0) * _sum([part], unpaid) for name, part in parts)
        return total + self._waits(kernel, unpaid) + self._fetches(kernel, total)

    def _waits(self, kernel: Packed, amounts: Mapping[str, float]) -> float:
        """Cycles that an operator waits for its constants: all that it reads comes from memory, unless the cache
        holds it all."""
        if not self.memory.waits:
            return 0.0
        named = (kernel.price.costs, kernel.price.more, CODED if kernel.price.coding is not None else "")
        read = _sum([self.reads.get(name, {}) for name in named], amounts)
        return self.memory.stream(round(min(read, kernel.constants) if self._keeps(kernel.constants) else read))

    def _fetches(self, kernel: Packed, cycles: float) -> float:
        """Cycles that an operator waits for its code, beside the `cycles` that it computes. Loops in C are short; code
        that was made for a shape may be longer than the cache for code, and waits for every line in every turn then."""
        code = self.code
        if not code.waits or kernel.code_bytes <= code.code_lines * code.line_bytes:
            return 0.0
        instructions = code.line_bytes / WORD
        wait = max(code.miss - instructions, 0) if code.prefetch else code.miss
        return cycles / PACE / instructions * wait

    def _keeps(self, nbytes: int) -> bool:
        """Whether lines are kept for so many bytes."""
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
        """The overhead of each row that is computed by itself."""
        return self.families[BY_ROWS]["row"]

    def sliding(self, nbytes: int) -> float:
        """The cost of sliding a window of so many bytes in memory."""
        costs = self.families[SLIDE]
        return costs["byte"] * nbytes + costs["call"]


def _sum(parts: Iterable[Mapping[str, float]], amounts: Mapping[str, float]) -> float:
    """The cost of an operator: the amounts of its features times the costs of one each, added up over families."""
    return sum(part.get(name, 0.0) * value for part in parts for name, value in amounts.items())


def load(table: str, where: str = "") -> Costs:
    """The table of that bundled name, or of the user's own `.json` file; `where` it is named."""
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
    """The table of a file, kept by what is in it: a user's may be written anew."""
    keys = parse_json(text)
    families, reads, levels = (
        {name: {f: _finite(n) for f, n in family.items()} for name, family in section.items()}
        for section in (keys["families"], keys.get("reads", {}), keys.get("levels", {}))
    )
    return Costs(name, printable(keys["unit"]), printable(keys["measured"]), families, reads, levels=levels)


def _finite(number: float) -> float:
    """A cost, which is a number that can be added up."""
    if isinstance(number, bool) or not isfinite(number) or not abs(number) < MOST:
        raise ValueError(f"{number!r} is no cost")
    return number


def tables() -> list[str]:
    """The names of the bundled tables."""
    return sorted(Path(f.name).stem for f in TABLES.iterdir())


_known: WeakKeyDictionary[Packed, dict[bool, dict[str, float]]] = WeakKeyDictionary()
"""Features of kernels, each of which is for one operator, whole or by rows."""


def features(graph: Graph, op: Op, kernel: Packed, whole: bool) -> dict[str, float]:
    """How much of what a kernel takes time for an operator has, whole or by rows; what is computed for nothing at the
    end of a row or of the image counts as well.

    product, output, pixel, row, call: these
    input: inputs of all windows; where channels do not mix, those of all rows of windows; elsewhere simply all
    tap: rows of windows; where channels do not mix, for each channel
    line: rows of outputs of each channel; one where channels mix and a call goes over all pixels
    rest: what is left of them where they are taken in fours
    single: products of pixels that are left where pixels are taken in pairs
    edge: those of windows that hang over a side of the image
    clipped: the inputs in these
    work: cycles on a Cortex-M4, of kernels that say it themselves
    symbol, expanded: codes, and weights that are expanded into memory, where weights are coded
    """
    known = _known.setdefault(kernel, {})
    if whole not in known:
        amounts = _features(graph, op, kernel, whole)
        known[whole] = amounts if kernel.price.coding is None else _expanding(amounts, kernel.price.coding)
    return known[whole]


def _expanding(amounts: dict[str, float], coding: Coding) -> dict[str, float]:
    """With what it takes to expand weights; what is done for inputs is done in each pass."""
    passed = {name: value * (1 if name in EACH_ONCE else coding.passes) for name, value in amounts.items()}
    return passed | {"symbol": coding.symbols, "expanded": coding.expanded}


def _features(graph: Graph, op: Op, kernel: Packed, whole: bool) -> dict[str, float]:
    if kernel.price.work:
        return {"work": kernel.price.work}
    shape = op.output(graph).shape
    rows = row_count(shape)
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
    taps = len(op.reads(graph, 0, 0) or (0,))
    over = windows < windows.max(initial=0)
    return amounts | {
        "product": multiplied * lanes * depth * kernel.price.density,
        "input": pixels * depth or sum(t.size for t in op.activations(graph)),
        "tap": pixels * taps,
        "rest": pixels * taps * (depth / taps % 4),
        "line": lanes * (1 if whole and kernel.entry.call is Call.FLAT else rows),
        "single": _left(kernel, rows, width, whole) * lanes * depth,
        "edge": rows * taps * int(over.sum()),
        "clipped": rows * taps * int(windows[over].sum()) * op.input(graph).channels,
    }


def _pixels(kernel: Packed, rows: int, width: int, whole: bool) -> tuple[int, int]:
    """Pixels that are computed, and those that take part in multiplications. Blocks of pixels go on from one row to
    the next of those that are computed at once; kernels with higher tiles have blocks of tiles."""
    if not kernel.price.whole_tiles:
        return rows * width, rows * width
    high, wide = kernel.price.tile
    at_once = rows if high == 1 else high * kernel.price.tile_rows
    strip = at_once if whole else kernel.entry.group
    strips = [(strip, rows // strip), (rows % strip, 1)]
    if high == 1:
        pixels = sum(times * _up(n * width, wide) for n, times in strips)
        return pixels, pixels
    tiles = [(_over(n, high) * _over(width, wide), times) for n, times in strips]
    computed, multiplied = (sum(times * _up(n, multiple) for n, times in tiles) for multiple in (1, TILES))
    return computed * high * wide, multiplied * high * wide


def _left(kernel: Packed, rows: int, width: int, whole: bool) -> int:
    """Pixels that are computed by themselves, by kernels that take several of one row, or of all if they run flat."""
    if kernel.price.whole_tiles:
        return 0
    wide = kernel.price.tile[1]
    return rows * width % wide if whole and kernel.entry.call is Call.FLAT else rows * (width % wide)


def _rows_read(graph: Graph, op: Op, rows: int) -> int:
    """How many rows of the image the windows of all output rows have together."""
    if isinstance(op, WindowOp) and type(op).reads is WindowOp.reads:
        images, height = op.output(graph).shape[:2]
        return images * int(_inside(op.vertical, height, op.input(graph).shape[1]).sum())
    return sum(row != OUTSIDE for y in range(rows) for row in op.reads(graph, 0, y) or ())


def _windows(graph: Graph, op: Op, width: int) -> Ints:
    """How many columns of the image are under each column of windows."""
    axis = (op.ops[0] if isinstance(op, Region) else op).attributes().get("horizontal")
    return np.zeros(0, np.int64) if axis is None else _inside(axis, width, op.input(graph).shape[-2])


@lru_cache(maxsize=1024)
def _inside(axis: Axis, count: int, size: int) -> Ints:
    return axis.inside(count, size)


def _over(n: int, size: int) -> int:
    return -(-n // size)


def _up(n: int, multiple: int) -> int:
    return _over(n, multiple) * multiple
