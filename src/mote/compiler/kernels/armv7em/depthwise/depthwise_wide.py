"""Depthwise convolutions with windows of any size over planar rows: parameters and instances of
`mote_depthwise_wide_s8.h`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from mote.compiler.kernels.armv7em.depthwise.depthwise_wide_assembly import MOST_OUTPUTS, Block, code, row_bytes
from mote.compiler.kernels.armv7em.depthwise.records import Channels, Weights, stream
from mote.compiler.kernels.armv7em.ordering.schedule import Order
from mote.compiler.kernels.assembly import MOST_OFFSET
from mote.compiler.kernels.contract import Instance, Params, View
from mote.ir.graph.rows import OUTSIDE
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

MOST_COLUMNS = 7
MOST_ROWS = 7
"""Largest window size, without rows and columns that are never inside the image."""
NUMBERS = ("channels", "outputs", "record", "words", "top", "most", "line", "left")
PASSES, PASS = ("blocks", "last"), ("code", "near", "offset", "stop", "wide", "skip", "out")
"""The fields of `mote_depthwise_wide_t` and of `mote_wide_pass_t`."""


@dataclass(frozen=True)
class Window:
    """A window without the rows and columns that are never inside the image."""

    rows: range
    columns: range
    stride: int
    before: int
    width: int
    outputs: int


@dataclass(frozen=True)
class Split:
    """Decomposition of an output row: blocks of four, then at most one block of another size."""

    fours: int
    four: Block
    last: Block | None
    before: int
    """Columns of left padding that are stored in a line."""
    left: int
    """Columns of left padding that are not stored."""
    line: int

    @property
    def price(self) -> int:
        """Estimated instructions for one window row of a channel; a block's other work is spread over five window rows.
        Two functions cost four more, so that they are chosen only if they save some."""
        four, last = (len(b.row.lines("", first=False)) if b and b.row else 0 for b in (self.four, self.last))
        both = 4 if self.fours and self.last else 0
        return self.fours * (four + 7) + (last + 3 + self.last.outputs if self.last else 0) + both


def window_of(view: View) -> Window:
    op, x, y = view.the(DepthwiseConv2D), view.input, view.output
    h = op.horizontal
    rows, columns = (
        {k for at in range(size) for k, index in enumerate(axis.rows(at, limit)) if index != OUTSIDE}
        for axis, size, limit in ((op.vertical, y.shape[1], x.shape[1]), (h, y.shape[2], x.shape[2]))
    )
    used = range(min(columns, default=0), max(columns, default=0) + 1)
    before = h.before - used.start
    return Window(range(min(rows), max(rows) + 1), used, h.stride, before, x.shape[2], y.shape[2])


@cache
def splits(window: Window, weights: Weights) -> list[Split]:
    """All ways to decompose an output row, the cheapest first. Left padding need not be stored where a row is one
    block."""
    possible = []
    kernel, stride, before = len(window.columns), window.stride, window.before
    for size in range(min(window.outputs, MOST_OUTPUTS) + 1):
        fours, rest = divmod(window.outputs - size, 4)
        at = 4 * stride * fours
        for stored in [before] if fours else [b for b in (0, 1, before) if b <= before]:
            left, end = before - stored, stored + window.width
            if rest or (stride == 2 and left % 2):
                continue
            four = Block(kernel, stride, 4, 0, range(3 * stride + kernel), weights)
            last = Block(kernel, stride, size, left, range(max(stored - at, 0), end - at), weights) if size else None
            if (last and last.row is None) or (fours and four.row is None):
                continue
            ends = [end, *([at + 4 * last.words.stop] if last else [])]
            ends += [at - 4 * stride + 4 * four.words.stop] if fours else []
            possible.append(Split(fours, four, last, stored, left, -(-max(ends) // 4) * 4))
    return sorted(possible, key=lambda split: (split.price, split.line))


def wide_split(view: View, present: list[int], weights: Weights = Weights.W16) -> Split | None:
    """The decomposition of an output row; None: no kernel for this shape. `present`: for each output row, how many
    window rows are inside the image. The lines are equal for 8-bit and 16-bit weights."""
    if min(present) < 1 or max(present) > MOST_ROWS or view.the(DepthwiseConv2D).horizontal.kernel > MOST_COLUMNS:
        return None
    if MOST_OUTPUTS * view.output.shape[3] > MOST_OFFSET:
        return None
    window = window_of(view)
    small = splits(window, Weights.W8)
    for split in splits(window, Weights.W16):
        same = [replace(s, line=split.line) for s in small if s.before == split.before and s.line <= split.line]
        if same:
            return split if weights is Weights.W16 else same[0]
    return None


def wide_parts(
    view: View, split: Split, channels: Channels, weights: Weights, most: int, order: Order = Order.WRITTEN
) -> tuple[str, tuple[Instance, ...], Params]:
    """The kernel's name, its macro instances, and its parameters. `most`: the most window rows inside the image;
    `order`: instruction schedule of its code."""
    y, window = view.output, window_of(view)
    used = replace(channels, weights=channels.weights[:, window.rows][:, :, window.columns])
    words = used.words(window.stride, weights)
    records = stream(used.biases, used.constants, words)
    row = y.shape[3] * split.line * view.the(DepthwiseConv2D).vertical.dilation
    params: Params = {
        "records": records,
        "channels": y.shape[3],
        "outputs": y.shape[2],
        "record": records.size // y.shape[3],
        "words": words.shape[2],
        "top": window.rows.start,
        "most": most,
        "line": split.line,
        "left": split.left,
        **_passes(split, y.shape[3], row, order),
    }
    form, shift, record = channels.form, channels.requantization.shift, records.nbytes // y.shape[3]
    start = f"{len(window.rows)}x{len(window.columns)}_{weights}_s{window.stride}_{most}_{y.shape[3]}_{row}"
    end = f"{form}_{shift}{f'_{order}' if order else ''}"
    functions: dict[str, list[Instance]] = {}
    if split.fours:
        name = f"wide_{start}_{end}"
        functions[name] = _functions(name, split.four, (most, y.shape[3], form, shift, record), row, order=order)
    if split.last:
        pixels = split.last.pixels
        shape = f"{split.last.outputs}_{split.left}_{pixels.start}_{pixels.stop}_{split.line}"
        name = f"wide_{start}_{shape}_{end}"
        functions[name] = _functions(name, split.last, (most, y.shape[3], form, shift, record), row, split.line, order)
    name = f"depthwise_{'_and_'.join(functions)}"
    kind = "BOTH" if len(functions) > 1 else "BLOCKS" if split.fours else "ONE"
    arguments: tuple[str | int, ...] = (
        name,
        *functions,
        len(window.columns),
        weights,
        f"s{window.stride}",
        form,
        shift,
    )
    codes = [instance for instances in functions.values() for instance in instances]
    return name, (*codes, Instance(f"MOTE_WIDE_{kind}", arguments, facts=(row, *numbers_of(params)))), params


def numbers_of(params: Params) -> list[int]:
    """Numeric parameters of `mote_depthwise_wide_t` that are also constants in the code, in the order of its fields."""
    values = [params[field] for field in NUMBERS]
    for part in PASSES:
        numbers = params.get(part, {})
        assert isinstance(numbers, Mapping)
        values += [numbers.get(field, 0) for field in PASS]
    return [number for number in values if isinstance(number, int)]


def _functions(
    name: str,
    block: Block,
    shape: tuple[int, int, str, int, int],
    row: int,
    line: int = 0,
    order: Order = Order.WRITTEN,
) -> list[Instance]:
    """Code of blocks for contiguous input rows, `row` bytes apart, and for rows at any address."""
    near = code(replace(block, near=row), *shape, line, order)
    codes = {f"{name}_near": near, name: code(block, *shape, line, order)}
    return [Instance("MOTE_WIDE_CODE", (which,), lines) for which, lines in codes.items()]


def _passes(split: Split, channels: int, row: int, order: Order) -> Params:
    used, out_bytes = 4 * split.four.stride * split.fours, 4 * split.fours * channels
    passes: Params = {}
    if split.fours:
        skip = split.line - used
        passes["blocks"] = {**_sizes(split.four, row, order), "stop": used, "wide": out_bytes - 1, "skip": skip}
    if split.last:
        offset = used + 4 * split.last.words.start
        passes["last"] = {**_sizes(split.last, row, order), "offset": offset, "out": out_bytes}
    return passes


def _sizes(block: Block, row: int, order: Order) -> Params:
    """Code size in bytes of a window row, for rows at any address and for contiguous ones."""
    return {"code": row_bytes(block, order), "near": row_bytes(replace(block, near=row), order)}
