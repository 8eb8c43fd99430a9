"""Depthwise convolutions with 3x3 windows over planar rows: parameters and macro instances of
`mote_depthwise3_s8.h`."""

from __future__ import annotations

from dataclasses import dataclass

from mote.compiler.kernels.armv7em.depthwise.depthwise3_assembly import code
from mote.compiler.kernels.armv7em.depthwise.records import Channels, Weights, form_of, stream
from mote.compiler.kernels.armv7em.ordering.schedule import Order, ordered
from mote.compiler.kernels.assembly import MOST_OFFSET
from mote.compiler.kernels.contract import Instance, Params, View
from mote.ir.ops.windows.depthwise import DepthwiseConv2D


@dataclass(frozen=True)
class Blocks:
    """Decomposition of an output row: blocks of four outputs, then at most one block of another size."""

    fours: int
    last: str
    """The last block's name in the header, such as `3c` (`c`: its last window column is padding); empty: there is
    none."""
    columns: int
    """Input bytes of a line that the blocks of four consume."""
    line: int
    """Bytes of a line: an input row of one channel, with its padding."""


def blocks3(view: View, present: list[int]) -> Blocks | None:
    """Decompose an output row into blocks; None: no kernel for this shape. `present`: for each output row, how many
    window rows are inside the image."""
    op = view.the(DepthwiseConv2D)
    h, width, outputs = op.horizontal, view.input.shape[2], view.output.shape[2]
    if (h.kernel, op.vertical.kernel) != (3, 3) or min(present) < 2:
        return None
    over = outputs % 4
    size = {0: 0, 1: 5, 2: 6, 3: 3}[over] if h.stride == 1 else over
    if size > outputs:
        return None
    closed = (outputs - 1) * h.stride + 2 >= h.before + width  # the last output's third column is padding
    last = f"{size}{'c' if closed and size != 6 else ''}" if size else ""
    words = 1 if last in (("", "3c") if h.stride == 1 else ("", "1", "1c", "2c")) else 2
    columns = (outputs - size) * h.stride
    return Blocks((outputs - size) // 4, last, columns, columns + 4 * words)


def specialized3(
    view: View, blocks: Blocks, channels: Channels, order: Order
) -> tuple[str, tuple[Instance, ...], Params] | None:
    """Kernel name, instances and parameters with assembly specialized to the layer's channel count, its instructions
    scheduled as `order` says; for output rows of one block and 16-bit weights. None: the output stores exceed the
    offset range."""
    _, _, params = parts3(view, blocks, channels, Weights.W16)
    count, stride = view.output.shape[3], view.the(DepthwiseConv2D).horizontal.stride
    form, shift, outputs = channels.form, channels.requantization.shift, int(blocks.last[0])
    if (outputs - 1) * count > MOST_OFFSET:
        return None
    shape = (stride, outputs, "c" in blocks.last, blocks.line, count, form, shift)
    name = f"depthwise3_s{stride}_{blocks.last}_{blocks.line}x{count}_{form}_{shift}_{order}"
    functions = (
        Instance("MOTE_DEPTHWISE3_CODE", (f"{name}_{rows}rows",), ordered(tuple(code(rows, *shape)), order))
        for rows in (3, 2)
    )
    facts = outputs, blocks.line - blocks.columns, blocks.line, count
    called = Instance("MOTE_DEPTHWISE3_WRITTEN", (name, Weights.W16, f"s{stride}", form, shift), facts=facts)
    return name, (*functions, called), params


def parts3(
    view: View, blocks: Blocks, channels: Channels, weights: Weights
) -> tuple[str, tuple[Instance, ...], Params]:
    """The kernel's name, its macro instances, and its parameters."""
    y, stride = view.output, view.the(DepthwiseConv2D).horizontal.stride
    params: Params = {
        "records": stream(channels.biases, channels.words(1, weights), channels.constants),
        "channels": y.shape[3],
        "wide": 4 * blocks.fours * y.shape[3],
        "skip": blocks.line - blocks.columns,
        "columns": blocks.columns,
        "outputs": y.shape[2],
    }
    form, shift, code = channels.form, channels.requantization.shift, form_of(view, weights)
    last = (code, f"s{stride}", blocks.last, blocks.line, form, shift)
    fours = Instance("MOTE_DEPTHWISE3_FOURS", (code, f"s{stride}", form, shift))
    start, end = f"depthwise3_{code}_s{stride}", f"{form}_{shift}"
    if not blocks.last:
        return f"{start}_{end}", (fours,), params
    end = f"{blocks.last}_{blocks.line}_{end}"
    facts = int(blocks.last[0]), blocks.line - blocks.columns
    only = Instance("MOTE_DEPTHWISE3_LAST", last, facts=facts)
    if not blocks.fours:
        return f"{start}_{end}", (only,), params
    return f"{start}_4_{end}", (fours, only, Instance("MOTE_DEPTHWISE3_BOTH", last, facts=facts)), params
