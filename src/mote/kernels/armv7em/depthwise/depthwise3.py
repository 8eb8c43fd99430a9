"""Depthwise convolutions with 3x3 windows: what `mote_depthwise3_s8.h` needs."""

from __future__ import annotations

from dataclasses import dataclass

from mote.kernels.armv7em.depthwise.records import Channels, Weights, stream
from mote.kernels.contract import Instance, Params, View
from mote.ops.windows.depthwise import DepthwiseConv2D

WHOLE, BEHIND = 4, 8
"""Bytes behind the columns of all blocks with which a line can be read whole, and those behind the copy of a line."""


@dataclass(frozen=True)
class Blocks:
    """How a row of outputs is made: blocks of four, then perhaps a last one that is another size."""

    fours: int
    last: str
    """Which one, as the header calls it: empty where there is none."""
    columns: int
    """Bytes of a line that the blocks of four use."""
    line: int


def blocks3(view: View, present: list[int]) -> Blocks | None:
    """None where there is no kernel for the shape; `present`: how many rows of a window lie inside the image."""
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


def parts3(
    view: View, blocks: Blocks, channels: Channels, weights: Weights
) -> tuple[str, tuple[Instance, ...], Params]:
    """The kernel's name, the instances that make it, and its parameters."""
    y, stride = view.output, view.the(DepthwiseConv2D).horizontal.stride
    params: Params = {
        "records": stream(channels.biases, channels.words(1, weights), channels.constants),
        "channels": y.shape[3],
        "wide": 4 * blocks.fours * y.shape[3],
        "skip": blocks.line - blocks.columns,
        "columns": blocks.columns,
        "outputs": y.shape[2],
    }
    form, shift = channels.form, channels.requantization.shift
    last = (weights, f"s{stride}", blocks.last, blocks.line, form, shift)
    fours = Instance("MOTE_DEPTHWISE3_FOURS", (weights, f"s{stride}", form, shift))
    start, end = f"depthwise3_{weights}_s{stride}", f"{form}_{shift}"
    if not blocks.last:
        return f"{start}_{end}", (fours,), params
    end = f"{blocks.last}_{blocks.line}_{end}"
    facts = int(blocks.last[0]), blocks.line - blocks.columns
    only = Instance("MOTE_DEPTHWISE3_LAST", last, facts=facts)
    if not blocks.fours:
        return f"{start}_{end}", (only,), params
    return f"{start}_4_{end}", (fours, only, Instance("MOTE_DEPTHWISE3_BOTH", last, facts=facts)), params


def takes_any(view: View, line: int) -> bool:
    """Whether lines have the padding behind their last pixels, and what is read behind a line ends in the next one."""
    outputs, stride = view.output.shape[2], view.the(DepthwiseConv2D).horizontal.stride
    over = 4 * stride * -(-outputs // 4) + (4 if stride == 1 else 1) - line
    return line >= (outputs - 1) * stride + 3 and over <= min(line, BEHIND)


def any_parts(view: View, line: int, channels: Channels) -> tuple[str, tuple[Instance, ...], Params, int]:
    """The kernel for rows of any length: its name, its instance, its parameters, and its working memory in bytes: the
    lines of a channel, and a row with the outputs that are too many."""
    y, stride = view.output, view.the(DepthwiseConv2D).horizontal.stride
    fours = -(-y.shape[2] // 4)
    columns = 4 * fours * stride
    params: Params = {
        "records": stream(channels.biases, channels.words(1, "w16"), channels.constants),
        "channels": y.shape[3],
        "wide": 4 * fours * y.shape[3],
        "skip": line - columns,
        "columns": columns,
        "outputs": y.shape[2],
    }
    form, shift = channels.form, channels.requantization.shift
    lines = 0 if line - columns >= WHOLE else 3 * (line + BEHIND)
    surplus = 4 * fours * y.shape[3] if y.shape[2] % 4 else 0
    instance = Instance("MOTE_DEPTHWISE3_ANY", (f"s{stride}", form, shift))
    return f"depthwise3_any_s{stride}_{form}_{shift}", (instance,), params, lines + surplus
